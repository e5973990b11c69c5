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
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// projectAccess shows what takes effect by a plan. While that cannot be told, what was
// shown before stays.
func projectAccess(wanted *peeringv1alpha1.ClusterPeerStatus, plan *access.Plan) {
	if plan == nil {
		return
	}
	wanted.EffectiveCapabilities = nil
	for _, capability := range plan.Effective {
		wanted.EffectiveCapabilities = append(wanted.EffectiveCapabilities, capability.Name)
	}
	wanted.PairedProjectsCount = int32(min(len(plan.Paired), protocol.MaxProjects))
}

// grantedAtMost is how many namespaces the grants of a status list in all: an object has to
// fit the store.
const grantedAtMost = 2000

// projectGrants shows what access there is: by the ledger, which knows what was made,
// and not by what is to be.
func projectGrants(grants []*record.Grant) []peeringv1alpha1.Grant {
	var shown []peeringv1alpha1.Grant
	left := grantedAtMost
	for _, grant := range grants {
		if slices.ContainsFunc(grant.Objects, func(o record.GrantedObject) bool { return o.UID != "" }) {
			shown = append(shown, peeringv1alpha1.Grant{Capability: grant.Capability, Namespaces: grant.Namespaces()})
		}
	}
	slices.SortFunc(shown, func(a, b peeringv1alpha1.Grant) int { return strings.Compare(a.Capability, b.Capability) })
	for i := range shown {
		// One at least: without any it would be a grant for the whole cluster only.
		shown[i].Namespaces = shown[i].Namespaces[:min(len(shown[i].Namespaces), max(left, 1))]
		left -= len(shown[i].Namespaces)
	}
	return shown
}

// namedAtMost is how many capabilities a message names.
const namedAtMost = 5

// notInEffect is a sentence about the capabilities that a ClusterPeer names and that do
// not take effect (G3), or nothing.
func notInEffect(plan *access.Plan) string {
	if plan == nil {
		return ""
	}
	var said []string
	for _, each := range plan.Ineffective {
		said = append(said, each.Name+" ("+string(each.Why)+")")
	}
	switch rest := len(said) - namedAtMost; {
	case len(said) == 0:
		return ""
	case rest > 0:
		return fmt.Sprintf(" Not in effect: %s and %d more.", strings.Join(said[:namedAtMost], ", "), rest)
	default:
		return " Not in effect: " + strings.Join(said, ", ") + "."
	}
}

// tellIneffective records an Event for each capability that does not take effect, once
// for each reason (G3).
func (c *Controller) tellIneffective(peer *peeringv1alpha1.ClusterPeer, plan *access.Plan) {
	if plan == nil {
		return
	}
	for _, each := range c.memory.untold(peer, plan.Ineffective) {
		c.event(peer, corev1.EventTypeWarning, string(each.Why), "Capability "+each.Name+" is not in effect: "+whyMessage(each.Why))
	}
}

func whyMessage(why access.Why) string {
	switch why {
	case access.NotFound:
		return "there is no PeeringCapability of that name in this cluster."
	case access.NotValid:
		return "the PeeringCapability is not valid, as its condition Valid says."
	case access.NotOffered:
		return "the other cluster does not offer a capability of that name."
	default: // access.VersionMismatch
		return "the other cluster offers it in another major version."
	}
}
