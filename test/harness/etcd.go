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
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// ExternalEtcd is an etcd on a TCP port of the loopback interface, as somebody
// might run it for a server with --etcd-servers. It can be stopped and started
// again on the same data and port.
type ExternalEtcd struct {
	// Endpoint is its URL.
	Endpoint string

	dir  string
	etcd *embed.Etcd
}

// NewExternalEtcd returns an etcd that is not started yet.
func NewExternalEtcd(t testing.TB) *ExternalEtcd {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	e := &ExternalEtcd{Endpoint: "http://" + listener.Addr().String(), dir: t.TempDir()}
	t.Cleanup(e.Stop)
	return e
}

// Start starts it and waits until it serves.
func (e *ExternalEtcd) Start(t testing.TB) {
	t.Helper()
	client, err := url.Parse(e.Endpoint)
	require.NoError(t, err)
	config := embed.NewConfig()
	config.Dir = e.dir
	config.ListenPeerUrls = nil
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.TickMs, config.ElectionMs = 50, 250
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e.etcd, err = embed.StartEtcd(config)
	require.NoError(t, err)
	select {
	case <-e.etcd.Server.ReadyNotify():
	case <-time.After(deadline):
		require.Fail(t, "the external etcd is not ready")
	}
}

// Stop stops it, if it runs.
func (e *ExternalEtcd) Stop() {
	if e.etcd != nil {
		e.etcd.Close()
		e.etcd = nil
	}
}
