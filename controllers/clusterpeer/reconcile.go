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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
)

// finding is what is known of a connection string: everything that the status
// depends on, and nothing of the string. The zero finding is a well-formed one.
type finding struct {
	// denied: it could not be read for lack of permission.
	denied bool
	// fault is what is wrong with it, empty if nothing.
	fault connstring.Fault
}

// reconcile returns the status that a ClusterPeer should have: its own, with the
// phase, the observed generation and the condition Ready brought up to date. It
// changes nothing else, and not the ClusterPeer. found counts only if the
// ClusterPeer has a connection string to join with.
func reconcile(peer *peeringv1alpha1.ClusterPeer, found finding, clk clock.PassiveClock) *peeringv1alpha1.ClusterPeerStatus {
	reason, message := ready(peer, found)
	condition := metav1.Condition{
		Type:               ConditionReady,
		Status:             metav1.ConditionFalse,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: peer.Generation,
		// SetStatusCondition uses it only when the status of the condition changes.
		LastTransitionTime: metav1.NewTime(clk.Now()),
	}
	if reason == ReasonActive {
		condition.Status = metav1.ConditionTrue
	}
	wanted := peer.Status.DeepCopy()
	wanted.Phase = phase(reason)
	wanted.ObservedGeneration = peer.Generation
	meta.SetStatusCondition(&wanted.Conditions, condition)
	return wanted
}

// ready returns reason and message of the condition Ready. The messages are a
// closed set: no piece of a value is ever part of one (R15).
func ready(peer *peeringv1alpha1.ClusterPeer, found finding) (reason, message string) {
	switch {
	case peer.Spec.Type != peeringv1alpha1.ClusterPeerTypeJoin:
		return ReasonWaitingForPeer, "Waiting for the other cluster to join."
	case !hasConnectionString(peer):
		return ReasonWaitingForConnectionString, "spec.join.connectionString is not set."
	case found.denied:
		return ReasonSensitiveAccessDenied, "spec.join.connectionString cannot be read: Entente lacks permission to get clusterpeers/sensitive."
	case found.fault != "":
		return ReasonInvalidConnectionString, "spec.join.connectionString is not valid: " + string(found.fault) + "."
	default:
		return ReasonWaitingForPeer, "The connection string is well-formed. Waiting for the other cluster."
	}
}

// phase sums a reason of the condition Ready up (P13).
func phase(reason string) peeringv1alpha1.ClusterPeerPhase {
	switch reason {
	case ReasonActive:
		return peeringv1alpha1.ClusterPeerPhaseActive
	case ReasonWaitingForPeer, ReasonWaitingForConnectionString:
		return peeringv1alpha1.ClusterPeerPhasePending
	default:
		return peeringv1alpha1.ClusterPeerPhaseError
	}
}

// hasConnectionString tells whether a ClusterPeer has a connection string to join
// with. In a redacted object the placeholder says so (R6).
func hasConnectionString(peer *peeringv1alpha1.ClusterPeer) bool {
	return peer.Spec.Type == peeringv1alpha1.ClusterPeerTypeJoin && peer.Spec.Join != nil && peer.Spec.Join.ConnectionString != ""
}
