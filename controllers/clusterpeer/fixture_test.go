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
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// The clusters of these tests.
const (
	ourUUID   = "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0"
	otherUUID = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
	thirdUUID = "11111111-2222-4333-8444-555555555555"
)

var (
	noon      = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	yesterday = noon.Add(-24 * time.Hour)
)

var errInjected = errors.New("a fault of this test")

// fixture is a controller whose informer holds what the test puts there, with a server,
// a ledger and another cluster that are fakes.
type fixture struct {
	t      *testing.T
	server *fakeServer
	cache  cache.Indexer
	ledger *faultyLedger
	dialer *fakeDialer
	random *counter
	events chan string
	clock  *clocktesting.FakeClock
	// planned is what the model of access is to say.
	planned *plans
	// provider is what keeps the TokenExchangeProvider from being made.
	provider *providers
	*Controller
}

// plans is a model of access that says what it is told to.
type plans struct {
	plan access.Plan
	err  error
}

func (p *plans) Plan(*peeringv1alpha1.ClusterPeer) (*access.Plan, error) {
	if p.err != nil {
		return nil, p.err
	}
	plan := p.plan
	return &plan, nil
}

func (*plans) Subscribe(func(cache.ObjectName)) (cancel func()) { return func() {} }

// providers says what it is told to of the TokenExchangeProvider of each ClusterPeer.
type providers struct {
	reason, message string
	enqueue         func(cache.ObjectName)
}

func (p *providers) Fault(string) (reason, message string) { return p.reason, p.message }

func (p *providers) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	p.enqueue = enqueue
	return func() { p.enqueue = nil }
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t:      t,
		server: newFakeServer(t),
		ledger: &faultyLedger{Memory: recordtest.New()},
		dialer: newFakeDialer(t),
		random: &counter{},
		clock:  clocktesting.NewFakeClock(noon),

		planned:  &plans{},
		provider: &providers{},
	}
	authority := newAuthority(t, "ours", noon)
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{Current: authority}) }))
	f.restart()
	return f
}

// restart puts another controller in the place of this one, which remembers nothing.
func (f *fixture) restart() {
	f.t.Helper()
	recorder := events.NewFakeRecorder(100)
	f.events = recorder.Events
	informer := externalversions.NewSharedInformerFactory(f.server.client, 0).Peering().V1alpha1().ClusterPeers()
	controller, err := New(Config{
		Client: f.server.client, Informer: informer, Recorder: recorder, Clock: f.clock, Ledger: f.ledger, Plans: f.planned, Providers: f.provider, Dialer: f.dialer,
		Self: exchange.Self{ClusterUUID: ourUUID, Endpoints: []string{"https://ours.example.com:9443"}}, TokenRandom: f.random,
	})
	require.NoError(f.t, err)
	controller.jitter = func(limit time.Duration) time.Duration { return limit / 2 }
	if f.cache != nil {
		require.NoError(f.t, informer.Informer().GetIndexer().Replace(f.cache.List(), ""))
	}
	f.Controller, f.cache = controller, informer.Informer().GetIndexer()
}

// holds puts a ClusterPeer into the server and, redacted, into the informer.
func (f *fixture) holds(peer *peeringv1alpha1.ClusterPeer) {
	f.t.Helper()
	f.server.lock.Lock()
	stored := f.server.store(peer.DeepCopy())
	f.server.lock.Unlock()
	require.NoError(f.t, f.cache.Update(redacted(stored)))
}

// change changes a ClusterPeer as somebody else would.
func (f *fixture) change(name string, change func(*peeringv1alpha1.ClusterPeer)) {
	f.t.Helper()
	peer := f.real(name)
	change(peer)
	f.holds(peer)
}

// real returns a ClusterPeer as the server holds it.
func (f *fixture) real(name string) *peeringv1alpha1.ClusterPeer {
	f.t.Helper()
	f.server.lock.Lock()
	defer f.server.lock.Unlock()
	require.Contains(f.t, f.server.objects, name)
	return f.server.objects[name].DeepCopy()
}

// arrives brings what the server holds to the informer.
func (f *fixture) arrives(name string) *peeringv1alpha1.ClusterPeer {
	f.t.Helper()
	f.server.lock.Lock()
	defer f.server.lock.Unlock()
	f.server.patches = nil
	peer := f.server.objects[name]
	if peer == nil {
		require.NoError(f.t, f.cache.Delete(&peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		return nil
	}
	peer = redacted(peer)
	require.NoError(f.t, f.cache.Update(peer))
	return peer
}

func (f *fixture) run(name string) (again time.Duration) {
	f.t.Helper()
	again, err := f.sync(f.t.Context(), cache.ObjectName{Name: name})
	require.NoError(f.t, err)
	return again
}

// settle runs until nothing is written any more, and returns what it came to.
func (f *fixture) settle(name string) (peer *peeringv1alpha1.ClusterPeer, again time.Duration) {
	f.t.Helper()
	for range 5 {
		again = f.run(name)
		quiet := len(f.writes()) == 0
		peer = f.arrives(name)
		if quiet {
			return peer, again
		}
	}
	f.t.Fatal("it writes and writes")
	return nil, 0
}

// writes returns the patches that were sent since arrives.
func (f *fixture) writes() []sentPatch {
	f.server.lock.Lock()
	defer f.server.lock.Unlock()
	return f.server.patches
}

// recorded returns the Events since the last call.
func (f *fixture) recorded() []string {
	var out []string
	for {
		select {
		case event := <-f.events:
			out = append(out, event)
		default:
			return out
		}
	}
}

// record changes the record of a ClusterPeer.
func (f *fixture) record(uid string, change func(*record.Peer)) {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		require.NoError(f.t, err)
		if peer == nil {
			peer = &record.Peer{UID: uid, Name: "p"}
		}
		change(peer)
		return tx.PutPeer(peer)
	}))
}

func readyOf(t *testing.T, peer *peeringv1alpha1.ClusterPeer) metav1.Condition {
	t.Helper()
	ready := meta.FindStatusCondition(peer.Status.Conditions, peeringv1alpha1.ConditionReady)
	require.NotNil(t, ready)
	return *ready
}

// counter is randomness that is never the same and always known.
type counter struct {
	lock sync.Mutex
	at   byte
}

func (c *counter) Read(into []byte) (int, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.at++
	copy(into, canary)
	into[len(into)-1] = c.at
	return len(into), nil
}

// faultyLedger fails when it is told to: before a change is made, or after it was.
type faultyLedger struct {
	*recordtest.Memory
	before, after func(updates int) error
	updates       int
}

func (l *faultyLedger) Update(ctx context.Context, change func(record.Tx) error) error {
	l.updates++
	if l.before != nil {
		if err := l.before(l.updates); err != nil {
			return err
		}
	}
	err := l.Memory.Update(ctx, change)
	if err == nil && l.after != nil {
		return l.after(l.updates)
	}
	return err
}

// fakeDialer is another cluster.
type fakeDialer struct {
	t         *testing.T
	authority record.CA
	control   *pki.Key // of the other cluster, for us

	lock   sync.Mutex
	joins  []client.JoinParams
	lefts  []*record.Remote
	answer func(answer *protocol.JoinResponse) error
	leave  func(ctx context.Context) error
}

func newFakeDialer(t *testing.T) *fakeDialer {
	t.Helper()
	control, err := pki.NewKey()
	require.NoError(t, err)
	return &fakeDialer{t: t, authority: newAuthority(t, "theirs", noon), control: control}
}

func (d *fakeDialer) Join(_ context.Context, params client.JoinParams) (protocol.JoinResponse, string, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.joins = append(d.joins, params)
	authority, err := pki.NewAuthorityFrom(d.authority.Certificate, d.authority.Key.Reveal())
	require.NoError(d.t, err)
	public, err := pki.ParseCSR(params.Request.CSR)
	require.NoError(d.t, err)
	require.NoError(d.t, params.Request.Validate())
	certificate, err := pki.IssuePeer(authority, public, pki.PeerTemplate{
		ClusterUUID: params.Request.ClusterUUID, Role: pki.RoleControl, Serial: []byte{1}, From: noon, Until: noon.Add(record.KeyLife),
	})
	require.NoError(d.t, err)
	csr, err := pki.NewCSR(d.control)
	require.NoError(d.t, err)
	trust := [][]byte{d.authority.Certificate}
	answer := protocol.JoinResponse{
		Protocol: 1, Certificate: certificate.Raw, CSR: csr,
		Self: protocol.Self{
			ClusterUUID: otherUUID, Time: params.Request.Time, Endpoints: []string{"https://theirs.example.com"},
			Trust: trust, TrustDigest: pki.BundleDigest(trust),
		},
	}
	if d.answer != nil {
		if err := d.answer(&answer); err != nil {
			return protocol.JoinResponse{}, "", err
		}
	}
	return answer, "https://theirs.example.com", nil
}

func (d *fakeDialer) Leave(ctx context.Context, remote *record.Remote) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.lefts = append(d.lefts, remote)
	if d.leave != nil {
		return d.leave(ctx)
	}
	return nil
}

// says has the other cluster answer like that from now on.
func (d *fakeDialer) says(err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.answer = func(*protocol.JoinResponse) error { return err }
}

func newAuthority(t *testing.T, name string, from time.Time) record.CA {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	authority, err := pki.NewAuthority(name, key, from.Add(-time.Hour), from.Add(365*24*time.Hour))
	require.NoError(t, err)
	return record.CA{Certificate: authority.Certificate.Raw, Key: record.NewSecret(key.PEM()), NotBefore: authority.Certificate.NotBefore, NotAfter: authority.Certificate.NotAfter}
}

func pinOf(t *testing.T, ca record.CA) connstring.Pin {
	t.Helper()
	certificate, err := x509.ParseCertificate(ca.Certificate)
	require.NoError(t, err)
	return connstring.Pin(pki.HashOfCertificate(certificate))
}

// foundIn is what is to be found in a connection string that is well-formed.
func foundIn(t testing.TB, text string) finding {
	t.Helper()
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	return finding{text: sha256.Sum256([]byte(text)), tokenID: said.TokenID, clusterUUID: said.ClusterUUID, expiresAt: said.ExpiresAt, protocol: said.Protocol}
}

// pieces are what must show up nowhere of a connection string.
func pieces(t *testing.T, text string) []string {
	t.Helper()
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	token := said.Token.Reveal()
	return []string{text, strings.Split(text, ".")[1][:60], string(token), canary[:20], hex.EncodeToString(token)}
}

// fails has requests that match fail from now on.
func (f *fixture) fails(method, subresource string, code int32, reason metav1.StatusReason) {
	f.server.instead(func(w http.ResponseWriter, request *http.Request) bool {
		if request.Method != method || !strings.HasSuffix(request.URL.Path, subresource) {
			return false
		}
		respond(w, int(code), failure(code, reason))
		return true
	})
}

// statusOf returns the status that an apply sends.
func statusOf(t *testing.T, sent sentPatch) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(sent.body), &object))
	status, ok := object["status"].(map[string]any)
	require.True(t, ok)
	return status
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	_, err := New(Config{})
	require.ErrorContains(t, err, "not complete")
	f := newFixture(t)
	complete := Config{
		Client: f.server.client, Informer: externalversions.NewSharedInformerFactory(f.server.client, 0).Peering().V1alpha1().ClusterPeers(),
		Recorder: f.recorder, Clock: f.clock, Ledger: f.ledger, Plans: f.planned, Providers: f.provider, Dialer: f.dialer,
		Self: exchange.Self{ClusterUUID: ourUUID}, TokenRandom: f.random,
	}
	_, err = New(complete)
	require.NoError(t, err, "no endpoint: it can join")
	for name, forget := range map[string]func(*Config){
		"client": func(c *Config) { c.Client = nil }, "informer": func(c *Config) { c.Informer = nil }, "recorder": func(c *Config) { c.Recorder = nil },
		"clock": func(c *Config) { c.Clock = nil }, "ledger": func(c *Config) { c.Ledger = nil }, "dialer": func(c *Config) { c.Dialer = nil },
		"UUID": func(c *Config) { c.Self = exchange.Self{} }, "random": func(c *Config) { c.TokenRandom = nil }, "plans": func(c *Config) { c.Plans = nil },
		"providers": func(c *Config) { c.Providers = nil },
	} {
		config := complete
		forget(&config)
		_, err = New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}
