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

// Whatever is heard on a draft, the record stays as it is.
func TestDraft(t *testing.T) {
	e, w := newPair(t)
	key, err := pki.NewKey()
	require.NoError(t, err)
	e.peer.Remote.Ours = record.Credential{Key: record.NewSecret(key.PEM())}
	e.peer.Remote.Endpoints = []string{"https://old.example.com"}
	e.peer.Remote.Unreachable, e.peer.Remote.Fault = noon, record.TrustExpired
	beat(t, w, e, noon)
	certificate, err := pki.IssuePeer(w.ca, key.Public(), pki.PeerTemplate{ClusterUUID: east, Role: pki.RoleControl, Serial: []byte{1}, From: noon, Until: noon.Add(time.Hour)})
	require.NoError(t, err)
	_, next := newCA(t, "next")
	w.authority.Next = &next
	w.self.Endpoints = []string{"https://west.example.com"}
	before, err := record.Encode(e.peer)
	require.NoError(t, err)

	for _, offer := range []protocol.Offer{{Alias: "west"}, capabilities("a", "b"), {}} {
		w.offers(w.peer.Offer.Generation+1, offer)
		said := w.say(t, noon.Add(time.Hour))
		said.Certificate = certificate.Raw
		for _, now := range []time.Time{noon.Add(time.Second), noon.Add(time.Hour)} {
			assert.True(t, exchange.Hear(exchange.Draft(e.peer), exchange.Message{State: said}, now).Changed)
			exchange.Hear(exchange.Draft(e.peer), exchange.Message{State: said, Expected: east}, now)
			exchange.Hear(exchange.Draft(e.peer), exchange.Message{State: said, BadOffer: true}, now)
		}
	}
	after, err := record.Encode(e.peer)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

// P10: that an offer breaks the rules is a fault until one does not; it hides no other.
func TestP10BadOffer(t *testing.T) {
	e, w := newPair(t)
	beat(t, w, e, noon)
	held := e.peer.Remote.Offer
	bad := func() exchange.Outcome {
		said := w.say(t, noon)
		said.Offer.Generation, said.OfferBody = 2, &protocol.Offer{Alias: "\x00"}
		return exchange.Hear(e.peer, exchange.Message{State: said, BadOffer: true}, noon)
	}
	assert.Equal(t, exchange.Outcome{Changed: true, Refused: record.InvalidOffer}, bad())
	assert.Equal(t, record.InvalidOffer, e.peer.Remote.Fault)
	assert.Equal(t, exchange.Outcome{Refused: record.InvalidOffer}, bad(), "once")
	assert.Equal(t, held, e.peer.Remote.Offer)

	left := w.say(t, noon)
	left.Offer.Generation, left.OfferBody = 9, nil
	exchange.Hear(e.peer, exchange.Message{State: left}, noon)
	assert.Equal(t, record.InvalidOffer, e.peer.Remote.Fault, "nothing valid was offered yet")
	outcome := beat(t, w, e, noon)
	assert.True(t, outcome.Changed)
	assert.Empty(t, e.peer.Remote.Fault)

	// A body that does not match its digest is such an offer.
	w.offers(2, protocol.Offer{Alias: "west again"})
	said := w.say(t, noon)
	said.OfferBody = &protocol.Offer{Alias: "another"}
	outcome = exchange.Hear(e.peer, exchange.Message{State: said}, noon)
	assert.Equal(t, record.InvalidOffer, outcome.Refused)
	assert.Equal(t, record.InvalidOffer, e.peer.Remote.Fault)
	// One that is valid but comes too soon makes up for it.
	e.peer.Remote.Additive = noon
	w.offers(3, capabilities("a"))
	outcome = beat(t, w, e, noon.Add(time.Second))
	assert.True(t, outcome.Repeat)
	assert.Empty(t, e.peer.Remote.Fault)

	e.peer.Remote.Fault = record.PeerSuspended
	assert.False(t, bad().Changed)
	assert.Equal(t, record.PeerSuspended, e.peer.Remote.Fault)
}

// P10: a bad offer takes nothing from what stands beside it. Else a peer could neither
// move nor rotate its CA before its offer is mended.
func TestP10BesideABadOffer(t *testing.T) {
	e, w := newPair(t)
	beat(t, w, e, noon)
	held, later := e.peer.Remote.Offer, noon.Add(time.Hour)
	e.peer.Remote.Unreachable, e.peer.Remote.Fault = noon, record.TrustExpired
	key, err := pki.NewKey()
	require.NoError(t, err)
	e.peer.Remote.Ours = record.Credential{Key: record.NewSecret(key.PEM())}
	certificate, err := pki.IssuePeer(w.ca, key.Public(), pki.PeerTemplate{ClusterUUID: east, Role: pki.RoleControl, Serial: []byte{1}, From: noon, Until: later})
	require.NoError(t, err)
	beat(t, e, w, noon) // what it acknowledges below
	_, next := newCA(t, "next")
	w.authority.Next = &next
	w.self.Endpoints = []string{"https://west.example.com"}
	w.offers(2, protocol.Offer{Alias: "west again"})
	said := w.say(t, later)
	said.Certificate = certificate.Raw
	said.Time = later.Add(10 * time.Minute).Unix()

	out := exchange.Hear(e.peer, exchange.Message{State: said, BadOffer: true, Expected: west}, later)
	assert.Equal(t, exchange.Outcome{Changed: true, Refused: record.InvalidOffer}, out)
	remote := e.peer.Remote
	assert.Equal(t, held, remote.Offer, "of the offer nothing is taken, however good it looks")
	assert.Equal(t, record.InvalidOffer, remote.Fault, "what heals has healed")
	assert.Equal(t, w.authority.Trust(), remote.Trust)
	assert.Equal(t, record.Acked{Offer: e.peer.Offer.OfferHeader, Trust: pki.BundleDigest(e.authority.Trust())}, remote.Acked)
	assert.Equal(t, w.self.Endpoints, remote.Endpoints)
	assert.Equal(t, later, remote.Contact)
	assert.Equal(t, 10*time.Minute, remote.Skew)
	assert.Zero(t, remote.Unreachable)
	assert.Equal(t, certificate.Raw, remote.Ours.Certificate)

	said.ClusterUUID = "cccccccc-0000-4000-8000-000000000003"
	out = exchange.Hear(e.peer, exchange.Message{State: said, BadOffer: true}, later)
	assert.Equal(t, record.UUIDMismatch, out.Refused, "whose offer it is comes first")
}
