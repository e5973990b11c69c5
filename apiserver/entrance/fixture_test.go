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
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	testingclock "k8s.io/utils/clock/testing"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid       = "11111111-0000-4000-8000-000000000001"
	otherUID  = "11111111-0000-4000-8000-000000000002"
	east      = "aaaaaaaa-0000-4000-8000-000000000001" // this cluster
	west      = "bbbbbbbb-0000-4000-8000-000000000002" // the peer
	north     = "cccccccc-0000-4000-8000-000000000003"
	issuerURL = "https://kubernetes.default.svc.cluster.local"
	logs      = "logs"
	workload  = "peer:" + west + ":system:serviceaccount:module-logs:controller"
	apiPath   = "/peering/v1/api/logs"
	soon      = 10 * time.Second
	tick      = 2 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an entrance of the cluster east at a gateway that is being served, with a
// peer that has been granted a capability, in front of a host that keeps what it got.
type fixture struct {
	t *testing.T
	*recordtest.Memory
	clock    *testingclock.FakeClock
	entrance *Entrance
	address  string
	issuer   *issuer
	data     tls.Certificate
	host     *fakeHost
	audit    *audited
	log      *lockedBuffer

	lock         sync.Mutex
	specs        map[string]record.Spec
	capabilities map[string]*peeringv1alpha1.PeeringCapability
	// answered and reset are how many streams were, of those opened by frames.
	answered, reset int
}

func newFixture(t *testing.T, limits Limits) *fixture {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	f := &fixture{
		t: t, Memory: recordtest.New(), clock: testingclock.NewFakeClock(now), issuer: newIssuer(t, "west"),
		audit: &audited{}, log: &lockedBuffer{},
		specs:        map[string]record.Spec{uid: {Capabilities: []string{logs}}},
		capabilities: map[string]*peeringv1alpha1.PeeringCapability{logs: capabilityOf(logs)},
	}
	f.pair(now)
	f.host = newFakeHost(t)
	claims, cancel := record.NewIssuerClaims(f)
	t.Cleanup(cancel)
	var err error
	f.entrance, err = New(Config{
		Ledger: f, Specs: f.spec, Capabilities: f.capability, Claims: claims, API: f.host.api(t),
		ClusterUUID: east, Auditor: f.audit, Clock: f.clock, Limits: limits,
	})
	require.NoError(t, err)
	f.serve()
	return f
}

// serve serves the gateway and runs the entrance, in the order that it asks for.
func (f *fixture) serve() {
	var listening net.ListenConfig
	listener, err := listening.Listen(f.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	f.address = listener.Addr().String()
	g, err := gateway.New(gateway.Config{
		Ledger: f, Self: exchange.Self{ClusterUUID: east, Endpoints: []string{"https://" + f.address}},
		Specs: f.spec, Observer: ignored{}, Clock: f.clock, Limits: gateway.Limits{Drain: 100 * time.Millisecond},
	})
	require.NoError(f.t, err)
	require.NoError(f.t, g.Handle(protocol.PathAPI, record.RoleData, f.entrance))
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(f.log)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	running, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { assert.NoError(f.t, g.Serve(ctx, listener)) })
	var entrances sync.WaitGroup
	entrances.Go(func() { f.entrance.Run(running) })
	require.Eventually(f.t, f.entrance.streams.Runs, 10*time.Second, time.Millisecond)
	f.t.Cleanup(func() {
		cancel()
		group.Wait()
		stop()
		entrances.Wait()
		assert.NotContains(f.t, f.log.String(), "Panicked")
		for _, canary := range []string{"eyJ", "mpersonate", "namespaces", workload} {
			assert.NotContains(f.t, f.log.String(), canary, "R15: nothing of a request is logged")
		}
	})
}

// pair writes the records of a peer that has a data key, and is granted the capability.
func (f *fixture) pair(now time.Time) {
	f.t.Helper()
	key, err := pki.NewKey()
	require.NoError(f.t, err)
	authority, err := pki.NewAuthority("east", key, now.Add(-time.Hour), now.Add(365*24*time.Hour))
	require.NoError(f.t, err)
	ca := record.CA{
		Certificate: authority.Certificate.Raw, Key: record.NewSecret(key.PEM()),
		NotBefore: authority.Certificate.NotBefore, NotAfter: authority.Certificate.NotAfter,
	}
	dataKey, err := pki.NewKey()
	require.NoError(f.t, err)
	serial, err := pki.NewSerial()
	require.NoError(f.t, err)
	certificate, err := pki.IssuePeer(authority, dataKey.Public(), pki.PeerTemplate{
		ClusterUUID: west, Role: pki.RoleData, Serial: serial, From: now.Add(-time.Minute), Until: now.Add(24 * time.Hour),
	})
	require.NoError(f.t, err)
	f.data = dataKey.TLS(certificate.Raw)
	f.must(func(tx record.Tx) error {
		if err := tx.PutAuthority(&record.Authority{Current: ca}); err != nil {
			return err
		}
		remote := &record.Remote{
			ClusterUUID: west, PairedAt: now, ConfirmedAt: now,
			Keys: []record.Key{{
				Hash: pki.HashOfCertificate(certificate), Role: record.RoleData, Serial: serial, Used: true,
				NotBefore: certificate.NotBefore, NotAfter: certificate.NotAfter, Issuer: pki.HashOfCertificate(authority.Certificate),
			}},
			Offer: record.AcceptedOffer{Body: offerOf(&protocol.Issuer{URL: issuerURL, JWKS: f.issuer.jwks()})},
		}
		remote.NoteIssuer(now)
		return tx.PutPeer(&record.Peer{UID: uid, Name: "west", Remote: remote, Offer: record.Offer{Body: offerOf(nil)}})
	})
	f.grant(
		record.GrantedObject{Kind: record.KindRole, Namespace: "shop", Name: "entente-1", UID: "r1"},
		record.GrantedObject{Kind: record.KindClusterRole, Name: "entente-2", UID: "r2"},
	)
}

func offerOf(issuer *protocol.Issuer) protocol.Offer {
	return protocol.Offer{Capabilities: []protocol.Capability{{Name: logs, Version: "1"}}, Issuer: issuer}
}

func capabilityOf(name string) *peeringv1alpha1.PeeringCapability {
	return &peeringv1alpha1.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: peeringv1alpha1.PeeringCapabilitySpec{
			Version:   "1",
			Consumers: []peeringv1alpha1.Consumer{{Kind: peeringv1alpha1.ConsumerKindServiceAccount, Namespace: "module-logs", Name: "controller"}},
			Rules: []peeringv1alpha1.CapabilityRule{
				{APIGroups: []string{""}, Resources: []string{"configmaps", "pods", "pods/log"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
				{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"known"}, Verbs: []string{"get", "list", "watch"}},
				{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "deletecollection"}},
				{APIGroups: []string{""}, Resources: []string{"nodes", "namespaces", "namespaces/status"}, Verbs: []string{"get", "list", "watch"}},
				{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
			},
		},
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

// grant makes the objects all that the peer is granted, beside those by which this server
// may be the users of the peer, which are nothing that the peer is granted.
func (f *fixture) grant(objects ...record.GrantedObject) {
	f.t.Helper()
	objects = slices.Clone(objects)
	for _, kind := range []string{record.KindClusterRole, record.KindClusterRoleBinding, record.KindRole, record.KindRoleBinding} {
		acting := record.GrantedObject{Kind: kind, Name: record.ImpersonationPrefix + "1", UID: "i"}
		if kind == record.KindRole || kind == record.KindRoleBinding {
			acting.Namespace = "shop"
		}
		objects = append(objects, acting)
	}
	f.must(func(tx record.Tx) error {
		// What was there goes, and the rest is brought into order.
		if err := tx.PutGrant(&record.Grant{PeerUID: uid, PeerName: "west", Capability: logs}); err != nil {
			return err
		}
		return record.ChangeGrant(tx, record.GrantChange{PeerUID: uid, PeerName: "west", Capability: logs, Put: objects})
	})
}

func (f *fixture) spec(uid string) (record.Spec, bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	spec, ok := f.specs[uid]
	return spec, ok
}

func (f *fixture) setSpec(spec record.Spec) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.specs[uid] = spec
}

func (f *fixture) capability(name string) (*peeringv1alpha1.PeeringCapability, bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	capability, ok := f.capabilities[name]
	return capability, ok
}

// change replaces the capability by a changed one.
func (f *fixture) change(change func(*peeringv1alpha1.PeeringCapabilitySpec)) {
	f.lock.Lock()
	defer f.lock.Unlock()
	changed := f.capabilities[logs].DeepCopy()
	change(&changed.Spec)
	f.capabilities[logs] = changed
}

func (f *fixture) removeCapability() {
	f.lock.Lock()
	defer f.lock.Unlock()
	delete(f.capabilities, logs)
}

// token is a valid one, of the consumer.
func (f *fixture) token() string { return f.issuer.sign(f.claims()) }

func (f *fixture) claims() map[string]any { return claimsAt(f.clock.Now()) }

func claimsAt(now time.Time) map[string]any {
	return map[string]any{
		"iss": issuerURL, "sub": "system:serviceaccount:module-logs:controller", "aud": []string{protocol.Audience(east, logs)},
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
}

// issuer signs tokens of the peer.
type issuer struct {
	t   *testing.T
	kid string
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T, kid string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return &issuer{t, kid, key}
}

func (i *issuer) jwks() string {
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.kid, Algorithm: "ES256", Use: "sig"}}})
	require.NoError(i.t, err)
	return string(text)
}

func (i *issuer) sign(claims map[string]any) string {
	i.t.Helper()
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, (&jose.SignerOptions{}).WithHeader("kid", i.kid))
	require.NoError(i.t, err)
	payload, err := json.Marshal(claims)
	require.NoError(i.t, err)
	signed, err := made.Sign(payload)
	require.NoError(i.t, err)
	compact, err := signed.CompactSerialize()
	require.NoError(i.t, err)
	return compact
}

// client is one with the data certificate, over HTTP/1.1 or over HTTP/2.
func (f *fixture) client(two bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(!two)
	protocols.SetHTTP2(two)
	transport := &http.Transport{TLSClientConfig: f.tls(), Protocols: &protocols, DisableCompression: true}
	f.t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func (f *fixture) tls() *tls.Config {
	authority, err := pki.ParseAuthority(f.Authority().Current.Certificate)
	require.NoError(f.t, err)
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &f.data, nil }}
}

// request is one with a valid token.
func (f *fixture) request(ctx context.Context, method, path string, body io.Reader) *http.Request {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "https://"+f.address+path, body)
	require.NoError(f.t, err)
	r.Header.Set("Authorization", "Bearer "+f.token())
	return r
}

// answer is what came back.
type answer struct {
	code    int
	reason  Reason // of a refusal
	header  http.Header
	trailer http.Header
	body    string
}

func (f *fixture) send(transport *http.Transport, r *http.Request) answer {
	f.t.Helper()
	response, err := transport.RoundTrip(r)
	require.NoError(f.t, err)
	return f.read(response)
}

func (f *fixture) read(response *http.Response) answer {
	f.t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	a := answer{code: response.StatusCode, header: response.Header, trailer: response.Trailer, body: string(body)}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Details != nil && len(status.Details.Causes) == 1 {
		a.reason = Reason(status.Details.Causes[0].Type)
		assert.EqualValues(f.t, a.code, status.Code)
	}
	return a
}

func (f *fixture) get(path string) answer {
	f.t.Helper()
	transport := f.client(false)
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(f.t.Context(), soon)
	defer cancel()
	return f.send(transport, f.request(ctx, http.MethodGet, apiPath+path, nil))
}

// raw sends a request as it is written, over HTTP/1.1, and returns the connection as well.
func (f *fixture) raw(request string) (*http.Response, *bufio.Reader, *tls.Conn) {
	f.t.Helper()
	dialer := tls.Dialer{Config: f.tls()}
	opened, err := dialer.DialContext(f.t.Context(), "tcp", f.address)
	require.NoError(f.t, err)
	conn := opened.(*tls.Conn)
	f.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(f.t, conn.SetDeadline(time.Now().Add(soon)))
	_, err = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
	require.NoError(f.t, err)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(f.t, err)
	return response, reader, conn
}

// audited is an auditor that keeps all.
type audited struct {
	lock sync.Mutex
	all  []Exchange
}

// Exchanged implements Auditor.
func (a *audited) Exchanged(exchange Exchange) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.all = append(a.all, exchange)
}

// audited waits for so many exchanges since it was last called, and returns them: that a
// request is over is told after its answer.
func (f *fixture) audited(count int) (all []Exchange) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		f.audit.lock.Lock()
		defer f.audit.lock.Unlock()
		if len(f.audit.all) < count {
			return false
		}
		all, f.audit.all = f.audit.all, nil
		return true
	}, soon, tick)
	assert.Len(f.t, all, count)
	return all
}

// ignored is a gateway.Observer.
type ignored struct{}

func (ignored) Occurred(gateway.Occurrence) {}
func (ignored) Served(gateway.Request)      {}

type lockedBuffer struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.String()
}
