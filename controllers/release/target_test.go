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

package release

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// canary is in every text of a target's own. It may come out nowhere.
const canary = "canary"

// kubeSystem is the UID of the namespace kube-system of a target, by which it is known.
const kubeSystem = "0f1c2d3e-4a5b-4c6d-8e7f-001122334455"

// kind is one that a target has.
type kind struct {
	group    string
	versions []string
	kind     string
	resource string
	cluster  bool // of the whole cluster
	// broken says that nothing is known of its group for now, as when an aggregated server
	// is down.
	broken bool
}

// id names an object in a target; its version is none of it.
type id struct{ group, resource, namespace, name string }

// call is a request to a target.
type call struct {
	verb, path  string
	id          id
	query       url.Values
	body        map[string]any
	user, agent string // as whom, if impersonated
	token       string
}

func (c call) String() string { return c.verb + " " + c.path }

// far is a target cluster: a real TLS server, which does what an API server does for what is
// asked of it here.
type far struct {
	*httptest.Server
	t *testing.T

	lock sync.Mutex
	// uid is that of kube-system, empty: it may not be read. token is whom it lets in.
	uid, token string
	kinds      []kind
	objects    map[id]*unstructured.Unstructured
	version    int
	calls      []call
	// differs answers instead; nil: properly.
	differs func(call) http.HandlerFunc
	// running is how many calls are being answered, most how many ever were at once.
	running, most int
}

func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{
		t: t, uid: kubeSystem, token: "canary-token", objects: map[id]*unstructured.Unstructured{},
		kinds: []kind{
			{"", []string{"v1"}, "ConfigMap", "configmaps", false, false},
			{"", []string{"v1"}, "Namespace", "namespaces", true, false},
			{"apps", []string{"v1", "v1beta1"}, "Deployment", "deployments", false, false},
		},
	}
	f.Server = httptest.NewUnstartedServer(f)
	f.EnableHTTP2 = true
	f.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	f.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

// ca is the authority of the server, in PEM.
func (f *far) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

// answers has calls answered differently, as far as it says; nil: no more.
func (f *far) answers(differs func(call) http.HandlerFunc) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.differs = differs
}

// on answers calls of a verb for the object of a name.
func on(verb, name string, handler http.HandlerFunc) func(call) http.HandlerFunc {
	return func(c call) http.HandlerFunc {
		if c.verb == verb && c.id.name == name {
			return handler
		}
		return nil
	}
}

// ServeHTTP implements http.Handler.
func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := call{
		verb: r.Method, path: r.URL.Path, query: r.URL.Query(), user: r.Header.Get("Impersonate-User"), agent: r.UserAgent(),
		token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
	}
	if data, err := io.ReadAll(r.Body); err == nil && len(data) > 0 {
		assert.NoError(f.t, json.Unmarshal(data, &c.body), "a body is JSON")
	}
	version, known := f.parse(&c)
	f.lock.Lock()
	f.calls = append(f.calls, c)
	f.running++
	f.most = max(f.most, f.running)
	differs, token := f.differs, f.token
	f.lock.Unlock()
	defer func() {
		f.lock.Lock()
		defer f.lock.Unlock()
		f.running--
	}()
	var handler http.HandlerFunc
	if differs != nil {
		handler = differs(c)
	}
	switch {
	case handler != nil:
		handler(w, r)
	case c.token != token:
		fail(http.StatusUnauthorized)(w, r)
	case c.verb == http.MethodGet && f.discover(w, c.path):
	case known == nil:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case known.broken:
		http.Error(w, canary+": service unavailable", http.StatusServiceUnavailable)
	default:
		object, err := f.do(c, *known, version)
		f.say(w, object, err)
	}
}

func (f *far) say(w http.ResponseWriter, object any, err error) {
	w.Header().Set("Content-Type", "application/json")
	var status apierrors.APIStatus
	if err != nil {
		assert.ErrorAs(f.t, err, &status, "it is made here")
		said := status.Status()
		said.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		said.Message = canary + ": " + said.Message
		w.WriteHeader(int(said.Code))
		object = said
	}
	assert.NoError(f.t, json.NewEncoder(w).Encode(object))
}

// parse reads which object a call is for, and returns its version and kind, nil if there is
// no such kind.
func (f *far) parse(c *call) (version string, known *kind) {
	parts := strings.Split(strings.Trim(c.path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		c.id.group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return "", nil
	}
	if len(parts) == 4 && parts[0] == "namespaces" {
		c.id.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) != 2 {
		return "", nil
	}
	c.id.resource, c.id.name = parts[0], parts[1]
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, k := range f.kinds {
		if k.group == c.id.group && k.resource == c.id.resource && k.cluster == (c.id.namespace == "") && slices.Contains(k.versions, version) {
			return version, &k
		}
	}
	return "", nil
}

// discover answers what a cluster is asked for of itself.
func (f *far) discover(w http.ResponseWriter, path string) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	var answer any
	groups, lists := map[string][]string{}, map[string][]map[string]any{}
	down := map[string]bool{}
	for _, k := range f.kinds {
		for _, version := range k.versions {
			if !slices.Contains(groups[k.group], version) {
				groups[k.group] = append(groups[k.group], version)
			}
			at := strings.TrimPrefix(k.group+"/"+version, "/")
			lists[at] = append(lists[at], map[string]any{"name": k.resource, "namespaced": !k.cluster, "kind": k.kind, "verbs": []string{"get", "patch", "delete"}})
			down[at] = down[at] || k.broken
		}
	}
	list := func(at string) {
		switch {
		case down[at]:
			http.Error(w, canary, http.StatusServiceUnavailable)
		case lists[at] == nil:
			http.Error(w, "404 page not found", http.StatusNotFound)
		default:
			answer = map[string]any{"kind": "APIResourceList", "groupVersion": at, "resources": lists[at]}
		}
	}
	switch {
	case path == "/version":
		answer = map[string]string{"gitVersion": "v1.37.2"}
	case path == "/api":
		answer = map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
	case path == "/apis":
		all := []any{}
		for name, versions := range groups {
			if name == "" {
				continue
			}
			var each []any
			for _, version := range versions {
				each = append(each, map[string]string{"groupVersion": name + "/" + version, "version": version})
			}
			all = append(all, map[string]any{"name": name, "versions": each, "preferredVersion": each[0]})
		}
		answer = map[string]any{"kind": "APIGroupList", "groups": all}
	case path == "/api/v1/namespaces/kube-system":
		if f.uid == "" {
			fail(http.StatusForbidden)(w, nil)
			return true
		}
		answer = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]string{"name": "kube-system", "uid": f.uid}}
	case path == "/api/v1":
		list("v1")
	case strings.HasPrefix(path, "/apis/") && strings.Count(path, "/") == 3:
		list(strings.TrimPrefix(path, "/apis/"))
	default:
		return false
	}
	if answer != nil {
		w.Header().Set("Content-Type", "application/json")
		assert.NoError(f.t, json.NewEncoder(w).Encode(answer))
	}
	return true
}

// do does what is asked for with an object.
func (f *far) do(c call, k kind, version string) (any, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	resource := schema.GroupResource{Group: k.group, Resource: k.resource}
	live := f.objects[c.id]
	switch c.verb {
	case http.MethodGet:
		if live == nil {
			return nil, apierrors.NewNotFound(resource, c.id.name)
		}
		return live, nil
	case http.MethodPatch:
		return f.apply(c, schema.GroupVersionKind{Group: k.group, Version: version, Kind: k.kind}, live)
	case http.MethodDelete:
		if live == nil {
			return nil, apierrors.NewNotFound(resource, c.id.name)
		}
		only, _, _ := unstructured.NestedStringMap(c.body, "preconditions")
		if uid, there := only["uid"]; there && uid != string(live.GetUID()) {
			return nil, apierrors.NewConflict(resource, c.id.name, fmt.Errorf("the UID is another one"))
		}
		if version, there := only["resourceVersion"]; there && version != live.GetResourceVersion() {
			return nil, apierrors.NewConflict(resource, c.id.name, fmt.Errorf("the version is another one"))
		}
		if len(live.GetFinalizers()) > 0 {
			now := metav1.Now()
			live.SetDeletionTimestamp(&now)
			f.version++
			live.SetResourceVersion(strconv.Itoa(f.version))
			return live, nil
		}
		delete(f.objects, c.id)
		return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}, nil
	}
	return nil, apierrors.NewMethodNotSupported(resource, c.verb)
}

// apply is server-side apply, with what keeps track of fields in an API server. It knows no
// schemas: a list is one field.
func (f *far) apply(c call, gvk schema.GroupVersionKind, live *unstructured.Unstructured) (any, error) {
	resource := schema.GroupResource{Group: gvk.Group, Resource: c.id.resource}
	asked := &unstructured.Unstructured{Object: c.body}
	if uid := asked.GetUID(); uid != "" && (live == nil || live.GetUID() != uid) {
		return nil, apierrors.NewConflict(resource, c.id.name, fmt.Errorf("the UID is another one"))
	}
	made := live == nil
	if made {
		live = &unstructured.Unstructured{}
		live.SetGroupVersionKind(gvk)
	}
	fields := managedfieldstest.NewFakeFieldManager(managedfields.NewDeducedTypeConverter(), gvk)
	applied, err := fields.Apply(live.DeepCopy(), asked, c.query.Get("fieldManager"), c.query.Get("force") == "true")
	if err != nil {
		return nil, err
	}
	after := applied.(*unstructured.Unstructured)
	if made {
		after.SetUID(types.UID(fmt.Sprintf("uid-%d", f.version+1)))
		after.SetNamespace(c.id.namespace)
		after.SetName(c.id.name)
	}
	f.puts(c.id, after)
	return after, nil
}

// puts keeps an object, as another version.
func (f *far) puts(at id, object *unstructured.Unstructured) {
	f.version++
	object.SetResourceVersion(strconv.Itoa(f.version))
	f.objects[at] = object
}

// changes does something to the cluster, as those do who are in it.
func (f *far) changes(change func(*far)) {
	f.lock.Lock()
	defer f.lock.Unlock()
	change(f)
}

// changed changes an object as somebody else does, under that one's name.
func (f *far) changed(at id, change func(*unstructured.Unstructured)) {
	f.t.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	live := f.objects[at]
	require.NotNil(f.t, live)
	after := live.DeepCopy()
	change(after)
	fields := managedfieldstest.NewFakeFieldManager(managedfields.NewDeducedTypeConverter(), live.GroupVersionKind())
	kept, err := fields.Update(live, after, "somebody")
	require.NoError(f.t, err)
	f.puts(at, kept.(*unstructured.Unstructured))
}

// has has an object there that others have made.
func (f *far) has(at id, apiVersion, kind string, labels map[string]string) {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "data": map[string]any{"whose": "theirs"}}}
	object.SetName(at.name)
	object.SetNamespace(at.namespace)
	object.SetLabels(labels)
	object.SetUID(types.UID("theirs-" + at.name))
	f.lock.Lock()
	defer f.lock.Unlock()
	f.puts(at, object)
}

// object returns an object, nil if there is none.
func (f *far) object(at id) *unstructured.Unstructured {
	f.lock.Lock()
	defer f.lock.Unlock()
	if live := f.objects[at]; live != nil {
		return live.DeepCopy()
	}
	return nil
}

// names returns the names of the objects that are there, sorted.
func (f *far) names() []string {
	f.lock.Lock()
	defer f.lock.Unlock()
	all := []string{}
	for at := range f.objects {
		all = append(all, at.name)
	}
	slices.Sort(all)
	return all
}

// asked returns the calls for objects since it was asked last, of some verbs, or all.
func (f *far) asked(verbs ...string) (all []call) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, c := range f.calls {
		if c.id.name != "" && c.id.name != "kube-system" && (len(verbs) == 0 || slices.Contains(verbs, c.verb)) {
			all = append(all, c)
		}
	}
	f.calls = nil
	return all
}

// writes returns what was written, as "PATCH a".
func (f *far) writes() []string {
	all := []string{}
	for _, c := range f.asked(http.MethodPatch, http.MethodDelete, http.MethodPost, http.MethodPut) {
		all = append(all, c.verb+" "+c.id.name)
	}
	return all
}

// fail answers with a code, and a text of the cluster's own wherever there can be one.
func fail(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Canary", canary)
		w.Header().Set("Warning", `299 - "canary"`)
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: canary, Code: int32(code), Reason: reasons[code],
			Details: &metav1.StatusDetails{Name: canary, Kind: canary, Group: canary, Causes: []metav1.StatusCause{{Type: canary, Message: canary, Field: canary}}},
		})
	}
}

var reasons = map[int]metav1.StatusReason{
	400: metav1.StatusReasonBadRequest, 401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
	405: metav1.StatusReasonMethodNotAllowed, 409: metav1.StatusReasonConflict, 413: metav1.StatusReasonRequestEntityTooLarge,
	415: metav1.StatusReasonUnsupportedMediaType, 422: metav1.StatusReasonInvalid, 429: metav1.StatusReasonTooManyRequests,
	500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable, 504: metav1.StatusReasonTimeout,
}

// hang never answers.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// endless answers without an end.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind":"`)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat(canary, 10<<10)); err != nil {
			return
		}
	}
}

// broken answers with what is no answer.
func broken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, canary)
}

// configMapAt names a ConfigMap of the namespace of the Releases.
func configMapAt(name string) id { return id{"", "configmaps", namespace, name} }

// mine are the labels of what a Release has applied.
func mine(release string) map[string]string {
	return map[string]string{corev1alpha1.LabelRelease: "uid-" + release}
}
