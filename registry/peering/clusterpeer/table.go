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
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/plain"
)

// table renders ClusterPeers in columns: what an operator asks first, with the rest at
// priority 1 for the wide form (K3). No column shows a sensitive field.
func table() plain.Table[*peering.ClusterPeer] {
	return plain.Table[*peering.ClusterPeer]{
		Columns: []metav1.TableColumnDefinition{
			plain.NameColumn(),
			{Name: "Type", Type: "string", Description: "Role of this cluster: Invite or Join."},
			{Name: "Phase", Type: "string", Description: "State in one word: Pending, Active or Error."},
			{Name: "Ready", Type: "string", Description: "Whether the peering works."},
			{Name: "Reason", Type: "string", Description: "Why the peering works or does not."},
			{Name: "Alias", Type: "string", Description: "Name that the other cluster gives itself."},
			{Name: "Projects", Type: "integer", Description: "Number of paired projects."},
			{Name: "Last Sync", Type: "string", Description: "Time since the other cluster was last in touch."},
			plain.AgeColumn(),
			{Name: "UUID", Type: "string", Priority: 1, Description: "UUID of the other cluster."},
			{Name: "Endpoint", Type: "string", Priority: 1, Description: "Endpoint of the other cluster's gateway."},
			{Name: "Capabilities", Type: "string", Priority: 1, Description: "Capabilities that both clusters offer."},
			{Name: "Expiry", Type: "string", Priority: 1, Description: "When the connection string expires."},
		},
		Row: row,
	}
}

func row(peer *peering.ClusterPeer, name, age string) []any {
	status := &peer.Status
	ready, reason := "Unknown", ""
	if condition := meta.FindStatusCondition(status.Conditions, peeringv1alpha1.ConditionReady); condition != nil {
		ready, reason = string(condition.Status), condition.Reason
	}
	var alias, uuid, endpoint, lastSync, expiry string
	if status.Peer != nil {
		alias, uuid, endpoint = status.Peer.Alias, status.Peer.ClusterUUID, status.Peer.Endpoint
		if status.Peer.LastSyncTime != nil {
			lastSync = metatable.ConvertToHumanReadableDateType(*status.Peer.LastSyncTime)
		}
	}
	if status.Invite != nil && status.Invite.ExpiresAt != nil {
		expiry = status.Invite.ExpiresAt.UTC().Format("2006-01-02T15:04:05Z")
	}
	return []any{
		name, string(peer.Spec.Type), string(status.Phase), ready, reason, alias, int64(status.PairedProjectsCount), lastSync, age,
		uuid, endpoint, strings.Join(status.EffectiveCapabilities, ","), expiry,
	}
}
