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
	claims      map[Digest][]claim
	subscribers []*func()
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

// Subscribe has changed called, quickly and not to block, after the claims have become
// others. It returns how to end that.
func (c *IssuerClaims) Subscribe(changed func()) (cancel func()) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.subscribers = append(slices.Clone(c.subscribers), &changed)
	return func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.subscribers = slices.DeleteFunc(slices.Clone(c.subscribers), func(s *func()) bool { return s == &changed })
	}
}

// changed reads a record that has changed.
func (c *IssuerClaims) changed(uid string) {
	if uid == "" {
		return
	}
	// Called without the lock: they ask what there is now.
	for _, told := range c.read(uid) {
		(*told)()
	}
}

// read is quick where the keys are the same as before, which is nearly always. It returns
// who is to be told that claims are others than before.
func (c *IssuerClaims) read(uid string) (told []*func()) {
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
	changed := false
	if !slices.Equal(c.keys[uid], keys) {
		changed = c.replace(uid, c.keys[uid], keys)
		c.keys[uid] = keys
	}
	if c.ours[uid] != ours {
		changed = c.replace("", ownKeys(c.ours[uid]), ownKeys(ours)) || changed
		c.ours[uid] = ours
	}
	if len(keys) == 0 {
		delete(c.keys, uid)
	}
	if ours == "" {
		delete(c.ours, uid)
	}
	if !changed {
		return nil
	}
	return c.subscribers
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

// replace takes one claim for each of the old keys back, and makes one for each of the new
// ones. It tells whether there is one now that there was not, or the other way round: our
// own keys are claimed as often as they are offered.
func (c *IssuerClaims) replace(uid string, before, after []IssuerKey) (changed bool) {
	for _, key := range after {
		one := claim{uid, key}
		changed = changed || !slices.Contains(c.claims[key.Thumbprint], one)
		c.claims[key.Thumbprint] = append(c.claims[key.Thumbprint], one)
	}
	for _, key := range before {
		one, claims := claim{uid, key}, c.claims[key.Thumbprint]
		if i := slices.Index(claims, one); i >= 0 {
			claims = slices.Delete(claims, i, i+1)
		}
		changed = changed || !slices.Contains(claims, one)
		if c.claims[key.Thumbprint] = claims; len(claims) == 0 {
			delete(c.claims, key.Thumbprint)
		}
	}
	return changed
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
