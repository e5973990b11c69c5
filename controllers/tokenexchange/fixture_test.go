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

package tokenexchange

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/peerprovider"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	// patience is how long something may take that should be so at once.
	patience = 20 * time.Second

	westUUID  = "bbbbbbbb-0000-4000-8000-000000000002"
	northUUID = "cccccccc-0000-4000-8000-000000000003"
)

var (
	noon         = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clusterPeers = peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")
	providers    = peeringv1alpha1.SchemeGroupVersion.WithResource("tokenexchangeproviders")
)

// keySet returns a JSON Web Key Set of that many new keys.
func keySet(t *testing.T, count int) jose.JSONWebKeySet {
	t.Helper()
	var set jose.JSONWebKeySet
	for i := range count {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: strconv.Itoa(i), Algorithm: "ES256", Use: "sig"})
	}
	return set
}

func encode(t *testing.T, set jose.JSONWebKeySet) string {
	t.Helper()
	data, err := json.Marshal(set)
	require.NoError(t, err)
	return string(data)
}

// fixture is a controller of which tests say what the verifier does.
type fixture struct {
	t      *testing.T
	client *fake.Clientset
	ledger *recordtest.Memory
	claims *record.IssuerClaims
	clock  *clocktesting.FakeClock
	// refusal is why a verifier cannot be made.
	refusal error
	factory externalversions.SharedInformerFactory
	stop    func() // the informers
	*Controller

	lock    sync.Mutex
	version int
	// published has, by the UUID of a cluster, each issuer that it has ever published.
	published map[string][]protocol.Issuer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, client: fake.NewSimpleClientset(), ledger: recordtest.New(), clock: clocktesting.NewFakeClock(noon),
		published: map[string][]protocol.Issuer{},
	}
	f.client.PrependReactor("patch", providers.Resource, f.apply)
	claims, cancel := record.NewIssuerClaims(f.ledger)
	t.Cleanup(cancel)
	f.claims = claims
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	group := f.factory.Peering().V1alpha1()
	controller, err := New(Config{
		Client: f.client, Providers: group.TokenExchangeProviders(), ClusterPeers: group.ClusterPeers(), Ledger: f.ledger, Claims: claims,
		Serves: true, Verifier: f.verifies, Clock: f.clock,
	})
	require.NoError(t, err)
	f.Controller = controller
	ctx, cancelInformers := context.WithCancel(t.Context())
	f.stop = func() {
		cancelInformers()
		f.factory.Shutdown()
	}
	t.Cleanup(f.stop)
	f.factory.StartWithContext(ctx)
	f.factory.WaitForCacheSyncWithContext(t.Context())
	return f
}

// verifies is the verifier. What a cluster publishes next may be in the ledger before that
// of a look under way is loaded.
func (f *fixture) verifies(issuer protocol.Issuer, peerUUID string) error {
	f.lock.Lock()
	defer f.lock.Unlock()
	assert.Contains(f.t, f.published[peerUUID], issuer, "only what was published is ever loaded")
	return f.refusal
}

// apply does what server-side apply does with what this controller owns, with the
// preconditions that it sets.
func (f *fixture) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	assert.Equal(f.t, "status", patch.Subresource)
	assert.Equal(f.t, FieldManager, patch.PatchOptions.FieldManager)
	object, err := f.client.Tracker().Get(providers, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	provider, sent := object.(*peeringv1alpha1.TokenExchangeProvider), &peeringv1alpha1.TokenExchangeProvider{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	if sent.UID != provider.UID || sent.ResourceVersion != provider.ResourceVersion {
		return true, nil, apierrors.NewConflict(providers.GroupResource(), patch.Name, errors.New("it has changed"))
	}
	for _, condition := range sent.Status.Conditions {
		meta.RemoveStatusCondition(&provider.Status.Conditions, condition.Type)
		provider.Status.Conditions = append(provider.Status.Conditions, condition)
	}
	provider.Status.ObservedGeneration = sent.Status.ObservedGeneration
	f.puts(provider)
	return true, provider, nil
}

// puts has a provider there, whatever was there before.
func (f *fixture) puts(provider *peeringv1alpha1.TokenExchangeProvider) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.version++
	provider.ResourceVersion = strconv.Itoa(f.version)
	if f.client.Tracker().Update(providers, provider, "") != nil {
		assert.NoError(f.t, f.client.Tracker().Create(providers, provider, ""))
	}
}

// publishes has a peer with access publish an issuer.
func (f *fixture) publishes(name, uuid, jwks string, now time.Time, change ...func(*record.Peer)) {
	f.t.Helper()
	issuer := protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks}
	f.lock.Lock()
	f.published[uuid] = append(f.published[uuid], issuer)
	f.lock.Unlock()
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		uid := "uid-" + name
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		if peer == nil {
			peer = &record.Peer{UID: uid, Name: name, Remote: &record.Remote{ClusterUUID: uuid, ConfirmedAt: noon}}
		}
		peer.Remote.Offer.Body.Issuer = &issuer
		peer.Remote.NoteIssuer(now)
		for _, c := range change {
			c(peer)
		}
		return tx.PutPeer(peer)
	}))
}

// peers makes a ClusterPeer with a peering, and the provider of it, made by the other
// controller.
func (f *fixture) peers(name, uuid, jwks string) *peeringv1alpha1.TokenExchangeProvider {
	f.t.Helper()
	f.publishes(name, uuid, jwks, noon)
	peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Generation: 1}}
	require.NoError(f.t, f.client.Tracker().Create(clusterPeers, peer, ""))
	require.Eventually(f.t, func() bool {
		_, err := f.Controller.clusterPeers.Get(name)
		return err == nil
	}, patience, time.Millisecond)
	f.provides(name)
	return f.provider("peer-" + name)
}

// provides makes the provider of a ClusterPeer by what the ledger has.
func (f *fixture) provides(name string) {
	f.t.Helper()
	key, err := record.EnsureGrantKey(f.t.Context(), f.ledger, rand.Reader)
	require.NoError(f.t, err)
	uid, rec := "uid-"+name, f.ledger.Peer("uid-"+name)
	f.puts(&peeringv1alpha1.TokenExchangeProvider{
		ObjectMeta: metav1.ObjectMeta{
			Name: "peer-" + name, UID: types.UID("provider-" + name), Generation: 2,
			Annotations: map[string]string{
				peeringv1alpha1.AnnotationPeerUID: uid,
				peerprovider.AnnotationProof:      key.Proof(uid, record.GrantedObject{Kind: "TokenExchangeProvider", Name: "peer-" + name}),
			},
		},
		Spec: peeringv1alpha1.TokenExchangeProviderSpec{
			Issuer:         peeringv1alpha1.PeerIssuer(*rec.Remote.Offer.Body.Issuer),
			UsernamePrefix: protocol.UserPrefix(rec.Remote.ClusterUUID),
		},
	})
}

func (f *fixture) provider(name string) *peeringv1alpha1.TokenExchangeProvider {
	f.t.Helper()
	provider, err := f.client.PeeringV1alpha1().TokenExchangeProviders().Get(f.t.Context(), name, metav1.GetOptions{})
	require.NoError(f.t, err)
	return provider
}

// change changes a provider as somebody else would.
func (f *fixture) change(name string, change func(*peeringv1alpha1.TokenExchangeProvider)) {
	f.t.Helper()
	provider := f.provider(name)
	change(provider)
	f.puts(provider)
}

// changePeer changes a ClusterPeer as somebody else would.
func (f *fixture) changePeer(name string, change func(*peeringv1alpha1.ClusterPeer)) {
	f.t.Helper()
	object, err := f.client.Tracker().Get(clusterPeers, "", name)
	require.NoError(f.t, err)
	peer := object.(*peeringv1alpha1.ClusterPeer)
	change(peer)
	require.NoError(f.t, f.client.Tracker().Update(clusterPeers, peer, ""))
	require.Eventually(f.t, func() bool {
		seen, err := f.Controller.clusterPeers.Get(name)
		return err == nil && assert.ObjectsAreEqual(peer, seen)
	}, patience, time.Millisecond)
}

// once looks at a provider once, when the informer shows it as it is.
func (f *fixture) once(name string) (again time.Duration, err error) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		seen, err := f.Controller.providers.Get(name)
		return err == nil && seen.ResourceVersion == f.provider(name).ResourceVersion
	}, patience, time.Millisecond)
	f.client.ClearActions()
	return f.sync(f.t.Context(), cache.ObjectName{Name: name})
}

// writes returns how many writes were asked for since the last look.
func (f *fixture) writes() (count int) {
	for _, action := range f.client.Actions() {
		if !slices.Contains([]string{"list", "watch", "get"}, action.GetVerb()) {
			count++
		}
	}
	return count
}

// says returns what a provider says of itself, after it was looked at: "True InUse".
func (f *fixture) says(name string) string {
	f.t.Helper()
	_, err := f.once(name)
	require.NoError(f.t, err)
	return f.shows(name)
}

// shows returns what it says now.
func (f *fixture) shows(name string) string {
	f.t.Helper()
	condition := meta.FindStatusCondition(f.provider(name).Status.Conditions, peeringv1alpha1.ConditionReady)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

func (f *fixture) message(name string) string {
	f.t.Helper()
	return meta.FindStatusCondition(f.provider(name).Status.Conditions, peeringv1alpha1.ConditionReady).Message
}
