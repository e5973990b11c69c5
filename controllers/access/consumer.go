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

package access

import (
	"slices"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// Names tells whether a capability names a ServiceAccount as one of its consumers. Both ends
// ask that: the one that the ServiceAccount is of, and the one that it comes to.
func Names(spec *peeringv1alpha1.PeeringCapabilitySpec, namespace, name string) bool {
	return slices.ContainsFunc(spec.Consumers, func(c peeringv1alpha1.Consumer) bool {
		// What is older than the default has no kind.
		isServiceAccount := c.Kind == "" || c.Kind == peeringv1alpha1.ConsumerKindServiceAccount
		return isServiceAccount && c.Namespace == namespace && c.Name == name
	})
}
