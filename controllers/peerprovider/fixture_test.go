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

package peerprovider

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	here    = "aaaaaaaa-0000-4000-8000-000000000001" // this cluster
	there   = "bbbbbbbb-0000-4000-8000-000000000002" // the other cluster
	westUID = "11111111-0000-4000-8000-000000000001" // that of ClusterPeer west

	// patience is how long something may take that should be so at once.
	patience = 20 * time.Second
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// plans is what the model is to say.
type plans struct {
	lock    sync.Mutex
	plan    *access.Plan
	err     error
	enqueue func(cache.ObjectName)
}

func (p *plans) Plan(*peeringv1alpha1.ClusterPeer) (*access.Plan, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.plan, p.err
}

func (p *plans) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.enqueue = enqueue
	return func() {}
}

// says sets it, and tells of it.
func (p *plans) says(plan *access.Plan, err error) {
	p.lock.Lock()
	p.plan, p.err = plan, err
	enqueue := p.enqueue
	p.lock.Unlock()
	if enqueue != nil {
		enqueue(cache.ObjectName{Name: "west"})
	}
}

// withPeer is a plan for ClusterPeer west with these capabilities in effect.
func withPeer(capabilities ...string) *access.Plan {
	plan := &access.Plan{Name: "west", UID: westUID, ClusterUUID: there}
	for _, name := range capabilities {
		plan.Effective = append(plan.Effective, access.Capability{Name: name})
	}
	return plan
}

// jwks returns a JSON Web Key Set of one new key.
func jwks(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	require.NoError(t, err)
	return string(data)
}

type fixture struct {
	t        *testing.T
	server   *server
	ledger   *recordtest.Memory
	plans    *plans
	recorder *events.FakeRecorder
	clock    *clocktesting.FakeClock
	factory  externalversions.SharedInformerFactory
	stop     func() // the informers
	unserved bool   // what a restart begins with
	*Controller
}

// newFixture makes a controller for ClusterPeer west, which is paired and publishes nothing.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, server: newServer(t), ledger: recordtest.New(), plans: &plans{plan: withPeer()},
		clock: clocktesting.NewFakeClock(noon),
	}
	f.server.puts(clusterPeers, &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "west", UID: westUID, Generation: 3}})
	f.publishes(nil)
	f.restart()
	return f
}

// restart is another process, which remembers nothing.
func (f *fixture) restart() {
	f.t.Helper()
	if f.stop != nil {
		f.stop()
	}
	f.recorder = events.NewFakeRecorder(100)
	f.factory = externalversions.NewSharedInformerFactory(f.server, 0)
	group := f.factory.Peering().V1alpha1()
	controller, err := New(Config{
		Client: f.server, ClusterPeers: group.ClusterPeers(), Providers: group.TokenExchangeProviders(), Plans: f.plans, Ledger: f.ledger,
		ClusterUUID: here, Serves: !f.unserved, Recorder: f.recorder, Clock: f.clock,
	})
	require.NoError(f.t, err)
	f.Controller = controller
	ctx, cancel := context.WithCancel(f.t.Context())
	f.stop = func() {
		cancel()
		f.factory.Shutdown()
	}
	f.t.Cleanup(f.stop)
	f.factory.StartWithContext(ctx)
	f.factory.WaitForCacheSyncWithContext(f.t.Context())
}

// publishes has the peer publish an issuer, nil for none.
func (f *fixture) publishes(issuer *protocol.Issuer) {
	f.t.Helper()
	remote := &record.Remote{ClusterUUID: there, ConfirmedAt: noon}
	remote.Offer.Body.Issuer = issuer
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: westUID, Name: "west", Remote: remote})
	}))
}

// shown waits until the informers show what there is.
func (f *fixture) shown() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		peers, _ := f.clusterPeers.List(labels.Everything())
		made, _ := f.Controller.providers.List(labels.Everything())
		peerList, err := f.server.PeeringV1alpha1().ClusterPeers().List(f.t.Context(), metav1.ListOptions{})
		require.NoError(f.t, err)
		madeList, err := f.server.PeeringV1alpha1().TokenExchangeProviders().List(f.t.Context(), metav1.ListOptions{})
		require.NoError(f.t, err)
		var seen, are []string
		for _, peer := range peers {
			seen = append(seen, "c "+peer.Name+" "+peer.ResourceVersion)
		}
		for _, provider := range made {
			seen = append(seen, "p "+provider.Name+" "+provider.ResourceVersion)
		}
		for _, peer := range peerList.Items {
			are = append(are, "c "+peer.Name+" "+peer.ResourceVersion)
		}
		for _, provider := range madeList.Items {
			are = append(are, "p "+provider.Name+" "+provider.ResourceVersion)
		}
		slices.Sort(seen)
		slices.Sort(are)
		return slices.Equal(seen, are)
	}, patience, time.Millisecond)
}

// once looks at a ClusterPeer once, as the informers show what there is.
func (f *fixture) once(name string) (again time.Duration, err error) {
	f.t.Helper()
	f.shown()
	f.server.ClearActions()
	return f.sync(f.t.Context(), cache.ObjectName{Name: name})
}

// settles looks at a ClusterPeer until nothing is left to do.
func (f *fixture) settles(name string) {
	f.t.Helper()
	for range 6 {
		_, err := f.once(name)
		require.NoError(f.t, err)
		if len(f.writes()) == 0 {
			return
		}
	}
	f.t.Fatal("it writes and writes")
}

// writes returns what was asked for since the last look, but for reading.
func (f *fixture) writes() (writes []string) {
	for _, action := range f.server.Actions() {
		if verb := action.GetVerb(); !slices.Contains([]string{"list", "watch", "get"}, verb) {
			writes = append(writes, verb+" "+action.GetResource().Resource)
		}
	}
	return writes
}

// provider returns that of ClusterPeer west, or nil.
func (f *fixture) provider() *peeringv1alpha1.TokenExchangeProvider {
	f.t.Helper()
	provider, err := f.server.PeeringV1alpha1().TokenExchangeProviders().Get(f.t.Context(), "peer-west", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return provider
}

// change changes it as somebody else would.
func (f *fixture) change(change func(*peeringv1alpha1.TokenExchangeProvider)) {
	f.t.Helper()
	provider := f.provider()
	require.NotNil(f.t, provider)
	change(provider)
	f.server.puts(providers, provider)
}

// judges writes a condition into its status, as its own controller does.
func (f *fixture) judges(status metav1.ConditionStatus, reason, message string) {
	f.t.Helper()
	f.change(func(p *peeringv1alpha1.TokenExchangeProvider) {
		p.Status = peeringv1alpha1.TokenExchangeProviderStatus{ObservedGeneration: p.Generation, Conditions: []metav1.Condition{
			{Type: peeringv1alpha1.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: p.Generation},
		}}
	})
}

func (f *fixture) clusterPeer() *peeringv1alpha1.ClusterPeer {
	f.t.Helper()
	peer, err := f.server.PeeringV1alpha1().ClusterPeers().Get(f.t.Context(), "west", metav1.GetOptions{})
	require.NoError(f.t, err)
	return peer
}

// condition returns what ClusterPeer west says of its provider: "True ProviderReady".
func (f *fixture) condition() string {
	f.t.Helper()
	condition := meta.FindStatusCondition(f.clusterPeer().Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func (f *fixture) message() string {
	f.t.Helper()
	return meta.FindStatusCondition(f.clusterPeer().Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady).Message
}

// events returns the Events since the last call.
func (f *fixture) events() (all []string) {
	for len(f.recorder.Events) > 0 {
		all = append(all, <-f.recorder.Events)
	}
	return all
}

// refuses has the server answer like that, until undo is called.
func (f *fixture) refuses(verb, resource string, answer error) (undo func()) {
	var lock sync.Mutex
	refusing := true
	f.server.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		lock.Lock()
		defer lock.Unlock()
		return refusing, nil, answer
	})
	return func() {
		lock.Lock()
		defer lock.Unlock()
		refusing = false
	}
}

// foreignProvider is one that somebody else made.
func foreignProvider() *peeringv1alpha1.TokenExchangeProvider {
	return &peeringv1alpha1.TokenExchangeProvider{
		ObjectMeta: metav1.ObjectMeta{Name: "peer-west", UID: types.UID("foreign"), Generation: 1},
		Spec: peeringv1alpha1.TokenExchangeProviderSpec{
			Issuer: peeringv1alpha1.PeerIssuer{URL: "https://evil.example.com"}, UsernamePrefix: protocol.UserPrefix(there),
		},
	}
}
