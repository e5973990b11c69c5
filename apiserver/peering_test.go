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

package apiserver_test

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/test/harness"
)

// A port of the gateway that is in use is said at once, with the flags, before the store
// is touched.
func TestGatewayPortInUse(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "data")
	_, err = harness.New(t, harness.InDir(dir), harness.WithOptions(func(o *options.Options) {
		o.Peering.Endpoints = []string{"https://127.0.0.1:" + port}
		o.Peering.GatewayPort, err = strconv.Atoi(port)
		require.NoError(t, err)
	}))
	require.ErrorContains(t, err, "could not listen on --gateway-bind-address and --gateway-port (127.0.0.1:"+port+")")
	assert.NoDirExists(t, filepath.Join(dir, "etcd"))
}

// The gateway listens where the flags say, on this machine only unless they say more,
// and not at all without an endpoint.
func TestGatewayAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoints []string
		listens   bool
	}{
		"with an endpoint":    {[]string{"https://127.0.0.1:9443"}, true},
		"without an endpoint": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := harness.New(t, harness.WithOptions(func(o *options.Options) {
				o.Peering.Endpoints, o.Peering.GatewayPort = tc.endpoints, 0
			}))
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Server.Close()) }()
			address := s.Server.GatewayAddress()
			if !tc.listens {
				assert.Empty(t, address)
				return
			}
			host, _, err := net.SplitHostPort(address)
			require.NoError(t, err)
			assert.Equal(t, "127.0.0.1", host)
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			require.NoError(t, s.Server.Close())
			_, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			require.Error(t, err, "it is closed with the server")
		})
	}
}
