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

package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/harness"
)

// K1, K2: what is served is pinned, so that no verb is lost or gained unseen.
func TestK2Discovery(t *testing.T) {
	s := startAPI(t)
	t.Run("resources", func(t *testing.T) {
		var list struct {
			GroupVersion string
			Resources    []struct {
				Name, SingularName, Kind string
				Namespaced               bool
				Verbs                    []string
				ShortNames, Categories   []string
			}
		}
		require.NoError(t, json.Unmarshal(s.do(t, harness.Viewer, http.MethodGet, groupVersion, "").want(t, 200).body, &list))
		assert.Equal(t, "peering.entente.dev/v1alpha1", list.GroupVersion)
		var got []string
		for _, r := range list.Resources {
			slices.Sort(r.Verbs)
			got = append(got, fmt.Sprint(r.Name, " ", r.SingularName, " ", r.Kind, " ", r.Namespaced, " ", r.ShortNames, " ", r.Categories, " ", r.Verbs))
		}
		assert.ElementsMatch(t, []string{
			"clusterpeers clusterpeer ClusterPeer false [cpeer] [entente] [create delete deletecollection get list patch update watch]",
			"clusterpeers/status  ClusterPeer false [] [] [get patch update]",
			"clusterpeers/sensitive  ClusterPeer false [] [] [get patch update]",
			"clusterpeers/proxy  ClusterPeerProxyOptions false [] [] [create delete get patch update]",
			"peeringcapabilities peeringcapability PeeringCapability false [peercap] [entente] [create delete deletecollection get list patch update watch]",
			"peeringcapabilities/status  PeeringCapability false [] [] [get patch update]",
			"projectpeers projectpeer ProjectPeer true [] [entente] [create delete deletecollection get list patch update watch]",
			"projectpeers/status  ProjectPeer true [] [] [get patch update]",
			"tokenexchangeproviders tokenexchangeprovider TokenExchangeProvider false [] [entente] [create delete deletecollection get list patch update watch]",
			"tokenexchangeproviders/status  TokenExchangeProvider false [] [] [get patch update]",
		}, got)
	})
	t.Run("aggregated", func(t *testing.T) {
		a := s.do(t, harness.Viewer, http.MethodGet, "/apis", "", accept("application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList")).want(t, 200)
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version   string
					Resources []struct {
						Resource, SingularResource, Scope string
						Verbs, ShortNames, Categories     []string
						Subresources                      []struct {
							Subresource string
							Verbs       []string
						}
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal(a.body, &list))
		var got []string
		for _, group := range list.Items {
			if group.Metadata.Name != "peering.entente.dev" {
				continue
			}
			for _, v := range group.Versions {
				for _, r := range v.Resources {
					slices.Sort(r.Verbs)
					got = append(got, fmt.Sprint(v.Version, " ", r.Resource, " ", r.SingularResource, " ", r.Scope, " ", r.ShortNames, " ", r.Categories, " ", r.Verbs))
					for _, sub := range r.Subresources {
						slices.Sort(sub.Verbs)
						got = append(got, fmt.Sprint(v.Version, " ", r.Resource, "/", sub.Subresource, " ", sub.Verbs))
					}
				}
			}
		}
		assert.ElementsMatch(t, []string{
			"v1alpha1 clusterpeers clusterpeer Cluster [cpeer] [entente] [create delete deletecollection get list patch update watch]",
			"v1alpha1 clusterpeers/status [get patch update]",
			"v1alpha1 clusterpeers/sensitive [get patch update]",
			"v1alpha1 clusterpeers/proxy [create delete get patch update]",
			"v1alpha1 peeringcapabilities peeringcapability Cluster [peercap] [entente] [create delete deletecollection get list patch update watch]",
			"v1alpha1 peeringcapabilities/status [get patch update]",
			"v1alpha1 projectpeers projectpeer Namespaced [] [entente] [create delete deletecollection get list patch update watch]",
			"v1alpha1 projectpeers/status [get patch update]",
			"v1alpha1 tokenexchangeproviders tokenexchangeprovider Cluster [] [entente] [create delete deletecollection get list patch update watch]",
			"v1alpha1 tokenexchangeproviders/status [get patch update]",
		}, got)
	})
	t.Run("methods that are not verbs", func(t *testing.T) {
		s.seed(t, "a", "", "")
		for _, r := range [][2]string{
			{"POST", "a"}, {"POST", "a/status"}, {"POST", "a/sensitive"}, {"DELETE", "a/status"}, {"DELETE", "a/sensitive"}, {"PUT", ""}, {"PATCH", ""},
		} {
			assert.Equal(t, 405, s.do(t, harness.Admin, r[0], r[1], manifest(t, "a", "")).code, "%v", r)
		}
		for _, path := range []string{"a/scale", "absent/proxy/x", "a/sensitive/x", "a/status/x", groupVersion + "/namespaces/default/clusterpeers", groupVersion + "/namespaces/default/peeringcapabilities", groupVersion + "/namespaces/default/tokenexchangeproviders", groupVersion + "/nothing"} {
			assert.Equal(t, 404, s.do(t, harness.Admin, http.MethodGet, path, "").code, path)
		}
	})
}

// walk writes down the fields below a schema; definitions are where its
// references lead.
func walk(t testing.TB, definitions map[string]any, schema map[string]any, path string, into map[string]string) {
	t.Helper()
	merged := map[string]any{}
	for _, layer := range flatten(t, definitions, schema) {
		for key, value := range layer {
			if _, ok := merged[key]; !ok {
				merged[key] = value
			}
		}
	}
	if path != "" {
		line := fmt.Sprint(merged["type"])
		for _, f := range []struct{ key, name string }{{"maxLength", "maxLength"}, {"minimum", "minimum"}, {"default", "default"}, {"x-kubernetes-list-type", "list"}, {"x-kubernetes-sensitive-data", "sensitive"}} {
			value, ok := merged[f.key]
			if f.key == "default" {
				// Most fields have one that is nothing.
				text, isText := value.(string)
				ok = isText && text != ""
			}
			if ok {
				if number, isNumber := value.(float64); isNumber {
					value = int(number)
				}
				line += fmt.Sprintf(" %s=%v", f.name, value)
			}
		}
		var enum []string
		for _, value := range asList(merged["enum"]) {
			enum = append(enum, fmt.Sprint(value))
		}
		// A closed set of words may be an enum or a pattern of alternatives.
		if pattern, ok := merged["pattern"].(string); ok && strings.HasPrefix(pattern, "^(") {
			enum = strings.Split(strings.TrimSuffix(strings.TrimPrefix(pattern, "^("), ")$"), "|")
		}
		if len(enum) > 0 {
			slices.Sort(enum)
			line += " enum=" + strings.Join(enum, ",")
		}
		if keys := asList(merged["x-kubernetes-list-map-keys"]); len(keys) > 0 {
			line += fmt.Sprintf(" keys=%v", strings.Trim(fmt.Sprint(keys), "[]"))
		}
		into[path] = line
		assert.NotEmpty(t, merged["description"], "%s is not described", path)
	}
	var items []any // limits of the items may stand apart from their type
	for _, layer := range flatten(t, definitions, schema) {
		if item, ok := layer["items"]; ok {
			items = append(items, item)
		}
	}
	if len(items) > 0 {
		walk(t, definitions, map[string]any{"description": "of " + path, "allOf": items}, path+"[]", into)
	}
	properties, _ := merged["properties"].(map[string]any)
	for key, property := range properties {
		next := strings.TrimPrefix(path+"."+key, ".")
		if next == "metadata" || next == "kind" || next == "apiVersion" {
			continue
		}
		walk(t, definitions, property.(map[string]any), next, into)
	}
}

// flatten are a schema and all that it refers to, the nearest first; constraints
// may sit beside a reference (v3: in allOf).
func flatten(t testing.TB, definitions map[string]any, schema map[string]any) []map[string]any {
	t.Helper()
	layers := []map[string]any{schema}
	if ref, ok := schema["$ref"].(string); ok {
		target, ok := definitions[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
		require.True(t, ok, ref)
		layers = append(layers, flatten(t, definitions, target)...)
	}
	for _, part := range asList(schema["allOf"]) {
		layers = append(layers, flatten(t, definitions, part.(map[string]any))...)
	}
	return layers
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// K1: every field is in OpenAPI, with its limits.
func TestK1OpenAPI(t *testing.T) {
	s := startAPI(t, harness.WithClusters())
	for group, paths := range map[string][]string{
		"peering.entente.dev": {
			"clusterpeers/{name}/sensitive", "clusterpeers/{name}/status", "clusterpeers/{name}/proxy/{path}", "peeringcapabilities/{name}/status",
			"namespaces/{namespace}/projectpeers/{name}/status", "tokenexchangeproviders/{name}/status",
		},
		"core.convoy.kumodo.io": {"namespaces/{namespace}/clusters/{name}/status", "namespaces/{namespace}/releases/{name}/status"},
	} {
		for version, path := range map[string]string{"v2": "/openapi/v2", "v3": "/openapi/v3/apis/" + group + "/v1alpha1"} {
			t.Run(group+" "+version, func(t *testing.T) {
				document := s.do(t, harness.Viewer, http.MethodGet, path, "").want(t, 200)
				doc := document.object(t)
				definitions, _ := doc["definitions"].(map[string]any)
				if version == "v3" {
					definitions, _ = field(doc, "components", "schemas").(map[string]any)
				}
				for kind, fields := range fields()[group] {
					got := map[string]string{}
					walk(t, definitions, schemaOf(t, definitions, group, kind), "", got)
					for path, want := range fields {
						if version == "v2" { // the library serves no defaults in it
							want = strings.NewReplacer(" default=ServiceAccount", "", " default=Delete", "").Replace(want)
						}
						assert.Equal(t, want, got[path], "%s %s", kind, path)
					}
					for path, line := range got {
						assert.Contains(t, fields, path, "%s: not in the reference: %s", kind, line)
					}
				}
				sensitive := map[bool]int{true: 2, false: 0}[version == "v2" || group == "peering.entente.dev"]
				assert.Equal(t, sensitive, strings.Count(string(document.body), `"x-kubernetes-sensitive-data":true`), "exactly two fields are sensitive")
				assert.Equal(t, sensitive, strings.Count(string(document.body), `x-kubernetes-sensitive-data`))
				for _, path := range paths {
					assert.Contains(t, string(document.body), path)
				}
			})
		}
	}
}

// schemaOf is the schema of a kind of a group.
func schemaOf(t testing.TB, definitions map[string]any, group, kind string) map[string]any {
	t.Helper()
	for _, schema := range definitions {
		for _, gvk := range asList(schema.(map[string]any)["x-kubernetes-group-version-kind"]) {
			if g := gvk.(map[string]any); g["kind"] == kind && g["version"] == "v1alpha1" && g["group"] == group {
				return schema.(map[string]any)
			}
		}
	}
	require.FailNow(t, "no schema has the kind "+kind)
	return nil
}

// K2: selectors.
func TestK2Selectors(t *testing.T) {
	s := startAPI(t)
	for _, n := range []string{"a", "b", "c"} {
		s.do(t, harness.Operator, http.MethodPost, "", manifest(t, n, s.secret(), "l-"+n)).want(t, 201)
	}
	for query, want := range map[string][]string{
		"?fieldSelector=metadata.name%3Da":                                   {"a"},
		"?fieldSelector=metadata.name%3D%3Da":                                {"a"},
		"?fieldSelector=metadata.name%21%3Da":                                {"b", "c"},
		"?fieldSelector=metadata.name%3Dnone":                                {},
		"?fieldSelector=metadata.name%3Da,metadata.name=b":                   {},
		"?labelSelector=l-b%3Dx":                                             {"b"},
		"?labelSelector=%21l-b":                                              {"a", "c"},
		"?limit=2":                                                           {"a", "b"},
		"?resourceVersion=0&fieldSelector=metadata.name=c":                   {"c"},
		"?resourceVersion=0&labelSelector=l-c&fieldSelector=metadata.name=a": {},
	} {
		a := s.do(t, harness.Viewer, http.MethodGet, query, "").want(t, 200)
		got := []string{}
		for _, obj := range a.items(t) {
			got = append(got, name(obj))
		}
		assert.Equal(t, want, got, query)
		assert.Equal(t, "ClusterPeerList", a.object(t)["kind"])
	}
	for _, selector := range []string{"spec.type%3DJoin", "spec.join.connectionString%3Dx", "status.phase%3DPending", "metadata.namespace.x%3D1", "metadata.uid%3D1", "nonsense", "spec.join.connectionString%21%3D%3Comitted%3E"} {
		for _, r := range [][2]string{{"GET", "?"}, {"GET", "?resourceVersion=0&"}, {"GET", "?watch=1&"}, {"DELETE", "?"}} {
			a := s.do(t, harness.Admin, r[0], r[1]+"fieldSelector="+selector, "", revealing())
			assert.Equal(t, http.StatusBadRequest, a.code, "%s: %s", a.request, a.body)
		}
	}
	assert.Equal(t, http.StatusBadRequest, s.do(t, harness.Admin, http.MethodGet, "?labelSelector=a%3D%3D%3D", "").code)
	assert.Len(t, s.do(t, harness.Viewer, http.MethodGet, "", "").items(t), 3, "nothing was deleted")
	// deletecollection heeds selectors.
	s.do(t, harness.Operator, http.MethodDelete, "?fieldSelector=metadata.name%3Da", "").want(t, 200)
	s.do(t, harness.Operator, http.MethodDelete, "?labelSelector=l-b", "").want(t, 200)
	s.gone(t, "a")
	s.gone(t, "b")
	left := s.do(t, harness.Viewer, http.MethodGet, "", "").items(t)
	require.Len(t, left, 1)
	assert.Equal(t, "c", name(left[0]))
}

// K2: generation and the status subresource.
func TestK2GenerationAndStatus(t *testing.T) {
	s := startAPI(t)
	s.SetRules(t, harness.Operator, bindRule())
	value := s.secret()
	s.seed(t, "g", value, "")
	now := func() int64 {
		return generation(t, s.do(t, harness.Viewer, http.MethodGet, "g", "").want(t, 200).object(t))
	}
	require.EqualValues(t, 1, now())
	for i, step := range []struct {
		what, path, body string
		moves            bool
	}{
		{"labels", "g", `{"metadata":{"labels":{"a":"b"}}}`, false},
		{"annotations", "g", `{"metadata":{"annotations":{"a":"b"}}}`, false},
		{"finalizers", "g", `{"metadata":{"finalizers":["test.entente.dev/wait"]}}`, false},
		{"a generation of their own", "g", `{"metadata":{"generation":99}}`, false},
		{"status on status", "g/status", `{"status":{"pairedProjectsCount":3}}`, false},
		{"a sensitive field of the status", "g/status", `{"status":{"invite":{"connectionString":"x"}}}`, false},
		{"status on main", "g", `{"status":{"pairedProjectsCount":9}}`, false},
		{"capabilities", "g", `{"spec":{"capabilities":["c"]}}`, true},
		{"capabilities again", "g", `{"spec":{"capabilities":["c"]}}`, false},
		{"projects", "g", `{"spec":{"projects":["p"]}}`, true},
		{"a UUID", "g", `{"spec":{"join":{"expectedClusterUUID":"9f2d6d3e-6ff4-4b6a-8f2c-111111111111"}}}`, true},
		{"the sensitive field", "g", `{"spec":{"join":{"connectionString":` + quote(s.secret()) + `}}}`, true},
		{"the placeholder", "g", `{"spec":{"join":{"connectionString":"<omitted>"}}}`, false},
		{"the spec on status", "g/status", `{"spec":{"capabilities":["other"]}}`, false},
		{"a dry run", "g?dryRun=All", `{"spec":{"capabilities":["other"]}}`, false},
	} {
		before := now()
		s.do(t, harness.Operator, http.MethodPatch, step.path, step.body, as(mergePat)).want(t, 200)
		want := before
		if step.moves {
			want++
		}
		assert.Equal(t, want, now(), "%d: %s", i, step.what)
	}
	before := now()
	s.do(t, harness.Operator, http.MethodDelete, "g", "")
	assert.Equal(t, before+1, now(), "the start of a deletion moves the generation")
	s.do(t, harness.Operator, http.MethodDelete, "g", "")
	assert.Equal(t, before+1, now(), "asking again does not")
	s.do(t, harness.Operator, http.MethodPatch, "g", `{"metadata":{"finalizers":null}}`, as(mergePat)).want(t, 200)
	s.do(t, harness.Operator, http.MethodGet, "g", "").want(t, 404)

	t.Run("main ignores status", func(t *testing.T) {
		s.do(t, harness.Operator, http.MethodPost, "", encode(t, set(t, joinPeer("m", value), "sneaked", "status", "peer", "alias"))).want(t, 201)
		obj := s.settled(t, "m")
		assert.Nil(t, field(obj, "status", "peer"))
		status := field(s.settled(t, "m"), "status")
		obj = s.do(t, harness.Operator, http.MethodPut, "m", encode(t, set(t, set(t, obj, "sneaked", "status", "peer", "alias"), nil, "status", "conditions"))).want(t, 200).object(t)
		assert.Equal(t, status, field(obj, "status"))
		for _, contentType := range []string{mergePat, smPatch} {
			obj = s.do(t, harness.Operator, http.MethodPatch, "m", `{"status":{"peer":{"alias":"sneaked"},"phase":null}}`, as(contentType)).want(t, 200).object(t)
			assert.Equal(t, status, field(obj, "status"))
		}
		obj = s.do(t, harness.Operator, http.MethodPatch, "m", `[{"op":"remove","path":"/status"}]`, as(jsonPatch)).want(t, 200).object(t)
		assert.Equal(t, status, field(obj, "status"))
		obj = s.do(t, harness.Operator, http.MethodPatch, "m?fieldManager=k2&force=true", encode(t, set(t, joinPeer("m", ""), "sneaked", "status", "peer", "alias")), as(applyPat)).want(t, 200).object(t)
		assert.Equal(t, status, field(obj, "status"))
		assert.NotContains(t, encode(t, field(obj, "metadata", "managedFields")), "f:alias", "nobody owns what was ignored")
	})
	t.Run("status ignores spec and metadata", func(t *testing.T) {
		s.seed(t, "n", value, "")
		before := s.do(t, harness.Operator, http.MethodPatch, "n", `{"metadata":{"labels":{"l":"1"},"annotations":{"a":"1"},"finalizers":["test.entente.dev/wait"]},"spec":{"capabilities":["c"]}}`, as(mergePat)).want(t, 200).object(t)
		before = s.settled(t, name(before))
		change := func(obj map[string]any) map[string]any {
			set(t, obj, "2", "metadata", "labels", "l")
			set(t, obj, "2", "metadata", "annotations", "a")
			set(t, obj, "2", "metadata", "annotations", "b")
			set(t, obj, []any{}, "metadata", "finalizers")
			set(t, obj, []any{"other"}, "spec", "capabilities")
			set(t, obj, s.secret(), specField...)
			return set(t, obj, "mine", "status", "peer", "alias")
		}
		same := func(how string, after map[string]any) {
			t.Helper()
			for _, path := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"metadata", "finalizers"}, {"metadata", "generation"}, {"spec"}} {
				assert.Equal(t, field(before, path...), field(after, path...), "%s: %v", how, path)
			}
			assert.Equal(t, "mine", field(after, "status", "peer", "alias"), how)
			stored, _ := s.stored(t, "n")
			assert.Equal(t, value, stored, how)
		}
		same("PUT", s.do(t, harness.Operator, http.MethodPut, "n/status", encode(t, change(s.settled(t, "n")))).want(t, 200).object(t))
		merge := encode(t, change(map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"join": map[string]any{}}, "status": map[string]any{}}))
		same("merge", s.do(t, harness.Operator, http.MethodPatch, "n/status", merge, as(mergePat)).want(t, 200).object(t))
		same("strategic", s.do(t, harness.Operator, http.MethodPatch, "n/status", merge, as(smPatch)).want(t, 200).object(t))
		same("json", s.do(t, harness.Operator, http.MethodPatch, "n/status", `[{"op":"add","path":"/status/peer","value":{"alias":"mine"}},{"op":"replace","path":"/spec/capabilities/0","value":"other"},{"op":"remove","path":"/metadata/labels"},{"op":"remove","path":"/metadata/finalizers"}]`, as(jsonPatch)).want(t, 200).object(t))
		apply := change(joinPeer("n", ""))
		same("apply", s.do(t, harness.Operator, http.MethodPatch, "n/status?fieldManager=k2&force=true", encode(t, apply), as(applyPat)).want(t, 200).object(t))
	})
	t.Run("conditions keep lastTransitionTime and carry observedGeneration", func(t *testing.T) {
		s.seed(t, "k", "", "")
		ready := func(obj map[string]any) map[string]any {
			conditions := asList(field(obj, "status", "conditions"))
			require.Len(t, conditions, 1)
			condition := conditions[0].(map[string]any)
			assert.Equal(t, "Ready", condition["type"])
			assert.Equal(t, field(obj, "metadata", "generation"), condition["observedGeneration"])
			return condition
		}
		first := ready(s.settled(t, "k"))
		s.do(t, harness.Operator, http.MethodPatch, "k", `{"spec":{"capabilities":["c"]}}`, as(mergePat)).want(t, 200)
		second := ready(s.settled(t, "k"))
		assert.Equal(t, first["status"], second["status"])
		assert.Equal(t, first["lastTransitionTime"], second["lastTransitionTime"])
	})
}

// K1: what is invalid is said at once, path by path.
func TestK1Validation(t *testing.T) {
	s := startAlone(t)
	s.SetRules(t, harness.Operator, bindRule())
	refuses := func(method, path, body, contentType string, want ...string) {
		t.Helper()
		a := s.do(t, harness.Operator, method, path, body, as(contentType))
		if assert.Equal(t, http.StatusUnprocessableEntity, a.code, "%s: %s", a.request, a.body) {
			assert.ElementsMatch(t, want, a.causes(t), "%s: %s", body, a.body)
		}
	}
	create := func(spec string, want ...string) {
		t.Helper()
		refuses(http.MethodPost, "", complete(`{"spec":`+spec+`}`, "k1"), jsonType, want...)
		refuses(http.MethodPatch, "k1?fieldManager=k1", complete(`{"spec":`+spec+`}`, "k1"), applyPat, want...)
	}
	label64 := strings.Repeat("a", 64)
	create(`{}`, "spec.type")
	create(`{"type":""}`, "spec.type")
	create(`{"type":"Both"}`, "spec.type")
	create(`{"type":"join"}`, "spec.type")
	create(`{"type":"Invite","join":{}}`, "spec.join")
	create(`{"type":"Join","invite":{}}`, "spec.invite")
	create(`{"type":"Join","join":{"expectedClusterUUID":"nonsense"}}`, "spec.join.expectedClusterUUID")
	create(`{"type":"Invite","invite":{"expectedClusterUUID":"9f2d6d3e6ff44b6a8f2c111111111111"}}`, "spec.invite.expectedClusterUUID")
	for _, ttl := range []string{"59s", "24h1s", "0", "-1h", "1d", "3600", "soon", " 1h", "1h "} {
		create(`{"type":"Invite","invite":{"tokenTTL":`+quote(ttl)+`}}`, "spec.invite.tokenTTL")
	}
	// On apply the field manager finds them first, and names the list.
	for spec, at := range map[string][2]string{
		`{"type":"Join","capabilities":["a","b","a"]}`: {"spec.capabilities", "[2]"},
		`{"type":"Join","projects":["p","p"]}`:         {"spec.projects", "[1]"},
	} {
		refuses(http.MethodPost, "", complete(`{"spec":`+spec+`}`, "k1"), jsonType, at[0]+at[1])
		refuses(http.MethodPatch, "k1?fieldManager=k1", complete(`{"spec":`+spec+`}`, "k1"), applyPat, at[0])
	}
	create(`{"type":"Join","capabilities":["UPPER","a.b","",`+quote(label64)+`]}`, "spec.capabilities[0]", "spec.capabilities[1]", "spec.capabilities[2]", "spec.capabilities[3]")
	create(`{"type":"Join","join":{"connectionString":`+quote(strings.Repeat("é", 4097))+`}}`, "spec.join.connectionString")
	create(`{"type":"Invite","capabilities":["A"],"projects":["B"],"join":{"expectedClusterUUID":"x"},"invite":{"tokenTTL":"1s","expectedClusterUUID":"y"}}`,
		"spec.capabilities[0]", "spec.projects[0]", "spec.join", "spec.join.expectedClusterUUID", "spec.invite.tokenTTL", "spec.invite.expectedClusterUUID")

	t.Run("what is valid", func(t *testing.T) {
		for i, spec := range []string{
			`{"type":"Join"}`, `{"type":"Join","join":{}}`, `{"type":"Invite"}`, `{"type":"Invite","invite":{"tokenTTL":"1m"}}`, `{"type":"Invite","invite":{"tokenTTL":"24h"}}`, `{"type":"Invite","invite":{"tokenTTL":"1h30m"}}`,
			`{"type":"Invite","invite":{"expectedClusterUUID":"9f2d6d3e-6ff4-4b6a-8f2c-111111111111"}}`,
			`{"type":"Join","capabilities":[` + quote(label64[1:]) + `,"a-1"],"projects":["p"]}`,
			`{"type":"Join","join":{"connectionString":` + quote(strings.Repeat("x", 4096)) + `}}`,
		} {
			s.do(t, harness.Operator, http.MethodPost, "?dryRun=All", complete(`{"spec":`+spec+`}`, fmt.Sprintf("valid-%d", i))).want(t, 201)
		}
	})
	t.Run("names", func(t *testing.T) {
		s.do(t, harness.Operator, http.MethodPost, "?dryRun=All", manifest(t, label64[1:], "")).want(t, 201)
		for _, n := range []string{label64, "a.b", "Upper", "-a", "a_b"} {
			refuses(http.MethodPost, "", manifest(t, n, ""), jsonType, "metadata.name")
		}
	})
	t.Run("updates", func(t *testing.T) {
		s.seed(t, "u", "", "")
		refuses(http.MethodPatch, "u", `{"spec":{"type":"Invite"}}`, mergePat, "spec.type", "spec.join")
		refuses(http.MethodPatch, "u", `[{"op":"replace","path":"/spec/type","value":"Invite"},{"op":"remove","path":"/spec/join"}]`, jsonPatch, "spec.type")
		refuses(http.MethodPatch, "u", `{"spec":{"capabilities":["a","a"],"join":{"expectedClusterUUID":"x"}}}`, mergePat, "spec.capabilities[1]", "spec.join.expectedClusterUUID")
		refuses(http.MethodPut, "u", encode(t, set(t, s.settled(t, "u"), []any{"a", "a"}, "spec", "projects")), jsonType, "spec.projects[1]")
		s.do(t, harness.Operator, http.MethodPost, "", encode(t, invitePeer("i"))).want(t, 201)
		refuses(http.MethodPatch, "i", `{"spec":{"type":"Join"}}`, mergePat, "spec.type", "spec.invite")
	})
	t.Run("status", func(t *testing.T) {
		s.seed(t, "s", "", "")
		long := strings.Repeat("x", 4097)
		for _, tt := range []struct {
			body string
			want []string
		}{
			{`{"phase":"Done"}`, []string{"status.phase"}},
			{`{"invite":{"connectionString":` + quote(long) + `}}`, []string{"status.invite.connectionString"}},
			{`{"invite":{"tokenID":"12345678901234567","tokenHash":` + quote(long[:65]) + `}}`, []string{"status.invite.tokenID", "status.invite.tokenHash"}},
			{`{"effectiveCapabilities":["a","a"]}`, []string{"status.effectiveCapabilities[1]"}},
			{`{"effectiveCapabilities":[` + quote(label64) + `]}`, []string{"status.effectiveCapabilities[0]"}},
			{`{"offer":{"peeringVersion":` + quote(long[:65]) + `},"peer":{"peeringVersion":` + quote(long[:65]) + `}}`, []string{"status.offer.peeringVersion", "status.peer.peeringVersion"}},
			{`{"grants":[{"capability":"a"},{"capability":"a"}]}`, []string{"status.grants[1]"}},
			{`{"peer":{"projects":[{"name":"a"},{"name":"a"}]}}`, []string{"status.peer.projects[1]"}},
		} {
			refuses(http.MethodPatch, "s/status", `{"status":`+tt.body+`}`, mergePat, tt.want...)
		}
	})
	t.Run("a required boolean is kept when false", func(t *testing.T) {
		s.seed(t, "f", "", "")
		obj := s.do(t, harness.Operator, http.MethodPatch, "f/status", `{"status":{"invite":{"tokenID":"f"}}}`, as(mergePat)).want(t, 200).object(t)
		assert.Equal(t, false, field(obj, "status", "invite", "used"))
	})
}

// K3: the Table.
func TestK3Table(t *testing.T) {
	s := startAlone(t)
	spec, status := s.secret(), s.secret()
	s.seed(t, "a", spec, status)
	s.do(t, harness.Operator, http.MethodPost, "", encode(t, invitePeer("b"))).want(t, 201)
	s.do(t, harness.Operator, http.MethodPatch, "a/status", `{"status":{"peer":{"alias":"the-alias","clusterUUID":"the-uuid","endpoint":"https://the-endpoint"},"pairedProjectsCount":42,"effectiveCapabilities":["the-capability"]}}`, as(mergePat)).want(t, 200)
	for _, path := range []string{"", "a", "?resourceVersion=0", "a/status"} {
		a := s.do(t, harness.Admin, http.MethodGet, path, "", accept(tableType)).want(t, 200) // not even for the admin
		table := a.object(t)
		var narrow, wide []string
		at := map[string]int{}
		for i, column := range asList(table["columnDefinitions"]) {
			c := column.(map[string]any)
			n := strings.ToLower(fmt.Sprint(c["name"]))
			at[n] = i
			if c["priority"] == float64(0) {
				narrow = append(narrow, n)
			} else {
				wide = append(wide, n)
			}
			assert.NotEmpty(t, c["description"])
		}
		assert.Equal(t, []string{"name", "type", "phase", "ready", "reason", "alias", "projects", "last sync", "age"}, narrow)
		assert.Len(t, wide, 4, "UUID, endpoint, capabilities, expiry: %v", wide)
		row := asList(asList(table["rows"])[0].(map[string]any)["cells"])
		require.Len(t, row, len(narrow)+len(wide))
		assert.Equal(t, "a", row[at["name"]])
		assert.Equal(t, "Join", row[at["type"]])
		assert.Equal(t, []any{"Error", "False", "InvalidConnectionString"}, []any{row[at["phase"]], row[at["ready"]], row[at["reason"]]})
		assert.Equal(t, "the-alias", row[at["alias"]])
		assert.EqualValues(t, 42, row[at["projects"]])
		assert.NotContains(t, []any{"", "<unknown>", nil}, row[at["age"]])
		for _, text := range []string{"the-uuid", "https://the-endpoint", "the-capability"} {
			assert.Contains(t, fmt.Sprint(row), text)
		}
	}
	a := s.do(t, harness.Viewer, http.MethodGet, "?limit=1", "", accept(tableType)).want(t, 200)
	assert.NotEmpty(t, field(a.object(t), "metadata", "continue"))
	assert.NotEmpty(t, field(a.object(t), "metadata", "resourceVersion"))
}
