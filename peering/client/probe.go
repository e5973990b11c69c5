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
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// Finding is what a Probe found; it is the reason of the condition (P14).
type Finding string

// Findings of a Probe.
const (
	// ClientCertRequired: a request without a client certificate is refused.
	ClientCertRequired Finding = "ClientCertRequired"
	// ClientCertNotRequired: it is served.
	ClientCertNotRequired Finding = "ClientCertNotRequired"
	// PeeringRootCert: the certificate is our peering CA's, for this host, and valid now.
	PeeringRootCert Finding = "PeeringRootCert"
	// ForeignCert: the certificate is another one.
	ForeignCert Finding = "ForeignCert"
	// EntranceUnreachable: it cannot be told.
	EntranceUnreachable Finding = "EntranceUnreachable"
)

// ProbeResult is what our own gateway looks like from outside.
type ProbeResult struct {
	// ClientCert is ClientCertRequired, ClientCertNotRequired or EntranceUnreachable.
	ClientCert Finding
	// ServerCert is PeeringRootCert, ForeignCert or EntranceUnreachable.
	ServerCert Finding
}

// probeAttempts is how often an ending of the connection that says nothing is asked about
// again: the alert that says why can get lost on the way.
const probeAttempts = 3

// Probe looks at an endpoint of our own, as somebody who has no client certificate (P14).
// Trust are the certificates (DER) of our peering CA. The policy does not apply: it is
// for what other clusters choose.
func (d *Dialer) Probe(ctx context.Context, endpoint string, trust [][]byte) ProbeResult {
	unknown := ProbeResult{ClientCert: EntranceUnreachable, ServerCert: EntranceUnreachable}
	parsed, err := url.Parse(endpoint)
	if err != nil || !connstring.IsEndpoint(endpoint) {
		return unknown
	}
	// Without a bundle every certificate is foreign.
	bundle, _ := pki.ParseBundle(trust)
	result := unknown
	for range probeAttempts {
		var again bool
		if result, again = d.probe(ctx, endpoint, parsed.Hostname(), bundle); !again {
			break
		}
	}
	return result
}

// probe is one look. It is worth another one if the handshake came to its end but what
// came then is unclear.
func (d *Dialer) probe(ctx context.Context, endpoint, host string, bundle []*x509.Certificate) (result ProbeResult, again bool) {
	ctx, cancel := context.WithTimeout(ctx, d.callTimeout)
	defer cancel()
	var asked atomic.Bool
	var server atomic.Value
	server.Store(EntranceUnreachable)
	config := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		// Whoever it is, what it does with the request is to be seen.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			server.Store(ForeignCert)
			if byTrust(bundle)(state.PeerCertificates, host, d.clock.Now()) {
				server.Store(PeeringRootCert)
			}
			return nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked.Store(true)
			return &tls.Certificate{}, nil
		},
	}
	l := d.newLine(endpoint, d.plain().DialContext, config)
	defer l.close()
	// With HTTP/2 there is more to send first, and that it could not be sent is often all
	// that the library tells then.
	l.transport.Protocols = new(http.Protocols)
	l.transport.Protocols.SetHTTP1(true)
	// In TLS 1.3 our handshake ends before the gateway has seen that there is no
	// certificate: its refusal comes when an answer is read.
	status, err := l.ask(ctx)
	result = ProbeResult{ClientCert: EntranceUnreachable, ServerCert: server.Load().(Finding)}
	var alert *net.OpError
	switch {
	case err == nil && status < http.StatusInternalServerError:
		result.ClientCert = ClientCertNotRequired
	case err == nil:
		// Something in front answered for it.
	case asked.Load() && errors.As(err, &alert) && alert.Op == remoteError:
		result.ClientCert = ClientCertRequired
	default:
		again = asked.Load() && ctx.Err() == nil
	}
	return result, again
}

// ask sends an empty message and returns the status of the answer.
func (l *line) ask(ctx context.Context) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.endpoint+protocol.PathSync, strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", protocol.ContentType)
	response, err := l.transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	_ = response.Body.Close()
	return response.StatusCode, nil
}
