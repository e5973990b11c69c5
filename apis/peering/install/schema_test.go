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

package install

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"entente.dev/entente/apis/generated/openapi"
	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/sensitive"
)

// model is the name of a kind's schema.
func model(kind string) string { return "dev.entente.peering.v1alpha1." + kind }

// schemas are those that the server serves, by version of OpenAPI.
func schemas(t *testing.T) map[string]map[string]spec.Schema {
	t.Helper()
	definitions, err := sensitive.MarkOpenAPI(openapi.GetOpenAPIDefinitions, model("ClusterPeer"), &peering.ClusterPeer{})
	require.NoError(t, err)
	name := func(name string) (string, spec.Extensions) { return name, nil }
	var models []string
	for kind := range reference() {
		models = append(models, model(kind))
	}
	info := &spec.Info{InfoProps: spec.InfoProps{Title: "test", Version: "test"}}
	v2, err := builder.BuildOpenAPIDefinitionsForResources(&common.Config{Info: info, GetDefinitions: definitions, GetDefinitionName: name}, models...)
	require.NoError(t, err)
	v3, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{Info: info, GetDefinitions: definitions, GetDefinitionName: name}, models...)
	require.NoError(t, err)
	out := map[string]map[string]spec.Schema{"v2": v2.Definitions, "v3": {}}
	for name, schema := range v3 {
		out["v3"][name] = *schema
	}
	return out
}

// facts reads what a schema says of each field below it.
type facts struct {
	schemas map[string]spec.Schema
	found   map[string]fact
	text    map[string]string // descriptions
}

func served(t *testing.T, version, kind string) facts {
	t.Helper()
	f := facts{schemas(t)[version], map[string]fact{}, map[string]string{}}
	object := f.schemas[model(kind)]
	for name, property := range object.Properties {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			f.read(t, name, slices.Contains(object.Required, name), property)
		}
	}
	return f
}

// all returns a schema, what it refers to and what it is made of.
func (f facts) all(t *testing.T, schema spec.Schema) []spec.Schema {
	t.Helper()
	out := []spec.Schema{schema}
	if ref := schema.Ref.String(); ref != "" {
		named, ok := f.schemas[ref[strings.LastIndex(ref, "/")+1:]]
		require.True(t, ok, ref)
		out = append(out, f.all(t, named)...)
	}
	for _, part := range schema.AllOf {
		out = append(out, f.all(t, part)...)
	}
	return out
}

func (f facts) read(t *testing.T, path string, required bool, schemas ...spec.Schema) {
	t.Helper()
	got := fact{required: required}
	properties, items, needed := map[string][]spec.Schema{}, []spec.Schema{}, map[string]bool{}
	for _, schema := range schemas {
		for _, part := range f.all(t, schema) {
			if len(part.Type) > 0 {
				got.kind = strings.Join(part.Type, ",")
			}
			if part.MaxLength != nil {
				got.max = *part.MaxLength
			}
			if preset, ok := part.Default.(string); ok && preset != "" {
				got.preset = preset
			}
			if part.Minimum != nil {
				got.least = fmt.Sprint(*part.Minimum)
			}
			var values []string
			for _, value := range part.Enum {
				values = append(values, fmt.Sprint(value))
			}
			if len(values) > 0 {
				slices.Sort(values)
				got.enum = strings.Join(values, ",")
			}
			if kind, ok := part.Extensions.GetString("x-kubernetes-list-type"); ok {
				got.list = kind
				if keys, ok := part.Extensions.GetStringSlice("x-kubernetes-list-map-keys"); ok {
					got.list += ":" + strings.Join(keys, ",")
				}
			}
			got.sensitive = got.sensitive || part.Extensions[sensitive.Extension] == true
			for name, property := range part.Properties {
				properties[name] = append(properties[name], property)
			}
			for _, name := range part.Required {
				needed[name] = true
			}
			if part.Items != nil {
				items = append(items, *part.Items.Schema)
			}
			if part.Description != "" && f.text[path] == "" {
				f.text[path] = part.Description
			}
		}
	}
	f.found[path] = got
	for name, property := range properties {
		f.read(t, path+"."+name, needed[name], property...)
	}
	if len(items) > 0 {
		f.read(t, path+"[]", false, items...)
	}
}

// K1: every field of the reference is served, with its limit, its allowed values
// and its list type, and no field but those of K5 beside.
func TestK1Schema(t *testing.T) {
	for kind, reference := range reference() {
		for _, version := range []string{"v2", "v3"} {
			t.Run(kind+" "+version, func(t *testing.T) {
				got := served(t, version, kind)
				for _, path := range slices.Sorted(maps.Keys(reference)) {
					found, ok := got.found[path]
					if assert.True(t, ok, "%s is not there", path) {
						assert.Equal(t, reference[path], found, path)
					}
				}
				for path := range got.found {
					assert.Contains(t, reference, path)
				}
			})
		}
	}
}

// K1: `kubectl explain` has something to say about every field, its limit among it.
func TestK1Descriptions(t *testing.T) {
	for kind, reference := range reference() {
		got := served(t, "v3", kind)
		for path, fact := range reference {
			if strings.HasSuffix(path, "[]") {
				continue
			}
			assert.NotEmpty(t, got.text[path], "%s %s", kind, path)
			if fact.max > 0 && fact.max < big && !strings.Contains(path, "conditions") {
				assert.Contains(t, got.text[path], fmt.Sprint(fact.max), "the limit of %s %s", kind, path)
			}
		}
	}
}

// at returns an object of a kind with a value at a path of the schema.
func at(t *testing.T, kind, path string, value any) runtime.Object {
	t.Helper()
	segments := strings.Split(path, ".")
	for i := len(segments) - 1; i >= 0; i-- {
		name, list := strings.CutSuffix(segments[i], "[]")
		if list {
			value = []any{value}
		}
		value = map[string]any{name: value}
	}
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	obj := empty(t, kind)
	require.NoError(t, json.Unmarshal(encoded, obj), string(encoded))
	return obj
}

// empty returns an object of a kind with nothing in it.
func empty(t *testing.T, kind string) runtime.Object {
	t.Helper()
	obj, err := newScheme(t).New(peeringv1alpha1.SchemeGroupVersion.WithKind(kind))
	require.NoError(t, err)
	return obj
}
