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
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// A certificate is renewed at a random point between renewFrom and renewTo hundredths of
// its life (P2).
const (
	renewFrom = 60
	renewTo   = 70
	// askedFrom is when the other cluster, whose clock may differ, may ask for the next
	// one at the earliest: it cannot have more keys certified than it needs.
	askedFrom = 50
)

// RenewAt returns when a credential is to be renewed; zero: never, as it is not certified.
// The point is as random as the certificate's signature is, and always the same for one
// certificate, whoever asks.
func (c Credential) RenewAt() time.Time {
	if len(c.Certificate) == 0 {
		return time.Time{}
	}
	hash := sha256.Sum256(c.Certificate)
	random := float64(binary.BigEndian.Uint32(hash[:])) / (1 << 32)
	part := (renewFrom + (renewTo-renewFrom)*random) / 100
	return c.NotBefore.Add(time.Duration(part * float64(c.NotAfter.Sub(c.NotBefore))))
}

// StartRenewal keeps the key that is to take the place of the one that has this
// certificate. It does nothing if that one is not in use any more, or already on its way
// out. A copy of the store from before it would begin another renewal, which the other
// cluster would take for theft.
func StartRenewal(tx Tx, uid string, certificate []byte, key Secret) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || peer.Remote.Next != nil {
		return err
	}
	if ours := peer.Remote.Ours.Certificate; len(ours) == 0 || !bytes.Equal(ours, certificate) {
		return nil
	}
	peer.Remote.Next = &Credential{Key: key}
	if err := tx.PutPeer(peer); err != nil {
		return err
	}
	return tx.MoveEpoch()
}

// Asked certifies the control key for which the other cluster asks in an answer to us,
// and not by a renewal of its own: one that is known already, so that the same
// certificate is made again, or else the successor of the one that was certified last. A
// known key is certified anew where its certificate cannot be made again: it ended, or
// another authority signs by now. Like Renew it returns no key if the peer was suspended,
// and fails with a *Refusal.
func Asked(tx Tx, uid string, key Key, now time.Time) (*Key, error) {
	peer, err := tx.Peer(uid)
	if err != nil {
		return nil, err
	}
	if peer == nil || peer.Remote == nil || peer.Remote.Fault.Final() {
		return nil, &Refusal{Reason: TokenRejected, UID: uid}
	}
	known := peer.Remote.Key(key.Hash)
	if known == nil {
		last := peer.Remote.Control()
		if last == nil {
			return nil, &Refusal{Reason: TrustExpired, UID: uid}
		}
		if now.Before(last.NotBefore.Add(last.NotAfter.Sub(last.NotBefore) * askedFrom / 100)) {
			return nil, &Refusal{Reason: TokenRejected, UID: uid}
		}
		return Renew(tx, Renewal{UID: uid, From: last.Hash, Key: key, Now: now})
	}
	if known.Role != key.Role || known.Retired {
		return nil, &Refusal{Reason: TokenRejected, UID: uid}
	}
	if known.Issuer == key.Issuer && now.Before(known.NotAfter) {
		return known, nil
	}
	known.Serial, known.Issuer = key.Serial, key.Issuer
	known.NotBefore, known.NotAfter = key.NotBefore, key.NotAfter
	if err := tx.MoveEpoch(); err != nil {
		return nil, err
	}
	return known, tx.PutPeer(peer)
}
