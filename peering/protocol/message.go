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

package protocol

// Versions of the protocol that this code speaks, both ends included.
const (
	MinVersion = 1
	MaxVersion = 1
)

// Paths of the gateway. All are POST, and JSON in both directions.
const (
	PathJoin  = "/peering/v1/join"
	PathSync  = "/peering/v1/sync"
	PathRenew = "/peering/v1/renew"
	PathLeave = "/peering/v1/leave"
)

// ContentType is that of every message.
const ContentType = "application/json"

// JoinRequest uses a connection string up (P6). It is sent over a connection whose
// client certificate is signed by the very key of the CSR.
type JoinRequest struct {
	// Protocol is the version that the joiner speaks.
	Protocol uint16 `json:"protocol"`
	// TokenID and Token are those of the connection string; Token is secret.
	TokenID string `json:"tokenID"`
	Token   []byte `json:"token" datapolicy:"token"`
	// CSR asks for a control certificate, DER. Its subject is ignored.
	CSR []byte `json:"csr"`
	Self
}

// JoinResponse answers a JoinRequest.
type JoinResponse struct {
	Protocol uint16 `json:"protocol"`
	// Certificate is the joiner's control certificate, DER.
	Certificate []byte `json:"certificate"`
	// CSR asks the joiner to certify the control key of the inviter (P7), DER.
	CSR []byte `json:"csr"`
	Self
}

// Self is what a cluster says of itself.
type Self struct {
	ClusterUUID string `json:"clusterUUID"`
	// Time is its clock, in seconds of Unix time.
	Time int64 `json:"time"`
	// Endpoints are URLs of its gateway; none if it cannot be dialled.
	Endpoints []string `json:"endpoints,omitempty"`
	// Trust are the certificates by which its gateway is recognised, DER, nil where the
	// other cluster holds them already.
	Trust [][]byte `json:"trust,omitempty"`
	// TrustDigest is the digest of them, also where they are left out.
	TrustDigest string `json:"trustDigest"`
}

// SyncRequest is one beat of the joiner (P9), which the gateway answers when it has
// something to say, and else after Wait.
type SyncRequest struct {
	Protocol uint16 `json:"protocol"`
	// Wait is for how long the gateway may hold the answer back, in seconds; 0: not at
	// all.
	Wait int `json:"wait"`
	State
}

// SyncResponse answers a SyncRequest.
type SyncResponse struct {
	Protocol uint16 `json:"protocol"`
	State
}

// State is what each side tells the other: what it is, what it offers, and what it
// holds of the other side.
type State struct {
	Self
	// Offer says which offer is the current one.
	Offer OfferHeader `json:"offer"`
	// OfferBody is that offer, nil where the other side holds it already.
	OfferBody *Offer `json:"offerBody,omitempty"`
	// Holds is what it holds of the other side.
	Holds Holding `json:"holds"`
	// CSR asks for a new control certificate, DER; empty: none is wanted.
	CSR []byte `json:"csr,omitempty"`
	// Certificate answers the other side's CSR, DER.
	Certificate []byte `json:"certificate,omitempty"`
}

// Holding is what one side holds of the other.
type Holding struct {
	Offer OfferHeader `json:"offer"`
	Trust string      `json:"trust,omitempty"`
}

// OfferHeader names an offer (P10).
type OfferHeader struct {
	// Epoch moves when the generation may have gone back: with every pairing.
	Epoch uint64 `json:"epoch"`
	// Generation moves with the body.
	Generation uint64 `json:"generation"`
	// Digest is that of the body.
	Digest string `json:"digest,omitempty"`
}

// Offer is what a cluster offers another one.
type Offer struct {
	Capabilities []Capability `json:"capabilities,omitempty"`
	Projects     []Project    `json:"projects,omitempty"`
	Issuer       *Issuer      `json:"issuer,omitempty"`
	// PeeringVersion is the version of Entente.
	PeeringVersion string `json:"peeringVersion,omitempty"`
	// Alias is the name that the cluster gives itself.
	Alias string `json:"alias,omitempty"`
}

// Capability is a PeeringCapability that the other cluster's modules may use.
type Capability struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Scope   []string `json:"scope,omitempty"`
}

// Project is a project that can be paired.
type Project struct {
	Name       string   `json:"name"`
	Namespaces []string `json:"namespaces,omitempty"`
}

// Issuer is the issuer of a cluster's ServiceAccount tokens.
type Issuer struct {
	URL  string `json:"url"`
	JWKS string `json:"jwks"`
}

// RenewRequest asks for a certificate for a new key (P2), under a certificate of the
// key that it replaces; with role data, for one beside it.
type RenewRequest struct {
	Role string `json:"role"`
	CSR  []byte `json:"csr"`
}

// RenewResponse answers a RenewRequest.
type RenewResponse struct {
	Certificate []byte `json:"certificate"`
}

// LeaveRequest says that the ClusterPeer on this side is deleted (P12).
type LeaveRequest struct{}

// LeaveResponse answers a LeaveRequest.
type LeaveResponse struct{}

// Failure is the body of every answer that is no success.
type Failure struct {
	Reason FailureReason `json:"reason"`
}

// FailureReason is a closed set: what is not in it is read as FailureRefused.
type FailureReason string

// Reasons of failure.
const (
	// FailureRefused says nothing: to a stranger every failure looks like it (P6).
	FailureRefused FailureReason = "Refused"
	// FailureBusy: too many requests; the same may be asked later (429).
	FailureBusy FailureReason = "Busy"
	// FailureUnavailable: this replica cannot tell; it, or another one, may later (503).
	FailureUnavailable FailureReason = "Unavailable"
	// FailureInvalid: the message breaks the rules of the protocol (400).
	FailureInvalid FailureReason = "Invalid"
	// FailureGone: the peering is over (410).
	FailureGone FailureReason = "Gone"
	// FailureSuspended: the peering is suspended (403).
	FailureSuspended FailureReason = "Suspended"
	// FailureUUIDMismatch, FailureSelfPeering, FailureDuplicatePeer, FailureClockSkew and
	// FailureIncompatibleVersion are told to who knew the token, or is known by key (403).
	FailureUUIDMismatch        FailureReason = "UUIDMismatch"
	FailureSelfPeering         FailureReason = "SelfPeering"
	FailureDuplicatePeer       FailureReason = "DuplicatePeer"
	FailureClockSkew           FailureReason = "ClockSkew"
	FailureIncompatibleVersion FailureReason = "IncompatibleVersion"
	// FailureClonedPeer and FailureInvalidOffer: the offer was not accepted (409, 400).
	FailureClonedPeer   FailureReason = "ClonedPeer"
	FailureInvalidOffer FailureReason = "InvalidOffer"
	// FailureExpired: the certificate is too old even to be renewed (403).
	FailureExpired FailureReason = "Expired"
)
