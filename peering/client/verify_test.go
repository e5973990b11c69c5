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
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// P1, P4: who is let pass for the gateway, by pins and by trust. Who is not gets no
// request, hence no token.
func TestP1Recognition(t *testing.T) {
	stranger := newAuthority(t, now().Add(time.Hour))
	hour := time.Hour
	for _, test := range []struct {
		name string
		entrance
		pins, trust bool
	}{
		{"proper", entrance{}, true, true},
		{"proper, IPv6", entrance{address: "::1"}, true, true},
		{"proper, HTTP/2", entrance{http2: true}, true, true},
		{"another host", entrance{hosts: []string{"192.0.2.1", "gateway.example"}}, false, false},
		{"no host", entrance{leaf: func(c *x509.Certificate) { c.IPAddresses = nil; c.Subject.CommonName = local }}, false, false},
		{"expired", entrance{leaf: func(c *x509.Certificate) { c.NotAfter = now().Add(-time.Second) }}, false, false},
		{"not yet valid", entrance{leaf: func(c *x509.Certificate) { c.NotBefore = now().Add(hour) }}, false, false},
		{"authority expired", entrance{until: now().Add(-time.Second)}, false, false},
		{"for clients", entrance{leaf: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }}, false, false},
		{"for nothing", entrance{leaf: func(c *x509.Certificate) { c.ExtKeyUsage = nil }}, false, false},
		{"for anything", entrance{leaf: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }}, false, false},
		{"an authority itself", entrance{leaf: func(c *x509.Certificate) { c.IsCA = true }}, false, false},
		// A pin is a hash: who has only that needs the authority itself.
		{"alone", entrance{chain: func(leaf, _ *x509.Certificate) []*x509.Certificate { return []*x509.Certificate{leaf} }}, false, true},
		{"among others", entrance{chain: func(leaf, authority *x509.Certificate) []*x509.Certificate {
			return []*x509.Certificate{leaf, stranger.Certificate, authority}
		}}, true, true},
		{"with a stranger", entrance{chain: func(leaf, _ *x509.Certificate) []*x509.Certificate {
			return []*x509.Certificate{leaf, stranger.Certificate}
		}}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := serve(t, test.entrance, answering(t, http.StatusForbidden, protocol.Failure{Reason: protocol.FailureRefused}))
			want := func(known bool) Failure {
				if known {
					return Failure{Kind: Refused, Reason: protocol.FailureRefused}
				}
				return Failure{Kind: Untrusted}
			}
			_, _, err := dialer(t).Join(t.Context(), joinParams(t, g))
			requireFailure(t, want(test.pins), err)
			_, err = connect(t, dialer(t), g.trust(), g.endpoint).Sync(t.Context(), beat())
			requireFailure(t, want(test.trust), err)
			requests := int32(0)
			for _, known := range []bool{test.pins, test.trust} {
				if known {
					requests++
				}
			}
			require.Equal(t, requests, g.requests.Load())
		})
	}
}

// P2: one trust pool a peer, never merged, and not that of the system; a pin is one of
// this gateway.
func TestP2NotAnothersTrust(t *testing.T) {
	g := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	other := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	_, err := connect(t, dialer(t), other.trust(), g.endpoint).Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Untrusted}, err)

	both := append(other.trust(), g.trust()...)
	_, err = connect(t, dialer(t), both, g.endpoint).Sync(t.Context(), beat())
	require.NoError(t, err)

	params := joinParams(t, g)
	params.Pins = []connstring.Pin{other.pin(), {}}
	_, _, err = dialer(t).Join(t.Context(), params)
	requireFailure(t, Failure{Kind: Untrusted}, err)
	require.EqualValues(t, 1, g.requests.Load())
}

// An authority under the pinned name and with its certificate, but without its key.
func TestP4PinnedCertificateIsNotEnough(t *testing.T) {
	pinned := newAuthority(t, now().Add(time.Hour))
	g := serve(t, entrance{chain: func(leaf, _ *x509.Certificate) []*x509.Certificate {
		return []*x509.Certificate{leaf, pinned.Certificate}
	}}, answering(t, http.StatusOK, echo()))
	params := joinParams(t, g)
	params.Pins = []connstring.Pin{connstring.Pin(pki.HashOfCertificate(pinned.Certificate))}
	_, _, err := dialer(t).Join(t.Context(), params)
	requireFailure(t, Failure{Kind: Untrusted}, err)
	require.Zero(t, g.requests.Load())
}

// A pinned certificate that is no authority's cannot vouch for another one.
func TestP4PinnedLeafIsNoAuthority(t *testing.T) {
	key := newKey(t)
	plain, err := pki.SelfSigned(key, now().Add(-time.Hour), now().Add(time.Hour))
	require.NoError(t, err)
	require.False(t, serves(plain, []*x509.Certificate{plain}, local, now()))
	require.False(t, byTrust(nil)(nil, local, now()))
	require.False(t, byPins(nil)(nil, local, now()))
}
