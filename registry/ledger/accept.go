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

package ledger

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"entente.dev/entente/peering/record"
)

// AcceptRestored makes a store that was restored from a copy, or lost, the one to go on
// with (S2), so that nothing that was used or revoked after the copy comes back: open
// invites die, peers are suspended, connection strings in use are given up. Of a store
// that is not behind it changes nothing.
//
// It may end at any point and be run again: until all is done the store stays behind.
func (l *Ledger) AcceptRestored(ctx context.Context) error {
	was := l.guard.isBehind()
	floor, err := l.guard.load(ctx)
	if err != nil {
		return err
	}
	if behind, err := l.isBelow(ctx, floor); err != nil || !behind {
		return err
	}
	uids, err := l.storedPeers(ctx)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if err := l.distrust(ctx, uid, floor); err != nil {
			return err
		}
	}
	done, err := l.transact(ctx, func(t *tx) error {
		number, err := t.Epoch()
		if err != nil || number >= floor {
			return err
		}
		return t.putEpoch(floor + 1)
	})
	if err != nil {
		return err
	}
	number, err := done.tx.Epoch()
	if err != nil {
		return err
	}
	if err := l.guard.keep(ctx, number); err != nil {
		return err
	}
	l.guard.see(number, floor)
	klog.FromContext(ctx).Info("Accepted a store that was restored: all open invites died and all peers are suspended until they are paired anew", "peers", len(uids))
	l.announce(ctx, was)
	return nil
}

func (l *Ledger) isBelow(ctx context.Context, floor uint64) (below bool, err error) {
	_, err = l.transact(ctx, func(t *tx) error {
		number, err := t.Epoch()
		below = number < floor
		return err
	})
	return below, err
}

// storedPeers are the UIDs of all records in the store.
func (l *Ledger) storedPeers(ctx context.Context) (uids []string, err error) {
	err = l.pages(ctx, func(response *clientv3.GetResponse) error {
		for _, kv := range response.Kvs {
			if kind, uid := l.keys.split(string(kv.Key)); kind == kindPeer {
				uids = append(uids, uid)
			}
		}
		return nil
	}, clientv3.WithKeysOnly())
	return uids, err
}

// distrust takes from a record what a copy could have brought back, unless another
// replica has accepted the store meanwhile: what is in it since then is to be kept.
func (l *Ledger) distrust(ctx context.Context, uid string, floor uint64) error {
	now := l.clock.Now()
	_, err := l.transact(ctx, func(t *tx) error {
		number, err := t.Epoch()
		if err != nil || number >= floor {
			return err
		}
		peer, err := t.Peer(uid)
		if err != nil || peer == nil {
			return err
		}
		if peer.Invite.Open(now) {
			peer.Invite.Void = true
		}
		if join := peer.Join; join != nil && !join.Done && join.Refused == nil {
			join.Refused = &record.Refused{Reason: record.TokenRejected, ClusterUUID: join.ClusterUUID, At: now}
		}
		// One that left, or is suspended as a clone, is kept out all the same.
		if remote := peer.Remote; remote != nil && !remote.Fault.Final() {
			remote.Fault = record.PeerSuspended
		}
		return t.PutPeer(peer)
	})
	if err != nil {
		return fmt.Errorf("could not accept the restored store: %w", err)
	}
	return nil
}
