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
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"entente.dev/entente/apis/generated/openapi"
	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/sensitive"
)

// fact is what the schema says of a field.
type fact struct {
	kind      string // type
	max       int64  // length
	enum      string // allowed values, by commas
	least     string // minimum
	list      string // set, atomic, or map:key
	required  bool
	sensitive bool
}

const big = 1048576

// reference are the fields of ClusterPeer of the reference, by hand, with the list
// types of K1, and those of K5.
var reference = map[string]fact{
	"spec":                                   {kind: "object", required: true},
	"spec.capabilities":                      {kind: "array", list: "set"},
	"spec.capabilities[]":                    {kind: "string", max: 63},
	"spec.invite":                            {kind: "object"},
	"spec.invite.expectedClusterUUID":        {kind: "string", max: 36},
	"spec.invite.tokenTTL":                   {kind: "string"},
	"spec.join":                              {kind: "object"},
	"spec.join.connectionString":             {kind: "string", max: 4096, sensitive: true},
	"spec.join.expectedClusterUUID":          {kind: "string", max: 36},
	"spec.projects":                          {kind: "array", list: "set"}, // K5
	"spec.projects[]":                        {kind: "string", max: 63},
	"spec.type":                              {kind: "string", enum: "Invite,Join", required: true},
	"status":                                 {kind: "object"},
	"status.access":                          {kind: "object"},
	"status.access.audiences":                {kind: "array", list: "map:capability"},
	"status.access.audiences[]":              {kind: "object"},
	"status.access.audiences[].audience":     {kind: "string"},
	"status.access.audiences[].capability":   {kind: "string", required: true},
	"status.access.caBundle":                 {kind: "string"},
	"status.access.endpoint":                 {kind: "string"},
	"status.conditions":                      {kind: "array", list: "map:type"},
	"status.conditions[]":                    {kind: "object"},
	"status.conditions[].lastTransitionTime": {kind: "string", required: true},
	"status.conditions[].message":            {kind: "string", required: true},
	// The schema of a condition is of the Kubernetes libraries and says no limits;
	// package apiserver adds those of the reference when it serves it.
	"status.conditions[].observedGeneration": {kind: "integer"},
	"status.conditions[].reason":             {kind: "string", required: true},
	"status.conditions[].status":             {kind: "string", required: true},
	"status.conditions[].type":               {kind: "string", required: true},
	"status.effectiveCapabilities":           {kind: "array", list: "set"},
	"status.effectiveCapabilities[]":         {kind: "string", max: 63},
	"status.grants":                          {kind: "array", list: "map:capability"},
	"status.grants[]":                        {kind: "object"},
	"status.grants[].capability":             {kind: "string", required: true},
	"status.grants[].namespaces":             {kind: "array", list: "set"},
	"status.grants[].namespaces[]":           {kind: "string"},
	"status.invite":                          {kind: "object"},
	"status.invite.connectionString":         {kind: "string", max: 4096, sensitive: true},
	"status.invite.expiresAt":                {kind: "string"},
	"status.invite.tokenHash":                {kind: "string", max: 64},
	"status.invite.tokenID":                  {kind: "string", max: 16},
	"status.invite.used":                     {kind: "boolean"},
	"status.observedGeneration":              {kind: "integer"},
	"status.offer":                           {kind: "object"},
	"status.offer.capabilities":              {kind: "array", list: "map:name"},
	"status.offer.capabilities[]":            {kind: "object"},
	"status.offer.capabilities[].name":       {kind: "string", required: true},
	"status.offer.capabilities[].scope":      {kind: "array", list: "set"},
	"status.offer.capabilities[].scope[]":    {kind: "string"},
	"status.offer.capabilities[].version":    {kind: "string"},
	"status.offer.issuer":                    {kind: "object"},
	"status.offer.issuer.jwks":               {kind: "string"},
	"status.offer.issuer.url":                {kind: "string"},
	"status.offer.peeringVersion":            {kind: "string", max: 64},
	"status.offer.projects":                  {kind: "array", list: "map:name"},
	"status.offer.projects[]":                {kind: "object"},
	"status.offer.projects[].name":           {kind: "string", required: true},
	"status.offer.projects[].namespaces":     {kind: "array", list: "set"},
	"status.offer.projects[].namespaces[]":   {kind: "string"},
	"status.pairedProjectsCount":             {kind: "integer"},
	"status.peer":                            {kind: "object"},
	"status.peer.alias":                      {kind: "string", max: big},
	"status.peer.capabilities":               {kind: "array", list: "map:name"},
	"status.peer.capabilities[]":             {kind: "object"},
	"status.peer.capabilities[].name":        {kind: "string", max: big, required: true},
	"status.peer.capabilities[].scope":       {kind: "array", list: "set"},
	"status.peer.capabilities[].scope[]":     {kind: "string", max: big},
	"status.peer.capabilities[].version":     {kind: "string", max: big},
	"status.peer.clusterUUID":                {kind: "string", max: big},
	"status.peer.endpoint":                   {kind: "string", max: big},
	"status.peer.issuer":                     {kind: "object"},
	"status.peer.issuer.jwks":                {kind: "string", max: big},
	"status.peer.issuer.url":                 {kind: "string", max: big},
	"status.peer.lastSyncTime":               {kind: "string"},
	"status.peer.peeringVersion":             {kind: "string", max: 64},
	"status.peer.projects":                   {kind: "array", list: "map:name"},
	"status.peer.projects[]":                 {kind: "object"},
	"status.peer.projects[].name":            {kind: "string", max: big, required: true},
	"status.peer.projects[].namespaces":      {kind: "array", list: "set"},
	"status.peer.projects[].namespaces[]":    {kind: "string", max: big},
	"status.phase":                           {kind: "string", enum: "Active,Error,Pending"},
}

// schemas are those that the server serves, by version of OpenAPI.
func schemas(t *testing.T) map[string]map[string]spec.Schema {
	t.Helper()
	model := peeringv1alpha1.ClusterPeer{}.OpenAPIModelName()
	definitions, err := sensitive.MarkOpenAPI(openapi.GetOpenAPIDefinitions, model, &peering.ClusterPeer{})
	require.NoError(t, err)
	name := func(name string) (string, spec.Extensions) { return name, nil }
	info := &spec.Info{InfoProps: spec.InfoProps{Title: "test", Version: "test"}}
	v2, err := builder.BuildOpenAPIDefinitionsForResources(&common.Config{Info: info, GetDefinitions: definitions, GetDefinitionName: name}, model)
	require.NoError(t, err)
	v3, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{Info: info, GetDefinitions: definitions, GetDefinitionName: name}, model)
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

func served(t *testing.T, version string) facts {
	t.Helper()
	f := facts{schemas(t)[version], map[string]fact{}, map[string]string{}}
	model := f.schemas[peeringv1alpha1.ClusterPeer{}.OpenAPIModelName()]
	for _, name := range []string{"spec", "status"} {
		f.read(t, name, slices.Contains(model.Required, name), model.Properties[name])
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
	for _, version := range []string{"v2", "v3"} {
		t.Run(version, func(t *testing.T) {
			got := served(t, version)
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

// K1: `kubectl explain` has something to say about every field.
func TestK1Descriptions(t *testing.T) {
	got := served(t, "v3")
	for path := range reference {
		if !strings.HasSuffix(path, "[]") {
			assert.NotEmpty(t, got.text[path], path)
		}
	}
	for path, fact := range reference {
		if fact.max > 0 && fact.max < big && !strings.HasSuffix(path, "[]") && !strings.Contains(path, "conditions") {
			assert.Contains(t, got.text[path], fmt.Sprint(fact.max), "the limit of %s", path)
		}
	}
}

// at returns a ClusterPeer with a value at a path of the schema.
func at(t *testing.T, path string, value any) *peeringv1alpha1.ClusterPeer {
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
	peer := &peeringv1alpha1.ClusterPeer{}
	require.NoError(t, json.Unmarshal(encoded, peer), string(encoded))
	return peer
}
