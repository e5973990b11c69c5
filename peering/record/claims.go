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

package record

import (
	"slices"
	"sync"

	"entente.dev/entente/peering/protocol"
)

// IssuerClaims knows which clusters publish which keys for the tokens of their
// ServiceAccounts. A key that two publish would make the users of one those of the other,
// so that it counts for the one alone that published it first, and for nobody if it is
// ours (G6).
type IssuerClaims struct {
	ledger Reader

	lock sync.RWMutex
	// keys are those of each peer with access here, by the UID of its ClusterPeer.
	keys map[string][]IssuerKey
	// ours is the key set that each peer is offered as that of this cluster.
	ours map[string]string
	// claims counts what both hold, by key.
	claims map[Digest][]claim
}

type claim struct {
	uid string // empty: this cluster
	IssuerKey
}

// NewIssuerClaims reads the ledger, and follows it until cancel is called.
func NewIssuerClaims(ledger Reader) (claims *IssuerClaims, cancel func()) {
	c := &IssuerClaims{ledger: ledger, keys: map[string][]IssuerKey{}, ours: map[string]string{}, claims: map[Digest][]claim{}}
	cancel = ledger.Subscribe(c.changed)
	for _, peer := range ledger.Peers() {
		c.changed(peer.UID)
	}
	return c, cancel
}

// changed is quick where the keys are the same as before, which is nearly always.
func (c *IssuerClaims) changed(uid string) {
	if uid == "" {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	// Read under the lock, so that of two changes the later one is what stays.
	var keys []IssuerKey
	var ours string
	if peer := c.ledger.Peer(uid); peer != nil {
		if peer.GivesAccess() {
			keys = peer.Remote.IssuerKeys
		}
		if issuer := peer.Offer.Body.Issuer; issuer != nil {
			ours = issuer.JWKS
		}
	}
	if !slices.Equal(c.keys[uid], keys) {
		c.drop(uid, c.keys[uid])
		for _, key := range keys {
			c.claims[key.Thumbprint] = append(c.claims[key.Thumbprint], claim{uid, key})
		}
		c.keys[uid] = keys
	}
	if c.ours[uid] != ours {
		c.drop("", ownKeys(c.ours[uid]))
		for _, key := range ownKeys(ours) {
			c.claims[key.Thumbprint] = append(c.claims[key.Thumbprint], claim{"", key})
		}
		c.ours[uid] = ours
	}
	if len(keys) == 0 {
		delete(c.keys, uid)
	}
	if ours == "" {
		delete(c.ours, uid)
	}
}

func ownKeys(jwks string) []IssuerKey {
	if jwks == "" {
		return nil
	}
	var keys []IssuerKey
	for _, thumbprint := range thumbprints(&protocol.Issuer{JWKS: jwks}) {
		keys = append(keys, IssuerKey{Thumbprint: thumbprint})
	}
	return keys
}

// drop takes one claim for each of the keys back.
func (c *IssuerClaims) drop(uid string, keys []IssuerKey) {
	for _, key := range keys {
		claims := c.claims[key.Thumbprint]
		if i := slices.Index(claims, claim{uid, key}); i >= 0 {
			claims = slices.Delete(claims, i, i+1)
		}
		if c.claims[key.Thumbprint] = claims; len(claims) == 0 {
			delete(c.claims, key.Thumbprint)
		}
	}
}

// Shared tells whether a peer publishes a key that is ours, or that another peer has
// published before it: its tokens are not to be taken then. By is the UID of the
// ClusterPeer of that other peer, empty if the key is ours.
func (c *IssuerClaims) Shared(peer *Peer) (by string, shared bool) {
	if peer == nil || peer.Remote == nil {
		return "", false
	}
	c.lock.RLock()
	defer c.lock.RUnlock()
	for _, key := range peer.Remote.IssuerKeys {
		for _, other := range c.claims[key.Thumbprint] {
			if other.uid == peer.UID {
				continue
			}
			if other.uid == "" || other.Since.Before(key.Since) || (other.Since.Equal(key.Since) && other.uid < peer.UID) {
				return other.uid, true
			}
		}
	}
	return "", false
}
