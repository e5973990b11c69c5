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
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/time/rate"
	testingclock "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/protocol"
)

const (
	east  = "aaaaaaaa-0000-4000-8000-000000000001" // this cluster
	west  = "bbbbbbbb-0000-4000-8000-000000000002" // the peer
	north = "cccccccc-0000-4000-8000-000000000003"
	// issuerURL is the one of kubeadm: all clusters have it.
	issuerURL = "https://kubernetes.default.svc.cluster.local"
	logs      = "logs"
	// canary is looked for in what is logged and returned.
	canary = "canary-in-a-claim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// signer is a key that signs tokens.
type signer struct {
	t         *testing.T
	kid       string
	algorithm jose.SignatureAlgorithm
	private   crypto.Signer
}

func newRSA(t *testing.T, kid string) *signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return &signer{t, kid, jose.RS256, key}
}

func newEC(t *testing.T, kid string, curve elliptic.Curve, algorithm jose.SignatureAlgorithm) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return &signer{t, kid, algorithm, key}
}

func newEd(t *testing.T, kid string) *signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return &signer{t, kid, jose.EdDSA, key}
}

// jwks is the key set that publishes the signers.
func jwks(t *testing.T, signers ...*signer) string {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, s := range signers {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: s.private.Public(), KeyID: s.kid, Algorithm: string(s.algorithm), Use: "sig"})
	}
	text, err := json.Marshal(set)
	require.NoError(t, err)
	return string(text)
}

// claimSet are the claims of a token.
type claimSet map[string]any

// good are claims of a token that is valid from now on for ten minutes.
func good(now time.Time) claimSet {
	return claimSet{
		"iss": issuerURL, "sub": "system:serviceaccount:module-logs:controller", "aud": []string{protocol.Audience(east, logs)},
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(), "jti": canary,
		"kubernetes.io": map[string]any{"namespace": "module-logs", "note": canary},
	}
}

// with returns the claims with some changed; nil takes one away.
func (c claimSet) with(changes claimSet) claimSet {
	out := claimSet{}
	for _, each := range []claimSet{c, changes} {
		for name, value := range each {
			if out[name] = value; value == nil {
				delete(out, name)
			}
		}
	}
	return out
}

// sign signs anything. The header names the key unless it has no ID.
func (s *signer) sign(payload any, headers ...map[jose.HeaderKey]any) string {
	s.t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if s.kid != "" {
		options.WithHeader("kid", s.kid)
	}
	for _, header := range headers {
		for key, value := range header {
			options.WithHeader(key, value)
		}
	}
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: s.algorithm, Key: s.private}, options)
	require.NoError(s.t, err)
	text, ok := payload.(string)
	if !ok {
		encoded, err := json.Marshal(payload)
		require.NoError(s.t, err)
		text = string(encoded)
	}
	signed, err := made.Sign([]byte(text))
	require.NoError(s.t, err)
	compact, err := signed.CompactSerialize()
	require.NoError(s.t, err)
	return compact
}

// newClock returns a clock that shows what time it is: the authenticator has that of the
// system.
func newClock() *testingclock.FakeClock { return testingclock.NewFakeClock(time.Now()) }

// lenient bears more failures than a test makes.
func lenient() *rate.Limiter { return rate.NewLimiter(1, 1e6) }

func newVerifier(t *testing.T, clock *testingclock.FakeClock, signers ...*signer) *Verifier {
	t.Helper()
	v, err := New(protocol.Issuer{URL: issuerURL, JWKS: jwks(t, signers...)}, west, east, clock)
	require.NoError(t, err)
	return v
}
