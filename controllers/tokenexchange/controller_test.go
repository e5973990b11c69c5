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
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/peerprovider"
	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	group := f.factory.Peering().V1alpha1()
	whole := Config{
		Client: f.client, Providers: group.TokenExchangeProviders(), ClusterPeers: group.ClusterPeers(), Ledger: f.ledger, Claims: f.claims,
		Verifier: f.verifies, Clock: f.clock,
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"client": func(c *Config) { c.Client = nil }, "providers": func(c *Config) { c.Providers = nil }, "peers": func(c *Config) { c.ClusterPeers = nil },
		"ledger": func(c *Config) { c.Ledger = nil }, "claims": func(c *Config) { c.Claims = nil }, "verifier": func(c *Config) { c.Verifier = nil },
		"clock": func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}

// G6: a provider is in use if Entente made it, for a peering that stands, and it shows what
// the peer has published; else it says why not.
func TestG6Judgement(t *testing.T) {
	fault := func(reason record.Reason) func(*record.Peer) {
		return func(p *record.Peer) { p.Remote.Fault = reason }
	}
	again := func(change func(*record.Peer)) func(*fixture) {
		return func(f *fixture) {
			f.publishes("west", westUUID, f.ledger.Peer("uid-west").Remote.Offer.Body.Issuer.JWKS, noon, change)
		}
	}
	spec := func(change func(*peeringv1alpha1.TokenExchangeProviderSpec)) func(*fixture) {
		return func(f *fixture) {
			f.change("peer-west", func(p *peeringv1alpha1.TokenExchangeProvider) { change(&p.Spec) })
		}
	}
	const unpublished = "The issuer is not what the peer has published."
	for name, test := range map[string]struct {
		change  func(f *fixture)
		want    string
		message string // of it a part
	}{
		"as it is to be": {func(*fixture) {}, "True InUse", westUUID},
		"the peer is out of reach": {
			again(func(p *record.Peer) { p.Remote.Unreachable = noon }), "True InUse", "",
		},
		"its next offer breaks the rules": {again(fault(record.InvalidOffer)), "True InUse", ""},

		"no proof": {func(f *fixture) {
			f.change("peer-west", func(p *peeringv1alpha1.TokenExchangeProvider) { p.Annotations[peerprovider.AnnotationProof] = "" })
		}, "False InvalidSpec", "Entente did not make this provider, and does not use it."},
		"the proof for another ClusterPeer": {func(f *fixture) {
			f.change("peer-west", func(p *peeringv1alpha1.TokenExchangeProvider) {
				p.Annotations[peeringv1alpha1.AnnotationPeerUID] = "uid-north"
			})
		}, "False InvalidSpec", "Entente did not make"},

		"P12: the peer left": {again(fault(record.PeerLeft)), "False InvalidSpec", "There is no peering that this provider is for."},
		"not confirmed":      {again(func(p *record.Peer) { p.Remote.ConfirmedAt = time.Time{} }), "False InvalidSpec", "There is no peering"},
		"no record": {func(f *fixture) {
			require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error { return tx.DeletePeer("uid-west") }))
		}, "False InvalidSpec", "There is no peering"},
		"another cluster is expected": {func(f *fixture) {
			f.changePeer("west", func(p *peeringv1alpha1.ClusterPeer) {
				p.Spec.Type, p.Spec.Join = "Join", &peeringv1alpha1.JoinSpec{ExpectedClusterUUID: northUUID}
			})
		}, "False InvalidSpec", "There is no peering"},
		"S3: the ClusterPeer is being deleted": {func(f *fixture) {
			f.changePeer("west", func(p *peeringv1alpha1.ClusterPeer) { p.DeletionTimestamp = &metav1.Time{Time: noon} })
		}, "False InvalidSpec", "There is no peering"},
		"the ClusterPeer was made anew": {func(f *fixture) {
			f.changePeer("west", func(p *peeringv1alpha1.ClusterPeer) { p.UID = "another" })
		}, "False InvalidSpec", "There is no peering"},

		"no prefix":        {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.UsernamePrefix = "" }), "False PrefixConflict", "not the one of the users of cluster " + westUUID},
		"a shorter prefix": {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.UsernamePrefix = "peer:" }), "False PrefixConflict", ""},
		"a longer prefix":  {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.UsernamePrefix += "system:" }), "False PrefixConflict", ""},
		"another's prefix": {func(f *fixture) {
			f.peers("north", northUUID, encode(f.t, keySet(f.t, 1)))
			spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.UsernamePrefix = protocol.UserPrefix(northUUID) })(f)
		}, "False PrefixConflict", "of the peer of ClusterPeer north."},

		"a plain URL":  {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.URL = "http://planted.example.com" }), "False InvalidSpec", "not an https URL"},
		"no URL":       {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.URL = "" }), "False InvalidSpec", "not an https URL"},
		"another URL":  {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.URL = "https://planted.example.com" }), "False InvalidSpec", unpublished},
		"no keys":      {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.JWKS = "" }), "False InvalidSpec", "not a JSON Web Key Set"},
		"planted keys": {spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.JWKS = `{"keys":["planted"]}` }), "False InvalidSpec", "not a JSON Web Key Set"},
		"too many keys": {func(f *fixture) {
			spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.JWKS = encode(f.t, keySet(f.t, 17)) })(f)
		}, "False InvalidSpec", "not a JSON Web Key Set"},
		"another's keys": {func(f *fixture) {
			spec(func(s *peeringv1alpha1.TokenExchangeProviderSpec) { s.Issuer.JWKS = encode(f.t, keySet(f.t, 1)) })(f)
		}, "False InvalidSpec", unpublished},
		"nothing is published any more": {
			again(func(p *record.Peer) { p.Remote.Offer.Body.Issuer = nil }), "False InvalidSpec", unpublished,
		},
		"nobody is let in":    {func(f *fixture) { f.serves = false }, "False ApplyError", "no gateway, or no host cluster"},
		"no key signs tokens": {func(f *fixture) { f.refusal = fmt.Errorf("planted: %w", workloadtoken.ErrNoKey) }, "False InvalidSpec", "of a kind that signs tokens"},
		"it cannot be loaded": {func(f *fixture) { f.refusal = errors.New("planted") }, "False ApplyError", "of a kind that is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.peers("west", westUUID, encode(t, keySet(t, 2)))
			test.change(f)
			assert.Equal(t, test.want, f.says("peer-west"))
			assert.Contains(t, f.message("peer-west"), test.message)
			assert.NotContains(t, f.message("peer-west"), "planted")
			assert.EqualValues(t, 2, f.provider("peer-west").Status.ObservedGeneration)
			assert.EqualValues(t, 2, f.provider("peer-west").Status.Conditions[0].ObservedGeneration)
			_, err := f.once("peer-west")
			require.NoError(t, err)
			assert.Zero(t, f.writes(), "nothing changed")
		})
	}
}

// G6: a key that is also ours, or that another peer published before, is refused, and it is
// said whose it is.
func TestG6SharedKeys(t *testing.T) {
	west, north, common := keySet(t, 1), keySet(t, 1), keySet(t, 1)
	both := func(own jose.JSONWebKeySet) string {
		return encode(t, jose.JSONWebKeySet{Keys: slices.Concat(own.Keys, common.Keys)})
	}
	t.Run("with another peer", func(t *testing.T) {
		f := newFixture(t)
		f.peers("west", westUUID, both(west))
		f.peers("north", northUUID, encode(t, north))
		assert.Equal(t, "True InUse", f.says("peer-north"))
		f.publishes("north", northUUID, both(north), noon.Add(time.Minute))
		f.provides("north")
		assert.Equal(t, "False InvalidSpec", f.says("peer-north"))
		assert.Contains(t, f.message("peer-north"), "of the peer of ClusterPeer west")
		assert.Equal(t, "True InUse", f.says("peer-west"), "it was first")

		f.publishes("west", westUUID, encode(t, west), noon)
		f.provides("west")
		assert.Equal(t, "True InUse", f.says("peer-north"))
	})
	t.Run("with this cluster", func(t *testing.T) {
		f := newFixture(t)
		f.peers("west", westUUID, both(west))
		f.publishes("north", northUUID, encode(t, north), noon, func(p *record.Peer) {
			p.Offer.Body.Issuer = &protocol.Issuer{URL: "https://ours", JWKS: encode(t, common)}
		})
		assert.Equal(t, "False InvalidSpec", f.says("peer-west"))
		assert.Contains(t, f.message("peer-west"), "of this cluster")
	})
}

// G6, S1: somebody else's provider is never loaded, whatever it shows, and takes nothing
// from ours.
func TestG6ForeignProvider(t *testing.T) {
	f := newFixture(t)
	ours := f.peers("west", westUUID, encode(t, keySet(t, 1)))
	for _, name := range []string{"aaa", "peer-", "peer-north", "west"} {
		theirs := ours.DeepCopy() // with its proof
		theirs.Name, theirs.UID = name, "foreign"
		theirs.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		f.puts(theirs)
		assert.Equal(t, "False InvalidSpec", f.says(name), name)
		assert.Contains(t, f.message(name), "Entente did not make")
	}
	assert.Equal(t, "True InUse", f.says("peer-west"))
}

// K2: the time of the last transition stays while the status does.
func TestK2Condition(t *testing.T) {
	f := newFixture(t)
	f.peers("west", westUUID, encode(t, keySet(t, 1)))
	since := func() time.Time { return f.provider("peer-west").Status.Conditions[0].LastTransitionTime.UTC() }
	require.Equal(t, "True InUse", f.says("peer-west"))
	f.clock.SetTime(noon.Add(time.Hour + time.Millisecond))
	f.change("peer-west", func(p *peeringv1alpha1.TokenExchangeProvider) { p.Generation = 3 })
	require.Equal(t, "True InUse", f.says("peer-west"))
	assert.EqualValues(t, 3, f.provider("peer-west").Status.ObservedGeneration)
	assert.Equal(t, noon, since())
	f.refusal = errors.New("no")
	require.Equal(t, "False ApplyError", f.says("peer-west"))
	assert.Equal(t, noon.Add(time.Hour), since())
	f.change("peer-west", func(p *peeringv1alpha1.TokenExchangeProvider) {
		p.Status = peeringv1alpha1.TokenExchangeProviderStatus{ObservedGeneration: 9, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "InUse"}}}
	})
	assert.Equal(t, "False ApplyError", f.says("peer-west"), "what others wrote is put right")
}

func TestNothingToSay(t *testing.T) {
	f := newFixture(t)
	f.peers("west", westUUID, encode(t, keySet(t, 1)))
	f.ledger.SetFresh(record.ErrStale)
	again, err := f.once("peer-west")
	require.NoError(t, err)
	assert.Equal(t, access.AskAgain, again)
	assert.Zero(t, f.writes())
	f.ledger.SetFresh(nil)

	_, err = f.sync(t.Context(), cache.ObjectName{Name: "absent"})
	require.NoError(t, err)
	f.change("peer-west", func(p *peeringv1alpha1.TokenExchangeProvider) { p.DeletionTimestamp = &metav1.Time{Time: noon} })
	_, err = f.once("peer-west")
	require.NoError(t, err)
	assert.Zero(t, f.writes())
}

// What changed meanwhile is not written over; what cannot be written is tried again.
func TestWriteFails(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		failed bool
	}{
		"conflict":    {apierrors.NewConflict(providers.GroupResource(), "peer-west", errors.New("x")), false},
		"gone":        {apierrors.NewNotFound(providers.GroupResource(), "peer-west"), false},
		"unavailable": {apierrors.NewServiceUnavailable("x"), true},
	} {
		f := newFixture(t)
		f.peers("west", westUUID, encode(t, keySet(t, 1)))
		f.client.PrependReactor("patch", providers.Resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
		_, err := f.once("peer-west")
		assert.Equal(t, test.failed, err != nil, "%s: %v", name, err)
	}
}

// A provider is looked at when it, its ClusterPeer or its record changes, and when the keys
// of another peer do.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t)
	west, north := encode(t, keySet(t, 1)), encode(t, keySet(t, 1))
	f.peers("west", westUUID, west)
	f.peers("north", northUUID, north)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	eventually := func(name, wanted string) {
		t.Helper()
		require.Eventually(t, func() bool {
			return f.shows(name) == wanted
		}, patience, time.Millisecond, name)
	}
	eventually("peer-west", "True InUse")
	eventually("peer-north", "True InUse")

	f.publishes("west", westUUID, west, noon, func(p *record.Peer) { p.Remote.Fault = record.PeerSuspended })
	eventually("peer-west", "False InvalidSpec")
	f.publishes("west", westUUID, west, noon, func(p *record.Peer) { p.Remote.Fault = "" })
	eventually("peer-west", "True InUse")
	f.changePeer("west", func(p *peeringv1alpha1.ClusterPeer) { p.DeletionTimestamp, p.Generation = &metav1.Time{Time: noon}, 2 })
	eventually("peer-west", "False InvalidSpec")
	f.changePeer("west", func(p *peeringv1alpha1.ClusterPeer) { p.DeletionTimestamp, p.Generation = nil, 3 })
	eventually("peer-west", "True InUse")

	// The keys of north are west's all of a sudden: it published them before.
	f.publishes("west", westUUID, north, noon, func(p *record.Peer) { p.Remote.IssuerKeys[0].Since = noon.Add(-time.Hour) })
	eventually("peer-north", "False InvalidSpec")
	assert.Contains(t, f.message("peer-north"), "ClusterPeer west")
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.DeletePeer("uid-west") }))
	eventually("peer-north", "True InUse")
	require.NoError(t, f.client.Tracker().Delete(clusterPeers, "", "north"))
	eventually("peer-north", "False InvalidSpec")
	cancel()
	require.NoError(t, <-ended)
	f.stop()
	goleak.VerifyNone(t, before)
}

// All providers are looked at when claims to keys change, and the one alone whose record did
// when they do not.
func TestG6ClaimsWakeAll(t *testing.T) {
	f := newFixture(t)
	west, north := encode(t, keySet(t, 1)), encode(t, keySet(t, 1))
	f.peers("west", westUUID, west)
	f.peers("north", northUUID, north)
	for _, name := range []string{"peer-west", "peer-north"} {
		_, err := f.once(name) // the informers show them
		require.NoError(t, err)
	}
	var lock sync.Mutex
	var enqueued []string
	cancel := f.subscribe(func(name cache.ObjectName) {
		lock.Lock()
		defer lock.Unlock()
		enqueued = append(enqueued, name.Name)
	})
	heard := func(wanted ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			lock.Lock()
			defer lock.Unlock()
			return len(enqueued) >= len(wanted)
		}, patience, time.Millisecond)
		lock.Lock()
		defer lock.Unlock()
		assert.ElementsMatch(t, wanted, enqueued)
		enqueued = nil
	}
	heard("peer-west", "peer-north") // their ClusterPeers are there
	for i := range 5 {
		f.publishes("west", westUUID, west, noon, func(p *record.Peer) { p.Remote.Contact = noon.Add(time.Duration(i) * time.Minute) })
	}
	f.publishes("west", westUUID, west, noon, func(p *record.Peer) { p.Remote.Unreachable = noon })
	f.changePeer("west", func(p *peeringv1alpha1.ClusterPeer) { p.Status.Phase = "Active" })
	heard("peer-west", "peer-west", "peer-west", "peer-west", "peer-west", "peer-west")

	f.publishes("west", westUUID, encode(t, keySet(t, 1)), noon)
	heard("peer-west", "peer-west", "peer-north")
	f.publishes("north", northUUID, north, noon, func(p *record.Peer) { p.Offer.Body.Issuer = &protocol.Issuer{JWKS: west} })
	heard("peer-north", "peer-west", "peer-north")
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.DeletePeer("uid-west") }))
	heard("peer-west", "peer-north")
	cancel()
	f.publishes("north", northUUID, west, noon)
	heard()
}
