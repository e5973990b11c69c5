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
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/core/validation"
	"entente.dev/entente/peering/record"
)

// C4: another cluster that comes to answer under the address between two probes is found out
// before anything is applied to it, before anything is deleted in it, and before what it does
// not have is taken for gone.
func TestC4AnotherClusterBetweenProbes(t *testing.T) {
	for name, test := range map[string]struct {
		// swaps has another cluster answer at some time.
		swaps func(f *fixture)
		does  func(f *fixture)
		want  string
	}{
		"before an apply": {
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = "another" }) },
			func(f *fixture) { f.resources("shop", configMap("a"), configMap("c")) },
			"False ClusterNotReady",
		},
		"before a deletion": {
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = "another" }) },
			func(f *fixture) { f.deletes("shop") },
			"False Deleting",
		},
		"before an apply, and does not say which it is": {
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = "" }) },
			func(f *fixture) { f.resources("shop", configMap("a"), configMap("c")) },
			"False ApplyFailed",
		},
		"before what is not there is forgotten": {
			func(f *fixture) {
				f.far.answers(func(c call) http.HandlerFunc {
					if c.verb == http.MethodGet && c.id.name == "a" {
						f.far.changes(func(to *far) {
							to.uid = "another"
							delete(to.objects, configMapAt("a"))
							delete(to.objects, configMapAt("b"))
						})
					}
					return nil
				})
			},
			func(f *fixture) { f.deletes("shop") },
			"False Deleting",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"), configMap("b"))
			f.applies("shop")
			f.far.writes()
			_, before := f.listed("shop")
			require.NotEmpty(t, before)
			test.swaps(f)
			test.does(f)
			assert.Equal(t, test.want, f.says("shop"))
			_, known := f.listed("shop")
			assert.Equal(t, before, known, "nothing is forgotten")
			for _, write := range f.far.writes() {
				assert.Contains(t, []string{"PATCH a", "PATCH b"}, write, "of before")
			}
		})
	}
}

// C4: what somebody else has made between the look and the write is given up again: with the
// label the Release would delete it.
func TestC4TakenInBetween(t *testing.T) {
	f := newFixture(t)
	theirs := false
	f.far.answers(func(c call) http.HandlerFunc {
		if c.verb == http.MethodPatch && !theirs {
			theirs = true
			f.far.has(configMapAt("a"), "v1", "ConfigMap", nil)
			f.far.changes(func(to *far) {
				to.objects[configMapAt("a")].SetManagedFields([]metav1.ManagedFieldsEntry{{
					Manager: "somebody", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:whose":{}}}`),
				}})
			})
		}
		return nil
	})
	f.wants("shop", configMap("a"))
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Contains(t, f.condition("shop").Message, "it is there already")
	assert.NotContains(t, f.far.object(configMapAt("a")).GetLabels(), corev1alpha1.LabelRelease)
	f.lists("shop")
	f.deletes("shop")
	f.goes("shop")
	assert.Equal(t, []string{"a"}, f.far.names())
}

// C4: two Releases of a namespace do not apply one object at the same time: one would take over
// the other's, without a conflict.
func TestC4OnePlaceOneRelease(t *testing.T) {
	m := newMemory()
	leave, free := m.occupy(place{"team", "t", "ConfigMap a"})
	require.True(t, free)
	_, free = m.occupy(place{"team", "t", "ConfigMap a"})
	assert.False(t, free)
	for _, other := range []place{{"other", "t", "ConfigMap a"}, {"team", "u", "ConfigMap a"}, {"team", "t", "ConfigMap b"}} {
		_, free := m.occupy(other)
		assert.True(t, free, other)
	}
	leave()
	_, free = m.occupy(place{"team", "t", "ConfigMap a"})
	assert.True(t, free)
}

// C4: what a Release has in its cluster is bounded, what it does not want any more included: the
// record of it has to be stored.
func TestC4RecordIsBounded(t *testing.T) {
	f := newFixture(t)
	refused := `{"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"}}` // keeps all others from being deleted
	objects := func(round int) []string {
		all := []string{refused}
		for i := range 200 {
			all = append(all, configMap(fmt.Sprintf("r%d-%03d", round, i)))
		}
		return all
	}
	f.wants("shop", objects(0)...)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	for round := 1; ; round++ {
		f.resources("shop", objects(round)...)
		require.Equal(t, "False ApplyFailed", f.says("shop"))
		_, known := f.listed("shop")
		require.LessOrEqual(t, len(known), maxObjects)
		if strings.Contains(f.condition("shop").Message, "more than 512 objects") {
			require.Equal(t, 2, round)
			break
		}
	}
	f.resources("shop", objects(0)[1:]...)
	f.applies("shop")
	_, known := f.listed("shop")
	assert.Len(t, known, 200)
}

// S1: a status shows what it has room for.
func TestS1ShownObjects(t *testing.T) {
	var objects []record.ReleaseObject
	for i := range maxObjects {
		objects = append(objects, record.ReleaseObject{Group: strings.Repeat("g", 253), Version: "v1", Kind: "Widget", Namespace: strings.Repeat("n", 63), Name: fmt.Sprintf("%s%04d", strings.Repeat("x", 249), i)})
	}
	assert.Len(t, shown(objects[:100]), 100)
	all := shown(objects)
	assert.Less(t, len(all), maxObjects)
	data, err := json.Marshal(all)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(data), validation.MaxObjectsBytes)
	assert.Greater(t, len(data), validation.MaxObjectsBytes*9/10)
}
