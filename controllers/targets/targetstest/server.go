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

package targetstest

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Canary stands in everything that nobody else may see: tokens, texts of target clusters.
const Canary = "canary"

// Token is what a Server asks for.
const Token = Canary + "-token"

// Server is a small cluster.
type Server struct {
	// URL is where it is, CA its authority in PEM.
	URL string
	CA  []byte

	lock    sync.Mutex
	answers map[string]string
	tokens  []string
	code    int  // of all answers, 0: as it should be
	frozen  bool // it takes requests and does not answer
	all     []Request
	inside  int // requests that are not answered yet
	most    int // of inside, at any time
	open    map[net.Conn]bool
	opened  int
}

// Request is one that a Server was asked.
type Request struct {
	Path, Token, Impersonate string
	// Client is the common name of the client certificate.
	Client string
}

// Serve starts a cluster, until the test ends. Its namespace kube-system has that UID.
func Serve(t testing.TB, uid string) *Server {
	t.Helper()
	s := &Server{open: map[net.Conn]bool{}, tokens: []string{Token}, answers: map[string]string{
		"/version": `{"major":"1","gitVersion":"v1.37.2"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","groups":[{"name":"batch","versions":[{"version":"v1"},{"version":"v1beta1"}]},` +
			`{"name":"apps","versions":[{"version":"v1"}]}]}`,
	}}
	s.Is(uid)
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Config.ConnState = s.counts
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return s
}

func (s *Server) counts(connection net.Conn, state http.ConnState) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch state {
	case http.StateNew:
		s.open[connection] = true
		s.opened++
	case http.StateClosed, http.StateHijacked:
		delete(s.open, connection)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	request := Request{Path: r.URL.Path, Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Impersonate: r.Header.Get("Impersonate-User")}
	if len(r.TLS.PeerCertificates) > 0 {
		request.Client = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	s.lock.Lock()
	s.all = append(s.all, request)
	s.inside++
	s.most = max(s.most, s.inside)
	frozen, code, known := s.frozen, s.code, request.Client != ""
	for _, token := range s.tokens {
		known = known || request.Token == token
	}
	answer, found := s.answers[r.URL.Path]
	s.lock.Unlock()
	defer func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.inside--
	}()
	switch {
	case frozen:
		<-r.Context().Done()
		return
	case !known:
		code = http.StatusUnauthorized
	case code == 0 && !found:
		code = http.StatusNotFound
	case code == 0:
		code = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if code != http.StatusOK {
		answer = fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"reason":%q,"code":%d}`, Canary, Canary, code)
	}
	_, _ = w.Write([]byte(answer))
}

// Answers sets what is at a path; empty: nothing is.
func (s *Server) Answers(path, body string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.answers[path] = body; body == "" {
		delete(s.answers, path)
	}
}

// Is sets the UID of the namespace kube-system; empty: it may not be read.
func (s *Server) Is(uid string) {
	body := ""
	if uid != "" {
		body = fmt.Sprintf(`{"metadata":{"name":"kube-system","uid":%q}}`, uid)
	}
	s.Answers("/api/v1/namespaces/kube-system", body)
}

// Asks sets the tokens that it takes.
func (s *Server) Asks(tokens ...string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.tokens = tokens
}

// Fails has it answer everything with a code; 0: as it should.
func (s *Server) Fails(code int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.code = code
}

// Freezes has it answer nothing from now on, or answer again.
func (s *Server) Freezes(frozen bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.frozen = frozen
}

// Requests are all that came, in order.
func (s *Server) Requests() []Request {
	s.lock.Lock()
	defer s.lock.Unlock()
	return append([]Request(nil), s.all...)
}

// Probes is how many probes came with a token; of all, if it is empty.
func (s *Server) Probes(token string) (count int) {
	for _, request := range s.Requests() {
		if request.Path == "/version" && (token == "" || request.Token == token) {
			count++
		}
	}
	return count
}

// Most is how many requests it had to deal with at once.
func (s *Server) Most() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.most
}

// Open is how many connections there are.
func (s *Server) Open() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return len(s.open)
}

// Opened is how many connections there ever were.
func (s *Server) Opened() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.opened
}

// Kubeconfig returns one for this cluster, with a token.
func (s *Server) Kubeconfig(token string) []byte {
	return Kubeconfig(s.URL, s.CA, "{token: "+token+"}")
}
