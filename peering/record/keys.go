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

// Authorize tells whether the other cluster of a record may do by a key what role is for,
// at that time (P2). An expired key, and one that was renewed, may still ask to be
// renewed. It fails with a *Refusal.
func (p *Peer) Authorize(clusterUUID string, hash Digest, role Role, renewing bool, now time.Time) error {
	if p == nil || p.Remote == nil || p.Remote.ClusterUUID != clusterUUID {
		return &Refusal{Reason: TokenRejected}
	}
	key := p.Remote.Key(hash)
	if key == nil || key.Role != role {
		return &Refusal{Reason: TokenRejected, UID: p.UID}
	}
	refuse := func(reason Reason) error {
		return &Refusal{Reason: reason, UID: p.UID, Known: true}
	}
	if p.Remote.ConfirmedAt.IsZero() && now.Sub(p.Remote.PairedAt) >= ConfirmWithin {
		return &Refusal{Reason: TokenRejected, UID: p.UID} // undone, or about to be (P7)
	}
	if fault := p.Remote.Fault; fault.Final() {
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
		return &Refusal{Reason: TokenRejected, UID: p.UID}
	}
	return nil
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
	if peer == nil || peer.Remote == nil || peer.Remote.Fault.Final() {
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
	if !peer.Remote.admit(r.Key, r.Now) {
		return nil, &Refusal{Reason: TokenRejected, UID: r.UID, Known: true}
	}
	// The keys have moved. The one that asked is gone if it can do nothing any more.
	if from = peer.Remote.Key(r.From); from != nil && r.Key.Role == RoleControl {
		from.Successor = r.Key.Hash
	}
	if err := tx.MoveEpoch(); err != nil {
		return nil, err
	}
	if err := tx.PutPeer(peer); err != nil {
		return nil, err
	}
	return peer.Remote.Key(r.Key.Hash), nil
}

// admit puts a key beside those that can still do something, and tells whether there was
// room for it: a data key takes the place of the oldest one if there are as many as may
// be. The other keys move, so no pointer to one is good any more.
func (r *Remote) admit(key Key, now time.Time) bool {
	r.Keys = tidy(r.Keys, now)
	switch {
	case key.Role == RoleControl && count(r.Keys, RoleControl) >= MaxControlKeys:
		return false
	case key.Role == RoleData && tooMany(r.Keys, now):
		return false
	case key.Role == RoleData && count(r.Keys, RoleData) >= MaxDataKeys:
		r.Keys = withoutOldest(r.Keys)
	}
	r.Keys = append(r.Keys, key)
	return true
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

// tidy drops keys that can do nothing any more.
func tidy(keys []Key, now time.Time) []Key {
	return slices.DeleteFunc(keys, func(k Key) bool {
		end := k.NotAfter
		if k.Role == RoleControl {
			end = end.Add(KeyGrace)
		}
		return !now.Before(end)
	})
}

// count returns how many keys have a role.
func count(keys []Key, role Role) (n int) {
	for _, k := range keys {
		if k.Role == role {
			n++
		}
	}
	return n
}

// withoutOldest drops the data key that ends first.
func withoutOldest(keys []Key) []Key {
	oldest := -1
	for i, k := range keys {
		if k.Role == RoleData && (oldest < 0 || k.NotAfter.Before(keys[oldest].NotAfter)) {
			oldest = i
		}
	}
	return slices.Delete(keys, oldest, oldest+1)
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
