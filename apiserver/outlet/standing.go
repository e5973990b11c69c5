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
	"time"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// standing is what one request stands on. It is asked for when the request begins, and
// again while it lasts.
type standing struct {
	outlet *Outlet
	// uid is that of the ClusterPeer.
	uid, capability string
	caller          caller
	// expires is when the token ends by which the peer knows who it is; zero: there is none
	// yet.
	expires time.Time
}

// fault finds out why the request must not be, or go on: a *fault, or nil.
func (s *standing) fault() error {
	_, err := s.look()
	return err
}

// look returns the record of the peer if the request may be carried to it now, or the
// *fault why not. It is quick.
func (s *standing) look() (*record.Peer, error) {
	o := s.outlet
	// Who cannot see the ledger cannot see who was revoked (S3).
	if o.ledger.Fresh() != nil {
		return nil, &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "this replica has lost sight of what was agreed with the peer"}
	}
	if !s.expires.IsZero() && !o.clock.Now().Before(s.expires) {
		return nil, &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "the token of the ServiceAccount has ended, and the request with it"}
	}
	peer := o.ledger.Peer(s.uid)
	spec, found := o.specs(s.uid)
	if !found {
		// It is not seen yet, or gone, and its record is about to follow.
		return nil, &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "this replica does not see what the ClusterPeer says"}
	}
	if !access.InEffect(peer, spec, s.capability) {
		return nil, &fault{code: http.StatusForbidden, text: fmt.Sprintf("capability %q is not in effect between this cluster and the peer", s.capability)}
	}
	capability, found := o.capabilities(s.capability)
	if !found {
		// As above: where there is none, it is not offered for long.
		return nil, &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: fmt.Sprintf("this replica does not see PeeringCapability %q", s.capability)}
	}
	if !access.Names(&capability.Spec, s.caller.namespace, s.caller.name) {
		return nil, &fault{code: http.StatusForbidden, text: fmt.Sprintf("PeeringCapability %q does not name ServiceAccount %s/%s as a consumer", s.capability, s.caller.namespace, s.caller.name)}
	}
	return peer, nil
}
