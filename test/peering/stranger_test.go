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

package peering

import (
	"context"
	"errors"
	"testing"
	"time"

	googleuuid "github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// stranger is a cluster that the test plays itself, by the protocol alone.
type stranger struct {
	dialer    *client.Dialer
	self      exchange.Self
	authority *record.Authority
	key       *pki.Key
}

// newStranger returns one of a UUID, or of a new one if that is empty. Its key is new.
func newStranger(t testing.TB, clusterUUID string) *stranger {
	t.Helper()
	if clusterUUID == "" {
		clusterUUID = googleuuid.NewString()
	}
	dialer, err := client.New(client.Config{Policy: client.Policy{AllowLocal: true}})
	require.NoError(t, err)
	key, err := pki.NewKey()
	require.NoError(t, err)
	now := time.Now()
	ca, err := pki.NewAuthority("stranger", key, now.Add(-time.Hour), now.Add(time.Hour))
	require.NoError(t, err)
	control, err := pki.NewKey()
	require.NoError(t, err)
	return &stranger{
		dialer:    dialer,
		self:      exchange.Self{ClusterUUID: clusterUUID},
		authority: &record.Authority{Current: record.CA{Certificate: ca.Certificate.Raw}},
		key:       control,
	}
}

// join uses a connection string, at other endpoints than its own if there are any.
func (s *stranger) join(ctx context.Context, text string, endpoints ...string) (protocol.JoinResponse, error) {
	said, err := connstring.Parse(text)
	if err != nil {
		return protocol.JoinResponse{}, err
	}
	if len(endpoints) == 0 {
		endpoints = said.Endpoints
	}
	csr, err := pki.NewCSR(s.key)
	if err != nil {
		return protocol.JoinResponse{}, err
	}
	for {
		answer, _, err := s.dialer.Join(ctx, client.JoinParams{
			Endpoints: endpoints, Pins: said.Pins, Key: s.key,
			Request: protocol.JoinRequest{
				Protocol: protocol.MaxVersion, TokenID: said.TokenID, Token: said.Token.Reveal(), CSR: csr,
				Self: s.self.About(s.authority, "", time.Now()),
			},
		})
		if failure := failureOf(err); failure != nil && failure.Kind == client.Busy && ctx.Err() == nil {
			continue // It may be asked again, and that is what is meant.
		}
		return answer, err
	}
}

// try uses a connection string once, whatever comes of it.
func (s *stranger) try(t testing.TB, text string) *client.Failure {
	t.Helper()
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	csr, err := pki.NewCSR(s.key)
	require.NoError(t, err)
	_, _, err = s.dialer.Join(t.Context(), client.JoinParams{
		Endpoints: said.Endpoints, Pins: said.Pins, Key: s.key,
		Request: protocol.JoinRequest{
			Protocol: protocol.MaxVersion, TokenID: said.TokenID, Token: said.Token.Reveal(), CSR: csr,
			Self: s.self.About(s.authority, "", time.Now()),
		},
	})
	require.Error(t, err)
	failure := failureOf(err)
	require.NotNil(t, failure, "%v", err)
	return failure
}

// beat makes the first beat, by which the pairing is confirmed.
func (s *stranger) beat(t testing.TB, text string, answer protocol.JoinResponse) {
	t.Helper()
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	conn, err := s.dialer.Connect(client.Target{Endpoints: said.Endpoints, Trust: answer.Trust, Certificate: s.key.TLS(answer.Certificate)})
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Sync(t.Context(), protocol.SyncRequest{
		Protocol: protocol.MaxVersion,
		State:    protocol.State{Self: s.self.About(s.authority, "", time.Now())},
	})
	require.NoError(t, err)
}

// failureOf returns what the other cluster said, or nil.
func failureOf(err error) *client.Failure {
	var failure *client.Failure
	if errors.As(err, &failure) {
		return failure
	}
	return nil
}
