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

package dataaccess

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// askTimeout bounds one attempt to have a key certified, at all endpoints together.
const askTimeout = 30 * time.Second

var errUseless = errors.New("could not use the certificate of our data key: it has ended, or is for something else")

// keepKey has a data key certified if there is none, or the one that there is is due. It
// returns when it is to be looked at again. That the peer does not do it is no error: it is
// asked again, ever more seldom.
func (c *Controller) keepKey(ctx context.Context, peer *record.Peer) (again time.Duration, err error) {
	remote, now := peer.Remote, c.clock.Now()
	if remote.DataNext == nil && remote.Data != nil && now.Before(remote.Data.RenewAt()) {
		c.paces.of(peer).succeeds()
		return remote.Data.RenewAt().Sub(now), nil
	}
	if !remote.Unreachable.IsZero() {
		return 0, nil // the ledger says when it is back
	}
	pace := c.paces.of(peer)
	if pause := pace.pauses(remote, now); pause > 0 {
		return pause, nil
	}
	var next *record.Credential
	if next = remote.DataNext; next == nil {
		if pause := pace.reserves(now); pause > 0 {
			return pause, nil
		}
		if next, err = c.start(ctx, peer); err != nil || next == nil {
			return 0, err
		}
	}
	failure := c.ask(ctx, peer, next.Key)
	switch {
	case failure == nil:
		pace.succeeds()
		klog.FromContext(ctx).V(2).Info("The other cluster has certified our data key")
		return 0, nil // the ledger says so
	case ctx.Err() != nil, errors.Is(failure, errUnrecorded):
		return 0, failure // which says nothing of the peer
	}
	return c.failed(ctx, peer, pace, next.Key, failure)
}

// errUnrecorded is what failed for a reason of our own.
var errUnrecorded = errors.New("could not record our data key")

// start makes a key, and returns the one that is on its way from then on: perhaps another
// one was meanwhile. Nil: there is nothing to be made any more.
func (c *Controller) start(ctx context.Context, peer *record.Peer) (*record.Credential, error) {
	key, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	var before []byte
	if peer.Remote.Data != nil {
		before = peer.Remote.Data.Certificate
	}
	var next *record.Credential
	err = c.update(ctx, func(tx record.Tx) error {
		if err := record.StartData(tx, peer.UID, before, record.NewSecret(key.PEM())); err != nil {
			return err
		}
		next = nil
		now, err := tx.Peer(peer.UID)
		if err == nil && now != nil && now.Remote != nil {
			next = now.Remote.DataNext
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	return next, nil
}

// ask has a key certified by the peer, and keeps the certificate.
func (c *Controller) ask(ctx context.Context, peer *record.Peer, next record.Secret) error {
	certificate, err := c.certified(ctx, peer.Remote, next)
	if err != nil {
		return err
	}
	err = c.update(ctx, func(tx record.Tx) error {
		_, err := record.KeepData(tx, peer.UID, next, certificate.Raw, certificate.NotBefore, certificate.NotAfter)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	return nil
}

func (c *Controller) certified(ctx context.Context, remote *record.Remote, next record.Secret) (*x509.Certificate, error) {
	key, err := pki.ParseKey(next.Reveal())
	if err != nil {
		return nil, err
	}
	csr, err := pki.NewCSR(key)
	if err != nil {
		return nil, err
	}
	conn, err := c.connect(remote)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := conn.Renew(ctx, protocol.RenewRequest{Role: pki.RoleData, CSR: csr})
	if err != nil {
		return nil, err
	}
	certificate, err := exchange.Certified(next, answer.Certificate, remote.Trust)
	if err != nil {
		return nil, errUseless
	}
	_, role, ok := pki.PeerOf(certificate)
	if !ok || role != pki.RoleData || !c.clock.Now().Before(certificate.NotAfter) {
		return nil, errUseless
	}
	return certificate, nil
}

// failed notes that the peer did not certify a key, and returns when it is asked again. A
// key to which it has no answer of use, though it answers, is given up in the end: perhaps
// it certified that by an authority that signs no more, and will not do so again.
func (c *Controller) failed(ctx context.Context, peer *record.Peer, pace *pace, key record.Secret, failure error) (again time.Duration, err error) {
	logger := klog.FromContext(ctx)
	if pace.failures > 0 {
		logger = logger.V(2)
	}
	// The error is made of constants, so nothing of an answer is in it.
	logger.Info("Could not have our data key certified, trying again later", "reason", failure.Error(), "failures", pace.failures+1)
	now := c.clock.Now()
	if pace.fails(peer.Remote, now, isAnswered(failure)) {
		err := c.update(ctx, func(tx record.Tx) error { return record.AbandonData(tx, peer.UID, key) })
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errUnrecorded, err)
		}
	}
	return pace.pauses(peer.Remote, now), nil
}

// isAnswered tells whether a failure is one of the key perhaps, and neither of the way to
// the peer nor of what it thinks of us.
func isAnswered(err error) bool {
	var failure *client.Failure
	if !errors.As(err, &failure) {
		return errors.Is(err, errUseless)
	}
	return failure.Kind == client.Busy || failure.Kind == client.Invalid
}
