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

package harness

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
)

// WithGateway makes the server listen for other clusters, on a free port of the loopback
// interface, and advertise that.
func WithGateway(t testing.TB) Option {
	t.Helper()
	return WithGatewayAt(t, "127.0.0.1:0")
}

// WithGatewayAt is WithGateway at an address. Endpoints are advertised instead of the
// address if there are any.
func WithGatewayAt(t testing.TB, address string, endpoints ...string) Option {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	if len(endpoints) == 0 {
		endpoints = []string{"https://" + listener.Addr().String()}
	}
	return func(s *settings) {
		WithOptions(func(o *options.Options) { o.Peering.Endpoints = endpoints })(s)
		WithConfig(func(c *apiserver.Config) { c.Peering.GatewayListener = listener })(s)
	}
}

// WithClock makes the server peer by a clock of the test's.
func WithClock(clock *Clock) Option {
	return WithConfig(func(c *apiserver.Config) { c.Peering.Clock = clock })
}
