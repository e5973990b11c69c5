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
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/test/harness"
)

// remainder is what tells the right guess from a wrong one, after a request and after a
// dry run of it, by the parts of all that a caller without the right can see: the
// answer, the object afterwards, and the events of a watch. A part that is not named is
// the same whether the guess is right or wrong.
type remainder struct {
	request, dryRun []string
}

var (
	// nothing: most requests.
	nothing = remainder{}
	// A request that stores its guess in the spec: a wrong one is a new value, by which
	// the generation moves. (Where controllers run, they write the status on every new
	// generation. That shows in events and times, and tells no more than the generation.)
	newValue = remainder{
		request: []string{"answer: generation", "object: generation"},
		dryRun:  []string{"answer: generation"},
	}
	// As well, if the caller's field manager owned the field before: the right guess
	// then changes nothing at all, and leaves version and times as they are.
	newValueOwned = remainder{
		request: []string{"answer: generation", "answer: resourceVersion", "answer: times", "events", "object: generation", "object: resourceVersion", "object: times"},
		dryRun:  []string{"answer: generation", "answer: times"},
	}
	// In the status there is no generation.
	newStatusOwned = remainder{
		request: []string{"answer: resourceVersion", "answer: times", "events", "object: resourceVersion", "object: times"},
		dryRun:  []string{"answer: times"},
	}
)

// twin is one of two objects that are the same in all that a caller can see, and the
// guess that is sent to it.
type twin struct {
	name, guess  string
	spec, status string // the values
	before       map[string]any
	moments      map[string]bool // every time in before
}

// oracle is a way to ask with a guess.
type oracle struct {
	what string
	// user is the operator unless said otherwise; endpoint is a subresource.
	user, endpoint, query string
	method, contentType   string
	accept                string
	// path replaces name and endpoint. The guess may be in it.
	path string
	body func(testing.TB, *twin) string
	// status: the guess is of the value in the status.
	status bool
	// owned: the caller's field manager owns the field already.
	owned bool
	// stores: the request succeeds and stores the guess. reads: there is no dry run of it.
	stores, reads bool
	// besides: it changes the spec in another place too, which moves everything anyway.
	besides bool
	// code is what both are answered.
	code   int
	learns remainder
}

// of fills a template. Words in capitals stand for the texts of a twin; GUESS and
// VERSION are JSON strings, TEXT is the guess without quotes.
func of(template string) func(testing.TB, *twin) string {
	return func(t testing.TB, tw *twin) string {
		return strings.NewReplacer(
			"GUESS", quote(tw.guess), "TEXT", tw.guess, "NAME", tw.name, "UID", quote(tw.uid()), "VERSION", quote(version(t, tw.before)),
		).Replace(template)
	}
}

// whole is the object as the caller has read it, with the guess in a field.
func whole(change func(testing.TB, *twin, map[string]any), path ...string) func(testing.TB, *twin) string {
	return func(t testing.TB, tw *twin) string {
		var obj map[string]any
		require.NoError(t, json.Unmarshal([]byte(encode(t, tw.before)), &obj))
		set(t, obj, tw.guess, path...)
		if change != nil {
			change(t, tw, obj)
		}
		return encode(t, obj)
	}
}

// applied is what an applier sends, changed.
func applied(change func(testing.TB, *twin, map[string]any)) func(testing.TB, *twin) string {
	return func(t testing.TB, tw *twin) string {
		obj := joinPeer(tw.name, tw.guess)
		if change != nil {
			change(t, tw, obj)
		}
		return encode(t, obj)
	}
}

func appliedStatus(t testing.TB, tw *twin) string { return statusManifest(t, tw.name, tw.guess) }

// ownersRest is what the owner of a twin applies beside the value.
func ownersRest(t testing.TB, _ *twin, obj map[string]any) {
	set(t, obj, []any{"c"}, "spec", "capabilities")
	set(t, obj, map[string]any{"note": "x", "a/b": "x"}, "metadata", "annotations")
}

func (tw *twin) uid() string {
	uid, _ := field(tw.before, "metadata", "uid").(string)
	return uid
}

func without(path ...string) func(testing.TB, *twin, map[string]any) {
	return func(t testing.TB, _ *twin, obj map[string]any) { set(t, obj, nil, path...) }
}

func having(value any, path ...string) func(testing.TB, *twin, map[string]any) {
	return func(t testing.TB, _ *twin, obj map[string]any) { set(t, obj, value, path...) }
}

// patchOracles are JSON patches: their test, copy and move on sensitive paths, on the
// paths above them, and with the escapes of JSON pointers. None of them tells anything
// (R10), unless it stores the guess.
func patchOracles() []oracle {
	const (
		value  = `"/spec/join/connectionString"`
		invite = `"/status/invite/connectionString"`
	)
	test := func(path, against string) string { return `{"op":"test","path":` + path + `,"value":` + against + `}` }
	copied := func(from, path string) string { return `{"op":"copy","from":` + from + `,"path":` + path + `},` }
	moved := func(from, path string) string { return `{"op":"move","from":` + from + `,"path":` + path + `},` }
	const join, full = `{"connectionString":GUESS}`, `{"type":"Join","capabilities":["c"],"join":{"connectionString":GUESS}}`
	var out []oracle
	for _, q := range []struct{ what, endpoint, operations string }{
		{"test", "", test(value, "GUESS")},
		{"test of the parent", "", test(`"/spec/join"`, join)},
		{"test of the spec", "", test(`"/spec"`, full)},
		{"test of the status", "", test(invite, "GUESS")},
		{"test of the status's parent", "", test(`"/status/invite"`, `{"connectionString":GUESS,"used":false}`)},
		{"test of the whole", "", ""},
		{"test, escaped slashes", "", test(`"/spec~1join~1connectionString"`, "GUESS")},
		{"test, an escaped slash", "", test(`"/spec/join~1connectionString"`, "GUESS")},
		{"test, an escaped tilde", "", test(`"/spec/join/connection~0String"`, "GUESS")},
		{"test, in JSON escapes", "", test(`"\u002fspec/join/\u0063onnectionString"`, "GUESS")},
		{"test, in another case", "", test(`"/spec/join/ConnectionString"`, "GUESS")},
		{"test, below the value", "", test(value[:len(value)-1]+`/0"`, "GUESS")},
		{"test after a copy", "", copied(value, `"/metadata/annotations/copy"`) + test(`"/metadata/annotations/copy"`, "GUESS")},
		{"test after a copy to a key with a slash", "", copied(value, `"/metadata/annotations/a~1b"`) + test(`"/metadata/annotations/a~1b"`, "GUESS")},
		{"test after a copy to a key with a tilde", "", copied(value, `"/metadata/annotations/a~0b"`) + test(`"/metadata/annotations/a~0b"`, "GUESS")},
		{"test after a copy to a key with both", "", copied(value, `"/metadata/annotations/a~01b"`) + test(`"/metadata/annotations/a~01b"`, "GUESS")},
		{"test after a copy of a copy", "", copied(value, `"/metadata/annotations/a"`) + copied(`"/metadata/annotations/a"`, `"/metadata/annotations/b"`) + test(`"/metadata/annotations/b"`, "GUESS")},
		{"test after a copy of the parent", "", copied(`"/spec/join"`, `"/metadata/annotations"`) + test(`"/metadata/annotations/connectionString"`, "GUESS")},
		{"test after a copy of the status", "", copied(invite, value) + test(value, "GUESS")},
		{"test after a move", "", moved(value, `"/metadata/annotations/copy"`) + test(`"/metadata/annotations/copy"`, "GUESS")},
		{"test after a move of the parent", "", moved(`"/spec/join"`, `"/spec/invite"`) + test(`"/spec/invite/connectionString"`, "GUESS")},
		{"test after a move there and back", "", moved(value, `"/metadata/annotations/a~1b"`) + moved(`"/metadata/annotations/a~1b"`, value) + test(value, "GUESS")},
		{"test on status", "/status", test(invite, "GUESS")},
		{"test of the parent on status", "/status", test(`"/status/invite"`, `{"connectionString":GUESS,"used":false}`)},
		{"test of the spec on status", "/status", test(value, "GUESS")},
		{"test after a copy on status", "/status", copied(invite, `"/status/conditions/0/message"`) + test(`"/status/conditions/0/message"`, "GUESS")},
		{"test after a move on status", "/status", moved(invite, `"/status/conditions/0/message"`) + test(`"/status/conditions/0/message"`, "GUESS")},
		{"test of the value, then another guess", "", test(value, "GUESS") + `,{"op":"replace","path":` + value + `,"value":"other"}`},
		{"add of the guess, and a test that fails", "", `{"op":"add","path":` + value + `,"value":GUESS},` + test(`"/metadata/name"`, `"other"`)},
	} {
		body := of("[" + q.operations + "]")
		if q.operations == "" {
			rest := whole(without("status", "invite"), specField...)
			body = func(t testing.TB, tw *twin) string {
				return `[{"op":"remove","path":"/status/invite"},{"op":"test","path":"","value":` + rest(t, tw) + `}]`
			}
		}
		o := oracle{what: "JSON patch: " + q.what, endpoint: q.endpoint, contentType: jsonPatch, code: http.StatusUnprocessableEntity, body: body}
		o.status = strings.Contains(q.what, "status") && !strings.Contains(q.what, "of the spec")
		out = append(out, o)
		if q.endpoint == "" && !strings.Contains(q.what, "status") {
			o.what, o.user, o.endpoint = o.what+", on sensitive", "patcher", "/sensitive"
			out = append(out, o)
		}
	}
	for _, q := range []struct{ what, operations string }{
		{"add", `{"op":"add","path":` + value + `,"value":GUESS}`},
		{"replace", `{"op":"replace","path":` + value + `,"value":GUESS}`},
		{"replace of the parent", `{"op":"replace","path":"/spec/join","value":{"connectionString":GUESS}}`},
		{"replace of the spec", `{"op":"replace","path":"/spec","value":` + full + `}`},
		{"remove and add", `{"op":"remove","path":` + value + `},{"op":"add","path":` + value + `,"value":GUESS}`},
		{"replace if it is set", test(value, `"\u003comitted\u003e"`) + `,{"op":"replace","path":` + value + `,"value":GUESS}`},
		{"copy of the guess from an annotation", `{"op":"add","path":"/metadata/annotations/a~1b","value":GUESS},` + copied(`"/metadata/annotations/a~1b"`, value) + `{"op":"remove","path":"/metadata/annotations/a~1b"},{"op":"add","path":"/metadata/annotations/a~1b","value":"x"}`},
		{"move of the guess from an annotation", `{"op":"add","path":"/metadata/annotations/c","value":GUESS},{"op":"move","from":"/metadata/annotations/c","path":` + value + `}`},
		{"replace, and a test of it", `{"op":"replace","path":` + value + `,"value":GUESS},` + test(value, "GUESS")},
	} {
		o := oracle{what: "JSON patch: " + q.what, contentType: jsonPatch, stores: true, body: of("[" + q.operations + "]")}
		out = append(out, o)
		o.what, o.user, o.endpoint = o.what+", on sensitive", "patcher", "/sensitive"
		out = append(out, o)
	}
	return out
}

// writeOracles are the other ways to write, and to be refused.
func writeOracles() []oracle {
	merge := `{"spec":{"join":{"connectionString":GUESS}}}`
	and := func(more string) func(testing.TB, *twin) string { return of(merge[:len(merge)-1] + "," + more + "}") }
	refusal := func(code int, o oracle) oracle {
		o.code, o.learns = code, nothing
		return o
	}
	write := func(o oracle) oracle {
		o.stores = true
		return o
	}
	onStatus := func(o oracle) oracle {
		o.endpoint, o.status = "/status", true
		return o
	}
	const force = "&force=true"
	return []oracle{
		write(oracle{what: "merge patch", contentType: mergePat, body: of(merge)}),
		write(oracle{what: "merge patch, answered as a table", contentType: mergePat, accept: tableType, query: "includeObject=Object", body: of(merge)}),
		write(oracle{what: "merge patch, answered as metadata", contentType: mergePat, accept: metaType, body: of(merge)}),
		write(oracle{what: "merge patch, answered in YAML", contentType: mergePat, accept: yamlType, body: of(merge)}),
		write(oracle{what: "strategic merge patch", contentType: smPatch, body: of(merge)}),
		write(oracle{what: "strategic merge patch that replaces", contentType: smPatch, body: of(`{"spec":{"join":{"$patch":"replace","connectionString":GUESS}}}`)}),
		write(oracle{what: "strategic merge patch that retains", contentType: smPatch, body: of(`{"spec":{"join":{"$retainKeys":["connectionString"],"connectionString":GUESS}}}`)}),
		write(onStatus(oracle{what: "merge patch on status", contentType: mergePat, body: of(`{"status":{"invite":{"connectionString":GUESS}}}`)})),
		write(onStatus(oracle{what: "update on status", method: http.MethodPut, body: whole(nil, statusField...)})),
		write(oracle{what: "update", method: http.MethodPut, body: whole(nil, specField...)}),
		write(oracle{what: "update without a resourceVersion", method: http.MethodPut, body: whole(without("metadata", "resourceVersion"), specField...)}),
		write(oracle{what: "update in YAML", method: http.MethodPut, contentType: yamlType, body: whole(nil, specField...)}),
		write(oracle{what: "merge patch on sensitive", user: "patcher", endpoint: "/sensitive", contentType: mergePat, body: of(merge)}),
		write(oracle{what: "strategic merge patch on sensitive", user: "patcher", endpoint: "/sensitive", contentType: smPatch, body: of(merge)}),
		write(oracle{what: "update on sensitive", user: "patcher", endpoint: "/sensitive", method: http.MethodPut, body: whole(nil, specField...)}),

		// Preconditions that hold, and that do not.
		write(oracle{what: "merge patch of a version", contentType: mergePat, body: and(`"metadata":{"resourceVersion":VERSION}`)}),
		write(oracle{what: "merge patch of a UID", contentType: mergePat, body: and(`"metadata":{"uid":UID}`)}),
		refusal(http.StatusConflict, oracle{what: "merge patch of another version", contentType: mergePat, body: and(`"metadata":{"resourceVersion":"1"}`)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "merge patch of another UID", contentType: mergePat, body: and(`"metadata":{"uid":"9f2d6d3e-6ff4-4b6a-8f2c-111111111111"}`)}),
		refusal(http.StatusConflict, oracle{what: "update of another version", method: http.MethodPut, body: whole(having("1", "metadata", "resourceVersion"), specField...)}),
		refusal(http.StatusConflict, oracle{what: "update of another UID", method: http.MethodPut, body: whole(having("9f2d6d3e-6ff4-4b6a-8f2c-111111111111", "metadata", "uid"), specField...)}),
		refusal(http.StatusConflict, oracle{what: "update on sensitive of another version", user: "patcher", endpoint: "/sensitive", method: http.MethodPut, body: whole(having("1", "metadata", "resourceVersion"), specField...)}),
		refusal(http.StatusConflict, onStatus(oracle{what: "update on status of another version", method: http.MethodPut, body: whole(having("1", "metadata", "resourceVersion"), statusField...)})),

		// Apply: the owner of the value conflicts with whoever applies another than
		// the placeholder.
		refusal(http.StatusConflict, oracle{what: "apply", contentType: applyPat, query: "fieldManager=guesser", body: applied(nil)}),
		refusal(http.StatusConflict, onStatus(oracle{what: "apply on status", contentType: applyPat, query: "fieldManager=guesser", body: appliedStatus})),
		refusal(http.StatusConflict, oracle{what: "apply on sensitive", user: "patcher", endpoint: "/sensitive", contentType: applyPat, query: "fieldManager=guesser", body: applied(nil)}),
		refusal(http.StatusConflict, oracle{what: "apply of another version", contentType: applyPat, query: "fieldManager=owner", body: applied(having("1", "metadata", "resourceVersion"))}),
		write(oracle{what: "forced apply", contentType: applyPat, query: "fieldManager=guesser" + force, body: applied(nil)}),
		write(onStatus(oracle{what: "forced apply on status", contentType: applyPat, query: "fieldManager=guesser" + force, body: appliedStatus})),
		write(oracle{what: "forced apply on sensitive", user: "patcher", endpoint: "/sensitive", contentType: applyPat, query: "fieldManager=guesser" + force, body: applied(nil)}),
		write(oracle{what: "apply in the owner's name", contentType: applyPat, query: "fieldManager=owner", owned: true, body: applied(ownersRest)}),
		write(onStatus(oracle{what: "apply on status in the owner's name", contentType: applyPat, query: "fieldManager=owner", owned: true, body: appliedStatus})),
		refusal(http.StatusConflict, oracle{what: "apply on sensitive in the owner's name", user: "patcher", endpoint: "/sensitive", contentType: applyPat, query: "fieldManager=owner", body: applied(nil)}),
		write(oracle{what: "apply with another change in the owner's name", contentType: applyPat, query: "fieldManager=owner", besides: true, body: applied(nil)}),
		write(oracle{what: "merge patch with another change", contentType: mergePat, besides: true, body: of(`{"spec":{"projects":["p"],"join":{"connectionString":GUESS}}}`)}),
		refusal(http.StatusUnsupportedMediaType, oracle{what: "apply in CBOR", contentType: "application/apply-patch+cbor", query: "fieldManager=guesser", body: of("\xd9\xd9\xf7\xa1\x63abcTEXT")}),
		refusal(http.StatusBadRequest, oracle{what: "update in protobuf", method: http.MethodPut, contentType: "application/vnd.kubernetes.protobuf", body: of("k8s\x00TEXT")}),
		write(oracle{what: "merge patch in the owner's name", contentType: mergePat, query: "fieldManager=owner", body: of(merge)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "apply with a fault", contentType: applyPat, query: "fieldManager=guesser" + force, body: applied(having([]any{"NOT VALID"}, "spec", "capabilities"))}),

		// Other faults beside a guess: texts of errors.
		refusal(http.StatusUnprocessableEntity, oracle{what: "merge patch with a fault", contentType: mergePat, body: of(`{"spec":{"capabilities":["NOT VALID"],"join":{"connectionString":GUESS}}}`)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "merge patch with a wrong type", contentType: mergePat, body: of(`{"spec":{"capabilities":GUESS,"join":{"connectionString":GUESS}}}`)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "merge patch with an unknown field, strict", contentType: mergePat, query: "fieldValidation=Strict", body: of(`{"spec":{"join":{"connectionString":GUESS,"connectionstring":GUESS}}}`)}),
		write(oracle{what: "merge patch with an unknown field", contentType: mergePat, query: "fieldValidation=Warn", body: of(`{"spec":{"join":{"connectionString":GUESS,"connectionstring":GUESS}}}`)}),
		refusal(http.StatusBadRequest, oracle{what: "merge patch that is no JSON", contentType: mergePat, body: of(`{"spec":{"join":{"connectionString":GUESS}}`)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "label", contentType: mergePat, body: of(`{"metadata":{"labels":{"a":GUESS}}}`)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "finalizer", contentType: mergePat, body: of(`{"metadata":{"finalizers":[GUESS]}}`)}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "merge patch that copies it to a label", contentType: mergePat, body: and(`"metadata":{"labels":{"a":GUESS}}`)}),
		refusal(http.StatusBadRequest, oracle{what: "merge patch that copies it to the name", contentType: mergePat, body: and(`"metadata":{"name":GUESS}`)}),

		// Annotations: compared with what is submitted, never with what is stored (R14).
		refusal(http.StatusOK, oracle{what: "annotation", contentType: mergePat, body: of(`{"metadata":{"annotations":{"a":GUESS}}}`)}),
		refusal(http.StatusOK, oracle{what: "annotation that holds it", contentType: mergePat, body: of(`{"metadata":{"annotations":{"a":"before TEXT after"}}}`)}),
		refusal(http.StatusOK, oracle{what: "last-applied annotation", contentType: mergePat, body: of(`{"metadata":{"annotations":{"` + lastApplied + `":"{\"spec\":{\"join\":{\"connectionString\":\"TEXT\"}}}"}}}`)}),
		refusal(http.StatusOK, oracle{what: "last-applied annotation that does not parse", contentType: mergePat, body: of(`{"metadata":{"annotations":{"` + lastApplied + `":"TEXT"}}}`)}),
		refusal(http.StatusOK, onStatus(oracle{what: "condition", contentType: mergePat, body: of(`{"status":{"peer":{"alias":"a","endpoint":"https://TEXT"}}}`)})),
		write(oracle{what: "annotation and value", contentType: mergePat, body: and(`"metadata":{"annotations":{"a/b":"x"}}`)}),

		// What creates, deletes and selects.
		refusal(http.StatusConflict, oracle{what: "create of the same name", method: http.MethodPost, path: "", body: applied(nil)}),
		refusal(http.StatusConflict, oracle{what: "delete of a UID", method: http.MethodDelete, body: of(`{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":GUESS}}`)}),
		refusal(http.StatusConflict, oracle{what: "delete of a version", method: http.MethodDelete, body: of(`{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":GUESS}}`)}),
		refusal(http.StatusBadRequest, oracle{what: "deletecollection by the value", method: http.MethodDelete, path: "?fieldSelector=spec.join.connectionString%3DESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "list by the value", method: http.MethodGet, reads: true, path: "?fieldSelector=spec.join.connectionString%3DESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "list by the value in the status", method: http.MethodGet, reads: true, status: true, path: "?fieldSelector=status.invite.connectionString%3DESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "list by all but the value", method: http.MethodGet, reads: true, path: "?fieldSelector=spec.join.connectionString%21%3DESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "watch by the value", method: http.MethodGet, reads: true, path: "?watch=1&fieldSelector=spec.join.connectionString%3DESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "list by a label", method: http.MethodGet, reads: true, path: "?labelSelector=a%3DESCAPED"}),
		refusal(http.StatusOK, oracle{what: "list by name", method: http.MethodGet, reads: true, path: "?fieldSelector=metadata.name%3DESCAPED"}),
		refusal(http.StatusNotFound, oracle{what: "get by name", method: http.MethodGet, reads: true, path: "ESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "list since", method: http.MethodGet, reads: true, path: "?resourceVersion=ESCAPED"}),
		refusal(http.StatusBadRequest, oracle{what: "list on", method: http.MethodGet, reads: true, path: "?continue=ESCAPED"}),
		refusal(http.StatusUnprocessableEntity, oracle{what: "in the name of the guess", contentType: mergePat, query: "fieldManager=ESCAPED", body: of(`{"metadata":{"annotations":{"a":"x"}}}`)}),
		refusal(http.StatusForbidden, oracle{what: "merge patch on sensitive without any right there", endpoint: "/sensitive", contentType: mergePat, body: of(merge)}),
		refusal(http.StatusForbidden, oracle{what: "test on sensitive without any right there", endpoint: "/sensitive", contentType: jsonPatch, body: of(`[{"op":"test","path":"/spec/join/connectionString","value":GUESS}]`)}),
		refusal(http.StatusForbidden, oracle{what: "get of sensitive", method: http.MethodGet, reads: true, user: "patcher", endpoint: "/sensitive", query: "resourceVersion=ESCAPED"}),
	}
}

// allOracles is the table. Each request that stores its guess is in it twice: as the
// first one of its field manager, and by one that owns the field already.
func allOracles() []oracle {
	var out []oracle
	for _, o := range append(patchOracles(), writeOracles()...) {
		if !o.stores {
			out = append(out, o)
			continue
		}
		o.code = http.StatusOK
		first, again := o, o
		again.owned = true
		switch {
		case o.besides:
			// It tells nothing, and costs the value all the same.
			out = append(out, first)
			continue
		case o.status:
			first.learns, again.learns = nothing, newStatusOwned
		default:
			first.learns, again.learns = newValue, newValueOwned
		}
		again.what += ", by its owner"
		if !o.owned {
			out = append(out, first)
		}
		out = append(out, again)
	}
	return out
}

// ask sends the request of an oracle for a twin.
func (o oracle) ask(t testing.TB, s *api, tw *twin, dry bool) answer {
	t.Helper()
	user, method, path, body := o.user, o.method, o.path, ""
	if user == "" {
		user = harness.Operator
	}
	if method == "" {
		method = http.MethodPatch
	}
	if path == "" && method != http.MethodPost {
		path = tw.name + o.endpoint
	}
	if o.body != nil {
		body = o.body(t, tw)
	}
	query := []string{}
	if o.query != "" {
		query = append(query, o.query)
	}
	if dry {
		query = append(query, "dryRun=All")
	}
	if len(query) > 0 {
		path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + strings.Join(query, "&")
	}
	opts := []with{revealing()} // what may come back is compared
	if o.contentType != "" {
		opts = append(opts, as(o.contentType))
	}
	if o.accept != "" {
		opts = append(opts, accept(o.accept))
	}
	return s.do(t, user, method, strings.ReplaceAll(path, "ESCAPED", url.QueryEscape(tw.guess)), body, opts...)
}

// parts are what a caller sees of something, apart.
type parts map[string]string

// sifted collects what is taken out of a body, to be compared apart.
type sifted struct {
	generation, version, times []string
}

var (
	moments   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	age       = regexp.MustCompile(`^\d+[smhd](\d+[smhd])?$`)
	timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
)

// sift takes generations, versions and times out of a body, as they are beside those
// before, and sorts managedFields, which come in the order of their times.
func (tw *twin) sift(t testing.TB, at string, value any, out *sifted) any {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			at := at + "." + key
			switch key {
			case "resourceVersion":
				out.version = append(out.version, fmt.Sprintf("%s moved: %v", at, child != version(t, tw.before)))
				v[key] = "SIFTED"
			case "generation", "observedGeneration":
				out.generation = append(out.generation, fmt.Sprintf("%s by %v", at, number64(t, child)-generation(t, tw.before)))
				v[key] = "SIFTED"
			default:
				v[key] = tw.sift(t, at, child, out)
			}
		}
	case []any:
		sortManagers(v)
		for i, child := range v {
			v[i] = tw.sift(t, at+"."+elementName(child, i), child, out)
		}
	case string:
		switch {
		case timestamp.MatchString(v):
			out.times = append(out.times, fmt.Sprintf("%s moved: %v", at, !tw.moments[v]))
			return "SIFTED"
		case age.MatchString(v):
			return "AGE"
		}
	}
	return value
}

func number64(t testing.TB, value any) int64 {
	t.Helper()
	n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	require.NoError(t, err)
	return n
}

func managerOf(entry any) string {
	e, _ := entry.(map[string]any)
	return fmt.Sprint(e["manager"], " ", e["operation"], " ", e["subresource"])
}

// elementName is by what an element of a list is known: an entry of managedFields by
// its manager.
func elementName(element any, i int) string {
	if e, ok := element.(map[string]any); ok && e["manager"] != nil {
		return "[" + managerOf(element) + "]"
	}
	return fmt.Sprintf("[%d]", i)
}

func sortManagers(list []any) {
	slices.SortStableFunc(list, func(a, b any) int {
		if e, ok := a.(map[string]any); !ok || e["manager"] == nil {
			return 0
		}
		return strings.Compare(managerOf(a), managerOf(b))
	})
}

// see takes an answer apart. Left out are the headers that are of every answer's own:
// Date, Audit-Id and the length, which goes with the digits of a version.
func (tw *twin) see(t testing.TB, what string, a answer) parts {
	t.Helper()
	var out sifted
	body := string(a.body)
	var tree any
	if strings.HasPrefix(a.header.Get("Content-Type"), jsonType) {
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&tree), "%s: %s", a.request, body)
	} else if strings.HasPrefix(a.header.Get("Content-Type"), yamlType) {
		tree = a.object(t)
	}
	if tree != nil {
		body = encode(t, tw.sift(t, "", tree, &out))
	}
	headers := a.header.Clone()
	for _, own := range []string{"Date", "Audit-Id", "Content-Length"} {
		headers.Del(own)
	}
	var lines strings.Builder
	require.NoError(t, headers.Write(&lines))
	whole := fmt.Sprintf("%d\n%s\n%s", a.code, lines.String(), body)
	whole = strings.NewReplacer(tw.name, "NAME", tw.uid(), "UID", tw.guess, "GUESS", url.QueryEscape(tw.guess), "GUESS",
		"ResourceVersion in record ("+version(t, tw.before)+")", "ResourceVersion in record (SAME)").Replace(whole)
	for _, list := range []*[]string{&out.generation, &out.version, &out.times} {
		slices.Sort(*list)
	}
	return parts{
		what:                       whole,
		what + ": generation":      strings.Join(out.generation, "\n"),
		what + ": resourceVersion": strings.Join(out.version, "\n"),
		what + ": times":           strings.Join(out.times, "\n"),
	}
}

// differ are the parts in which two are not the same.
func differ(a, b parts) []string {
	keys := []string{}
	for key := range a {
		if a[key] != b[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// asked is what came of the requests of an oracle for one twin.
type asked struct {
	twin                  *twin
	dry, real             parts
	dryAnswer, realAnswer answer
	untouched             []string // what the dry run changed in the object
	spec, status          string   // what is stored in the end
}

// connectionStrings are a well-formed connection string, and one of the same length
// that differs from it in a single byte of the token, and thus in the checksum.
func connectionStrings(t testing.TB) (truth, miss string) {
	t.Helper()
	var secret [32]byte
	_, _ = rand.Read(secret[:])
	id, err := connstring.NewTokenID(rand.Reader)
	require.NoError(t, err)
	encoded := func() string {
		token, err := connstring.NewToken(strings.NewReader(string(secret[:])))
		require.NoError(t, err)
		text, err := connstring.ConnectionString{
			TokenID: id, Token: token, Endpoints: []string{"https://peering.example.com"}, Pins: []connstring.Pin{{1}},
			ClusterUUID: "6f9619ff-8b86-4011-b42d-00c04fc964ff", ExpiresAt: time.Unix(2000000000, 0), Protocol: connstring.ProtocolRange{Min: 1, Max: 1},
		}.Encode()
		require.NoError(t, err)
		return text
	}
	truth = encoded()
	secret[len(secret)-1] ^= 1
	miss = encoded()
	require.Len(t, miss, len(truth))
	require.NotEqual(t, truth, miss)
	return truth, miss
}

// seedTwin makes a twin for an oracle. The manager "owner" owns everything in it, the
// values included.
func (o oracle) seedTwin(t testing.TB, s *api, name string, right bool) *twin {
	t.Helper()
	tw := &twin{name: name, moments: map[string]bool{}}
	var specMiss, statusMiss string
	tw.spec, specMiss = connectionStrings(t)
	tw.status, statusMiss = connectionStrings(t)
	switch {
	case right && o.status:
		tw.guess = tw.status
	case right:
		tw.guess = tw.spec
	case o.status:
		tw.guess = statusMiss
	default:
		tw.guess = specMiss
	}
	obj := joinPeer(tw.name, tw.spec)
	ownersRest(t, tw, obj)
	s.do(t, harness.Admin, http.MethodPatch, tw.name+"?fieldManager=owner", encode(t, obj), as(applyPat), revealing()).want(t, http.StatusCreated)
	s.do(t, harness.Admin, http.MethodPatch, tw.name+"/status?fieldManager=owner", statusManifest(t, tw.name, tw.status), as(applyPat), revealing()).want(t, http.StatusOK)
	tw.before = s.settled(t, tw.name)
	if o.owned {
		guess := tw.guess
		tw.guess = map[bool]string{true: tw.status, false: tw.spec}[o.status]
		o.ask(t, s, tw, false).want(t, http.StatusOK)
		tw.guess, tw.before = guess, s.settled(t, tw.name)
	}
	for _, moment := range moments.FindAllString(encode(t, tw.before), -1) {
		tw.moments[moment] = true
	}
	return tw
}

// run asks, and looks at everything afterwards.
func (o oracle) run(t testing.TB, s *api, tw *twin) asked {
	t.Helper()
	view := func() parts {
		s.settled(t, tw.name)
		return tw.see(t, "object", s.do(t, harness.Operator, http.MethodGet, tw.name, "", revealing()).want(t, http.StatusOK))
	}
	out := asked{twin: tw}
	before := view()
	if !o.reads {
		out.dryAnswer = o.ask(t, s, tw, true)
		out.dry = tw.see(t, "answer", out.dryAnswer)
		out.untouched = differ(before, view())
	}
	out.realAnswer = o.ask(t, s, tw, false)
	out.real = tw.see(t, "answer", out.realAnswer)
	maps.Copy(out.real, view())
	out.spec, out.status = s.stored(t, tw.name)
	return out
}

// R10, R14, R15: what a caller without the right learns about a guess. Two objects
// that are the same get the same requests, one with the value that is stored in it and
// one with a value that differs in the last byte of its token: everything that the
// caller can see afterwards is the same, but for what the table of oracles says.
func TestR10WhatAGuessTells(t *testing.T) {
	s := startAlone(t)
	s.SetRules(t, harness.Operator, bindRule())
	s.AddUser(t, "patcher", append(operatorRules(), harness.Rule([]string{"patch", "update"}, []string{"clusterpeers/sensitive"}))...)
	oracles := allOracles()
	events := s.watch(t, harness.Operator, "?resourceVersion=0&allowWatchBookmarks=true", revealing())

	twins, results := make([][2]*twin, len(oracles)), make([][2]asked, len(oracles))
	each := func(phase string, do func(t *testing.T, i, j int)) {
		t.Run(phase, func(t *testing.T) {
			for i, o := range oracles {
				t.Run(o.what, func(t *testing.T) {
					t.Parallel()
					do(t, i, 0)
					do(t, i, 1)
				})
			}
		})
		require.False(t, t.Failed())
	}
	each("seed", func(t *testing.T, i, j int) {
		twins[i][j] = oracles[i].seedTwin(t, s, fmt.Sprintf("oracle-%03d-%s", i, [2]string{"right", "wrong"}[j]), j == 0)
	})
	// Times are served in seconds: a later one must be seen to be later.
	seeded := time.Now().Truncate(time.Second)
	harness.Eventually(t, "a new second begins", func(context.Context) bool { return time.Now().Truncate(time.Second).After(seeded) })
	each("ask", func(t *testing.T, i, j int) { results[i][j] = oracles[i].run(t, s, twins[i][j]) })

	// The events of each object after the requests with a guess.
	s.seed(t, "fence", "", "")
	seen := map[string][]string{}
	for _, e := range events.until(t, named("", "fence")) {
		seen[name(e.Object)] = append(seen[name(e.Object)], version(t, e.Object)+" "+e.Type)
	}
	for i, o := range oracles {
		t.Run(o.what, func(t *testing.T) {
			for j := range results[i] {
				r := &results[i][j]
				// Versions are longer than one digit in no order of text.
				since := number64(t, version(t, r.twin.before))
				var after []string
				for _, e := range seen[r.twin.name] {
					at, kind, _ := strings.Cut(e, " ")
					if number64(t, at) > since {
						after = append(after, kind)
					}
				}
				require.NotEmpty(t, seen[r.twin.name])
				r.real["events"] = strings.Join(after, " ")
			}
			right, wrong := results[i][0], results[i][1]
			assert.Equal(t, o.code, wrong.realAnswer.code, "%s: %s", wrong.realAnswer.request, wrong.realAnswer.body)
			check := func(what string, learns []string, a, b parts) {
				t.Helper()
				for _, key := range differ(a, b) {
					if !slices.Contains(learns, key) {
						t.Errorf("%s: the right guess differs from a wrong one in %s:\n%s\n-- and --\n%s", what, key, a[key], b[key])
					}
				}
				assert.Equal(t, append([]string{}, learns...), differ(a, b), "%s: the table of oracles", what)
			}
			if !o.reads {
				assert.Empty(t, append(right.untouched, wrong.untouched...), "a dry run changes nothing")
				check("dry run", o.learns.dryRun, right.dry, wrong.dry)
			}
			check("request", o.learns.request, right.real, wrong.real)

			// No answer holds a value that was not in the request.
			for _, text := range []string{wrong.dry["answer"], wrong.real["answer"], wrong.real["object"]} {
				assert.NotContains(t, text, wrong.twin.spec)
				assert.NotContains(t, text, wrong.twin.status)
			}
			// Whoever may write may replace: that is the price of a guess that is no dry run.
			wantSpec, wantStatus := wrong.twin.spec, wrong.twin.status
			switch {
			case o.stores && o.status:
				wantStatus = wrong.twin.guess
			case o.stores:
				wantSpec = wrong.twin.guess
			}
			assert.Equal(t, []string{wantSpec, wantStatus}, []string{wrong.spec, wrong.status}, "what is stored after a wrong guess")
			assert.Equal(t, []string{right.twin.spec, right.twin.status}, []string{right.spec, right.status}, "what is stored after the right guess")
		})
	}
}
