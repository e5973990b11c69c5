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

package leak_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"entente.dev/entente/test/leak/search"
)

// request is one request.
type request struct {
	caller              *caller
	method, path        string
	accept, contentType string
	body                string
	// verb and object are what the answer holds, in the words of R1; no verb means that
	// no answer may hold a value.
	verb, object string
	// what says more of it in findings.
	what string
}

func (r request) String() string {
	said := fmt.Sprintf("%s %s as %s (%s", r.method, r.path, r.caller.name, r.accept)
	if r.contentType != "" {
		said += "; " + r.contentType
	}
	if r.what != "" {
		said += "; " + r.what
	}
	return said + ")"
}

// answer is what came back.
type answer struct {
	code int
	body []byte
}

// requestTimeout is longer than any answer takes.
const requestTimeout = time.Minute

// send sends a request and records the head of the answer; the body is to come.
func (s *suite) send(ctx context.Context, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, s.Base+r.path, strings.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.caller.header)
	req.Header.Set("Accept", r.accept)
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	resp, err := r.caller.client.Do(req)
	if err != nil {
		return nil, err
	}
	var head bytes.Buffer
	fmt.Fprintln(&head, resp.Status)
	if err := resp.Header.Write(&head); err != nil {
		return nil, err
	}
	s.recorder.Add("header: "+r.String(), head.Bytes())
	return resp, nil
}

// allowed are the canaries that the body of an answer may hold. A failure may hold
// none, whoever gets it.
func (s *suite) allowed(r request, code int) []search.Canary {
	if r.verb == "" || code < 200 || code > 299 || !r.caller.sees(r.verb, r.object) {
		return nil
	}
	return s.canaries.seen()
}

// do sends a request, and records the answer.
func (s *suite) do(t testing.TB, r request) answer {
	ctx, cancel := context.WithTimeout(s.t.Context(), requestTimeout)
	defer cancel()
	resp, err := s.send(ctx, r)
	if err != nil {
		t.Errorf("%s: %v", r, err)
		return answer{}
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", r, err)
	}
	for key, values := range resp.Trailer {
		s.recorder.Add("header: "+r.String(), []byte(key+": "+strings.Join(values, ", ")))
	}
	s.recorder.Add("answer: "+r.String(), content, s.allowed(r, resp.StatusCode)...)
	return answer{code: resp.StatusCode, body: content}
}

// must is do for what prepares the ground.
func (s *suite) must(t testing.TB, r request) answer {
	a := s.do(t, r)
	if a.code < 200 || a.code > 299 {
		t.Errorf("%s: %d %s", r, a.code, a.body)
	}
	return a
}

// forms are the forms of an answer, as they are asked for.
func forms(o *operation) []string {
	var all []string
	metadata := "PartialObjectMetadata"
	if o.action == "list" || o.action == "deletecollection" {
		metadata += "List"
	}
	for _, mediaType := range []string{jsonType, yamlType, protobufType, cborType} {
		all = append(all, mediaType, mediaType+";as=Table;g=meta.k8s.io;v=v1", mediaType+";as="+metadata+";g=meta.k8s.io;v=v1")
	}
	return all
}

const (
	// label is that by which a task finds its objects.
	label = "leak-suite"
	// another is what is added to the name of an object for that of another one.
	another = "-new"
)

// objectOf is the name of the object on which a caller tries an operation.
func objectOf(caller string, operation int) string { return fmt.Sprintf("%s-%d", caller, operation) }

// seed stores an object with canaries in all sensitive fields, or puts them back.
func (s *suite) seed(t testing.TB, k *kind, object string) {
	obj := k.object("")
	paths := map[string]map[string]any{"": k.with(k.with(obj, []string{"metadata", "name"}, object), []string{"metadata", "labels"}, map[string]any{label: object})}
	for i, f := range k.fields {
		where := ""
		if f.path[0] == "status" {
			where = "/status"
			if paths[where] == nil {
				paths[where] = map[string]any{}
			}
		}
		k.with(paths[where], f.path, s.canaries.stored[i].Value())
	}
	r := request{caller: s.admin, accept: jsonType, verb: "get", object: object, what: "seed"}
	r.method, r.path, r.contentType, r.body = http.MethodPatch, k.collection+"/"+object+"?fieldManager=leak-suite&force=true", applyYAMLType, jsonOf(paths[""])
	s.must(t, r)
	for where, patch := range paths {
		if where != "" {
			r.path, r.contentType, r.body = k.collection+"/"+object+where, mergePatchType, jsonOf(patch)
			s.must(t, r)
		}
	}
}

// remove deletes an object for good.
func (s *suite) remove(t testing.TB, k *kind, object string) {
	s.must(t, request{caller: s.admin, method: http.MethodDelete, path: k.collection + "/" + object, accept: jsonType, verb: "get", object: object})
	s.release(t, k, object)
}

// release takes off an object that was deleted, if it is still there, what keeps it: the
// server has no controllers, which would.
func (s *suite) release(t testing.TB, k *kind, object string) {
	s.do(t, request{caller: s.admin, method: http.MethodPatch, path: k.collection + "/" + object, accept: jsonType, contentType: mergePatchType, body: `{"metadata":{"finalizers":null}}`, verb: "get", object: object, what: "release"})
}

// check requires that an object holds canaries, or else nothing could have been found.
func (s *suite) check(t testing.TB, k *kind, object, after string) {
	a := s.must(t, request{caller: s.admin, method: http.MethodGet, path: k.collection + "/" + object, accept: jsonType, verb: "get", object: object})
	var obj map[string]any
	if err := json.Unmarshal(a.body, &obj); err != nil {
		t.Errorf("%s: %v", object, err)
		return
	}
	for i, f := range k.fields {
		value, _, _ := unstructured.NestedString(obj, f.path...)
		if value != s.canaries.stored[i].Value() && value != s.canaries.written.Value() {
			s.complain("%s holds no canary at %s after %s", object, strings.Join(f.path, "."), after)
		}
	}
}

// workers is how many requests are under way at a time.
const workers = 6

// requests tries every operation in every form for every caller.
func (s *suite) requests(t *testing.T) {
	var tasks sync.WaitGroup
	slots := make(chan struct{}, workers)
	for n, c := range s.callers {
		for i, o := range s.table.operations {
			if s.plan.operations != nil && !s.plan.operations(o) {
				continue
			}
			tasks.Go(func() {
				if !c.slow {
					slots <- struct{}{}
					defer func() { <-slots }()
				}
				if o.kind == nil {
					s.harmless(t, c, o)
				} else {
					// Who comes later begins with another form.
					task := &task{suite: s, t: t, caller: c, operation: o, object: objectOf(c.name, i), turn: 5 * n}
					task.run()
				}
			})
		}
	}
	tasks.Wait()
}

// harmless tries an operation that has to do with no sensitive field.
func (s *suite) harmless(t *testing.T, c *caller, o *operation) {
	path := strings.NewReplacer("{namespace}", "default", "{name}", "harmless").Replace(o.path)
	if strings.Contains(path, "{") {
		s.complain("%s: the suite has to know what to put there", o)
		return
	}
	forms, contentTypes := forms(o), o.contentTypes
	if strings.HasPrefix(o.action, "watch") {
		path += "?timeoutSeconds=1"
		forms = forms[:1] // each takes a second
	}
	if len(contentTypes) == 0 {
		contentTypes = []string{jsonType}
	}
	for _, form := range forms {
		if o.method == http.MethodGet {
			s.do(t, request{caller: c, method: o.method, path: path, accept: form})
			continue
		}
		for _, contentType := range contentTypes {
			s.do(t, request{caller: c, method: o.method, path: path, accept: form, contentType: contentType, body: `{"spec":{}}`})
		}
	}
}

// task is an operation tried by a caller, on an object of its own.
type task struct {
	*suite
	t         *testing.T
	caller    *caller
	operation *operation
	object    string
	// turn makes what is not crossed go by turns.
	turn int
	// absent says that the object asked for is not there: an apply creates it.
	absent bool
}

func (x *task) run() {
	if strings.HasPrefix(x.operation.action, "watch") {
		return // below watches
	}
	x.seed(x.t, x.operation.kind, x.object)
	switch x.operation.action {
	case connect:
		x.connects()
	case "get":
		for _, form := range x.forms() {
			x.try(body{accepted: true}, "", form, "")
		}
	case "list":
		byLabel := "labelSelector=" + label + "%3D" + x.object
		for _, form := range x.forms() {
			for _, query := range []string{byLabel, byLabel + "&limit=1", byLabel + "&resourceVersion=0", "fieldSelector=metadata.name%3D" + x.object} {
				x.try(body{accepted: true}, "", form, query)
			}
		}
		x.try(body{accepted: true}, "", jsonType, "")
	default:
		for _, contentType := range x.operation.contentTypes {
			for _, b := range x.canaries.bodiesOf(x.operation, contentType) {
				x.write(contentType, b)
				if x.absent = x.operation.subresource == "" && contentType == applyYAMLType; x.absent {
					x.write(contentType, b)
					x.absent = false
				}
			}
		}
	}
	x.check(x.t, x.operation.kind, x.object, fmt.Sprintf("%s as %s", x.operation, x.caller.name))
	x.remove(x.t, x.operation.kind, x.object)
}

// forms are all forms of an answer, or for who is slow the usual one.
func (x *task) forms() []string {
	if x.caller.slow {
		return []string{jsonType}
	}
	return forms(x.operation)
}

// write tries a body: the plain one in all forms of the answer, dry and not. A failure
// is a Status, whatever form was asked for: the others take turns with the forms.
func (x *task) write(contentType string, b body) {
	queries := []string{""}
	if x.operation.action == "patch" && (contentType == applyYAMLType || contentType == applyCBORType) {
		queries = []string{"fieldManager=" + x.caller.name + "&force=true"}
		if !b.plain {
			x.turn++
			queries = []string{"fieldManager=" + x.caller.name, queries[0]}[x.turn%2 : x.turn%2+1]
		}
	}
	if b.strict {
		queries = []string{queries[0] + "&fieldValidation=Strict", queries[0] + "&fieldValidation=Warn", queries[0] + "&fieldValidation=Ignore"}
	}
	all := x.forms()
	for _, query := range queries {
		dry := query + "&dryRun=All"
		switch {
		case x.caller.slow && !b.plain:
		case x.caller.slow:
			x.try(b, contentType, jsonType, query)
		case b.plain:
			for _, form := range all {
				x.try(b, contentType, form, query)
				x.try(b, contentType, form, dry)
			}
		default:
			x.turn++
			x.try(b, contentType, all[x.turn%len(all)], []string{query, dry}[x.turn/len(all)%2])
		}
	}
}

// try sends one request, and mends what it did to the object.
func (x *task) try(b body, contentType, form, query string) {
	o := x.operation
	object, verb := x.object, "get"
	creates := o.action == "post" || x.absent
	if creates {
		object += another
	}
	switch o.action {
	case "list", "deletecollection":
		verb, object = "list", ""
		if o.action == "deletecollection" {
			query += "&labelSelector=" + label + "%3D" + x.object
			if x.turn%2 == 0 {
				query += "&fieldSelector=metadata.name%3D" + x.object
			}
		}
		if strings.Contains(query, "metadata.name") {
			object = x.object
		}
	}
	if strings.Contains(form, "as=Table") {
		query += "&includeObject=Object"
	}
	r := request{
		caller: x.caller, method: o.method, accept: form, contentType: contentType, verb: verb, object: object, what: b.what,
		path: strings.ReplaceAll(o.path, "{name}", url.PathEscape(object)) + "?" + strings.TrimPrefix(query, "&"),
		body: strings.ReplaceAll(b.text, name, object),
	}
	a := x.do(x.t, r)
	x.expect(b, r, a)
	dry := strings.Contains(query, "dryRun")
	// What an answer cannot be given of may have been done.
	done := a.code >= 200 && a.code < 300 || a.code == http.StatusNotAcceptable || a.code >= 500
	switch {
	case dry || !done:
	case creates:
		x.do(x.t, request{caller: x.admin, method: http.MethodDelete, path: o.kind.collection + "/" + object, accept: jsonType, verb: "get", object: object})
		x.release(x.t, o.kind, object)
	case o.method == http.MethodDelete:
		x.release(x.t, o.kind, x.object)
		x.seed(x.t, o.kind, x.object)
	case b.spends:
		x.seed(x.t, o.kind, x.object)
	}
}

// expect sees to it that the suite does what it thinks it does: what should be
// accepted is, and who may see a value is shown one.
func (x *task) expect(b body, r request, a answer) {
	o := x.operation
	switch {
	case a.code >= 500 && x.caller.name != erring && x.caller.name != hanging:
		x.complain("%s: %d %s", r, a.code, a.body)
	case !b.accepted || x.absent && !b.plain || r.accept != jsonType || r.contentType == protobufType || r.contentType == cborType:
	case o.method != http.MethodGet && !x.caller.writes, o.subresource == "sensitive" && x.caller.name != "admin":
	case x.caller.name == "anonymous":
		if a.code != http.StatusUnauthorized {
			x.complain("%s: %d %s", r, a.code, a.body)
		}
	case a.code < 200 || a.code > 299:
		x.complain("%s: %d %s", r, a.code, a.body)
	case b.spends || o.action == "delete" && strings.Contains(r.path, "dryRun"):
	default:
		x.shows(r, a)
	}
}

// shows requires of a full answer that it shows a value, or the placeholder.
func (s *suite) shows(r request, a answer) {
	value := false
	for _, canary := range s.canaries.seen() {
		value = value || bytes.Contains(a.body, []byte(jsonOf(canary.Value()))) || bytes.Contains(a.body, []byte(unescaped(canary.Value())))
	}
	omitted := bytes.Contains(a.body, []byte(placeholder)) || bytes.Contains(a.body, []byte(strings.Trim(jsonOf(placeholder), `"`)))
	if sees := r.caller.sees(r.verb, r.object); value != sees || !value && !omitted {
		s.complain("%s shows a value: %v, the placeholder: %v, and should show values: %v: %s", r, value, omitted, sees, a.body)
	}
}

// unescaped is a value in JSON by an encoder that does not think of HTML.
func unescaped(value string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}
