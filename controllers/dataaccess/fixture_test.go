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

package dataaccess

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid       = "11111111-0000-4000-8000-000000000001" // of ClusterPeer east
	east      = "aaaaaaaa-0000-4000-8000-000000000001" // the other cluster
	west      = "bbbbbbbb-0000-4000-8000-000000000002" // this one
	endpoint  = "https://east.example.com:9443"
	namespace = "entente-access"
	secret    = "east-access"

	deadline = 20 * time.Second
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is the controller of a cluster with a ClusterPeer east, which is paired.
type fixture struct {
	t        *testing.T
	book     *book
	clock    *clocktesting.FakeClock
	far      *far
	host     *kubefake.Clientset
	recorder *events.FakeRecorder
	peers    externalversions.SharedInformerFactory
	*Controller
}

// book fails when it is told to.
type book struct {
	*recordtest.Memory
	lock  sync.Mutex
	fails error
}

func (b *book) Update(ctx context.Context, change func(record.Tx) error) error {
	b.lock.Lock()
	fails := b.fails
	b.lock.Unlock()
	if fails != nil {
		return fails
	}
	return b.Memory.Update(ctx, change)
}

func (b *book) failing(err error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.fails = err
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, book: &book{Memory: recordtest.New()}, clock: clocktesting.NewFakeClock(noon),
		host: kubefake.NewSimpleClientset(), recorder: events.NewFakeRecorder(100),
	}
	f.far = newFar(t, f.clock)
	guarded(f.host)
	key, certificate := f.far.certified(west)
	require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: uid, Name: "east", Remote: &record.Remote{
			ClusterUUID: east, Endpoints: []string{endpoint}, Trust: f.far.authority().Trust(), PairedAt: noon, ConfirmedAt: noon,
			Ours: record.Credential{Key: record.NewSecret(key.PEM()), Certificate: certificate, NotBefore: noon, NotAfter: noon.Add(record.KeyLife)},
		}})
	}))
	f.restart()
	f.shows(clusterPeer("east", uid))
	return f
}

func clusterPeer(name, uid string) *peeringv1alpha1.ClusterPeer {
	return &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}

// restart is another process, which knows what is there and nothing else.
func (f *fixture) restart() {
	f.t.Helper()
	var before []any
	if f.peers != nil {
		before = f.peers.Peering().V1alpha1().ClusterPeers().Informer().GetStore().List()
	}
	f.peers = externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
	controller, err := New(Config{
		Ledger: f.book, Informer: f.peers.Peering().V1alpha1().ClusterPeers(), Connect: f.far.connect,
		Secrets: f.host.CoreV1().Secrets(namespace), Recorder: f.recorder, Clock: f.clock,
	})
	require.NoError(f.t, err)
	f.Controller = controller
	require.NoError(f.t, f.peers.Peering().V1alpha1().ClusterPeers().Informer().GetStore().Replace(before, ""))
}

// shows has the informer show these ClusterPeers and no others.
func (f *fixture) shows(peers ...*peeringv1alpha1.ClusterPeer) {
	f.t.Helper()
	var all []any
	for _, peer := range peers {
		all = append(all, peer)
	}
	require.NoError(f.t, f.peers.Peering().V1alpha1().ClusterPeers().Informer().GetStore().Replace(all, ""))
}

func (f *fixture) edit(change func(*record.Remote)) {
	f.t.Helper()
	require.NoError(f.t, f.book.Memory.Update(f.t.Context(), func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		change(peer.Remote)
		return tx.PutPeer(peer)
	}))
}

func (f *fixture) remote() *record.Remote { return f.book.Peer(uid).Remote }

// once looks at ClusterPeer east once.
func (f *fixture) once() time.Duration {
	f.t.Helper()
	again, err := f.sync(f.t.Context(), cache.ObjectName{Name: "east"})
	require.NoError(f.t, err)
	return again
}

// twice looks at it again, as a change of the ledger makes it.
func (f *fixture) twice() time.Duration {
	f.t.Helper()
	f.once()
	return f.once()
}

// secret returns the Secret for east, or nil.
func (f *fixture) secret() *corev1.Secret {
	f.t.Helper()
	live, err := f.host.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return live.(*corev1.Secret)
}

// puts has a Secret there that is as somebody else made it.
func (f *fixture) puts(live *corev1.Secret) {
	f.t.Helper()
	live.Namespace = namespace
	if live.UID == "" {
		live.UID = "theirs"
	}
	live.ResourceVersion = "1"
	resource := corev1.SchemeGroupVersion.WithResource("secrets")
	_ = f.host.Tracker().Delete(resource, namespace, live.Name)
	require.NoError(f.t, f.host.Tracker().Create(resource, live, namespace))
}

// requests returns the verbs of the requests to the host cluster since the last call.
func (f *fixture) requests() (verbs []string) {
	for _, action := range f.host.Actions() {
		verbs = append(verbs, action.GetVerb())
	}
	f.host.ClearActions()
	return verbs
}

func (f *fixture) events() (all []string) {
	for len(f.recorder.Events) > 0 {
		all = append(all, <-f.recorder.Events)
	}
	return all
}

// guarded has a fake API give UIDs and versions, and mind preconditions.
func guarded(host *kubefake.Clientset) {
	var lock sync.Mutex
	uids := 0
	resource := corev1.SchemeGroupVersion.WithResource("secrets")
	host.PrependReactor("*", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		lock.Lock()
		defer lock.Unlock()
		uids++
		next := strconv.Itoa(uids)
		conflict := func(name string) error {
			return apierrors.NewConflict(resource.GroupResource(), name, errors.New("precondition failed"))
		}
		find := func(name string) (*corev1.Secret, error) {
			live, err := host.Tracker().Get(resource, namespace, name)
			if err != nil {
				return nil, err
			}
			return live.(*corev1.Secret), nil
		}
		switch action := action.(type) {
		case clienttesting.CreateActionImpl:
			made := action.Object.(*corev1.Secret).DeepCopy()
			made.Namespace, made.UID, made.ResourceVersion = namespace, types.UID("uid-"+next), "v"+next
			return true, made, host.Tracker().Create(resource, made, namespace)
		case clienttesting.UpdateActionImpl:
			made := action.Object.(*corev1.Secret).DeepCopy()
			live, err := find(made.Name)
			if err != nil {
				return true, nil, err
			}
			if live.ResourceVersion != made.ResourceVersion {
				return true, nil, conflict(made.Name)
			}
			made.ResourceVersion = "v" + next
			return true, made, host.Tracker().Update(resource, made, namespace)
		case clienttesting.DeleteActionImpl:
			live, err := find(action.Name)
			if err != nil {
				return true, nil, err
			}
			only := action.DeleteOptions.Preconditions
			if only == nil || only.UID == nil || only.ResourceVersion == nil || *only.UID != live.UID || *only.ResourceVersion != live.ResourceVersion {
				return true, nil, conflict(action.Name)
			}
			return true, nil, host.Tracker().Delete(resource, namespace, action.Name)
		}
		return false, nil, nil
	})
}

// far is the other cluster, which does with a key what a gateway does with it, by a ledger
// of its own, until a test gives it another mind.
type far struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	ledger *recordtest.Memory
	from   record.Digest

	lock sync.Mutex
	// keys are those that it was asked to certify, open the connections to it.
	keys []record.Digest
	open int
	// instead answers, if it is set and its error is not errProper.
	instead func(protocol.RenewRequest) (protocol.RenewResponse, error)
}

var errProper = errors.New("do as you should")

func newFar(t *testing.T, clk *clocktesting.FakeClock) *far {
	t.Helper()
	r := &far{t: t, clock: clk, ledger: recordtest.New()}
	r.rotates()
	t.Cleanup(func() { assert.Zero(t, r.open, "connections that were left open") })
	return r
}

// rotates has another authority sign from now on.
func (r *far) rotates() {
	r.t.Helper()
	key, err := pki.NewKey()
	require.NoError(r.t, err)
	now := r.clock.Now()
	ca, err := pki.NewAuthority("a peering CA", key, now.Add(-time.Hour), now.Add(365*24*time.Hour))
	require.NoError(r.t, err)
	require.NoError(r.t, r.ledger.Update(context.Background(), func(tx record.Tx) error {
		return tx.PutAuthority(&record.Authority{Current: record.CA{
			Certificate: ca.Certificate.Raw, Key: record.NewSecret(key.PEM()), NotBefore: ca.Certificate.NotBefore, NotAfter: ca.Certificate.NotAfter,
		}})
	}))
}

func (r *far) authority() *record.Authority { return r.ledger.Authority() }

// certified pairs with a cluster, and returns its control key.
func (r *far) certified(clusterUUID string) (*pki.Key, []byte) {
	r.t.Helper()
	key, err := pki.NewKey()
	require.NoError(r.t, err)
	known, err := exchange.NewKey(r.authority(), key.Public(), record.RoleControl, record.KeyLife, r.clock.Now())
	require.NoError(r.t, err)
	r.from = known.Hash
	require.NoError(r.t, r.ledger.Update(context.Background(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: "far", Name: "west", Remote: &record.Remote{ClusterUUID: clusterUUID, Keys: []record.Key{known}, PairedAt: noon, ConfirmedAt: noon}})
	}))
	certificate, err := exchange.Certify(r.authority(), clusterUUID, known, key.Public())
	require.NoError(r.t, err)
	return key, certificate
}

func (r *far) connect(remote *record.Remote) (Conn, error) {
	assert.Equal(r.t, []string{endpoint}, remote.Endpoints)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.open++
	return &wire{far: r}, nil
}

type wire struct{ *far }

func (w *wire) Close() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.open--
}

func (w *wire) Renew(_ context.Context, request protocol.RenewRequest) (protocol.RenewResponse, error) {
	assert.NoError(w.t, request.Validate())
	assert.Equal(w.t, pki.RoleData, request.Role)
	public, err := pki.ParseCSR(request.CSR)
	assert.NoError(w.t, err)
	hash, err := pki.HashOf(public)
	assert.NoError(w.t, err)
	w.lock.Lock()
	w.keys = append(w.keys, hash)
	instead := w.instead
	w.lock.Unlock()
	if instead != nil {
		if answer, err := instead(request); !errors.Is(err, errProper) {
			return answer, err
		}
	}
	key, err := exchange.NewKey(w.authority(), public, record.RoleData, record.DataKeyLife, w.clock.Now())
	assert.NoError(w.t, err)
	var known *record.Key
	err = w.ledger.Update(context.Background(), func(tx record.Tx) (err error) {
		known, err = record.Renew(tx, record.Renewal{UID: "far", From: w.from, Key: key, Now: w.clock.Now()})
		return err
	})
	if err != nil {
		return protocol.RenewResponse{}, &client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused}
	}
	certificate, err := exchange.Certify(w.authority(), west, *known, public)
	if err != nil {
		return protocol.RenewResponse{}, &client.Failure{Kind: client.Busy}
	}
	return protocol.RenewResponse{Certificate: certificate}, nil
}

func (r *far) answers(instead func(protocol.RenewRequest) (protocol.RenewResponse, error)) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.instead = instead
}

// fails has every answer fail, nil: no more.
func (r *far) fails(err error) {
	if err == nil {
		r.answers(nil)
		return
	}
	r.answers(func(protocol.RenewRequest) (protocol.RenewResponse, error) { return protocol.RenewResponse{}, err })
}

// asked returns how often it was asked, and for how many keys.
func (r *far) asked() (times, keys int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	all := map[record.Digest]bool{}
	for _, key := range r.keys {
		all[key] = true
	}
	return len(r.keys), len(all)
}

func parse(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(content)
	require.NotNil(t, block)
	assert.Empty(t, rest)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return certificate
}
