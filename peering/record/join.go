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
	"time"
)

// Joining is a connection string that is to be used here.
type Joining struct {
	UID, Name   string
	String      Digest
	TokenID     string
	ClusterUUID string
	ExpiresAt   time.Time
	// Ours is our own cluster UUID; Expected the only one that we may join, or empty.
	Ours, Expected string
	// Key is the private key to be certified, PEM, if this string was not begun before.
	Key Secret
}

// StartJoin keeps a key for a connection string, and reserves the other cluster's UUID,
// before anybody is dialled. A string that was begun goes on with the key that it was
// begun with. It fails with a *Refusal.
func StartJoin(tx Tx, j Joining) (*Peer, error) {
	peer, err := tx.Peer(j.UID)
	if err != nil {
		return nil, err
	}
	if peer == nil {
		peer = &Peer{UID: j.UID}
	}
	if peer.Join != nil && peer.Join.String == j.String {
		return peer, nil
	}
	if reason := stranger(peer, j.ClusterUUID, j.Ours, j.Expected); reason != "" {
		return nil, &Refusal{Reason: reason, UID: j.UID, Known: true}
	}
	peer.Name = j.Name
	peer.Join = &Join{String: j.String, TokenID: j.TokenID, ClusterUUID: j.ClusterUUID, ExpiresAt: j.ExpiresAt, Key: j.Key}
	return peer, reserve(tx, peer)
}

// RefuseJoin notes that a connection string cannot be used, and why: it is not tried
// again.
func RefuseJoin(tx Tx, uid string, text Digest, reason Reason, now time.Time) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Join == nil || peer.Join.String != text || peer.Join.Done || peer.Join.Refused != nil {
		return err
	}
	peer.Join.Refused = &Refused{Reason: reason, ClusterUUID: peer.Join.ClusterUUID, At: now}
	return tx.PutPeer(peer)
}

// Joined is what the other cluster answered to a join, checked.
type Joined struct {
	UID    string
	String Digest
	Now    time.Time
	// Endpoints and Trust are those of the other cluster's gateway, Time is its clock.
	Endpoints []string
	Trust     [][]byte
	Time      int64
	// Certificate is our control certificate, DER.
	Certificate         []byte
	NotBefore, NotAfter time.Time
	// Key is the other cluster's control key, as we certify it.
	Key Key
}

// CompleteJoin makes the other cluster a peer.
func CompleteJoin(tx Tx, j Joined) error {
	peer, err := tx.Peer(j.UID)
	if err != nil {
		return err
	}
	if peer == nil || peer.Join == nil || peer.Join.String != j.String || peer.Join.Refused != nil {
		return &Refusal{Reason: TokenRejected, UID: j.UID}
	}
	if peer.Join.Done {
		return nil
	}
	peer.Join.Done = true
	peer.Remote = &Remote{
		ClusterUUID: peer.Join.ClusterUUID,
		Endpoints:   j.Endpoints,
		Trust:       j.Trust,
		Keys:        []Key{j.Key},
		Ours:        Credential{Key: peer.Join.Key, Certificate: j.Certificate, NotBefore: j.NotBefore, NotAfter: j.NotAfter},
		PairedAt:    j.Now,
		Skew:        skewOf(j.Time, j.Now),
		IssuerKeys:  peer.Remote.issuerKeysOf(peer.Join.ClusterUUID),
	}
	// From here on it is the credential's.
	peer.Join.Key = Secret{}
	return pair(tx, peer)
}
