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

package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"entente.dev/entente/peering/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary stands wherever somebody else could put something.
const canary = "canary"

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: canary + " CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return &authority{certificate, key}
}

func (a *authority) pem() []byte { return block("CERTIFICATE", a.certificate.Raw) }

func block(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

// issue returns a certificate and its key in PEM.
func (a *authority) issue(t testing.TB, change ...func(*x509.Certificate)) (certificate, key []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: canary},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"named.example"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, c := range change {
		c(template)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return block("CERTIFICATE", raw), block("PRIVATE KEY", encoded)
}

// entrance is how a cluster is to be entered; the zero entrance is a proper one with HTTP/1.1.
type entrance struct {
	http2  bool
	leaf   func(*x509.Certificate)
	config func(*tls.Config)
}

// cluster is a real TLS server.
type cluster struct {
	*httptest.Server
	authority *authority
	// requests counts what came, open the connections that there are.
	requests, open atomic.Int32
}

func serve(t testing.TB, e entrance, handler http.HandlerFunc) *cluster {
	t.Helper()
	c := &cluster{authority: newAuthority(t)}
	var change []func(*x509.Certificate)
	if e.leaf != nil {
		change = append(change, e.leaf)
	}
	certificate, key := c.authority.issue(t, change...)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		handler(w, r)
	}))
	c.EnableHTTP2 = e.http2
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	if e.config != nil {
		e.config(c.TLS)
	}
	c.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
		}
	}
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

// access is one with a token.
func (c *cluster) access(t testing.TB) *Access {
	t.Helper()
	access, err := Token(c.URL, c.authority.pem(), []byte("canary-token"))
	require.NoError(t, err)
	return access
}

// local is a Config that lets this machine be dialled.
func local() Config { return Config{Policy: client.Policy{AllowLocal: true}} }

// open makes a client that is closed with the test.
func open(t testing.TB, access *Access, config Config) *Client {
	t.Helper()
	c, err := New(access, config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// requireReason requires a Failure for a reason that shows nothing of anybody.
func requireReason(t testing.TB, want Reason, err error) {
	t.Helper()
	var failure *Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, want, failure.Reason)
	requireSilent(t, err)
}

// requireSilent requires that no way of showing a value shows a canary, as it is or in base64.
func requireSilent(t testing.TB, value any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	type holder struct {
		Shown  any
		hidden any
	}
	shown := string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown += fmt.Sprintf(verb, value) + fmt.Sprintf(verb, holder{value, value}) + fmt.Sprintf(verb, []any{value})
	}
	for _, secret := range []string{canary, "Y2FuYXJ5", "63616e617279", "nhbmFye", "jYW5hcn"} {
		require.NotContains(t, shown, secret)
	}
	require.NotContains(t, shown, "PRIVATE KEY")
}
