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
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/record"
)

// batch is how many tombstones one transaction deletes: a store bounds the size of one.
const batch = 50

// sweep forgets keys whose peering is over for so long that nobody can use them any
// more (P12).
func (c *Controller) sweep(ctx context.Context) error {
	now := c.clock.Now()
	var over []record.Digest
	for _, tombstone := range c.ledger.Tombstones() {
		if isOver(tombstone, now) {
			over = append(over, tombstone.Key)
		}
	}
	for keys := range slices.Chunk(over, batch) {
		err := c.ledger.Update(ctx, func(tx record.Tx) error {
			for _, key := range keys {
				// It may have been buried anew since.
				tombstone, err := tx.Tombstone(key)
				if err != nil {
					return err
				}
				if tombstone == nil || !isOver(tombstone, now) {
					continue
				}
				if err := tx.DeleteTombstone(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		klog.FromContext(ctx).V(2).Info("Forgot keys of peerings that are long over", "keys", len(keys))
	}
	return nil
}

func isOver(tombstone *record.Tombstone, now time.Time) bool { return !now.Before(tombstone.Until) }
