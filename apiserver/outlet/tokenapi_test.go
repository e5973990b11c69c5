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

package outlet

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

// tokenAPI is the API of cluster west that makes tokens, with a real client.
type tokenAPI struct {
	client corev1client.ServiceAccountsGetter
	signer jose.Signer
	clock  *testingclock.FakeClock

	lock   sync.Mutex
	asked  []asked
	issued []string
	// uid is that of the ServiceAccount, refuse a status to answer instead of a token.
	uid    string
	refuse *metav1.Status
	// life, unless zero, is how long a token is valid.
	life time.Duration
	// hold has requests wait until it is closed.
	hold chan struct{}
}

// asked is one request for a token.
type asked struct {
	Path string
	Spec authenticationv1.TokenRequestSpec
}

func newTokenAPI(t *testing.T, clock *testingclock.FakeClock) *tokenAPI {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := &tokenAPI{clock: clock, uid: saUID}
	a.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	a.client, err = corev1client.NewForConfigAndClient(
		&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, &http.Client{Transport: transport})
	require.NoError(t, err)
	return a
}

func (a *tokenAPI) serve(w http.ResponseWriter, r *http.Request) {
	var request authenticationv1.TokenRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.lock.Lock()
	a.asked = append(a.asked, asked{r.Method + " " + r.URL.Path, request.Spec})
	number, uid, refuse, hold := len(a.asked), a.uid, a.refuse, a.hold
	life := cmp.Or(a.life, time.Duration(*request.Spec.ExpirationSeconds)*time.Second)
	a.lock.Unlock()
	if hold != nil {
		<-hold
	}
	w.Header().Set("Content-Type", "application/json")
	if refuse != nil {
		w.WriteHeader(int(refuse.Code))
		_ = json.NewEncoder(w).Encode(refuse)
		return
	}
	parts := strings.Split(r.URL.Path, "/") // "", api, v1, namespaces, NAMESPACE, serviceaccounts, NAME, token
	until := a.clock.Now().Add(life)
	token, err := jwt.Signed(a.signer).Claims(map[string]any{
		"iss": "https://west.example", "sub": "system:serviceaccount:" + parts[4] + ":" + parts[6], "aud": request.Spec.Audiences,
		"exp": until.Unix(), "jti": fmt.Sprint(number),
		"kubernetes.io": map[string]any{"namespace": parts[4], "serviceaccount": map[string]any{"name": parts[6], "uid": uid}},
	}).Serialize()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.lock.Lock()
	a.issued = append(a.issued, token)
	a.lock.Unlock()
	request.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(until)}
	request.UID = types.UID(uid)
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(request)
}

func (a *tokenAPI) set(change func()) {
	a.lock.Lock()
	defer a.lock.Unlock()
	change()
}

// requests are those for tokens so far.
func (a *tokenAPI) requests() []asked {
	a.lock.Lock()
	defer a.lock.Unlock()
	return append([]asked(nil), a.asked...)
}

// last is the token that was made last.
func (a *tokenAPI) last() string {
	a.lock.Lock()
	defer a.lock.Unlock()
	if len(a.issued) == 0 {
		return ""
	}
	return a.issued[len(a.issued)-1]
}
