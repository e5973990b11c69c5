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
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
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
		ExpiresAt:   noon,
		Protocol:    connstring.ProtocolRange{Min: 1, Max: 1},
	}.Encode()
	require.NoError(t, err)
	return text
}

// joining returns a ClusterPeer as the server holds it; redacted as the informer does.
func joining(name string, uid types.UID, generation int64, text string) *peeringv1alpha1.ClusterPeer {
	return &peeringv1alpha1.ClusterPeer{
		TypeMeta:   metav1.TypeMeta{APIVersion: peeringv1alpha1.SchemeGroupVersion.String(), Kind: "ClusterPeer"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, Generation: generation},
		Spec: peeringv1alpha1.ClusterPeerSpec{
			Type: peeringv1alpha1.ClusterPeerTypeJoin,
			Join: &peeringv1alpha1.JoinSpec{ConnectionString: text},
		},
	}
}

func redacted(peer *peeringv1alpha1.ClusterPeer) *peeringv1alpha1.ClusterPeer {
	out := peer.DeepCopy()
	if out.Spec.Join != nil && out.Spec.Join.ConnectionString != "" {
		out.Spec.Join.ConnectionString = peeringv1alpha1.Placeholder
	}
	return out
}

// sensitiveServer answers GET …/clusterpeers/NAME/sensitive over real HTTP and
// counts the requests.
type sensitiveServer struct {
	client rest.Interface

	lock   sync.Mutex
	count  int
	answer func(w http.ResponseWriter, name string)
}

func newSensitiveServer(t *testing.T) *sensitiveServer {
	t.Helper()
	s := &sensitiveServer{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.count++
		name, isName := strings.CutPrefix(request.URL.Path, "/apis/peering.entente.dev/v1alpha1/clusterpeers/")
		name, isSensitive := strings.CutSuffix(name, "/sensitive")
		if request.Method != http.MethodGet || !isName || !isSensitive {
			http.Error(w, "not the request that is expected", http.StatusTeapot)
			return
		}
		s.answer(w, name)
	}))
	t.Cleanup(server.Close)
	client, err := versioned.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	s.client = client.PeeringV1alpha1().RESTClient()
	return s
}

func (s *sensitiveServer) requests() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.count
}

// answers sets what the server answers from now on.
func (s *sensitiveServer) answers(code int, body any) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.answer = func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if text, isText := body.(string); isText {
			_, _ = w.Write([]byte(text))
			return
		}
		_ = json.NewEncoder(w).Encode(body)
	}
}

// failure is the body of an error answer, with the canary in its text.
func failure(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "because of " + canary,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: canary}}},
	}
}
