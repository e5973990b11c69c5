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

package grant

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"entente.dev/entente/peering/record"
)

// changes are what is to be changed in the ledger, by capability.
type changes map[string]*record.GrantChange

// of returns the change for a capability.
func (c changes) of(o owner, capability string) *record.GrantChange {
	if c[capability] == nil {
		c[capability] = &record.GrantChange{PeerUID: o.uid, PeerName: o.name, Capability: capability}
	}
	return c[capability]
}

// note makes changes in the ledger, a transaction for each capability: what one may write
// has a limit, which the grants of two capabilities may be over. It tells whether all were
// made.
func (c *Controller) note(ctx context.Context, changed changes, p *progress) bool {
	// What was done is to be noted though the round was stopped.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for _, capability := range slices.Sorted(maps.Keys(changed)) {
		err := c.ledger.Update(ctx, func(tx record.Tx) error { return record.ChangeGrant(tx, *changed[capability]) })
		if err != nil {
			p.fails(unrecorded, fmt.Errorf("could not record what capability %s grants: %w", capability, err))
			return false
		}
	}
	return true
}

// listedFor returns what the ledger lists for a ClusterPeer.
func (c *Controller) listedFor(o owner) map[ref]listing {
	all := map[ref]listing{}
	for _, grant := range c.ledger.Grants(o.uid) {
		for _, object := range grant.Objects {
			all[refOf(object)] = listing{grant.Capability, object}
		}
	}
	return all
}

// isListed tells whether the ledger lists an object for a ClusterPeer.
func (c *Controller) isListed(peerUID string, r ref) bool {
	for _, grant := range c.ledger.Grants(peerUID) {
		if slices.ContainsFunc(grant.Objects, func(o record.GrantedObject) bool { return refOf(o) == r }) {
			return true
		}
	}
	return false
}

// key returns the key of the ledger for the proofs of what is to be made. If there is none
// yet, it makes one.
func (c *Controller) key(ctx context.Context) (*record.GrantKey, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return record.EnsureGrantKey(ctx, c.ledger, rand.Reader)
}
