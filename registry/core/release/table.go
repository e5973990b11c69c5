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

package release

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/registry/plain"
)

// table prints Releases: whether one is where it should be and why not, first (K3). No
// column shows what is in its objects.
func table() plain.Table[*core.Release] {
	return plain.Table[*core.Release]{
		Columns: []metav1.TableColumnDefinition{
			plain.NameColumn(),
			{Name: "Cluster", Type: "string", Description: "Cluster that the objects are for."},
			{Name: "Ready", Type: "string", Description: "Whether all objects are in the cluster as the Release says."},
			{Name: "Reason", Type: "string", Description: "Why the objects are there or are not."},
			{Name: "Objects", Type: "integer", Description: "Number of objects in the cluster that the Release has applied."},
			plain.AgeColumn(),
			{Name: "Address", Type: "string", Priority: 1, Description: "Address of the cluster in the last attempt."},
		},
		Row: row,
	}
}

func row(release *core.Release, name, age string) []any {
	status := &release.Status
	ready, reason := "Unknown", ""
	if condition := meta.FindStatusCondition(status.Conditions, corev1alpha1.ConditionReady); condition != nil {
		ready, reason = string(condition.Status), condition.Reason
	}
	address := ""
	if status.LastAttempted != nil {
		address = status.LastAttempted.ResolvedCluster
	}
	return []any{name, release.Spec.ClusterRef.Name, ready, reason, int64(len(status.Objects)), age, address}
}
