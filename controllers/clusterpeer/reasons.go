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

import (
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// Reasons of the condition Ready; Events about a ClusterPeer have the same (P13).
const (
	// ReasonActive means that the peering works: status True.
	ReasonActive = "Active"
	// ReasonWaitingForConnectionString means that a ClusterPeer of type Join lacks
	// its connection string.
	ReasonWaitingForConnectionString = "WaitingForConnectionString"
	// ReasonWaitingForPeer means that all is ready here and the other cluster has
	// not been in touch yet.
	ReasonWaitingForPeer = "WaitingForPeer"
	// ReasonInvalidConnectionString means that the connection string is malformed
	// or damaged; the message names the part.
	ReasonInvalidConnectionString = "InvalidConnectionString"
	// ReasonSensitiveAccessDenied means that Entente may not read the connection
	// string: it lacks permission on clusterpeers/sensitive.
	ReasonSensitiveAccessDenied = "SensitiveAccessDenied"
	// ReasonNoGatewayEndpoint means that this cluster cannot invite: its gateway is not
	// advertised.
	ReasonNoGatewayEndpoint = "NoGatewayEndpoint"
	// ReasonPeerUnreachable means that the other cluster is out of reach; that heals
	// itself.
	ReasonPeerUnreachable = "PeerUnreachable"

	// ReasonProviderRejected means that the TokenExchangeProvider of the peer cannot be
	// written, or that its keys are none.
	ReasonProviderRejected = peeringv1alpha1.ReasonProviderRejected
	// ReasonForeignProvider means that somebody else's object has the name of the
	// TokenExchangeProvider.
	ReasonForeignProvider = peeringv1alpha1.ReasonForeignProvider

	// These are what the ledger has them for.

	// ReasonInviteExpired means that a connection string can no longer be used.
	ReasonInviteExpired = string(record.InviteExpired)
	// ReasonTokenRejected means that the other cluster refused the connection string.
	ReasonTokenRejected = string(record.TokenRejected)
	// ReasonUUIDMismatch means that the other cluster is not the one that is expected.
	ReasonUUIDMismatch = string(record.UUIDMismatch)
	// ReasonSelfPeering means that the other cluster is this one.
	ReasonSelfPeering = string(record.SelfPeering)
	// ReasonDuplicatePeer means that another ClusterPeer holds the other cluster.
	ReasonDuplicatePeer = string(record.DuplicatePeer)
	// ReasonClonedPeer means that two clusters go by the identity of the other one.
	ReasonClonedPeer = string(record.ClonedPeer)
	// ReasonPeerLeft means that the other cluster deleted its ClusterPeer.
	ReasonPeerLeft = string(record.PeerLeft)
	// ReasonPeerSuspended means that the peering is suspended.
	ReasonPeerSuspended = string(record.PeerSuspended)
	// ReasonIncompatibleVersion means that the clusters speak different protocols.
	ReasonIncompatibleVersion = string(record.IncompatibleVersion)
	// ReasonTrustExpired means that the certificates of the peering expired.
	ReasonTrustExpired = string(record.TrustExpired)
	// ReasonInvalidOffer means that what the other cluster offers breaks the rules.
	ReasonInvalidOffer = string(record.InvalidOffer)
	// ReasonClockSkew means that the clocks differ by more than a peering can bear.
	ReasonClockSkew = string(record.ClockSkew)
)

// Reason of the condition ClockSkew.
const reasonClocksDiffer = "ClocksDiffer"

// Reasons of the condition TrustRotation.
const (
	// ReasonNextPublished means that the other cluster knows the next peering CA, which
	// does not sign yet.
	ReasonNextPublished = "NextPublished"
	// ReasonRotationWaits means that the other cluster has not acknowledged the next
	// peering CA yet.
	ReasonRotationWaits = "WaitingForPeer"
	// ReasonForced means that the new peering CA signs although not every peer had
	// acknowledged it.
	ReasonForced = "Forced"
	// ReasonOldStillTrusted means that the new peering CA signs, and something hangs on
	// the old one still.
	ReasonOldStillTrusted = "OldStillTrusted"
)

// Reasons of Events that are about no condition (P15).
const (
	// ReasonInviteIssued: a connection string was issued.
	ReasonInviteIssued = "InviteIssued"
	// ReasonInviteRenewed: one was issued in place of another, which died.
	ReasonInviteRenewed = "InviteRenewed"
	// ReasonDisconnected: the peering has ended because the ClusterPeer is deleted.
	ReasonDisconnected = "Disconnected"
)
