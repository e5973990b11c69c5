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
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/test/harness"
)

const (
	placeholder    = "<omitted>"
	groupVersion   = "/apis/peering.entente.dev/v1alpha1"
	collection     = groupVersion + "/clusterpeers"
	lastApplied    = "kubectl.kubernetes.io/last-applied-configuration"
	loopbackClient = "(loopback)"

	jsonType  = "application/json"
	yamlType  = "application/yaml"
	jsonPatch = "application/json-patch+json"
	mergePat  = "application/merge-patch+json"
	smPatch   = "application/strategic-merge-patch+json"
	applyPat  = "application/apply-patch+yaml"

	tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"
	metaType  = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	metasType = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

	// piece is how much of a secret may not be seen anywhere.
	piece = 12
)

// The two sensitive fields.
var (
	specField   = []string{"spec", "join", "connectionString"}
	statusField = []string{"status", "invite", "connectionString"}
)

// api is a server to which tests speak HTTP. Unless a request says otherwise, no
// byte of its answer may hold a piece of any value that secret returned.
type api struct {
	*harness.Server
	// alone says that no controller runs.
	alone bool

	mu      sync.Mutex
	clients map[string]*http.Client
	pieces  map[string]fragment
}

// fragment is where a piece of text comes from: from which secret, spelt how.
type fragment struct{ how, secret string }

func startAPI(t *testing.T, opts ...harness.Option) *api {
	t.Helper()
	return &api{Server: harness.Start(t, opts...), clients: map[string]*http.Client{}, pieces: map[string]fragment{}}
}

// startAlone starts a server without controllers, for tests of what the API does by
// itself. With them, what a test writes into a status would not stay there (S1).
func startAlone(t *testing.T, opts ...harness.Option) *api {
	t.Helper()
	s := startAPI(t, append(opts, harness.WithoutControllers())...)
	s.alone = true
	client, err := versioned.NewForConfig(s.Server.Server.LoopbackConfig())
	require.NoError(t, err)
	harness.FinishDeletions(t, client)
	return s
}

func (s *api) client(t testing.TB, user string) *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if client, ok := s.clients[user]; ok {
		return client
	}
	var client *http.Client
	if user == loopbackClient {
		var err error
		client, err = rest.HTTPClientFor(s.Server.Server.LoopbackConfig())
		require.NoError(t, err)
	} else {
		client = s.HTTP(t, user)
	}
	s.clients[user] = client
	return client
}

// users makes users with every verb on the main resource and status, and on clusterpeers/sensitive what
// the map says for it.
func (s *api) users(t *testing.T, sensitive map[string][]string) {
	t.Helper()
	for name, verbs := range sensitive {
		rules := operatorRules()
		if len(verbs) > 0 {
			rules = append(rules, harness.Rule(verbs, []string{"clusterpeers/sensitive"}))
		}
		s.AddUser(t, name, rules...)
	}
}

// secret returns a new value for a sensitive field.
func (s *api) secret() string { return s.keep(rand.Text() + rand.Text()) }

// keep makes a value one that answers may not hold.
func (s *api) keep(value string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(how, text string) {
		for i := 0; i+piece <= len(text); i++ {
			s.pieces[text[i:i+piece]] = fragment{how: how, secret: value}
		}
	}
	escaped, _ := json.Marshal(value)
	add("JSON", string(escaped))
	add("Go", fmt.Sprintf("%q", value))
	add("URL", url.QueryEscape(value))
	add("hex", hex.EncodeToString([]byte(value)))
	for offset := range 3 {
		for how, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			text := encoding.EncodeToString([]byte(value[offset:]))
			add(how, text[:len(text)-4])
		}
	}
	add("verbatim", value)
	return value
}

// leaks says which pieces of secrets but the allowed ones a text holds.
func (s *api) leaks(text []byte, allowed map[string]bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for i := 0; i+piece <= len(text); i++ {
		if f, ok := s.pieces[string(text[i:i+piece])]; ok && !allowed[f.secret] {
			found = append(found, fmt.Sprintf("%s at %d: …%s…", f.how, i, text[max(0, i-80):min(len(text), i+40)]))
			i += 80
		}
	}
	return found
}

// call is a request and what its answer may hold.
type call struct {
	contentType, accept string
	header              http.Header
	// reveals is whether any secret may be in the answer; allowed names single ones.
	reveals bool
	allowed map[string]bool
}

type with func(*call)

func as(contentType string) with { return func(c *call) { c.contentType = contentType } }
func accept(mediaType string) with {
	return func(c *call) { c.accept = mediaType }
}

func revealing(secrets ...string) with {
	return func(c *call) {
		c.reveals = len(secrets) == 0
		for _, secret := range secrets {
			c.allowed[secret] = true
		}
	}
}

func header(key, value string) with {
	return func(c *call) { c.header.Set(key, value) }
}

// answer is what the server said.
type answer struct {
	request string
	code    int
	header  http.Header
	body    []byte
	took    time.Duration
}

func (s *api) url(path string) string {
	switch {
	case strings.HasPrefix(path, "/"):
		return s.Base + path
	case path == "" || strings.HasPrefix(path, "?"):
		return s.Base + collection + path
	}
	return s.Base + collection + "/" + path
}

func (s *api) send(ctx context.Context, t testing.TB, user, method, path, body string, opts []with) (*http.Response, call) {
	t.Helper()
	c := call{header: http.Header{}, allowed: map[string]bool{}, contentType: jsonType, accept: jsonType}
	for _, opt := range opts {
		opt(&c)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url(path), strings.NewReader(body))
	require.NoError(t, err)
	maps.Copy(req.Header, c.header)
	req.Header.Set("Accept", c.accept)
	if body != "" {
		req.Header.Set("Content-Type", c.contentType)
	}
	resp, err := s.client(t, user).Do(req)
	require.NoErrorf(t, err, "%s %s as %s", method, path, user)
	return resp, c
}

// do sends a request and searches the whole answer. Path is relative to the
// collection unless it starts with a slash.
func (s *api) do(t testing.TB, user, method, path, body string, opts ...with) answer {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, c := s.send(ctx, t, user, method, path, body, opts)
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := answer{request: method + " " + path + " as " + user, code: resp.StatusCode, header: resp.Header, body: content, took: time.Since(start)}
	s.search(t, a.request, a.header, a.body, c)
	return a
}

func (s *api) search(t testing.TB, request string, header http.Header, body []byte, c call) {
	t.Helper()
	if c.reveals {
		return
	}
	var headers bytes.Buffer
	_ = header.Write(&headers)
	for _, leak := range append(s.leaks(headers.Bytes(), c.allowed), s.leaks(body, c.allowed)...) {
		t.Errorf("%s (Accept %s) leaks: %s", request, c.accept, leak)
	}
}

// want requires a status code.
func (a answer) want(t testing.TB, code int) answer {
	t.Helper()
	require.Equalf(t, code, a.code, "%s: %s", a.request, a.body)
	return a
}

// object is the answer's body, which may be JSON or YAML.
func (a answer) object(t testing.TB) map[string]any {
	t.Helper()
	var obj map[string]any
	require.NoErrorf(t, yaml.Unmarshal(a.body, &obj), "%s: %s", a.request, a.body)
	return obj
}

// status is the answer's body as a Status, which every error must be.
func (a answer) status(t testing.TB) metav1.Status {
	t.Helper()
	var status metav1.Status
	require.NoErrorf(t, json.Unmarshal(a.body, &status), "%s: %s", a.request, a.body)
	assert.Equalf(t, "Status", status.Kind, "%s: %s", a.request, a.body)
	return status
}

// causes are the paths that an error names.
func (a answer) causes(t testing.TB) []string {
	t.Helper()
	status := a.status(t)
	var paths []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			paths = append(paths, cause.Field)
		}
	}
	return paths
}

func (a answer) warnings() string { return strings.Join(a.header.Values("Warning"), "\n") }

// items are the objects of a list, or the object.
func (a answer) items(t testing.TB) []map[string]any {
	t.Helper()
	obj := a.object(t)
	list, ok := obj["items"].([]any)
	if !ok {
		return []map[string]any{obj}
	}
	var items []map[string]any
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// text is a string field, or "" if it is not there; an empty string fails.
func text(t testing.TB, obj map[string]any, path ...string) string {
	t.Helper()
	value, found, err := unstructured.NestedString(obj, path...)
	require.NoError(t, err)
	if found && value == "" {
		t.Errorf("%v is there but empty", path)
	}
	return value
}

func name(obj map[string]any) string {
	name, _, _ := unstructured.NestedString(obj, "metadata", "name")
	return name
}

func generation(t testing.TB, obj map[string]any) int64 {
	t.Helper()
	var typed struct{ Metadata metav1.ObjectMeta }
	content, err := json.Marshal(obj)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &typed))
	return typed.Metadata.Generation
}

func version(t testing.TB, obj map[string]any) string {
	t.Helper()
	return text(t, obj, "metadata", "resourceVersion")
}

// set returns the object with a field set, or removed if value is nil.
func set(t testing.TB, obj map[string]any, value any, path ...string) map[string]any {
	t.Helper()
	if value == nil {
		unstructured.RemoveNestedField(obj, path...)
		return obj
	}
	require.NoError(t, unstructured.SetNestedField(obj, value, path...))
	return obj
}

func encode(t testing.TB, obj any) string {
	t.Helper()
	content, err := json.Marshal(obj)
	require.NoError(t, err)
	return string(content)
}

// quote is a text as a JSON string.
func quote(text string) string {
	content, _ := json.Marshal(text)
	return string(content)
}

// joinPeer is a ClusterPeer of type Join as a tree; value may be empty.
func joinPeer(name, value string) map[string]any {
	join := map[string]any{}
	if value != "" {
		join["connectionString"] = value
	}
	return map[string]any{
		"apiVersion": "peering.entente.dev/v1alpha1",
		"kind":       "ClusterPeer",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"type": "Join", "join": join},
	}
}

func invitePeer(name string) map[string]any {
	return map[string]any{
		"apiVersion": "peering.entente.dev/v1alpha1",
		"kind":       "ClusterPeer",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"type": "Invite", "invite": map[string]any{}},
	}
}

// seed stores a ClusterPeer with values in the sensitive fields, each unless it
// is empty, and waits until the controllers are done with it.
func (s *api) seed(t testing.TB, name, spec, status string) {
	t.Helper()
	s.seedObject(t, joinPeer(name, spec), status)
	s.settled(t, name)
}

// seedObject stores an object and a value in its status, unless that is empty.
func (s *api) seedObject(t testing.TB, obj map[string]any, status string) {
	t.Helper()
	s.do(t, harness.Admin, http.MethodPost, "", encode(t, obj), revealing()).want(t, http.StatusCreated)
	if s.alone {
		s.do(t, harness.Admin, http.MethodPatch, name(obj)+"/status?fieldManager=entente-clusterpeer-controller", judged, as(mergePat), revealing()).want(t, http.StatusOK)
	}
	if status != "" {
		s.do(t, harness.Admin, http.MethodPatch, name(obj)+"/status", `{"status":{"invite":{"connectionString":`+quote(status)+`}}}`, as(mergePat), revealing()).want(t, http.StatusOK)
	}
}

// judged is what a controller would write into a status.
const judged = `{"status":{"phase":"Error","observedGeneration":1,"conditions":[{"type":"Ready","status":"False","reason":"InvalidConnectionString",` +
	`"message":"of a test","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// settled waits until the embedded controllers, if they run, have said all they have to
// say about an object, and returns it as a viewer sees it.
func (s *api) settled(t testing.TB, name string) map[string]any {
	t.Helper()
	var obj map[string]any
	harness.Eventually(t, "the status of "+name+" is up to date", func(context.Context) bool {
		obj = s.do(t, harness.Viewer, http.MethodGet, name, "").want(t, http.StatusOK).object(t)
		if s.alone {
			return true
		}
		observed, _, _ := unstructured.NestedFieldNoCopy(obj, "status", "observedGeneration")
		wanted, _, _ := unstructured.NestedFieldNoCopy(obj, "metadata", "generation")
		return observed != nil && observed == wanted
	})
	return obj
}

// gone waits until there is no object of a name: deletion is two steps, the second of
// which is that the finalizer is taken off.
func (s *api) gone(t testing.TB, name string) {
	t.Helper()
	harness.Eventually(t, name+" is gone", func(context.Context) bool {
		return s.do(t, harness.Viewer, http.MethodGet, name, "").code == http.StatusNotFound
	})
}

// stored are the values that are stored in the sensitive fields.
func (s *api) stored(t testing.TB, name string) (spec, status string) {
	t.Helper()
	obj := s.do(t, harness.Admin, http.MethodGet, name+"/sensitive", "", revealing()).want(t, http.StatusOK).object(t)
	return text(t, obj, specField...), text(t, obj, statusField...)
}

// owners are the managers of spec.join.connectionString.
func owners(t testing.TB, obj map[string]any) []string {
	t.Helper()
	list, _, err := unstructured.NestedSlice(obj, "metadata", "managedFields")
	require.NoError(t, err)
	owners := []string{}
	for _, entry := range list {
		entry := entry.(map[string]any)
		if _, found, _ := unstructured.NestedFieldNoCopy(entry, "fieldsV1", "f:spec", "f:join", "f:connectionString"); found {
			owners = append(owners, fmt.Sprint(entry["manager"], "/", entry["operation"]))
		}
	}
	return owners
}

// stream is an open watch.
type stream struct {
	s      *api
	what   string
	call   call
	header http.Header
	code   int
	lines  chan []byte
	cancel context.CancelFunc
}

type event struct {
	Type   string
	Object map[string]any
}

// watch opens a watch; query starts with a question mark and need not say watch=1.
func (s *api) watch(t testing.TB, user, query string, opts ...with) *stream {
	t.Helper()
	path := query
	if !strings.HasPrefix(query, "/") {
		path = strings.TrimSuffix("?watch=1&"+strings.TrimPrefix(query, "?"), "&")
	}
	ctx, cancel := context.WithCancel(t.Context())
	resp, c := s.send(ctx, t, user, http.MethodGet, path, "", opts)
	w := &stream{s: s, what: "watch " + path + " as " + user, call: c, header: resp.Header, code: resp.StatusCode, lines: make(chan []byte, 4096), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.lines)
		reader := bufio.NewReader(resp.Body)
		for {
			line, err := reader.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				w.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
		<-done
		for line := range w.lines {
			s.search(t, w.what, nil, line, c)
		}
	})
	s.search(t, w.what, resp.Header, nil, c)
	return w
}

// next is the next event, searched; ok is false when the watch has ended.
func (w *stream) next(t testing.TB) (e event, ok bool) {
	t.Helper()
	select {
	case line, open := <-w.lines:
		if !open {
			return event{}, false
		}
		w.s.search(t, w.what, nil, line, w.call)
		require.NoErrorf(t, json.Unmarshal(line, &e), "%s: %s", w.what, line)
		return e, true
	case <-time.After(20 * time.Second):
		require.FailNow(t, "no event came", w.what)
		return event{}, false
	}
}

// until reads events up to the first one that fits, and returns all of them.
func (w *stream) until(t testing.TB, fits func(event) bool) []event {
	t.Helper()
	var seen []event
	for {
		e, ok := w.next(t)
		require.Truef(t, ok, "%s ended after %d events", w.what, len(seen))
		seen = append(seen, e)
		if fits(e) {
			return seen
		}
	}
}

// named fits events of one object; kind may be "" for any.
func named(kind, object string) func(event) bool {
	return func(e event) bool { return (kind == "" || e.Type == kind) && name(e.Object) == object }
}

// operatorRules are every ordinary verb on the main resource and status, and what it takes to
// name capabilities.
func operatorRules() []rbacv1.PolicyRule {
	verbs := []string{"create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"}
	return []rbacv1.PolicyRule{harness.Rule(verbs, []string{"clusterpeers", "clusterpeers/status"}), bindRule()}
}

// bindRule lets who has it name every capability, for tests of other things than that (G2).
func bindRule() rbacv1.PolicyRule {
	return harness.Rule([]string{"bind"}, []string{"peeringcapabilities"})
}
