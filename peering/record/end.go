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

import "time"

// Leave notes that the other cluster has deleted its ClusterPeer (P12): none of its keys
// is good for anything any more.
func Leave(tx Tx, uid string, now time.Time) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || peer.Remote.Fault == PeerLeft {
		return err
	}
	if err := bury(tx, peer, now); err != nil {
		return err
	}
	peer.Remote.Keys = nil
	peer.Remote.Ours, peer.Remote.Next = Credential{}, nil
	peer.Remote.Data, peer.Remote.DataNext = nil, nil
	peer.Remote.Fault = PeerLeft
	if err := tx.PutPeer(peer); err != nil {
		return err
	}
	return tx.MoveEpoch()
}

// Remove deletes the record of a ClusterPeer that is gone, or on its way. Its keys are
// remembered for BuriedFor, so that the other cluster is told that it is over.
func Remove(tx Tx, uid string, now time.Time) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil {
		return err
	}
	if err := bury(tx, peer, now); err != nil {
		return err
	}
	if err := tx.DeletePeer(uid); err != nil {
		return err
	}
	return tx.MoveEpoch()
}

func bury(tx Tx, peer *Peer, now time.Time) error {
	if peer.Remote == nil {
		return nil
	}
	for _, key := range peer.Remote.Keys {
		tombstone := &Tombstone{Key: key.Hash, ClusterUUID: peer.Remote.ClusterUUID, Until: now.Add(BuriedFor)}
		if err := tx.PutTombstone(tombstone); err != nil {
			return err
		}
	}
	return nil
}

// Suspend notes why there is no peering any more. A fault that may heal gives way to
// another one; one that is final stays.
func Suspend(tx Tx, uid string, reason Reason) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || peer.Remote.Fault == reason || peer.Remote.Fault.Final() {
		return err
	}
	peer.Remote.Fault = reason
	if err := tx.PutPeer(peer); err != nil {
		return err
	}
	return tx.MoveEpoch()
}
