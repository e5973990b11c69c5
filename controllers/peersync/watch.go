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

package peersync

import (
	"context"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"entente.dev/entente/peering/record"
)

// watchInterval is how often all peers are looked at.
const watchInterval = 10 * time.Second

// watch looks at all peers from time to time, until ctx ends: what follows from nothing
// but time is done here, for peers that dial and such that are dialled.
func (c *Controller) watch(ctx context.Context) {
	started := c.clock.Now()
	ticker := c.clock.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			c.look(ctx, started)
		}
	}
}

func (c *Controller) look(ctx context.Context, started time.Time) {
	now := c.clock.Now()
	for _, peer := range c.ledger.Peers() {
		if ctx.Err() != nil || c.ledger.Fresh() != nil {
			return
		}
		if peer.Remote == nil || peer.Remote.Fault.Final() {
			continue
		}
		logger := klog.LoggerWithValues(klog.FromContext(ctx), "clusterPeer", peer.Name, "uid", peer.UID)
		if err := c.lookAt(klog.NewContext(ctx, logger), peer, started, now); err != nil && ctx.Err() == nil {
			utilruntime.HandleErrorWithLogger(logger, err, "Could not look after a peer, trying again later")
		}
	}
}

// lookAt does what the time asks for with one peer.
func (c *Controller) lookAt(ctx context.Context, peer *record.Peer, started, now time.Time) error {
	remote := peer.Remote
	if isExpired(peer, now) && remote.Fault == "" {
		klog.FromContext(ctx).Info("The trust between the two clusters has expired")
		return c.update(ctx, func(tx record.Tx) error { return record.Suspend(tx, peer.UID, record.TrustExpired) })
	}
	if at := remote.Ours.RenewAt(); remote.Next == nil && !at.IsZero() && !now.Before(at) {
		if err := c.startRenewal(ctx, peer.UID, remote.Ours.Certificate); err != nil {
			return err
		}
	}
	if peer.Join == nil && c.isSilent(peer, started, now) {
		klog.FromContext(ctx).Info("The other cluster is out of reach")
		return c.update(ctx, func(tx record.Tx) error {
			// It may have been in touch since, with any replica.
			peer, err := tx.Peer(peer.UID)
			if err != nil || peer == nil || peer.Remote == nil || !c.isSilent(peer, started, now) {
				return err
			}
			return record.LoseSight(tx, peer.UID, now)
		})
	}
	return nil
}

// isExpired tells whether the key that keeps the peering, ours if we dial, else the other
// cluster's, cannot even be renewed any more (P2).
func isExpired(peer *record.Peer, now time.Time) bool {
	end := peer.Remote.Ours.NotAfter
	if peer.Join == nil {
		end = time.Time{}
		if key := peer.Remote.Control(); key != nil {
			end = key.NotAfter
		}
	}
	return !end.IsZero() && !now.Before(end.Add(record.KeyGrace))
}

// isSilent tells whether a peer that dials us was confirmed, and has not been heard for
// too long (P9): by this replica's gateway, or by another one, which records it to the
// minute only. What was before this controller started is not held against it.
func (c *Controller) isSilent(peer *record.Peer, started, now time.Time) bool {
	remote := peer.Remote
	if remote.ConfirmedAt.IsZero() || !remote.Unreachable.IsZero() {
		return false
	}
	heard := started
	if c.contacts != nil {
		heard = later(heard, c.contacts.Contact(peer.UID))
	}
	heard = later(heard, remote.PairedAt)
	heard = later(heard, remote.Contact.Add(record.ContactStep))
	return now.Sub(heard) >= lostAfter
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
