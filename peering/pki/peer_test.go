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
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const uuid = "0f1c2d3e-4a5b-4c6d-8e7f-001122334455"

func newTestKey(t *testing.T) *Key {
	t.Helper()
	key, err := NewKey()
	require.NoError(t, err)
	return key
}

// P2: a client certificate says which peer it is in which role and is good for nothing
// else; the same one can be issued again.
func TestP2IssuePeer(t *testing.T) {
	authority := newAuthority(t, start().Add(1000*time.Hour))
	key := newTestKey(t)
	serial, err := NewSerial()
	require.NoError(t, err)
	for _, role := range []string{RoleControl, RoleData} {
		template := PeerTemplate{ClusterUUID: uuid, Role: role, Serial: serial, From: start(), Until: start().Add(time.Hour)}
		first, err := IssuePeer(authority, key.Public(), template)
		require.NoError(t, err)
		assert.Equal(t, serial, first.SerialNumber.Bytes())
		assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, first.ExtKeyUsage)
		assert.Equal(t, start(), first.NotBefore)
		assert.Equal(t, start().Add(time.Hour), first.NotAfter)
		assert.False(t, first.IsCA)
		assert.True(t, authority.Signed(first))
		assert.True(t, key.Fits(first))
		clusterUUID, found, ok := PeerOf(first)
		assert.True(t, ok)
		assert.Equal(t, uuid, clusterUUID)
		assert.Equal(t, role, found)

		again, err := IssuePeer(authority, key.Public(), template)
		require.NoError(t, err)
		assert.Equal(t, first.RawTBSCertificate, again.RawTBSCertificate)
	}

	for name, change := range map[string]func(*PeerTemplate){
		"no UUID":     func(p *PeerTemplate) { p.ClusterUUID = "" },
		"wrong UUID":  func(p *PeerTemplate) { p.ClusterUUID = "system:masters" },
		"no role":     func(p *PeerTemplate) { p.Role = "" },
		"wrong role":  func(p *PeerTemplate) { p.Role = "admin" },
		"no serial":   func(p *PeerTemplate) { p.Serial = nil },
		"zero serial": func(p *PeerTemplate) { p.Serial = make([]byte, 16) },
		"long serial": func(p *PeerTemplate) { p.Serial = make([]byte, 17); p.Serial[0] = 1 },
	} {
		template := PeerTemplate{ClusterUUID: uuid, Role: RoleData, Serial: serial, From: start(), Until: start().Add(time.Hour)}
		change(&template)
		_, err := IssuePeer(authority, key.Public(), template)
		assert.Error(t, err, name)
	}
}

// P2: nothing but the form that IssuePeer gives is read as a peer.
func TestP2PeerOf(t *testing.T) {
	authority := newAuthority(t, start().Add(1000*time.Hour))
	key := newTestKey(t)
	for name, change := range map[string]func(*x509.Certificate){
		"control too": func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{RoleData, RoleControl} },
		"no role":     func(c *x509.Certificate) { c.Subject.OrganizationalUnit = nil },
		"wrong role":  func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"admin"} },
		"wrong UUID":  func(c *x509.Certificate) { c.Subject.CommonName = "a" },
		"more in it":  func(c *x509.Certificate) { c.Subject.Organization = []string{"system:masters"} },
		"two names": func(c *x509.Certificate) {
			c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "11111111-4a5b-4c6d-8e7f-001122334455"},
				{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: uuid},
				{Type: asn1.ObjectIdentifier{2, 5, 4, 11}, Value: RoleData},
			}
		},
		"any usage":  func(c *x509.Certificate) { c.ExtKeyUsage = nil },
		"a server's": func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} },
		"both": func(c *x509.Certificate) {
			c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		},
		"unknown usage": func(c *x509.Certificate) { c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3, 4}} },
	} {
		template := x509.Certificate{
			Subject:     pkix.Name{CommonName: uuid, OrganizationalUnit: []string{RoleData}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		plain, err := authority.Issue(template, key.Public(), start(), start().Add(time.Hour))
		require.NoError(t, err)
		_, _, ok := PeerOf(plain)
		require.True(t, ok)

		change(&template)
		changed, err := authority.Issue(template, key.Public(), start(), start().Add(time.Hour))
		require.NoError(t, err)
		clusterUUID, role, ok := PeerOf(changed)
		assert.False(t, ok, name)
		assert.Empty(t, clusterUUID+role, name)
	}
}

// P6: the certificate of a join is the key's own.
func TestP6SelfSigned(t *testing.T) {
	key := newTestKey(t)
	certificate, err := SelfSigned(key, start(), start().Add(time.Hour))
	require.NoError(t, err)
	assert.True(t, key.Fits(certificate))
	assert.NoError(t, certificate.CheckSignature(certificate.SignatureAlgorithm, certificate.RawTBSCertificate, certificate.Signature))
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, certificate.ExtKeyUsage)
	assert.False(t, certificate.IsCA)
	_, _, ok := PeerOf(certificate)
	assert.False(t, ok)
}

// P1: a gateway's certificate serves its hosts and is good for nothing else.
func TestP1IssueGateway(t *testing.T) {
	authority := newAuthority(t, start().Add(1000*time.Hour))
	key := newTestKey(t)
	certificate, err := IssueGateway(authority, key.Public(), []string{"gateway.example", "192.0.2.1", "2001:db8::1"}, start(), start().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, certificate.ExtKeyUsage)
	for _, host := range []string{"gateway.example", "192.0.2.1", "2001:db8::1"} {
		assert.NoError(t, certificate.VerifyHostname(host))
	}
	assert.Error(t, certificate.VerifyHostname("entente-gateway"))
	_, err = IssueGateway(authority, key.Public(), nil, start(), start().Add(time.Hour))
	assert.Error(t, err)
}

func TestNewSerial(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		serial, err := NewSerial()
		require.NoError(t, err)
		require.Len(t, serial, 16)
		require.Zero(t, serial[0]&0x80, "negative")
		require.NotZero(t, serial[0], "shorter")
		require.False(t, seen[string(serial)])
		seen[string(serial)] = true
	}
}

// An authority that was kept is the same again.
func TestNewAuthorityFrom(t *testing.T) {
	made := newAuthority(t, start().Add(time.Hour))
	kept, err := NewAuthorityFrom(made.Certificate.Raw, made.Key.PEM())
	require.NoError(t, err)
	assert.True(t, kept.Key.Fits(made.Certificate))
	retired, err := NewAuthorityFrom(made.Certificate.Raw, nil)
	require.NoError(t, err)
	assert.Nil(t, retired.Key)

	leaf, err := made.Issue(x509.Certificate{}, made.Key.Public(), start(), start())
	require.NoError(t, err)
	for name, test := range map[string]struct{ certificate, key []byte }{
		"another's key":  {made.Certificate.Raw, newTestKey(t).PEM()},
		"no key":         {made.Certificate.Raw, []byte("canary")},
		"no certificate": {[]byte("canary"), made.Key.PEM()},
		"no authority":   {leaf.Raw, made.Key.PEM()},
	} {
		_, err := NewAuthorityFrom(test.certificate, test.key)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "canary", name)
	}
}

// A key with its certificate can be handed to crypto/tls, and still does not print.
func TestKeyTLS(t *testing.T) {
	key := newTestKey(t)
	certificate, err := SelfSigned(key, start(), start().Add(time.Hour))
	require.NoError(t, err)
	pair := key.TLS(certificate.Raw)
	assert.Equal(t, "<omitted>", fmt.Sprint(pair.PrivateKey))
	assert.Contains(t, fmt.Sprintf("%+v", struct{ Certificate tls.Certificate }{pair}), "PrivateKey:<omitted>")
	digest := make([]byte, 32)
	signature, err := key.Sign(rand.Reader, digest, crypto.SHA256)
	require.NoError(t, err)
	assert.True(t, ecdsa.VerifyASN1(key.Public().(*ecdsa.PublicKey), digest, signature))
	assert.Equal(t, elliptic.P256(), key.Public().(*ecdsa.PublicKey).Curve)
}
