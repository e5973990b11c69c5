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

package gateway

import (
	"net/netip"
	"time"

	"entente.dev/entente/peering/record"
)

// Observer is told what happens at the gateway, for Events, audit and metrics (P15). It
// is called in the middle of requests, by several at once, and is not to block.
type Observer interface {
	// Occurred is told what Events are made of.
	Occurred(what Occurrence)
	// Served is told of each request once it is over.
	Served(request Request)
}

// Kind is what happened.
type Kind string

// All kinds.
const (
	// InviteUsed: somebody has used an invite, and is the peer now.
	InviteUsed Kind = "InviteUsed"
	// InviteRefused: somebody tried to. Request.UID is that of the ClusterPeer whose
	// invite it was, empty if there is no such invite.
	InviteRefused Kind = "InviteRefused"
	// PeerConfirmed: the other cluster has used its certificate for the first time.
	PeerConfirmed Kind = "PeerConfirmed"
	// KeyRenewed: another key of the peer was certified.
	KeyRenewed Kind = "KeyRenewed"
	// PeerLeft: the other cluster has deleted its ClusterPeer.
	PeerLeft Kind = "PeerLeft"
	// PeerSuspended: one key was renewed to two.
	PeerSuspended Kind = "PeerSuspended"
	// OfferRefused: what the other cluster offers, or who it says it is, was not taken.
	OfferRefused Kind = "OfferRefused"
	// Unauthorized: a certificate was presented that is not good for what was asked.
	Unauthorized Kind = "Unauthorized"
	// RateLimited: somebody asks too often.
	RateLimited Kind = "RateLimited"
)

// Occurrence is something that happened.
type Occurrence struct {
	Kind Kind
	// Reason is why, for refusals.
	Reason record.Reason
	Request
}

// Request is a request, as far as it may be told. It holds nothing that the other side
// chose but its cluster's UUID, whose form was checked.
type Request struct {
	// Path is one that the gateway serves, or the prefix of it that it was given to
	// Handle with; empty for any other.
	Path string
	// Source is where it came from.
	Source netip.Addr
	// ClusterUUID is that of the other cluster: by its own account, unless the request
	// was authorized.
	ClusterUUID string
	// Key is the hash of the public key of the client certificate.
	Key record.Digest
	// UID and Name are those of the ClusterPeer that it is about, empty if unknown.
	UID, Name string
	// Code is the status code of the answer; 0: there was none, as nobody was there to
	// take it any more, or the handler has taken the connection over.
	Code int
	// Duration is how long it took until then.
	Duration time.Duration
}
