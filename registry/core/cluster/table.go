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

package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/registry/plain"
)

// table prints Clusters: whether one can be used and why not, first (K3). No column shows
// what a Cluster names.
func table() plain.Table[*core.Cluster] {
	return plain.Table[*core.Cluster]{
		Columns: []metav1.TableColumnDefinition{
			plain.NameColumn(),
			{Name: "Mode", Type: "string", Description: "How the cluster is connected to."},
			{Name: "Ready", Type: "string", Description: "Whether the cluster can be used."},
			{Name: "Reason", Type: "string", Description: "Why the cluster can be used or cannot."},
			{Name: "Version", Type: "string", Description: "Kubernetes version of the cluster, as it was read last."},
			{Name: "Releases", Type: "integer", Description: "Number of Releases that refer to the Cluster."},
			{Name: "Last Seen", Type: "string", Description: "Time since the cluster was last seen."},
			plain.AgeColumn(),
			{Name: "Server", Type: "string", Priority: 1, Description: "Address of the API server."},
			{Name: "Auth", Type: "string", Priority: 1, Description: "How Entente authenticates to the API server."},
			{Name: "API Versions", Type: "integer", Priority: 1, Description: "Number of API versions of the cluster, as they were read last."},
		},
		Row: row,
	}
}

func row(cluster *core.Cluster, name, age string) []any {
	spec, status := &cluster.Spec, &cluster.Status
	ready, reason := "Unknown", ""
	if condition := meta.FindStatusCondition(status.Conditions, corev1alpha1.ConditionReady); condition != nil {
		ready, reason = string(condition.Status), condition.Reason
	}
	var server, auth, lastSeen string
	if spec.Agentless != nil {
		server, auth = spec.Agentless.Server, string(spec.Agentless.Auth.Type)
	}
	if status.LastSeen != nil {
		lastSeen = metatable.ConvertToHumanReadableDateType(*status.LastSeen)
	}
	return []any{
		name, string(spec.ConnectionMode), ready, reason, status.DiscoveredVersion, status.ReleaseCount, lastSeen, age,
		server, auth, int64(len(status.DiscoveredAPIVersions)),
	}
}
