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

package peersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// backAfter is how many answers in a row end an outage (P9).
const backAfter = 2

// beat tells the other cluster what is to be said and takes over what it answers. It
// returns when it is time for the next one. Its errors are failures of the peering.
func (s *session) beat(ctx context.Context) error {
	peer, authority := s.ledger.Peer(s.uid), s.ledger.Authority()
	spec, there := s.specs(s.uid)
	if s.ledger.Fresh() != nil || !dials(peer) || pairingOf(peer) != s.pairing || authority == nil || !there || spec.Deleting {
		// Either this is about to end, or this replica does not know enough to talk.
		pause(ctx, s.clock, idle)
		return nil
	}
	conn, err := s.connected(peer.Remote)
	if err != nil {
		return err
	}
	if renewed, err := s.renew(ctx, conn, peer.Remote); renewed || err != nil {
		return err
	}
	said, err := exchange.Say(s.self, peer, authority, s.clock.Now())
	if err != nil {
		return err
	}
	// Who dials asks for its own certificates by renewals.
	said.CSR = nil
	said.Certificate = s.signed.certificate
	request := protocol.SyncRequest{Protocol: protocol.MaxVersion, Wait: s.wait(peer.Remote), State: said}

	listening, done := s.listen(ctx, said)
	defer done()
	asked := s.clock.Now()
	answer, err := conn.Sync(listening, request)
	if err != nil && errors.Is(context.Cause(listening), errNews) {
		return nil
	}
	badOffer := isOfferFault(err)
	if err != nil && !badOffer {
		return s.refused(ctx, peer.Remote, err)
	}
	if answer.Protocol < protocol.MinVersion || answer.Protocol > protocol.MaxVersion {
		return &client.Failure{Kind: client.Refused, Reason: protocol.FailureIncompatibleVersion}
	}
	peer, err = s.hear(ctx, peer, answer.State, spec.ExpectedClusterUUID, badOffer)
	if err != nil || peer == nil {
		return err
	}
	answered := s.answer(ctx, peer, answer.CSR)
	if early := s.clock.Since(asked) < time.Duration(request.Wait)*time.Second/2; early && !answered {
		// Nothing came of it, and nothing would of the same once more: unless something is
		// new here, it is the other side's turn to have something new.
		pause(listening, s.clock, untilAdditive(peer.Remote, answer.State, s.clock.Now()))
	}
	return nil
}

// wait returns for how long, in seconds, the answer may be held back: not at all as long
// as it matters whether there is one.
func (s *session) wait(remote *record.Remote) int {
	if s.successes == 0 || !remote.Unreachable.IsZero() {
		return 0
	}
	return waitSeconds()
}

// untilAdditive returns how long to wait with a beat that nothing is known to come of. If
// an offer waits for it to be some time since the last one, it is that time (P11).
func untilAdditive(remote *record.Remote, heard protocol.State, now time.Time) time.Duration {
	left := remote.Additive.Add(exchange.AdditiveInterval).Sub(now)
	if heard.OfferBody != nil && remote.Offer.OfferHeader != heard.Offer && 0 < left && left < exchange.AdditiveInterval {
		return left
	}
	return exchange.AdditiveInterval
}

// hear takes an answer over, and returns the record as it is then; nil if this peering
// is over. Most answers change nothing, and nothing is written then (P9).
func (s *session) hear(ctx context.Context, peer *record.Peer, said protocol.State, expected string, badOffer bool) (*record.Peer, error) {
	s.failures, s.lastSuccess = 0, s.clock.Now()
	s.successes++
	wasUnreachable := !peer.Remote.Unreachable.IsZero()
	now, back := s.clock.Now(), s.successes >= backAfter || !wasUnreachable
	take := func(peer *record.Peer) exchange.Outcome {
		return exchange.Hear(peer, exchange.Message{State: said, BadOffer: badOffer, Expected: expected, Answer: true, Away: !back}, now)
	}
	heard := exchange.Draft(peer)
	out := take(heard)
	if out.Changed || confirms(heard.Remote) {
		err := s.update(ctx, func(tx record.Tx) (err error) {
			if heard, err = tx.Peer(s.uid); err != nil {
				return err
			}
			if !dials(heard) || pairingOf(heard) != s.pairing {
				heard = nil
				return nil
			}
			if out = take(heard); out.Changed {
				if err := record.Heard(tx, heard); err != nil {
					return err
				}
			}
			if confirms(heard.Remote) {
				return record.Confirmed(tx, s.uid, now)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errOurs, err)
		}
	}
	if wasUnreachable && back {
		klog.FromContext(ctx).Info("The other cluster can be reached again")
	}
	if out.Refused != "" {
		klog.FromContext(ctx).Info("Did not take the offer of the other cluster", "reason", out.Refused)
	}
	return heard, nil
}

// confirms tells whether an answer confirms the pairing (P7): it does if it came from the
// cluster that it should have come from.
func confirms(remote *record.Remote) bool {
	return remote.ConfirmedAt.IsZero() && remote.Fault != record.UUIDMismatch && !remote.Fault.Final()
}

func isOfferFault(err error) bool {
	var failure *client.Failure
	return errors.As(err, &failure) && failure.Kind == client.Invalid && failure.Fault.OfOffer()
}
