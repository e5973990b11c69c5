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

package tokenexchangeprovider

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/plain"
)

// table prints TokenExchangeProviders: whether one is in use and why not, first (K3).
func table() plain.Table[*peering.TokenExchangeProvider] {
	return plain.Table[*peering.TokenExchangeProvider]{
		Columns: []metav1.TableColumnDefinition{
			plain.NameColumn(),
			{Name: "Ready", Type: "string", Description: "Whether tokens of the peer are accepted."},
			{Name: "Reason", Type: "string", Description: "Why tokens of the peer are accepted or are not."},
			{Name: "Issuer", Type: "string", Description: "URL of the issuer of the tokens."},
			{Name: "Prefix", Type: "string", Description: "Prefix of the names that the holders of the tokens have in this cluster."},
			plain.AgeColumn(),
			{Name: "Audiences", Type: "integer", Priority: 1, Description: "Number of audiences: one for each capability that is in effect between the clusters."},
		},
		Row: row,
	}
}

func row(provider *peering.TokenExchangeProvider, name, age string) []any {
	ready, reason := "Unknown", ""
	if condition := meta.FindStatusCondition(provider.Status.Conditions, peeringv1alpha1.ConditionReady); condition != nil {
		ready, reason = string(condition.Status), condition.Reason
	}
	spec := &provider.Spec
	return []any{name, ready, reason, spec.Issuer.URL, spec.UsernamePrefix, age, int64(len(spec.Audiences))}
}
