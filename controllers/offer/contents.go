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

package offer

import (
	"context"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
)

// contents is what offers are made of.
type contents struct {
	peeringVersion, alias string
	issuer                *issuer
}

// to returns the offer as it should be now by a plan. It fails if a part of it cannot be
// told: an offer without it would take from the peer what it had.
func (c contents) to(ctx context.Context, plan *access.Plan) (protocol.Offer, error) {
	issuer, err := c.issuer.get(ctx)
	if err != nil {
		return protocol.Offer{}, err
	}
	offer := protocol.Offer{
		PeeringVersion: c.peeringVersion,
		Alias:          c.alias,
		Issuer:         issuer,
	}
	for _, capability := range plan.Offered {
		offered := protocol.Capability{Name: capability.Name, Version: capability.Version}
		for _, scope := range capability.Scope {
			offered.Scope = append(offered.Scope, string(scope))
		}
		offer.Capabilities = append(offer.Capabilities, offered)
	}
	for _, project := range plan.Projects {
		offer.Projects = append(offer.Projects, protocol.Project(project))
	}
	return offer, nil
}

// maxVersion is how long a version in an offer may be (P10).
const maxVersion = 64

// cut shortens a version to what an offer may hold: one that was not stamped has other
// characters in it.
func cut(version string) string { return protocol.Word(version, maxVersion) }
