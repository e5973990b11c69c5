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
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// defaultTokenTTL is for how long a connection string can be used if the spec does
	// not say (P5).
	defaultTokenTTL = time.Hour
	// mintedFor is how long it takes until a ledger whose reader is behind is looked at
	// again, unless it tells earlier.
	mintedFor = time.Second
)

// invite issues a connection string if it is time for one, and takes one back that is
// not, or no longer, good for anything (P5).
func (c *Controller) invite(ctx context.Context, l *look) error {
	if err := c.checkIssued(ctx, l); err != nil || l.gone {
		return err
	}
	if l.lacksToken() {
		// What is read from memory may be behind what we did ourselves: a string that
		// somebody may carry away already is not to die of that.
		if err := c.update(ctx, l, func(record.Tx) error { return nil }); err != nil {
			return err
		}
		if err := c.checkIssued(ctx, l); err != nil || l.gone {
			return err
		}
	}
	if l.lacksToken() {
		if err := c.mint(ctx, l); err != nil || l.gone {
			return err
		}
	}
	invite := l.record.Invite
	if invite != nil && !invite.Delivered && l.issued == issuedShown {
		if err := c.update(ctx, l, func(tx record.Tx) error { return record.Deliver(tx, l.record.UID, invite.TokenID) }); err != nil {
			return err
		}
	}
	if now := c.clock.Now(); invite.Open(now) {
		l.after(invite.ExpiresAt.Sub(now))
	}
	return c.show(ctx, l)
}

// lacksToken tells whether a token is to be minted: there is none, or its renewal is
// asked for, or it has not reached the status, so that nobody has it.
func (l *look) lacksToken() bool {
	invite := l.record.Invite
	switch {
	case !l.gateway || l.authority == nil:
		return false
	case invite == nil, l.peer.Annotations[peeringv1alpha1.AnnotationRenew] == invite.TokenID:
		return true
	case invite.Delivered || invite.Use != nil || invite.Void:
		return false
	default:
		return l.issued != issuedShown
	}
}

// checkIssued finds out whether the status holds the connection string of the ledger.
// Whoever may write a status could put another one in its place, and have the other
// cluster led astray (S1). It asks the server only when the object has changed since.
func (c *Controller) checkIssued(ctx context.Context, l *look) error {
	l.issued = ""
	invite := l.record.Invite
	if !invite.Open(c.clock.Now()) {
		return nil
	}
	if is, known := c.memory.issuedOf(l.peer, invite.Hash); known {
		l.issued = is
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	is, live, err := inspectIssued(ctx, c.sensitive, l.peer, invite.Hash)
	switch {
	case apierrors.IsNotFound(err):
		l.gone = true
		return nil
	case err != nil:
		return err
	case live.UID != l.peer.UID:
		l.gone = true
		return nil
	}
	l.issued = is
	if is == issuedDenied {
		l.after(deniedFor)
		if status := l.peer.Status.Invite; status == nil || status.ConnectionString == "" {
			l.issued = issuedLost // that nothing is there can be seen without the right (R6)
		}
		return nil
	}
	c.memory.checks(live, invite.Hash, is)
	return nil
}

// mint issues a connection string, in place of the one before if there is one. A crash
// at any point leaves one that nobody has, or that is in the status.
func (c *Controller) mint(ctx context.Context, l *look) error {
	now := c.clock.Now()
	said, err := c.newConnectionString(l, now)
	if err != nil {
		return err
	}
	text, err := said.Encode()
	if err != nil {
		return fmt.Errorf("could not write a connection string: %w", err)
	}
	minting := record.Minting{
		UID: l.record.UID, Name: l.peer.Name, TokenID: said.TokenID,
		Hash: record.Hash(l.record.UID, said.Token.Reveal()), Now: now, Expires: said.ExpiresAt,
	}
	if l.record.Invite != nil {
		minting.Replaces = l.record.Invite.TokenID
	}
	err = c.update(ctx, l, func(tx record.Tx) error { return record.Mint(tx, minting) })
	if errors.Is(err, record.ErrMinted) {
		// Somebody else was faster. The ledger is about to tell.
		l.gone = true
		l.after(mintedFor)
		return nil
	}
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Minted a connection string", "tokenID", minting.TokenID, "replaces", minting.Replaces, "expiresAt", minting.Expires)
	l.issued = issuedShown
	if err := c.deliver(ctx, l, text); err != nil || l.gone {
		return err
	}
	reason := ReasonInviteIssued
	if minting.Replaces != "" {
		reason = ReasonInviteRenewed
	}
	c.event(l.peer, corev1.EventTypeNormal, reason, "A connection string was issued, with ID "+minting.TokenID+". It expires at "+clockTime(minting.Expires)+".")
	return nil
}

// newConnectionString makes a connection string that leads to this cluster.
func (c *Controller) newConnectionString(l *look, now time.Time) (said connstring.ConnectionString, err error) {
	said = connstring.ConnectionString{
		Endpoints:   c.self.Endpoints,
		ClusterUUID: c.self.ClusterUUID,
		// Connection strings and the API know seconds.
		ExpiresAt: now.Add(tokenTTL(l.peer)).Truncate(time.Second),
		Protocol:  connstring.ProtocolRange{Min: protocol.MinVersion, Max: protocol.MaxVersion},
	}
	if said.Token, err = connstring.NewToken(c.random); err != nil {
		return said, err
	}
	if said.TokenID, err = connstring.NewTokenID(c.random); err != nil {
		return said, err
	}
	// The next CA may sign before the string is used.
	pinned := [][]byte{l.authority.Current.Certificate}
	if l.authority.Next != nil {
		pinned = append(pinned, l.authority.Next.Certificate)
	}
	for _, der := range pinned {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return said, fmt.Errorf("could not read the certificate of the peering CA: %w", err)
		}
		said.Pins = append(said.Pins, connstring.Pin(pki.HashOfCertificate(certificate)))
	}
	return said, nil
}

// tokenTTL returns for how long a connection string can be used. The registry has
// checked what the spec says.
func tokenTTL(peer *peeringv1alpha1.ClusterPeer) time.Duration {
	if peer.Spec.Invite == nil {
		return defaultTokenTTL
	}
	ttl, err := time.ParseDuration(peer.Spec.Invite.TokenTTL)
	if err != nil || ttl <= 0 {
		return defaultTokenTTL
	}
	return ttl
}
