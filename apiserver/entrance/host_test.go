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

package entrance

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/transport"

	"entente.dev/entente/apiserver/host"
)

// fakeHost is a host cluster: a real server that keeps what it got.
type fakeHost struct {
	t      *testing.T
	server *httptest.Server

	lock   sync.Mutex
	got    []received
	answer http.HandlerFunc
}

// received is a request as the host got it.
type received struct {
	method, uri, body string
	header, trailer   http.Header
}

func newFakeHost(t *testing.T) *fakeHost {
	t.Helper()
	h := &fakeHost{t: t}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	h.server.EnableHTTP2 = true
	h.server.StartTLS()
	t.Cleanup(h.server.Close)
	return h
}

func (h *fakeHost) api(t *testing.T) *host.API {
	t.Helper()
	base, err := url.Parse(h.server.URL + "/base/")
	require.NoError(t, err)
	config := func() *tls.Config {
		return &tls.Config{RootCAs: h.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS13}
	}
	plain := &http.Transport{TLSClientConfig: config(), ForceAttemptHTTP2: true}
	upgrade := &http.Transport{TLSClientConfig: config()}
	t.Cleanup(plain.CloseIdleConnections)
	t.Cleanup(upgrade.CloseIdleConnections)
	// As client-go has it when much is to be logged.
	return &host.API{URL: base, Plain: transport.NewDebuggingRoundTripper(plain, transport.DebugByContext), Upgrade: transport.NewDebuggingRoundTripper(upgrade, transport.DebugByContext)}
}

func (h *fakeHost) serve(w http.ResponseWriter, r *http.Request) {
	h.lock.Lock()
	answer := h.answer
	h.lock.Unlock()
	got := received{method: r.Method, uri: r.RequestURI, header: r.Header.Clone()}
	if r.Header.Get("Upgrade") == "" {
		body, _ := io.ReadAll(r.Body)
		got.body, got.trailer = string(body), r.Trailer.Clone()
	}
	h.lock.Lock()
	h.got = append(h.got, got)
	h.lock.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind":"ConfigMapList"}`)
}

// answers has the host answer so from now on.
func (h *fakeHost) answers(answer http.HandlerFunc) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.answer = answer
}

// take returns what the host got since it was last called.
func (h *fakeHost) take() []received {
	h.lock.Lock()
	defer h.lock.Unlock()
	got := h.got
	h.got = nil
	return got
}
