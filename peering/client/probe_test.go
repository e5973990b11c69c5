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

package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// P14: what our own entrance looks like.
func TestP14Probe(t *testing.T) {
	served := answering(t, http.StatusForbidden, struct{}{})
	asking := func(kind tls.ClientAuthType) func(*tls.Config) {
		return func(c *tls.Config) { c.ClientAuth = kind }
	}
	for _, test := range []struct {
		name string
		entrance
		handler            http.HandlerFunc
		wantClient, wantOf Finding
	}{
		{"proper", entrance{}, served, ClientCertRequired, PeeringRootCert},
		{"proper, IPv6", entrance{address: "::1"}, served, ClientCertRequired, PeeringRootCert},
		{"asks for none", entrance{config: asking(tls.NoClientCert)}, served, ClientCertNotRequired, PeeringRootCert},
		{"asks and takes none", entrance{config: asking(tls.RequestClientCert)}, served, ClientCertNotRequired, PeeringRootCert},
		{"takes none, redirects", entrance{config: asking(tls.NoClientCert)}, raw(http.StatusFound, "", "Location", "https://169.254.169.254"), ClientCertNotRequired, PeeringRootCert},
		{"answers without serving", entrance{config: asking(tls.NoClientCert)}, answering(t, http.StatusBadGateway, struct{}{}), EntranceUnreachable, PeeringRootCert},
		{"breaks off", entrance{config: asking(tls.RequestClientCert)}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, EntranceUnreachable, PeeringRootCert},
		{"another host", entrance{hosts: []string{"gateway.example"}}, served, ClientCertRequired, ForeignCert},
		{"expired", entrance{leaf: func(c *x509.Certificate) { c.NotAfter = now().Add(-time.Second) }}, served, ClientCertRequired, ForeignCert},
		{"not yet valid", entrance{leaf: func(c *x509.Certificate) { c.NotBefore = now().Add(time.Second) }}, served, ClientCertRequired, ForeignCert},
		{"old TLS", entrance{config: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }}, served, EntranceUnreachable, EntranceUnreachable},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", test.name, http2), func(t *testing.T) {
				test.http2 = http2
				g := serve(t, test.entrance, test.handler)
				// Our own endpoint is no other cluster's choice: the policy is not asked.
				d := dialer(t, func(c *Config) { c.Policy = Policy{} })
				assert.Equal(t, ProbeResult{test.wantClient, test.wantOf}, d.Probe(t.Context(), g.endpoint, g.trust()))
			})
		}
	}
}

func TestP14ProbeOfOthers(t *testing.T) {
	g := serve(t, entrance{}, answering(t, http.StatusOK, struct{}{}))
	other := newAuthority(t, now().Add(time.Hour))
	d := dialer(t, func(c *Config) { c.ConnectTimeout = 300 * time.Millisecond })
	foreign := ProbeResult{ClientCertRequired, ForeignCert}
	assert.Equal(t, foreign, d.Probe(t.Context(), g.endpoint, [][]byte{other.Certificate.Raw}))
	assert.Equal(t, foreign, d.Probe(t.Context(), g.endpoint, nil))

	nothing := ProbeResult{EntranceUnreachable, EntranceUnreachable}
	for _, endpoint := range []string{nobody(t), silence(t), "https://gateway.invalid", "canary", ""} {
		assert.Equal(t, nothing, d.Probe(t.Context(), endpoint, g.trust()), endpoint)
	}
}

// The refusal is seen every time, although it comes after our handshake.
func TestP14ProbeIsSteady(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		g := serve(t, entrance{http2: http2}, answering(t, http.StatusOK, struct{}{}))
		for range 100 {
			assert.Equal(t, ProbeResult{ClientCertRequired, PeeringRootCert}, dialer(t).Probe(t.Context(), g.endpoint, g.trust()))
		}
		assert.Zero(t, g.requests.Load())
	}
}
