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
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ourUUID   = "0f1c2d3e-4a5b-4c6d-8e7f-001122334455"
	theirUUID = "1f1c2d3e-4a5b-4c6d-8e7f-001122334455"
	// canary stands wherever the other side could put something.
	canary = "canary"
	local  = "127.0.0.1"
)

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// gateway is the gateway of another cluster, a real TLS server.
type gateway struct {
	authority *pki.Authority
	endpoint  string
	// connections and requests count what came, open the connections that there are.
	connections, requests, open atomic.Int32
}

// entrance is how a gateway is to be; the zero entrance is a proper one on 127.0.0.1.
type entrance struct {
	// address to listen on, hosts to have a certificate for; empty: 127.0.0.1.
	address string
	hosts   []string
	// leaf, if set, changes the certificate before it is signed.
	leaf func(*x509.Certificate)
	// chain, if set, is presented instead of the certificate and its authority.
	chain func(leaf, authority *x509.Certificate) []*x509.Certificate
	// until is when the authority ends, zero: later.
	until time.Time
	// config, if set, changes how TLS is spoken.
	config func(*tls.Config)
	http2  bool
	// streams is how many a connection may have at a time, zero: some.
	streams int
	// streaming has the handler get bodies as they come.
	streaming bool
}

func newKey(t testing.TB) *pki.Key {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	return key
}

func newAuthority(t testing.TB, until time.Time) *pki.Authority {
	t.Helper()
	authority, err := pki.NewAuthority("peering", newKey(t), now().Add(-24*time.Hour), until)
	require.NoError(t, err)
	return authority
}

func serve(t testing.TB, e entrance, handler http.HandlerFunc) *gateway {
	t.Helper()
	if e.address == "" {
		e.address = local
	}
	if e.hosts == nil {
		e.hosts = []string{e.address}
	}
	if e.until.IsZero() {
		e.until = now().Add(24 * time.Hour)
	}
	g := &gateway{authority: newAuthority(t, e.until)}
	key := newKey(t)
	names := pki.Names(e.hosts...)
	template := x509.Certificate{
		DNSNames: names.DNSNames, IPAddresses: names.IPs, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: now().Add(-time.Hour), NotAfter: now().Add(time.Hour),
	}
	if e.leaf != nil {
		e.leaf(&template)
	}
	leaf, err := g.authority.Issue(template, key.Public(), template.NotBefore, template.NotAfter)
	require.NoError(t, err)
	presented := []*x509.Certificate{leaf, g.authority.Certificate}
	if e.chain != nil {
		presented = e.chain(leaf, g.authority.Certificate)
	}
	pair := tls.Certificate{PrivateKey: key}
	for _, certificate := range presented {
		pair.Certificate = append(pair.Certificate, certificate.Raw)
	}

	listener, err := net.Listen("tcp", net.JoinHostPort(e.address, "0"))
	if err != nil {
		t.Skipf("could not listen on %s: %v", e.address, err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.requests.Add(1)
		if e.streaming {
			handler(w, r)
			return
		}
		// Until it is read the server does not notice that the client is gone.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	require.NoError(t, server.Listener.Close())
	server.Listener = listener
	server.EnableHTTP2 = e.http2
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: e.streams}
	server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{pair},
	}
	if e.config != nil {
		e.config(server.TLS)
	}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			g.connections.Add(1)
			g.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			g.open.Add(-1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	g.endpoint = "https://" + listener.Addr().String()
	return g
}

func (g *gateway) trust() [][]byte { return [][]byte{g.authority.Certificate.Raw} }

func (g *gateway) pin() connstring.Pin {
	return connstring.Pin(pki.HashOfCertificate(g.authority.Certificate))
}

// dialer is one that may dial this machine, with its clock at now.
func dialer(t testing.TB, change ...func(*Config)) *Dialer {
	t.Helper()
	config := Config{Policy: Policy{AllowLocal: true}, Clock: clocktesting.NewFakePassiveClock(now())}
	for _, c := range change {
		c(&config)
	}
	d, err := New(config)
	require.NoError(t, err)
	return d
}

// connect is a connection to a gateway with some client certificate.
func connect(t testing.TB, d *Dialer, trust [][]byte, endpoints ...string) *Conn {
	t.Helper()
	key := newKey(t)
	certificate, err := pki.SelfSigned(key, now(), now())
	require.NoError(t, err)
	c, err := d.Connect(Target{Endpoints: endpoints, Trust: trust, Certificate: key.TLS(certificate.Raw)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func self(uuid string) protocol.Self { return protocol.Self{ClusterUUID: uuid, Time: now().Unix()} }

func beat() protocol.SyncRequest {
	return protocol.SyncRequest{Protocol: 1, State: protocol.State{Self: self(ourUUID)}}
}

func echo() protocol.SyncResponse {
	return protocol.SyncResponse{Protocol: 1, State: protocol.State{Self: self(theirUUID)}}
}

func answer(t testing.TB, w http.ResponseWriter, status int, message any) {
	data, err := json.Marshal(message)
	if err != nil {
		t.Error(err)
	}
	w.Header().Set("Content-Type", protocol.ContentType)
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// answering is a handler that always says the same.
func answering(t testing.TB, status int, message any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(t, w, status, message) }
}

// nobody is an endpoint where nobody listens.
func nobody(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", local+":0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return "https://" + listener.Addr().String()
}

// silence is an endpoint that accepts connections and never says anything.
func silence(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", local+":0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return "https://" + listener.Addr().String()
}

func requireFailure(t *testing.T, want Failure, err error) {
	t.Helper()
	var failure *Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, want, *failure)
	require.NotContains(t, err.Error(), canary)
	require.NotContains(t, err.Error(), local)
	require.NotContains(t, err.Error(), "example")
}
