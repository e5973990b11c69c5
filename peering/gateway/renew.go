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
	"bytes"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// renew certifies another key of a peer (P2): a control key in place of the one that it
// asks by, or a data key beside it.
func (g *Gateway) renew(v *visit, c *caller) {
	var request protocol.RenewRequest
	if denied := v.read(protocol.LimitRenew, &request); denied != nil {
		v.deny(denied)
		return
	}
	public, err := pki.ParseCSR(request.CSR)
	if request.Validate() != nil || err != nil {
		v.deny(&invalid)
		return
	}
	role, life := record.RoleControl, record.KeyLife
	if request.Role == pki.RoleData {
		role, life = record.RoleData, record.DataKeyLife
	}
	var key record.Key
	var certified *record.Key
	var authority *record.Authority
	var confirmed bool
	err = v.update(v.r.Context(), func(tx record.Tx) (err error) {
		now := g.clock.Now()
		// A certificate that is over, or was replaced, is good for its replacement only.
		peer, err := c.of(tx, record.RoleControl, role == record.RoleControl, now)
		if err != nil {
			return err
		}
		if authority, err = tx.Authority(); err != nil {
			return err
		}
		if key, err = exchange.NewKey(authority, public, role, life, now); err != nil {
			return err
		}
		confirmed = peer.Remote.ConfirmedAt.IsZero()
		if err := record.Confirm(tx, peer.UID, c.key.Hash, now); err != nil {
			return err
		}
		certified, err = record.Renew(tx, record.Renewal{UID: peer.UID, From: c.key.Hash, Key: key, Now: now})
		return err
	})
	if err != nil {
		v.deny(denialOf(v.r.Context(), err))
		return
	}
	if confirmed {
		v.note(PeerConfirmed, "")
	}
	if certified == nil {
		denied := told(record.PeerSuspended, PeerSuspended)
		v.deny(&denied)
		return
	}
	certificate, err := exchange.Certify(authority, c.peer.Remote.ClusterUUID, *certified, public)
	if err != nil {
		v.log.Error(err, "Could not certify another cluster's key", "clusterPeer", c.peer.Name)
		v.deny(&unavailable)
		return
	}
	g.presences.heard(c.peer.UID, g.clock.Now())
	if bytes.Equal(certified.Serial, key.Serial) {
		v.note(KeyRenewed, "")
	}
	v.succeed(protocol.RenewResponse{Certificate: certificate})
}
