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

package access

import (
	"slices"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// InEffect tells whether a capability is in effect between this cluster and a peer (G3), as
// far as that follows from the ledger and from what the ClusterPeer says now: it is named,
// both clusters have been offered it, and they understand each other in it. Any replica can
// tell that at any time. What this cluster offers is what is valid here; it follows within
// a moment, on the word of the one that leads.
func InEffect(peer *record.Peer, spec record.Spec, capability string) bool {
	if spec.Deleting || !peer.GivesAccess() || !spec.Expects(peer.Remote.ClusterUUID) || !slices.Contains(spec.Capabilities, capability) {
		return false
	}
	ours, offered := offeredIn(&peer.Offer.Body, capability)
	theirs, also := offeredIn(&peer.Remote.Offer.Body, capability)
	return offered && also && compatible(ours, theirs)
}

// offeredIn returns the version in which an offer has a capability.
func offeredIn(offer *protocol.Offer, name string) (version string, offered bool) {
	i := slices.IndexFunc(offer.Capabilities, func(c protocol.Capability) bool { return c.Name == name })
	if i < 0 {
		return "", false
	}
	return offer.Capabilities[i].Version, true
}
