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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// facts are what a status is made of besides the object and its record.
type facts struct {
	// gateway says that the gateway of this cluster is advertised.
	gateway bool
	// host says that there is a host cluster, in which access is granted.
	host bool
	// authority is the peering CA of this cluster, nil if there is none yet.
	authority *record.Authority

	// issued is what became of the connection string that was issued; empty: there is
	// none, or it is not good for anything any more.
	issued issued

	// found is what is known of the connection string to join with.
	found finding
	// refused is why that one is not dialled for; empty: it is, or was.
	refused record.Reason
	// trouble is why the other cluster could not be asked last time, a sentence; empty:
	// it was not tried yet.
	trouble string

	// plan is what is to be between the clusters; nil: that cannot be told now.
	plan *access.Plan
	// grants are what there is.
	grants []*record.Grant
	// provider is what keeps the TokenExchangeProvider from being made; zero: nothing does.
	provider providerFault
}

// providerFault is reason and message of what keeps a TokenExchangeProvider from being made.
type providerFault struct{ reason, message string }

// project returns the status that a ClusterPeer should have: its own, with all that this
// controller owns of it made anew from the record, never from itself (S1). It changes
// nothing else, and not the ClusterPeer.
func project(peer *peeringv1alpha1.ClusterPeer, rec *record.Peer, f facts, now time.Time) *peeringv1alpha1.ClusterPeerStatus {
	wanted := peer.Status.DeepCopy()
	reason, message := ready(peer, rec, f, now)
	wanted.Phase = phase(reason)
	wanted.ObservedGeneration = peer.Generation
	wanted.Invite = projectInvite(rec.Invite, f.issued, now)
	wanted.Offer = projectOffer(&rec.Offer)
	wanted.Peer = projectRemote(rec.Remote)
	wanted.Grants = projectGrants(f.grants)
	projectAccess(wanted, f.plan)
	wanted.Access = projectWayIn(peer, rec, wanted.EffectiveCapabilities)

	status := metav1.ConditionFalse
	if reason == ReasonActive {
		status = metav1.ConditionTrue
	}
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		if reason == "" {
			meta.RemoveStatusCondition(&wanted.Conditions, kind)
			return
		}
		meta.SetStatusCondition(&wanted.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: peer.Generation,
			// Used only when the status of the condition changes.
			LastTransitionTime: seconds(now),
		})
	}
	set(peeringv1alpha1.ConditionReady, status, reason, message+notInEffect(f.plan))
	reason, message = clockSkew(rec.Remote)
	set(peeringv1alpha1.ConditionClockSkew, metav1.ConditionTrue, reason, message)
	reason, message = trustRotation(rec, f.authority)
	set(peeringv1alpha1.ConditionTrustRotation, metav1.ConditionTrue, reason, message)
	return wanted
}

// phase sums a reason of the condition Ready up (P13).
func phase(reason string) peeringv1alpha1.ClusterPeerPhase {
	switch reason {
	case ReasonActive:
		return peeringv1alpha1.ClusterPeerPhaseActive
	case ReasonWaitingForPeer, ReasonWaitingForConnectionString:
		return peeringv1alpha1.ClusterPeerPhasePending
	default:
		return peeringv1alpha1.ClusterPeerPhaseError
	}
}

// projectInvite shows the connection string that was issued last, itself by the
// placeholder, and only while it can be used.
func projectInvite(invite *record.Invite, is issued, now time.Time) *peeringv1alpha1.InviteStatus {
	if invite == nil {
		return nil
	}
	expiresAt := seconds(invite.ExpiresAt)
	status := &peeringv1alpha1.InviteStatus{
		TokenID:   invite.TokenID,
		TokenHash: invite.Hash.String(),
		ExpiresAt: &expiresAt,
		Used:      invite.Use != nil,
	}
	if invite.Open(now) && (is == issuedShown || is == issuedDenied) {
		status.ConnectionString = peeringv1alpha1.Placeholder
	}
	return status
}

// projectOffer shows what the other cluster receives.
func projectOffer(offer *record.Offer) *peeringv1alpha1.Offer {
	if offer.Digest == "" {
		return nil
	}
	status := &peeringv1alpha1.Offer{PeeringVersion: offer.Body.PeeringVersion}
	for _, capability := range offer.Body.Capabilities {
		offered := peeringv1alpha1.OfferedCapability{Name: capability.Name, Version: capability.Version}
		for _, scope := range capability.Scope {
			offered.Scope = append(offered.Scope, peeringv1alpha1.CapabilityScope(scope))
		}
		status.Capabilities = append(status.Capabilities, offered)
	}
	for _, project := range offer.Body.Projects {
		status.Projects = append(status.Projects, peeringv1alpha1.OfferedProject(project))
	}
	if issuer := offer.Body.Issuer; issuer != nil {
		status.Issuer = &peeringv1alpha1.Issuer{URL: issuer.URL, JWKS: issuer.JWKS}
	}
	return status
}

// projectRemote shows what was received from the other cluster.
func projectRemote(remote *record.Remote) *peeringv1alpha1.PeerStatus {
	if remote == nil {
		return nil
	}
	body := &remote.Offer.Body
	status := &peeringv1alpha1.PeerStatus{
		ClusterUUID:    remote.ClusterUUID,
		Alias:          body.Alias,
		PeeringVersion: body.PeeringVersion,
		Issuer:         projectIssuer(body.Issuer),
	}
	if len(remote.Endpoints) > 0 {
		status.Endpoint = remote.Endpoints[0]
	}
	for _, capability := range body.Capabilities {
		status.Capabilities = append(status.Capabilities, peeringv1alpha1.PeerCapability(capability))
	}
	for _, project := range body.Projects {
		status.Projects = append(status.Projects, peeringv1alpha1.PeerProject(project))
	}
	if !remote.Contact.IsZero() {
		contact := seconds(remote.Contact)
		status.LastSyncTime = &contact
	}
	return status
}

func projectIssuer(issuer *protocol.Issuer) *peeringv1alpha1.PeerIssuer {
	if issuer == nil {
		return nil
	}
	return &peeringv1alpha1.PeerIssuer{URL: issuer.URL, JWKS: issuer.JWKS}
}

// seconds is a time as the API has it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
