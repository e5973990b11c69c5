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
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/client"
)

// C3, P11, R15: why a cluster is not reached.
func TestC3Unreached(t *testing.T) {
	cluster := serve(t, entrance{}, api(nil))
	expired := serve(t, entrance{leaf: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }}, api(nil))
	future := serve(t, entrance{leaf: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }}, api(nil))
	wrongName := serve(t, entrance{leaf: func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"canary.example"} }}, api(nil))
	wrongUse := serve(t, entrance{leaf: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }}, api(nil))
	demanding := serve(t, entrance{config: func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }}, api(nil))
	old := serve(t, entrance{config: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }}, api(nil))
	plain := plainServer(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := listener.Addr().String()
	require.NoError(t, listener.Close())
	port := func(server string) string { return server[strings.LastIndex(server, ":"):] }
	denied := client.Policy{AllowLocal: true, Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	allowed := client.Policy{AllowLocal: true}
	for _, test := range []struct {
		name, server string
		authority    *authority
		config       Config
		want         Reason
	}{
		{"refused", "https://" + nobody, cluster.authority, Config{Policy: allowed}, ReasonRefused},
		{"local", cluster.URL, cluster.authority, Config{}, ReasonAddress},
		{"denied", cluster.URL, cluster.authority, Config{Policy: denied}, ReasonAddress},
		{"a name of a local address", "https://named.example" + port(cluster.URL), cluster.authority, Config{Resolver: named("127.0.0.1")}, ReasonAddress},
		{"a name of another local address", "https://named.example" + port(cluster.URL), cluster.authority, Config{Resolver: named("::1")}, ReasonAddress},
		{"a name of a translated address", "https://named.example" + port(cluster.URL), cluster.authority, Config{Resolver: named("64:ff9b::7f00:1")}, ReasonAddress},
		{"a mapped address", "https://[::ffff:127.0.0.1]" + port(cluster.URL), cluster.authority, Config{}, ReasonAddress},
		{"link-local", "https://169.254.169.254", cluster.authority, Config{Policy: allowed}, ReasonAddress},
		{"not resolved", "https://canary.example", cluster.authority, Config{Policy: allowed, Resolver: named("127.0.0.1")}, ReasonResolve},
		{"another authority", cluster.URL, expired.authority, Config{Policy: allowed}, ReasonUntrusted},
		{"authorities of the system", cluster.URL, nil, Config{Policy: allowed}, ReasonUntrusted},
		{"expired", expired.URL, expired.authority, Config{Policy: allowed}, ReasonExpired},
		{"not yet valid", future.URL, future.authority, Config{Policy: allowed}, ReasonExpired},
		{"wrong name", wrongName.URL, wrongName.authority, Config{Policy: allowed}, ReasonWrongHost},
		{"wrong use", wrongUse.URL, wrongUse.authority, Config{Policy: allowed}, ReasonUntrusted},
		{"no certificate for it", demanding.URL, demanding.authority, Config{Policy: allowed}, ReasonTLS},
		{"old TLS", old.URL, old.authority, Config{Policy: allowed}, ReasonTLS},
		{"no TLS", plain, cluster.authority, Config{Policy: allowed}, ReasonTLS},
	} {
		t.Run(test.name, func(t *testing.T) {
			var ca []byte
			if test.authority != nil {
				ca = test.authority.pem()
			}
			access, err := Token(test.server, ca, []byte(canary))
			require.NoError(t, err)
			_, err = probe(t, open(t, access, test.config))
			requireReason(t, test.want, err)
		})
	}
	assert.Zero(t, cluster.requests.Load())

	t.Run("a name", func(t *testing.T) {
		access, err := Token("https://named.example"+port(cluster.URL), cluster.authority.pem(), []byte(canary))
		require.NoError(t, err)
		found, err := probe(t, open(t, access, Config{Policy: allowed, Resolver: named("127.0.0.1")}))
		require.NoError(t, err)
		assert.Equal(t, wellFound(), found)
	})
}
