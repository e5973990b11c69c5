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
	"context"
	"errors"
	"net/http"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// denial is why a request is not done, and what is said about it.
type denial struct {
	code    int
	failure protocol.FailureReason
	// kind is what to tell the observer; empty: nothing.
	kind Kind
	// reason is for the owner of the ClusterPeer.
	reason record.Reason
}

var (
	// refused is all that a stranger learns (P6).
	refused = denial{code: http.StatusForbidden, failure: protocol.FailureRefused, kind: Unauthorized, reason: record.TokenRejected}
	// unavailable means that this replica cannot tell (S3).
	unavailable = denial{code: http.StatusServiceUnavailable, failure: protocol.FailureUnavailable}
	busy        = denial{code: http.StatusTooManyRequests, failure: protocol.FailureBusy, kind: RateLimited}
	// superseded ends a sync that is held back when the same peer sends another one.
	superseded = denial{code: http.StatusTooManyRequests, failure: protocol.FailureBusy}
	invalid    = denial{code: http.StatusBadRequest, failure: protocol.FailureInvalid}
	unknown    = denial{code: http.StatusNotFound, failure: protocol.FailureInvalid}
	noMethod   = denial{code: http.StatusMethodNotAllowed, failure: protocol.FailureInvalid}
	noMedia    = denial{code: http.StatusUnsupportedMediaType, failure: protocol.FailureInvalid}
	broken     = denial{code: http.StatusInternalServerError, failure: protocol.FailureUnavailable}
)

// told returns the denial for somebody who may know why.
func told(reason record.Reason, kind Kind) denial {
	code, failure := http.StatusForbidden, protocol.FailureRefused
	switch reason {
	case record.TokenRejected: // the reason is all there is to say
	case record.PeerLeft:
		code, failure = http.StatusGone, protocol.FailureGone
	case record.ClonedPeer:
		code, failure = http.StatusConflict, protocol.FailureClonedPeer
	case record.InvalidOffer:
		code, failure = http.StatusBadRequest, protocol.FailureInvalidOffer
	case record.PeerSuspended:
		failure = protocol.FailureSuspended
	case record.InviteExpired, record.TrustExpired:
		failure = protocol.FailureExpired
	case record.UUIDMismatch:
		failure = protocol.FailureUUIDMismatch
	case record.SelfPeering:
		failure = protocol.FailureSelfPeering
	case record.DuplicatePeer:
		failure = protocol.FailureDuplicatePeer
	case record.ClockSkew:
		failure = protocol.FailureClockSkew
	case record.IncompatibleVersion:
		failure = protocol.FailureIncompatibleVersion
	}
	return denial{code: code, failure: failure, kind: kind, reason: reason}
}

// spoken tells whether a version of the protocol is spoken here. It is not a secret.
func spoken(version uint16, kind Kind) *denial {
	switch {
	case version == 0:
		return &invalid
	case version < protocol.MinVersion, version > protocol.MaxVersion:
		d := told(record.IncompatibleVersion, kind)
		return &d
	}
	return nil
}

// denialOf returns what an error of the ledger means for a peer: that it is refused, or
// that the ledger cannot be written now.
func denialOf(ctx context.Context, err error) *denial {
	d := unavailable
	var refusal *record.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Known:
		d = told(refusal.Reason, Unauthorized)
	case errors.As(err, &refusal):
		d = refused
	case ctx.Err() == nil:
		klog.FromContext(ctx).Error(err, "Could not change the ledger for another cluster")
	}
	return &d
}
