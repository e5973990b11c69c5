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

package entrance

import (
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// ground is what a request of a peer under a capability stands on, whoever makes it.
type ground struct {
	capability *capability
	// issuer is whose tokens are taken.
	issuer protocol.Issuer
}

// ground finds out what a peer has to stand on under a capability now, or why nothing.
func (e *Entrance) ground(peer *gateway.Peer, name string) (ground, Reason) {
	if e.config.Ledger.Fresh() != nil {
		return ground{}, Unavailable
	}
	of := e.config.Ledger.Peer(peer.UID)
	spec, found := e.config.Specs(peer.UID)
	if !found {
		// It is not seen yet, or gone, and its record is about to follow.
		return ground{}, Unavailable
	}
	if !access.InEffect(of, spec, name) || of.Remote.ClusterUUID != peer.ClusterUUID {
		return ground{}, NotInEffect
	}
	capability := e.capabilities.get(name)
	if capability == nil || !capability.usable {
		return ground{}, NotInEffect
	}
	issuer := of.Remote.Offer.Body.Issuer
	if issuer == nil {
		return ground{}, AwaitingIssuer
	}
	if _, shared := e.config.Claims.Shared(of); shared {
		return ground{}, SharedKey
	}
	return ground{capability: capability, issuer: *issuer}, ""
}

// granted tells whether the ledger lists, for a peer and a capability, a Role in a
// namespace, or a ClusterRole if there is no namespace.
func granted(ledger record.Reader, peerUID, capability, namespace string) bool {
	grant := ledger.Grant(peerUID, capability)
	switch {
	case grant == nil:
		return false
	case namespace == "":
		return grant.ClusterWide()
	default:
		return grant.Covers(namespace)
	}
}
