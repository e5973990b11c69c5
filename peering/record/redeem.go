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
	"crypto/subtle"
	"errors"
	"time"

	"entente.dev/entente/peering/protocol"
)

// Spec is what a ClusterPeer says now, beside its record.
type Spec struct {
	// ExpectedClusterUUID is the only cluster that it may peer with; empty: any.
	ExpectedClusterUUID string
	// Deleting says that it has a deletion timestamp: no access from then on (S3).
	Deleting bool
	// Capabilities are those that it names.
	Capabilities []string
}

// Expects tells whether the ClusterPeer may peer with the cluster with a UUID.
func (s Spec) Expects(clusterUUID string) bool {
	return s.ExpectedClusterUUID == "" || s.ExpectedClusterUUID == clusterUUID
}

// Specs finds what the ClusterPeer with a UID says now; false: there is none.
type Specs func(uid string) (Spec, bool)

// Redemption is an attempt to use a token.
type Redemption struct {
	TokenID string
	Token   Secret
	// Key is the joiner's key, that of its CSR and of its TLS certificate alike, as it is
	// to be certified if the token is used by this.
	Key Key
	// Self is what the joiner says of itself.
	Self protocol.Self
	// Ours is our own cluster UUID.
	Ours string
	Now  time.Time
	// Control is our private key for this peer, PEM, if the token is used by this.
	Control Secret
}

// Redeem uses a token up and, in the same transaction, reserves the other cluster's
// UUID, before anything is signed (P6): of any number of attempts at once, one wins.
// The winner gets the same answer again for RepeatWithin. It returns the record, and
// the joiner's key in it. It fails with a *Refusal.
func Redeem(tx Tx, specs Specs, r Redemption) (*Peer, *Key, error) {
	peer, err := tx.PeerOfToken(r.TokenID)
	if err != nil {
		return nil, nil, err
	}
	if peer == nil || peer.Invite == nil {
		return nil, nil, &Refusal{Reason: TokenRejected}
	}
	hash := Hash(peer.UID, r.Token.Reveal())
	if subtle.ConstantTimeCompare(hash[:], peer.Invite.Hash[:]) != 1 {
		return nil, nil, &Refusal{Reason: TokenRejected, UID: peer.UID}
	}
	refuse := func(reason Reason) (*Peer, *Key, error) {
		return nil, nil, &Refusal{Reason: reason, UID: peer.UID, Known: true}
	}
	spec, there := specs(peer.UID)
	if !there || spec.Deleting || peer.Invite.Void {
		return refuse(TokenRejected)
	}
	if peer.Invite.Use != nil {
		if key := repeated(peer, r); key != nil {
			return peer, key, nil
		}
		return refuse(TokenRejected)
	}
	if !r.Now.Before(peer.Invite.ExpiresAt) {
		return refuse(InviteExpired)
	}
	if reason := stranger(peer, r.Self.ClusterUUID, r.Ours, spec.ExpectedClusterUUID); reason != "" {
		return refuse(reason)
	}
	if skew := time.Unix(r.Self.Time, 0).Sub(r.Now); skew.Abs() > MaxSkew {
		return refuse(ClockSkew)
	}
	peer.Invite.Use = &Use{ClusterUUID: r.Self.ClusterUUID, Key: r.Key.Hash, At: r.Now}
	peer.Invite.Refused = nil
	peer.Remote = &Remote{
		ClusterUUID: r.Self.ClusterUUID,
		Endpoints:   r.Self.Endpoints,
		Trust:       r.Self.Trust,
		Keys:        []Key{r.Key},
		Ours:        Credential{Key: r.Control},
		PairedAt:    r.Now,
		Skew:        skewOf(r.Self.Time, r.Now),
		IssuerKeys:  peer.Remote.issuerKeysOf(r.Self.ClusterUUID),
	}
	if err := pair(tx, peer); err != nil {
		return nil, nil, err
	}
	return peer, &peer.Remote.Keys[0], nil
}

// repeated returns the key if this is the same use of the token once more.
func repeated(peer *Peer, r Redemption) *Key {
	use := peer.Invite.Use
	if use.Key != r.Key.Hash || use.ClusterUUID != r.Self.ClusterUUID || r.Now.Sub(use.At) > RepeatWithin || peer.Remote == nil || peer.Remote.Fault != "" {
		return nil
	}
	if key := peer.Remote.Key(r.Key.Hash); key != nil && !key.Retired && key.Successor.IsZero() {
		return key
	}
	return nil
}

// stranger returns why this ClusterPeer cannot pair with a cluster of that UUID.
func stranger(peer *Peer, clusterUUID, ours, expected string) Reason {
	switch {
	case clusterUUID == ours:
		return SelfPeering
	case expected != "" && clusterUUID != expected:
		return UUIDMismatch
	// It holds another cluster. Only that one may pair again, unless it left.
	case peer.Remote != nil && peer.Remote.ClusterUUID != clusterUUID && peer.Remote.Fault != PeerLeft:
		return UUIDMismatch
	}
	return ""
}

// pair writes a record whose Remote is new. What is offered counts anew: whatever the
// other cluster knew of it before is of another pairing.
func pair(tx Tx, peer *Peer) error {
	if err := tx.MoveEpoch(); err != nil {
		return err
	}
	epoch, err := tx.Epoch()
	if err != nil {
		return err
	}
	peer.Offer.Epoch = epoch
	peer.Offer.Generation++
	return reserve(tx, peer)
}

// reserve writes a record that now holds a cluster. Whoever comes that far has shown a
// token, or acts here: so may be told that another ClusterPeer holds it.
func reserve(tx Tx, peer *Peer) error {
	err := tx.PutPeer(peer)
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return &Refusal{Reason: refusal.Reason, UID: peer.UID, Known: true}
	}
	return err
}

// Refuse notes for the owner that somebody who knew the token was refused, once in a
// minute.
func Refuse(tx Tx, uid, tokenID string, refused Refused) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Invite == nil || peer.Invite.TokenID != tokenID {
		return err
	}
	if last := peer.Invite.Refused; last != nil && refused.At.Sub(last.At).Abs() < ContactStep {
		return nil
	}
	peer.Invite.Refused = &refused
	return tx.PutPeer(peer)
}

// Undo ends a pairing that was never confirmed (P7). It tells whether there was one.
func Undo(tx Tx, uid string, now time.Time) (bool, error) {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || !peer.Remote.ConfirmedAt.IsZero() || now.Sub(peer.Remote.PairedAt) < ConfirmWithin {
		return false, err
	}
	if peer.Join != nil {
		peer.Join.Refused = &Refused{Reason: TokenRejected, ClusterUUID: peer.Remote.ClusterUUID, At: now}
	}
	peer.Remote = nil
	if err := tx.PutPeer(peer); err != nil {
		return false, err
	}
	return true, tx.MoveEpoch()
}

func skewOf(theirs int64, now time.Time) time.Duration {
	return time.Unix(theirs, 0).Sub(now).Round(ContactStep)
}
