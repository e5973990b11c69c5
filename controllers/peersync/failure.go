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
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// A cluster is out of reach after lostFailures in a row, and lostAfter without a success
// (P9).
const (
	lostFailures = 3
	lostAfter    = 45 * time.Second
)

// failed notes that a beat failed, and returns how long to pause before the next one.
func (s *session) failed(ctx context.Context, err error) time.Duration {
	if errors.Is(err, errOurs) {
		klog.FromContext(ctx).Error(err, "Could not go on with a beat, trying again")
		return backoff(1)
	}
	s.successes = 0
	s.failures++
	// The error of a call is made of constants, so nothing of an answer is in it.
	klog.FromContext(ctx).V(2).Info("Could not reach the other cluster", "reason", err.Error(), "failures", s.failures)
	if reason := faultOf(err); reason != "" {
		s.fault(ctx, reason)
	}
	again := backoff(s.failures)
	if s.failures < lostFailures {
		return again
	}
	if left := lostAfter - s.clock.Since(s.lastSuccess); left > 0 {
		return min(again, left)
	}
	if peer := s.ledger.Peer(s.uid); peer != nil && peer.Remote != nil && peer.Remote.Unreachable.IsZero() && !peer.Remote.Fault.Final() {
		klog.FromContext(ctx).Info("The other cluster is out of reach", "reason", err.Error())
		s.note(ctx, func(tx record.Tx) error { return record.LoseSight(tx, s.uid, s.clock.Now()) })
	}
	return again
}

// fault notes why there is no peering any more, unless that is known.
func (s *session) fault(ctx context.Context, reason record.Reason) {
	if peer := s.ledger.Peer(s.uid); peer == nil || peer.Remote == nil || peer.Remote.Fault == reason {
		return
	}
	klog.FromContext(ctx).Info("The other cluster refuses the peering", "reason", reason)
	s.note(ctx, func(tx record.Tx) error {
		peer, err := tx.Peer(s.uid)
		if err != nil || pairingOf(peer) != s.pairing {
			return err
		}
		if reason == record.PeerLeft {
			return record.Leave(tx, s.uid, s.clock.Now())
		}
		return record.Suspend(tx, s.uid, reason)
	})
}

// note changes the ledger. If it cannot now, the next failure says the same again.
func (s *session) note(ctx context.Context, change func(record.Tx) error) {
	if err := s.update(ctx, change); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Could not record what came of a beat")
	}
}

// faultOf tells what a failure means for the peering; nothing: that it cannot be told, or
// that it will pass. Who does not know us at all is as good as out of reach: whether it
// was restored, or undid the pairing, is for its owner to find out.
func faultOf(err error) record.Reason {
	var failure *client.Failure
	if !errors.As(err, &failure) {
		return ""
	}
	if failure.Kind == client.Gone {
		return record.PeerLeft
	}
	switch failure.Reason {
	case protocol.FailureSuspended:
		return record.PeerSuspended
	case protocol.FailureClonedPeer:
		return record.ClonedPeer
	case protocol.FailureUUIDMismatch:
		return record.UUIDMismatch
	case protocol.FailureIncompatibleVersion:
		return record.IncompatibleVersion
	default:
		return ""
	}
}
