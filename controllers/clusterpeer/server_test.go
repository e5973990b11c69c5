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

package clusterpeer

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"entente.dev/entente/apis/generated/clientset/versioned"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
)

// canary is the token of the connection string in these tests; wherever it shows
// up outside the answers of the fake server, something leaked.
const canary = "canary-canary-canary-canary-1234"

// validString returns a connection string with the canary in it.
func validString(t testing.TB) string {
	t.Helper()
	token, err := connstring.NewToken(strings.NewReader(canary))
	require.NoError(t, err)
	text, err := connstring.ConnectionString{
		TokenID:     "0001020304050607",
		Token:       token,
		Endpoints:   []string{"https://peering.example.com"},
		Pins:        []connstring.Pin{{1}},
		ClusterUUID: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
		ExpiresAt:   noon.Add(time.Hour),
		Protocol:    connstring.ProtocolRange{Min: 1, Max: 1},
	}.Encode()
	require.NoError(t, err)
	return text
}

// joinPeer returns a ClusterPeer of type Join as the server holds it.
func joinPeer(name string, uid types.UID, generation int64, text string) *peeringv1alpha1.ClusterPeer {
	return &peeringv1alpha1.ClusterPeer{
		TypeMeta:   metav1.TypeMeta{APIVersion: peeringv1alpha1.SchemeGroupVersion.String(), Kind: "ClusterPeer"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, Generation: generation, Finalizers: []string{"example.com/first", peeringv1alpha1.FinalizerDisconnect}},
		Spec: peeringv1alpha1.ClusterPeerSpec{
			Type: peeringv1alpha1.ClusterPeerTypeJoin,
			Join: &peeringv1alpha1.JoinSpec{ConnectionString: text},
		},
	}
}

// invitePeer returns a ClusterPeer of type Invite.
func invitePeer(name string, uid types.UID) *peeringv1alpha1.ClusterPeer {
	peer := joinPeer(name, uid, 1, "")
	peer.Spec = peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite}
	return peer
}

// redacted is the object as the informer has it.
func redacted(peer *peeringv1alpha1.ClusterPeer) *peeringv1alpha1.ClusterPeer {
	out := peer.DeepCopy()
	if out.Spec.Join != nil && out.Spec.Join.ConnectionString != "" {
		out.Spec.Join.ConnectionString = peeringv1alpha1.Placeholder
	}
	if out.Status.Invite != nil && out.Status.Invite.ConnectionString != "" {
		out.Status.Invite.ConnectionString = peeringv1alpha1.Placeholder
	}
	return out
}

// fakeServer answers what the controller asks over real HTTP. It has no field
// management: all of a status but conditions is taken for the controller's.
type fakeServer struct {
	client versioned.Interface

	lock     sync.Mutex
	objects  map[string]*peeringv1alpha1.ClusterPeer
	version  int
	looks    int // at sensitive values
	patches  []sentPatch
	override func(w http.ResponseWriter, request *http.Request) (done bool)
}

type sentPatch struct{ path, query, contentType, body string }

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	s := &fakeServer{objects: map[string]*peeringv1alpha1.ClusterPeer{}, version: 100}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := versioned.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	s.client = client
	return s
}

func (s *fakeServer) sensitive() rest.Interface { return s.client.PeeringV1alpha1().RESTClient() }

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	path, _ := strings.CutPrefix(request.URL.Path, "/apis/peering.entente.dev/v1alpha1/clusterpeers/")
	name, subresource, _ := strings.Cut(path, "/")
	if subresource == "sensitive" {
		s.looks++
	}
	if s.override != nil && s.override(w, request) {
		return
	}
	peer := s.objects[name]
	if peer == nil {
		respond(w, http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound))
		return
	}
	switch request.Method + " " + subresource {
	case "GET ":
		respond(w, http.StatusOK, redacted(peer))
	case "GET sensitive":
		respond(w, http.StatusOK, peer)
	case "PATCH ", "PATCH status":
		body, _ := io.ReadAll(request.Body)
		sent := sentPatch{path, request.URL.RawQuery, request.Header.Get("Content-Type"), string(body)}
		s.patches = append(s.patches, sent)
		changed, problem := peer.DeepCopy(), 0
		if sent.contentType == string(types.JSONPatchType) {
			problem = applyJSONPatch(changed, body)
		} else {
			problem = applyStatus(changed, body)
		}
		if problem != 0 {
			respond(w, problem, failure(int32(problem), metav1.StatusReasonInvalid))
			return
		}
		respond(w, http.StatusOK, redacted(s.store(changed)))
	default:
		http.Error(w, "not the request that is expected", http.StatusTeapot)
	}
}

// store keeps an object, under a new version if it changed.
func (s *fakeServer) store(peer *peeringv1alpha1.ClusterPeer) *peeringv1alpha1.ClusterPeer {
	if last := s.objects[peer.Name]; last == nil || !equality.Semantic.DeepEqual(last, peer) {
		s.version++
		peer.ResourceVersion = strconv.Itoa(s.version)
	}
	s.objects[peer.Name] = peer
	if peer.DeletionTimestamp != nil && len(peer.Finalizers) == 0 {
		delete(s.objects, peer.Name)
	}
	return peer
}

// applyStatus does what server-side apply of a status does, as far as this controller
// makes use of it. It returns the status code of a problem.
func applyStatus(peer *peeringv1alpha1.ClusterPeer, body []byte) int {
	sent := &peeringv1alpha1.ClusterPeer{}
	if err := json.Unmarshal(body, sent); err != nil {
		return http.StatusBadRequest
	}
	if sent.UID != peer.UID {
		return http.StatusConflict
	}
	if sent.Status.Invite != nil && sent.Status.Invite.ConnectionString == peeringv1alpha1.Placeholder {
		if peer.Status.Invite == nil || peer.Status.Invite.ConnectionString == "" {
			return http.StatusUnprocessableEntity // R11
		}
		sent.Status.Invite.ConnectionString = peer.Status.Invite.ConnectionString
	}
	kept := slices.DeleteFunc(peer.Status.Conditions, func(c metav1.Condition) bool { return slices.Contains(ownConditions(), c.Type) })
	peer.Status = sent.Status
	peer.Status.Conditions = slices.Concat(kept, sent.Status.Conditions)
	return 0
}

// applyJSONPatch knows what this controller sends: tests of strings, and the removal of
// an item of a list of the metadata.
func applyJSONPatch(peer *peeringv1alpha1.ClusterPeer, body []byte) int {
	var patch []struct{ Op, Path, Value string }
	if err := json.Unmarshal(body, &patch); err != nil {
		return http.StatusBadRequest
	}
	for _, step := range patch {
		item, _ := strings.CutPrefix(step.Path, "/metadata/finalizers/")
		i, _ := strconv.Atoi(item)
		switch {
		case step.Path == "/metadata/uid" && step.Value == string(peer.UID):
		case i >= len(peer.Finalizers):
			return http.StatusUnprocessableEntity
		case step.Op == "test" && peer.Finalizers[i] == step.Value:
		case step.Op == "remove":
			peer.Finalizers = slices.Delete(peer.Finalizers, i, i+1)
		default:
			return http.StatusUnprocessableEntity
		}
	}
	return 0
}

func respond(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if text, isText := body.(string); isText {
		_, _ = w.Write([]byte(text))
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

// requests returns how often sensitive values were asked for.
func (s *fakeServer) requests() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.looks
}

// answers sets what the server answers to every request from now on.
func (s *fakeServer) answers(code int, body any) {
	s.instead(func(w http.ResponseWriter, _ *http.Request) bool {
		respond(w, code, body)
		return true
	})
}

// instead sets what is done in place of the usual; nil: nothing.
func (s *fakeServer) instead(override func(http.ResponseWriter, *http.Request) bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.override = override
}

// failure is the body of an error answer, with the canary in its text.
func failure(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "because of " + canary,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: canary}}},
	}
}
