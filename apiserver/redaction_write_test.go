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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/harness"
)

// manifest is what an applier sends: a Join with a value, unless it is empty.
func manifest(t testing.TB, name, value string, labels ...string) string {
	t.Helper()
	obj := joinPeer(name, value)
	for _, label := range labels {
		set(t, obj, "x", "metadata", "labels", label)
	}
	return encode(t, obj)
}

// statusManifest is what an applier sends to /status.
func statusManifest(t testing.TB, name, value string) string {
	t.Helper()
	obj := joinPeer(name, "")
	delete(obj, "spec")
	return encode(t, set(t, obj, value, statusField...))
}

// R5, R6: the answers of writes, for a holder of the right and for others.
func TestR5WriteAnswers(t *testing.T) {
	s := startAlone(t)
	s.SetRules(t, harness.Operator, bindRule())
	main, sensitive := operatorRules(), []string{"clusterpeers/sensitive"}
	// The verb of the decision is get (list for a collection), not the request's.
	s.AddUser(t, "gets", append(main, harness.Rule([]string{"get"}, sensitive))...)
	s.AddUser(t, "lists", append(main, harness.Rule([]string{"list"}, sensitive))...)
	s.AddUser(t, "writes", append(main, harness.Rule([]string{"create", "update", "patch", "delete", "deletecollection"}, sensitive))...)
	s.AddUser(t, "blind", bindRule(), harness.Rule([]string{"create", "update", "patch", "delete"}, []string{"clusterpeers", "clusterpeers/status"}))
	type rights struct{ one, many bool }
	for user, r := range map[string]rights{
		harness.Admin: {true, true}, harness.Operator: {}, "gets": {one: true}, "lists": {many: true}, "writes": {}, "blind": {},
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			n := "w-" + user
			spec, status := s.secret(), s.secret()
			s.seed(t, n, spec, status)
			current := func() string { return encode(t, s.settled(t, n)) }
			one, many := []with{}, []with{}
			if r.one {
				one = append(one, revealing(spec, status))
			}
			check := func(a answer, reveals bool, specSet, statusSet bool) {
				t.Helper()
				obj := a.object(t)
				if obj["kind"] == "Status" {
					return
				}
				require.Equal(t, "ClusterPeer", obj["kind"], a.request)
				for _, f := range []struct {
					set   bool
					path  []string
					value string
				}{{specSet, specField, spec}, {statusSet, statusField, status}} {
					want := ""
					switch {
					case f.set && reveals:
						want = f.value
					case f.set:
						want = placeholder
					}
					assert.Equal(t, want, text(t, obj, f.path...), "%s: %v", a.request, f.path)
				}
			}
			for _, dry := range []string{"", "?dryRun=All"} {
				for i, shape := range []string{jsonType, yamlType} {
					try := func(method, path, body, contentType string, code int) {
						t.Helper()
						if dry != "" {
							path = strings.Replace(path+"&dryRun=All", "&", map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")], 1)
						}
						a := s.do(t, user, method, path, body, append(one, as(contentType), accept(shape))...).want(t, code)
						check(a, r.one, true, method != "POST")
					}
					try("POST", "", manifest(t, fmt.Sprintf("%s-new-%d-%d", n, len(dry), i), spec), jsonType, 201)
					try("PUT", n, current(), jsonType, 200)
					try("PUT", n, current(), yamlType, 200)
					try("PATCH", n, `[{"op":"add","path":"/spec/projects","value":["p"]}]`, jsonPatch, 200)
					try("PATCH", n, `[]`, jsonPatch, 200)
					try("PATCH", n, `{}`, mergePat, 200)
					try("PATCH", n, `{"spec":{"capabilities":["c"]}}`, mergePat, 200)
					try("PATCH", n, `{"metadata":{"labels":{"a":"b"}}}`, smPatch, 200)
					try("PATCH", n+"?fieldManager=r5", manifest(t, n, "", "r5"), applyPat, 200)
					try("PATCH", n+"?fieldManager=r5&force=true", manifest(t, n, placeholder, "r5"), applyPat, 200)
					try("PUT", n+"/status", current(), jsonType, 200)
					try("PATCH", n+"/status", `[{"op":"add","path":"/status/pairedProjectsCount","value":3}]`, jsonPatch, 200)
					try("PATCH", n+"/status", `{"status":{"pairedProjectsCount":4}}`, mergePat, 200)
					try("PATCH", n+"/status", `{"status":{"pairedProjectsCount":5}}`, smPatch, 200)
					try("PATCH", n+"/status?fieldManager=r5&force=true", statusManifest(t, n, placeholder), applyPat, 200)
				}
				s.do(t, user, http.MethodPatch, n+strings.ReplaceAll(dry, "?", "?a=b&"), `{"metadata":{"labels":{"a":"c"}}}`, as(mergePat), accept(metaType)).want(t, 200)
				a := s.do(t, user, http.MethodPatch, n+"?includeObject=Object"+strings.ReplaceAll(dry, "?", "&"), `{"metadata":{"labels":{"a":"d"}}}`, append(one, as(mergePat), accept(tableType))...).want(t, 200)
				assert.Equal(t, "Table", a.object(t)["kind"])
				assert.Equal(t, r.one, len(s.leaks(a.body, nil)) > 0, "Table in the answer of a patch")
			}
			t.Run("unset stays unset", func(t *testing.T) {
				s.seed(t, n+"-bare", "", "")
				a := s.do(t, user, http.MethodPatch, n+"-bare", `{"metadata":{"labels":{"a":"b"}}}`, as(mergePat)).want(t, 200)
				check(a, r.one, false, false)
			})
			for _, q := range []string{"", "?dryRun=All", "?propagationPolicy=Background", "?propagationPolicy=Orphan", "?propagationPolicy=Foreground"} {
				t.Run("delete "+q, func(t *testing.T) {
					gone := fmt.Sprintf("%s-gone-%d", n, len(q))
					s.seed(t, gone, spec, status)
					check(s.do(t, user, http.MethodDelete, gone+q, "", one...).want(t, 200), r.one, true, true)
					switch q {
					case "":
						s.gone(t, gone)
					case "?dryRun=All":
						s.do(t, harness.Viewer, http.MethodGet, gone, "").want(t, http.StatusOK)
					}
				})
			}
			t.Run("delete with a finalizer", func(t *testing.T) {
				gone := n + "-final"
				s.seed(t, gone, spec, status)
				s.do(t, user, http.MethodPatch, gone, `{"metadata":{"finalizers":["test.entente.dev/wait"]}}`, append(one, as(mergePat))...).want(t, 200)
				a := s.do(t, user, http.MethodDelete, gone, "", one...)
				assert.Contains(t, []int{200, 202}, a.code)
				require.Equal(t, "ClusterPeer", a.object(t)["kind"])
				check(a, r.one, true, true)
				check(s.do(t, user, http.MethodPatch, gone, `{"metadata":{"finalizers":null}}`, append(one, as(mergePat))...).want(t, 200), r.one, true, true)
			})
			t.Run("deletecollection", func(t *testing.T) {
				if user == "blind" {
					s.do(t, user, http.MethodDelete, "?labelSelector=r5%3Dgroup", "").want(t, http.StatusForbidden)
					return
				}
				if r.many {
					many = append(many, revealing(spec, status))
				}
				for _, suffix := range []string{"-c1", "-c2"} {
					s.seed(t, n+suffix, spec, status)
					s.do(t, harness.Operator, http.MethodPatch, n+suffix, `{"metadata":{"labels":{"group":`+quote(n)+`},"finalizers":["test.entente.dev/wait"]}}`, as(mergePat)).want(t, 200)
				}
				for _, q := range []string{"&dryRun=All", "", "&fieldSelector=metadata.name%3D" + n + "-c1"} {
					a := s.do(t, user, http.MethodDelete, "?labelSelector=group%3D"+n+q, "", many...).want(t, 200)
					if list := a.object(t); list["kind"] == "ClusterPeerList" {
						for _, obj := range a.items(t) {
							want := map[bool]string{true: spec, false: placeholder}[r.many]
							assert.Equal(t, want, text(t, obj, specField...), a.request)
						}
					}
				}
			})
			storedSpec, storedStatus := s.stored(t, n)
			assert.Equal(t, []string{spec, status}, []string{storedSpec, storedStatus}, "nothing was lost")
		})
	}
}

// R9: the subresource sensitive.
func TestR9Sensitive(t *testing.T) {
	s := startAlone(t)
	s.AddUser(t, "patcher", append(operatorRules(), harness.Rule([]string{"patch"}, []string{"clusterpeers/sensitive"}))...)
	s.AddUser(t, "updater", append(operatorRules(), harness.Rule([]string{"update"}, []string{"clusterpeers/sensitive"}))...)
	s.AddUser(t, "keeper", harness.Rule([]string{"get", "update", "patch"}, []string{"clusterpeers/sensitive"}))

	bodies := func(t *testing.T, n, value string, current map[string]any) map[string][2]string {
		t.Helper()
		set(t, current, value, specField...)
		set(t, current, "changed", "metadata", "labels", "sneaked")
		set(t, current, "changed", "metadata", "annotations", "sneaked")
		set(t, current, []any{"sneaked"}, "spec", "capabilities")
		set(t, current, "9f2d6d3e-6ff4-4b6a-8f2c-111111111111", "spec", "join", "expectedClusterUUID")
		set(t, current, "sneaked", "status", "peer", "alias")
		put := encode(t, current)
		merge := encode(t, map[string]any{"metadata": map[string]any{"labels": map[string]any{"sneaked": "x"}}, "spec": map[string]any{"capabilities": []any{"sneaked"}, "join": map[string]any{"connectionString": value}}, "status": map[string]any{"peer": map[string]any{"alias": "sneaked"}}})
		apply := joinPeer(n, value)
		set(t, apply, "x", "metadata", "labels", "sneaked")
		set(t, apply, []any{"sneaked"}, "spec", "capabilities")
		return map[string][2]string{
			"PUT":             {"", put},
			"json patch":      {jsonPatch, `[{"op":"add","path":"/spec/join/connectionString","value":` + quote(value) + `},{"op":"add","path":"/spec/capabilities","value":["sneaked"]},{"op":"add","path":"/metadata/labels","value":{"sneaked":"x"}}]`},
			"merge patch":     {mergePat, merge},
			"strategic patch": {smPatch, merge},
			"apply":           {applyPat, encode(t, apply)},
		}
	}
	write := func(t *testing.T, user, n string, body [2]string, opts ...with) answer {
		t.Helper()
		switch body[0] {
		case "":
			return s.do(t, user, http.MethodPut, n+"/sensitive", body[1], opts...)
		case applyPat:
			return s.do(t, user, http.MethodPatch, n+"/sensitive?fieldManager=r9&force=true", body[1], append(opts, as(body[0]))...)
		}
		return s.do(t, user, http.MethodPatch, n+"/sensitive", body[1], append(opts, as(body[0]))...)
	}
	read := func(t *testing.T, n string) map[string]any {
		t.Helper()
		return s.do(t, "keeper", http.MethodGet, n+"/sensitive", "", revealing()).want(t, 200).object(t)
	}

	ways := []string{"PUT", "json patch", "merge patch", "strategic patch", "apply"}
	for _, how := range ways {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := "r9-" + strings.ReplaceAll(strings.ToLower(how), " ", "-")
			first, second, status := s.secret(), s.secret(), s.secret()
			s.seed(t, n, first, status)
			before := read(t, n)

			a := write(t, "keeper", n, bodies(t, n, second, read(t, n))[how], revealing(second, status)).want(t, 200)
			after := a.object(t)
			assert.Equal(t, second, text(t, after, specField...), "a holder is answered in the clear")
			assert.Equal(t, status, text(t, after, statusField...))
			assert.Equal(t, generation(t, before)+1, generation(t, after), "the spec changed")
			assert.NotContains(t, strings.ReplaceAll(string(a.body), "managedFields", ""), `"sneaked"`, "only the sensitive spec fields can be changed here")
			for _, path := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec", "capabilities"}, {"status", "peer"}} {
				assert.Equal(t, field(before, path...), field(after, path...), "%v", path)
			}
			assert.Equal(t, "", text(t, after, "spec", "join", "expectedClusterUUID"))
			s.settled(t, n)

			// The placeholder keeps, and moves nothing (R11).
			before = read(t, n)
			after = write(t, "keeper", n, bodies(t, n, placeholder, read(t, n))[how], revealing(second, status)).want(t, 200).object(t)
			assert.Equal(t, second, text(t, after, specField...))
			assert.Equal(t, generation(t, before), generation(t, after))
			assert.Equal(t, before, after, "nothing at all has changed, the resourceVersion included")

			// A dry run shows and does not store.
			third := s.secret()
			put := bodies(t, n, third, read(t, n))["PUT"][1]
			a = s.do(t, "keeper", http.MethodPut, n+"/sensitive?dryRun=All", put, revealing(third, status)).want(t, 200)
			assert.Equal(t, third, text(t, a.object(t), specField...))
			storedSpec, _ := s.stored(t, n)
			assert.Equal(t, second, storedSpec)
		})
	}
	t.Run("removal", func(t *testing.T) {
		t.Parallel()
		for how, body := range map[string][2]string{
			"json patch": {jsonPatch, `[{"op":"remove","path":"/spec/join/connectionString"}]`}, "merge patch": {mergePat, `{"spec":{"join":{"connectionString":null}}}`},
			"strategic": {smPatch, `{"spec":{"join":{"connectionString":null}}}`}, "put": {},
		} {
			n := "r9-remove-" + strings.ReplaceAll(how, " ", "-")
			status := s.secret()
			s.seed(t, n, s.secret(), status)
			if how == "put" {
				body[1] = encode(t, set(t, read(t, n), nil, specField...))
			}
			before := read(t, n)
			after := write(t, "keeper", n, body, revealing(status)).want(t, 200).object(t)
			assert.Equal(t, "", text(t, after, specField...), how)
			assert.Equal(t, status, text(t, after, statusField...), how)
			assert.Equal(t, generation(t, before)+1, generation(t, after), how)
		}
	})
	t.Run("a first value", func(t *testing.T) {
		s.seed(t, "r9-first", "", "")
		value := s.secret()
		write(t, "keeper", "r9-first", [2]string{mergePat, `{"spec":{"join":{"connectionString":` + quote(value) + `}}}`}, revealing(value)).want(t, 200)
		stored, _ := s.stored(t, "r9-first")
		assert.Equal(t, value, stored)
	})
	t.Run("never creates", func(t *testing.T) {
		t.Parallel()
		for _, body := range bodies(t, "r9-absent", s.secret(), joinPeer("r9-absent", "x")) {
			for _, user := range []string{"keeper", harness.Admin} {
				write(t, user, "r9-absent", body).want(t, http.StatusNotFound).status(t)
			}
			s.do(t, harness.Admin, http.MethodGet, "r9-absent", "").want(t, http.StatusNotFound)
		}
		// Nor does /status.
		a := s.do(t, harness.Admin, http.MethodPatch, "r9-absent/status?fieldManager=r9", statusManifest(t, "r9-absent", s.secret()), as(applyPat))
		a.want(t, http.StatusNotFound)
		s.do(t, harness.Admin, http.MethodPost, "r9-absent/sensitive", manifest(t, "r9-absent", s.secret())).want(t, http.StatusMethodNotAllowed)
		s.do(t, harness.Admin, http.MethodDelete, "r9-absent/sensitive", "").want(t, http.StatusMethodNotAllowed)
	})
	t.Run("a stale resourceVersion conflicts", func(t *testing.T) {
		s.seed(t, "r9-stale", s.secret(), "")
		old := read(t, "r9-stale")
		s.do(t, harness.Operator, http.MethodPatch, "r9-stale", `{"metadata":{"labels":{"a":"b"}}}`, as(mergePat)).want(t, 200)
		write(t, "keeper", "r9-stale", [2]string{"", encode(t, old)}).want(t, http.StatusConflict).status(t)
	})
	t.Run("ordinary rights do not count here", func(t *testing.T) {
		t.Parallel()
		s.seed(t, "r9-rights", s.secret(), s.secret())
		for how, body := range bodies(t, "r9-rights", s.secret(), joinPeer("r9-rights", "x")) {
			for _, user := range []string{harness.Operator, harness.Viewer} {
				assert.Equal(t, 403, write(t, user, "r9-rights", body).code, how)
			}
			if how == "PUT" {
				assert.Equal(t, 403, write(t, "patcher", "r9-rights", body).code, how)
			} else {
				assert.Equal(t, 403, write(t, "updater", "r9-rights", body).code, how)
			}
		}
		s.do(t, "patcher", http.MethodGet, "r9-rights/sensitive", "").want(t, 403)
		s.do(t, "updater", http.MethodGet, "r9-rights/sensitive", "").want(t, 403)
		s.do(t, "keeper", http.MethodGet, "r9-rights", "").want(t, 403)
	})
	t.Run("who may patch but not get computes on the redacted object", func(t *testing.T) {
		t.Parallel()
		truth := s.secret()
		s.seed(t, "r9-blind", truth, s.secret())
		test := func(user, value string, opts ...with) answer {
			return write(t, user, "r9-blind", [2]string{jsonPatch, `[{"op":"test","path":"/spec/join/connectionString","value":` + quote(value) + `}]`}, opts...)
		}
		right, wrong := test("patcher", truth), test("patcher", "wrong")
		assert.Equal(t, wrong.code, right.code, "%s", right.body)
		assert.GreaterOrEqual(t, right.code, 400)
		assert.Equal(t, string(wrong.body), string(right.body))
		a := test("patcher", placeholder).want(t, 200)
		assert.Equal(t, placeholder, text(t, a.object(t), specField...))
		test("keeper", truth, revealing()).want(t, 200)
		assert.GreaterOrEqual(t, test("keeper", "wrong").code, 400)
		assert.GreaterOrEqual(t, test("keeper", placeholder).code, 400)

		value := s.secret()
		for _, how := range ways {
			body := bodies(t, "r9-blind", value, s.settled(t, "r9-blind"))[how]
			user := "patcher"
			if how == "PUT" {
				user = "updater"
			}
			a := write(t, user, "r9-blind", body).want(t, 200)
			assert.Equal(t, placeholder, text(t, a.object(t), specField...), how)
			stored, _ := s.stored(t, "r9-blind")
			assert.Equal(t, value, stored, how)
		}
		// What was put there is kept by the placeholder, for them as well.
		for _, how := range ways {
			body := bodies(t, "r9-blind", placeholder, s.settled(t, "r9-blind"))[how]
			user := "patcher"
			if how == "PUT" {
				user = "updater"
			}
			write(t, user, "r9-blind", body).want(t, 200)
			stored, _ := s.stored(t, "r9-blind")
			assert.Equal(t, value, stored, how)
		}
	})
}

func field(obj map[string]any, path ...string) any {
	var at any = obj
	for _, key := range path {
		tree, _ := at.(map[string]any)
		at = tree[key]
	}
	return at
}

var (
	moment  = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)
	uid     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	number  = regexp.MustCompile(`"(resourceVersion)":"\d+"|"(generation|observedGeneration)":\d+`)
	variant = regexp.MustCompile(`r10-(guess|truth)`)
)

// normal is an answer without what differs between any two requests.
func normal(t testing.TB, a answer) string {
	t.Helper()
	content := string(a.body)
	if a.code == http.StatusOK {
		content = encode(t, set(t, a.object(t), nil, "metadata", "managedFields"))
	}
	content = moment.ReplaceAllString(content, `"TIME"`)
	content = uid.ReplaceAllString(content, "UID")
	content = number.ReplaceAllString(content, `"$1$2":N`)
	return fmt.Sprint(a.code, " ", a.warnings(), " ", a.header.Get("Content-Type"), " ", variant.ReplaceAllString(content, "r10-X"))
}

// managers are the entries of managedFields, one line each and in order; they
// are served in the order of their times, which say nothing.
func managers(t testing.TB, a answer) string {
	t.Helper()
	entries, _ := field(a.object(t), "metadata", "managedFields").([]any)
	var lines []string
	for _, entry := range entries {
		e := entry.(map[string]any)
		lines = append(lines, fmt.Sprint(e["manager"], " ", e["operation"], " ", e["subresource"], " ", encode(t, e["fieldsV1"])))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// R10: whoever writes on the main resource or /status learns nothing, not even
// the admin, whose answer shows the outcome but whose write is computed on the
// placeholder.
func TestR10PatchesSeeThePlaceholder(t *testing.T) {
	s := startAlone(t)
	s.SetRules(t, harness.Operator, bindRule())
	const into = "/metadata/annotations/peering.entente.dev~1copy"
	type outcome struct {
		code int    // 0: any of 4xx
		spec string // "kept", "gone", or nothing to check
		copy string // annotation
	}
	kept, refused := "kept", outcome{code: 0, spec: "kept"}
	for i, tt := range []struct {
		what, path, ops string
		want            outcome
	}{
		{"copy to an annotation", "", `{"op":"copy","from":"/spec/join/connectionString","path":"` + into + `"}`, outcome{200, kept, placeholder}},
		{"copy of status to an annotation", "", `{"op":"copy","from":"/status/invite/connectionString","path":"` + into + `"}`, outcome{200, kept, placeholder}},
		{"copy twice", "", `{"op":"copy","from":"/spec/join/connectionString","path":"` + into + `"},{"op":"copy","from":"` + into + `","path":"` + into + `2"}`, outcome{200, kept, placeholder}},
		{"copy to a label", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/labels/copy"}`, refused},
		{"copy to a list", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/spec/capabilities/-"}`, refused},
		{"copy to a finalizer", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/finalizers/-"}`, refused},
		{"copy to the name", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/name"}`, refused},
		{"copy to the type", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/spec/type"}`, refused},
		{"copy to the UUID", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/spec/join/expectedClusterUUID"}`, refused},
		{"copy of the parent to an annotation", "", `{"op":"copy","from":"/spec/join","path":"` + into + `"}`, refused},
		{"copy of the spec to an annotation", "", `{"op":"copy","from":"/spec","path":"` + into + `"}`, refused},
		{"copy of the root to an annotation", "", `{"op":"copy","from":"","path":"` + into + `"}`, refused},
		{"copy of the parent to labels", "", `{"op":"copy","from":"/spec/join","path":"/metadata/labels"}`, refused},
		{"copy of the parent to annotations", "", `{"op":"copy","from":"/spec/join","path":"/metadata/annotations"}`, outcome{200, kept, ""}},
		{"copy of the parent to the other parent", "", `{"op":"copy","from":"/status/invite","path":"/spec/invite"}`, refused},
		{"copy of spec to status", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/status/peer"}`, outcome{code: -1, spec: kept}},
		{"copy of status to spec", "", `{"op":"copy","from":"/status/invite/connectionString","path":"/spec/join/connectionString"}`, outcome{200, kept, ""}},
		{"copy of spec to status, on status", "/status", `{"op":"copy","from":"/spec/join/connectionString","path":"/status/invite/connectionString"}`, outcome{200, kept, ""}},
		{"copy of spec to the alias, on status", "/status", `{"op":"add","path":"/status/peer","value":{}},{"op":"copy","from":"/spec/join/connectionString","path":"/status/peer/alias"}`, outcome{200, kept, ""}},
		{"copy of status to the alias, on status", "/status", `{"op":"add","path":"/status/peer","value":{}},{"op":"copy","from":"/status/invite/connectionString","path":"/status/peer/alias"}`, outcome{200, kept, ""}},
		{"copy to a condition, on status", "/status", `{"op":"copy","from":"/status/invite/connectionString","path":"/status/conditions/0/message"}`, outcome{200, kept, ""}},
		{"copy to the phase, on status", "/status", `{"op":"copy","from":"/status/invite/connectionString","path":"/status/phase"}`, refused},
		{"copy to the token hash, on status", "/status", `{"op":"copy","from":"/status/invite/connectionString","path":"/status/invite/tokenHash"}`, outcome{200, kept, ""}},
		{"copy to a time, on status", "/status", `{"op":"copy","from":"/status/invite/connectionString","path":"/status/invite/expiresAt"}`, refused},
		{"move to an annotation", "", `{"op":"move","from":"/spec/join/connectionString","path":"` + into + `"}`, outcome{200, "gone", placeholder}},
		{"move and back", "", `{"op":"move","from":"/spec/join/connectionString","path":"` + into + `"},{"op":"move","from":"` + into + `","path":"/spec/join/connectionString"}`, outcome{200, kept, ""}},
		{"move of the parent to an annotation", "", `{"op":"move","from":"/spec/join","path":"` + into + `"}`, refused},
		{"move of the root", "", `{"op":"move","from":"","path":"` + into + `"}`, refused},
		{"move with an escape", "", `{"op":"move","from":"/metadata/annotations/a~0b","path":"` + into + `"}`, refused},
		{"copy to an escaped key", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/annotations/a~0~1b"}`, refused},
		{"copy to a doubly escaped key", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/annotations/a~01b"}`, refused},
		{"an escaped spelling of the path", "", `{"op":"copy","from":"/spec/join/connection~0String","path":"` + into + `"}`, outcome{code: -1, spec: kept}},
		{"another case", "", `{"op":"copy","from":"/spec/join/ConnectionString","path":"` + into + `"}`, outcome{code: -1, spec: kept}},
		{"a test of the placeholder", "", `{"op":"test","path":"/spec/join/connectionString","value":"\u003comitted\u003e"}`, outcome{200, kept, ""}},
		// Not as people write it: the library compares with the text that Go encodes.
		{"a test of the parent", "", `{"op":"test","path":"/spec/join","value":{"connectionString":"\u003comitted\u003e"}}`, outcome{200, kept, ""}},
		{"a test of the status", "", `{"op":"test","path":"/status/invite/connectionString","value":"\u003comitted\u003e"}`, outcome{200, kept, ""}},
		{"a test of the status on status", "/status", `{"op":"test","path":"/status/invite/connectionString","value":"\u003comitted\u003e"}`, outcome{200, kept, ""}},
		{"a test of the spec on status", "/status", `{"op":"test","path":"/spec/join/connectionString","value":"\u003comitted\u003e"}`, outcome{200, kept, ""}},
		{"a test against null", "", `{"op":"test","path":"/spec/join/connectionString","value":null}`, refused},
		{"a test of the path as an object", "", `{"op":"test","path":"/spec/join/connectionString/0","value":"e"}`, refused},
		{"a test of the root", "", `{"op":"test","path":"","value":{}}`, refused},
		{"replace by the placeholder", "", `{"op":"replace","path":"/spec/join/connectionString","value":"<omitted>"}`, outcome{200, kept, ""}},
		{"replace of the parent by the placeholder", "", `{"op":"replace","path":"/spec/join","value":{"connectionString":"<omitted>"}}`, outcome{200, kept, ""}},
		{"replace of the spec by the placeholder", "", `{"op":"replace","path":"/spec","value":{"type":"Join","join":{"connectionString":"<omitted>"}}}`, outcome{200, kept, ""}},
		{"add of the placeholder", "", `{"op":"add","path":"/spec/join/connectionString","value":"<omitted>"}`, outcome{200, kept, ""}},
		{"remove", "", `{"op":"remove","path":"/spec/join/connectionString"}`, outcome{200, "gone", ""}},
		{"remove of the parent", "", `{"op":"remove","path":"/spec/join"}`, outcome{200, "gone", ""}},
		{"remove of the root", "", `{"op":"remove","path":""}`, refused},
		{"replace of the root", "", `{"op":"replace","path":"","value":{"metadata":{}}}`, refused},
		{"replace of the parent by a string", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/spec/join"}`, refused},
		{"replace of the spec by a string", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/spec"}`, refused},
		{"replace of the metadata by a string", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata"}`, refused},
		{"copy of a string over a number", "/status", `{"op":"copy","from":"/status/invite/connectionString","path":"/status/pairedProjectsCount"}`, refused},
		{"copy of a string over a list", "/status", `{"op":"copy","from":"/status/invite/connectionString","path":"/status/conditions"}`, refused},
		{"copy of a string over a kind", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/kind"}`, refused},
		{"copy of a string over a version", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/apiVersion"}`, refused},
		{"copy of a string over a uid", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/uid"}`, refused},
		{"copy of a string over a resourceVersion", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/resourceVersion"}`, outcome{code: -1, spec: kept}},
		{"copy of a string over a field manager", "", `{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/managedFields/0/manager"}`, outcome{code: -1, spec: kept}},
		{"remove on status does not reach the spec", "/status", `{"op":"remove","path":"/spec/join/connectionString"}`, outcome{code: 200, spec: kept}},
	} {
		for _, user := range []string{harness.Operator, harness.Admin} {
			t.Run(user+": "+tt.what, func(t *testing.T) {
				t.Parallel()
				n := fmt.Sprintf("r10-%d-%s", i, user)
				spec, status := s.secret(), s.secret()
				obj := joinPeer(n, spec)
				set(t, obj, "x", "metadata", "annotations", "note")
				set(t, obj, "x", "metadata", "labels", "note")
				set(t, obj, []any{"test.entente.dev/wait"}, "metadata", "finalizers")
				s.seedObject(t, set(t, obj, []any{"c"}, "spec", "capabilities"), status)
				if strings.Contains(tt.ops, "/status/conditions/0") {
					s.settled(t, n)
				}
				a := s.do(t, user, http.MethodPatch, n+tt.path, "["+tt.ops+"]", as(jsonPatch), revealing())
				// In an answer the admin may see the two fields, and nothing else.
				rest := string(a.body)
				if user == harness.Admin && a.code == 200 {
					obj := a.object(t)
					set(t, obj, nil, specField...)
					rest = encode(t, set(t, obj, nil, statusField...))
				}
				assert.Empty(t, s.leaks([]byte(rest), nil), "%s", a.request)
				switch tt.want.code {
				case -1:
				case 0:
					assert.True(t, a.code >= 400 && a.code < 500, "%s: %d %s", a.request, a.code, a.body)
					a.status(t)
				default:
					require.Equal(t, tt.want.code, a.code, "%s: %s", a.request, a.body)
				}
				obj = s.do(t, harness.Admin, http.MethodGet, n, "", revealing(spec, status)).object(t)
				want := spec
				if tt.want.spec == "gone" {
					want = ""
				}
				assert.Equal(t, want, text(t, obj, specField...))
				assert.Equal(t, status, text(t, obj, statusField...), "status keeps its value")
				if copied, _ := field(obj, "metadata", "annotations", "peering.entente.dev/copy").(string); tt.want.code >= 0 || copied != "" {
					assert.Equal(t, tt.want.copy, copied)
				}
				set(t, obj, nil, specField...)
				set(t, obj, nil, statusField...)
				assert.Empty(t, s.leaks([]byte(encode(t, obj)), nil), "a copy was stored")
			})
		}
	}

	for _, user := range []string{harness.Operator, harness.Admin} {
		t.Run("merge patches remove, as "+user, func(t *testing.T) {
			for i, body := range []string{`{"spec":{"join":{"connectionString":null}}}`, `{"spec":{"join":null}}`} {
				for _, contentType := range []string{mergePat, smPatch} {
					n := fmt.Sprintf("r10-null-%s-%d-%d", user, i, len(contentType))
					status := s.secret()
					s.seed(t, n, s.secret(), status)
					a := s.do(t, user, http.MethodPatch, n, body, as(contentType), revealing(status)).want(t, 200)
					assert.Equal(t, "", text(t, a.object(t), specField...))
					spec, left := s.stored(t, n)
					assert.Equal(t, []string{"", status}, []string{spec, left})
				}
			}
		})
	}
	t.Run("status can be removed on status only", func(t *testing.T) {
		spec, status := s.secret(), s.secret()
		s.seed(t, "r10-status", spec, status)
		s.do(t, harness.Operator, http.MethodPatch, "r10-status", `{"status":{"invite":null}}`, as(mergePat)).want(t, 200)
		_, left := s.stored(t, "r10-status")
		assert.Equal(t, status, left)
		s.do(t, harness.Operator, http.MethodPatch, "r10-status/status", `{"spec":null,"status":{"invite":{"connectionString":null}}}`, as(mergePat)).want(t, 200)
		kept, left := s.stored(t, "r10-status")
		assert.Equal(t, []string{spec, ""}, []string{kept, left})
	})
}

// R10: a guess and the truth get the same answer, whatever the way of asking.
func TestR10NoOracle(t *testing.T) {
	s := startAlone(t)
	type question struct {
		what, query, contentType string
		status                   bool
		body                     func(n, value string) string
	}
	str := func(format string) func(n, value string) string {
		return func(_, value string) string { return strings.ReplaceAll(format, "VALUE", quote(value)) }
	}
	apply := func(n, value string) string { return manifest(t, n, value, "mine") }
	applyStatus := func(n, value string) string { return statusManifest(t, n, value) }
	questions := []question{
		{what: "test", contentType: jsonPatch, body: str(`[{"op":"test","path":"/spec/join/connectionString","value":VALUE}]`)},
		{what: "test of the parent", contentType: jsonPatch, body: str(`[{"op":"test","path":"/spec/join","value":{"connectionString":VALUE}}]`)},
		{what: "test of the spec", contentType: jsonPatch, body: str(`[{"op":"test","path":"/spec","value":{"type":"Join","join":{"connectionString":VALUE}}}]`)},
		{what: "test of the status", contentType: jsonPatch, body: str(`[{"op":"test","path":"/status/invite/connectionString","value":VALUE}]`)},
		{what: "test after a copy", contentType: jsonPatch, body: str(`[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/annotations/a"},{"op":"test","path":"/metadata/annotations/a","value":VALUE}]`)},
		{what: "test on status", status: true, contentType: jsonPatch, body: str(`[{"op":"test","path":"/status/invite/connectionString","value":VALUE}]`)},
		{what: "test of the parent on status", status: true, contentType: jsonPatch, body: str(`[{"op":"test","path":"/status/invite","value":{"connectionString":VALUE,"used":false}}]`)},
		{what: "test of the spec on status", status: true, contentType: jsonPatch, body: str(`[{"op":"test","path":"/spec/join/connectionString","value":VALUE}]`)},
		{what: "replace", contentType: jsonPatch, body: str(`[{"op":"replace","path":"/spec/join/connectionString","value":VALUE}]`)},
		{what: "add", contentType: jsonPatch, body: str(`[{"op":"add","path":"/spec/join/connectionString","value":VALUE}]`)},
		{what: "merge", contentType: mergePat, body: str(`{"spec":{"join":{"connectionString":VALUE}}}`)},
		{what: "strategic merge", contentType: smPatch, body: str(`{"spec":{"join":{"connectionString":VALUE}}}`)},
		{what: "merge on status", status: true, contentType: mergePat, body: str(`{"status":{"invite":{"connectionString":VALUE}}}`)},
		{what: "put", contentType: jsonType, body: func(n, value string) string {
			return encode(t, set(t, s.do(t, harness.Viewer, "GET", n, "").object(t), value, specField...))
		}},
		{what: "put on status", status: true, contentType: jsonType, body: func(n, value string) string {
			return encode(t, set(t, s.do(t, harness.Viewer, "GET", n, "").object(t), value, statusField...))
		}},
		{what: "put without a resourceVersion", contentType: jsonType, body: apply},
		{what: "put with a null", contentType: jsonType, body: func(n, value string) string {
			return strings.Replace(apply(n, value), `"type"`, `"invite":null,"type"`, 1)
		}},
		{what: "apply", query: "?fieldManager=guesser", contentType: applyPat, body: apply},
		{what: "forced apply", query: "?fieldManager=guesser&force=true", contentType: applyPat, body: apply},
		{what: "apply by the owner's name", query: "?fieldManager=owner", contentType: applyPat, body: apply},
		{what: "apply on status", status: true, query: "?fieldManager=guesser", contentType: applyPat, body: applyStatus},
		{what: "forced apply on status", status: true, query: "?fieldManager=guesser&force=true", contentType: applyPat, body: applyStatus},
		{what: "apply with an invalid field", query: "?fieldManager=guesser&force=true", contentType: applyPat, body: func(n, value string) string {
			return encode(t, set(t, joinPeer(n, value), []any{"NOT VALID"}, "spec", "capabilities"))
		}},
		{what: "annotation", contentType: mergePat, body: str(`{"metadata":{"annotations":{"a":VALUE}}}`)},
		{what: "annotation and label", contentType: mergePat, body: str(`{"metadata":{"labels":{"a":VALUE},"annotations":{"a":VALUE}}}`)},
		{what: "last-applied", contentType: mergePat, body: func(_, value string) string {
			return `{"metadata":{"annotations":{` + quote(lastApplied) + `:` + quote(`{"spec":{"join":{"connectionString":`+quote(value)+`}}}`) + `}}}`
		}},
	}
	i := 0
	for _, user := range []string{harness.Operator, harness.Admin} {
		for _, dry := range []bool{false, true} {
			for _, q := range questions {
				if user == harness.Admin && !strings.Contains(q.what, "test") && !strings.Contains(q.what, "apply") {
					continue // not an oracle for who may read it, and R11 keeps the owners of an unchanged value
				}
				i++
				id := i
				t.Run(fmt.Sprintf("%s: %s, dry run %v", user, q.what, dry), func(t *testing.T) {
					t.Parallel()
					ask := func(kind string, guesses bool) (answer, answer) {
						n := fmt.Sprintf("r10-%s-%d", kind, id)
						spec, status := s.secret(), s.secret()
						// "owner" owns the value by apply, "Go-http-client" the status.
						s.do(t, harness.Admin, http.MethodPatch, n+"?fieldManager=owner", manifest(t, n, spec), as(applyPat), revealing()).want(t, 201)
						s.do(t, harness.Admin, http.MethodPatch, n+"/status", `{"status":{"invite":{"connectionString":`+quote(status)+`}}}`, as(mergePat), revealing()).want(t, 200)
						s.settled(t, n)
						value, path, query := spec, n, q.query
						if q.status || strings.Contains(q.what, "of the status") {
							value = status
						}
						if strings.Contains(q.what, "of the spec on status") {
							value = spec
						}
						if guesses {
							value = s.secret()
						}
						if q.status {
							path += "/status"
						}
						if dry {
							query += map[bool]string{true: "&", false: "?"}[query != ""] + "dryRun=All"
						}
						a := s.do(t, user, map[bool]string{true: http.MethodPut, false: http.MethodPatch}[q.contentType == jsonType], path+query, q.body(n, value), as(q.contentType), revealing())
						if user == harness.Operator && !strings.Contains(q.what, "annotation") {
							assert.Empty(t, s.leaks(a.body, nil), "%s", a.request)
						}
						// What a holder may see, or what was submitted as an annotation, differs of itself.
						for secret, to := range map[string]string{spec: "SPEC", status: "STATUS", value: "VALUE"} {
							a.body = []byte(strings.ReplaceAll(string(a.body), secret, to))
						}
						a.body = regexp.MustCompile(`"connectionString":"(SPEC|STATUS|VALUE)"`).ReplaceAll(a.body, []byte(`"connectionString":"REAL"`))
						a.body = regexp.MustCompile(`:"(SPEC|STATUS|VALUE)"`).ReplaceAll(a.body, []byte(`:"SUBMITTED"`))
						return a, s.do(t, harness.Viewer, http.MethodGet, n, "", revealing())
					}
					truth, afterTruth := ask("truth", false)
					guess, afterGuess := ask("guess", true)
					assert.Equal(t, managers(t, truth), managers(t, guess), "managedFields of the answer")
					assert.Equal(t, normal(t, truth), normal(t, guess))
					assert.Equal(t, managers(t, afterTruth), managers(t, afterGuess), "managedFields of the object")
				})
			}
		}
	}
}

// R11: the placeholder means "as it is".
func TestR11PlaceholderKeeps(t *testing.T) {
	s := startAlone(t)
	s.SetRules(t, harness.Operator, bindRule())
	for _, user := range []string{harness.Operator, harness.Admin} {
		t.Run("ten rounds by "+user, func(t *testing.T) {
			t.Parallel()
			spec, status := s.secret(), s.secret()
			n := "r11-" + user
			s.seed(t, n, spec, status)
			// A first apply becomes a manager; from then on nothing moves.
			echo := manifest(t, n, placeholder)
			s.do(t, user, http.MethodPatch, n+"?fieldManager=gitops&force=true", echo, as(applyPat), revealing(spec, status)).want(t, 200)
			s.do(t, user, http.MethodPatch, n+"/status?fieldManager=gitops&force=true", statusManifest(t, n, placeholder), as(applyPat), revealing(spec, status)).want(t, 200)
			start := s.settled(t, n)
			for round := range 10 {
				read := encode(t, s.do(t, harness.Viewer, http.MethodGet, n, "").object(t))
				for _, r := range [][3]string{
					{"PUT", n, jsonType},
					{"PUT", n + "/status", jsonType},
					{"PATCH", n, mergePat},
					{"PATCH", n + "/status", mergePat},
					{"PATCH", n, smPatch},
				} {
					after := s.do(t, user, r[0], r[1], read, as(r[2]), revealing(spec, status)).want(t, 200).object(t)
					require.Equal(t, version(t, start), version(t, after), "round %d: %v", round, r)
				}
				for _, r := range [][3]string{
					{n, jsonPatch, `[{"op":"replace","path":"/spec/join/connectionString","value":"<omitted>"}]`},
					{n + "/status", jsonPatch, `[{"op":"replace","path":"/status/invite/connectionString","value":"<omitted>"}]`},
					{n, mergePat, `{"spec":{"join":{"connectionString":"<omitted>"}}}`},
					{n + "/status", mergePat, `{"status":{"invite":{"connectionString":"<omitted>"}}}`},
					{n + "?fieldManager=gitops&force=true", applyPat, echo},
					{n + "?fieldManager=gitops", applyPat, echo},
					{n + "/status?fieldManager=gitops", applyPat, statusManifest(t, n, placeholder)},
				} {
					after := s.do(t, user, http.MethodPatch, r[0], r[2], as(r[1]), revealing(spec, status)).want(t, 200).object(t)
					require.Equal(t, version(t, start), version(t, after), "round %d: %v", round, r)
				}
			}
			end := s.settled(t, n)
			assert.Equal(t, generation(t, start), generation(t, end))
			assert.Equal(t, version(t, start), version(t, end))
			assert.Equal(t, field(start, "metadata", "managedFields"), field(end, "metadata", "managedFields"))
			storedSpec, storedStatus := s.stored(t, n)
			assert.Equal(t, []string{spec, status}, []string{storedSpec, storedStatus})
		})
	}
	t.Run("with another change the value stays", func(t *testing.T) {
		t.Parallel()
		spec, status := s.secret(), s.secret()
		s.seed(t, "r11-other", spec, status)
		obj := s.do(t, harness.Operator, http.MethodGet, "r11-other", "").object(t)
		before := generation(t, obj)
		obj = s.do(t, harness.Operator, http.MethodPut, "r11-other", encode(t, set(t, obj, []any{"c"}, "spec", "capabilities"))).want(t, 200).object(t)
		assert.Equal(t, before+1, generation(t, obj))
		assert.Equal(t, []any{"c"}, field(obj, "spec", "capabilities"))
		s.do(t, harness.Operator, http.MethodPut, "r11-other", encode(t, set(t, joinPeer("r11-other", placeholder), "v", "metadata", "labels", "l"))).want(t, 200)
		storedSpec, storedStatus := s.stored(t, "r11-other")
		assert.Equal(t, []string{spec, status}, []string{storedSpec, storedStatus})
	})
	t.Run("an echo does not own", func(t *testing.T) {
		t.Parallel()
		spec := s.secret()
		s.do(t, harness.Admin, http.MethodPatch, "r11-own?fieldManager=owner", manifest(t, "r11-own", spec), as(applyPat), revealing()).want(t, 201)
		before := s.settled(t, "r11-own")
		require.Equal(t, []string{"owner/Apply"}, owners(t, before))
		for _, user := range []string{harness.Operator, harness.Admin} {
			for _, r := range [][3]string{
				{"PATCH", "?fieldManager=echo", applyPat}, {"PATCH", "?fieldManager=echo&force=true", applyPat}, {"PUT", "?fieldManager=echo-put", jsonType}, {"PATCH", "?fieldManager=echo-merge", mergePat}, {"PATCH", "?fieldManager=echo-smp", smPatch},
			} {
				a := s.do(t, user, r[0], "r11-own"+r[1], manifest(t, "r11-own", placeholder, "echo"), as(r[2]), revealing(spec)).want(t, 200)
				assert.Equal(t, []string{"owner/Apply"}, owners(t, a.object(t)), "%s %v", user, r)
			}
		}
		// Hence a real change by the echoing manager conflicts with the owner, and the owner's removal removes.
		s.do(t, harness.Operator, http.MethodPatch, "r11-own?fieldManager=echo", manifest(t, "r11-own", s.secret()), as(applyPat)).want(t, http.StatusConflict)
		a := s.do(t, harness.Admin, http.MethodPatch, "r11-own?fieldManager=owner", manifest(t, "r11-own", ""), as(applyPat)).want(t, 200)
		assert.Equal(t, "", text(t, a.object(t), specField...))
	})
	t.Run("the owner's own echo keeps its ownership", func(t *testing.T) {
		t.Parallel()
		spec := s.secret()
		s.do(t, harness.Admin, http.MethodPatch, "r11-owner?fieldManager=owner", manifest(t, "r11-owner", spec), as(applyPat), revealing()).want(t, 201)
		a := s.do(t, harness.Operator, http.MethodPatch, "r11-owner?fieldManager=owner", manifest(t, "r11-owner", placeholder), as(applyPat)).want(t, 200)
		assert.Equal(t, []string{"owner/Apply"}, owners(t, a.object(t)))
		stored, _ := s.stored(t, "r11-owner")
		assert.Equal(t, spec, stored)
	})
	t.Run("nothing stored is 422 with the path", func(t *testing.T) {
		t.Parallel()
		s.seed(t, "r11-none", "", "")
		s.users(t, map[string][]string{"r11-patcher": {"patch", "update"}})
		obj := s.do(t, harness.Viewer, http.MethodGet, "r11-none", "").object(t)
		onSpec := encode(t, set(t, obj, placeholder, specField...))
		obj = s.do(t, harness.Viewer, http.MethodGet, "r11-none", "").object(t)
		onStatus := encode(t, set(t, obj, placeholder, statusField...))
		for _, r := range []struct {
			user, method, path, body, contentType, field string
		}{
			{harness.Operator, "PUT", "r11-none", onSpec, jsonType, "spec.join.connectionString"},
			{harness.Admin, "PUT", "r11-none", onSpec, jsonType, "spec.join.connectionString"},
			{harness.Operator, "PATCH", "r11-none", `{"spec":{"join":{"connectionString":"<omitted>"}}}`, mergePat, "spec.join.connectionString"},
			{harness.Operator, "PATCH", "r11-none", `{"spec":{"join":{"connectionString":"<omitted>"}}}`, smPatch, "spec.join.connectionString"},
			{harness.Operator, "PATCH", "r11-none", `[{"op":"add","path":"/spec/join/connectionString","value":"<omitted>"}]`, jsonPatch, "spec.join.connectionString"},
			{harness.Operator, "PATCH", "r11-none?fieldManager=x", manifest(t, "r11-none", placeholder), applyPat, "spec.join.connectionString"},
			{harness.Admin, "PATCH", "r11-none?fieldManager=x&force=true&dryRun=All", manifest(t, "r11-none", placeholder), applyPat, "spec.join.connectionString"},
			{harness.Operator, "PUT", "r11-none/status", onStatus, jsonType, "status.invite.connectionString"},
			{harness.Operator, "PATCH", "r11-none/status", `{"status":{"invite":{"connectionString":"<omitted>"}}}`, mergePat, "status.invite.connectionString"},
			{harness.Admin, "PATCH", "r11-none/status?fieldManager=x", statusManifest(t, "r11-none", placeholder), applyPat, "status.invite.connectionString"},
			{harness.Admin, "PUT", "r11-none/sensitive", onSpec, jsonType, "spec.join.connectionString"},
			{harness.Admin, "PATCH", "r11-none/sensitive", `{"spec":{"join":{"connectionString":"<omitted>"}}}`, mergePat, "spec.join.connectionString"},
			{"r11-patcher", "PATCH", "r11-none/sensitive", `{"spec":{"join":{"connectionString":"<omitted>"}}}`, mergePat, "spec.join.connectionString"},
			{"r11-patcher", "PUT", "r11-none/sensitive", onSpec, jsonType, "spec.join.connectionString"},
		} {
			a := s.do(t, r.user, r.method, r.path, r.body, as(r.contentType))
			if assert.Equal(t, http.StatusUnprocessableEntity, a.code, "%s: %s", a.request, a.body) {
				assert.Equal(t, []string{r.field}, a.causes(t), a.request)
			}
		}
		spec, status := s.stored(t, "r11-none")
		assert.Equal(t, []string{"", ""}, []string{spec, status})
	})
	t.Run("on create it is 422 for everyone", func(t *testing.T) {
		t.Parallel()
		for _, user := range []string{harness.Operator, harness.Admin} {
			for _, r := range [][3]string{
				{"POST", "", jsonType}, {"POST", "?dryRun=All", jsonType}, {"PATCH", "r11-create?fieldManager=x", applyPat}, {"PATCH", "r11-create?fieldManager=x&force=true", applyPat},
			} {
				a := s.do(t, user, r[0], r[1], manifest(t, "r11-create", placeholder), as(r[2]))
				if assert.Equal(t, http.StatusUnprocessableEntity, a.code, "%s: %s", a.request, a.body) {
					assert.Equal(t, []string{"spec.join.connectionString"}, a.causes(t), a.request)
				}
			}
			s.do(t, user, http.MethodGet, "r11-create", "").want(t, http.StatusNotFound)
		}
	})
	t.Run("in the status of a create it is dropped", func(t *testing.T) {
		t.Parallel()
		for i, value := range []string{placeholder, s.secret()} {
			n := fmt.Sprintf("r11-status-%d", i)
			body := encode(t, set(t, joinPeer(n, ""), value, statusField...))
			a := s.do(t, harness.Operator, http.MethodPost, "", body).want(t, 201)
			assert.Equal(t, "", text(t, a.object(t), statusField...))
			_, status := s.stored(t, n)
			assert.Equal(t, "", status)
			a = s.do(t, harness.Operator, http.MethodPatch, n+"-applied?fieldManager=x", strings.Replace(body, n, n+"-applied", 1), as(applyPat)).want(t, 201)
			assert.Equal(t, "", text(t, a.object(t), statusField...))
		}
	})
	t.Run("anywhere else the literal is data", func(t *testing.T) {
		t.Parallel()
		spec := s.secret()
		body := set(t, joinPeer("r11-literal", spec), placeholder, "metadata", "annotations", "note")
		a := s.do(t, harness.Operator, http.MethodPost, "", encode(t, body)).want(t, 201)
		assert.Equal(t, placeholder, text(t, a.object(t), "metadata", "annotations", "note"))
		a = s.do(t, harness.Operator, http.MethodPatch, "r11-literal", `{"metadata":{"annotations":{"note":"x","other":"<omitted>"}}}`, as(mergePat)).want(t, 200)
		assert.Equal(t, "x", text(t, a.object(t), "metadata", "annotations", "note"), "not restored")
		assert.Equal(t, placeholder, text(t, a.object(t), "metadata", "annotations", "other"))
		a = s.do(t, harness.Operator, http.MethodPatch, "r11-literal/status", `{"status":{"peer":{"alias":"<omitted>"}}}`, as(mergePat)).want(t, 200)
		assert.Equal(t, placeholder, text(t, a.object(t), "status", "peer", "alias"))
		// And what only resembles it is a value.
		for _, value := range []string{"<omitted> ", "<OMITTED>", "omitted"} {
			s.do(t, harness.Operator, http.MethodPatch, "r11-literal", `{"spec":{"join":{"connectionString":`+quote(value)+`}}}`, as(mergePat)).want(t, 200)
			stored, _ := s.stored(t, "r11-literal")
			assert.Equal(t, value, stored)
		}
	})
}

// R12: write-only for those without the right.
func TestR12WriteOnly(t *testing.T) {
	s := startAlone(t)
	for i, r := range []struct {
		contentType string
		body        func(n, value string) string
	}{
		{jsonType, func(n, value string) string {
			obj := s.do(t, harness.Viewer, http.MethodGet, n, "").object(t)
			if value == "" {
				return encode(t, set(t, obj, nil, specField...))
			}
			return encode(t, set(t, obj, value, specField...))
		}},
		{jsonPatch, func(_, value string) string {
			if value == "" {
				return `[{"op":"remove","path":"/spec/join/connectionString"}]`
			}
			return `[{"op":"add","path":"/spec/join/connectionString","value":` + quote(value) + `}]`
		}},
		{mergePat, func(_, value string) string {
			return strings.ReplaceAll(`{"spec":{"join":{"connectionString":`+quote(value)+`}}}`, `""`, `null`)
		}},
		{smPatch, func(_, value string) string {
			return strings.ReplaceAll(`{"spec":{"join":{"connectionString":`+quote(value)+`}}}`, `""`, `null`)
		}},
		{applyPat, func(n, value string) string { return manifest(t, n, value) }},
	} {
		t.Run(r.contentType, func(t *testing.T) {
			t.Parallel()
			n, status := fmt.Sprintf("r12-%d", i), s.secret()
			first := s.secret()
			path, method := n, http.MethodPatch
			switch r.contentType {
			case applyPat:
				path += "?fieldManager=operator&force=true"
				s.do(t, harness.Operator, method, path, manifest(t, n, first), as(applyPat)).want(t, 201)
				s.do(t, harness.Operator, method, n+"/status", `{"status":{"invite":{"connectionString":`+quote(status)+`}}}`, as(mergePat)).want(t, 200)
				s.settled(t, n)
			case jsonType:
				method = http.MethodPut
				fallthrough
			default:
				s.seed(t, n, first, status)
			}
			before := s.settled(t, n)
			second := s.secret()
			a := s.do(t, harness.Operator, method, path, r.body(n, second), as(r.contentType)).want(t, 200)
			assert.Equal(t, placeholder, text(t, a.object(t), specField...))
			assert.Equal(t, generation(t, before)+1, generation(t, a.object(t)))
			spec, _ := s.stored(t, n)
			assert.Equal(t, second, spec)

			s.settled(t, n)
			a = s.do(t, harness.Operator, method, path, r.body(n, ""), as(r.contentType)).want(t, 200)
			assert.Equal(t, "", text(t, a.object(t), specField...))
			spec, left := s.stored(t, n)
			assert.Equal(t, []string{"", status}, []string{spec, left})

			s.settled(t, n)
			third := s.secret()
			s.do(t, harness.Operator, method, path, r.body(n, third), as(r.contentType)).want(t, 200)
			spec, _ = s.stored(t, n)
			assert.Equal(t, third, spec)
		})
	}
	t.Run("a dry run stores nothing", func(t *testing.T) {
		spec := s.secret()
		s.seed(t, "r12-dry", spec, "")
		a := s.do(t, harness.Operator, http.MethodPatch, "r12-dry?dryRun=All", `{"spec":{"join":{"connectionString":`+quote(s.secret())+`}}}`, as(mergePat)).want(t, 200)
		assert.Equal(t, placeholder, text(t, a.object(t), specField...))
		stored, _ := s.stored(t, "r12-dry")
		assert.Equal(t, spec, stored)
	})
	t.Run("status too", func(t *testing.T) {
		s.seed(t, "r12-status", s.secret(), "")
		value := s.secret()
		a := s.do(t, harness.Operator, http.MethodPatch, "r12-status/status", `{"status":{"invite":{"connectionString":`+quote(value)+`}}}`, as(mergePat)).want(t, 200)
		assert.Equal(t, placeholder, text(t, a.object(t), statusField...))
		_, status := s.stored(t, "r12-status")
		assert.Equal(t, value, status)
	})
}

// R14: no annotation keeps a copy of what is submitted.
func TestR14Annotations(t *testing.T) {
	s := startAlone(t)
	annotation := func(t *testing.T, n, key string) (string, bool) {
		t.Helper()
		a := s.do(t, harness.Admin, http.MethodGet, n+"/sensitive", "", revealing()).want(t, 200)
		value, found := field(a.object(t), "metadata", "annotations", key).(string)
		return value, found
	}
	write := func(t *testing.T, how, n string, obj map[string]any) answer {
		t.Helper()
		set(t, obj, n, "metadata", "name")
		switch how {
		case "create":
			return s.do(t, harness.Operator, http.MethodPost, "", encode(t, obj)).want(t, 201)
		case "apply that creates":
			return s.do(t, harness.Operator, http.MethodPatch, n+"?fieldManager=r14", encode(t, obj), as(applyPat)).want(t, 201)
		}
		s.do(t, harness.Operator, http.MethodPost, "", manifest(t, n, s.secret())).want(t, 201)
		switch how {
		case "update":
			return s.do(t, harness.Operator, http.MethodPut, n, encode(t, obj)).want(t, 200)
		case "merge":
			return s.do(t, harness.Operator, http.MethodPatch, n, encode(t, obj), as(mergePat)).want(t, 200)
		case "strategic":
			return s.do(t, harness.Operator, http.MethodPatch, n, encode(t, obj), as(smPatch)).want(t, 200)
		case "json":
			return s.do(t, harness.Operator, http.MethodPatch, n, `[{"op":"add","path":"/metadata/annotations","value":`+encode(t, field(obj, "metadata", "annotations"))+`},{"op":"add","path":"/spec","value":`+encode(t, obj["spec"])+`}]`, as(jsonPatch)).want(t, 200)
		}
		return s.do(t, harness.Operator, http.MethodPatch, n+"?fieldManager=r14&force=true", encode(t, obj), as(applyPat)).want(t, 200)
	}
	hows := []string{"create", "apply that creates", "update", "merge", "strategic", "json", "apply"}
	for i, how := range hows {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := fmt.Sprintf("r14-%d", i)
			value, other, status := s.secret(), s.secret(), s.secret()
			last := set(t, set(t, joinPeer(n, value), status, statusField...), "kept", "metadata", "labels", "l")
			obj := joinPeer(n, value)
			set(t, obj, encode(t, last), "metadata", "annotations", lastApplied)
			a := write(t, how, n, obj)
			assert.Empty(t, a.warnings())
			got, _ := annotation(t, n, lastApplied)
			var tree map[string]any
			require.NoError(t, json.Unmarshal([]byte(got), &tree), "%q", got)
			assert.Equal(t, set(t, set(t, last, placeholder, specField...), placeholder, statusField...), tree, "the rest is kept")
			stored, _ := s.stored(t, n)
			assert.Equal(t, value, stored)

			// With a value of its own, submitted nowhere else.
			obj = set(t, joinPeer(n, placeholder), manifest(t, n, other), "metadata", "annotations", lastApplied)
			if how == "create" || how == "apply that creates" {
				set(t, obj, s.secret(), specField...)
			}
			write(t, how, n+"-o", obj)
			got, _ = annotation(t, n+"-o", lastApplied)
			assert.JSONEq(t, manifest(t, n, placeholder), got)
			// An absent field stays absent in it.
			obj = set(t, joinPeer(n, s.secret()), manifest(t, n, ""), "metadata", "annotations", lastApplied)
			write(t, how, n+"-absent", obj)
			got, _ = annotation(t, n+"-absent", lastApplied)
			assert.JSONEq(t, manifest(t, n, ""), got)

			for j, odd := range []string{
				`{"spec":{"join":{"connectionString":` + quote(value) + `,"connectionString":` + quote(other) + `}}}`,
				`{"spec":{"join":{"connectionString":` + quote(other) + `}},"spec":{"join":{"connectionString":` + quote(value) + `}}}`,
				`{"spec":{"join":{"connectionString":"a"},"join":{"connectionString":` + quote(other) + `}}}`,
				`{"spec":{"join":{"connectionString":[` + quote(other) + `]}}}`,
				`{"spec":{"join":{"connectionString":{"x":` + quote(other) + `}}}}`,
				`{"spec":{"join":[{"connectionString":` + quote(other) + `}]}}`,
				`{"spec":{"\u006aoin":{"connection\u0053tring":` + quote(other) + `}}}`,
				` {"spec":` + "\n\t" + `{"join":{"connectionString":"` + escapeAll(other) + `"}}}` + "\n",
				`{"status":{"invite":{"connectionString":` + quote(other) + `}}}`,
			} {
				on := fmt.Sprintf("%s-odd-%d", n, j)
				write(t, how, on, set(t, joinPeer(on, value), odd, "metadata", "annotations", lastApplied))
				got, found := annotation(t, on, lastApplied)
				assert.Empty(t, s.leaks([]byte(got), nil), "%s: %s", how, odd)
				if found && got != "" {
					var tree any
					assert.NoError(t, json.Unmarshal([]byte(got), &tree))
					assert.Empty(t, s.leaks([]byte(fmt.Sprint(tree)), nil), "%s: %s became %s", how, odd, got)
				}
			}
			for j, broken := range []string{
				`{"spec":{"join":{"connectionString":` + quote(other) + `}}`, `spec: {join: {connectionString: ` + other + `}}`, other, quote(other), `[` + quote(other) + `]`,
				manifest(t, n, other) + manifest(t, n, value), `{"spec":{"join":{"connectionString":` + quote(other) + `}}} x`,
			} {
				bn := fmt.Sprintf("%s-broken-%d", n, j)
				a := write(t, how, bn, set(t, joinPeer(bn, value), broken, "metadata", "annotations", lastApplied))
				got, found := annotation(t, bn, lastApplied)
				assert.False(t, found, "%s: %s became %q", how, broken, got)
				assert.NotEmpty(t, a.warnings(), "%s: %s", how, broken)
			}
		})
	}
	// A value with characters that JSON escapes, in two usual ways.
	hard := s.keep(`"qu"` + s.secret() + `<&>\back` + "\ttab" + s.secret() + `"`)
	plain, html := jsonWithoutHTML(t, hard), quote(hard)
	for i, how := range hows {
		t.Run("another annotation, "+how, func(t *testing.T) {
			t.Parallel()
			n := fmt.Sprintf("r14-other-%d", i)
			obj := joinPeer(n, hard)
			for key, value := range map[string]string{
				"verbatim": "a " + hard + " b " + hard, "json": `{"x":` + plain + `}`, "html": `{"x":` + html + `}`, "whole": hard, "innocent": "x", "test.entente.dev/prefixed": hard,
			} {
				set(t, obj, value, "metadata", "annotations", key)
			}
			write(t, how, n, obj)
			for key, want := range map[string]string{
				"verbatim": "a <omitted> b <omitted>", "whole": placeholder, "innocent": "x", "test.entente.dev/prefixed": placeholder,
			} {
				got, _ := annotation(t, n, key)
				assert.Equal(t, want, got, key)
			}
			for _, key := range []string{"json", "html"} {
				got, _ := annotation(t, n, key)
				assert.JSONEq(t, `{"x":"<omitted>"}`, got, key)
			}
			stored, _ := s.stored(t, n)
			assert.Equal(t, hard, stored)
		})
	}
	t.Run("never compared with the stored value", func(t *testing.T) {
		t.Parallel()
		truth := s.secret()
		for i, body := range []func(n, guess string) (string, string){
			func(n, guess string) (string, string) {
				return jsonType, encode(t, set(t, joinPeer(n, placeholder), guess, "metadata", "annotations", "guess"))
			},
			func(_, guess string) (string, string) {
				return mergePat, `{"metadata":{"annotations":{"guess":` + quote(guess) + `}}}`
			},
			func(_, guess string) (string, string) {
				return jsonPatch, `[{"op":"add","path":"/metadata/annotations","value":{"guess":` + quote(guess) + `}}]`
			},
			func(n, guess string) (string, string) {
				return applyPat, encode(t, set(t, joinPeer(n, placeholder), guess, "metadata", "annotations", "guess"))
			},
			func(n, guess string) (string, string) {
				return applyPat, encode(t, set(t, joinPeer(n, ""), guess, "metadata", "annotations", "guess"))
			},
		} {
			n := fmt.Sprintf("r14-guess-%d", i)
			s.seed(t, n, truth, "")
			for _, guess := range []string{truth, "a wrong guess"} {
				contentType, content := body(n, guess)
				method, path := http.MethodPatch, n
				switch contentType {
				case jsonType:
					method = http.MethodPut
				case applyPat:
					path += "?fieldManager=r14&force=true"
				}
				a := s.do(t, harness.Operator, method, path, content, as(contentType), revealing(truth)).want(t, 200)
				assert.Equal(t, guess, text(t, a.object(t), "metadata", "annotations", "guess"), "%d: an annotation tells nothing about the stored value", i)
			}
		}
	})
}

// escapeAll spells a text with JSON escapes only.
func escapeAll(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func jsonWithoutHTML(t testing.TB, text string) string {
	t.Helper()
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(text))
	return strings.TrimSpace(b.String())
}

// R18: nothing but the two fields ever holds a value, whatever was written.
func TestR18NoCopies(t *testing.T) {
	s := startAlone(t)
	n := "r18"
	spec, status := s.secret(), s.secret()
	s.do(t, harness.Operator, http.MethodPatch, n+"?fieldManager=r18", manifest(t, n, spec), as(applyPat)).want(t, 201)
	s.do(t, harness.Operator, http.MethodPatch, n+"/status", `{"status":{"invite":{"connectionString":`+quote(status)+`}}}`, as(mergePat)).want(t, 200)
	for i := range 3 {
		spec = s.secret()
		s.do(t, harness.Operator, http.MethodPatch, n+fmt.Sprintf("?force=true&fieldManager=r18-%d", i), manifest(t, n, spec), as(applyPat)).want(t, 200)
		s.do(t, harness.Admin, http.MethodPatch, n+"/sensitive", `{"spec":{"join":{"connectionString":`+quote(spec)+`}}}`, as(mergePat), revealing(spec, status)).want(t, 200)
		s.settled(t, n)
	}
	obj := s.do(t, harness.Admin, http.MethodGet, n+"/sensitive", "", revealing(spec, status)).want(t, 200).object(t)
	require.Equal(t, spec, text(t, obj, specField...))
	set(t, obj, nil, specField...)
	set(t, obj, nil, statusField...)
	assert.Empty(t, s.leaks([]byte(encode(t, obj)), nil), "conditions, managedFields, annotations")
	a := s.do(t, harness.Admin, http.MethodGet, "/metrics", "", accept("text/plain")).want(t, 200)
	assert.Empty(t, s.leaks(a.body, nil))
	for _, path := range []string{"/readyz?verbose", "/livez?verbose", "/version", "/openapi/v2", "/openapi/v3" + groupVersion, "/apis"} {
		s.do(t, harness.Admin, http.MethodGet, path, "")
	}
}
