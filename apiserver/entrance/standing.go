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
	"sync/atomic"

	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
)

// standing is what one request stands on. It is asked for when the request begins, and
// again while it lasts.
type standing struct {
	entrance *Entrance
	peer     *gateway.Peer
	ask      *ask
	issuer   protocol.Issuer
	workload *workloadtoken.Workload
	// capability is the one by which the rest was found to be allowed: while it is the same
	// that need not be asked again.
	capability *capability
	// lost is why it does not stand any more.
	lost atomic.Pointer[Reason]
}

// fault finds out why the request must not be, or go on; empty: it may.
func (s *standing) fault() Reason {
	if !s.entrance.config.Clock.Now().Before(s.workload.Expires) {
		return Reason(workloadtoken.Expired)
	}
	ground, reason := s.entrance.ground(s.peer, s.ask.capability)
	if reason != "" {
		return reason
	}
	if ground.issuer != s.issuer {
		return IssuerChanged
	}
	if ground.capability != s.capability {
		if !ground.capability.isFor(s.workload.Namespace, s.workload.Name) {
			return NotConsumer
		}
		if !s.ask.discovery && !ground.capability.allows(s.ask.rule) {
			return NotInRules
		}
		s.capability = ground.capability
	}
	if !s.ask.discovery && !granted(s.entrance.config.Ledger, s.peer.UID, s.ask.capability, s.ask.namespace) {
		return NotGranted
	}
	return ""
}

// stands tells whether the request may go on, and remembers why not.
func (s *standing) stands() bool {
	if reason := s.fault(); reason != "" {
		lost := reason // only now does it need room
		s.lost.CompareAndSwap(nil, &lost)
		return false
	}
	return true
}

// reason is why the request does not stand any more; empty: it does.
func (s *standing) reason() Reason {
	if lost := s.lost.Load(); lost != nil {
		return *lost
	}
	return ""
}
