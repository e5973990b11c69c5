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

// Confirmed notes that the other cluster has let us in with our certificate: the pairing
// is confirmed from this side too (P7).
func Confirmed(tx Tx, uid string, now time.Time) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || !peer.Remote.ConfirmedAt.IsZero() {
		return err
	}
	peer.Remote.ConfirmedAt = now
	return tx.PutPeer(peer)
}

// LoseSight notes that the other cluster is out of reach (P9). Nothing that it was
// granted goes for that.
func LoseSight(tx Tx, uid string, now time.Time) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || !peer.Remote.Unreachable.IsZero() {
		return err
	}
	peer.Remote.Unreachable = now
	return tx.PutPeer(peer)
}
