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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func publicKey(t *testing.T) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}
}

func publishing(t *testing.T, keys ...jose.JSONWebKey) protocol.Offer {
	t.Helper()
	data, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	require.NoError(t, err)
	return protocol.Offer{Issuer: &protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: string(data)}}
}

// since returns the hours after noon since when the keys of the peer count.
func since(t *testing.T, s *side, keys ...jose.JSONWebKey) []float64 {
	t.Helper()
	var all []float64
	for _, key := range keys {
		data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}})
		require.NoError(t, err)
		thumbprints, err := protocol.Thumbprints(string(data))
		require.NoError(t, err)
		at := -1.0
		for _, known := range s.peer.Remote.IssuerKeys {
			if known.Thumbprint == record.Digest(thumbprints[0]) {
				at = known.Since.Sub(noon).Hours()
			}
		}
		all = append(all, at)
	}
	return all
}

// G6, P11: the keys of an issuer count from when the offer with them was accepted. One that
// adds a key too soon is reduced, to no issuer at all; the keys that it publishes all the
// time keep theirs, and those that it does not any more go at once.
func TestG6IssuerKeysOfReducedOffers(t *testing.T) {
	a, b, c := publicKey(t), publicKey(t), publicKey(t)
	e, w := newPair(t)
	at := func(hours float64) time.Time { return noon.Add(time.Duration(hours * float64(time.Hour))) }
	w.offers(1, publishing(t, a, b))
	require.True(t, beat(t, w, e, at(1)).Changed)
	assert.Equal(t, []float64{1, 1, -1}, since(t, e, a, b, c))

	w.offers(2, publishing(t, a, c))
	soon := at(1).Add(exchange.AdditiveInterval / 2)
	out := beat(t, w, e, soon)
	assert.True(t, out.Changed && out.Repeat)
	assert.Nil(t, e.peer.Remote.Offer.Body.Issuer, "it is not accepted yet")
	assert.Equal(t, []float64{1, -1, -1}, since(t, e, a, b, c))
	out = beat(t, w, e, soon.Add(time.Second))
	assert.True(t, out.Repeat)
	assert.Equal(t, []float64{1, -1, -1}, since(t, e, a, b, c))

	require.True(t, beat(t, w, e, at(2)).Changed)
	assert.NotNil(t, e.peer.Remote.Offer.Body.Issuer)
	assert.Equal(t, []float64{1, -1, 2}, since(t, e, a, b, c))

	// One that publishes nothing any more is no addition.
	w.offers(3, protocol.Offer{Alias: "x"})
	beat(t, w, e, at(2).Add(time.Second))
	assert.Empty(t, e.peer.Remote.IssuerKeys)
	w.offers(4, publishing(t, a))
	require.True(t, beat(t, w, e, at(3)).Changed)
	assert.Equal(t, []float64{3}, since(t, e, a))
}

// A draft of a record is tried on without a change of the record itself.
func TestG6DraftKeepsIssuerKeys(t *testing.T) {
	a, b, c := publicKey(t), publicKey(t), publicKey(t)
	e, w := newPair(t)
	w.offers(1, publishing(t, a, b))
	beat(t, w, e, noon)
	w.offers(2, publishing(t, c, b))
	exchange.Hear(exchange.Draft(e.peer), exchange.Message{State: w.say(t, noon)}, noon.Add(time.Second))
	assert.Equal(t, []float64{0, 0, -1}, since(t, e, a, b, c))
}
