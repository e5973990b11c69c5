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

// Package schematest holds the schema that is served of the kinds of a group, and the
// validation that is generated from it, to a table.
package schematest

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Group is a version of a group with its schemas.
type Group struct {
	Scheme  *runtime.Scheme
	Version schema.GroupVersion
	// Model is what comes before the kind in the name of its schema.
	Model       string
	Definitions common.GetOpenAPIDefinitions
	// Kinds are the fields that each kind is to have, by path.
	Kinds map[string]map[string]Fact
}

// Fact is what the schema says of a field.
type Fact struct {
	Kind      string // type
	Max       int64  // length
	Enum      string // allowed values, by commas
	Least     string // minimum
	List      string // set, atomic, or map:key
	Required  bool
	Sensitive bool
	Preset    string // default
	// Opaque is a field that the generated validation does not look at.
	Opaque bool
}

// Big is a limit that is none to whoever reads a description.
const Big = 1048576

// Conditioned adds the conditions of a status to the other fields of a kind. Their
// schema is of the Kubernetes libraries and says no limits; package apiserver adds those
// of the reference when it serves it.
func Conditioned(others map[string]Fact) map[string]Fact {
	maps.Copy(others, map[string]Fact{
		"status.conditions":                      {Kind: "array", List: "map:type"},
		"status.conditions[]":                    {Kind: "object"},
		"status.conditions[].lastTransitionTime": {Kind: "string", Required: true},
		"status.conditions[].message":            {Kind: "string", Required: true},
		"status.conditions[].observedGeneration": {Kind: "integer"},
		"status.conditions[].reason":             {Kind: "string", Required: true},
		"status.conditions[].status":             {Kind: "string", Required: true},
		"status.conditions[].type":               {Kind: "string", Required: true},
	})
	return others
}

// schemas are those that the server serves, by version of OpenAPI.
func (g Group) schemas(t *testing.T) map[string]map[string]spec.Schema {
	t.Helper()
	name := func(name string) (string, spec.Extensions) { return name, nil }
	var models []string
	for kind := range g.Kinds {
		models = append(models, g.Model+kind)
	}
	info := &spec.Info{InfoProps: spec.InfoProps{Title: "test", Version: "test"}}
	v2, err := builder.BuildOpenAPIDefinitionsForResources(&common.Config{Info: info, GetDefinitions: g.Definitions, GetDefinitionName: name}, models...)
	require.NoError(t, err)
	v3, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{Info: info, GetDefinitions: g.Definitions, GetDefinitionName: name}, models...)
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
	found   map[string]Fact
	text    map[string]string // descriptions
}

func (g Group) served(t *testing.T, version, kind string) facts {
	t.Helper()
	f := facts{g.schemas(t)[version], map[string]Fact{}, map[string]string{}}
	object := f.schemas[g.Model+kind]
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
	got := Fact{Required: required}
	properties, items, needed := map[string][]spec.Schema{}, []spec.Schema{}, map[string]bool{}
	for _, schema := range schemas {
		for _, part := range f.all(t, schema) {
			if len(part.Type) > 0 {
				got.Kind = strings.Join(part.Type, ",")
			}
			if part.MaxLength != nil {
				got.Max = *part.MaxLength
			}
			if preset, ok := part.Default.(string); ok && preset != "" {
				got.Preset = preset
			}
			if part.Minimum != nil {
				got.Least = fmt.Sprint(*part.Minimum)
			}
			var values []string
			for _, value := range part.Enum {
				values = append(values, fmt.Sprint(value))
			}
			if len(values) > 0 {
				slices.Sort(values)
				got.Enum = strings.Join(values, ",")
			}
			if kind, ok := part.Extensions.GetString("x-kubernetes-list-type"); ok {
				got.List = kind
				if keys, ok := part.Extensions.GetStringSlice("x-kubernetes-list-map-keys"); ok {
					got.List += ":" + strings.Join(keys, ",")
				}
			}
			got.Sensitive = got.Sensitive || part.Extensions["x-kubernetes-sensitive-data"] == true
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

// TestSchema tests K1: every field of the tables is served, with its limit, its allowed
// values and its list type, and no field beside.
func (g Group) TestSchema(t *testing.T) {
	for kind, reference := range g.Kinds {
		for _, version := range []string{"v2", "v3"} {
			t.Run(kind+" "+version, func(t *testing.T) {
				got := g.served(t, version, kind)
				for _, path := range slices.Sorted(maps.Keys(reference)) {
					found, ok := got.found[path]
					if assert.True(t, ok, "%s is not there", path) {
						found.Opaque = reference[path].Opaque
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

// TestDescriptions tests K1: `kubectl explain` has something to say about every field, its limit among it.
func (g Group) TestDescriptions(t *testing.T) {
	for kind, reference := range g.Kinds {
		got := g.served(t, "v3", kind)
		for path, fact := range reference {
			if strings.HasSuffix(path, "[]") {
				continue
			}
			assert.NotEmpty(t, got.text[path], "%s %s", kind, path)
			if fact.Max > 0 && fact.Max < Big && !strings.Contains(path, "conditions") {
				assert.Contains(t, strings.ReplaceAll(got.text[path], ",", ""), fmt.Sprint(fact.Max), "the limit of %s %s", kind, path)
			}
		}
	}
}

// At returns an object of a kind with a value at a path of the schema.
func (g Group) At(t *testing.T, kind, path string, value any) runtime.Object {
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
	obj := g.empty(t, kind)
	require.NoError(t, json.Unmarshal(encoded, obj), string(encoded))
	return obj
}

// empty returns an object of a kind with nothing in it.
func (g Group) empty(t *testing.T, kind string) runtime.Object {
	t.Helper()
	obj, err := g.Scheme.New(g.Version.WithKind(kind))
	require.NoError(t, err)
	return obj
}

// Declared runs the generated validation as the server does, of an object with a value
// at a path of the schema: of a new one for its spec, of one whose status changed for its
// status.
func (g Group) Declared(t *testing.T, kind, path string, value any) field.ErrorList {
	t.Helper()
	obj := g.At(t, kind, path, value)
	if !strings.HasPrefix(path, "status") {
		return g.Scheme.Validate(t.Context(), nil, obj)
	}
	return g.Scheme.ValidateUpdate(t.Context(), nil, obj, g.empty(t, kind), "status")
}

// about are the errors at a path of the schema.
func about(path string, errs field.ErrorList) (out field.ErrorList) {
	for _, err := range errs {
		if strings.ReplaceAll(err.Field, "[0]", "[]") == path {
			out = append(out, err)
		}
	}
	return out
}

// TestEnforced tests K1: what the schema says is what is enforced: a limit, an enum, a minimum, what
// is required, what is unique.
func (g Group) TestEnforced(t *testing.T) {
	for kind := range g.Kinds {
		for path, fact := range g.served(t, "v3", kind).found {
			t.Run(kind+" "+path, func(t *testing.T) { g.enforced(t, kind, path, fact) })
		}
	}
}

func (g Group) enforced(t *testing.T, kind, path string, fact Fact) {
	t.Helper()
	say := func(value any) field.ErrorList { return about(path, g.Declared(t, kind, path, value)) }
	if fact.Max > 0 {
		longest := strings.Repeat("a", int(fact.Max))
		tooLong := say(longest + "a")
		assert.NotEmpty(t, tooLong, "one more than the limit")
		if !strings.HasSuffix(path, "UUID") || fact.Max > 36 {
			assert.Empty(t, say(longest), "the limit")
		}
		// The limit is one of characters.
		if fact.Max > 63 {
			assert.Empty(t, say(strings.Repeat("ä", int(fact.Max))), "the limit, in characters of two bytes")
		}
		if fact.Sensitive {
			assert.NotContains(t, tooLong.ToAggregate().Error(), "aaaaaaaa", "R15: the value is not repeated")
		}
	}
	if fact.Enum != "" {
		for _, value := range strings.Split(fact.Enum, ",") {
			assert.Empty(t, say(value), value)
		}
		for _, value := range []string{"Other", strings.ToUpper(strings.Split(fact.Enum, ",")[0])} {
			errs := say(value)
			require.Len(t, errs, 1, value)
			assert.Equal(t, field.ErrorTypeNotSupported, errs[0].Type)
		}
	}
	if fact.Least != "" {
		assert.NotEmpty(t, say(-1))
		assert.Empty(t, say(0))
	}
	if fact.List == "set" {
		assertDuplicate(t, path, g.Declared(t, kind, path, []string{"a", "b", "a"}))
	}
	if key, ok := strings.CutPrefix(fact.List, "map:"); ok && key != "type" { // conditions apart
		entry := func(value string) map[string]any { return map[string]any{key: value} }
		assertDuplicate(t, path, g.Declared(t, kind, path, []any{entry("a"), entry("b"), entry("a")}))
	}
	if fact.Required && fact.Kind == "string" && !g.Kinds[kind][path].Opaque && !strings.Contains(path, "conditions") {
		parent := path[:strings.LastIndex(path, ".")]
		errs := about(path, g.Declared(t, kind, parent, map[string]any{}))
		require.Len(t, errs, 1)
		assert.Equal(t, field.ErrorTypeRequired, errs[0].Type)
	}
}

// assertDuplicate finds that the third item of a list was there before.
func assertDuplicate(t *testing.T, path string, errs field.ErrorList) {
	t.Helper()
	for _, err := range errs {
		if err.Type == field.ErrorTypeDuplicate && strings.ReplaceAll(err.Field, "[0]", "[]") == path+"[2]" {
			return
		}
	}
	assert.Fail(t, "no duplicate", "%v", errs)
}
