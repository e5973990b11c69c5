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

package peersync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid  = "11111111-0000-4000-8000-000000000001"
	east = "aaaaaaaa-0000-4000-8000-000000000001" // the other cluster, which invited
	west = "bbbbbbbb-0000-4000-8000-000000000002" // this one, which joined
	url  = "https://east.example.com:9443"

	deadline = 20 * time.Second
	tick     = time.Millisecond
)

var (
	noon        = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	unreachable = &client.Failure{Kind: client.Unreachable}
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is the controller of a cluster that has joined another one, and that one.
type fixture struct {
	t      *testing.T
	ledger *countedLedger
	clock  *clocktesting.FakeClock
	*Controller
	far *far
	// stop stops the controller, if it runs, and waits for it.
	stop func()

	lock  sync.Mutex
	specs map[string]record.Spec
	conns int // that are open
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, ledger: &countedLedger{Memory: recordtest.New()}, clock: clocktesting.NewFakeClock(noon),
		specs: map[string]record.Spec{uid: {}}, stop: func() {},
	}
	controller, err := New(Config{
		Ledger: f.ledger, Connect: f.dial, Self: exchange.Self{ClusterUUID: west}, Specs: f.spec, Clock: f.clock,
	})
	require.NoError(t, err)
	f.Controller = controller
	f.far = newFar(t, f)
	f.update(func(tx record.Tx) error {
		_, ca := newCA(t, noon)
		return tx.PutAuthority(&record.Authority{Current: ca})
	})
	t.Cleanup(func() { f.stop() })
	return f
}

// joined is a fixture whose clusters are paired, and have not said a word since.
func joined(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.join(uid, "string")
	return f
}

// join pairs the two clusters, by a connection string that is told from others by text.
func (f *fixture) join(uid, text string) {
	f.t.Helper()
	key, err := pki.NewKey()
	require.NoError(f.t, err)
	control, err := pki.NewKey()
	require.NoError(f.t, err)
	certificate := f.far.certify(key)
	now := f.clock.Now()
	theirs, err := exchange.NewKey(f.ledger.Authority(), control.Public(), record.RoleControl, record.KeyLife, now)
	require.NoError(f.t, err)
	digest := record.Digest{}
	copy(digest[:], text)
	f.far.pair(control, f.ledger.Authority().Trust())
	f.update(func(tx record.Tx) error {
		_, err := record.StartJoin(tx, record.Joining{
			UID: uid, Name: "east", String: digest, TokenID: "0001020304050607", ClusterUUID: f.far.self.ClusterUUID,
			ExpiresAt: now.Add(time.Hour), Ours: west, Key: record.NewSecret(key.PEM()),
		})
		if err != nil {
			return err
		}
		if _, err := record.SetOffer(tx, uid, protocol.Offer{Alias: "west"}); err != nil {
			return err
		}
		return record.CompleteJoin(tx, record.Joined{
			UID: uid, String: digest, Now: now, Endpoints: []string{url}, Trust: f.far.authority.Trust(), Time: now.Unix(),
			Certificate: certificate, NotBefore: now.Add(-record.KeyBackdate), NotAfter: now.Add(record.KeyLife), Key: theirs,
		})
	})
}

func newCA(t *testing.T, now time.Time) (*pki.Authority, record.CA) {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	ca, err := pki.NewAuthority("a peering CA", key, now.Add(-time.Hour), now.Add(365*24*time.Hour))
	require.NoError(t, err)
	return ca, record.CA{Certificate: ca.Certificate.Raw, Key: record.NewSecret(key.PEM()), NotBefore: ca.Certificate.NotBefore, NotAfter: ca.Certificate.NotAfter}
}

func (f *fixture) update(change func(record.Tx) error) {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(context.Background(), change))
}

// edit changes the record of the peer.
func (f *fixture) edit(change func(*record.Peer)) {
	f.t.Helper()
	f.update(func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		change(peer)
		return tx.PutPeer(peer)
	})
}

func (f *fixture) offers(alias string) {
	f.t.Helper()
	f.update(func(tx record.Tx) error {
		_, err := record.SetOffer(tx, uid, protocol.Offer{Alias: alias})
		return err
	})
}

func (f *fixture) remote() *record.Remote { return f.ledger.Peer(uid).Remote }

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

// runs starts the controller.
func (f *fixture) runs() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(f.t, <-ended)
		assert.Zero(f.t, f.open(), "connections that were left open")
	})
}

func (f *fixture) eventually(condition func() bool, what string) {
	f.t.Helper()
	require.Eventually(f.t, condition, deadline, tick, what)
}

// passes lets time pass, by steps, until a condition holds. It returns how much did.
func (f *fixture) passes(step time.Duration, condition func() bool, what string) time.Duration {
	f.t.Helper()
	began := f.clock.Now()
	f.eventually(func() bool {
		if condition() {
			return true
		}
		f.clock.Step(step)
		return false
	}, what)
	return f.clock.Since(began)
}

func (f *fixture) open() int {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.conns
}

func (f *fixture) opened(by int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.conns += by
}

func (f *fixture) dial(target client.Target) (Conn, error) {
	if len(target.Endpoints) == 0 {
		return nil, errors.New("no endpoint")
	}
	f.opened(1)
	return &wire{fixture: f, target: target, close: sync.OnceFunc(func() { f.opened(-1) })}, nil
}

// wire is a connection to the other cluster.
type wire struct {
	*fixture
	target client.Target
	close  func()
}

func (w *wire) Close() { w.close() }

func (w *wire) Sync(ctx context.Context, request protocol.SyncRequest) (protocol.SyncResponse, error) {
	assert.NoError(w.t, request.Validate())
	return w.far.sync(ctx, w.target, request)
}

func (w *wire) Renew(_ context.Context, request protocol.RenewRequest) (protocol.RenewResponse, error) {
	assert.NoError(w.t, request.Validate())
	return w.far.renew(request)
}

// countedLedger counts what is written, and fails if it is told to.
type countedLedger struct {
	*recordtest.Memory
	lock   sync.Mutex
	writes int
	fails  error
}

func (l *countedLedger) Update(ctx context.Context, change func(record.Tx) error) error {
	l.lock.Lock()
	l.writes++
	fails := l.fails
	l.lock.Unlock()
	if fails != nil {
		return fails
	}
	return l.Memory.Update(ctx, change)
}

func (l *countedLedger) written() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.writes
}

func (l *countedLedger) failing(err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.fails = err
}

// far is the other cluster, whose gateway does what the protocol wants, until a test
// gives it another mind.
type far struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	self  exchange.Self

	lock      sync.Mutex
	ca        *pki.Authority
	authority *record.Authority
	peer      *record.Peer // what it knows of this cluster
	control   *pki.Key
	changed   chan struct{}
	requests  []protocol.SyncRequest
	targets   []client.Target
	renewals  int
	holding   int // requests whose answers are held back
	// instead is asked for each answer, if it is set; false: the gateway does as it should.
	instead func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool)
	// renewing is asked for the answer to each renewal, if it is set.
	renewing func(protocol.RenewRequest) (protocol.RenewResponse, error)
}

func newFar(t *testing.T, f *fixture) *far {
	ca, stored := newCA(t, noon)
	return &far{
		t: t, clock: f.clock, self: exchange.Self{ClusterUUID: east, Endpoints: []string{url}},
		ca: ca, authority: &record.Authority{Current: stored}, changed: make(chan struct{}),
	}
}

// certify makes a certificate for a key of this cluster.
func (r *far) certify(key *pki.Key) []byte {
	r.t.Helper()
	serial, err := pki.NewSerial()
	require.NoError(r.t, err)
	now := r.clock.Now()
	certificate, err := pki.IssuePeer(r.ca, key.Public(), pki.PeerTemplate{
		ClusterUUID: west, Role: pki.RoleControl, Serial: serial, From: now.Add(-record.KeyBackdate), Until: now.Add(record.KeyLife),
	})
	require.NoError(r.t, err)
	return certificate.Raw
}

// pair makes its record of this cluster, as a join does.
func (r *far) pair(control *pki.Key, trust [][]byte) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.control = control
	body := protocol.Offer{Alias: "east"}
	r.peer = &record.Peer{
		UID: "far", Remote: &record.Remote{ClusterUUID: west, Trust: trust, PairedAt: r.clock.Now(), Ours: record.Credential{Key: record.NewSecret(control.PEM())}},
		Offer: record.Offer{OfferHeader: protocol.OfferHeader{Epoch: 5, Generation: 1, Digest: body.Digest()}, Body: body},
	}
}

// does changes something there, which wakes the requests that are held back.
func (r *far) does(change func(*record.Peer)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	change(r.peer)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *far) offers(generation uint64, body protocol.Offer) {
	r.does(func(peer *record.Peer) {
		peer.Offer = record.Offer{OfferHeader: protocol.OfferHeader{Epoch: 5, Generation: generation, Digest: body.Digest()}, Body: body}
	})
}

func (r *far) mind(instead func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.instead = instead
}

// fails has every answer fail, nil: no more.
func (r *far) fails(err error) {
	if err == nil {
		r.mind(nil)
		return
	}
	r.mind(func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) { return nil, err, true })
}

func (r *far) known() record.Peer {
	r.lock.Lock()
	defer r.lock.Unlock()
	peer, err := r.peer.Clone()
	require.NoError(r.t, err)
	return *peer
}

func (r *far) count() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.requests)
}

func (r *far) last() protocol.SyncRequest {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.requests[len(r.requests)-1]
}

func (r *far) lastTarget() client.Target {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.targets[len(r.targets)-1]
}

func (r *far) held() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.holding
}

// isQuiet tells whether both hold all of each other's, and a beat is held back.
func (f *fixture) isQuiet() bool {
	peer := f.ledger.Peer(uid)
	known := f.far.known()
	return f.far.held() == 1 && peer.Remote != nil && !exchange.Lacks(&known, f.far.authority) &&
		!exchange.Lacks(peer, f.ledger.Authority()) && !exchange.News(f.far.last().State, peer, f.ledger.Authority())
}

// sync is what a gateway does with a beat (P9).
func (r *far) sync(ctx context.Context, target client.Target, request protocol.SyncRequest) (protocol.SyncResponse, error) {
	r.lock.Lock()
	r.requests = append(r.requests, request)
	r.targets = append(r.targets, target)
	instead := r.instead
	r.lock.Unlock()
	if instead != nil {
		if answer, err, done := instead(request); err != nil {
			return protocol.SyncResponse{}, err
		} else if done {
			return *answer, nil
		}
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	repeat := exchange.Hear(r.peer, exchange.Message{State: request.State}, r.clock.Now()).Repeat && request.OfferBody == nil
	if request.Wait > 0 && !repeat && !exchange.Lacks(r.peer, r.authority) {
		r.hold(ctx, time.Duration(request.Wait)*time.Second)
	}
	if ctx.Err() != nil {
		return protocol.SyncResponse{}, fmt.Errorf("could not wait for an answer: %w", context.Canceled)
	}
	state, err := exchange.Say(r.self, r.peer, r.authority, r.clock.Now())
	assert.NoError(r.t, err)
	answer := protocol.SyncResponse{Protocol: 1, State: state}
	assert.NoError(r.t, answer.Validate())
	return answer, nil
}

// hold waits until there is something to say, without the lock.
func (r *far) hold(ctx context.Context, wait time.Duration) {
	r.holding++
	defer func() { r.holding-- }()
	timer := r.clock.NewTimer(wait)
	defer timer.Stop()
	for !exchange.Lacks(r.peer, r.authority) {
		changed := r.changed
		r.lock.Unlock()
		over := false
		select {
		case <-changed:
		case <-timer.C():
			over = true
		case <-ctx.Done():
			over = true
		}
		r.lock.Lock()
		if over {
			return
		}
	}
}

func (r *far) renew(request protocol.RenewRequest) (protocol.RenewResponse, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.renewals++
	if r.renewing != nil {
		return r.renewing(request)
	}
	public, err := pki.ParseCSR(request.CSR)
	assert.NoError(r.t, err)
	entry, err := exchange.NewKey(r.authority, public, record.RoleControl, record.KeyLife, r.clock.Now())
	assert.NoError(r.t, err)
	certificate, err := exchange.Certify(r.authority, west, entry, public)
	assert.NoError(r.t, err)
	return protocol.RenewResponse{Certificate: certificate}, nil
}

func (r *far) renewed() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.renewals
}

func (r *far) renewsBy(renewing func(protocol.RenewRequest) (protocol.RenewResponse, error)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.renewing = renewing
}
