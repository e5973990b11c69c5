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

package apiserver

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"

	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/record"
)

// audited keeps what an audit backend gets.
type audited struct {
	audit.Backend
	events []*auditinternal.Event
}

func (a *audited) ProcessEvents(events ...*auditinternal.Event) bool {
	a.events = append(a.events, events...)
	return true
}

func journalOf(t *testing.T, level auditinternal.Level) (*journal, *audited, chan string) {
	t.Helper()
	gatewayMetrics, err := newGatewayMetrics(metrics.NewKubeRegistry().Register)
	require.NoError(t, err)
	backend, recorder := &audited{}, events.NewFakeRecorder(1000)
	j := newJournal(backend, policy.NewFakePolicyRuleEvaluator(level, nil), gatewayMetrics)
	j.recorder = recorder
	return j, backend, recorder.Events
}

func occurrence(kind gateway.Kind, reason record.Reason) gateway.Occurrence {
	return gateway.Occurrence{Kind: kind, Reason: reason, Request: gateway.Request{
		Path: "/peering/v1/join", Source: netip.MustParseAddr("192.0.2.7"), UID: "u", Name: "west", Code: 403,
		ClusterUUID: "bbbbbbbb-0000-4000-8000-000000000002", Key: record.Digest{1},
	}}
}

// P15: audit names a peer only where it has shown that it is one: a stranger gives any
// UUID he likes. What he claims stands beside it.
func TestP15AuditNamesNobodyByHisOwnWord(t *testing.T) {
	j, backend, told := journalOf(t, auditinternal.LevelMetadata)
	for kind, want := range map[gateway.Kind]string{
		gateway.InviteUsed:    "peer:bbbbbbbb-0000-4000-8000-000000000002",
		gateway.PeerLeft:      "peer:bbbbbbbb-0000-4000-8000-000000000002",
		gateway.InviteRefused: "system:anonymous",
		gateway.Unauthorized:  "system:anonymous",
	} {
		backend.events = nil
		j.Occurred(occurrence(kind, record.TokenRejected))
		require.Len(t, backend.events, 1)
		event := backend.events[0]
		assert.Equal(t, want, event.User.Username, kind)
		assert.Equal(t, "bbbbbbbb-0000-4000-8000-000000000002", event.Annotations[auditCluster])
		assert.Equal(t, []string{"192.0.2.7"}, event.SourceIPs)
		assert.Equal(t, "west", event.ObjectRef.Name)
	}
	assert.Len(t, told, 3, "of who is not let in at all there is no ClusterPeer to tell")
	backend.events = nil
	j.Eventf(&corev1.ObjectReference{APIVersion: "peering.entente.dev/v1alpha1", Kind: "ClusterPeer", Name: "west", UID: "u"}, nil, corev1.EventTypeNormal, "InviteIssued", "Reconcile", "ID %s", "0001")
	require.Len(t, backend.events, 1)
	assert.Equal(t, controllersUser, backend.events[0].User.Username)
	assert.Equal(t, "ID 0001", backend.events[0].Annotations[auditNote])
}

// P15: audit names the object that an Event is about, whatever kind it is.
func TestP15AuditNamesTheObject(t *testing.T) {
	for _, test := range []struct{ apiVersion, kind, group, resource string }{
		{"peering.entente.dev/v1alpha1", "ClusterPeer", "peering.entente.dev", "clusterpeers"},
		{"peering.entente.dev/v1alpha1", "PeeringCapability", "peering.entente.dev", "peeringcapabilities"},
		{"v1", "Namespace", "", "namespaces"},
	} {
		j, backend, _ := journalOf(t, auditinternal.LevelMetadata)
		j.Eventf(&corev1.ObjectReference{APIVersion: test.apiVersion, Kind: test.kind, Name: "b", UID: "u"}, nil, corev1.EventTypeWarning, "Reason", "Act", "note")
		require.Len(t, backend.events, 1)
		reference := backend.events[0].ObjectRef
		assert.Equal(t, []string{test.group, test.resource, "b"}, []string{reference.APIGroup, reference.Resource, reference.Name})
	}
}

// P6: the owner of an invite is told whether whoever was refused knew the token.
func TestP6OwnerIsToldOfWrongTokens(t *testing.T) {
	j, _, told := journalOf(t, auditinternal.LevelMetadata)
	j.Occurred(occurrence(gateway.InviteRefused, ""))
	assert.Contains(t, <-told, "with a wrong token")
	j.Occurred(occurrence(gateway.InviteRefused, record.UUIDMismatch))
	assert.Contains(t, <-told, "was refused: UUIDMismatch")
}

// P11: strangers do not fill the audit log, and none of that is at the cost of peers.
func TestP11StrangersDoNotFillTheAuditLog(t *testing.T) {
	j, backend, _ := journalOf(t, auditinternal.LevelMetadata)
	for range 10 * strangersBurst {
		j.Occurred(occurrence(gateway.Unauthorized, ""))
		j.Occurred(occurrence(gateway.RateLimited, ""))
	}
	seen := len(backend.events)
	assert.GreaterOrEqual(t, seen, strangersBurst)
	assert.Less(t, seen, 2*strangersBurst)
	j.Occurred(occurrence(gateway.PeerLeft, ""))
	assert.Len(t, backend.events, seen+1)
}

// What the policy does not want is not there.
func TestAuditPolicyDecides(t *testing.T) {
	j, backend, _ := journalOf(t, auditinternal.LevelNone)
	j.Occurred(occurrence(gateway.InviteUsed, ""))
	assert.Empty(t, backend.events)
}
