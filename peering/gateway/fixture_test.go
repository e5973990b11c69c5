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
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	testingclock "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid      = "11111111-0000-4000-8000-000000000001"
	otherUID = "11111111-0000-4000-8000-000000000002"
	east     = "aaaaaaaa-0000-4000-8000-000000000001" // this cluster
	west     = "bbbbbbbb-0000-4000-8000-000000000002"
	north    = "cccccccc-0000-4000-8000-000000000003"
	tokenID  = "0001020304050607"
	soon     = 5 * time.Second
	tick     = 2 * time.Millisecond
)

var (
	noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	// token is a canary: it is looked for in all that is logged and observed.
	token = []byte("canary--canary--canary--canary--")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a gateway of the cluster east that is being served, with one open invite.
type fixture struct {
	t *testing.T
	*recordtest.Memory
	clock   *testingclock.FakeClock
	gateway *Gateway
	address string
	// stop ends the gateway, and returns what Serve returned.
	stop func() error

	mu    sync.Mutex
	specs map[string]record.Spec

	// updates counts the transactions.
	updates atomic.Int64

	seen *seen
	log  *lockedBuffer
}

// Update implements record.Ledger.
func (f *fixture) Update(ctx context.Context, change func(record.Tx) error) error {
	f.updates.Add(1)
	return f.Memory.Update(ctx, change)
}

// generous are limits that no test meets by chance.
func generous() Limits {
	return Limits{JoinsPerSource: 1000, JoinBurstPerSource: 1000, Joins: 1000, JoinBurst: 1000, Calls: 1000, CallBurst: 1000}
}

type option func(*Config, *Gateway)

func limits(l Limits) option { return func(c *Config, _ *Gateway) { c.Limits = l } }

// mounting is called with the gateway once there is one.
func mounting(prefix string, role record.Role, handler http.Handler) option {
	return func(_ *Config, g *Gateway) {
		if g != nil {
			if err := g.Handle(prefix, role, handler); err != nil {
				panic(err)
			}
		}
	}
}

func newFixture(t *testing.T, options ...option) *fixture {
	t.Helper()
	f := &fixture{
		t: t, Memory: recordtest.New(), clock: testingclock.NewFakeClock(noon),
		specs: map[string]record.Spec{uid: {}, otherUID: {}},
		seen:  &seen{}, log: &lockedBuffer{},
	}
	f.must(func(tx record.Tx) error {
		return tx.PutAuthority(&record.Authority{Current: newCA(t, "east", noon)})
	})
	f.mint(uid, tokenID)

	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.address = listener.Addr().String()
	config := Config{
		Ledger: f, Self: exchange.Self{ClusterUUID: east, Endpoints: []string{"https://" + f.address}},
		Specs: f.spec, Observer: f.seen, Clock: f.clock, Limits: generous(),
	}
	for _, o := range options {
		o(&config, nil)
	}
	f.gateway, err = New(config)
	require.NoError(t, err)
	for _, o := range options {
		o(&Config{}, f.gateway)
	}

	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(f.log)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	done := make(chan error, 1)
	go func() { done <- f.gateway.Serve(ctx, listener) }()
	f.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		assert.NoError(t, f.stop())
		f.noCanary()
	})
	return f
}

func newCA(t *testing.T, name string, now time.Time) record.CA {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	ca, err := pki.NewAuthority(name, key, now.Add(-record.MaxSkew), now.Add(365*24*time.Hour))
	require.NoError(t, err)
	return record.CA{
		Certificate: ca.Certificate.Raw, Key: record.NewSecret(key.PEM()),
		NotBefore: ca.Certificate.NotBefore, NotAfter: ca.Certificate.NotAfter,
	}
}

func (f *fixture) must(change func(record.Tx) error) {
	f.t.Helper()
	require.NoError(f.t, f.Update(context.Background(), change))
}

// edit changes the record of the peer.
func (f *fixture) edit(change func(*record.Peer)) {
	f.t.Helper()
	f.must(func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		change(peer)
		return tx.PutPeer(peer)
	})
}

func (f *fixture) mint(uid, id string) {
	f.t.Helper()
	now := f.clock.Now()
	f.must(func(tx record.Tx) error {
		if err := record.Mint(tx, record.Minting{UID: uid, Name: "name-of-" + uid[len(uid)-1:], TokenID: id, Hash: record.Hash(uid, token), Now: now, Expires: now.Add(24 * time.Hour)}); err != nil {
			return err
		}
		return record.Deliver(tx, uid, id)
	})
}

func (f *fixture) spec(uid string) (record.Spec, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	spec, ok := f.specs[uid]
	return spec, ok
}

func (f *fixture) setSpec(uid string, spec record.Spec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.specs[uid] = spec
}

// noCanary looks for the token, however it may be written.
func (f *fixture) noCanary() {
	f.t.Helper()
	encoded := base64.StdEncoding.EncodeToString(token)
	for _, text := range []string{f.log.String(), f.seen.String()} {
		for _, canary := range []string{string(token), encoded, encoded[:20], fmt.Sprintf("%v", token), fmt.Sprintf("%x", token), "PRIVATE KEY"} {
			assert.NotContains(f.t, text, canary, "P15, R15")
		}
	}
}

// seen is an observer that keeps all.
type seen struct {
	mu       sync.Mutex
	occurred []Occurrence
	served   []Request
}

func (s *seen) Occurred(what Occurrence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.occurred = append(s.occurred, what)
}

func (s *seen) Served(request Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = append(s.served, request)
}

func (s *seen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%+v %+v", s.occurred, s.served)
}

func (s *seen) of(kind Kind) (found []Occurrence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, what := range s.occurred {
		if what.Kind == kind {
			found = append(found, what)
		}
	}
	return found
}

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// line is an HTTP client with one certificate.
type line struct {
	f           *fixture
	certificate *tls.Certificate
	transport   *http.Transport
}

// dial makes a line, over HTTP/1.1 or over HTTP/2.
func (f *fixture) dial(certificate *tls.Certificate, two bool) *line {
	var protocols http.Protocols
	protocols.SetHTTP1(!two)
	protocols.SetHTTP2(two)
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
	if certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	l := &line{f: f, certificate: certificate, transport: &http.Transport{TLSClientConfig: config, Protocols: &protocols, DisableCompression: true}}
	f.t.Cleanup(l.transport.CloseIdleConnections)
	return l
}

// answer is what came back.
type answer struct {
	code   int
	reason protocol.FailureReason
	header http.Header
	body   []byte
	// parted says that the connection is closed, which only HTTP/1.1 tells.
	parted bool
	err    error
}

func (a answer) into(t *testing.T, message any) {
	t.Helper()
	require.NoError(t, a.err)
	require.Equal(t, http.StatusOK, a.code, string(a.body))
	require.NoError(t, json.Unmarshal(a.body, message))
}

func (a answer) is(t *testing.T, code int, reason protocol.FailureReason) {
	t.Helper()
	require.NoError(t, a.err)
	assert.Equal(t, code, a.code)
	assert.Equal(t, reason, a.reason)
	assert.Equal(t, "no-store", a.header.Get("Cache-Control"))
	assert.Equal(t, protocol.ContentType, a.header.Get("Content-Type"))
	assert.Empty(t, a.header.Get("Server"))
	assert.Empty(t, a.header.Get("Date"))
}

func (l *line) send(ctx context.Context, method, path string, body io.Reader, header http.Header) answer {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+l.f.address+path, body)
	if err != nil {
		return answer{err: err}
	}
	request.Header = header
	response, err := l.transport.RoundTrip(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	a := answer{code: response.StatusCode, header: response.Header, body: read, parted: response.Close, err: err}
	var failure protocol.Failure
	if json.Unmarshal(read, &failure) == nil {
		a.reason = failure.Reason
	}
	return a
}

// post sends a message.
func (l *line) post(path string, message any) answer {
	return l.postWith(context.Background(), path, message)
}

func (l *line) postWith(ctx context.Context, path string, message any) answer {
	body, err := json.Marshal(message)
	if err != nil {
		return answer{err: err}
	}
	return l.send(ctx, http.MethodPost, path, bytes.NewReader(body), http.Header{"Content-Type": {protocol.ContentType}})
}

// joiner is a cluster that has a token.
type joiner struct {
	key     *pki.Key
	request protocol.JoinRequest
	// certificate is signed by its own key, until it has another one.
	certificate tls.Certificate
	ca          record.CA
}

func (f *fixture) newJoiner(t *testing.T, clusterUUID string) *joiner {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	csr, err := pki.NewCSR(key)
	require.NoError(t, err)
	self, err := pki.SelfSigned(key, noon.Add(-time.Hour), noon.Add(time.Hour))
	require.NoError(t, err)
	ca := newCA(t, "joiner", noon)
	return &joiner{
		key: key, ca: ca, certificate: key.TLS(self.Raw),
		request: protocol.JoinRequest{
			Protocol: 1, TokenID: tokenID, Token: token, CSR: csr,
			Self: protocol.Self{
				ClusterUUID: clusterUUID, Time: f.clock.Now().Unix(),
				Trust: [][]byte{ca.Certificate}, TrustDigest: pki.BundleDigest([][]byte{ca.Certificate}),
			},
		},
	}
}

// join uses the token up; the joiner has the certificate that it got from then on.
func (f *fixture) join(j *joiner) answer {
	l := f.dial(&j.certificate, false)
	a := l.post(protocol.PathJoin, j.request)
	var response protocol.JoinResponse
	if a.code == http.StatusOK && json.Unmarshal(a.body, &response) == nil {
		j.certificate = j.key.TLS(response.Certificate)
		f.must(func(tx record.Tx) error {
			peer, err := tx.PeerOfCluster(j.request.ClusterUUID)
			if err != nil {
				return err
			}
			peer.Offer.Digest = peer.Offer.Body.Digest()
			return tx.PutPeer(peer)
		})
	}
	return a
}

// paired is a fixture with a peer that has joined but has not called yet.
func paired(t *testing.T, options ...option) (*fixture, *joiner) {
	t.Helper()
	f := newFixture(t, options...)
	j := f.newJoiner(t, west)
	require.Equal(t, http.StatusOK, f.join(j).code)
	return f, j
}

// state is what the joiner says when it holds all that there is.
func (f *fixture) state(j *joiner) protocol.State {
	peer := f.Peer(uid)
	return protocol.State{
		Self:  protocol.Self{ClusterUUID: j.request.ClusterUUID, Time: f.clock.Now().Unix(), TrustDigest: j.request.TrustDigest},
		Holds: protocol.Holding{Offer: peer.Offer.OfferHeader, Trust: pki.BundleDigest(f.Authority().Trust())},
		Offer: peer.Remote.Offer.OfferHeader,
	}
}

// beat is a sync that is not held back.
func (f *fixture) beat(j *joiner, change func(*protocol.SyncRequest)) protocol.SyncRequest {
	request := protocol.SyncRequest{Protocol: 1, State: f.state(j)}
	if change != nil {
		change(&request)
	}
	return request
}

// held starts a sync that is held back, and returns when the gateway holds it.
func (f *fixture) held(l *line, request protocol.SyncRequest) <-chan answer {
	f.t.Helper()
	answers := make(chan answer, 1)
	go func() { answers <- l.post(protocol.PathSync, request) }()
	f.untilHeld()
	return answers
}

func (f *fixture) untilHeld() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		f.gateway.presences.mu.Lock()
		defer f.gateway.presences.mu.Unlock()
		known := f.gateway.presences.byUID[uid]
		return known != nil && known.hold != nil && f.clock.HasWaiters()
	}, soon, tick)
}

func receive(t *testing.T, answers <-chan answer) answer {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(soon):
		require.Fail(t, "there is no answer")
		return answer{}
	}
}

func silent(t *testing.T, answers <-chan answer) {
	t.Helper()
	select {
	case a := <-answers:
		require.Fail(t, "it was answered", "%d %s %v", a.code, a.body, a.err)
	case <-time.After(30 * time.Millisecond):
	}
}

func newCSR(t *testing.T) (*pki.Key, []byte) {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	csr, err := pki.NewCSR(key)
	require.NoError(t, err)
	return key, csr
}

func projects(count int) []protocol.Project {
	var all []protocol.Project
	for i := range count {
		all = append(all, protocol.Project{Name: fmt.Sprintf("p%d", i)})
	}
	return all
}

func offering(generation uint64, body protocol.Offer) func(*protocol.SyncRequest) {
	return func(r *protocol.SyncRequest) {
		r.Offer = protocol.OfferHeader{Epoch: 1, Generation: generation, Digest: body.Digest()}
		r.OfferBody = &body
	}
}

func deep(depth int) string { return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) }
