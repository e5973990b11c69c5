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
	"time"
)

// Authorize returns the key by which the other cluster of a record may do what role is
// for, at that time (P2). An expired key, and one that was renewed, may still ask to be
// renewed. It fails with a *Refusal.
func (p *Peer) Authorize(clusterUUID string, hash Digest, role Role, renewing bool, now time.Time) (*Key, error) {
	if p == nil || p.Remote == nil || p.Remote.ClusterUUID != clusterUUID {
		return nil, &Refusal{Reason: TokenRejected}
	}
	key := p.Remote.Key(hash)
	if key == nil || key.Role != role {
		return nil, &Refusal{Reason: TokenRejected, UID: p.UID}
	}
	refuse := func(reason Reason) (*Key, error) {
		return nil, &Refusal{Reason: reason, UID: p.UID, Known: true}
	}
	if p.Remote.ConfirmedAt.IsZero() && now.Sub(p.Remote.PairedAt) >= ConfirmWithin {
		return nil, &Refusal{Reason: TokenRejected, UID: p.UID} // undone, or about to be (P7)
	}
	switch fault := p.Remote.Fault; fault {
	case PeerSuspended, PeerLeft, ClonedPeer:
		return refuse(fault)
	}
	end := key.NotAfter
	if renewing {
		end = end.Add(KeyGrace)
	}
	switch {
	case now.Before(key.NotBefore), !now.Before(end):
		return refuse(TrustExpired)
	case key.Retired && !renewing:
		return nil, &Refusal{Reason: TokenRejected, UID: p.UID}
	}
	return key, nil
}

// Confirm notes that a key was used: the pairing is confirmed by the first use, and the
// key that it replaced may do nothing any more. Without need it writes nothing.
func Confirm(tx Tx, uid string, hash Digest, now time.Time) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil {
		return err
	}
	key := peer.Remote.Key(hash)
	if key == nil || (key.Used && !peer.Remote.ConfirmedAt.IsZero()) {
		return nil
	}
	key.Used = true
	if peer.Remote.ConfirmedAt.IsZero() {
		peer.Remote.ConfirmedAt = now
	}
	for i := range peer.Remote.Keys {
		if peer.Remote.Keys[i].Successor == hash {
			peer.Remote.Keys[i].Retired = true
		}
	}
	return tx.PutPeer(peer)
}

// Unconfirmed tells whether Confirm would write.
func (p *Peer) Unconfirmed(hash Digest) bool {
	key := p.Remote.Key(hash)
	return key != nil && (!key.Used || p.Remote.ConfirmedAt.IsZero())
}

// Renewal is a key that is to be certified.
type Renewal struct {
	UID string
	// From is the key that asks. For role control, Key replaces it.
	From Digest
	Key  Key
	Now  time.Time
}

// Renew certifies another key of the other cluster (P2). Who asks for the same key once
// more gets the same certificate. A second, different successor of one key means that
// two hold it: the peer is suspended, nothing is certified, and key is nil. It fails
// with a *Refusal.
func Renew(tx Tx, r Renewal) (key *Key, err error) {
	peer, err := tx.Peer(r.UID)
	if err != nil {
		return nil, err
	}
	if peer == nil || peer.Remote == nil || peer.Remote.Fault == PeerSuspended {
		return nil, &Refusal{Reason: TokenRejected, UID: r.UID}
	}
	from := peer.Remote.Key(r.From)
	if from == nil || from.Role != RoleControl {
		return nil, &Refusal{Reason: TokenRejected, UID: r.UID}
	}
	existing := peer.Remote.Key(r.Key.Hash)
	if r.Key.Role == RoleControl && !from.Successor.IsZero() && from.Successor != r.Key.Hash {
		peer.Remote.Fault = PeerSuspended
		if err := tx.MoveEpoch(); err != nil {
			return nil, err
		}
		return nil, tx.PutPeer(peer)
	}
	if existing != nil {
		same := existing.Role == r.Key.Role && (r.Key.Role == RoleData || from.Successor == existing.Hash)
		if !same || existing.Retired {
			return nil, &Refusal{Reason: TokenRejected, UID: r.UID, Known: true}
		}
		return existing, nil
	}
	if r.Key.Role == RoleData && tooMany(peer.Remote.Keys, r.Now) {
		return nil, &Refusal{Reason: TokenRejected, UID: r.UID, Known: true}
	}
	if r.Key.Role == RoleControl {
		if controls(tidy(slices.Clone(peer.Remote.Keys), r.Now)) >= MaxControlKeys {
			return nil, &Refusal{Reason: TokenRejected, UID: r.UID, Known: true}
		}
		from.Successor = r.Key.Hash
	}
	peer.Remote.Keys = append(tidy(peer.Remote.Keys, r.Now), r.Key)
	if err := tx.MoveEpoch(); err != nil {
		return nil, err
	}
	if err := tx.PutPeer(peer); err != nil {
		return nil, err
	}
	return peer.Remote.Key(r.Key.Hash), nil
}

// tooMany tells whether as many data keys as are let in were certified within the hour:
// each moves the epoch.
func tooMany(keys []Key, now time.Time) bool {
	recent := 0
	for _, k := range keys {
		if k.Role == RoleData && now.Sub(k.NotBefore.Add(KeyBackdate)) < time.Hour {
			recent++
		}
	}
	return recent >= MaxDataKeys
}

// tidy drops keys that can do nothing any more, and the oldest data keys above the
// limit.
func tidy(keys []Key, now time.Time) []Key {
	keys = slices.DeleteFunc(keys, func(k Key) bool {
		end := k.NotAfter
		if k.Role == RoleControl {
			end = end.Add(KeyGrace)
		}
		return !now.Before(end)
	})
	for {
		data := 0
		oldest := -1
		for i, k := range keys {
			if k.Role != RoleData {
				continue
			}
			data++
			if oldest < 0 || k.NotAfter.Before(keys[oldest].NotAfter) {
				oldest = i
			}
		}
		if data < MaxDataKeys {
			return keys
		}
		keys = slices.Delete(keys, oldest, oldest+1)
	}
}

func controls(keys []Key) (count int) {
	for _, key := range keys {
		if key.Role == RoleControl {
			count++
		}
	}
	return count
}

// Control returns the control key of the other cluster that was certified last, or nil.
func (r *Remote) Control() *Key {
	var last *Key
	for i := range r.Keys {
		key := &r.Keys[i]
		if key.Role == RoleControl && !key.Retired && (last == nil || last.Successor == key.Hash) {
			last = key
		}
	}
	return last
}
