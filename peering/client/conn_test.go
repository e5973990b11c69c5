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
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// P9: what is asked and answered, on one connection, under the certificate.
func TestP9Conn(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var presented sync.Map
		g := serve(t, entrance{http2: http2}, func(w http.ResponseWriter, r *http.Request) {
			presented.Store(r.URL.Path, r.TLS.PeerCertificates[0].Raw)
			assert.EqualValues(t, tls.VersionTLS13, r.TLS.Version)
			assert.False(t, r.TLS.DidResume)
			switch r.URL.Path {
			case protocol.PathSync:
				var request protocol.SyncRequest
				assert.NoError(t, protocol.Read(r.Body, protocol.LimitSync, &request))
				assert.Equal(t, ourUUID, request.ClusterUUID)
				answer(t, w, http.StatusOK, echo())
			case protocol.PathRenew:
				var request protocol.RenewRequest
				assert.NoError(t, protocol.Read(r.Body, protocol.LimitRenew, &request))
				answer(t, w, http.StatusOK, protocol.RenewResponse{Certificate: request.CSR})
			case protocol.PathLeave:
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				assert.Equal(t, "{}", string(body))
				answer(t, w, http.StatusOK, protocol.LeaveResponse{})
			}
		})
		key := newKey(t)
		certificate, err := pki.SelfSigned(key, now(), now())
		require.NoError(t, err)
		c, err := dialer(t).Connect(Target{Endpoints: []string{g.endpoint}, Trust: g.trust(), Certificate: key.TLS(certificate.Raw)})
		require.NoError(t, err)
		for range 3 {
			response, err := c.Sync(t.Context(), beat())
			require.NoError(t, err)
			assert.Equal(t, echo(), response)
		}
		renewed, err := c.Renew(t.Context(), protocol.RenewRequest{Role: pki.RoleData, CSR: []byte{1, 2, 3}})
		require.NoError(t, err)
		assert.Equal(t, []byte{1, 2, 3}, renewed.Certificate)
		require.NoError(t, c.Leave(t.Context()))
		assert.EqualValues(t, 1, g.connections.Load())
		for _, path := range []string{protocol.PathSync, protocol.PathRenew, protocol.PathLeave} {
			raw, _ := presented.Load(path)
			assert.Equal(t, certificate.Raw, raw, path)
		}
		c.Close()
		_, err = c.Sync(t.Context(), beat())
		require.ErrorIs(t, err, net.ErrClosed)
		c.Close()
	}
}

// The endpoint that answered last comes first; another one takes over.
func TestConnEndpoints(t *testing.T) {
	first := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	second := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	trust := append(first.trust(), second.trust()...)
	dead := silence(t)
	d := dialer(t, func(c *Config) { c.ConnectTimeout = 300 * time.Millisecond })
	c := connect(t, d, trust, dead, second.endpoint, first.endpoint)
	for range 3 {
		_, err := c.Sync(t.Context(), beat())
		require.NoError(t, err)
	}
	assert.EqualValues(t, 3, second.requests.Load())
	assert.Equal(t, []string{second.endpoint, dead, first.endpoint}, c.way.endpoints)

	// A refusal is an answer.
	refusing := serve(t, entrance{}, answering(t, http.StatusForbidden, protocol.Failure{Reason: protocol.FailureSuspended}))
	c = connect(t, d, append(refusing.trust(), first.trust()...), refusing.endpoint, first.endpoint)
	_, err := c.Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Refused, Reason: protocol.FailureSuspended}, err)
	assert.Zero(t, first.requests.Load())
}

// P9: a beat may take as long as the gateway may wait, and no more than a bit longer.
func TestP9SyncWaits(t *testing.T) {
	g := serve(t, entrance{}, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(500 * time.Millisecond):
			answer(t, w, http.StatusOK, echo())
		case <-r.Context().Done():
		}
	})
	d := dialer(t, func(c *Config) { c.SyncGrace = 100 * time.Millisecond })
	request := beat()
	_, err := connect(t, d, g.trust(), g.endpoint).Sync(t.Context(), request)
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailTimeout}, err)
	request.Wait = 5
	_, err = connect(t, d, g.trust(), g.endpoint).Sync(t.Context(), request)
	require.NoError(t, err)
}

// Close ends a beat that is held back, and leaves nothing behind (goleak).
func TestCloseEndsCalls(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		arrived, left := make(chan struct{}), make(chan struct{})
		g := serve(t, entrance{http2: http2}, func(_ http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-r.Context().Done()
			close(left)
		})
		c := connect(t, dialer(t), g.trust(), g.endpoint)
		done := make(chan error)
		go func() {
			request := beat()
			request.Wait = protocol.MaxWait
			_, err := c.Sync(context.Background(), request)
			done <- err
		}()
		<-arrived
		go c.Close()
		require.ErrorIs(t, <-done, context.Canceled)
		<-left
	}
}

// Connections go with their line, whatever goes on over them.
func TestLineCloses(t *testing.T) {
	arrived := make(chan struct{})
	g := serve(t, entrance{}, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	d := dialer(t)
	everybody := func([]*x509.Certificate, string, time.Time) bool { return true }
	key := newKey(t)
	certificate, err := pki.SelfSigned(key, now(), now())
	require.NoError(t, err)
	l := d.newLine(g.endpoint, d.dial, d.tlsConfig(local, everybody, key.TLS(certificate.Raw)))
	done := make(chan error)
	go func() {
		_, err := l.ask(context.Background())
		done <- err
	}()
	<-arrived
	l.close()
	require.Error(t, <-done)
	_, err = l.ask(t.Context())
	require.Error(t, err)
}

// P12: leaving never waits long, and to have left already is to have left.
func TestP12Leave(t *testing.T) {
	gone := serve(t, entrance{}, answering(t, http.StatusGone, protocol.Failure{Reason: protocol.FailureGone}))
	require.NoError(t, connect(t, dialer(t), gone.trust(), gone.endpoint).Leave(t.Context()))

	hanging := serve(t, entrance{}, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})
	d := dialer(t, func(c *Config) { c.LeaveTimeout = 600 * time.Millisecond })
	started := time.Now()
	err := connect(t, d, hanging.trust(), silence(t), hanging.endpoint, silence(t)).Leave(t.Context())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailTimeout}, err)
	assert.EqualValues(t, 1, hanging.requests.Load(), "each endpoint has its share of the time")
	assert.Less(t, time.Since(started), 4*time.Second)

	refusing := serve(t, entrance{}, answering(t, http.StatusForbidden, protocol.Failure{Reason: protocol.FailureSuspended}))
	err = connect(t, dialer(t), refusing.trust(), refusing.endpoint).Leave(t.Context())
	requireFailure(t, Failure{Kind: Refused, Reason: protocol.FailureSuspended}, err)
}

func TestConnectRefuses(t *testing.T) {
	trust := [][]byte{newAuthority(t, now().Add(time.Hour)).Certificate.Raw}
	endpoint := "https://a.example"
	for name, target := range map[string]Target{
		"no endpoint":        {Trust: trust},
		"too many endpoints": {Trust: trust, Endpoints: []string{endpoint, endpoint, endpoint, endpoint, endpoint}},
		"no trust":           {Endpoints: []string{endpoint}},
		"wrong trust":        {Endpoints: []string{endpoint}, Trust: [][]byte{[]byte(canary)}},
	} {
		_, err := dialer(t).Connect(target)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), canary, name)
	}
}

// P1: nothing before TLS 1.3, and nothing without TLS.
func TestP1OnlyTLS13(t *testing.T) {
	old := serve(t, entrance{config: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }},
		answering(t, http.StatusOK, echo()))
	_, err := connect(t, dialer(t), old.trust(), old.endpoint).Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailTLS}, err)

	listener, err := net.Listen("tcp", local+":0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	go func() { _ = http.Serve(listener, answering(t, http.StatusOK, echo())) }()
	_, err = connect(t, dialer(t), old.trust(), "https://"+listener.Addr().String()).Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailTLS}, err)

	// A gateway that does not like our certificate ends TLS after our handshake; what it
	// says may get lost.
	for _, http2 := range []bool{false, true} {
		picky := serve(t, entrance{http2: http2, config: func(c *tls.Config) {
			c.VerifyConnection = func(tls.ConnectionState) error { return io.ErrUnexpectedEOF }
		}}, answering(t, http.StatusOK, echo()))
		_, err = connect(t, dialer(t), picky.trust(), picky.endpoint).Sync(t.Context(), beat())
		require.True(t, isKind(err, Unreachable))
	}
}
