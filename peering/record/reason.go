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

import "errors"

var errDigest = errors.New("it is not a SHA-256 hash in hexadecimal digits")

// Reason is why something was refused, or why there is no peering. The constants are
// the only ones: no text of another cluster becomes one.
type Reason string

// Reasons, as the conditions of a ClusterPeer and its Events have them (P13).
const (
	// TokenRejected: the token is wrong, was used by another key, or died.
	TokenRejected Reason = "TokenRejected"
	// InviteExpired: the token expired before it was used.
	InviteExpired Reason = "InviteExpired"
	// UUIDMismatch: the other cluster is not the one that is expected.
	UUIDMismatch Reason = "UUIDMismatch"
	// SelfPeering: the other cluster has our own UUID.
	SelfPeering Reason = "SelfPeering"
	// DuplicatePeer: another ClusterPeer here holds that cluster.
	DuplicatePeer Reason = "DuplicatePeer"
	// ClonedPeer: two clusters go by one identity, by what they offer.
	ClonedPeer Reason = "ClonedPeer"
	// PeerLeft: the other cluster has deleted its ClusterPeer.
	PeerLeft Reason = "PeerLeft"
	// PeerSuspended: a key was renewed twice, or the store was restored.
	PeerSuspended Reason = "PeerSuspended"
	// IncompatibleVersion: there is no version of the protocol that both speak.
	IncompatibleVersion Reason = "IncompatibleVersion"
	// TrustExpired: the certificates expired, and the time to renew them passed.
	TrustExpired Reason = "TrustExpired"
	// InvalidOffer: what the other cluster offers breaks the rules.
	InvalidOffer Reason = "InvalidOffer"
	// ClockSkew: the clocks differ by more than a peering can bear.
	ClockSkew Reason = "ClockSkew"
)

// Final tells whether a fault ends the peering until it is made anew.
func (r Reason) Final() bool {
	return r == PeerSuspended || r == PeerLeft || r == ClonedPeer
}

// Heals tells whether a fault is over once the two clusters understand each other again.
func (r Reason) Heals() bool {
	return r == UUIDMismatch || r == TrustExpired || r == IncompatibleVersion
}

// Refusal is the error of a step that the ledger does not allow.
type Refusal struct {
	// Reason is for the owner of the ClusterPeer.
	Reason Reason
	// UID is the ClusterPeer that it is about, empty if that is not known.
	UID string
	// Known says that whoever was refused knew the token, or has a key that was
	// certified here: only then may it be told why (P6).
	Known bool
}

// Error names the reason.
func (r *Refusal) Error() string { return "refused: " + string(r.Reason) }
