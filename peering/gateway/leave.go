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
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// leave ends the peering on the other cluster's word (P12).
func (g *Gateway) leave(v *visit, c *caller) {
	var request protocol.LeaveRequest
	if denied := v.read(protocol.LimitLeave, &request); denied != nil {
		v.deny(denied)
		return
	}
	err := v.update(v.r.Context(), func(tx record.Tx) error {
		now := g.clock.Now()
		if _, err := c.of(tx, record.RoleControl, false, now); err != nil {
			return err
		}
		return record.Leave(tx, c.peer.UID, now)
	})
	if err != nil {
		v.deny(denialOf(v.r.Context(), err))
		return
	}
	v.note(PeerLeft, record.PeerLeft)
	v.part()
	v.succeed(protocol.LeaveResponse{})
}
