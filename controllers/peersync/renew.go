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
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// renewAgain is when a renewal that failed is tried again, as long as the certificate is
// still good.
const renewAgain = time.Minute

var errNotOurs = errors.New("could not renew our certificate: the one that came is not for our key")

// startRenewal makes the key that takes the place of ours (P2). It is kept before anybody
// is asked to certify it, so that a renewal which was interrupted goes on with it.
func (c *Controller) startRenewal(ctx context.Context, uid string, certificate []byte) error {
	key, err := pki.NewKey()
	if err != nil {
		return err
	}
	err = c.update(ctx, func(tx record.Tx) error {
		return record.StartRenewal(tx, uid, certificate, record.NewSecret(key.PEM()))
	})
	if err != nil {
		return fmt.Errorf("could not begin to renew our certificate: %w", err)
	}
	return nil
}

// renew has the next key certified, if there is one (P2). It tells whether our
// certificate is another one by now. As long as the present one is good, a renewal that
// fails does not keep the two from talking.
func (s *session) renew(ctx context.Context, conn Conn, remote *record.Remote) (renewed bool, err error) {
	now := s.clock.Now()
	good := now.Before(remote.Ours.NotAfter)
	if remote.Next == nil || (good && now.Before(s.renewAfter)) {
		return false, nil
	}
	err = s.askToRenew(ctx, conn, remote.Next.Key)
	switch {
	case err == nil:
		klog.FromContext(ctx).Info("Renewed our certificate")
		return true, nil
	case isRefused(err, protocol.FailureExpired):
		s.fault(ctx, record.TrustExpired)
		return false, err
	case faultOf(err) != "" || !good || ctx.Err() != nil:
		return false, err
	default:
		klog.FromContext(ctx).Error(err, "Could not renew our certificate, trying again later", "notAfter", remote.Ours.NotAfter)
		s.renewAfter = now.Add(renewAgain)
		return false, nil
	}
}

func (s *session) askToRenew(ctx context.Context, conn Conn, next record.Secret) error {
	key, err := pki.ParseKey(next.Reveal())
	if err != nil {
		return err
	}
	csr, err := pki.NewCSR(key)
	if err != nil {
		return err
	}
	answer, err := conn.Renew(ctx, protocol.RenewRequest{Role: pki.RoleControl, CSR: csr})
	if err != nil {
		return err
	}
	adopted := false
	err = s.update(ctx, func(tx record.Tx) error {
		adopted = false
		peer, err := tx.Peer(s.uid)
		if err != nil || !dials(peer) || pairingOf(peer) != s.pairing {
			return err
		}
		if adopted = exchange.Adopt(peer.Remote, answer.Certificate); adopted {
			return tx.PutPeer(peer)
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errOurs, err)
	case !adopted:
		return errNotOurs
	}
	return nil
}

// refused returns the error of a beat. A certificate that has ended by the clock of the
// other cluster can still be renewed, which is begun then. It is begun too if the other
// cluster does not know us, twice in a row: if somebody else has renewed our key, that is
// how it finds out that two hold it.
func (s *session) refused(ctx context.Context, remote *record.Remote, err error) error {
	unknown := isRefused(err, protocol.FailureRefused) && s.failures > 0
	if (!isRefused(err, protocol.FailureExpired) && !unknown) || remote.Next != nil {
		return err
	}
	if started := s.startRenewal(ctx, s.uid, remote.Ours.Certificate); started != nil {
		return fmt.Errorf("%w: %w", errOurs, started)
	}
	return err
}

func isRefused(err error, reason protocol.FailureReason) bool {
	var failure *client.Failure
	return errors.As(err, &failure) && failure.Kind == client.Refused && failure.Reason == reason
}
