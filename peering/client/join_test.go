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

package client

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

func joinParams(t testing.TB, g *gateway) JoinParams {
	t.Helper()
	key := newKey(t)
	csr, err := pki.NewCSR(key)
	require.NoError(t, err)
	return JoinParams{
		Endpoints: []string{g.endpoint},
		Pins:      []connstring.Pin{g.pin()},
		Key:       key,
		Request: protocol.JoinRequest{
			Protocol: 1, TokenID: "0001020304050607", Token: bytes.Repeat([]byte{7}, 32), CSR: csr, Self: self(ourUUID),
		},
	}
}

// welcome answers a join as it should be.
func welcome(t testing.TB, g **gateway) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request protocol.JoinRequest
		if err := protocol.Read(r.Body, protocol.LimitJoin, &request); err != nil {
			t.Error(err)
		}
		public, err := pki.ParseCSR(request.CSR)
		if err != nil {
			t.Error(err)
		}
		hash, err := pki.HashOf(public)
		if err != nil || hash != pki.HashOfCertificate(r.TLS.PeerCertificates[0]) {
			t.Error("the key of the CSR is not the one of the connection")
		}
		certificate, err := pki.IssuePeer((*g).authority, public, pki.PeerTemplate{
			ClusterUUID: request.ClusterUUID, Role: pki.RoleControl, Serial: []byte{1}, From: now(), Until: now().Add(time.Hour),
		})
		if err != nil {
			t.Error(err)
		}
		self := self(theirUUID)
		self.Trust = (*g).trust()
		self.TrustDigest = pki.BundleDigest(self.Trust)
		answer(t, w, http.StatusOK, protocol.JoinResponse{Protocol: 1, Certificate: certificate.Raw, CSR: request.CSR, Self: self})
	}
}

// P6: a join over a connection with the key of its CSR, with HTTP/1.1 and HTTP/2.
func TestP6Join(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var g *gateway
		handler := welcome(t, &g)
		g = serve(t, entrance{http2: http2}, func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, http2, r.ProtoMajor == 2)
			assert.Equal(t, protocol.PathJoin, r.URL.Path)
			assert.Equal(t, http.MethodPost, r.Method)
			assert.Equal(t, protocol.ContentType, r.Header.Get("Content-Type"))
			assert.Empty(t, r.Header.Get("Accept-Encoding"))
			assert.Empty(t, r.Header.Get("Cookie"))
			handler(w, r)
		})
		params := joinParams(t, g)
		response, endpoint, err := dialer(t).Join(t.Context(), params)
		require.NoError(t, err)
		assert.Equal(t, g.endpoint, endpoint)
		assert.Equal(t, theirUUID, response.ClusterUUID)
		certificate, err := x509.ParseCertificate(response.Certificate)
		require.NoError(t, err)
		assert.True(t, params.Key.Fits(certificate))
	}
}

// P6: endpoints are tried in turn while nobody answers; an answer, also a refusal, is the
// end of it.
func TestP6JoinEndpoints(t *testing.T) {
	var g *gateway
	handler := welcome(t, &g)
	g = serve(t, entrance{}, func(w http.ResponseWriter, r *http.Request) { handler(w, r) })
	stranger := serve(t, entrance{}, answering(t, http.StatusOK, struct{}{}))
	d := dialer(t, func(c *Config) { c.ConnectTimeout = 300 * time.Millisecond })

	params := joinParams(t, g)
	params.Endpoints = []string{nobody(t), silence(t), stranger.endpoint, g.endpoint}
	_, endpoint, err := d.Join(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, g.endpoint, endpoint)
	assert.Zero(t, stranger.requests.Load())

	refusing := serve(t, entrance{}, answering(t, http.StatusForbidden, protocol.Failure{Reason: protocol.FailureRefused}))
	params = joinParams(t, g)
	params.Pins = append(params.Pins, refusing.pin())
	params.Endpoints = []string{nobody(t), refusing.endpoint, g.endpoint}
	before := g.requests.Load()
	_, endpoint, err = d.Join(t.Context(), params)
	requireFailure(t, Failure{Kind: Refused, Reason: protocol.FailureRefused}, err)
	assert.Equal(t, refusing.endpoint, endpoint)
	assert.Equal(t, before, g.requests.Load())

	// Of those who do not answer, somebody else is worth telling most.
	params.Endpoints = []string{stranger.endpoint, nobody(t)}
	_, endpoint, err = d.Join(t.Context(), params)
	requireFailure(t, Failure{Kind: Untrusted}, err)
	assert.Empty(t, endpoint)
	params.Endpoints = []string{silence(t), nobody(t)}
	_, _, err = d.Join(t.Context(), params)
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailConnect}, err)
}

// P11: what a gateway that was recognised can still get wrong.
func TestP11JoinAnswers(t *testing.T) {
	var g *gateway
	for name, test := range map[string]struct {
		change func(*protocol.JoinResponse)
		fault  protocol.Fault
	}{
		"another version": {func(r *protocol.JoinResponse) { r.Protocol = 2 }, protocol.ErrProtocol},
		"another key":     {func(r *protocol.JoinResponse) { r.Certificate = g.authority.Certificate.Raw }, protocol.ErrCertificate},
		"no certificate":  {func(r *protocol.JoinResponse) { r.Certificate = []byte(canary) }, protocol.ErrCertificate},
		"no CSR":          {func(r *protocol.JoinResponse) { r.CSR = nil }, protocol.ErrCSR},
		"no trust":        {func(r *protocol.JoinResponse) { r.Trust, r.TrustDigest = nil, "" }, protocol.ErrTrust},
		"wrong UUID":      {func(r *protocol.JoinResponse) { r.ClusterUUID = canary }, protocol.ErrClusterUUID},
	} {
		handler := welcome(t, &g)
		g = serve(t, entrance{}, func(w http.ResponseWriter, r *http.Request) {
			recorder := httptest.NewRecorder()
			handler(recorder, r)
			var response protocol.JoinResponse
			if err := json.Unmarshal(recorder.Body.Bytes(), &response); err != nil {
				t.Error(err)
			}
			test.change(&response)
			answer(t, w, http.StatusOK, response)
		})
		response, _, err := dialer(t).Join(t.Context(), joinParams(t, g))
		requireFailure(t, Failure{Kind: Invalid, Fault: test.fault}, err)
		assert.Equal(t, protocol.JoinResponse{}, response, name)
	}
}

// A join that breaks the rules is not sent.
func TestJoinParams(t *testing.T) {
	g := serve(t, entrance{}, answering(t, http.StatusOK, struct{}{}))
	for name, change := range map[string]func(*JoinParams){
		"no endpoint": func(p *JoinParams) { p.Endpoints = nil },
		"no pin":      func(p *JoinParams) { p.Pins = nil },
		"no key":      func(p *JoinParams) { p.Key = nil },
		"no token":    func(p *JoinParams) { p.Request.Token = nil },
	} {
		params := joinParams(t, g)
		change(&params)
		_, _, err := dialer(t).Join(t.Context(), params)
		require.Error(t, err, name)
	}
	assert.Zero(t, g.connections.Load())
}
