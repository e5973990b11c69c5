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

package peeringcapability

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/plain"
)

// table prints PeeringCapabilities: whether one is valid and why not, first (K3).
func table() plain.Table[*peering.PeeringCapability] {
	return plain.Table[*peering.PeeringCapability]{
		Columns: []metav1.TableColumnDefinition{
			plain.NameColumn(),
			{Name: "Version", Type: "string", Description: "Version of the capability."},
			{Name: "Valid", Type: "string", Description: "Whether the capability can be offered and granted."},
			{Name: "Reason", Type: "string", Description: "Why the capability is valid or is not."},
			{Name: "Rules", Type: "integer", Description: "Number of rules; with none the capability grants nothing."},
			plain.AgeColumn(),
			{Name: "Consumers", Type: "integer", Priority: 1, Description: "Number of ServiceAccounts of the other cluster that the rules are granted to."},
		},
		Row: row,
	}
}

func row(capability *peering.PeeringCapability, name, age string) []any {
	valid, reason := "Unknown", ""
	if condition := meta.FindStatusCondition(capability.Status.Conditions, peeringv1alpha1.ConditionValid); condition != nil {
		valid, reason = string(condition.Status), condition.Reason
	}
	spec := &capability.Spec
	return []any{name, spec.Version, valid, reason, int64(len(spec.Rules)), age, int64(len(spec.Consumers))}
}
