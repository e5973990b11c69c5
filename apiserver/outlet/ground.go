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

package outlet

import (
	"fmt"
	"net/http"
	"slices"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// ground is what a request stands on: it goes on while that is there.
type ground struct {
	// uid is that of the ClusterPeer.
	uid, capability string
	caller          caller
}

// stand returns the record of the peer if the request may be carried to it now, or the
// *fault why not. It is quick.
func (o *Outlet) stand(on *ground) (*record.Peer, error) {
	// Who cannot see the ledger cannot see who was revoked (S3).
	if o.ledger.Fresh() != nil {
		return nil, &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "this replica has lost sight of what was agreed with the peer"}
	}
	peer := o.ledger.Peer(on.uid)
	spec, found := o.specs(on.uid)
	if !found || !access.InEffect(peer, spec, on.capability) {
		return nil, &fault{code: http.StatusForbidden, text: fmt.Sprintf("capability %q is not in effect between this cluster and the peer", on.capability)}
	}
	capability, found := o.capabilities(on.capability)
	if !found || !consumes(capability, on.caller) {
		return nil, &fault{code: http.StatusForbidden, text: fmt.Sprintf("PeeringCapability %q does not name ServiceAccount %s/%s as a consumer", on.capability, on.caller.namespace, on.caller.name)}
	}
	return peer, nil
}

// consumes tells whether a capability is open to a ServiceAccount.
func consumes(capability *peeringv1alpha1.PeeringCapability, who caller) bool {
	return slices.ContainsFunc(capability.Spec.Consumers, func(c peeringv1alpha1.Consumer) bool {
		return (c.Kind == "" || c.Kind == peeringv1alpha1.ConsumerKindServiceAccount) && c.Namespace == who.namespace && c.Name == who.name
	})
}
