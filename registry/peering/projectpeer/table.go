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
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/plain"
)

// table prints ProjectPeers: the state of a pairing, and with which cluster (K3).
func table() plain.Table[*peering.ProjectPeer] {
	return plain.Table[*peering.ProjectPeer]{
		Columns: []metav1.TableColumnDefinition{
			plain.NameColumn(),
			{Name: "State", Type: "string", Description: "State of the pairing: Paired or PeerUnreachable."},
			{Name: "Cluster", Type: "string", Description: "UUID of the other cluster."},
			{Name: "Remote Namespaces", Type: "integer", Description: "Number of namespaces of the project in the other cluster."},
			plain.AgeColumn(),
			{Name: "Reason", Type: "string", Priority: 1, Description: "Reason for the state."},
			{Name: "Capabilities", Type: "string", Priority: 1, Description: "Capabilities that apply in the project."},
		},
		Row: row,
	}
}

func row(peer *peering.ProjectPeer, name, age string) []any {
	status := &peer.Status
	var capabilities []string
	for _, capability := range status.Capabilities {
		capabilities = append(capabilities, capability.Name)
	}
	return []any{name, string(status.State), status.ClusterUUID, int64(len(status.RemoteNamespaces)), age, status.Reason, strings.Join(capabilities, ",")}
}
