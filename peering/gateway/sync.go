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
	"errors"
	"net/http"
	"time"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// sync is one beat of a peer that joined (P9): what it says is taken over, and what it
// lacks is answered at once, or when there is something. A CSR in it is passed over: who
// dials renews by PathRenew.
func (g *Gateway) sync(v *visit, c *caller) {
	var request protocol.SyncRequest
	faulty, denied := v.readSync(&request)
	if denied != nil {
		v.deny(denied)
		return
	}
	// To read may have taken a while. What changes from here on wakes who waits.
	changed := g.ledger.Changed(c.peer.UID)
	if c, denied = g.admit(v.r, record.RoleControl, false); denied != nil {
		v.deny(denied)
		return
	}
	beat := &beat{caller: c, said: request.State, now: g.clock.Now()}
	peer, outcome, err := g.hear(v, beat, faulty)
	if err != nil {
		v.deny(denialOf(v.r.Context(), err))
		return
	}
	g.presences.heard(peer.UID, beat.now)
	if outcome.Refused != "" {
		denied := told(outcome.Refused, OfferRefused)
		v.deny(&denied)
		return
	}
	wait := min(time.Duration(request.Wait)*time.Second, g.limits.Wait, beat.patience(peer, outcome))
	if wait > 0 && !exchange.Lacks(peer, g.ledger.Authority()) {
		if peer, denied = g.hold(v, peer.UID, changed, wait); denied != nil {
			v.deny(denied)
			return
		}
	}
	g.say(v, peer, request.Protocol)
}

// readSync reads the message, and tells whether its offer breaks the rules while the
// rest does not.
func (v *visit) readSync(request *protocol.SyncRequest) (faulty bool, denied *denial) {
	if denied := v.read(protocol.LimitSync, request); denied != nil {
		return false, denied
	}
	if denied := spoken(request.Protocol, OfferRefused); denied != nil {
		return false, denied
	}
	err := request.Validate()
	var fault protocol.Fault
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &fault) && fault.OfOffer():
		return true, nil
	default:
		return false, &invalid
	}
}

// beat is what a peer said, and when.
type beat struct {
	*caller
	said protocol.State
	now  time.Time
}

// hear takes over what a peer said, and returns its record as it is then. An ordinary
// beat changes nothing, and writes nothing.
func (g *Gateway) hear(v *visit, b *beat, faulty bool) (*record.Peer, exchange.Outcome, error) {
	take := func(peer *record.Peer) exchange.Outcome {
		return exchange.Hear(peer, exchange.Message{State: b.said, BadOffer: faulty, Expected: b.spec.ExpectedClusterUUID}, b.now)
	}
	outcome := take(exchange.Draft(b.peer))
	if !outcome.Changed && !b.peer.Unconfirmed(b.key.Hash) {
		return b.peer, outcome, nil
	}
	var peer *record.Peer
	var confirmed bool
	err := v.update(v.r.Context(), func(tx record.Tx) (err error) {
		if peer, err = b.of(tx, record.RoleControl, false, b.now); err != nil {
			return err
		}
		confirmed = peer.Remote.ConfirmedAt.IsZero()
		if err := record.Confirm(tx, peer.UID, b.key.Hash, b.now); err != nil {
			return err
		}
		if peer, err = tx.Peer(peer.UID); err != nil {
			return err
		}
		if outcome = take(peer); !outcome.Changed {
			return nil
		}
		return record.Heard(tx, peer)
	})
	if err == nil && confirmed {
		v.note(PeerConfirmed, "")
	}
	return peer, outcome, err
}

// patience is for how long an answer may be held back by what came of the message. It is
// nothing if the peer left something out that it has to send. Something that was sent
// and not taken, as it came too soon after the last, is worth sending when its time has
// come (P11), and not before.
func (b *beat) patience(peer *record.Peer, outcome exchange.Outcome) time.Duration {
	const forever = time.Duration(1<<63 - 1)
	switch left := peer.Remote.Additive.Add(exchange.AdditiveInterval).Sub(b.now); {
	case !outcome.Repeat:
		return forever
	case b.said.OfferBody == nil && len(b.said.Trust) == 0:
		return 0
	case left > 0:
		return left
	default:
		return forever
	}
}

// hold waits until the peer lacks something, or the time is over, and returns its record
// as it is then. A peer waits once at a time. It stays allowed to, or it is denied.
func (g *Gateway) hold(v *visit, uid string, changed <-chan struct{}, wait time.Duration) (*record.Peer, *denial) {
	// What happened is not held back along with the answer.
	v.tell(http.StatusOK)
	held, release := g.presences.hold(v.r.Context(), uid)
	defer release()
	timer := g.clock.NewTimer(wait)
	defer timer.Stop()
	for over := false; ; {
		select {
		case <-changed:
		case <-timer.C():
			over = true
		case <-g.stopping:
			over = true
		case <-held.Done():
			return nil, &superseded
		}
		changed = g.ledger.Changed(uid)
		c, denied := g.admit(v.r, record.RoleControl, false)
		if denied != nil {
			return nil, denied
		}
		if over || exchange.Lacks(c.peer, g.ledger.Authority()) {
			return c.peer, nil
		}
	}
}

// say answers what this side has to say.
func (g *Gateway) say(v *visit, peer *record.Peer, version uint16) {
	state, err := exchange.Say(g.self, peer, g.ledger.Authority(), g.clock.Now())
	if err != nil {
		v.log.Error(err, "Could not answer a peer", "clusterPeer", peer.Name)
		v.deny(&unavailable)
		return
	}
	v.succeed(protocol.SyncResponse{Protocol: version, State: state})
}
