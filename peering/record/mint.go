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
	"errors"
	"time"
)

// ErrMinted means that there is a token already, and nobody asked to replace it.
var ErrMinted = errors.New("there is a token already")

// Minting is a token that is to be issued.
type Minting struct {
	UID, Name string
	// Replaces is the ID of the token that it takes the place of; empty: it is the first.
	Replaces string
	TokenID  string
	Hash     Digest
	Now      time.Time
	Expires  time.Time
}

// Mint issues a token (P5). An earlier one dies at once. It fails with ErrMinted if the
// invite has a token that was delivered and is not the one to replace: so no reconcile
// mints, and of two renewals at once one does.
func Mint(tx Tx, m Minting) error {
	peer, err := tx.Peer(m.UID)
	if err != nil {
		return err
	}
	if peer == nil {
		peer = &Peer{UID: m.UID}
	}
	if last := peer.Invite; last != nil && last.TokenID != m.Replaces && (last.Delivered || last.Use != nil || last.Void) {
		return ErrMinted
	}
	peer.Name = m.Name
	peer.Invite = &Invite{TokenID: m.TokenID, Hash: m.Hash, IssuedAt: m.Now, ExpiresAt: m.Expires}
	if err := tx.PutPeer(peer); err != nil {
		return err
	}
	return tx.MoveEpoch()
}

// Deliver notes that a connection string has reached the status of its ClusterPeer.
func Deliver(tx Tx, uid, tokenID string) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Invite == nil || peer.Invite.TokenID != tokenID || peer.Invite.Delivered {
		return err
	}
	peer.Invite.Delivered = true
	return tx.PutPeer(peer)
}

// Open tells whether the invite can still be used at that time.
func (i *Invite) Open(now time.Time) bool {
	return i != nil && i.Use == nil && !i.Void && now.Before(i.ExpiresAt)
}
