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

package projectpeer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
)

// remoteAtMost is how many namespaces of the other cluster a ProjectPeer lists. Each of ours
// has the list.
const remoteAtMost = 200

// statuses returns what the ProjectPeers of a ClusterPeer should say, by namespace.
func statuses(plan *access.Plan) map[string]peeringv1alpha1.ProjectPeerStatus {
	var capabilities []peeringv1alpha1.OfferedCapability
	for _, capability := range plan.Effective {
		if len(capability.Namespaced) > 0 {
			capabilities = append(capabilities, peeringv1alpha1.OfferedCapability{
				Name: capability.Name, Version: capability.Version, Scope: capability.Scope,
			})
		}
	}
	wanted := map[string]peeringv1alpha1.ProjectPeerStatus{}
	for _, pair := range plan.Paired {
		status := peeringv1alpha1.ProjectPeerStatus{
			State:            peeringv1alpha1.ProjectPeerStatePaired,
			Message:          "Project " + pair.Name + " is paired with the project of that name in cluster " + plan.ClusterUUID + ".",
			ClusterUUID:      plan.ClusterUUID,
			Capabilities:     capabilities,
			RemoteNamespaces: pair.Remote,
		}
		if plan.Unreachable {
			status.State = peeringv1alpha1.ProjectPeerStatePeerUnreachable
			status.Message += " That cluster is out of reach. What its modules may do here stays."
		}
		if more := len(pair.Remote) - remoteAtMost; more > 0 {
			status.RemoteNamespaces = pair.Remote[:remoteAtMost]
			status.Message += fmt.Sprintf(" It has %d more namespaces there than are listed.", more)
		}
		status.Reason = string(status.State)
		for _, namespace := range pair.Local {
			wanted[namespace] = status
		}
	}
	return wanted
}

// differs tells whether a ProjectPeer says something else than it should.
func differs(status, wanted *peeringv1alpha1.ProjectPeerStatus) bool {
	return !equality.Semantic.DeepEqual(status, wanted)
}
