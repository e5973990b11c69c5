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
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
)

const (
	sampleUUID    = "0f1c2d3e-4a5b-4c6d-8e7f-001122334455"
	sampleTokenID = "0001020304050607"
	sampleDigest  = "000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f"
)

func sampleToken() []byte { return bytes.Repeat([]byte{0xa5}, 32) }

// sampleJWKS is a set of that many keys.
func sampleJWKS(t testing.TB, count int) string {
	t.Helper()
	var set jose.JSONWebKeySet
	for i := range count {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: fmt.Sprint(i), Algorithm: "ES256", Use: "sig"})
	}
	return encode(t, set)
}

func sampleOffer(t testing.TB) Offer {
	t.Helper()
	return Offer{
		Capabilities: []Capability{
			{Name: "metrics", Version: "1.2.0", Scope: []string{ScopeProject, ScopeCluster}},
			{Name: "logs", Scope: []string{ScopeProject}},
		},
		Projects:       []Project{{Name: "shop", Namespaces: []string{"shop-web", "shop-api"}}, {Name: "empty"}},
		Issuer:         &Issuer{URL: "https://kubernetes.default.svc.cluster.local", JWKS: sampleJWKS(t, 2)},
		PeeringVersion: "v0.1.0+abc",
		Alias:          "west",
	}
}

func sampleTrust(t testing.TB) [][]byte {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	authority, err := pki.NewAuthority("test", key, time.Unix(1, 0), time.Unix(2, 0))
	require.NoError(t, err)
	return [][]byte{authority.Certificate.Raw}
}

func sampleSelf(t testing.TB) Self {
	t.Helper()
	trust := sampleTrust(t)
	return Self{
		ClusterUUID: sampleUUID, Time: 1770000000, Endpoints: []string{"https://gateway.example:8443"},
		Trust: trust, TrustDigest: pki.BundleDigest(trust),
	}
}

func sampleJoin(t testing.TB) JoinRequest {
	t.Helper()
	return JoinRequest{Protocol: 1, TokenID: sampleTokenID, Token: sampleToken(), CSR: []byte{1}, Self: sampleSelf(t)}
}

func sampleState(t testing.TB) State {
	t.Helper()
	offer := sampleOffer(t)
	return State{
		Self:      sampleSelf(t),
		Offer:     OfferHeader{Epoch: 1, Generation: 2, Digest: offer.Digest()},
		OfferBody: &offer,
		Holds:     Holding{Offer: OfferHeader{Epoch: 3, Generation: 4, Digest: sampleDigest}, Trust: sampleDigest},
	}
}

func encode(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}
