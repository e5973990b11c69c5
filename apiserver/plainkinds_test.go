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
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"entente.dev/entente/test/harness"
)

// plainKind is a kind without sensitive fields, as these tests ask for it.
type plainKind struct {
	apiVersion, kind, collection string
	// finalizer is on every object from the start; empty: none.
	finalizer string
	// fresh is the status of a new object.
	fresh map[string]any
	// status is one that may be written, and statusField where a word of it is.
	status      string
	statusField []string
	// spec is what an object has beside its metadata.
	spec map[string]any
	// change is a merge patch of the spec; empty for a kind without one.
	change string
	// longest is how long a name may be: 63 of a DNS label, 253 of a subdomain.
	longest int
}

const (
	peeringVersion = "peering.entente.dev/v1alpha1"
	convoyVersion  = "core.convoy.kumodo.io/v1alpha1"
	// convoy is where Clusters and Releases are, and fleet those of one namespace.
	convoy = "/apis/" + convoyVersion
	fleet  = convoy + "/namespaces/fleet"
)

func plainKinds() []plainKind {
	return []plainKind{
		{
			apiVersion: peeringVersion, kind: "PeeringCapability", collection: groupVersion + "/peeringcapabilities",
			status:      `{"observedGeneration":1,"conditions":[{"type":"Valid","status":"True","reason":"OfATest","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			statusField: []string{"observedGeneration"},
			spec:        map[string]any{"version": "1.0.0", "consumers": []any{map[string]any{"name": "controller", "namespace": "module"}}},
			change:      `{"spec":{"version":"2.0.0"}}`,
			longest:     63,
		},
		{
			apiVersion: peeringVersion, kind: "ProjectPeer", collection: groupVersion + "/namespaces/default/projectpeers",
			status:      `{"state":"Paired","reason":"OfATest","capabilities":[{"name":"logs","version":"1","scope":["project"]}],"remoteNamespaces":["x"]}`,
			statusField: []string{"state"},
			longest:     63,
		},
		{
			apiVersion: peeringVersion, kind: "TokenExchangeProvider", collection: groupVersion + "/tokenexchangeproviders",
			status:      `{"observedGeneration":1,"conditions":[{"type":"Ready","status":"False","reason":"OfATest","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			statusField: []string{"observedGeneration"},
			spec: map[string]any{
				"issuer": map[string]any{"url": "https://east.example", "jwks": `{"keys":[]}`}, "audiences": []any{"peering.entente.dev:u:logs"}, "usernamePrefix": "peer:u:",
			},
			change:  `{"spec":{"audiences":[]}}`,
			longest: 253,
		},
		{
			apiVersion: convoyVersion, kind: "Cluster", collection: fleet + "/clusters", finalizer: "cluster.core.convoy.kumodo.io/prune-releases",
			fresh:       map[string]any{"reachable": false},
			status:      `{"reachable":true,"observedGeneration":1,"discoveredVersion":"v1.37.2","releaseCount":3,"conditions":[{"type":"Ready","status":"True","reason":"OfATest","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			statusField: []string{"observedGeneration"},
			spec: map[string]any{"connectionMode": "agentless", "agentless": map[string]any{"server": "https://east.example:6443", "auth": map[string]any{
				"type": "kubeconfig", "kubeconfig": map[string]any{"secretRef": map[string]any{"name": "east", "key": "kubeconfig"}},
			}}},
			change:  `{"spec":{"metadata":{"region":"east"}}}`,
			longest: 253,
		},
		{
			apiVersion: convoyVersion, kind: "Release", collection: fleet + "/releases", finalizer: "release.core.convoy.kumodo.io/prune-objects",
			status:      `{"observedGeneration":1,"lastAttempted":{"generation":1,"resolvedCluster":"https://east.example:6443"},"objects":[{"version":"v1","kind":"ConfigMap","name":"a"}],"conditions":[{"type":"Ready","status":"False","reason":"OfATest","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			statusField: []string{"lastAttempted", "resolvedCluster"},
			spec: map[string]any{"clusterRef": map[string]any{"name": "east"}, "resources": []any{
				map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"text": "hello"}},
			}},
			change:  `{"spec":{"deletionPolicy":"Orphan"}}`,
			longest: 253,
		},
	}
}

func (k plainKind) object(name string, labels ...string) map[string]any {
	metadata := map[string]any{"name": name}
	if len(labels) > 0 {
		metadata["labels"] = map[string]any{labels[0]: "x"}
	}
	obj := map[string]any{"apiVersion": k.apiVersion, "kind": k.kind, "metadata": metadata}
	if k.spec != nil {
		obj["spec"] = runtime.DeepCopyJSON(k.spec)
	}
	return obj
}

func finalizers(obj map[string]any) []string {
	list, _, _ := unstructured.NestedStringSlice(obj, "metadata", "finalizers")
	return list
}

func (k plainKind) path(name string) string { return k.collection + "/" + name }

// list are the names of the objects that a query finds.
func (k plainKind) list(t testing.TB, s *api, query string) []string {
	t.Helper()
	names := []string{}
	for _, obj := range s.do(t, harness.Viewer, http.MethodGet, k.collection+query, "").want(t, 200).items(t) {
		names = append(names, name(obj))
	}
	return names
}

// awaitGone waits until no object that a query finds is left: what has a finalizer goes in
// two steps.
func (k plainKind) awaitGone(t testing.TB, s *api, query string) {
	t.Helper()
	if k.finalizer == "" {
		require.Empty(t, k.list(t, s, query))
		return
	}
	harness.Eventually(t, "what "+query+" finds is gone", func(context.Context) bool { return len(k.list(t, s, query)) == 0 })
}

// requireFresh requires that the status is that of a new object.
func (k plainKind) requireFresh(t testing.TB, obj map[string]any, why string) {
	t.Helper()
	status, _ := field(obj, "status").(map[string]any)
	if k.fresh == nil {
		assert.Empty(t, status, why)
		return
	}
	assert.Equal(t, k.fresh, status, why)
}

// K2: all verbs of an ordinary kind, for those without sensitive fields. No controller
// runs, which would have its own mind about the objects.
func TestK2PlainKinds(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	for _, k := range plainKinds() {
		t.Run(k.kind, func(t *testing.T) {
			t.Run("write", func(t *testing.T) { k.writes(t, s) })
			t.Run("patch", func(t *testing.T) { k.patches(t, s) })
			t.Run("apply", func(t *testing.T) { k.applies(t, s) })
			t.Run("status", func(t *testing.T) { k.statuses(t, s) })
			t.Run("read", func(t *testing.T) { k.reads(t, s) })
			t.Run("watch", func(t *testing.T) { k.watches(t, s) })
			t.Run("delete", func(t *testing.T) { k.deletes(t, s) })
		})
	}
}

func (k plainKind) writes(t *testing.T, s *api) {
	body := encode(t, k.object("w"))
	s.do(t, harness.Operator, http.MethodPost, k.collection+"?dryRun=All", body).want(t, 201)
	s.do(t, harness.Operator, http.MethodGet, k.path("w"), "").want(t, 404)
	sneaked := strings.TrimSuffix(body, "}") + `,"status":` + k.status + "}"
	created := s.do(t, harness.Operator, http.MethodPost, k.collection, sneaked).want(t, 201).object(t)
	assert.EqualValues(t, 1, generation(t, created))
	k.requireFresh(t, created, "the status is dropped on create")
	assert.Equal(t, k.finalizer != "", slices.Contains(finalizers(created), k.finalizer), "C1: it is there from the start")
	s.do(t, harness.Operator, http.MethodPost, k.collection, body).want(t, 409)
	s.do(t, harness.Viewer, http.MethodPost, k.collection, encode(t, k.object("v"))).want(t, 403)

	moved := set(t, created, "x", "metadata", "labels", "moved")
	updated := s.do(t, harness.Operator, http.MethodPut, k.path("w"), encode(t, moved)).want(t, 200).object(t)
	assert.EqualValues(t, 1, generation(t, updated))
	s.do(t, harness.Operator, http.MethodPut, k.path("w"), encode(t, created)).want(t, 409)
	s.do(t, harness.Operator, http.MethodPut, k.path("w")+"?dryRun=All", encode(t, set(t, k.object("w"), "dry", "metadata", "labels", "moved"))).want(t, 200)
	assert.Equal(t, version(t, updated), version(t, s.do(t, harness.Viewer, http.MethodGet, k.path("w"), "").want(t, 200).object(t)))
	s.do(t, harness.Operator, http.MethodPut, k.path("absent"), encode(t, k.object("absent"))).want(t, 404)

	unknown := encode(t, set(t, k.object("u"), "x", "bogus"))
	strict := s.do(t, harness.Operator, http.MethodPost, k.collection+"?fieldValidation=Strict", unknown).want(t, 400)
	assert.Contains(t, string(strict.body), `unknown field \"bogus\"`)
	warned := s.do(t, harness.Operator, http.MethodPost, k.collection+"?dryRun=All", unknown).want(t, 201)
	assert.Contains(t, warned.warnings(), `unknown field`)
	generated := s.do(t, harness.Operator, http.MethodPost, k.collection+"?dryRun=All", encode(t, set(t, set(t, k.object(""), nil, "metadata", "name"), "some-", "metadata", "generateName"))).want(t, 201)
	assert.Regexp(t, "^some-.{5}$", name(generated.object(t)))
	bad := []string{"a..b", "A", strings.Repeat("x", k.longest+1)}
	if k.longest < 64 {
		bad = append(bad, "a.b")
	}
	for _, bad := range bad {
		assert.Equal(t, []string{"metadata.name"}, s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object(bad))).want(t, 422).causes(t), "K1")
	}
	s.do(t, harness.Operator, http.MethodPost, k.collection+"?dryRun=All", encode(t, k.object(strings.Repeat("x", k.longest)))).want(t, 201)
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, joinPeer("other", ""))).want(t, 400)
}

func (k plainKind) patches(t *testing.T, s *api) {
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("p", "l"))).want(t, 201)
	now := func() map[string]any {
		return s.do(t, harness.Viewer, http.MethodGet, k.path("p"), "").want(t, 200).object(t)
	}
	for contentType, body := range map[string]string{
		mergePat:  `{"metadata":{"labels":{"by":"merge"}}}`,
		smPatch:   `{"metadata":{"labels":{"by":"strategic"}}}`,
		jsonPatch: `[{"op":"add","path":"/metadata/labels/by","value":"json"}]`,
	} {
		before := now()
		s.do(t, harness.Operator, http.MethodPatch, k.path("p")+"?dryRun=All", body, as(contentType)).want(t, 200)
		assert.Equal(t, before, now(), "a dry run by %s", contentType)
		answered := s.do(t, harness.Operator, http.MethodPatch, k.path("p"), body, as(contentType)).want(t, 200).object(t)
		assert.Equal(t, answered, now(), contentType)
		assert.NotEqual(t, before, now(), contentType)
		assert.EqualValues(t, 1, generation(t, now()), "a label moves no generation")
		s.do(t, harness.Viewer, http.MethodPatch, k.path("p"), body, as(contentType)).want(t, 403)
		s.do(t, harness.Operator, http.MethodPatch, k.path("absent"), body, as(contentType)).want(t, 404)
	}
	if k.change == "" {
		return
	}
	for _, want := range []int64{2, 2} { // the second changes nothing
		s.do(t, harness.Operator, http.MethodPatch, k.path("p"), k.change, as(mergePat)).want(t, 200)
		assert.Equal(t, want, generation(t, now()))
	}
}

func (k plainKind) applies(t *testing.T, s *api) {
	apply := func(name, manager, body string) answer {
		return s.do(t, harness.Operator, http.MethodPatch, k.path(name)+"?fieldManager="+manager, body, as(applyPat))
	}
	body := encode(t, k.object("a", "l"))
	created := apply("a", "one", body).want(t, 201).object(t)
	assert.Equal(t, created, apply("a", "one", body).want(t, 200).object(t), "again: nothing")
	conflict := apply("a", "two", encode(t, set(t, k.object("a", "l"), "other", "metadata", "labels", "l"))).want(t, 409)
	assert.Contains(t, conflict.causes(t), ".metadata.labels.l")
	taken := apply("a", "two&force=true", encode(t, set(t, k.object("a", "l"), "other", "metadata", "labels", "l"))).want(t, 200).object(t)
	assert.Equal(t, "other", field(taken, "metadata", "labels", "l"))
	ignored := apply("a", "three", `{"apiVersion":"`+k.apiVersion+`","kind":"`+k.kind+`","status":`+k.status+`}`).want(t, 200).object(t)
	k.requireFresh(t, ignored, "the status is not written here")
	assert.NotContains(t, encode(t, field(ignored, "metadata", "managedFields")), "three", "nobody owns what was ignored")
	s.do(t, harness.Operator, http.MethodPatch, k.path("none")+"/status?fieldManager=one", encode(t, k.object("none")), as(applyPat)).want(t, 404)
}

// statuses holds that /status changes the status alone (S1), by whatever write.
func (k plainKind) statuses(t *testing.T, s *api) {
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, set(t, k.object("s", "l"), []any{"test.entente.dev/wait"}, "metadata", "finalizers"))).want(t, 201)
	before := s.do(t, harness.Viewer, http.MethodGet, k.path("s")+"/status", "").want(t, 200).object(t)
	sneak := `{"metadata":{"labels":{"l":"sneaked"},"annotations":{"a":"sneaked"},"finalizers":[]},"spec":{"version":"9"},"status":` + k.status + `}`
	whole := `{"apiVersion":"` + k.apiVersion + `","kind":"` + k.kind + `","metadata":{"name":"s","labels":{"l":"sneaked"}},"status":` + k.status + `}`
	for _, w := range []struct{ method, contentType, query, body string }{
		{http.MethodPatch, mergePat, "?fieldValidation=Ignore", sneak},
		{http.MethodPatch, smPatch, "?fieldValidation=Ignore", sneak},
		{http.MethodPatch, jsonPatch, "", `[{"op":"add","path":"/status","value":` + k.status + `},{"op":"remove","path":"/metadata/finalizers"},{"op":"replace","path":"/metadata/labels/l","value":"sneaked"}]`},
		{http.MethodPatch, applyPat, "?fieldManager=status&force=true", whole},
		{http.MethodPut, jsonType, "", whole},
	} {
		after := s.do(t, harness.Operator, w.method, k.path("s")+"/status"+w.query, w.body, as(w.contentType)).want(t, 200).object(t)
		for _, path := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"metadata", "finalizers"}, {"metadata", "generation"}, {"spec"}} {
			assert.Equal(t, field(before, path...), field(after, path...), "%s %s: %v", w.method, w.contentType, path)
		}
		assert.NotEmpty(t, field(after, append([]string{"status"}, k.statusField...)...), w.contentType)
		// A write of the main resource leaves the status.
		s.do(t, harness.Operator, http.MethodPatch, k.path("s"), `{"status":null}`, as(mergePat)).want(t, 200)
		kept := s.do(t, harness.Viewer, http.MethodGet, k.path("s"), "").want(t, 200).object(t)
		assert.Equal(t, field(after, "status"), field(kept, "status"))
	}
	s.do(t, harness.Viewer, http.MethodPatch, k.path("s")+"/status", sneak, as(mergePat)).want(t, 403)
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		assert.Equal(t, 405, s.do(t, harness.Admin, method, k.path("s")+"/status", whole).code, method)
	}
	assert.Equal(t, 404, s.do(t, harness.Admin, http.MethodGet, k.path("s")+"/sensitive", "").code, "there is nothing sensitive")

	// K2: the generation moves when deletion starts, once.
	for range 2 {
		s.do(t, harness.Operator, http.MethodDelete, k.path("s"), "").want(t, 200)
		assert.EqualValues(t, 2, generation(t, s.do(t, harness.Viewer, http.MethodGet, k.path("s"), "").want(t, 200).object(t)))
	}
	s.do(t, harness.Operator, http.MethodPatch, k.path("s"), `{"metadata":{"finalizers":null}}`, as(mergePat)).want(t, 200)
	s.do(t, harness.Operator, http.MethodGet, k.path("s"), "").want(t, 404)
}

// reads holds lists in all forms, selectors, and chunks.
func (k plainKind) reads(t *testing.T, s *api) {
	for _, n := range []string{"a", "b", "c"} {
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("r-"+n, "r"))).want(t, 201)
	}
	all := []string{"r-a", "r-b", "r-c"}
	for query, want := range map[string][]string{
		"?labelSelector=r": all,
		"?labelSelector=r&fieldSelector=metadata.name%3Dr-a":                     {"r-a"},
		"?labelSelector=r&fieldSelector=metadata.name%21%3Dr-a":                  {"r-b", "r-c"},
		"?labelSelector=r&fieldSelector=metadata.name%3Dr-a,metadata.name%3Dr-b": {},
		"?labelSelector=r%3Dy": {},
	} {
		assert.Equal(t, want, k.list(t, s, query), query)
	}
	first := s.do(t, harness.Viewer, http.MethodGet, k.collection+"?labelSelector=r&limit=2", "").want(t, 200)
	rest := s.do(t, harness.Viewer, http.MethodGet, k.collection+"?labelSelector=r&limit=2&continue="+text(t, first.object(t), "metadata", "continue"), "").want(t, 200)
	assert.Len(t, first.items(t), 2)
	assert.Len(t, rest.items(t), 1)
	assert.Equal(t, k.kind+"List", rest.object(t)["kind"])
	for _, selector := range []string{"spec.version%3D1.0.0", "spec.usernamePrefix%3Dx", "status.state%3DPaired", "metadata.uid%3D1", "spec.clusterRef.name%3Deast", "spec.connectionMode%3DinCluster", "status.reachable%3Dtrue"} {
		for _, r := range [][2]string{{"GET", "?"}, {"GET", "?watch=1&"}, {"DELETE", "?"}} {
			s.do(t, harness.Admin, r[0], k.collection+r[1]+"fieldSelector="+selector, "").want(t, 400)
		}
	}
	table := s.do(t, harness.Viewer, http.MethodGet, k.collection+"?labelSelector=r&includeObject=Object", "", accept(tableType)).want(t, 200).object(t)
	rows := asList(table["rows"])
	require.Len(t, rows, 3)
	assert.Equal(t, "r-a", asList(rows[0].(map[string]any)["cells"])[0])
	assert.Equal(t, k.kind, field(rows[0].(map[string]any), "object", "kind"))
	assert.Equal(t, len(asList(table["columnDefinitions"])), len(asList(rows[0].(map[string]any)["cells"])))
	metadata := s.do(t, harness.Viewer, http.MethodGet, k.path("r-a"), "", accept(metaType)).want(t, 200).object(t)
	assert.Equal(t, "PartialObjectMetadata", metadata["kind"])
	assert.Nil(t, metadata["spec"])
	many := s.do(t, harness.Viewer, http.MethodGet, k.collection+"?labelSelector=r", "", accept(metasType)).want(t, 200)
	assert.Len(t, many.items(t), 3)
	inYAML := s.do(t, harness.Viewer, http.MethodGet, k.path("r-a"), "", accept(yamlType)).want(t, 200)
	assert.Contains(t, string(inYAML.body), "kind: "+k.kind)
}

// watches holds a watch from a list, and one that begins with the list itself.
func (k plainKind) watches(t *testing.T, s *api) {
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("there", "seen"))).want(t, 201)
	bookmark := func(e event) bool {
		return e.Type == "BOOKMARK" && field(e.Object, "metadata", "annotations", "k8s.io/initial-events-end") == "true"
	}
	from := version(t, s.do(t, harness.Viewer, http.MethodGet, k.collection, "").want(t, 200).object(t))
	for _, w := range []*stream{
		s.watch(t, harness.Viewer, k.collection+"?watch=1&labelSelector=seen&resourceVersion="+from),
		s.watch(t, harness.Viewer, k.collection+"?watch=1&labelSelector=seen&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"),
	} {
		require.Equal(t, 200, w.code)
		if strings.Contains(w.what, "sendInitialEvents") {
			initial := w.until(t, bookmark)
			require.Len(t, initial, 2)
			assert.True(t, named("ADDED", "there")(initial[0]))
			assert.Equal(t, k.kind, initial[1].Object["kind"])
		}
		body := encode(t, k.object("come-and-go", "seen"))
		s.do(t, harness.Operator, http.MethodPost, k.collection, body).want(t, 201)
		s.do(t, harness.Operator, http.MethodPatch, k.path("come-and-go"), `{"metadata":{"annotations":{"a":"b"}}}`, as(mergePat)).want(t, 200)
		s.do(t, harness.Operator, http.MethodPatch, k.path("come-and-go")+"/status", `{"status":`+k.status+`}`, as(mergePat)).want(t, 200)
		s.do(t, harness.Operator, http.MethodDelete, k.path("come-and-go"), "").want(t, 200)
		var types []string
		for _, e := range w.until(t, named("DELETED", "come-and-go")) {
			if e.Type != "BOOKMARK" {
				types = append(types, e.Type)
			}
		}
		want := []string{"ADDED", "MODIFIED", "MODIFIED", "DELETED"}
		if k.finalizer != "" {
			want = slices.Insert(want, 3, "MODIFIED") // deletion begins
		}
		assert.Equal(t, want, types)
	}
}

func (k plainKind) deletes(t *testing.T, s *api) {
	for i := range 3 {
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object(fmt.Sprintf("d-%d", i), "d"))).want(t, 201)
	}
	s.do(t, harness.Operator, http.MethodDelete, k.path("d-0")+"?dryRun=All", "").want(t, 200)
	s.do(t, harness.Operator, http.MethodDelete, k.collection+"?labelSelector=d&dryRun=All", "").want(t, 200)
	s.do(t, harness.Viewer, http.MethodDelete, k.path("d-0"), "").want(t, 403)
	s.do(t, harness.Viewer, http.MethodDelete, k.collection+"?labelSelector=d", "").want(t, 403)
	s.do(t, harness.Operator, http.MethodDelete, k.path("d-0"), `{"preconditions":{"uid":"another"}}`).want(t, 409)
	require.Len(t, k.list(t, s, "?labelSelector=d"), 3)
	gone := s.do(t, harness.Operator, http.MethodDelete, k.path("d-0"), "").want(t, 200).object(t)
	assert.Equal(t, k.kind, gone["kind"], "a delete answers with the object")
	assert.Equal(t, k.finalizer != "", field(gone, "metadata", "deletionTimestamp") != nil, "what has a finalizer is there until somebody has seen to it")
	k.awaitGone(t, s, "?fieldSelector=metadata.name%3Dd-0")
	left := len(k.list(t, s, ""))
	answered := s.do(t, harness.Operator, http.MethodDelete, k.collection+"?labelSelector=d", "").want(t, 200)
	assert.Len(t, answered.items(t), 2)
	k.awaitGone(t, s, "?labelSelector=d")
	assert.Len(t, k.list(t, s, ""), left-2, "nothing else is deleted")
}

// K2: an object of these kinds is one of its namespace, and lists go over one or all.
func TestK2Namespaces(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	for _, k := range plainKinds() {
		group, rest, namespaced := strings.Cut(k.collection, "/namespaces/")
		if !namespaced {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			_, resource, _ := strings.Cut(rest, "/")
			in := func(namespace string) string { return group + "/namespaces/" + namespace + "/" + resource }
			body := encode(t, k.object("east"))
			for _, namespace := range []string{"one", "two"} {
				s.do(t, harness.Operator, http.MethodPost, in(namespace), body).want(t, 201)
			}
			s.do(t, harness.Operator, http.MethodPost, in("one"), encode(t, set(t, k.object("east"), "two", "metadata", "namespace"))).want(t, 400)
			s.do(t, harness.Admin, http.MethodPost, group+"/"+resource, body).want(t, 405)
			found := func(query string) int {
				return len(s.do(t, harness.Viewer, http.MethodGet, group+"/"+resource+query, "").want(t, 200).items(t))
			}
			assert.Equal(t, 2, found(""))
			assert.Equal(t, 2, found("?fieldSelector=metadata.name%3Deast"))
			assert.Equal(t, 1, found("?fieldSelector=metadata.namespace%3Done"))
			assert.Len(t, s.do(t, harness.Viewer, http.MethodGet, in("two"), "").want(t, 200).items(t), 1)
			s.do(t, harness.Operator, http.MethodDelete, in("two"), "").want(t, 200)
			k.awaitGone(t, s, "?fieldSelector=metadata.namespace%3Dtwo")
			harness.Eventually(t, "one is left of two", func(context.Context) bool { return found("") == 1 })
		})
	}
}

// K3: the Tables of these kinds.
func TestK3PlainTables(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	for _, k := range plainKinds() {
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("t"))).want(t, 201)
		s.do(t, harness.Operator, http.MethodPatch, k.path("t")+"/status", `{"status":`+k.status+`}`, as(mergePat)).want(t, 200)
	}
	for _, test := range []struct {
		kind  plainKind
		cells map[string]any
	}{
		{plainKinds()[0], map[string]any{"Name": "t", "Version": "1.0.0", "Valid": "True", "Reason": "OfATest", "Rules": 0.0, "Consumers": 1.0}},
		{plainKinds()[1], map[string]any{"Name": "t", "State": "Paired", "Cluster": "", "Remote Namespaces": 1.0, "Reason": "OfATest", "Capabilities": "logs"}},
		{plainKinds()[2], map[string]any{"Name": "t", "Ready": "False", "Reason": "OfATest", "Issuer": "https://east.example", "Prefix": "peer:u:", "Audiences": 1.0}},
		{plainKinds()[3], map[string]any{
			"Name": "t", "Mode": "agentless", "Ready": "True", "Reason": "OfATest", "Version": "v1.37.2", "Releases": 3.0, "Last Seen": "",
			"Server": "https://east.example:6443", "Auth": "kubeconfig", "API Versions": 0.0,
		}},
		{plainKinds()[4], map[string]any{"Name": "t", "Cluster": "east", "Ready": "False", "Reason": "OfATest", "Objects": 1.0, "Address": "https://east.example:6443"}},
	} {
		for _, path := range []string{test.kind.collection, test.kind.path("t"), test.kind.path("t") + "/status"} {
			table := s.do(t, harness.Viewer, http.MethodGet, path, "", accept(tableType)).want(t, 200).object(t)
			cells := asList(asList(table["rows"])[0].(map[string]any)["cells"])
			got := map[string]any{}
			for i, column := range asList(table["columnDefinitions"]) {
				got[fmt.Sprint(column.(map[string]any)["name"])] = cells[i]
			}
			assert.NotEmpty(t, got["Age"])
			delete(got, "Age")
			assert.Equal(t, test.cells, got, path)
		}
	}
}

// K1: what is invalid is said at once, path by path; what is forbidden and no fault of
// form is not (G1).
func TestK1CapabilityValidation(t *testing.T) {
	s := startAlone(t)
	send := func(spec string) answer {
		return s.do(t, harness.Admin, http.MethodPost, groupVersion+"/peeringcapabilities?dryRun=All", `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"PeeringCapability","metadata":{"name":"v"},"spec":`+spec+`}`)
	}
	for spec, want := range map[string][]string{
		`{}`: {"spec.version"}, `{"version":""}`: {"spec.version"}, `{"version":"1 2"}`: {"spec.version"}, `{"version":` + quote(strings.Repeat("1", 65)) + `}`: {"spec.version"},
		`{"version":"1","consumers":[{"kind":"User","name":"a"}]}`:                                                  {"spec.consumers[0].kind"},
		`{"version":"1","consumers":[{"namespace":` + quote(strings.Repeat("x", 64)) + `}]}`:                        {"spec.consumers[0].namespace"},
		`{"version":"1","rules":[{"verbs":["get","get"]},{"resources":[` + quote(strings.Repeat("x", 254)) + `]}]}`: {"spec.rules[0].verbs[1]", "spec.rules[1].resources[0]"},
	} {
		assert.ElementsMatch(t, want, send(spec).want(t, 422).causes(t), spec)
	}
	defaulted := send(`{"version":"1","consumers":[{"name":"a"},{"kind":"","name":"b"}]}`).want(t, 201).object(t)
	for _, consumer := range asList(field(defaulted, "spec", "consumers")) {
		assert.Equal(t, "ServiceAccount", consumer.(map[string]any)["kind"], "the default")
	}
	for _, spec := range []string{
		`{"version":"v1.2.3-rc.1+build_7"}`, `{"version":"1","consumers":[{"name":"a","namespace":"b"},{"name":"a","namespace":"b"}]}`, `{"version":"1","consumers":[{}],"rules":[{}]}`,
		`{"version":"1","rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*","escalate"]},{"nonResourceURLs":["*"],"verbs":["get"]}]}`,
	} {
		send(spec).want(t, 201)
	}
}

// R15: what cannot be decoded is not quoted, here as in the rest of the group: somebody may
// have mistaken one kind for another. Nor is what a patch makes of an object that is stored,
// by whatever way of writing, and on whatever endpoint.
func TestR15PlainKindsQuoteNoBody(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	for _, k := range plainKinds() {
		secret := s.secret()
		stored := encode(t, set(t, k.object("q"), secret, "metadata", "annotations", "kept"))
		s.do(t, harness.Operator, http.MethodPost, k.collection, stored, revealing()).want(t, 201)
		applied := "apiVersion: " + k.apiVersion + "\nkind: " + k.kind + "\n"
		for _, w := range []struct{ method, path, contentType, body string }{
			{http.MethodPost, k.collection, jsonType, encode(t, joinPeer("x", secret))},
			{http.MethodPost, k.collection, jsonType, `{"metadata":` + quote(secret) + `}`},
			{http.MethodPost, k.collection, jsonType, secret},
			{http.MethodPost, k.collection, yamlType, "spec: {" + secret},
			{http.MethodPost, k.collection, jsonType, encode(t, set(t, k.object("x"), secret, "metadata", "labels"))},
			{http.MethodPut, k.path("q"), jsonType, encode(t, set(t, k.object("q"), []any{secret}, "status"))},
			{http.MethodPatch, k.path("q"), mergePat, secret},
			{http.MethodPatch, k.path("q"), jsonPatch, `[` + quote(secret) + `]`},
			{http.MethodPatch, k.path("q") + "?fieldManager=q", applyPat, "kind: " + k.kind + "\nmetadata: " + secret},
			{http.MethodPatch, k.path("q"), mergePat, `{"metadata":{"labels":"x"}}`},
			{http.MethodPatch, k.path("q"), smPatch, `{"metadata":{"labels":` + quote(secret) + `}}`},
			{http.MethodPatch, k.path("q"), jsonPatch, `[{"op":"replace","path":"/metadata/annotations","value":"x"}]`},
			{http.MethodPatch, k.path("q"), jsonPatch, `[{"op":"move","from":"/metadata/annotations/kept","path":"/metadata/name"}]`},
			{http.MethodPatch, k.path("q"), jsonPatch, `[{"op":"test","path":"/metadata/annotations/kept","value":"x"}]`},
			{http.MethodPatch, k.path("q") + "?fieldManager=q", applyPat, applied + "metadata: {labels: [" + secret + "]}"},
			{http.MethodPatch, k.path("new") + "?fieldManager=q", applyPat, applied + "metadata: {labels: [" + secret + "]}"},
			{http.MethodPatch, k.path("q") + "/status", mergePat, `{"status":"x"}`},
			{http.MethodPatch, k.path("q") + "/status", jsonPatch, `[{"op":"add","path":"/status","value":` + quote(secret) + `}]`},
			{http.MethodPatch, k.path("q") + "/status?fieldManager=q", applyPat, applied + "status: [" + secret + "]"},
		} {
			a := s.do(t, harness.Operator, w.method, w.path, w.body, as(w.contentType))
			assert.GreaterOrEqual(t, a.code, 400, "%s: %s", a.request, a.body)
			assert.Less(t, a.code, 500, "%s: %s: %s", a.request, w.body, a.body)
		}
	}
}

// R17: on disk these kinds show nothing either, labels included; and the search would
// find it.
func TestR17PlainKinds(t *testing.T) {
	for name, encrypted := range map[string]bool{"encrypted": true, "in the clear": false} {
		t.Run(name, func(t *testing.T) {
			opts := []harness.Option{harness.WithClusters()}
			if !encrypted {
				opts = append(opts, withoutEncryption())
			}
			s := startAlone(t, opts...)
			var words []string
			for _, k := range plainKinds() {
				word := "canary-" + strings.ToLower(k.kind)
				words = append(words, word)
				s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("on-disk", word))).want(t, 201)
			}
			require.NoError(t, s.Stop())
			assert.Len(t, search(t, s.Dir, words...), map[bool]int{true: 0, false: len(words)}[encrypted])
		})
	}
}
