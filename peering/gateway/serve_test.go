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

package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// presented returns the certificates that the gateway presents.
func (f *fixture) presented() []*x509.Certificate {
	f.t.Helper()
	j := f.newJoiner(f.t, west)
	connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{j.certificate}}}).DialContext(f.t.Context(), "tcp", f.address)
	require.NoError(f.t, err)
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates
}

// P1: the serving certificate is by the CA that signs now, for the advertised hosts, and
// bears a peer whose clock is behind; it is made anew in time.
func TestP1ServingCertificate(t *testing.T) {
	f := newFixture(t)
	chain := f.presented()
	require.Len(t, chain, 2)
	leaf := chain[0]
	assert.Equal(t, f.Authority().Current.Certificate, chain[1].Raw, "who joins pins the CA")
	require.NoError(t, leaf.CheckSignatureFrom(chain[1]))
	require.NoError(t, leaf.VerifyHostname("127.0.0.1"))
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, leaf.ExtKeyUsage)
	assert.Equal(t, noon.Add(-record.MaxSkew), leaf.NotBefore)
	assert.Equal(t, noon.Add(servingLife), leaf.NotAfter)
	assert.Equal(t, leaf.Raw, f.presented()[0].Raw, "it stays")

	life := servingLife + record.MaxSkew
	f.clock.SetTime(leaf.NotBefore.Add(life/100*60 - time.Second))
	assert.Equal(t, leaf.Raw, f.presented()[0].Raw)
	f.clock.Step(time.Second)
	renewed := f.presented()[0]
	assert.NotEqual(t, leaf.Raw, renewed.Raw)

	f.must(func(tx record.Tx) error {
		return tx.PutAuthority(&record.Authority{Current: newCA(t, "next", noon)})
	})
	assert.Equal(t, f.Authority().Current.Certificate, f.presented()[1].Raw, "P3: the CA that signs now")
	assert.Equal(t, leaf.PublicKey, f.presented()[0].PublicKey, "one key a process")
}

// P1: without a CA there is no handshake.
func TestP1NoAuthority(t *testing.T) {
	s := &serving{ledger: recordtest.New(), clock: testingclock.NewFakeClock(noon)}
	_, err := s.certificate(nil)
	require.ErrorIs(t, err, errNoAuthority)
}

// The client of this module and the gateway understand each other, over HTTP/2.
func TestP9Client(t *testing.T) {
	f := newFixture(t)
	j := f.newJoiner(t, west)
	dialer, err := client.New(client.Config{Policy: client.Policy{AllowLocal: true}, Clock: f.clock})
	require.NoError(t, err)
	ca, err := pki.ParseAuthority(f.Authority().Current.Certificate)
	require.NoError(t, err)
	endpoints := []string{"https://" + f.address}
	welcome, _, err := dialer.Join(t.Context(), client.JoinParams{
		Endpoints: endpoints, Pins: []connstring.Pin{connstring.Pin(pki.HashOfCertificate(ca))}, Key: j.key, Request: j.request,
	})
	require.NoError(t, err)
	conn, err := dialer.Connect(client.Target{Endpoints: endpoints, Trust: welcome.Trust, Certificate: j.key.TLS(welcome.Certificate)})
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Sync(t.Context(), f.beat(j, nil))
	require.NoError(t, err)
	_, csr := newCSR(t)
	_, err = conn.Renew(t.Context(), protocol.RenewRequest{Role: pki.RoleControl, CSR: csr})
	require.NoError(t, err)
	require.NoError(t, conn.Leave(t.Context()))
	require.NoError(t, conn.Leave(t.Context()), "that it is over is no failure")
	var failure *client.Failure
	_, err = conn.Sync(t.Context(), protocol.SyncRequest{Protocol: 1, State: protocol.State{Self: j.request.Self}})
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, client.Gone, failure.Kind)

	// P14: our own look at it. The alert that says why can get lost.
	require.Eventually(t, func() bool {
		result := dialer.Probe(t.Context(), endpoints[0], f.Authority().Trust())
		return result == client.ProbeResult{ClientCert: client.ClientCertRequired, ServerCert: client.PeeringRootCert}
	}, soon, tick)
}

// P11: those who send slowly, or nothing, are dropped, and nobody waits for them.
func TestP11SlowLoris(t *testing.T) {
	patience := generous()
	patience.Header, patience.Body, patience.ConcurrentJoins = 300*time.Millisecond, 300*time.Millisecond, 1
	f := newFixture(t, limits(patience))
	began := time.Now()
	slow := make(chan error, 30)
	for i := range cap(slow) {
		j := f.newJoiner(t, north)
		connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{j.certificate}}}).DialContext(t.Context(), "tcp", f.address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		switch i % 3 {
		case 0: // nothing
		case 1: // half a header
			_, _ = io.WriteString(connection, "POST /peering/v1/join HTTP/1.1\r\nHost: x\r\n")
		case 2: // half a body
			_, _ = io.WriteString(connection, "POST /peering/v1/join HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		}
		go func() {
			_ = connection.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, err := io.Copy(io.Discard, bufio.NewReader(connection))
			slow <- err
		}()
	}
	j := f.newJoiner(t, west)
	require.Equal(t, http.StatusOK, f.join(j).code)
	for range cap(slow) {
		require.NoError(t, <-slow, "it was closed by the other side")
	}
	assert.Less(t, time.Since(began), 10*time.Second)

	// A sync that is held back outlasts what a body may take, on HTTP/1.1 too.
	l := f.dial(&j.certificate, false)
	answers := f.held(l, f.beat(j, waiting(15)))
	select {
	case a := <-answers:
		require.Fail(t, "it was answered", "%v", a)
	case <-time.After(2 * patience.Body):
	}
	f.clock.Step(15 * time.Second)
	receive(t, answers).into(t, &protocol.SyncResponse{})
}

// A handler is for peers of its role, in good standing, and its requests end with them.
func TestP2Mounted(t *testing.T) {
	entered := make(chan Peer, 1)
	left := make(chan struct{}, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, ok := PeerFrom(r.Context())
		if !ok {
			panic("canary--canary--canary--canary--")
		}
		switch r.URL.Path {
		case "/peering/v1/api/panic":
			panic("canary--canary--canary--canary--")
		case "/peering/v1/api/stream":
			w.WriteHeader(http.StatusAccepted)
			_ = http.NewResponseController(w).Flush()
			entered <- peer
			<-r.Context().Done()
			left <- struct{}{}
		default:
			_, _ = io.WriteString(w, "well")
		}
	})
	patience := generous()
	patience.Body = 50 * time.Millisecond
	f, j := paired(t, limits(patience), mounting("/peering/v1/api/", record.RoleData, handler))
	control := f.dial(&j.certificate, true)
	key, csr := newCSR(t)
	data := f.renewed(control, pki.RoleData, key, csr)
	get := func(l *line, path string) answer {
		return l.send(context.Background(), http.MethodGet, path, nil, http.Header{})
	}

	control.post("/peering/v1/api/x", struct{}{}).is(t, http.StatusForbidden, protocol.FailureRefused)
	f.newJoinerLine(t).post("/peering/v1/api/x", struct{}{}).is(t, http.StatusForbidden, protocol.FailureRefused)
	data.post("/peering/v1/apix", struct{}{}).is(t, http.StatusNotFound, protocol.FailureInvalid)
	assert.Equal(t, "well", string(get(data, "/peering/v1/api/x").body))
	require.Error(t, get(data, "/peering/v1/api/panic").err)
	assert.Contains(t, f.log.String(), "Panicked")
	assert.Equal(t, "well", string(get(data, "/peering/v1/api/x").body), "and goes on")

	// What a body may take is no limit of a stream. (Over HTTP/1.1 it could be.)
	plain := f.dial(data.certificate, false)
	ctx, cancel := context.WithCancel(t.Context())
	go plain.send(ctx, http.MethodGet, "/peering/v1/api/stream", nil, http.Header{})
	<-entered
	select {
	case <-left:
		require.Fail(t, "the stream has ended")
	case <-time.After(3 * patience.Body):
	}
	cancel()
	<-left

	for name, end := range map[string]func(){
		"suspended": func() { f.edit(func(p *record.Peer) { p.Remote.Fault = record.PeerSuspended }) },
		"deleting":  func() { f.setSpec(uid, record.Spec{Deleting: true}); f.clock.Step(recheck) },
		"expected":  func() { f.setSpec(uid, record.Spec{ExpectedClusterUUID: north}); f.clock.Step(recheck) },
	} {
		t.Run(name, func(t *testing.T) {
			f.setSpec(uid, record.Spec{})
			f.edit(func(p *record.Peer) { p.Remote.Fault = "" })
			streams := make(chan answer, 1)
			go func() { streams <- get(data, "/peering/v1/api/stream") }()
			peer := <-entered
			assert.Equal(t, Peer{UID: uid, Name: "name-of-1", ClusterUUID: west, Role: record.RoleData, Key: hashOf(t, key), Source: netip.MustParseAddr("127.0.0.1")}, peer)
			require.Eventually(t, f.clock.HasWaiters, soon, tick)
			end()
			select {
			case <-left:
			case <-time.After(soon):
				require.Fail(t, "the stream goes on")
			}
			assert.Equal(t, http.StatusAccepted, receive(t, streams).code)
			data.post("/peering/v1/api/x", struct{}{})
		})
	}
	f.setSpec(uid, record.Spec{})
	for _, fault := range []record.Reason{record.UUIDMismatch, record.TrustExpired, record.InvalidOffer} {
		f.edit(func(p *record.Peer) { p.Remote.Fault = fault })
		data.post("/peering/v1/api/x", struct{}{}).is(t, http.StatusForbidden, protocol.FailureRefused)
	}
	_, ok := PeerFrom(t.Context())
	assert.False(t, ok)
	f.seen.mu.Lock()
	defer f.seen.mu.Unlock()
	var codes []int
	for _, request := range f.seen.served {
		if request.Path == "/peering/v1/api/" {
			codes = append(codes, request.Code)
		}
		assert.NotContains(t, request.Path, "stream")
	}
	assert.Contains(t, codes, http.StatusAccepted)
	assert.Contains(t, codes, http.StatusOK)
}

func (f *fixture) newJoinerLine(t *testing.T) *line {
	j := f.newJoiner(t, north)
	return f.dial(&j.certificate, true)
}

func TestHandleErrors(t *testing.T) {
	f := newFixture(t)
	none := http.NotFoundHandler()
	for _, prefix := range []string{"", "/", "x/", "/peering/v1/", "/peering/v1/api"} {
		g, err := New(Config{Ledger: f, Self: f.gateway.self, Specs: f.spec, Observer: f.seen})
		require.NoError(t, err)
		require.Error(t, g.Handle(prefix, record.RoleData, none), prefix)
		require.Error(t, g.Handle("/a/", "", none))
		require.Error(t, g.Handle("/a/", record.RoleData, nil))
		require.NoError(t, g.Handle("/a/", record.RoleData, none))
		require.Error(t, g.Handle("/a/b/", record.RoleData, none))
	}
	f.presented()
	require.ErrorContains(t, f.gateway.Handle("/b/", record.RoleData, none), "being served")
}

func TestNewErrors(t *testing.T) {
	good := Config{Ledger: recordtest.New(), Self: exchange.Self{ClusterUUID: east, Endpoints: []string{"https://east.example.com"}}, Specs: func(string) (record.Spec, bool) { return record.Spec{}, false }, Observer: &seen{}}
	_, err := New(good)
	require.NoError(t, err)
	for name, change := range map[string]func(*Config){
		"ledger":      func(c *Config) { c.Ledger = nil },
		"specs":       func(c *Config) { c.Specs = nil },
		"observer":    func(c *Config) { c.Observer = nil },
		"UUID":        func(c *Config) { c.Self.ClusterUUID = "" },
		"no endpoint": func(c *Config) { c.Self.Endpoints = nil },
		"endpoint":    func(c *Config) { c.Self.Endpoints = []string{"http://east.example.com"} },
	} {
		bad := good
		change(&bad)
		_, err := New(bad)
		require.Error(t, err, name)
	}
}

// An IPv6 network of 64 bits is one source; the number of sources is bounded.
func TestP6Sources(t *testing.T) {
	l := newJoinLimiter(Limits{JoinsPerSource: 1, JoinBurstPerSource: 1, Joins: 1000, JoinBurst: 1000, Sources: 8}.withDefaults())
	assert.True(t, l.allow(netip.MustParseAddr("2001:db8::1"), noon))
	assert.False(t, l.allow(netip.MustParseAddr("2001:db8::2"), noon))
	assert.True(t, l.allow(netip.MustParseAddr("2001:db8:0:1::1"), noon))
	assert.True(t, l.allow(netip.MustParseAddr("192.0.2.1"), noon))
	assert.True(t, l.allow(netip.MustParseAddr("192.0.2.2"), noon))
	assert.False(t, l.allow(netip.MustParseAddr("192.0.2.2"), noon))
	assert.True(t, l.allow(netip.Addr{}, noon))
	assert.False(t, l.allow(netip.Addr{}, noon))
	for i := range 100 {
		l.allow(netip.MustParseAddr(fmt.Sprintf("198.51.100.%d", i)), noon)
	}
	assert.Equal(t, 8, l.sources.Len())
}

// P6: the library has no answer of its own for anybody, not even to a question about the
// server as a whole.
func TestP6NothingBesideTheHandler(t *testing.T) {
	f, j := paired(t)
	conn, err := (&tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // Who answers does not matter here.
		Certificates: []tls.Certificate{j.certificate},
	}}).DialContext(t.Context(), "tcp", f.address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: east\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	assert.NotEqual(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, protocol.ContentType, response.Header.Get("Content-Type"), "it is the gateway that answers")
}
