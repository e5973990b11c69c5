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
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// projectWayIn shows those workloads that dial the peer themselves where its gateway is, by
// what it is recognised, and which audience a token needs for each capability (G8). There is
// nothing to show while there is no peering, or if the peer cannot be dialled.
func projectWayIn(peer *peeringv1alpha1.ClusterPeer, rec *record.Peer, effective []string) *peeringv1alpha1.AccessStatus {
	if !rec.GivesAccess() || len(rec.Remote.Endpoints) == 0 || !peer.Spec.Expects(rec.Remote.ClusterUUID) {
		return nil
	}
	status := &peeringv1alpha1.AccessStatus{Endpoint: rec.Remote.Endpoints[0], CABundle: string(pki.CertificatesPEM(rec.Remote.Trust...))}
	for _, capability := range effective {
		status.Audiences = append(status.Audiences, peeringv1alpha1.CapabilityAudience{
			Capability: capability, Audience: protocol.Audience(rec.Remote.ClusterUUID, capability),
		})
	}
	return status
}
