/*
Copyright 2026 The Entente Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package clusterpeer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
)

var (
	noon      = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	yesterday = noon.Add(-24 * time.Hour)
)

// P8, P13: phase and reason of each kind of ClusterPeer.
func TestP13Reconcile(t *testing.T) {
	invite := peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite}
	join := func(text string) peeringv1alpha1.ClusterPeerSpec {
		return peeringv1alpha1.ClusterPeerSpec{
			Type: peeringv1alpha1.ClusterPeerTypeJoin,
			Join: &peeringv1alpha1.JoinSpec{ConnectionString: text},
		}
	}
	tests := []struct {
		name    string
		spec    peeringv1alpha1.ClusterPeerSpec
		found   finding
		phase   peeringv1alpha1.ClusterPeerPhase
		reason  string
		message string
	}{
		{
			"invite", invite,
			finding{},
			peeringv1alpha1.ClusterPeerPhasePending, "WaitingForPeer", "Waiting for the other cluster to join.",
		},
		{
			"P8: join without join",
			peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin},
			finding{},
			peeringv1alpha1.ClusterPeerPhasePending, "WaitingForConnectionString", "spec.join.connectionString is not set.",
		},
		{
			"P8: join without a string, whatever was found earlier", join(""),
			finding{denied: true, fault: connstring.ErrChecksum},
			peeringv1alpha1.ClusterPeerPhasePending, "WaitingForConnectionString", "spec.join.connectionString is not set.",
		},
		{
			"join with a string that parses", join("<omitted>"),
			finding{},
			peeringv1alpha1.ClusterPeerPhasePending, "WaitingForPeer", "The connection string is well-formed. Waiting for the other cluster.",
		},
		{
			"join with a damaged string", join("<omitted>"),
			finding{fault: connstring.ErrChecksum},
			peeringv1alpha1.ClusterPeerPhaseError, "InvalidConnectionString",
			"spec.join.connectionString is not valid: checksum: does not match; the string was changed or cut while it was copied.",
		},
		{
			"join with a malformed string", join("<omitted>"),
			finding{fault: connstring.ErrPins},
			peeringv1alpha1.ClusterPeerPhaseError, "InvalidConnectionString",
			"spec.join.connectionString is not valid: pins: not 1 to 3 different SHA-256 hashes.",
		},
		{
			"R4: join whose string may not be read", join("<omitted>"),
			finding{denied: true},
			peeringv1alpha1.ClusterPeerPhaseError, "SensitiveAccessDenied",
			"spec.join.connectionString cannot be read: Entente lacks permission to get clusterpeers/sensitive.",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Spec: test.spec}
			before := peer.DeepCopy()
			status := reconcile(peer, test.found, clocktesting.NewFakePassiveClock(noon))
			assert.Equal(t, &peeringv1alpha1.ClusterPeerStatus{
				Phase:              test.phase,
				ObservedGeneration: 7,
				Conditions: []metav1.Condition{{
					Type: "Ready", Status: metav1.ConditionFalse, Reason: test.reason, Message: test.message,
					ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(noon),
				}},
			}, status)
			assert.Equal(t, before, peer, "the ClusterPeer was changed")

			peer.Status = *status
			assert.Equal(t, status, reconcile(peer, test.found, clocktesting.NewFakePassiveClock(noon.Add(time.Hour))), "not stable")
		})
	}
}

// K2: lastTransitionTime stays while the status of the condition does, and
// observedGeneration moves.
func TestK2ConditionKeepsItsTransitionTime(t *testing.T) {
	peer := &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite},
		Status: peeringv1alpha1.ClusterPeerStatus{
			Phase:              peeringv1alpha1.ClusterPeerPhaseError,
			ObservedGeneration: 1,
			Conditions: []metav1.Condition{
				{Type: "Other", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: metav1.NewTime(yesterday), ObservedGeneration: 1},
				{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: ReasonInvalidConnectionString, LastTransitionTime: metav1.NewTime(yesterday), ObservedGeneration: 1},
			},
			Invite: &peeringv1alpha1.InviteStatus{TokenID: "0001020304050607"},
		},
	}
	status := reconcile(peer, finding{}, clocktesting.NewFakePassiveClock(noon))
	ready := meta.FindStatusCondition(status.Conditions, ConditionReady)
	require.NotNil(t, ready)
	assert.Equal(t, ReasonWaitingForPeer, ready.Reason)
	assert.Equal(t, yesterday, ready.LastTransitionTime.Time)
	assert.EqualValues(t, 2, ready.ObservedGeneration)
	assert.Equal(t, peer.Status.Conditions[0], status.Conditions[0], "a condition of somebody else")
	assert.Equal(t, peer.Status.Invite, status.Invite)

	peer.Status.Conditions[1].Status = metav1.ConditionTrue
	status = reconcile(peer, finding{}, clocktesting.NewFakePassiveClock(noon))
	assert.Equal(t, noon, meta.FindStatusCondition(status.Conditions, ConditionReady).LastTransitionTime.Time)
}

func TestP13PhaseFollowsReason(t *testing.T) {
	for reason, want := range map[string]peeringv1alpha1.ClusterPeerPhase{
		ReasonActive:                     peeringv1alpha1.ClusterPeerPhaseActive,
		ReasonWaitingForPeer:             peeringv1alpha1.ClusterPeerPhasePending,
		ReasonWaitingForConnectionString: peeringv1alpha1.ClusterPeerPhasePending,
		ReasonInvalidConnectionString:    peeringv1alpha1.ClusterPeerPhaseError,
		ReasonSensitiveAccessDenied:      peeringv1alpha1.ClusterPeerPhaseError,
		"SomethingElse":                  peeringv1alpha1.ClusterPeerPhaseError,
	} {
		assert.Equal(t, want, phase(reason), reason)
	}
}
