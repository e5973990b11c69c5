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

package exchange

import (
	"crypto"
	"errors"
	"fmt"
	"time"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// ErrNoSigner means that a certificate cannot be made again: who signed it signs no more.
var ErrNoSigner = errors.New("the authority that is to sign a certificate signs no more")

// NewKey returns what the ledger is to know of a key of another cluster that asks for a
// certificate of the authority that signs now. The certificate ends with the authority.
func NewKey(authority *record.Authority, public crypto.PublicKey, role record.Role, life time.Duration, now time.Time) (record.Key, error) {
	if authority == nil {
		return record.Key{}, ErrNoSigner
	}
	hash, err := pki.HashOf(public)
	if err != nil {
		return record.Key{}, err
	}
	issuer, err := authority.Current.Hash()
	if err != nil {
		return record.Key{}, err
	}
	serial, err := pki.NewSerial()
	if err != nil {
		return record.Key{}, err
	}
	until := now.Add(life)
	if end := authority.Current.NotAfter; until.After(end) {
		until = end
	}
	return record.Key{
		Hash: hash, Role: role, Serial: serial, Issuer: issuer,
		NotBefore: now.Add(-record.KeyBackdate), NotAfter: until,
	}, nil
}

// Certify makes the certificate (DER) of a key as the ledger has it, by the authority
// that is named there: so it is always the same one. It fails if that authority does not
// sign any more.
func Certify(authority *record.Authority, clusterUUID string, key record.Key, public crypto.PublicKey) ([]byte, error) {
	if authority == nil {
		return nil, ErrNoSigner
	}
	issuer, err := authority.Current.Hash()
	if err != nil {
		return nil, err
	}
	if issuer != key.Issuer {
		return nil, ErrNoSigner
	}
	ca, err := pki.NewAuthorityFrom(authority.Current.Certificate, authority.Current.Key.Reveal())
	if err != nil {
		return nil, fmt.Errorf("could not read the peering CA: %w", err)
	}
	certificate, err := pki.IssuePeer(ca, public, pki.PeerTemplate{
		ClusterUUID: clusterUUID,
		Role:        string(key.Role),
		Serial:      key.Serial,
		From:        key.NotBefore,
		Until:       key.NotAfter,
	})
	if err != nil {
		return nil, err
	}
	return certificate.Raw, nil
}
