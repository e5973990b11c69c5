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

package record_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// claimed is a ledger of peers that publish keys, and the claims made of it.
type claimed struct {
	t      *testing.T
	ledger *recordtest.Memory
	claims *record.IssuerClaims
}

func newClaimed(t *testing.T) *claimed {
	t.Helper()
	c := &claimed{t: t, ledger: recordtest.New()}
	c.follow()
	return c
}

// follow makes the claims anew, as another process does.
func (c *claimed) follow() {
	claims, cancel := record.NewIssuerClaims(c.ledger)
	c.t.Cleanup(cancel)
	c.claims = claims
}

// publishes has the peer of a ClusterPeer publish keys from an hour on.
func (c *claimed) publishes(uid string, hours int, keys ...jose.JSONWebKey) {
	c.t.Helper()
	c.change(uid, func(p *record.Peer) {
		p.Remote.Offer.Body.Issuer = issuerOf(c.t, keys...)
		p.Remote.NoteIssuer(claimsNoon.Add(time.Duration(hours) * time.Hour))
	})
}

var claimsNoon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func (c *claimed) change(uid string, change func(*record.Peer)) {
	c.t.Helper()
	require.NoError(c.t, c.ledger.Update(c.t.Context(), func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		if peer == nil {
			peer = &record.Peer{UID: uid, Name: "name-of-" + uid, Remote: &record.Remote{ClusterUUID: "cluster-" + uid, ConfirmedAt: claimsNoon}}
		}
		change(peer)
		return tx.PutPeer(peer)
	}))
}

// shared tells with whom a peer shares a key: "us", a UID, or nothing.
func (c *claimed) shared(uid string) string {
	by, shared := c.claims.Shared(c.ledger.Peer(uid))
	if shared && by == "" {
		return "us"
	}
	return by
}

// G6: a key counts for the one that published it first, and for the others it is shared.
func TestG6FirstPublisherWins(t *testing.T) {
	a, b, common := newPublicKey(t), newPublicKey(t), newPublicKey(t)
	c := newClaimed(t)
	c.publishes("one", 2, a, common)
	c.publishes("two", 1, b)
	assert.Empty(t, c.shared("one"))
	assert.Empty(t, c.shared("two"))
	c.publishes("two", 3, common, b)
	check := func() {
		t.Helper()
		assert.Empty(t, c.shared("one"))
		assert.Equal(t, "one", c.shared("two"))
	}
	check()
	c.publishes("two", 0, common, b)
	check()
	c.follow()
	check()

	c.publishes("one", 4, a)
	assert.Empty(t, c.shared("two"), "nobody else has it any more")
	c.publishes("one", 5, common, a)
	assert.Equal(t, "two", c.shared("one"), "it is the later one now")
	assert.Empty(t, c.shared("two"))

	t.Run("at the same time one of them wins", func(t *testing.T) {
		c := newClaimed(t)
		c.publishes("b", 1, common)
		c.publishes("a", 1, common)
		assert.Empty(t, c.shared("a"))
		assert.Equal(t, "a", c.shared("b"))
	})
}

// G6: the keys of this cluster are nobody else's, whoever is offered them and since when.
func TestG6OurKeysAreRefused(t *testing.T) {
	ours, theirs := newPublicKey(t), newPublicKey(t)
	c := newClaimed(t)
	c.publishes("one", 0, theirs, ours)
	offered := func(issuer *protocol.Issuer) func(*record.Peer) {
		return func(p *record.Peer) { p.Offer.Body.Issuer = issuer }
	}
	c.change("two", offered(issuerOf(t, ours)))
	c.change("three", offered(issuerOf(t, ours)))
	assert.Equal(t, "us", c.shared("one"))
	c.change("two", offered(nil))
	assert.Equal(t, "us", c.shared("one"), "another one is offered it still")
	require.NoError(t, c.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.DeletePeer("three") }))
	assert.Empty(t, c.shared("one"))
	c.change("one", offered(issuerOf(t, ours)))
	assert.Equal(t, "us", c.shared("one"), "also if it is itself offered it")
	c.change("one", offered(&protocol.Issuer{JWKS: "no key set"}))
	assert.Empty(t, c.shared("one"))
}

// G6: who has no access here takes no key from others.
func TestG6ClaimsTakeAccess(t *testing.T) {
	common := newPublicKey(t)
	for name, lose := range map[string]func(p *record.Peer){
		"left":            func(p *record.Peer) { p.Remote.Fault = record.PeerLeft },
		"suspended":       func(p *record.Peer) { p.Remote.Fault = record.PeerSuspended },
		"not confirmed":   func(p *record.Peer) { p.Remote.ConfirmedAt = time.Time{} },
		"another cluster": func(p *record.Peer) { p.Remote.Fault = record.UUIDMismatch },
		"nobody any more": func(p *record.Peer) { p.Remote = nil },
	} {
		c := newClaimed(t)
		c.publishes("one", 1, common)
		c.publishes("two", 2, common)
		require.Equal(t, "one", c.shared("two"))
		c.change("one", lose)
		assert.Empty(t, c.shared("two"), name)
	}
	c := newClaimed(t)
	c.publishes("one", 1, common)
	c.publishes("two", 2, common)
	c.change("one", func(p *record.Peer) { p.Remote.Fault = record.InvalidOffer })
	assert.Equal(t, "one", c.shared("two"), "the offer before it stands")
	require.NoError(t, c.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.DeletePeer("one") }))
	assert.Empty(t, c.shared("two"))
	for _, peer := range []*record.Peer{nil, {UID: "x"}} {
		_, shared := c.claims.Shared(peer)
		assert.False(t, shared)
	}
}

// However many records change at once, in the end the claims are those of a process that
// reads the ledger then; and no key is ever counted for two.
func TestG6ClaimsUnderConcurrentChanges(t *testing.T) {
	keys := make([]jose.JSONWebKey, 4)
	for i := range keys {
		keys[i] = newPublicKey(t)
	}
	c := newClaimed(t)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			uid := fmt.Sprintf("peer-%d", w)
			for round := range 25 {
				c.publishes(uid, round, keys[(w+round)%4], keys[(w+round+1)%4])
				if round%5 == 4 {
					c.change(uid, func(p *record.Peer) { p.Offer.Body.Issuer = issuerOf(t, keys[round%4]) })
					c.change(uid, func(p *record.Peer) { p.Offer.Body.Issuer = nil })
				}
				c.shared(uid)
			}
		})
	}
	writers.Wait()
	var got []string
	for w := range 4 {
		got = append(got, c.shared(fmt.Sprintf("peer-%d", w)))
	}
	c.follow()
	for w, by := range got {
		assert.Equal(t, c.shared(fmt.Sprintf("peer-%d", w)), by)
	}
}

// Nothing is followed once that was ended.
func TestClaimsEnd(t *testing.T) {
	common := newPublicKey(t)
	c := newClaimed(t)
	claims, cancel := record.NewIssuerClaims(c.ledger)
	c.publishes("one", 1, common)
	cancel()
	c.change("one", func(p *record.Peer) { p.Remote = nil })
	c.publishes("two", 2, common)
	by, shared := claims.Shared(c.ledger.Peer("two"))
	assert.True(t, shared)
	assert.Equal(t, "one", by)
}

// G6: who subscribed is told when claims have changed, and finds them so; of what changes
// none, as the beats of peers do, nobody is.
func TestG6ClaimsAreTold(t *testing.T) {
	a, b, common := newPublicKey(t), newPublicKey(t), newPublicKey(t)
	c := newClaimed(t)
	c.publishes("two", 2, common)
	told, shown := 0, ""
	cancel := c.claims.Subscribe(func() { told, shown = told+1, c.shared("two") })
	heard := func(times int, by string) {
		t.Helper()
		assert.Equal(t, times, told)
		assert.Equal(t, by, shown)
		told = 0
	}
	c.publishes("one", 1, a, common)
	heard(1, "one")
	c.publishes("one", 1, common, a)
	heard(0, "one")
	c.change("one", func(p *record.Peer) { p.Remote.Contact, p.Remote.Unreachable = claimsNoon, claimsNoon })
	heard(0, "one")
	c.change("one", func(p *record.Peer) { p.Remote.Fault = record.PeerLeft })
	heard(1, "")
	offered := func(issuer *protocol.Issuer) func(*record.Peer) {
		return func(p *record.Peer) { p.Offer.Body.Issuer = issuer }
	}
	c.change("one", offered(issuerOf(t, common)))
	heard(1, "us")
	c.change("three", offered(issuerOf(t, common)))
	c.change("two", offered(&protocol.Issuer{URL: "https://another", JWKS: issuerOf(t, common).JWKS}))
	heard(0, "us")
	require.NoError(t, c.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.DeletePeer("one") }))
	c.change("two", offered(nil))
	heard(0, "us")
	c.change("three", offered(issuerOf(t, b)))
	heard(1, "")
	cancel()
	c.publishes("one", 1, common)
	heard(0, "")
}
