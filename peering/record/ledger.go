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
	"context"
	"errors"
)

var (
	// ErrStale means that this replica has not heard of the store for too long to say
	// what is in the ledger (S3).
	ErrStale = errors.New("this replica has lost sight of the ledger")
	// ErrRestored means that the store is older than what was done with it (S2).
	ErrRestored = errors.New("the store is older than what was done with it: it was restored from a copy, or lost")
)

// Reader reads the ledger as this replica knows it, from memory. What it returns is
// shared and not to be changed.
type Reader interface {
	// Fresh is nil, ErrStale or ErrRestored. While it fails no other cluster is to be
	// served, whatever the rest says.
	Fresh() error
	// Peer returns the record of a ClusterPeer by its UID, or nil.
	Peer(uid string) *Peer
	// PeerOfCluster returns the record that holds the other cluster, or nil.
	PeerOfCluster(clusterUUID string) *Peer
	// Peers returns all records, in no order.
	Peers() []*Peer
	// Tombstone returns that of a key, or nil.
	Tombstone(key Digest) *Tombstone
	// Tombstones returns all of them.
	Tombstones() []*Tombstone
	// Authority returns the peering CA, or nil.
	Authority() *Authority
	// Identity returns who this cluster was when it first peered, or nil.
	Identity() *Identity
	// Grants returns what a ClusterPeer is granted, by its UID, in order of capabilities.
	Grants(peerUID string) []*Grant
	// Grant returns what a capability grants a ClusterPeer, by its UID, or nil. It looks up
	// one record, as each request of a workload does (G7).
	Grant(peerUID, capability string) *Grant
	// AllGrants returns what all are granted, in no order.
	AllGrants() []*Grant
	// GrantKey returns the key of the proofs of granted objects, or nil.
	GrantKey() *GrantKey
	// Release returns what a Release has in its target cluster, by its UID, or nil.
	Release(uid string) *Release
	// Releases returns what all Releases have in their target clusters, in no order.
	Releases() []*Release
	// Changed returns a channel that is closed when the record of a ClusterPeer, or the
	// peering CA, next changes. Take it before reading what it is about.
	Changed(uid string) <-chan struct{}
	// Subscribe has changed called, quickly and not to block, with the UID of each
	// record of a ClusterPeer, or of a grant to one, that changes, and with an empty one
	// when something else does. It returns how to end that.
	Subscribe(changed func(uid string)) (cancel func())
}

// Ledger is where records are kept.
type Ledger interface {
	Reader
	// Update runs change in a transaction and commits what it wrote, all or nothing.
	// The change may be run repeatedly, until nobody else wrote what it read. If it
	// returns an error nothing is written and Update returns that error. If it called
	// Tx.MoveEpoch, Update returns only when the epoch is kept outside the store: what
	// was done may be told from then on.
	Update(ctx context.Context, change func(Tx) error) error
}

// Tx is a transaction. What it returns is a copy that may be changed, and is written by
// Put only. It sees its own writes.
type Tx interface {
	// Peer returns the record of a ClusterPeer by its UID, or nil.
	Peer(uid string) (*Peer, error)
	// PutPeer writes a record. The tokenID of its invite, and the cluster UUID of its
	// Remote or else of its unrefused Join, lead to it from then on; what led to it
	// before and no longer does is forgotten. It fails with a *Refusal of reason
	// DuplicatePeer if another record holds that cluster.
	PutPeer(peer *Peer) error
	// DeletePeer deletes a record and what leads to it.
	DeletePeer(uid string) error
	// PeerOfToken returns the record whose invite has that token ID, or nil.
	PeerOfToken(tokenID string) (*Peer, error)
	// PeerOfCluster returns the record that holds a cluster, or nil.
	PeerOfCluster(clusterUUID string) (*Peer, error)

	Tombstone(key Digest) (*Tombstone, error)
	PutTombstone(tombstone *Tombstone) error
	DeleteTombstone(key Digest) error

	Authority() (*Authority, error)
	PutAuthority(authority *Authority) error

	Identity() (*Identity, error)
	PutIdentity(identity *Identity) error

	// Grant returns what a capability grants a ClusterPeer, or nil.
	Grant(peerUID, capability string) (*Grant, error)
	// PutGrant writes a grant. One without objects is deleted.
	PutGrant(grant *Grant) error

	GrantKey() (*GrantKey, error)
	PutGrantKey(key *GrantKey) error

	// Release returns what a Release has in its target cluster, by its UID, or nil.
	Release(uid string) (*Release, error)
	PutRelease(release *Release) error
	DeleteRelease(uid string) error

	// Epoch returns a number that only grows, also when the store is restored.
	Epoch() (uint64, error)
	// MoveEpoch makes a copy of the store from before this transaction recognisable
	// (S2). It belongs to each mint, use and revocation, and to each change of an offer.
	MoveEpoch() error
}
