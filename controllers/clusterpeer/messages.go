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

package clusterpeer

import "entente.dev/entente/peering/record"

// endsForGood tells whether a peering with that fault can only be made anew, by another
// connection string.
func endsForGood(fault record.Reason) bool {
	switch fault {
	case record.PeerLeft, record.PeerSuspended, record.ClonedPeer, record.TrustExpired:
		return true
	default:
		return false
	}
}

// faultMessage says why there is no peering although there was one.
func faultMessage(fault record.Reason) string {
	switch fault {
	case record.PeerLeft:
		return "The other cluster has deleted its ClusterPeer."
	case record.PeerSuspended:
		return "The peering is suspended: a key of the other cluster was renewed by two, or the store of a cluster was restored from a copy. Another connection string is needed."
	case record.ClonedPeer:
		return "Two clusters go by the identity of the other one. Another connection string is needed."
	case record.UUIDMismatch:
		return "The other cluster is not the one that is expected."
	case record.TrustExpired:
		return "The certificates of the peering have expired, and the time to renew them has passed. Another connection string is needed."
	case record.InvalidOffer:
		return "What the other cluster offers breaks the rules, and was not accepted."
	case record.IncompatibleVersion:
		return "There is no version of the peering protocol that both clusters speak."
	default:
		return "The peering does not work."
	}
}

// inviteRefusedMessage says why a cluster was refused that had the right connection
// string.
func inviteRefusedMessage(reason record.Reason) string {
	switch reason {
	case record.UUIDMismatch:
		return "A cluster was refused that is not the one that is expected."
	case record.SelfPeering:
		return "This cluster itself was refused."
	case record.DuplicatePeer:
		return "A cluster was refused that another ClusterPeer holds already."
	case record.ClockSkew:
		return "A cluster was refused whose clock differs by more than an hour."
	case record.IncompatibleVersion:
		return "A cluster was refused that speaks no version of the peering protocol that is spoken here."
	default:
		return "A cluster was refused."
	}
}

// joinRefusedMessage says why a connection string is not used here.
func joinRefusedMessage(reason record.Reason) string {
	switch reason {
	case record.InviteExpired:
		return "The connection string has expired. Another one is needed."
	case record.UUIDMismatch:
		return "The connection string does not lead to the cluster that is expected."
	case record.SelfPeering:
		return "The connection string was issued by this cluster itself."
	case record.DuplicatePeer:
		return "Another ClusterPeer, here or in the other cluster, holds the cluster already."
	case record.ClockSkew:
		return "The clocks of the two clusters differ by more than an hour. When they agree, another connection string is needed."
	case record.IncompatibleVersion:
		return "There is no version of the peering protocol that both clusters speak."
	default:
		return "The other cluster refused the connection string: it was used already, was replaced, or is another one's. Another one is needed."
	}
}
