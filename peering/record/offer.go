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

import "entente.dev/entente/peering/protocol"

// Differs tells whether an offer is another one than this, or was never counted.
func (o Offer) Differs(body protocol.Offer) bool {
	return o.Epoch == 0 || o.Digest != body.Digest()
}

// SetOffer notes what this cluster offers the other one from now on (P10). It tells
// whether that is something else than before; a ClusterPeer without a record gets none.
func SetOffer(tx Tx, uid string, body protocol.Offer) (changed bool, err error) {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || !peer.Offer.Differs(body) {
		return false, err
	}
	if peer.Offer.Epoch == 0 {
		if peer.Offer.Epoch, err = tx.Epoch(); err != nil {
			return false, err
		}
	}
	peer.Offer.Generation++
	peer.Offer.Digest = body.Digest()
	peer.Offer.Body = body
	if err := tx.PutPeer(peer); err != nil {
		return false, err
	}
	// A store from before would count on from a generation that the other cluster has
	// already, and be taken for a clone.
	return true, tx.MoveEpoch()
}

// Heard writes a record that a message of the other cluster has changed. One that ended
// the peering is a revocation: a copy of the store from before it is to be recognisable
// (S2).
func Heard(tx Tx, peer *Peer) error {
	if err := tx.PutPeer(peer); err != nil {
		return err
	}
	if peer.Remote.Fault.Final() {
		return tx.MoveEpoch()
	}
	return nil
}
