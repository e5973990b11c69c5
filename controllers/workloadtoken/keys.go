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

package workloadtoken

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"entente.dev/entente/peering/protocol"
)

var errSignature = errors.New("no key of the issuer has signed it")

// ErrNoKey means that no key of an issuer can be that of a token: those are signed by RSA or
// ECDSA, with the algorithm of the curve.
var ErrNoKey = errors.New("no key of the issuer is of a kind that signs tokens")

// maxTried is how many keys are tried for one token. There are two of one ID while one
// replaces the other.
const maxTried = 2

// keySet are the keys of one issuer. It implements the KeySet that the authenticator takes.
type keySet struct {
	keys       []jose.JSONWebKey
	algorithms []jose.SignatureAlgorithm
}

func newKeySet(jwks string) (*keySet, error) {
	keys, err := protocol.ParseJWKS(jwks)
	if err != nil {
		return nil, err
	}
	set := &keySet{keys: keys}
	for _, algorithm := range oidc.AllValidSigningAlgorithms() {
		set.algorithms = append(set.algorithms, jose.SignatureAlgorithm(algorithm))
	}
	if !slices.ContainsFunc(set.keys, set.signs) {
		return nil, ErrNoKey
	}
	return set, nil
}

// signs tells whether a key can be that of a token at all.
func (s *keySet) signs(key jose.JSONWebKey) bool {
	return slices.ContainsFunc(s.algorithms, func(algorithm jose.SignatureAlgorithm) bool {
		return may(&key, jose.Header{Algorithm: string(algorithm)})
	})
}

// VerifySignature returns what was signed. Of the header of a token it uses the algorithm
// and the ID of the key: no key that comes with a token is ever looked at.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	seen := seenBy(ctx)
	seen.signature = true
	signed, err := jose.ParseSignedCompact(token, s.algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errSignature
	}
	for _, key := range s.named(signed.Signatures[0].Protected) {
		if payload, err := signed.Verify(key.Key); err == nil {
			seen.payload = payload
			return payload, nil
		}
	}
	return nil, errSignature
}

// named returns the keys that may have signed what has that header: few, since each costs
// what a signature does. Where there are several the header has to name one.
func (s *keySet) named(header jose.Header) []*jose.JSONWebKey {
	if header.KeyID == "" && len(s.keys) > 1 {
		return nil
	}
	var named []*jose.JSONWebKey
	for i := range s.keys {
		if key := &s.keys[i]; len(named) < maxTried && may(key, header) {
			named = append(named, key)
		}
	}
	return named
}

// may tells whether a key may have signed what has that header: it is the one that is
// named, if one is, and of the algorithm.
func may(key *jose.JSONWebKey, header jose.Header) bool {
	return (header.KeyID == "" || header.KeyID == key.KeyID) &&
		(key.Algorithm == "" || key.Algorithm == header.Algorithm) &&
		(key.Use == "" || key.Use == "sig") &&
		fits(key.Key, header.Algorithm)
}

// fits tells whether a public key is one of an algorithm. The library would take any
// curve for any of ECDSA.
func fits(public any, algorithm string) bool {
	switch public := public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		switch public.Curve.Params().BitSize {
		case 256:
			return algorithm == string(jose.ES256)
		case 384:
			return algorithm == string(jose.ES384)
		case 521:
			return algorithm == string(jose.ES512)
		}
	}
	return false
}

// seen is how far the verifying of one token has come, to tell why it ended.
type seen struct {
	// signature says that the signature was looked at.
	signature bool
	// payload is what is signed, nil if that was not shown.
	payload []byte
}

type seenKey struct{}

// seenBy returns what is kept in a context; without one it is kept nowhere.
func seenBy(ctx context.Context) *seen {
	if s, ok := ctx.Value(seenKey{}).(*seen); ok {
		return s
	}
	return &seen{}
}
