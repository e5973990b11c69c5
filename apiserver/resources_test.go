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

package apiserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/ledger"
)

// R16, R17: every kind of ours is stored encrypted, and audited with its bodies; nothing
// else is.
func TestR16R17EveryKindIsListed(t *testing.T) {
	api, err := NewAPI()
	require.NoError(t, err)
	gv := peeringv1alpha1.SchemeGroupVersion
	kinds := map[schema.GroupVersionResource]string{}
	for list := range api.Scheme.KnownTypes(gv) {
		// Kinds with lists are resources.
		if kind, ok := strings.CutSuffix(list, "List"); ok && kind != "" {
			resource, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
			kinds[resource] = kind
		}
	}
	require.Contains(t, kinds, gv.WithResource("clusterpeers"))

	stored := []schema.GroupResource{ledger.Resource()}
	for resource := range kinds {
		stored = append(stored, resource.GroupResource())
	}
	assert.ElementsMatch(t, stored, storedResources())
	audited := map[schema.GroupVersionResource]string{}
	for _, resource := range auditedResources() {
		audited[resource.Resource] = resource.Kind
	}
	assert.Equal(t, kinds, audited)
}
