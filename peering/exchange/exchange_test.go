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

package exchange_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	east = "aaaaaaaa-0000-4000-8000-000000000001"
	west = "bbbbbbbb-0000-4000-8000-000000000002"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// side is a cluster with a CA and the record of its one peer.
type side struct {
	self      exchange.Self
	ca        *pki.Authority
	authority *record.Authority
	peer      *record.Peer
}

func newCA(t *testing.T, name string) (*pki.Authority, record.CA) {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	ca, err := pki.NewAuthority(name, key, noon.Add(-time.Hour), noon.Add(365*24*time.Hour))
	require.NoError(t, err)
	return ca, record.CA{Certificate: ca.Certificate.Raw, Key: record.NewSecret(key.PEM()), NotBefore: ca.Certificate.NotBefore, NotAfter: ca.Certificate.NotAfter}
}

func newSide(t *testing.T, uuid string, endpoints ...string) *side {
	ca, stored := newCA(t, uuid)
	return &side{self: exchange.Self{ClusterUUID: uuid, Endpoints: endpoints}, ca: ca, authority: &record.Authority{Current: stored}}
}

// newPair returns two sides that were just paired: each knows the other's UUID and
// bundle, and nothing of its offer.
func newPair(t *testing.T) (e, w *side) {
	e, w = newSide(t, east, "https://east.example.com"), newSide(t, west)
	e.peer = &record.Peer{UID: "e", Remote: &record.Remote{ClusterUUID: west, Trust: w.authority.Trust(), PairedAt: noon}}
	w.peer = &record.Peer{UID: "w", Remote: &record.Remote{ClusterUUID: east, Trust: e.authority.Trust(), PairedAt: noon}}
	e.offers(1, protocol.Offer{Alias: "east"})
	w.offers(1, protocol.Offer{Alias: "west"})
	return e, w
}

func (s *side) offers(generation uint64, body protocol.Offer) {
	s.peer.Offer = record.Offer{OfferHeader: protocol.OfferHeader{Epoch: 1, Generation: generation, Digest: body.Digest()}, Body: body}
}

func (s *side) say(t *testing.T, now time.Time) protocol.State {
	t.Helper()
	state, err := exchange.Say(s.self, s.peer, s.authority, now)
	require.NoError(t, err)
	return state
}

// beat is one round: from says, to hears.
func beat(t *testing.T, from, to *side, now time.Time) exchange.Outcome {
	t.Helper()
	return exchange.Hear(to.peer, exchange.Message{State: from.say(t, now)}, now)
}

func capabilities(names ...string) protocol.Offer {
	offer := protocol.Offer{}
	for _, name := range names {
		offer.Capabilities = append(offer.Capabilities, protocol.Capability{Name: name, Version: "1.0.0", Scope: []string{"project"}})
	}
	return offer
}

// P9: two sides that lack each other's offer agree after two beats each, and then say
// nothing in full and write nothing.
func TestP9Converges(t *testing.T) {
	e, w := newPair(t)
	require.True(t, exchange.Lacks(w.peer, w.authority))
	assert.True(t, beat(t, w, e, noon).Changed)
	assert.Equal(t, "west", e.peer.Remote.Offer.Body.Alias)
	assert.True(t, beat(t, e, w, noon).Changed)
	assert.Equal(t, []string{"https://east.example.com"}, w.peer.Remote.Endpoints)
	beat(t, w, e, noon)
	beat(t, e, w, noon)
	for _, s := range []*side{e, w} {
		assert.False(t, exchange.Lacks(s.peer, s.authority))
		said := s.say(t, noon)
		assert.Nil(t, said.OfferBody)
		assert.Nil(t, said.Trust)
	}
	assert.Equal(t, exchange.Outcome{}, beat(t, w, e, noon.Add(15*time.Second)), "a beat writes nothing")
	assert.True(t, beat(t, w, e, noon.Add(time.Minute)).Changed, "but contact, once a minute")
}

// P10: the body of a new offer is asked for; an older generation is not taken, and the
// same one with another body is a clone.
func TestP10Offers(t *testing.T) {
	setUp := func(t *testing.T) (e, w *side) {
		e, w = newPair(t)
		w.offers(5, capabilities("a"))
		require.True(t, beat(t, w, e, noon).Changed)
		require.Equal(t, "a", e.peer.Remote.Offer.Body.Capabilities[0].Name)
		return e, w
	}
	header := func(w *side, change func(*protocol.State)) protocol.State {
		said := protocol.State{Self: w.self.About(w.authority, "", noon), Offer: w.peer.Offer.OfferHeader}
		change(&said)
		return said
	}
	t.Run("a header alone", func(t *testing.T) {
		e, w := setUp(t)
		out := exchange.Hear(e.peer, exchange.Message{State: header(w, func(s *protocol.State) { s.Offer.Generation = 6 })}, noon)
		assert.True(t, out.Repeat)
		assert.EqualValues(t, 5, e.peer.Remote.Offer.Generation)
	})
	t.Run("an older generation", func(t *testing.T) {
		e, w := setUp(t)
		w.offers(4, capabilities("b"))
		w.peer.Remote.Acked.Offer = protocol.OfferHeader{}
		assert.Equal(t, exchange.Outcome{}, beat(t, w, e, noon), "nothing of it is asked for again")
		assert.EqualValues(t, 5, e.peer.Remote.Offer.Generation)
		assert.Equal(t, "a", e.peer.Remote.Offer.Body.Capabilities[0].Name)
	})
	t.Run("an older epoch", func(t *testing.T) {
		e, w := setUp(t)
		out := exchange.Hear(e.peer, exchange.Message{State: header(w, func(s *protocol.State) { s.Offer.Epoch, s.Offer.Generation = 0, 99 })}, noon)
		assert.False(t, out.Repeat)
		assert.Empty(t, out.Refused)
		assert.EqualValues(t, 1, e.peer.Remote.Offer.Epoch)
	})
	t.Run("a newer epoch begins anew", func(t *testing.T) {
		e, w := setUp(t)
		w.offers(1, capabilities())
		w.peer.Offer.Epoch = 2
		assert.Empty(t, beat(t, w, e, noon).Refused)
		assert.EqualValues(t, 2, e.peer.Remote.Offer.Epoch)
		assert.Empty(t, e.peer.Remote.Offer.Body.Capabilities)
	})
	t.Run("a clone", func(t *testing.T) {
		e, w := setUp(t)
		w.offers(5, capabilities("b"))
		out := beat(t, w, e, noon)
		assert.Equal(t, record.ClonedPeer, out.Refused)
		assert.Equal(t, record.ClonedPeer, e.peer.Remote.Fault)
		assert.Equal(t, "a", e.peer.Remote.Offer.Body.Capabilities[0].Name)
	})
	t.Run("a body that is not the announced one", func(t *testing.T) {
		e, w := setUp(t)
		out := exchange.Hear(e.peer, exchange.Message{State: header(w, func(s *protocol.State) {
			body := capabilities("b")
			s.Offer.Generation, s.Offer.Digest, s.OfferBody = 6, capabilities("c").Digest(), &body
		})}, noon)
		assert.Equal(t, record.InvalidOffer, out.Refused)
		assert.Equal(t, "a", e.peer.Remote.Offer.Body.Capabilities[0].Name)
	})
}

// P11: what an offer adds is taken once in 10 seconds; what goes is gone at once.
func TestP11RemovalsFirst(t *testing.T) {
	e, w := newPair(t)
	w.offers(1, capabilities("a", "b"))
	beat(t, w, e, noon)
	names := func() (out []string) {
		for _, c := range e.peer.Remote.Offer.Body.Capabilities {
			out = append(out, c.Name)
		}
		return out
	}
	require.Equal(t, []string{"a", "b"}, names())

	w.offers(2, capabilities("b", "c"))
	out := beat(t, w, e, noon.Add(5*time.Second))
	assert.True(t, out.Repeat)
	assert.True(t, out.Changed)
	assert.Equal(t, []string{"b"}, names(), "a is gone, c waits")
	assert.EqualValues(t, 1, e.peer.Remote.Offer.Generation, "it is not said to be held")

	out = beat(t, w, e, noon.Add(9*time.Second))
	assert.True(t, out.Repeat)
	out = beat(t, w, e, noon.Add(10*time.Second))
	assert.False(t, out.Repeat)
	assert.Equal(t, []string{"b", "c"}, names())

	w.offers(3, capabilities("c"))
	out = beat(t, w, e, noon.Add(11*time.Second))
	assert.False(t, out.Repeat, "a removal waits for nothing")
	assert.Equal(t, []string{"c"}, names())
	w.offers(4, capabilities("c", "d"))
	assert.True(t, beat(t, w, e, noon.Add(19*time.Second)).Repeat)
}

func TestP11Reduce(t *testing.T) {
	held := protocol.Offer{
		Capabilities: []protocol.Capability{{Name: "a", Version: "1", Scope: []string{"project"}}, {Name: "b", Version: "1"}},
		Projects:     []protocol.Project{{Name: "p", Namespaces: []string{"p-1", "p-2"}}},
		Issuer:       &protocol.Issuer{URL: "https://a"}, Alias: "old",
	}
	next := protocol.Offer{
		Capabilities: []protocol.Capability{{Name: "a", Version: "1", Scope: []string{"cluster", "project"}}, {Name: "b", Version: "2"}, {Name: "c", Version: "1"}},
		Projects:     []protocol.Project{{Name: "p", Namespaces: []string{"p-2", "p-3"}}, {Name: "q"}},
		Issuer:       &protocol.Issuer{URL: "https://b"}, Alias: "new",
	}
	assert.Equal(t, protocol.Offer{
		Capabilities: []protocol.Capability{{Name: "a", Version: "1", Scope: []string{"project"}}},
		Projects:     []protocol.Project{{Name: "p", Namespaces: []string{"p-1", "p-2"}}},
		Alias:        "new",
	}, exchange.Reduce(held, next), "another key or URL of the issuer is something new")
	assert.Equal(t, []string{"p-1", "p-2"}, held.Projects[0].Namespaces)
}

// P11: namespaces of the other cluster decide nothing here, and each change of them is told
// in each namespace of ours: fewer wait as more do.
func TestP11NamespacesWait(t *testing.T) {
	e, w := newPair(t)
	offer := func(namespaces ...string) protocol.Offer {
		return protocol.Offer{Projects: []protocol.Project{{Name: "p", Namespaces: namespaces}}}
	}
	w.offers(1, offer("a", "b", "c"))
	require.True(t, beat(t, w, e, noon).Changed)
	for i, namespaces := range [][]string{{"a", "b"}, {"a"}, {"a", "c"}} {
		w.offers(uint64(2+i), offer(namespaces...))
		out := beat(t, w, e, noon.Add(time.Duration(1+i)*time.Second))
		assert.True(t, out.Repeat)
		assert.Equal(t, []string{"a", "b", "c"}, e.peer.Remote.Offer.Body.Projects[0].Namespaces)
	}
	beat(t, w, e, noon.Add(10*time.Second))
	assert.Equal(t, []string{"a", "c"}, e.peer.Remote.Offer.Body.Projects[0].Namespaces)
	w.offers(9, protocol.Offer{})
	beat(t, w, e, noon.Add(11*time.Second))
	assert.Empty(t, e.peer.Remote.Offer.Body.Projects, "the project goes at once")
}

// P11: a peer that is another one at every other beat is not given all back each time.
func TestP11FaultsThatFlap(t *testing.T) {
	e, w := newPair(t)
	w.offers(1, capabilities("a"))
	beat(t, w, e, noon)
	gave, changes := true, 0
	for i := range 60 {
		said := w.say(t, noon)
		expected := west
		if i%2 == 1 {
			expected = east
		}
		exchange.Hear(e.peer, exchange.Message{State: said, Expected: expected}, noon.Add(time.Duration(i)*time.Second))
		if gives := e.peer.Remote.Fault == ""; gives != gave {
			gave = gives
			changes++
		}
	}
	assert.LessOrEqual(t, changes, 2*6, "within a minute")
	assert.GreaterOrEqual(t, changes, 2*5, "it heals all the same")
}

// P6: who may peer is asked again at every beat; a peering heals when it is right again.
func TestP6ExpectedAtEveryBeat(t *testing.T) {
	e, w := newPair(t)
	out := exchange.Hear(e.peer, exchange.Message{State: w.say(t, noon), Expected: east}, noon)
	assert.Equal(t, record.UUIDMismatch, out.Refused)
	assert.Equal(t, record.UUIDMismatch, e.peer.Remote.Fault)
	assert.Empty(t, e.peer.Remote.Offer.Body.Alias, "nothing of it is taken")
	out = exchange.Hear(e.peer, exchange.Message{State: w.say(t, noon), Expected: west}, noon)
	assert.Empty(t, out.Refused)
	assert.Empty(t, e.peer.Remote.Fault)

	w.self.ClusterUUID = "cccccccc-0000-4000-8000-000000000003"
	assert.Equal(t, record.UUIDMismatch, beat(t, w, e, noon).Refused)
}

// P13: the clock of the other side, to a minute and without writing at every beat.
func TestP13Skew(t *testing.T) {
	e, w := newPair(t)
	said := func(ahead time.Duration) protocol.State {
		state := w.say(t, noon)
		state.Time = noon.Add(ahead).Unix()
		return state
	}
	exchange.Hear(e.peer, exchange.Message{State: said(10 * time.Minute)}, noon)
	assert.Equal(t, 10*time.Minute, e.peer.Remote.Skew)
	for _, jitter := range []time.Duration{-50 * time.Second, 50 * time.Second} {
		assert.False(t, exchange.Hear(e.peer, exchange.Message{State: said(10*time.Minute + jitter)}, noon).Changed)
	}
	exchange.Hear(e.peer, exchange.Message{State: said(0)}, noon)
	assert.Zero(t, e.peer.Remote.Skew)
}

// P3: a bundle is kept as soon as it is announced, if it is whole; and acknowledged.
func TestP3Trust(t *testing.T) {
	e, w := newPair(t)
	for range 2 {
		beat(t, w, e, noon)
		beat(t, e, w, noon)
	}
	require.False(t, exchange.Lacks(e.peer, e.authority))
	_, next := newCA(t, "next")
	e.authority.Next = &next
	require.True(t, exchange.Lacks(e.peer, e.authority))

	said := e.say(t, noon)
	require.Len(t, said.Trust, 2)
	for name, broken := range map[string][][]byte{"left out": nil, "another": said.Trust[:1], "no certificate": {[]byte("x"), []byte("y")}} {
		half := said
		half.Trust = broken
		if name == "no certificate" {
			half.TrustDigest = pki.BundleDigest(broken)
		}
		out := exchange.Hear(w.peer, exchange.Message{State: half}, noon)
		assert.True(t, out.Repeat, name)
		assert.Len(t, w.peer.Remote.Trust, 1, name)
	}
	assert.True(t, exchange.Hear(w.peer, exchange.Message{State: said}, noon).Changed)
	assert.Len(t, w.peer.Remote.Trust, 2)
	beat(t, w, e, noon)
	assert.False(t, exchange.Lacks(e.peer, e.authority), "acknowledged")
}

// P7: a certificate is taken if it is the other cluster's and for the key that waits.
func TestP7Certified(t *testing.T) {
	e, w := newPair(t)
	key, err := pki.NewKey()
	require.NoError(t, err)
	e.peer.Remote.Ours = record.Credential{Key: record.NewSecret(key.PEM())}
	csr := e.say(t, noon).CSR
	require.NotEmpty(t, csr)
	public, err := pki.ParseCSR(csr)
	require.NoError(t, err)
	issue := func(ca *pki.Authority, public any) []byte {
		serial, err := pki.NewSerial()
		require.NoError(t, err)
		certificate, err := pki.IssuePeer(ca, public, pki.PeerTemplate{ClusterUUID: east, Role: pki.RoleControl, Serial: serial, From: noon, Until: noon.Add(time.Hour)})
		require.NoError(t, err)
		return certificate.Raw
	}
	stranger, err := pki.NewKey()
	require.NoError(t, err)
	for name, der := range map[string][]byte{"none": nil, "garbage": []byte("x"), "another key": issue(w.ca, stranger.Public()), "another CA": issue(e.ca, public)} {
		said := w.say(t, noon)
		said.Certificate = der
		exchange.Hear(e.peer, exchange.Message{State: said}, noon)
		assert.Empty(t, e.peer.Remote.Ours.Certificate, name)
	}
	said := w.say(t, noon)
	said.Certificate = issue(w.ca, public)
	require.True(t, exchange.Hear(e.peer, exchange.Message{State: said}, noon).Changed)
	assert.Equal(t, said.Certificate, e.peer.Remote.Ours.Certificate)
	assert.Equal(t, noon.Add(time.Hour), e.peer.Remote.Ours.NotAfter)
	assert.Empty(t, e.say(t, noon).CSR, "no other is wanted")

	next, err := pki.NewKey()
	require.NoError(t, err)
	e.peer.Remote.Next = &record.Credential{Key: record.NewSecret(next.PEM())}
	require.NotEmpty(t, e.say(t, noon).CSR)
	said.Certificate = issue(w.ca, public)
	exchange.Hear(e.peer, exchange.Message{State: said}, noon)
	require.NotNil(t, e.peer.Remote.Next, "that is a certificate for the key that is to be replaced")
	said.Certificate = issue(w.ca, next.Public())
	exchange.Hear(e.peer, exchange.Message{State: said}, noon)
	assert.Nil(t, e.peer.Remote.Next)
	assert.Equal(t, next.PEM(), e.peer.Remote.Ours.Key.Reveal())
}
