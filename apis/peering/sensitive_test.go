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

package peering_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/sensitive"
)

var _ sensitive.Object = &peering.ClusterPeer{}

// What both packages call the placeholder is what the kernel writes.
func TestPlaceholder(t *testing.T) {
	assert.Equal(t, sensitive.Placeholder, peering.Placeholder)
	assert.Equal(t, sensitive.Placeholder, peeringv1alpha1.Placeholder)
	assert.Equal(t, "<omitted>", sensitive.Placeholder)
}

// The sensitive fields are those of the design, and a number past them is none.
func TestSensitiveFieldPaths(t *testing.T) {
	var paths []string
	for _, path := range sensitive.Fields(&peering.ClusterPeer{}) {
		paths = append(paths, path)
	}
	assert.Equal(t, []string{"spec.join.connectionString", "status.invite.connectionString"}, paths)
	for _, i := range []int{-1, len(paths), 1000} {
		path, value := (&peering.ClusterPeer{}).SensitiveField(i, true)
		assert.Empty(t, path)
		assert.Nil(t, value)
	}
}

// SensitiveField reads what is at the path in JSON, and gives no place where
// there is none.
func TestSensitiveFieldReads(t *testing.T) {
	empty := &peering.ClusterPeer{}
	full := internalPeer()
	for i, path := range sensitive.Fields(&full) {
		_, value := empty.SensitiveField(i, false)
		assert.Nil(t, value, path)
		assert.Equal(t, &peering.ClusterPeer{}, empty, "reading makes nothing")

		// The served type is the JSON of the internal one.
		served := servedPeer()
		encoded, err := json.Marshal(served)
		require.NoError(t, err)
		var at any
		require.NoError(t, json.Unmarshal(encoded, &at))
		for _, name := range strings.Split(path, ".") {
			at = at.(map[string]any)[name]
		}
		_, value = full.SensitiveField(i, false)
		require.NotNil(t, value, path)
		assert.Equal(t, at, *value, path)
	}
}

// R7: what SensitiveField writes through is the object's own; what it makes is
// there afterwards.
func TestSensitiveFieldWrites(t *testing.T) {
	for i, path := range sensitive.Fields(&peering.ClusterPeer{}) {
		shared := internalPeer()
		own := shared // shares all pointers
		_, value := own.SensitiveField(i, true)
		require.NotNil(t, value, path)
		*value = "new"
		assert.Equal(t, internalPeer(), shared, path)
		_, value = own.SensitiveField(i, false)
		assert.Equal(t, "new", *value, path)
		// The neighbours of the field are kept.
		assert.Equal(t, "a-uuid", own.Spec.Join.ExpectedClusterUUID)
		assert.Equal(t, "a-token-id", own.Status.Invite.TokenID)

		empty := &peering.ClusterPeer{}
		_, value = empty.SensitiveField(i, true)
		require.NotNil(t, value, path)
		*value = "made"
		_, value = empty.SensitiveField(i, false)
		assert.Equal(t, "made", *value, path)
	}
}

// R15: every field with the tag `datapolicy`, in both packages, is a sensitive
// field, and the other way round; and all of them are strings, not pointers, which
// the logging library would skip.
func TestSensitiveFieldsAreTagged(t *testing.T) {
	want := []string{}
	for _, path := range sensitive.Fields(&peering.ClusterPeer{}) {
		want = append(want, strings.ToLower(path))
	}
	for _, object := range []any{peering.ClusterPeer{}, peeringv1alpha1.ClusterPeer{}} {
		tagged := []string{}
		tags(t, reflect.TypeOf(object), "", &tagged)
		assert.ElementsMatch(t, want, tagged, "%T", object)
	}
}

// tags collects the paths of the fields with the tag, in lower case: the internal
// types have no JSON names.
func tags(t *testing.T, in reflect.Type, path string, tagged *[]string) {
	t.Helper()
	switch in.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		tags(t, in.Elem(), path, tagged)
	case reflect.Struct:
		if !strings.HasPrefix(in.PkgPath(), "entente.dev/") {
			return
		}
		for i := range in.NumField() {
			field := in.Field(i)
			name := strings.TrimPrefix(path+"."+strings.ToLower(field.Name), ".")
			if _, ok := field.Tag.Lookup("datapolicy"); ok {
				assert.Equal(t, reflect.String, field.Type.Kind(), name)
				*tagged = append(*tagged, name)
			}
			tags(t, field.Type, name, tagged)
		}
	}
}
