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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func newPublicKey(t *testing.T) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: key.Public(), Algorithm: "ES256", Use: "sig"}
}

// issuerOf is an issuer with those keys, under IDs of their own.
func issuerOf(t *testing.T, keys ...jose.JSONWebKey) *protocol.Issuer {
	t.Helper()
	set := jose.JSONWebKeySet{Keys: keys}
	for i := range set.Keys {
		set.Keys[i].KeyID = strconv.Itoa(i)
	}
	data, err := json.Marshal(set)
	require.NoError(t, err)
	return &protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: string(data)}
}

func thumbprintOf(t *testing.T, key jose.JSONWebKey) record.Digest {
	t.Helper()
	all, err := protocol.Thumbprints(issuerOf(t, key).JWKS)
	require.NoError(t, err)
	return all[0]
}

// G6: a key counts from when it was published first, however it is written and whatever
// comes beside it; one that was taken back and is published again counts from then.
func TestG6NoteIssuer(t *testing.T) {
	at := func(hours int) time.Time { return time.Date(2026, 11, 1, hours, 0, 0, 0, time.UTC) }
	a, b := newPublicKey(t), newPublicKey(t)
	var remote record.Remote
	note := func(issuer *protocol.Issuer, hours int) []record.IssuerKey {
		remote.Offer.Body.Issuer = issuer
		remote.NoteIssuer(at(hours))
		return remote.IssuerKeys
	}
	since := func(key jose.JSONWebKey, hours int) record.IssuerKey {
		return record.IssuerKey{Thumbprint: thumbprintOf(t, key), Since: at(hours)}
	}
	assert.Equal(t, []record.IssuerKey{since(a, 1)}, note(issuerOf(t, a), 1))
	assert.Equal(t, []record.IssuerKey{since(a, 1)}, note(issuerOf(t, a), 2))
	assert.Equal(t, []record.IssuerKey{since(b, 3), since(a, 1)}, note(issuerOf(t, b, a), 3), "under another ID")
	assert.Equal(t, []record.IssuerKey{since(b, 3), since(a, 1)}, note(issuerOf(t, b, a, b), 4), "once each")
	another := issuerOf(t, a)
	another.URL = "https://other.example.com"
	assert.Equal(t, []record.IssuerKey{since(a, 1)}, note(another, 5), "of another URL")
	assert.Equal(t, []record.IssuerKey{since(a, 1), since(b, 6)}, note(issuerOf(t, a, b), 6), "it was taken back between")
	assert.Empty(t, note(&protocol.Issuer{JWKS: "no key set"}, 7))
	assert.Empty(t, note(nil, 8))
}

// G6: while an issuer waits to be accepted, what it has in common with the one before keeps
// its time, and nothing new counts.
func TestG6KeepIssuer(t *testing.T) {
	a, b, c := newPublicKey(t), newPublicKey(t), newPublicKey(t)
	first, later := time.Date(2026, 11, 1, 1, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	remote := &record.Remote{}
	remote.Offer.Body.Issuer = issuerOf(t, a, b)
	remote.NoteIssuer(first)
	before := remote.IssuerKeys
	shared := *remote

	remote.KeepIssuer(issuerOf(t, c, a))
	assert.Equal(t, []record.IssuerKey{{Thumbprint: thumbprintOf(t, a), Since: first}}, remote.IssuerKeys)
	assert.Equal(t, []record.IssuerKey{{Thumbprint: thumbprintOf(t, a), Since: first}, {Thumbprint: thumbprintOf(t, b), Since: first}}, before, "it may be shared")
	remote.Offer.Body.Issuer = issuerOf(t, c, a)
	remote.NoteIssuer(later)
	assert.Equal(t, []record.IssuerKey{{Thumbprint: thumbprintOf(t, c), Since: later}, {Thumbprint: thumbprintOf(t, a), Since: first}}, remote.IssuerKeys)
	shared.KeepIssuer(nil)
	assert.Empty(t, shared.IssuerKeys)
}

// G6: a cluster that is paired anew keeps the times of its keys, on either side: one that has
// published copies of them meanwhile does not come first.
func TestG6KeysOfOnePairedAnew(t *testing.T) {
	keys := []record.IssuerKey{{Thumbprint: key(7), Since: noon.Add(-time.Hour)}}
	publish := func(b *book) {
		b.must(func(tx record.Tx) error {
			peer, err := tx.Peer(uid)
			require.NoError(t, err)
			peer.Remote.IssuerKeys = keys
			return tx.PutPeer(peer)
		})
	}
	t.Run("by an invite", func(t *testing.T) {
		b := paired(t)
		publish(b)
		b.must(func(tx record.Tx) error { return record.Mint(tx, minting(uid, "bb01020304050607", tokenID)) })
		r := redemption(noon)
		r.TokenID, r.Key.Hash = "bb01020304050607", key(3)
		_, _, err := b.redeem(r)
		require.NoError(t, err)
		assert.Equal(t, keys, b.Peer(uid).Remote.IssuerKeys)
	})
	t.Run("by a join", func(t *testing.T) {
		b := newBook(t)
		for _, text := range []record.Digest{key(1), key(4)} {
			_, err := b.join(joining(text, east))
			require.NoError(t, err)
			b.must(func(tx record.Tx) error { return record.CompleteJoin(tx, joined(text)) })
			publish(b)
		}
		_, err := b.join(joining(key(6), east))
		require.NoError(t, err)
		b.must(func(tx record.Tx) error { return record.CompleteJoin(tx, joined(key(6))) })
		assert.Equal(t, keys, b.Peer(uid).Remote.IssuerKeys)
	})
}
