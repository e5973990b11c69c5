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
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/test/harness"
)

// judge is an authorizer that notes, and can spoil, the decisions on the
// subresource sensitive for the users of a test.
type judge struct {
	authorizer.Authorizer
	mode  atomic.Value // one of the words below, or nil for "as it is"
	hung  chan struct{}
	mu    sync.Mutex
	calls []string
}

const (
	judgeErrs   = "errs"
	judgeHangs  = "hangs"
	judgeDenies = "denies"
	judgeIsMum  = "has no opinion"
)

func (j *judge) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetSubresource() != "sensitive" || a.GetUser() == nil || strings.HasPrefix(a.GetUser().GetName(), "system:") {
		return j.Authorizer.Authorize(ctx, a)
	}
	j.mu.Lock()
	j.calls = append(j.calls, fmt.Sprintf("%s %s %s/%s/%s %q", a.GetUser().GetName(), a.GetVerb(), a.GetAPIGroup(), a.GetAPIVersion(), a.GetResource(), a.GetName()))
	j.mu.Unlock()
	switch j.mode.Load() {
	case judgeErrs:
		return authorizer.DecisionNoOpinion, "", errors.New("the authorizer is broken")
	case judgeHangs:
		<-j.hung // whatever the context says
		return authorizer.DecisionAllow, "", nil
	case judgeDenies:
		return authorizer.DecisionDeny, "", nil
	case judgeIsMum:
		return authorizer.DecisionNoOpinion, "", nil
	}
	return j.Authorizer.Authorize(ctx, a)
}

func (j *judge) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	calls := j.calls
	j.calls = nil
	return calls
}

func startJudged(t *testing.T) (*api, *judge) {
	t.Helper()
	j := &judge{hung: make(chan struct{})}
	j.mode.Store("")
	s := startAlone(t, harness.WithAuthorizer(func(inner authorizer.Authorizer) authorizer.Authorizer {
		j.Authorizer = inner
		return j
	}))
	t.Cleanup(func() { close(j.hung) })
	return s, j
}

// R1: one call a request, by what the answer holds.
func TestR1OneDecisionARequest(t *testing.T) {
	s, j := startJudged(t)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 25 {
				a := s.do(t, harness.Operator, http.MethodPost, "", encode(t, joinPeer(fmt.Sprintf("many-%d-%d", worker, i), s.secret())))
				assert.Equal(t, http.StatusCreated, a.code)
			}
		})
	}
	wg.Wait()
	for _, n := range []string{"a", "gone-1", "gone-2", "gone-3"} {
		s.seed(t, n, s.secret(), s.secret())
	}
	a := func() string {
		return encode(t, s.do(t, harness.Operator, http.MethodGet, "a", "").want(t, 200).object(t))
	}
	label := `{"metadata":{"labels":{"r1":"x"}}}`
	applied := func(n string) string {
		return encode(t, set(t, joinPeer(n, ""), "true", "metadata", "labels", "applied"))
	}
	tests := []struct {
		what, method, path, body, contentType string
		verb, name                            string
		code                                  int
	}{
		{what: "get", method: "GET", path: "a", verb: "get", name: "a"},
		{what: "get status", method: "GET", path: "a/status", verb: "get", name: "a"},
		{what: "list of 200", method: "GET", path: "", verb: "list"},
		{what: "list from cache", method: "GET", path: "?resourceVersion=0", verb: "list"},
		{what: "chunk", method: "GET", path: "?limit=7", verb: "list"},
		{what: "list by name", method: "GET", path: "?fieldSelector=metadata.name%3Da", verb: "list", name: "a"},
		{what: "list by label", method: "GET", path: "?labelSelector=no%3Dsuch", verb: "list"},
		{what: "table", method: "GET", path: "?includeObject=Object", contentType: "table", verb: "list"},
		{what: "create", method: "POST", path: "", body: encode(t, joinPeer("made", s.secret())), verb: "get", name: "made", code: 201},
		{what: "create as a dry run", method: "POST", path: "?dryRun=All", body: encode(t, joinPeer("dry", s.secret())), verb: "get", name: "dry", code: 201},
		{what: "update", method: "PUT", path: "a", body: a(), verb: "get", name: "a"},
		{what: "update status", method: "PUT", path: "a/status", body: a(), verb: "get", name: "a"},
		{what: "json patch", method: "PATCH", path: "a", body: `[{"op":"add","path":"/metadata/labels","value":{"r1":"y"}}]`, contentType: jsonPatch, verb: "get", name: "a"},
		{what: "merge patch", method: "PATCH", path: "a", body: label, contentType: mergePat, verb: "get", name: "a"},
		{what: "strategic merge patch", method: "PATCH", path: "a", body: label, contentType: smPatch, verb: "get", name: "a"},
		{what: "merge patch of status", method: "PATCH", path: "a/status", body: `{"status":{"phase":"Active"}}`, contentType: mergePat, verb: "get", name: "a"},
		{what: "apply", method: "PATCH", path: "a?fieldManager=r1", body: applied("a"), contentType: applyPat, verb: "get", name: "a"},
		{what: "apply that creates", method: "PATCH", path: "applied?fieldManager=r1", body: applied("applied"), contentType: applyPat, verb: "get", name: "applied", code: 201},
		{what: "delete", method: "DELETE", path: "gone-1", verb: "get", name: "gone-1"},
		{what: "deletecollection by name", method: "DELETE", path: "?fieldSelector=metadata.name%3Dgone-2", verb: "list", name: "gone-2"},
		{what: "deletecollection by label", method: "DELETE", path: "?labelSelector=no%3Dsuch", verb: "list"},
		{what: "deletecollection", method: "DELETE", path: "", verb: "list"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			opts := []with{}
			switch tt.contentType {
			case "":
			case "table":
				opts = append(opts, accept(tableType))
			default:
				opts = append(opts, as(tt.contentType))
			}
			j.take()
			code := tt.code
			if code == 0 {
				code = http.StatusOK
			}
			s.do(t, harness.Operator, tt.method, tt.path, tt.body, opts...).want(t, code)
			assert.Equal(t, []string{fmt.Sprintf("operator %s peering.entente.dev/v1alpha1/clusterpeers %q", tt.verb, tt.name)}, j.take())
		})
	}
	t.Run("generateName", func(t *testing.T) {
		j.take()
		body := `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"generateName":"gen-"},"spec":{"type":"Join"}}`
		obj := s.do(t, harness.Operator, http.MethodPost, "", body).want(t, http.StatusCreated).object(t)
		assert.Equal(t, []string{fmt.Sprintf("operator get peering.entente.dev/v1alpha1/clusterpeers %q", name(obj))}, j.take())
	})
	for what, tt := range map[string]struct{ path, name string }{
		"watch":                           {"?resourceVersion=0", ""},
		"watch by name":                   {"?fieldSelector=metadata.name%3Dw-1", "w-1"},
		"watch-list":                      {"?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", ""},
		"watch the old way":               {groupVersion + "/watch/clusterpeers", ""},
		"watch one object in the old way": {groupVersion + "/watch/clusterpeers/w-1", "w-1"},
	} {
		t.Run(what, func(t *testing.T) {
			for _, n := range []string{"w-1", "w-2"} {
				s.do(t, harness.Operator, http.MethodPost, "", encode(t, joinPeer(n, s.secret())))
			}
			// A user of its own: watches of the same user go by one decision (R3).
			user := "user of " + what
			s.AddUser(t, user, operatorRules()...)
			j.take()
			w := s.watch(t, user, tt.path)
			require.Equal(t, http.StatusOK, w.code)
			w.until(t, named("", "w-1"))
			s.do(t, harness.Admin, http.MethodPatch, "w-1", `{"metadata":{"labels":{"r1":`+quote(strings.ReplaceAll(what, " ", "-"))+`}}}`, as(mergePat), revealing()).want(t, 200)
			w.until(t, func(e event) bool { return e.Type == "MODIFIED" })
			var mine []string
			for _, c := range j.take() {
				if strings.HasPrefix(c, user+" ") {
					mine = append(mine, c)
				}
			}
			// R3 asks again every 5 s while a watch is open; that is not per event.
			require.NotEmpty(t, mine)
			assert.LessOrEqual(t, len(mine), 2)
			for _, c := range mine {
				assert.Equal(t, fmt.Sprintf("%s watch peering.entente.dev/v1alpha1/clusterpeers %q", user, tt.name), c)
			}
		})
	}
	t.Run("a failed request asks at most once", func(t *testing.T) {
		for _, r := range [][3]string{{"GET", "none", ""}, {"DELETE", "none", ""}, {"PUT", "none", encode(t, joinPeer("none", "x"))}, {"POST", "", encode(t, joinPeer("w-1", "x"))}} {
			j.take()
			a := s.do(t, harness.Operator, r[0], r[1], r[2])
			assert.GreaterOrEqual(t, a.code, 400, a.request)
			assert.LessOrEqual(t, len(j.take()), 1, a.request)
		}
	})
}

var sample = regexp.MustCompile(`(?m)^(entente_[a-z_]+(?:\{[^}]*\})?) ([0-9.e+]+)$`)

// counters are the server's own metrics.
func (s *api) counters(t *testing.T) map[string]float64 {
	t.Helper()
	counters := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(string(s.do(t, harness.Admin, http.MethodGet, "/metrics", "", accept("text/plain")).want(t, 200).body), -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		if strings.Contains(m[1], "sensitive") || strings.Contains(m[1], "redact") {
			counters[m[1]] = value
		}
	}
	return counters
}

// R2: only Allow reveals, and the decision never fails a request.
func TestR2OnlyAllowReveals(t *testing.T) {
	s, j := startJudged(t)
	for _, tt := range []struct {
		mode string
		warn bool
	}{{judgeErrs, true}, {judgeHangs, true}, {judgeDenies, false}, {judgeIsMum, false}} {
		t.Run("an authorizer that "+tt.mode, func(t *testing.T) {
			prefix := "r2-" + strings.ReplaceAll(tt.mode, " ", "-")
			spec, status := s.secret(), s.secret()
			j.mode.Store("")
			s.seed(t, prefix, spec, status)
			requests := []struct {
				method, path, body, contentType string
				code                            int
			}{
				{"GET", "NAME", "", "", 200},
				{"GET", "NAME/status", "", "", 200},
				{"GET", "?labelSelector=mine%3DNAME", "", "", 200},
				{"POST", "", encode(t, joinPeer(prefix+"-new", s.secret())), jsonType, 201},
				{"PUT", "NAME", "CURRENT", jsonType, 200},
				{"PUT", "NAME/status", "CURRENT", jsonType, 200},
				{"PATCH", "NAME", `{"metadata":{"labels":{"a":"b"}}}`, mergePat, 200},
				{"PATCH", "NAME/status", `{"status":{"pairedProjectsCount":2}}`, smPatch, 200},
				{"PATCH", "NAME?fieldManager=r2", encode(t, joinPeer("NAME", "")), applyPat, 200},
				{"DELETE", "NAME", "", "", 200},
				{"DELETE", "?labelSelector=mine%3DNAME", "", "", 200},
			}
			for i := range requests { // each on an object of its own, so that they can go at once
				n := fmt.Sprintf("%s-%d", prefix, i)
				s.seedObject(t, set(t, joinPeer(n, s.secret()), n, "metadata", "labels", "mine"), s.secret())
				current := ""
				if requests[i].body == "CURRENT" {
					current = encode(t, s.settled(t, n))
				}
				fill := strings.NewReplacer("NAME", n, "CURRENT", current)
				requests[i].path, requests[i].body = fill.Replace(requests[i].path), fill.Replace(requests[i].body)
			}
			before := s.counters(t)
			j.mode.Store(tt.mode)
			defer j.mode.Store("")
			answers := make([]answer, len(requests))
			var wg sync.WaitGroup
			for i, r := range requests {
				wg.Go(func() { answers[i] = s.do(t, harness.Admin, r.method, r.path, r.body, as(r.contentType)) })
			}
			wg.Wait()
			for i, a := range answers {
				a.want(t, requests[i].code)
				assert.Less(t, a.took, 5*time.Second, a.request)
				assert.Equal(t, tt.warn, a.warnings() != "", "%s: Warning %q", a.request, a.warnings())
				assert.NotContains(t, a.warnings(), "broken", "the authorizer's own words are not for the caller")
				for _, obj := range a.items(t) {
					if obj["kind"] != "Status" {
						assert.Equal(t, placeholder, text(t, obj, specField...), a.request)
					}
				}
			}
			start := time.Now()
			w := s.watch(t, harness.Admin, "?resourceVersion=0")
			require.Equal(t, http.StatusOK, w.code)
			assert.Equal(t, tt.warn, strings.Join(w.header.Values("Warning"), "") != "", "watch: Warning %q", w.header.Values("Warning"))
			w.until(t, named("", prefix))
			assert.Less(t, time.Since(start), 5*time.Second)
			up := false
			for key, value := range s.counters(t) {
				up = up || value > before[key]
			}
			assert.Equal(t, tt.warn, up, "a counter of failed decisions goes up, and only then: %v, then %v", before, s.counters(t))
			j.mode.Store("")
			storedSpec, _ := s.stored(t, prefix)
			assert.Equal(t, spec, storedSpec, "nothing was lost meanwhile")
		})
	}
}

// R4: the embedded controllers' client is privileged and nevertheless redacted.
func TestR4Loopback(t *testing.T) {
	s := startAlone(t)
	spec, status := s.secret(), s.secret()
	s.seed(t, "a", spec, status)
	current := s.do(t, loopbackClient, http.MethodGet, "a", "").want(t, 200).object(t)
	s.do(t, loopbackClient, http.MethodGet, "a/status", "").want(t, 200)
	s.do(t, loopbackClient, http.MethodGet, "", "").want(t, 200)
	s.do(t, loopbackClient, http.MethodGet, "?resourceVersion=0", "").want(t, 200)
	s.do(t, loopbackClient, http.MethodPut, "a", encode(t, current)).want(t, 200)
	s.do(t, loopbackClient, http.MethodPut, "a/status", encode(t, current)).want(t, 200)
	s.do(t, loopbackClient, http.MethodPatch, "a", `{"metadata":{"labels":{"a":"b"}}}`, as(mergePat)).want(t, 200)
	s.do(t, loopbackClient, http.MethodPatch, "a/status?fieldManager=r4", encode(t, map[string]any{
		"apiVersion": "peering.entente.dev/v1alpha1", "kind": "ClusterPeer", "metadata": map[string]any{"name": "a"},
		"status": map[string]any{"pairedProjectsCount": 1},
	}), as(applyPat)).want(t, 200)
	w := s.watch(t, loopbackClient, "?resourceVersion=0")
	e := w.until(t, named("", "a"))
	assert.Equal(t, placeholder, text(t, e[len(e)-1].Object, specField...))
	assert.Equal(t, placeholder, text(t, current, specField...))
	assert.Equal(t, placeholder, text(t, current, statusField...))

	obj := s.do(t, loopbackClient, http.MethodGet, "a/sensitive", "", revealing(spec, status)).want(t, 200).object(t)
	assert.Equal(t, spec, text(t, obj, specField...), "GET /sensitive is how a controller gets the value")
	assert.Equal(t, status, text(t, obj, statusField...))
}

// peers is what the read tests store: every combination of set and unset.
type peers struct {
	spec, status map[string]string
}

func seedPeers(t *testing.T, s *api) peers {
	t.Helper()
	p := peers{
		spec:   map[string]string{"a": s.secret(), "b": s.secret(), "bare": "", "late": ""},
		status: map[string]string{"a": s.secret(), "b": "", "bare": "", "late": s.secret()},
	}
	for _, n := range []string{"a", "b", "bare", "late"} {
		s.seed(t, n, p.spec[n], p.status[n])
	}
	return p
}

// check compares one object with what a caller may see of it (R6).
func (p peers) check(t testing.TB, what string, obj map[string]any, reveals bool) {
	t.Helper()
	n := name(obj)
	for _, f := range []struct {
		path   []string
		values map[string]string
	}{{specField, p.spec}, {statusField, p.status}} {
		want := f.values[n]
		if want != "" && !reveals {
			want = placeholder
		}
		assert.Equal(t, want, text(t, obj, f.path...), "%s: %v of %s", what, f.path, n)
	}
}

// reveal names the values of some peers.
func (p peers) reveal(names ...string) with {
	var values []string
	for _, n := range names {
		values = append(values, p.spec[n], p.status[n])
	}
	if len(values) == 0 {
		values = append(values, "nothing")
	}
	return revealing(values...)
}

var everyone = []string{"a", "b", "bare", "late"}

// R5, R6: who reads what, verb by verb.
func TestR5ReadMatrix(t *testing.T) {
	s := startAlone(t)
	p := seedPeers(t, s)
	read := []string{"get", "list", "watch"}
	main, sensitive := []string{"clusterpeers", "clusterpeers/status"}, []string{"clusterpeers/sensitive"}
	s.AddUser(t, "lister", harness.Rule([]string{"list"}, main))
	s.AddUser(t, "watcher", harness.Rule([]string{"watch"}, main))
	s.AddUser(t, "named", harness.Rule(read, main), harness.Rule(read, sensitive, "a"))
	s.AddUser(t, "gets", harness.Rule(read, main), harness.Rule([]string{"get"}, sensitive))
	s.AddUser(t, "lists", harness.Rule(read, main), harness.Rule([]string{"list"}, sensitive))
	s.AddUser(t, "watches", harness.Rule(read, main), harness.Rule([]string{"watch"}, sensitive))
	s.AddUser(t, "patches", harness.Rule(read, main), harness.Rule([]string{"patch"}, sensitive))
	s.AddUser(t, "updates", harness.Rule(read, main), harness.Rule([]string{"update"}, sensitive))
	s.AddUser(t, "only-sensitive", harness.Rule(read, sensitive))
	s.AddUser(t, "nobody")

	all, none := everyone, []string{}
	var forbidden []string // as nil
	for user, may := range map[string]struct {
		get, sub, list, byName, watch, watchByName []string
	}{
		harness.Admin:    {all, all, all, all, all, all},
		harness.Operator: {none, forbidden, none, none, none, none},
		harness.Viewer:   {none, forbidden, none, none, none, none},
		"lister":         {forbidden, forbidden, none, none, forbidden, forbidden},
		"watcher":        {forbidden, forbidden, forbidden, forbidden, none, none},
		"named":          {[]string{"a"}, []string{"a"}, none, []string{"a"}, none, []string{"a"}},
		"gets":           {all, all, none, none, none, none},
		"lists":          {none, forbidden, all, all, none, none},
		"watches":        {none, forbidden, none, none, all, all},
		"patches":        {none, forbidden, none, none, none, none},
		"updates":        {none, forbidden, none, none, none, none},
		"only-sensitive": {forbidden, all, forbidden, forbidden, forbidden, forbidden},
		"nobody":         {forbidden, forbidden, forbidden, forbidden, forbidden, forbidden},
	} {
		t.Run(user, func(t *testing.T) {
			try := func(path string, sees []string, scope ...string) {
				a := s.do(t, user, http.MethodGet, path, "", p.reveal(sees...))
				if sees == nil {
					a.want(t, http.StatusForbidden)
					return
				}
				a.want(t, http.StatusOK)
				items := a.items(t)
				assert.Len(t, items, len(scope), a.request)
				for _, obj := range items {
					p.check(t, a.request, obj, slices.Contains(sees, name(obj)))
				}
			}
			for _, n := range everyone {
				try(n, may.get, n)
				try(n+"/status", may.get, n)
				if user == "named" && n != "a" {
					try(n+"/sensitive", forbidden)
				} else {
					try(n+"/sensitive", may.sub, n)
				}
				try("?fieldSelector=metadata.name%3D"+n, may.byName, n)
				try("?resourceVersion=0&fieldSelector=metadata.name%3D"+n, may.byName, n)
			}
			for _, query := range []string{"", "?resourceVersion=0", "?pretty=true", "?labelSelector=%21nosuch", "?resourceVersionMatch=NotOlderThan&resourceVersion=1", "?limit=500", "?fieldSelector=metadata.name%21%3Dnosuch"} {
				try(query, may.list, everyone...)
			}
			s.chunks(t, user, may.list, p)
			watch := func(query string, sees []string, scope ...string) {
				w := s.watch(t, user, query, p.reveal(sees...))
				if sees == nil {
					assert.Equal(t, http.StatusForbidden, w.code, w.what)
					return
				}
				require.Equal(t, http.StatusOK, w.code, w.what)
				for range scope {
					e, ok := w.next(t)
					require.True(t, ok, w.what)
					assert.Equal(t, "ADDED", e.Type, w.what)
					p.check(t, w.what, e.Object, slices.Contains(sees, name(e.Object)))
				}
				w.cancel()
			}
			watch("", may.watch, everyone...)
			watch("?resourceVersion=0", may.watch, everyone...)
			watch("?sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", may.watch, everyone...)
			watch(groupVersion+"/watch/clusterpeers", may.watch, everyone...)
			for _, n := range everyone {
				watch("?fieldSelector=metadata.name%3D"+n, may.watchByName, n)
				watch(groupVersion+"/watch/clusterpeers/"+n, may.watchByName, n)
			}
		})
	}
	t.Run("without a certificate nothing is served", func(t *testing.T) {
		for _, path := range []string{"", "a", "a/status", "a/sensitive", "?watch=1"} {
			a := s.do(t, "", http.MethodGet, path, "")
			assert.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, a.code, a.request)
		}
	})
}

// chunks lists with limit and continue.
func (s *api) chunks(t *testing.T, user string, sees []string, p peers) {
	t.Helper()
	if sees == nil {
		return
	}
	seen, next := 0, ""
	for range len(everyone) + 1 {
		a := s.do(t, user, http.MethodGet, "?limit=1&continue="+url.QueryEscape(next), "", p.reveal(sees...)).want(t, http.StatusOK)
		for _, obj := range a.items(t) {
			seen++
			p.check(t, a.request, obj, slices.Contains(sees, name(obj)))
		}
		if next = text(t, a.object(t), "metadata", "continue"); next == "" {
			break
		}
	}
	assert.Equal(t, len(everyone), seen)
}

// R5: every encoding and every shape.
func TestR5Shapes(t *testing.T) {
	s := startAlone(t)
	p := seedPeers(t, s)
	paths := map[string][]string{
		"a": {"a"}, "a/status": {"a"}, "bare": {"bare"}, "late/status": {"late"},
		"": everyone, "?resourceVersion=0": everyone, "?fieldSelector=metadata.name%3Da": {"a"},
	}
	join := func(path, query string) string {
		if query == "" {
			return path
		}
		if strings.Contains(path, "?") {
			return path + "&" + query
		}
		return path + "?" + query
	}
	for user, reveals := range map[string]bool{harness.Viewer: false, harness.Operator: false, harness.Admin: true} {
		allowed := p.reveal()
		if reveals {
			allowed = p.reveal(everyone...)
		}
		for path, scope := range paths {
			t.Run(user+" reads "+quote(path), func(t *testing.T) {
				for _, encoding := range []string{
					"application/json", "application/yaml", "application/json;pretty=1", "*/*", "",
					"application/vnd.kubernetes.protobuf, application/json", "application/json, application/vnd.kubernetes.protobuf",
					"application/yaml;q=0.9, application/json;q=0.1", "application/cbor, application/json", "text/html, */*", "application/json;stream=watch, */*",
					"application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json;as=Nonsense;v=v1;g=nowhere, application/json",
				} {
					a := s.do(t, user, http.MethodGet, join(path, "pretty=true"), "", accept(encoding), allowed)
					if a.code == http.StatusNotAcceptable {
						// An Accept of several types may be refused (protobuf first), never ignored in its redaction.
						assert.Contains(t, encoding, ",", "%s: Accept %q", a.request, encoding)
						continue
					}
					a.want(t, http.StatusOK)
					obj := a.object(t)
					if strings.HasSuffix(fmt.Sprint(obj["kind"]), "Table") {
						continue
					}
					assert.Len(t, a.items(t), len(scope))
					for _, obj := range a.items(t) {
						p.check(t, a.request+" "+encoding, obj, reveals)
					}
				}
				for _, only := range []string{"application/vnd.kubernetes.protobuf", "application/cbor", "text/html", "application/xml"} {
					a := s.do(t, user, http.MethodGet, path, "", accept(only), allowed)
					assert.Contains(t, []int{http.StatusOK, http.StatusNotAcceptable}, a.code, only)
				}
				for _, include := range []string{"", "includeObject=Object", "includeObject=Metadata", "includeObject=None"} {
					for _, base := range []string{"application/json", "application/yaml"} {
						mode := allowed
						if include != "includeObject=Object" {
							mode = p.reveal() // no other Table holds a value for anybody (K3)
						}
						a := s.do(t, user, http.MethodGet, join(path, include), "", accept(base+";as=Table;v=v1;g=meta.k8s.io"), mode)
						if a.code == http.StatusNotAcceptable {
							assert.NotEqual(t, "application/json", base)
							continue
						}
						a.want(t, http.StatusOK)
						obj := a.object(t)
						require.Equal(t, "Table", obj["kind"])
						rows, _ := obj["rows"].([]any)
						require.Len(t, rows, len(scope))
						for _, row := range rows {
							object, _ := row.(map[string]any)["object"].(map[string]any)
							switch include {
							case "includeObject=None":
								assert.Nil(t, object)
							case "includeObject=Object":
								assert.Equal(t, "ClusterPeer", object["kind"])
								p.check(t, a.request, object, reveals)
							default:
								assert.Equal(t, "PartialObjectMetadata", object["kind"])
								assert.NotContains(t, object, "spec")
								assert.NotContains(t, object, "status")
							}
						}
					}
				}
				kind := "PartialObjectMetadata"
				if len(scope) > 1 || strings.HasPrefix(path, "?") {
					kind += "List"
				}
				for _, base := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
					a := s.do(t, user, http.MethodGet, path, "", accept(base+";as="+kind+";v=v1;g=meta.k8s.io"))
					if base != "application/json" && a.code == http.StatusNotAcceptable {
						continue
					}
					a.want(t, http.StatusOK)
					assert.Contains(t, string(a.body), kind)
				}
			})
		}
	}
	t.Run("sensitive, for the admin", func(t *testing.T) {
		for _, encoding := range []string{"application/json", "application/yaml"} {
			a := s.do(t, harness.Admin, http.MethodGet, "a/sensitive", "", accept(encoding), p.reveal("a")).want(t, 200)
			p.check(t, a.request, a.object(t), true)
		}
		s.do(t, harness.Admin, http.MethodGet, "a/sensitive", "", accept(metaType)).want(t, 200)
		s.do(t, harness.Admin, http.MethodGet, "a/sensitive", "", accept(tableType)).want(t, 200)
	})
	t.Run("a missing object", func(t *testing.T) {
		for _, path := range []string{"none", "none/status", "none/sensitive"} {
			s.do(t, harness.Admin, http.MethodGet, path, "").want(t, http.StatusNotFound).status(t)
		}
	})
	t.Run("gzip", func(t *testing.T) {
		big := strings.Repeat("x", 4000)
		for i := range 60 {
			obj := set(t, joinPeer(fmt.Sprintf("big-%d", i), s.secret()), big, "metadata", "annotations", "big")
			s.do(t, harness.Operator, http.MethodPost, "", encode(t, obj)).want(t, 201)
		}
		for _, user := range []string{harness.Viewer, harness.Admin} {
			a := s.do(t, user, http.MethodGet, "", "", header("Accept-Encoding", "gzip"), revealing()).want(t, 200)
			require.Equal(t, "gzip", a.header.Get("Content-Encoding"), "the answer is large enough")
			reader, err := gzip.NewReader(bytes.NewReader(a.body))
			require.NoError(t, err)
			content, err := io.ReadAll(reader)
			require.NoError(t, err)
			leaks := s.leaks(content, nil)
			if user == harness.Viewer {
				assert.Empty(t, leaks)
			} else {
				assert.NotEmpty(t, leaks, "the search works")
			}
		}
	})
}

// R7: a redacted read leaves the watch cache as it was, also under load.
func TestR7CacheIsNotTouched(t *testing.T) {
	s := startAlone(t)
	p := seedPeers(t, s)
	truthful := func(t *testing.T) {
		t.Helper()
		for _, path := range []string{"a", "a?resourceVersion=0", "a/status", "a/sensitive", "", "?resourceVersion=0", "?resourceVersion=0&fieldSelector=metadata.name%3Da"} {
			a := s.do(t, harness.Admin, http.MethodGet, path, "", p.reveal(everyone...)).want(t, 200)
			for _, obj := range a.items(t) {
				p.check(t, a.request, obj, true)
			}
		}
		w := s.watch(t, harness.Admin, "?resourceVersion=0", p.reveal(everyone...))
		for range everyone {
			e, ok := w.next(t)
			require.True(t, ok)
			p.check(t, w.what, e.Object, true)
		}
		w.cancel()
	}
	redacted := func(t *testing.T) {
		t.Helper()
		for _, path := range []string{"a", "a?resourceVersion=0", "a/status", "", "?resourceVersion=0", "?resourceVersion=0&fieldSelector=metadata.name%3Da"} {
			a := s.do(t, harness.Viewer, http.MethodGet, path, "").want(t, 200)
			for _, obj := range a.items(t) {
				p.check(t, a.request, obj, false)
			}
		}
		s.do(t, harness.Viewer, http.MethodGet, "?resourceVersion=0&includeObject=Object", "", accept(tableType)).want(t, 200)
		w := s.watch(t, harness.Viewer, "?resourceVersion=0")
		for range everyone {
			e, ok := w.next(t)
			require.True(t, ok)
			p.check(t, w.what, e.Object, false)
		}
		w.cancel()
	}
	t.Run("one after the other", func(t *testing.T) {
		redacted(t)
		truthful(t)
		redacted(t)
	})
	t.Run("all at once", func(t *testing.T) {
		live := s.watch(t, harness.Admin, "?resourceVersion=0", p.reveal(everyone...))
		blind := s.watch(t, harness.Viewer, "?resourceVersion=0")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					redacted(t)
				}
			})
			wg.Go(func() {
				for range 5 {
					truthful(t)
				}
			})
		}
		wg.Go(func() {
			for i := range 40 {
				s.do(t, harness.Operator, http.MethodPatch, "a", fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, i), as(mergePat)).want(t, 200)
			}
		})
		wg.Wait()
		last := func(e event) bool {
			return name(e.Object) == "a" && text(t, e.Object, "metadata", "labels", "round") == "39"
		}
		for _, e := range live.until(t, last) {
			p.check(t, live.what, e.Object, true)
		}
		for _, e := range blind.until(t, last) {
			p.check(t, blind.what, e.Object, false)
		}
	})
}
