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
	"slices"
	"time"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
)

// recognition tells by the certificates that a gateway presents, at a time, whether it is
// the one that is expected under a host.
type recognition func(presented []*x509.Certificate, host string, now time.Time) bool

// byTrust recognises gateways by the trust bundle of one peer.
func byTrust(bundle []*x509.Certificate) recognition {
	return func(presented []*x509.Certificate, host string, now time.Time) bool {
		return len(presented) > 0 && serves(presented[0], bundle, host, now)
	}
}

// byPins recognises gateways by a connection string: an authority of whose key it holds
// a pin is presented along with the certificate that it signed.
func byPins(pins []connstring.Pin) recognition {
	return func(presented []*x509.Certificate, host string, now time.Time) bool {
		if len(presented) == 0 {
			return false
		}
		var authorities []*x509.Certificate
		for _, certificate := range presented[1:] {
			if slices.Contains(pins, connstring.Pin(pki.HashOfCertificate(certificate))) {
				authorities = append(authorities, certificate)
			}
		}
		return serves(presented[0], authorities, host, now)
	}
}

// serves tells whether a certificate is one to serve a host with, and was signed by one
// of the authorities itself, now valid both. The authorities of the system do not count.
func serves(leaf *x509.Certificate, authorities []*x509.Certificate, host string, now time.Time) bool {
	// The library takes a certificate without usages for one of any usage.
	if leaf.IsCA || !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		return false
	}
	roots := x509.NewCertPool()
	for _, authority := range authorities {
		if authority.IsCA && authority.BasicConstraintsValid {
			roots.AddCert(authority)
		}
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: x509.NewCertPool(),
		DNSName:       host,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err == nil
}

// tlsConfig is TLS 1.3 without resumption, in which the gateway has to be recognised
// under the host.
func (d *Dialer) tlsConfig(host string, recognised recognition, certificate tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		// The library would look into the pool of the system; VerifyConnection decides.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if !recognised(state.PeerCertificates, host, d.clock.Now()) {
				return errUntrusted
			}
			return nil
		},
		// Whatever authorities the gateway names: it looks up the key.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &certificate, nil
		},
	}
}
