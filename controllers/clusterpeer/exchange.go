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
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// Attempts that fail are repeated after a random time below a limit, which doubles with
// each failure in a row.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
	// soonestRetry keeps chance from making it none at all.
	soonestRetry = 100 * time.Millisecond
)

// dial asks the other cluster to be let in.
func (c *Controller) dial(ctx context.Context, l *look, said *connstring.ConnectionString, key *pki.Key) (protocol.JoinResponse, error) {
	csr, err := pki.NewCSR(key)
	if err != nil {
		return protocol.JoinResponse{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	answer, endpoint, err := c.dialer.Join(ctx, client.JoinParams{
		Endpoints: said.Endpoints,
		Pins:      said.Pins,
		Key:       key,
		Request: protocol.JoinRequest{
			Protocol: min(said.Protocol.Max, protocol.MaxVersion),
			TokenID:  said.TokenID,
			Token:    said.Token.Reveal(),
			CSR:      csr,
			Self:     c.self.About(l.authority, "", c.clock.Now()),
		},
	})
	logger := klog.FromContext(ctx).WithValues("tokenID", said.TokenID, "clusterUUID", said.ClusterUUID)
	if err != nil {
		logger.Info("The other cluster did not let us in", "err", err)
		return protocol.JoinResponse{}, err
	}
	logger.V(2).Info("The other cluster let us in", "endpoint", endpoint)
	return answer, nil
}

// complete checks what the other cluster answered, and makes it a peer. It fails with a
// *record.Refusal if the answer is of another cluster than the one that is meant.
func (c *Controller) complete(ctx context.Context, l *look, said *connstring.ConnectionString, key *pki.Key, answer protocol.JoinResponse) error {
	now := c.clock.Now()
	if answer.ClusterUUID != said.ClusterUUID {
		return &record.Refusal{Reason: record.UUIDMismatch, UID: l.record.UID}
	}
	if skew := time.Unix(answer.Time, 0).Sub(now); skew.Abs() > record.MaxSkew {
		return &record.Refusal{Reason: record.ClockSkew, UID: l.record.UID}
	}
	ours, err := exchange.Certified(l.record.Join.Key, answer.Certificate, answer.Trust)
	if err != nil {
		return &client.Failure{Kind: client.Invalid, Fault: protocol.ErrCertificate}
	}
	theirs, err := certifies(l.authority, answer.CSR, now)
	if err != nil {
		return err
	}
	endpoints := answer.Endpoints
	if len(endpoints) == 0 {
		endpoints = said.Endpoints
	}
	err = c.update(ctx, l, func(tx record.Tx) error {
		return record.CompleteJoin(tx, record.Joined{
			UID: l.record.UID, String: l.found.text, Now: now,
			Endpoints: endpoints, Trust: answer.Trust, Time: answer.Time,
			Certificate: answer.Certificate, NotBefore: ours.NotBefore, NotAfter: ours.NotAfter,
			Key: theirs,
		})
	})
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Paired", "tokenID", said.TokenID, "clusterUUID", said.ClusterUUID, "key", theirs.Hash)
	return nil
}

// certifies returns the other cluster's control key as it is certified here (P7). The
// certificate itself is made of it when it is sent.
func certifies(authority *record.Authority, csr []byte, now time.Time) (record.Key, error) {
	public, err := pki.ParseCSR(csr)
	if err != nil {
		return record.Key{}, &client.Failure{Kind: client.Invalid, Fault: protocol.ErrCSR}
	}
	return exchange.NewKey(authority, public, record.RoleControl, record.KeyLife, now)
}

// outcome settles what became of an attempt: a refusal ends the connection string, all
// else is tried again until it has run out.
func (c *Controller) outcome(ctx context.Context, l *look, last attempt, err error) error {
	if err == nil {
		c.memory.attempted(l.peer, attempt{})
		l.trouble = ""
		return nil
	}
	if reason := refusalOf(err); reason != "" {
		return c.refuse(ctx, l, reason)
	}
	var failure *client.Failure
	if !errors.As(err, &failure) {
		return err // ours
	}
	limit := min(firstRetry<<min(last.failures, 10), lastRetry)
	wait := max(c.jitter(limit), soonestRetry)
	l.trouble = troubleOf(failure)
	c.memory.attempted(l.peer, attempt{
		text: l.found.text, failures: last.failures + 1, next: c.clock.Now().Add(wait), trouble: l.trouble,
	})
	l.after(wait)
	return nil
}

// refusalOf returns why the other cluster will not have a connection string; empty: it
// may be asked again.
func refusalOf(err error) record.Reason {
	var refusal *record.Refusal
	if errors.As(err, &refusal) {
		return refusal.Reason
	}
	var failure *client.Failure
	switch {
	case !errors.As(err, &failure):
		return ""
	case failure.Kind == client.Gone:
		return record.TokenRejected
	case failure.Kind != client.Refused:
		return ""
	}
	switch failure.Reason {
	case protocol.FailureBusy, protocol.FailureUnavailable:
		return ""
	case protocol.FailureUUIDMismatch:
		return record.UUIDMismatch
	case protocol.FailureSelfPeering:
		return record.SelfPeering
	case protocol.FailureDuplicatePeer:
		return record.DuplicatePeer
	case protocol.FailureClockSkew:
		return record.ClockSkew
	case protocol.FailureIncompatibleVersion, protocol.FailureInvalid:
		return record.IncompatibleVersion
	case protocol.FailureExpired:
		return record.InviteExpired
	default:
		return record.TokenRejected
	}
}

// troubleOf says why the other cluster could not be asked.
func troubleOf(failure *client.Failure) string {
	switch failure.Kind {
	case client.Untrusted:
		return "Whoever answers is not the gateway that the connection string names."
	case client.Invalid:
		return "The answer of the other cluster breaks the rules of the protocol."
	case client.Unreachable:
		// Not in what way: who writes a ClusterPeer is not to learn of our network by it.
		return "The gateway of the other cluster cannot be reached."
	default:
		return "The other cluster is busy."
	}
}
