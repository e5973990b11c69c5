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

package selfcheck

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/peering/client"
)

// meaning is what a finding is in a condition.
type meaning struct {
	status metav1.ConditionStatus
	// message is a closed set of sentences: nothing of an answer is in it (R15).
	message string
}

// meaningOf tells what a finding means: its own name is the reason (P14).
func meaningOf(found client.Finding) meaning {
	switch found {
	case client.ClientCertRequired:
		return meaning{metav1.ConditionTrue, "The advertised endpoints refuse requests without a client certificate."}
	case client.ClientCertNotRequired:
		return meaning{metav1.ConditionFalse, "An advertised endpoint serves requests without a client certificate: something in front of the gateway ends TLS."}
	case client.PeeringRootCert:
		return meaning{metav1.ConditionTrue, "The advertised endpoints present a certificate of the peering CA."}
	case client.ForeignCert:
		return meaning{metav1.ConditionFalse, "An advertised endpoint presents a certificate that is not a valid one of the peering CA for its host: something in front of the gateway ends TLS, or it is not the gateway."}
	default:
		return meaning{metav1.ConditionUnknown, "An advertised endpoint cannot be reached from here."}
	}
}

// worst sums up what was found at several endpoints; nil: none is advertised. What is
// wrong for certain is worse than what cannot be told.
func worst(results []client.ProbeResult) *client.ProbeResult {
	if len(results) == 0 {
		return nil
	}
	return &client.ProbeResult{
		ClientCert: worstOf(results, func(r client.ProbeResult) client.Finding { return r.ClientCert }),
		ServerCert: worstOf(results, func(r client.ProbeResult) client.Finding { return r.ServerCert }),
	}
}

func worstOf(results []client.ProbeResult, of func(client.ProbeResult) client.Finding) client.Finding {
	badness := func(r client.ProbeResult) int {
		switch meaningOf(of(r)).status {
		case metav1.ConditionTrue:
			return 0
		case metav1.ConditionFalse:
			return 2
		default:
			return 1
		}
	}
	return of(slices.MaxFunc(results, func(a, b client.ProbeResult) int { return badness(a) - badness(b) }))
}

// conditionsFor returns the conditions that a ClusterPeer should have by what was found,
// none if nothing was. The time of a transition is kept while the status stays (K2); it
// depends on no clock here, so that the same is written again if our own write has not
// been seen yet.
func conditionsFor(peer *peeringv1alpha1.ClusterPeer, found finding) []metav1.Condition {
	if found.result == nil {
		return nil
	}
	since := metav1.NewTime(found.since)
	if since.Before(&peer.CreationTimestamp) {
		since = peer.CreationTimestamp
	}
	condition := func(kind string, found client.Finding) metav1.Condition {
		means := meaningOf(found)
		return conditions.Since(metav1.Condition{
			Type:               kind,
			Status:             means.status,
			Reason:             string(found),
			Message:            means.message,
			ObservedGeneration: peer.Generation,
			LastTransitionTime: since,
		}, meta.FindStatusCondition(peer.Status.Conditions, kind))
	}
	return []metav1.Condition{
		condition(peeringv1alpha1.ConditionClientCertEnforced, found.result.ClientCert),
		condition(peeringv1alpha1.ConditionServerCertOurs, found.result.ServerCert),
	}
}

// ours returns those conditions of a ClusterPeer that this controller writes.
func ours(peer *peeringv1alpha1.ClusterPeer) []metav1.Condition {
	var found []metav1.Condition
	for _, kind := range []string{peeringv1alpha1.ConditionClientCertEnforced, peeringv1alpha1.ConditionServerCertOurs} {
		if condition := meta.FindStatusCondition(peer.Status.Conditions, kind); condition != nil {
			found = append(found, *condition)
		}
	}
	return found
}
