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
	"time"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// ready returns reason and message of the condition Ready. The messages are a closed
// set: of what other clusters, and people, wrote they hold nothing but UUIDs whose form
// was checked (P11, R15), and names.
func ready(peer *peeringv1alpha1.ClusterPeer, rec *record.Peer, f facts, now time.Time) (reason, message string) {
	invite := peer.Spec.Type == peeringv1alpha1.ClusterPeerTypeInvite
	switch {
	case rec.Remote != nil && rec.Remote.Fault == "" && invite:
		reason, message = paired(peer, rec.Remote, f.provider)
		return reason, message + presentedAgain(rec.Invite)
	case rec.Remote != nil && rec.Remote.Fault == "":
		reason, message = paired(peer, rec.Remote, f.provider)
		return reason, message + notUsed(peer, rec, f)
	case invite:
		return inviting(rec, f, now)
	default:
		return joining(peer, rec, f)
	}
}

// paired is for a ClusterPeer that has a peer, and no fault with it. What is wrong with the
// peering itself is said before what is wrong with its provider, which has a condition of
// its own.
func paired(peer *peeringv1alpha1.ClusterPeer, remote *record.Remote, provider providerFault) (reason, message string) {
	cluster := "cluster " + remote.ClusterUUID
	switch {
	case !peer.Spec.Expects(remote.ClusterUUID):
		return ReasonUUIDMismatch, "The peer is " + cluster + ", which is not the one of expectedClusterUUID."
	case remote.ConfirmedAt.IsZero():
		return ReasonWaitingForPeer, "The connection string was used between this cluster and " + cluster + ". Waiting for the first exchange."
	case !remote.Unreachable.IsZero():
		return ReasonPeerUnreachable, "There has been no contact with " + cluster + " since " + clockTime(remote.Unreachable) + ". It is tried again all the time."
	case provider.reason != "":
		return provider.reason, "Paired with " + cluster + ". " + provider.message
	default:
		return ReasonActive, "Paired with " + cluster + "."
	}
}

// presentedAgain is a sentence about a connection string that somebody presented who did
// not use it first, or nothing.
func presentedAgain(invite *record.Invite) string {
	if invite == nil || invite.Use == nil || invite.Refused == nil {
		return ""
	}
	return " The connection string was presented again by another key and refused at " + clockTime(invite.Refused.At) + "."
}

// notUsed is a sentence about a connection string beside a peering that works, which it
// was not made by, or nothing.
func notUsed(peer *peeringv1alpha1.ClusterPeer, rec *record.Peer, f facts) string {
	if !hasConnectionString(peer) || isUsed(rec, f.found) {
		return ""
	}
	reason, _ := joiningBy(f)
	if reason == ReasonWaitingForPeer {
		return ""
	}
	return " spec.join.connectionString is another one, which cannot be used: " + reason + "."
}

// inviting is for a ClusterPeer of type Invite without a peer, or with a fault.
func inviting(rec *record.Peer, f facts, now time.Time) (reason, message string) {
	invite := rec.Invite
	open := invite.Open(now)
	if rec.Remote != nil && (!open || !endsForGood(rec.Remote.Fault)) {
		return string(rec.Remote.Fault), faultMessage(rec.Remote.Fault) + presentedAgain(invite)
	}
	switch {
	case !f.gateway:
		return ReasonNoGatewayEndpoint, "This cluster cannot invite: no endpoint of its gateway is advertised (--gateway-endpoint)."
	case invite == nil && f.authority == nil:
		return ReasonWaitingForPeer, "The connection string is issued as soon as this cluster has its peering CA."
	case invite == nil:
		return ReasonWaitingForPeer, "The connection string is about to be issued."
	case invite.Void:
		return ReasonInviteExpired, "The connection string is void: the store of this cluster was restored from a copy." + renewHint
	case invite.Use != nil:
		return ReasonInviteExpired, "The connection string was used but never confirmed, and the pairing was undone." + renewHint
	case !open:
		return ReasonInviteExpired, "The connection string expired before it was used." + renewHint
	case invite.Refused != nil:
		return string(invite.Refused.Reason), inviteRefusedMessage(invite.Refused.Reason) + " The connection string was not used up."
	case f.issued == issuedDenied:
		return ReasonSensitiveAccessDenied, "status.invite.connectionString cannot be checked: Entente lacks permission to get clusterpeers/sensitive."
	case f.issued == issuedLost:
		return ReasonWaitingForPeer, "Waiting for the other cluster to join. The connection string is no longer in the status: somebody else changed it." + renewHint
	case rec.Remote != nil:
		return ReasonWaitingForPeer, faultMessage(rec.Remote.Fault) + " Waiting for the other cluster to join anew."
	default:
		return ReasonWaitingForPeer, "Waiting for the other cluster to join."
	}
}

const renewHint = " For another one, set annotation " + peeringv1alpha1.AnnotationRenew + " to status.invite.tokenID."

// joining is for a ClusterPeer of type Join without a peer, or with a fault.
func joining(peer *peeringv1alpha1.ClusterPeer, rec *record.Peer, f facts) (reason, message string) {
	fault := rec.Remote != nil
	switch {
	case !hasConnectionString(peer) && !fault:
		return ReasonWaitingForConnectionString, "spec.join.connectionString is not set."
	case isUsed(rec, f.found) && !fault:
		return ReasonTokenRejected, "The other cluster took the connection string but nothing was exchanged in time, and the pairing was undone. Another connection string is needed."
	case !hasConnectionString(peer), isUsed(rec, f.found):
		return string(rec.Remote.Fault), faultMessage(rec.Remote.Fault)
	default:
		return joiningBy(f)
	}
}

// joiningBy is for a connection string that was not used yet.
func joiningBy(f facts) (reason, message string) {
	switch {
	case f.found.denied:
		return ReasonSensitiveAccessDenied, "spec.join.connectionString cannot be read: Entente lacks permission to get clusterpeers/sensitive."
	case f.found.fault != "":
		return ReasonInvalidConnectionString, "spec.join.connectionString is not valid: " + string(f.found.fault) + "."
	case f.refused != "":
		return string(f.refused), joinRefusedMessage(f.refused)
	case f.authority == nil:
		return ReasonWaitingForPeer, "The connection string is used as soon as this cluster has its peering CA."
	case f.trouble != "":
		return ReasonPeerUnreachable, f.trouble + " It is tried again."
	default:
		return ReasonWaitingForPeer, "The connection string is well-formed. Waiting for the other cluster."
	}
}

// hasConnectionString tells whether a ClusterPeer has a connection string to join
// with. In a redacted object the placeholder says so (R6).
func hasConnectionString(peer *peeringv1alpha1.ClusterPeer) bool {
	return peer.Spec.Type == peeringv1alpha1.ClusterPeerTypeJoin && peer.Spec.Join != nil && peer.Spec.Join.ConnectionString != ""
}

// isUsed tells whether the other cluster took this connection string.
func isUsed(rec *record.Peer, found finding) bool {
	return found.usable() && rec.Join != nil && rec.Join.Done && rec.Join.String == found.text
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
