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

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

var errSuspended = errors.New("could not certify a key: another one was certified in place of the same key")

// signed is a certificate for the other cluster, and the key that it is for.
type signed struct {
	key         record.Digest
	certificate []byte
}

// answer certifies the key that the other cluster asks for (P2, P7), to be sent with the
// next beat, and as long as it goes on asking. It tells whether that is something else
// than what was sent with the last one.
func (s *session) answer(ctx context.Context, peer *record.Peer, csr []byte) (other bool) {
	before := s.signed
	s.signed = signed{}
	if len(csr) == 0 {
		return false
	}
	var err error
	if s.signed, err = s.certify(ctx, peer, csr); err != nil {
		klog.FromContext(ctx).Error(err, "Could not certify the other cluster's key")
		return false
	}
	return s.signed.key != before.key
}

// certify makes the certificate that the other cluster asks for, by a record of that key
// which is there first.
func (s *session) certify(ctx context.Context, peer *record.Peer, csr []byte) (signed, error) {
	public, err := pki.ParseCSR(csr)
	if err != nil {
		return signed{}, err
	}
	now, authority := s.clock.Now(), s.ledger.Authority()
	key, err := knownKey(authority, peer.Remote, public, now)
	if err != nil {
		return signed{}, err
	}
	if key == nil {
		err := s.update(ctx, func(tx record.Tx) error {
			if authority, err = tx.Authority(); err != nil {
				return err
			}
			wanted, err := exchange.NewKey(authority, public, record.RoleControl, record.KeyLife, now)
			if err != nil {
				return err
			}
			key, err = record.Asked(tx, s.uid, wanted, now)
			return err
		})
		if err != nil {
			return signed{}, err
		}
		if key == nil {
			return signed{}, errSuspended
		}
		klog.FromContext(ctx).Info("Certified a key of the other cluster", "key", key.Hash, "notAfter", key.NotAfter)
	}
	certificate, err := exchange.Certify(authority, peer.Remote.ClusterUUID, *key, public)
	if err != nil {
		return signed{}, err
	}
	return signed{key: key.Hash, certificate: certificate}, nil
}

// knownKey returns what the ledger knows of a public key, nil if nothing that a
// certificate could be made of now.
func knownKey(authority *record.Authority, remote *record.Remote, public any, now time.Time) (*record.Key, error) {
	wanted, err := exchange.NewKey(authority, public, record.RoleControl, record.KeyLife, now)
	if err != nil {
		return nil, err
	}
	key := remote.Key(wanted.Hash)
	if key == nil || key.Retired || key.Role != record.RoleControl || key.Issuer != wanted.Issuer || !now.Before(key.NotAfter) {
		return nil, nil
	}
	return key, nil
}
