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
	"errors"
	"fmt"
	"time"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// joinCertificate is for how long before and after now the certificate of a join is
// valid. It proves nothing by its dates; a clock that is off must not be what fails.
const joinCertificate = 24 * time.Hour

// JoinParams are what a join needs.
type JoinParams struct {
	// Endpoints and Pins are those of the connection string.
	Endpoints []string
	Pins      []connstring.Pin
	// Key is the one that the CSR of the request is for.
	Key     *pki.Key
	Request protocol.JoinRequest
}

// Join uses a connection string up (P6). The endpoints are tried in turn until there is
// an answer, also one that refuses; who is not recognised by a pin gets no token. It
// returns the endpoint that answered. A certificate in the answer is one for Key.
func (d *Dialer) Join(ctx context.Context, p JoinParams) (answer protocol.JoinResponse, endpoint string, err error) {
	if p.Key == nil || len(p.Endpoints) == 0 || len(p.Pins) == 0 {
		return answer, "", errors.New("could not join: it takes endpoints, pins and a key")
	}
	request, err := newCall(protocol.PathJoin, &p.Request, protocol.LimitJoin, d.callTimeout)
	if err != nil {
		return answer, "", err
	}
	now := d.clock.Now()
	certificate, err := pki.SelfSigned(p.Key, now.Add(-joinCertificate), now.Add(joinCertificate))
	if err != nil {
		return answer, "", fmt.Errorf("could not join: %w", err)
	}
	way := d.newWay(p.Endpoints, byPins(p.Pins), p.Key.TLS(certificate.Raw))
	defer way.close()
	answer, endpoint, err = put[protocol.JoinResponse](ctx, way, request)
	if err != nil {
		return protocol.JoinResponse{}, endpoint, err
	}
	if answer.Protocol != p.Request.Protocol {
		return protocol.JoinResponse{}, endpoint, &Failure{Kind: Invalid, Fault: protocol.ErrProtocol}
	}
	if ours, err := pki.ParseCertificate(answer.Certificate); err != nil || !p.Key.Fits(ours) {
		return protocol.JoinResponse{}, endpoint, &Failure{Kind: Invalid, Fault: protocol.ErrCertificate}
	}
	return answer, endpoint, nil
}
