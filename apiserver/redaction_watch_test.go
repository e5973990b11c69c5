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
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/harness"
)

// R8: what a watch says about the life of an object.
func TestR8WatchEvents(t *testing.T) {
	s := startAlone(t)
	s.AddUser(t, "seer", append(operatorRules(), harness.Rule([]string{"watch"}, []string{"clusterpeers/sensitive"}))...)
	for user, reveals := range map[string]bool{harness.Viewer: false, harness.Operator: false, harness.Admin: true, "seer": true} {
		for what, query := range map[string]string{
			"from the cache": "?resourceVersion=0", "from now": "", "with bookmarks": "?resourceVersion=0&allowWatchBookmarks=true", "by name": "?resourceVersion=0&fieldSelector=metadata.name%3D",
			"by label": "?resourceVersion=0&labelSelector=life%3D", "the old way": groupVersion + "/watch/clusterpeers?resourceVersion=0",
		} {
			t.Run(user+" "+what, func(t *testing.T) {
				t.Parallel()
				n := "life-" + user + "-" + strings.ReplaceAll(what, " ", "-")
				if strings.HasSuffix(query, "%3D") {
					query += n
				}
				first, second, status := s.secret(), s.secret(), s.secret()
				opts := []with{}
				if reveals {
					opts = append(opts, revealing()) // objects of the other tests as well
				}
				w := s.watch(t, user, query, opts...)
				require.Equal(t, http.StatusOK, w.code)

				see := func(kind, spec, status string, fits func(map[string]any) bool) {
					t.Helper()
					events := w.until(t, func(e event) bool { return named(kind, n)(e) && fits(e.Object) })
					obj := events[len(events)-1].Object
					if !reveals {
						spec, status = hidden(spec), hidden(status)
					}
					assert.Equal(t, spec, text(t, obj, specField...), kind)
					assert.Equal(t, status, text(t, obj, statusField...), kind)
				}
				always := func(map[string]any) bool { return true }
				label := func(value string) func(map[string]any) bool {
					return func(obj map[string]any) bool { return field(obj, "metadata", "labels", "step") == value }
				}
				patch := func(path, body string) {
					t.Helper()
					s.do(t, harness.Operator, http.MethodPatch, path, body, as(mergePat)).want(t, 200)
				}
				s.do(t, harness.Operator, http.MethodPost, "", encode(t, set(t, joinPeer(n, first), n, "metadata", "labels", "life"))).want(t, 201)
				see("ADDED", first, "", always)
				patch(n, `{"metadata":{"labels":{"step":"1"}}}`)
				see("MODIFIED", first, "", label("1"))
				patch(n+"/status", `{"status":{"invite":{"connectionString":`+quote(status)+`}}}`)
				see("MODIFIED", first, status, func(obj map[string]any) bool { return field(obj, statusField...) != nil })
				patch(n, `{"metadata":{"labels":{"step":"2"}},"spec":{"join":{"connectionString":`+quote(second)+`}}}`)
				see("MODIFIED", second, status, label("2"))
				patch(n, `{"metadata":{"labels":{"step":"3"},"finalizers":["test.entente.dev/wait"]},"spec":{"join":{"connectionString":null}}}`)
				see("MODIFIED", "", status, label("3"))
				patch(n, `{"metadata":{"labels":{"step":"4"}},"spec":{"join":{"connectionString":`+quote(first)+`}}}`)
				see("MODIFIED", first, status, label("4"))
				s.do(t, harness.Operator, http.MethodDelete, n, "")
				see("MODIFIED", first, status, func(obj map[string]any) bool { return field(obj, "metadata", "deletionTimestamp") != nil })
				patch(n, `{"metadata":{"finalizers":null}}`)
				see("DELETED", first, status, always)

				if what == "by label" { // leaving a selector is a DELETED event with the last object that fitted
					s.seed(t, n+"-x", first, status)
					n += "-x"
					patch(n, `{"metadata":{"labels":{"life":`+quote(strings.TrimSuffix(n, "-x"))+`}}}`)
					see("ADDED", first, status, always)
					patch(n, `{"metadata":{"labels":{"life":"other"}}}`)
					see("DELETED", first, status, always)
				}
				w.cancel()
			})
		}
	}
}

// hidden is what a caller without the right sees of a value.
func hidden(value string) string {
	if value == "" {
		return ""
	}
	return placeholder
}

// R8, K2: watch-list sends what there is, then a bookmark that says so.
func TestR8Bookmarks(t *testing.T) {
	s := startAlone(t)
	p := seedPeers(t, s)
	end := func(e event) bool {
		return e.Type == "BOOKMARK" && field(e.Object, "metadata", "annotations", "k8s.io/initial-events-end") == "true"
	}
	for user, reveals := range map[string]bool{harness.Viewer: false, harness.Admin: true} {
		opts := []with{p.reveal()}
		if reveals {
			opts = []with{p.reveal(everyone...)}
		}
		t.Run(user, func(t *testing.T) {
			w := s.watch(t, user, "?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", opts...)
			events := w.until(t, end)
			assert.Len(t, events, len(everyone)+1)
			for _, e := range events[:len(events)-1] {
				assert.Equal(t, "ADDED", e.Type)
				p.check(t, w.what, e.Object, reveals)
			}
			bookmark := events[len(events)-1].Object
			assert.Equal(t, "ClusterPeer", bookmark["kind"])
			assert.Equal(t, "peering.entente.dev/v1alpha1", bookmark["apiVersion"])
			assert.NotEmpty(t, version(t, bookmark))
			assert.Nil(t, field(bookmark, specField...))
			// From the bookmark on nothing is said twice.
			again := s.watch(t, user, "?allowWatchBookmarks=true&resourceVersion="+version(t, bookmark), opts...)
			s.do(t, harness.Operator, http.MethodPatch, "a", `{"metadata":{"labels":{"by":`+quote(user)+`}}}`, as(mergePat)).want(t, 200)
			e, ok := again.next(t)
			require.True(t, ok)
			assert.True(t, named("MODIFIED", "a")(e), "%v", e)
			p.check(t, again.what, e.Object, reveals)
		})
		for mediaType, kind := range map[string]string{tableType: "Table", metaType: "PartialObjectMetadata"} {
			for _, include := range []string{"", "&includeObject=Object", "&includeObject=Metadata", "&includeObject=None"} {
				t.Run(user+" as "+kind+include, func(t *testing.T) {
					mode := append([]with{accept(mediaType)}, p.reveal())
					if reveals && kind == "Table" && include == "&includeObject=Object" {
						mode = append(mode, p.reveal(everyone...))
					}
					w := s.watch(t, user, "?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"+include, mode...)
					require.Equal(t, http.StatusOK, w.code)
					for range everyone {
						e, ok := w.next(t)
						require.True(t, ok)
						assert.Equal(t, "ADDED", e.Type)
						require.Equal(t, kind, e.Object["kind"])
						if kind == "Table" && include == "&includeObject=Object" {
							rows := e.Object["rows"].([]any)
							require.Len(t, rows, 1)
							p.check(t, w.what, rows[0].(map[string]any)["object"].(map[string]any), reveals)
						}
						if kind == "PartialObjectMetadata" {
							assert.NotContains(t, e.Object, "spec")
							assert.NotContains(t, e.Object, "status")
						}
					}
					e, ok := w.next(t)
					require.True(t, ok)
					assert.Equal(t, "BOOKMARK", e.Type)
					// And live events too.
					s.do(t, harness.Operator, http.MethodPatch, "b", `{"metadata":{"labels":{"by":`+quote(fmt.Sprintf("%s-%d-%d", user, len(kind), len(include)))+`}}}`, as(mergePat)).want(t, 200)
					e, ok = w.next(t)
					require.True(t, ok)
					assert.Equal(t, "MODIFIED", e.Type)
					assert.Equal(t, kind, e.Object["kind"])
					if reveals && kind == "Table" && include == "&includeObject=Object" {
						p.check(t, w.what, e.Object["rows"].([]any)[0].(map[string]any)["object"].(map[string]any), true)
					}
				})
			}
		}
		t.Run(user+" other encodings", func(t *testing.T) {
			for _, only := range []string{"application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor", "application/json;stream=watch", "*/*"} {
				w := s.watch(t, harness.Viewer, "?resourceVersion=0", accept(only))
				assert.Contains(t, []int{http.StatusOK, http.StatusNotAcceptable, http.StatusUnsupportedMediaType}, w.code, only)
				if w.code == http.StatusOK && strings.Contains(only, "json") {
					_, ok := w.next(t)
					assert.True(t, ok, "Accept %q answers 200 (%s) and says nothing", only, w.header.Get("Content-Type"))
				}
				w.cancel()
			}
		})
	}
}

// R8: an error event is passed on as it is.
func TestR8ErrorEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startAlone(t, harness.InDir(dir))
	spec, status := s.secret(), s.secret()
	s.seed(t, "a", spec, status)
	old := version(t, s.do(t, harness.Viewer, http.MethodGet, "", "").want(t, 200).object(t))
	for i := range 5 {
		s.do(t, harness.Operator, http.MethodPatch, "a", fmt.Sprintf(`{"metadata":{"labels":{"i":"%d"}}}`, i), as(mergePat)).want(t, 200)
	}
	require.NoError(t, s.Stop())

	// A new server's watch cache starts at the present.
	again := startAlone(t, harness.InDir(dir))
	again.keep(spec)
	again.keep(status)
	for user, opts := range map[string][]with{harness.Viewer: nil, harness.Admin: {revealing()}} {
		for _, mediaType := range []string{jsonType, tableType, metaType} {
			w := again.watch(t, user, "?resourceVersion="+old, append(opts, accept(mediaType))...)
			if w.code == http.StatusGone {
				continue
			}
			require.Equal(t, http.StatusOK, w.code)
			e, ok := w.next(t)
			require.True(t, ok)
			require.Equal(t, "ERROR", e.Type, "%s: %v", mediaType, e.Object)
			assert.Equal(t, "Status", e.Object["kind"])
			assert.EqualValues(t, http.StatusGone, e.Object["code"])
			assert.Equal(t, "Expired", e.Object["reason"])
			_, ok = w.next(t)
			assert.False(t, ok, "the watch ends")
		}
		a := again.do(t, user, http.MethodGet, "?resourceVersion=99999999&resourceVersionMatch=NotOlderThan&timeoutSeconds=1", "", opts...)
		assert.GreaterOrEqual(t, a.code, 400)
		a.status(t)
	}
	// The value survived the restart.
	gotSpec, gotStatus := again.stored(t, "a")
	assert.Equal(t, []string{spec, status}, []string{gotSpec, gotStatus})
	for _, bad := range []string{"?resourceVersion=nonsense", "?resourceVersion=-1", "?fieldSelector=spec.type%3DJoin", "?sendInitialEvents=true", "?resourceVersion=0&resourceVersionMatch=Exact&sendInitialEvents=true"} {
		w := again.watch(t, harness.Viewer, bad)
		assert.GreaterOrEqual(t, w.code, 400, bad)
		w.cancel()
	}
}

// R8: a stopped watch leaves no goroutine.
func TestR8NoGoroutineLeft(t *testing.T) {
	s := startAlone(t)
	for i := range 20 {
		s.do(t, harness.Operator, http.MethodPost, "", encode(t, joinPeer(fmt.Sprintf("g-%d", i), s.secret()))).want(t, 201)
	}
	ours := func() int {
		stacks := make([]byte, 16<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		count := 0
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(stack, "entente.dev/entente/registry/") {
				count++
			}
		}
		return count
	}
	base := ours()
	for round := range 2 {
		var open []*stream
		for range 6 {
			for _, user := range []string{harness.Viewer, harness.Admin} {
				for _, mediaType := range []string{jsonType, tableType} {
					open = append(open, s.watch(t, user, "?resourceVersion=0", accept(mediaType), revealing()))
				}
			}
		}
		for i, w := range open {
			if i%2 == 0 { // the other half is stopped while initial events are under way
				_, ok := w.next(t)
				require.True(t, ok)
			}
		}
		for i := range 5 {
			s.do(t, harness.Operator, http.MethodPatch, "g-1", fmt.Sprintf(`{"metadata":{"labels":{"i":"%d-%d"}}}`, round, i), as(mergePat)).want(t, 200)
		}
		for _, w := range open {
			w.cancel()
		}
	}
	harness.Eventually(t, "the goroutines of stopped watches end", func(context.Context) bool { return ours() <= base })
	// A watch that times out by itself ends as well.
	w := s.watch(t, harness.Viewer, "?timeoutSeconds=1&resourceVersion=0")
	for {
		if _, ok := w.next(t); !ok {
			break
		}
	}
	harness.Eventually(t, "the goroutines of ended watches end", func(context.Context) bool { return ours() <= base })
}

// R7, R8: many watchers with and without the right, one object changing.
func TestR8ManyWatchers(t *testing.T) {
	s := startAlone(t)
	spec := s.secret()
	s.seed(t, "busy", spec, "")
	type watcher struct {
		*stream
		reveals bool
	}
	var all []watcher
	for i := range 20 {
		reveals := i%2 == 0
		user, opts := harness.Viewer, []with{}
		if reveals {
			user, opts = harness.Admin, []with{revealing(spec)}
		}
		all = append(all, watcher{s.watch(t, user, "?resourceVersion=0", opts...), reveals})
	}
	for i := range 30 {
		s.do(t, harness.Operator, http.MethodPatch, "busy", fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, i), as(mergePat)).want(t, 200)
	}
	for _, w := range all {
		events := w.until(t, func(e event) bool { return field(e.Object, "metadata", "labels", "round") == "29" })
		rounds := 0
		for _, e := range events {
			want := placeholder
			if w.reveals {
				want = spec
			}
			require.Equal(t, want, text(t, e.Object, specField...))
			if e.Type == "MODIFIED" {
				rounds++
			}
		}
		assert.GreaterOrEqual(t, rounds, 30, "no event is lost")
	}
	a := s.do(t, harness.Admin, http.MethodGet, "busy", "", revealing(spec)).want(t, 200)
	var typed struct {
		Spec struct {
			Join struct{ ConnectionString string }
		}
	}
	require.NoError(t, json.Unmarshal(a.body, &typed))
	assert.Equal(t, spec, typed.Spec.Join.ConnectionString)
}
