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
	"errors"
	"fmt"
	"time"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// Target is a cluster that was paired.
type Target struct {
	// Endpoints are URLs of its gateway, one at least.
	Endpoints []string
	// Trust are the certificates (DER) by which its gateway is recognised.
	Trust [][]byte
	// Certificate is the client certificate that it gave us, from pki.Key.TLS, which
	// prints without the key.
	Certificate tls.Certificate
}

// Conn is what a paired cluster is talked to over. It may be used by several goroutines
// at once. Its calls fail with a *Failure, or with the error of the context when that is
// cancelled.
type Conn struct {
	dialer *Dialer
	way    *way
}

// Connect returns a Conn. It dials when it is first used, keeps its connections, and
// begins with the endpoint that answered last. Close it.
func (d *Dialer) Connect(target Target) (*Conn, error) {
	recognised, err := target.recognised()
	if err != nil {
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	return &Conn{dialer: d, way: d.newWay(target.Endpoints, recognised, target.Certificate)}, nil
}

// recognised is how to recognise the cluster, if it is one that can be dialled at all.
func (t Target) recognised() (recognition, error) {
	bundle, err := pki.ParseBundle(t.Trust)
	if err != nil {
		return nil, err
	}
	if len(t.Endpoints) < 1 || len(t.Endpoints) > connstring.MaxEndpoints {
		return nil, errors.New("it takes 1 to 4 endpoints")
	}
	return byTrust(bundle), nil
}

// Sync is one beat (P9). It takes as long as the request says that the gateway may wait,
// and some more. If nothing but the offer in the answer breaks the rules, the failure
// has a Fault of which OfOffer is true, and the answer is returned too, without the offer.
func (c *Conn) Sync(ctx context.Context, request protocol.SyncRequest) (protocol.SyncResponse, error) {
	timeout := time.Duration(request.Wait)*time.Second + c.dialer.syncGrace
	call, err := newCall(protocol.PathSync, &request, protocol.LimitSync, timeout)
	if err != nil {
		return protocol.SyncResponse{}, err
	}
	answer, _, err := put[protocol.SyncResponse](ctx, c.way, call)
	var failure *Failure
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &failure) && failure.Fault.OfOffer():
		answer.OfferBody = nil
		return answer, err
	default:
		return protocol.SyncResponse{}, err
	}
}

// Renew asks for a certificate for a new key (P2).
func (c *Conn) Renew(ctx context.Context, request protocol.RenewRequest) (protocol.RenewResponse, error) {
	call, err := newCall(protocol.PathRenew, &request, protocol.LimitRenew, c.dialer.callTimeout)
	if err != nil {
		return protocol.RenewResponse{}, err
	}
	answer, _, err := put[protocol.RenewResponse](ctx, c.way, call)
	if err != nil {
		return protocol.RenewResponse{}, err
	}
	return answer, nil
}

// Leave says that the peering is over (P12). That it is over there already is no failure.
func (c *Conn) Leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.dialer.leaveTimeout)
	defer cancel()
	call, err := newCall(protocol.PathLeave, protocol.LeaveRequest{}, protocol.LimitLeave, c.dialer.leaveTimeout)
	if err != nil {
		return err
	}
	if _, _, err := put[protocol.LeaveResponse](ctx, c.way, call); err != nil && !isKind(err, Gone) {
		return err
	}
	return nil
}

// Close ends all calls and closes all connections. Calls after it fail.
func (c *Conn) Close() { c.way.close() }
