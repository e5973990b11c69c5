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

// Package ledger keeps the records that decide about peering (S1), package
// peering/record, in the etcd in which the served objects are, where no API serves them.
//
// Below PREFIX/GROUP/ledger/ are
//
//	peers/UID          a record.Peer
//	tokens/TOKENID     the UID of the peer whose invite has that token
//	clusters/UUID      the UID of the peer that holds that cluster
//	tombstones/HASH    a record.Tombstone
//	grants/UID:NAME    the record.Grant of a PeeringCapability to a ClusterPeer
//	authority          the record.Authority
//	identity           the record.Identity
//	grantkey           the record.GrantKey
//	epoch              the number of the last change that a copy must not undo
//
// Every value is encrypted, bound to its key (R17). A change is one transaction; what is
// read comes from memory, which follows the store by a watch. A replica that has not
// heard of the store for 10 seconds says so (S3).
//
// The epoch is also kept outside the store. A store that is behind that was restored
// from a copy, or lost: nothing is read from it or written to it until that is accepted
// (S2).
//
// At verbosity 0 the package logs that the store was found to be restored, and what was
// made of that; at 2, each time that it had to begin again to follow the store.
package ledger
