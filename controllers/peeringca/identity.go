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

package peeringca

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/record"
)

// identify records who this cluster is once it has a peer. It never changes what was
// recorded: whether a later difference is accepted is decided at the start of a server.
func (c *Controller) identify(ctx context.Context) error {
	paired := func(peer *record.Peer) bool { return peer.Remote != nil }
	if c.ledger.Identity() != nil || !slices.ContainsFunc(c.ledger.Peers(), paired) {
		return nil
	}
	recorded := false
	err := c.ledger.Update(ctx, func(tx record.Tx) error {
		recorded = false
		identity, err := tx.Identity()
		if err != nil || identity != nil {
			return err
		}
		recorded = true
		return tx.PutIdentity(&record.Identity{ClusterUUID: c.clusterUUID})
	})
	if err == nil && recorded {
		klog.FromContext(ctx).Info("Recorded the identity of this cluster at its first peering", "clusterUUID", c.clusterUUID)
	}
	return err
}
