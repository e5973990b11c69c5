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

// P9: one answer does not end an outage, and who dials does not forget where to.
func TestP9HearAnswer(t *testing.T) {
	e, w := newPair(t)
	w.peer.Remote.Endpoints = []string{"https://east.example.com"}
	w.peer.Remote.Unreachable = noon
	said := e.say(t, noon)
	said.Endpoints = nil
	out := exchange.Hear(w.peer, exchange.Message{State: said, Answer: true, Away: true}, noon)
	assert.True(t, out.Changed)
	assert.Equal(t, noon, w.peer.Remote.Unreachable)
	assert.Equal(t, []string{"https://east.example.com"}, w.peer.Remote.Endpoints)
	out = exchange.Hear(w.peer, exchange.Message{State: said, Answer: true, Away: true}, noon)
	assert.False(t, out.Changed)
	out = exchange.Hear(w.peer, exchange.Message{State: said, Answer: true}, noon)
	assert.True(t, out.Changed)
	assert.Zero(t, w.peer.Remote.Unreachable)

	e.peer.Remote.Unreachable = noon
	require.True(t, beat(t, w, e, noon).Changed)
	assert.Zero(t, e.peer.Remote.Unreachable, "a beat that arrives does")
}

// P10: an offer that was not worked out yet is none: not one of nothing, which would take
// from the other side what it holds.
func TestP10NoOfferYet(t *testing.T) {
	e, w := newPair(t)
	w.peer.Offer = record.Offer{OfferHeader: protocol.OfferHeader{Epoch: 4, Generation: 1}}
	said := w.say(t, noon)
	assert.Zero(t, said.Offer)
	assert.Nil(t, said.OfferBody)
	out := exchange.Hear(e.peer, exchange.Message{State: said}, noon)
	assert.Empty(t, out.Refused)
	assert.Empty(t, e.peer.Remote.Fault)
	w.peer.Remote.Acked.Trust = pki.BundleDigest(w.authority.Trust())
	assert.False(t, exchange.Lacks(w.peer, w.authority))
}

// P9: there is news when something that was said is not so any more.
func TestP9News(t *testing.T) {
	for name, change := range map[string]func(*side){
		"another offer":      func(s *side) { s.offers(2, protocol.Offer{Alias: "other"}) },
		"another CA":         func(s *side) { _, next := newCA(t, "next"); s.authority.Next = &next },
		"an offer was taken": func(s *side) { s.peer.Remote.Offer.Generation++ },
		"a bundle was taken": func(s *side) { s.peer.Remote.Trust = nil },
	} {
		t.Run(name, func(t *testing.T) {
			_, w := newPair(t)
			said := w.say(t, noon)
			w.peer.Remote.Contact = noon
			w.peer.Remote.Acked.Offer = said.Offer
			require.False(t, exchange.News(said, w.peer, w.authority))
			change(w)
			assert.True(t, exchange.News(said, w.peer, w.authority))
		})
	}
}

// P2: the certificate of a key is always the same one, by the authority that the ledger
// names, and ends with that.
func TestP2Certify(t *testing.T) {
	e, w := newPair(t)
	key, err := pki.NewKey()
	require.NoError(t, err)
	now := noon.Add(350 * 24 * time.Hour)
	entry, err := exchange.NewKey(e.authority, key.Public(), record.RoleControl, record.KeyLife, now)
	require.NoError(t, err)
	assert.Equal(t, e.authority.Current.NotAfter, entry.NotAfter)
	assert.Equal(t, now.Add(-record.KeyBackdate), entry.NotBefore)
	for range 2 {
		der, err := exchange.Certify(e.authority, west, entry, key.Public())
		require.NoError(t, err)
		certificate, err := exchange.Certified(record.NewSecret(key.PEM()), der, e.authority.Trust())
		require.NoError(t, err)
		uuid, role, ok := pki.PeerOf(certificate)
		assert.True(t, ok)
		assert.Equal(t, []string{west, "control"}, []string{uuid, role})
		assert.Equal(t, entry.Serial, certificate.SerialNumber.Bytes())
		assert.Equal(t, entry.NotAfter.Unix(), certificate.NotAfter.Unix())
	}
	_, err = exchange.Certify(w.authority, west, entry, key.Public())
	require.Error(t, err, "another authority signs by now")
	_, err = exchange.Certify(nil, west, entry, key.Public())
	require.Error(t, err)
	_, err = exchange.NewKey(nil, key.Public(), record.RoleControl, record.KeyLife, now)
	require.Error(t, err)
}

// A fault that comes from a misunderstanding is over with it.
func TestHealing(t *testing.T) {
	for fault, healed := range map[record.Reason]bool{
		record.UUIDMismatch: true, record.TrustExpired: true, record.IncompatibleVersion: true, record.PeerSuspended: false,
	} {
		e, w := newPair(t)
		w.peer.Remote.Fault = fault
		beat(t, e, w, noon)
		assert.Equal(t, healed, w.peer.Remote.Fault == "", fault)
	}
}
