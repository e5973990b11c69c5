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

package sensitive

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func plainRef(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }

// marked are the properties that carry the extension, as model.property.
func marked(definitions map[string]common.OpenAPIDefinition) (out []string) {
	for model, definition := range definitions {
		for name, property := range definition.Schema.Properties {
			if value, ok := property.Extensions[Extension]; ok && value == true {
				out = append(out, model+"."+name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// The sensitive fields are marked in the schema, by a boolean, and nothing else
// in it changes.
func TestMarkOpenAPI(t *testing.T) {
	definitions, err := MarkOpenAPI(vaultDefinitions, vaultModel, &Vault{})
	require.NoError(t, err)
	for range 2 { // it is called for every version of OpenAPI
		got := definitions(plainRef)
		assert.Equal(t, []string{"test.vault.v1.VaultKey.secret", "test.vault.v1.VaultLock.code", "test.vault.v1.VaultNote.token"}, marked(got))
		want := vaultDefinitions(plainRef)
		assert.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(got)))
		encoded, err := json.Marshal(got["test.vault.v1.VaultKey"].Schema)
		require.NoError(t, err)
		assert.JSONEq(t, `{"type":"object","properties":{"hint":{"type":"string"},"secret":{"type":"string","x-kubernetes-sensitive-data":true}}}`, string(encoded))
		assert.Equal(t, want[vaultModel], got[vaultModel])
	}
}

// A definition that the caller keeps, rather than makes anew each time, is not
// changed.
func TestMarkOpenAPIChangesNothing(t *testing.T) {
	kept := vaultDefinitions(plainRef)
	noted := kept["test.vault.v1.VaultKey"].Schema.Properties["secret"]
	noted.AddExtension("x-note", "kept")
	kept["test.vault.v1.VaultKey"].Schema.Properties["secret"] = noted
	definitions, err := MarkOpenAPI(func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return kept }, vaultModel, &Vault{})
	require.NoError(t, err)
	require.Len(t, marked(definitions(plainRef)), 3)
	assert.Empty(t, marked(kept))
}

// A path that leads to no string in the schema is an error, at start-up.
func TestMarkOpenAPIFails(t *testing.T) {
	without := func(change func(map[string]common.OpenAPIDefinition)) common.GetOpenAPIDefinitions {
		return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
			out := vaultDefinitions(ref)
			change(out)
			return out
		}
	}
	for name, test := range map[string]struct {
		definitions common.GetOpenAPIDefinitions
		model       string
	}{
		"no such model": {vaultDefinitions, "test.vault.v1.Other"},
		"no model":      {vaultDefinitions, ""},
		"no such field": {without(func(d map[string]common.OpenAPIDefinition) {
			delete(d["test.vault.v1.VaultKey"].Schema.Properties, "secret")
		}), vaultModel},
		"no way to it": {without(func(d map[string]common.OpenAPIDefinition) {
			delete(d["test.vault.v1.VaultSpec"].Schema.Properties, "door")
		}), vaultModel},
		"no such schema": {without(func(d map[string]common.OpenAPIDefinition) { delete(d, "test.vault.v1.VaultLock") }), vaultModel},
		"a number": {without(func(d map[string]common.OpenAPIDefinition) {
			d["test.vault.v1.VaultLock"].Schema.Properties["code"] = *spec.Int64Property()
		}), vaultModel},
		"an object": {without(func(d map[string]common.OpenAPIDefinition) {
			d["test.vault.v1.VaultNote"].Schema.Properties["token"] = *spec.RefSchema("test.vault.v1.VaultKey")
		}), vaultModel},
		"a string on the way": {without(func(d map[string]common.OpenAPIDefinition) {
			d["test.vault.v1.VaultSpec"].Schema.Properties["key"] = *spec.StringProperty()
		}), vaultModel},
	} {
		_, err := MarkOpenAPI(test.definitions, test.model, &Vault{})
		assert.Error(t, err, name)
	}
}
