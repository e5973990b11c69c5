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

package record

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// GrantKey is the key of the proofs that granted objects bear. There is one a ledger. With
// the ledger it is lost: what was granted before then cannot be told from what others made.
type GrantKey struct {
	Key Secret `json:"-"`
}

// grantKeySize is how many random bytes the key has.
const grantKeySize = 32

// NewGrantKey makes a key.
func NewGrantKey(random io.Reader) (*GrantKey, error) {
	content := make([]byte, grantKeySize)
	if _, err := io.ReadFull(random, content); err != nil {
		return nil, fmt.Errorf("could not make the key of grants: %w", err)
	}
	return &GrantKey{Key: NewSecret(content)}, nil
}

// KeepGrantKey makes a key the one of the ledger, unless it has one, and returns that
// which it then has. It moves the epoch, so that a store from before then, which would get
// another key, is not taken for what it was.
func KeepGrantKey(tx Tx, key *GrantKey) (*GrantKey, error) {
	kept, err := tx.GrantKey()
	if err != nil || kept != nil {
		return kept, err
	}
	if err := tx.PutGrantKey(key); err != nil {
		return nil, err
	}
	return key, tx.MoveEpoch()
}

// EnsureGrantKey returns the key of a ledger. If it has none yet, it makes one.
func EnsureGrantKey(ctx context.Context, ledger Ledger, random io.Reader) (*GrantKey, error) {
	if key := ledger.GrantKey(); key != nil {
		return key, nil
	}
	fresh, err := NewGrantKey(random)
	if err != nil {
		return nil, err
	}
	var kept *GrantKey
	err = ledger.Update(ctx, func(tx Tx) (err error) {
		kept, err = KeepGrantKey(tx, fresh)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("could not record the key of grants: %w", err)
	}
	return kept, nil
}

// Proof is what shows that an object was made by whoever holds the key, for a peer and
// under that kind, namespace and name: it is worth nothing on another object.
func (k *GrantKey) Proof(peerUID string, object GrantedObject) string {
	mac := hmac.New(sha256.New, k.Key.Reveal())
	for _, part := range []string{object.Kind, object.Namespace, object.Name, peerUID} {
		// With its length before it, so that no two lists of parts are the same bytes.
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = io.WriteString(mac, part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Proves tells whether a proof is the one of an object. Without a key none is.
func (k *GrantKey) Proves(proof, peerUID string, object GrantedObject) bool {
	return k != nil && !k.Key.IsZero() && hmac.Equal([]byte(proof), []byte(k.Proof(peerUID, object)))
}
