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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/ledger"
)

// R16, R17: every kind of ours is stored encrypted, served or not, and audited with its
// bodies; nothing else is. Releases are audited without them: people put Secrets there.
func TestR16R17EveryKindIsListed(t *testing.T) {
	api, err := NewAPI()
	require.NoError(t, err)
	kinds := map[schema.GroupVersionResource]string{}
	for _, gv := range storageVersions() {
		for list := range api.Scheme.KnownTypes(gv) {
			// Kinds with lists are resources.
			if kind, ok := strings.CutSuffix(list, "List"); ok && kind != "" {
				resource, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
				kinds[resource] = kind
			}
		}
	}
	releases := corev1alpha1.SchemeGroupVersion.WithResource("releases")
	require.Contains(t, kinds, peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"))
	require.Contains(t, kinds, releases)

	stored := []schema.GroupResource{ledger.Resource()}
	for resource := range kinds {
		stored = append(stored, resource.GroupResource())
	}
	assert.ElementsMatch(t, stored, storedResources())
	audited := map[schema.GroupVersionResource]string{}
	for _, resource := range auditedResources() {
		audited[resource.Resource] = resource.Kind
	}
	delete(kinds, releases)
	assert.Equal(t, kinds, audited)
}

// K4: each group that can be served is stored in a version, and the other way round.
func TestK4Groups(t *testing.T) {
	var stored []string
	for _, gv := range storageVersions() {
		stored = append(stored, gv.Group)
	}
	assert.Equal(t, Groups(), stored)
	for _, test := range []struct{ asked, served []string }{
		{nil, []string{"peering.entente.dev"}},
		{[]string{"peering.entente.dev"}, []string{"peering.entente.dev"}},
		{[]string{"core.convoy.kumodo.io"}, []string{"peering.entente.dev", "core.convoy.kumodo.io"}},
		{[]string{"core.convoy.kumodo.io", "peering.entente.dev", "other"}, []string{"peering.entente.dev", "core.convoy.kumodo.io"}},
	} {
		config := &completedConfig{Config: Config{ServeGroups: test.asked}}
		assert.Equal(t, test.served, config.groups(), "%v", test.asked)
		for _, group := range Groups() {
			assert.Equal(t, slices.Contains(test.served, group), config.serves(group), "%v: %s", test.asked, group)
		}
		assert.False(t, config.serves("other"))
	}
}
