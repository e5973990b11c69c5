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
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func newAuthority(t *testing.T, until time.Time) *Authority {
	t.Helper()
	key, err := NewKey()
	require.NoError(t, err)
	authority, err := NewAuthority("test", key, start(), until)
	require.NoError(t, err)
	return authority
}

// What an authority signs verifies under it, is no authority itself, and ends with
// it. Two authorities of one name are told apart.
func TestIssue(t *testing.T) {
	authority := newAuthority(t, start().Add(24*time.Hour))
	namesake := newAuthority(t, start().Add(24*time.Hour))
	key, err := NewKey()
	require.NoError(t, err)
	template := x509.Certificate{DNSNames: []string{"a.example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}

	short, err := authority.Issue(template, key.Public(), start(), start().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, start().Add(time.Hour), short.NotAfter)
	assert.False(t, short.IsCA)
	assert.True(t, key.Fits(short))
	assert.False(t, authority.Key.Fits(short))
	assert.True(t, authority.Signed(short))
	assert.False(t, namesake.Signed(short))

	pool := x509.NewCertPool()
	pool.AddCert(namesake.Certificate)
	pool.AddCert(authority.Certificate)
	_, err = short.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: start(), DNSName: "a.example"})
	require.NoError(t, err)

	long, err := authority.Issue(template, key.Public(), start(), start().Add(48*time.Hour))
	require.NoError(t, err)
	assert.Equal(t, authority.Certificate.NotAfter, long.NotAfter)

	_, err = (&Authority{Certificate: authority.Certificate}).Issue(template, key.Public(), start(), start())
	require.ErrorContains(t, err, "no key")
}

func TestParseKey(t *testing.T) {
	key, err := NewKey()
	require.NoError(t, err)
	same, err := ParseKey(key.PEM())
	require.NoError(t, err)
	assert.Equal(t, key.Public(), same.Public())

	for _, content := range []string{"", "canary", "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n"} {
		_, err := ParseKey([]byte(content))
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "canary")
		assert.NotContains(t, err.Error(), "Y2FuYXJ5")
	}
}

// Whatever prints a key, or what holds one, does not print its bytes.
func TestKeyIsNotPrinted(t *testing.T) {
	authority := newAuthority(t, start().Add(time.Hour))
	raw := bytes.Split(authority.Key.PEM(), []byte("\n"))[1]
	for _, value := range []any{authority.Key, *authority.Key, authority, *authority, struct{ hidden *Key }{authority.Key}, struct{ hidden Key }{*authority.Key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			printed := fmt.Sprintf(verb, value)
			assert.NotContains(t, printed, string(raw), verb)
			assert.NotContains(t, printed, fmt.Sprintf("%x", raw), verb)
			assert.NotContains(t, printed, strings.Trim(fmt.Sprintf("%d", raw[:8]), "[]"), verb)
		}
		encoded, err := json.Marshal(value)
		require.NoError(t, err)
		assert.NotContains(t, string(encoded), string(raw))
	}
	assert.Equal(t, "<omitted>", fmt.Sprint(authority.Key))
	assert.Equal(t, "<omitted>", authority.Key.MarshalLog())
}

func TestNames(t *testing.T) {
	names := Names("a.example", "127.0.0.1", "a.example", "::1", "0:0:0:0:0:0:0:1")
	assert.Equal(t, cert.AltNames{DNSNames: []string{"a.example"}, IPs: []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP("::1")}}, names)

	certificate := &x509.Certificate{DNSNames: names.DNSNames, IPAddresses: names.IPs}
	assert.Empty(t, Missing(certificate, names))
	assert.Equal(t, "b.example", Missing(certificate, Names("a.example", "b.example")))
	assert.Equal(t, "10.0.0.1", Missing(certificate, Names("10.0.0.1")))
}

func TestCertificatesPEM(t *testing.T) {
	assert.Empty(t, CertificatesPEM())
	one, two := newAuthority(t, start().Add(time.Hour)).Certificate, newAuthority(t, start().Add(time.Hour)).Certificate
	read, err := cert.ParseCertsPEM(CertificatesPEM(one.Raw, two.Raw))
	require.NoError(t, err)
	assert.Equal(t, []*x509.Certificate{one, two}, read)
}
