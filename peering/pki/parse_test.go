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

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreignKeys are keys that other clusters may not have.
func foreignKeys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	rivest, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return map[string]crypto.Signer{"P-384": p384, "Ed25519": edwards, "RSA": rivest}
}

func newRequest(t *testing.T, template *x509.CertificateRequest, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	require.NoError(t, err)
	return der
}

// P2: of a signing request the key is taken, and nothing else.
func TestP2ParseCSR(t *testing.T) {
	key := newTestKey(t)
	der, err := NewCSR(key)
	require.NoError(t, err)
	public, err := ParseCSR(der)
	require.NoError(t, err)
	assert.Equal(t, key.Public(), public)

	masters := newRequest(t, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, DNSNames: []string{"a.example"},
	}, key)
	public, err = ParseCSR(masters)
	require.NoError(t, err)
	assert.Equal(t, key.Public(), public)
}

// P11: a signing request that is too large, damaged or for another kind of key.
func TestP11ParseCSRRefuses(t *testing.T) {
	key := newTestKey(t)
	der, err := NewCSR(key)
	require.NoError(t, err)
	damaged := append([]byte(nil), der...)
	damaged[len(damaged)-1] ^= 1
	tests := map[string][]byte{
		"nothing":   nil,
		"text":      []byte("canary"),
		"cut":       der[:len(der)-1],
		"more":      append(append([]byte(nil), der...), 0),
		"signature": damaged,
		"too large": newRequest(t, &x509.CertificateRequest{Subject: pkix.Name{CommonName: strings.Repeat("canary", 1000)}}, key),
	}
	for name, foreign := range foreignKeys(t) {
		tests[name] = newRequest(t, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "canary"}}, foreign)
	}
	for name, der := range tests {
		public, err := ParseCSR(der)
		assert.ErrorIs(t, err, errCSR, name)
		assert.Nil(t, public, name)
	}
}

func selfSigned(t *testing.T, template x509.Certificate, key crypto.Signer) []byte {
	t.Helper()
	template.NotAfter = start().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	require.NoError(t, err)
	return der
}

// P11: a trust bundle holds 1 to 8 authorities of the one kind, and nothing else.
func TestP11ParseBundle(t *testing.T) {
	authority := newAuthority(t, start().Add(time.Hour))
	other := newAuthority(t, start().Add(time.Hour))
	bundle, err := ParseBundle([][]byte{authority.Certificate.Raw, other.Certificate.Raw})
	require.NoError(t, err)
	assert.Equal(t, []*x509.Certificate{authority.Certificate, other.Certificate}, bundle)

	many := make([][]byte, MaxBundle+1)
	for i := range many {
		many[i] = authority.Certificate.Raw
	}
	_, err = ParseBundle(many[:MaxBundle])
	require.NoError(t, err)

	key := newTestKey(t)
	ca := x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	large, usage, plain := ca, ca, ca
	plain.IsCA = false
	large.Subject = pkix.Name{CommonName: strings.Repeat("canary", 1000)}
	usage.KeyUsage = x509.KeyUsageDigitalSignature
	tests := map[string][][]byte{
		"none":          {},
		"too many":      many,
		"text":          {[]byte("canary")},
		"more":          {append(append([]byte(nil), authority.Certificate.Raw...), 0)},
		"too large":     {selfSigned(t, large, key)},
		"no authority":  {selfSigned(t, plain, key)},
		"does not sign": {selfSigned(t, usage, key)},
		"second":        {authority.Certificate.Raw, []byte("canary")},
	}
	for name, foreign := range foreignKeys(t) {
		tests[name] = [][]byte{selfSigned(t, ca, foreign)}
	}
	for name, der := range tests {
		_, err := ParseBundle(der)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "canary", name)
	}
}

func TestBundleDigest(t *testing.T) {
	a, b := []byte("a"), []byte("b")
	assert.Equal(t, BundleDigest([][]byte{a, b}), BundleDigest([][]byte{b, a}))
	assert.Len(t, BundleDigest([][]byte{a}), 64)
	assert.Empty(t, BundleDigest(nil))
	different := map[string]bool{}
	for _, bundle := range [][][]byte{{a}, {b}, {a, b}, {a, a}, {[]byte("ab")}, {{}, []byte("ab")}, {{}}} {
		different[BundleDigest(bundle)] = true
	}
	assert.Len(t, different, 7)

	// It leaves the bundle as it is.
	bundle := [][]byte{b, a}
	BundleDigest(bundle)
	assert.Equal(t, [][]byte{[]byte("b"), []byte("a")}, bundle)
}

// A certificate's hash is that of its key.
func TestHashOf(t *testing.T) {
	authority := newAuthority(t, start().Add(time.Hour))
	hash, err := HashOf(authority.Key.Public())
	require.NoError(t, err)
	assert.Equal(t, HashOfCertificate(authority.Certificate), hash)
	assert.Equal(t, hash, sha256.Sum256(authority.Certificate.RawSubjectPublicKeyInfo))

	other, err := HashOf(newTestKey(t).Public())
	require.NoError(t, err)
	assert.NotEqual(t, hex.EncodeToString(hash[:]), hex.EncodeToString(other[:]))
	_, err = HashOf("canary")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "canary")
}

func FuzzParse(f *testing.F) {
	key, err := NewKey()
	require.NoError(f, err)
	csr, err := NewCSR(key)
	require.NoError(f, err)
	authority, err := NewAuthority("test", key, start(), start().Add(time.Hour))
	require.NoError(f, err)
	f.Add(csr)
	f.Add(authority.Certificate.Raw)
	f.Fuzz(func(t *testing.T, der []byte) {
		if public, err := ParseCSR(der); err == nil {
			require.True(t, isP256(public))
		}
		if certificate, err := ParseCertificate(der); err == nil {
			PeerOf(certificate)
		}
		_, _ = ParseBundle([][]byte{der})
	})
}
