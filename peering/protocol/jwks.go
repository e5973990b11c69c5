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

package protocol

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"

	jose "github.com/go-jose/go-jose/v4"
)

// Sizes in bits of an RSA key: below, it protects nothing; above, using it costs more
// than another cluster may have us spend.
const (
	minRSA = 2048
	maxRSA = 4096
	// exponent is that of every RSA key: with others a signature takes more to verify.
	exponent = 65537
)

// ParseJWKS reads the keys by which the ServiceAccount tokens of a cluster are verified:
// a JSON Web Key Set (RFC 7517) in ASCII of 1 to MaxKeys keys, all of them public, of
// RSA, ECDSA or Ed25519. The error is ErrJWKS, which quotes nothing.
func ParseJWKS(text string) ([]jose.JSONWebKey, error) {
	if len(text) > MaxJWKS || !consists(text, isPlain) || checkJSON([]byte(text)) != nil {
		return nil, ErrJWKS
	}
	// One by one: the library passes over what it does not know in a set.
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal([]byte(text), &set) != nil || len(set.Keys) < 1 || len(set.Keys) > MaxKeys {
		return nil, ErrJWKS
	}
	keys := make([]jose.JSONWebKey, len(set.Keys))
	for i, raw := range set.Keys {
		if keys[i].UnmarshalJSON(raw) != nil || !isVerifying(&keys[i]) {
			return nil, ErrJWKS
		}
	}
	return keys, nil
}

// isVerifying tells whether a key is a public one that a signature can be verified with.
func isVerifying(key *jose.JSONWebKey) bool {
	if !key.Valid() {
		return false
	}
	// Private keys are of other types.
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		bits := public.N.BitLen()
		return bits >= minRSA && bits <= maxRSA && public.E == exponent
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}
