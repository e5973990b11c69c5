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
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/test/harness"
)

// check asks one of the checks of readiness, as the admin.
func (c *cluster) check(name string) (code int, said string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.Base+"/readyz/"+name, nil)
	require.NoError(c.t, err)
	resp, err := c.HTTP(c.t, harness.Admin).Do(req)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return resp.StatusCode, string(body)
}

// unready starts a server and waits until one of the checks of readiness says what is
// wanted. Nobody is served by its gateway.
func unready(t *testing.T, w *wire, check, says string, opts ...harness.Option) *cluster {
	t.Helper()
	s, err := harness.New(t, append([]harness.Option{w.behind()}, opts...)...)
	require.NoError(t, err)
	c := &cluster{t: t, Server: s}
	c.Run(t)
	w.to(s.Server.GatewayAddress())
	var code int
	var said string
	require.Eventually(t, func() bool {
		code, said = c.check(check)
		return code == http.StatusInternalServerError
	}, deadline, pollInterval)
	require.Contains(t, said, says)
	code, _ = c.check("ping")
	require.Equal(t, http.StatusOK, code)
	return c
}

// P5, S2: a store is restored from a copy. What was used and revoked since does not come
// back, and nothing is done with it before somebody says so; then each peering is
// suspended until it is renewed.
func TestS2RestoredStore(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	east, west, revoked, late := startBehind(t, w), start(t), start(t), start(t)
	west.join("east", east.invite("west", nil))
	revoked.join("east", east.invite("revoked", nil))
	used, unused := east.invite("late", nil), east.invite("nobody", nil)
	west.says("east", "Active")
	revoked.says("east", "Active")
	for _, name := range []string{"west", "revoked"} {
		east.says(name, "Active")
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	require.NoError(t, apiserver.SnapshotStorage(t.Context(), east.Dir, snapshot, nil))

	// What happens after the copy: a token is used, and a peer is revoked, which does not
	// hear of it.
	late.join("east", used)
	late.says("east", "Active")
	require.NoError(t, revoked.Stop())
	east.delete("revoked")
	east.gone("revoked")
	require.NoError(t, east.Stop())
	require.NoError(t, os.RemoveAll(filepath.Join(east.Dir, "etcd")))
	require.NoError(t, apiserver.RestoreStorage(east.Dir, snapshot))

	east = unready(t, w, "ledger", "--accept-restored-store", harness.InDir(east.Dir))
	revoked = start(t, harness.InDir(revoked.Dir))
	for _, text := range []string{used, unused} {
		failure := newStranger(t, "").try(t, text)
		assert.Equal(t, client.Unreachable, failure.Kind)
	}
	require.NoError(t, east.Stop())

	east = startBehind(t, w, harness.InDir(east.Dir), harness.WithOptions(func(o *options.Options) { o.Peering.AcceptRestoredStore = true }))
	for _, text := range []string{used, unused} {
		failure := newStranger(t, "").try(t, text)
		assert.Equal(t, client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused}, *failure)
	}
	for _, name := range []string{"west", "revoked"} {
		east.says(name, "PeerSuspended")
	}
	for _, c := range []*cluster{west, revoked} {
		c.says("east", "PeerSuspended")
	}
	for _, name := range []string{"late", "nobody"} {
		east.says(name, "InviteExpired")
	}
	west.patch(harness.Operator, "east", `{"spec":{"join":{"connectionString":"`+east.renew("west")+`"}}}`)
	west.says("east", "Active")
	east.says("west", "Active")
	assert.True(t, isReason(east.get("revoked"), "PeerSuspended"))

	// The flag may stay: of a store that was not restored it changes nothing.
	require.NoError(t, east.Stop())
	east = startBehind(t, w, harness.InDir(east.Dir), harness.WithOptions(func(o *options.Options) { o.Peering.AcceptRestoredStore = true }))
	east.says("west", "Active")
	west.says("east", "Active")
}

// S3: a replica that is cut from the store refuses other clusters after 10 seconds, and
// serves them again when the store is back.
func TestS3CutFromTheStore(t *testing.T) {
	t.Parallel()
	etcd := harness.NewExternalEtcd(t)
	etcd.Start(t)
	east := start(t, manyJoins(), harness.WithOptions(func(o *options.Options) {
		o.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint}
	}))
	west := start(t)
	text := east.invite("west", nil)
	west.join("east", text)
	west.says("east", "Active")
	east.says("west", "Active")
	comesTo := func(want client.Failure) {
		t.Helper()
		last := &client.Failure{}
		require.Eventually(t, func() bool {
			last = newStranger(t, "").try(t, text)
			return *last == want
		}, deadline, pollInterval, "%v", last)
	}
	comesTo(client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused})
	etcd.Stop()
	comesTo(client.Failure{Kind: client.Busy}) // 503
	assert.Equal(t, client.Failure{Kind: client.Busy}, *newStranger(t, "").try(t, text))
	code, _ := east.check("ledger")
	assert.Equal(t, http.StatusInternalServerError, code)
	etcd.Start(t)
	comesTo(client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused})
	east.WaitReady(t)
	east.says("west", "Active")
	west.says("east", "Active")
}

// P6: a cluster that has peered is not another one all of a sudden. It is not ready under
// another UUID until somebody says that this is right.
func TestP6ChangedClusterUUID(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	east, west := startBehind(t, w), start(t)
	as := func(clusterUUID string, accept bool) harness.Option {
		return harness.Options(harness.InDir(east.Dir), harness.WithOptions(func(o *options.Options) {
			o.Peering.ClusterUUID, o.Peering.AcceptChangedClusterUUID = clusterUUID, accept
		}))
	}
	// Without a peer it may become anybody.
	require.NoError(t, east.Stop())
	east = startBehind(t, w, as(eastUUID, false))
	west.join("east", east.invite("west", nil))
	east.says("west", "Active")
	assert.Equal(t, eastUUID, uuid(west.says("east", "Active")))
	require.NoError(t, east.Stop())

	const other = "eeeeeeee-0000-4000-8000-000000000002"
	east = unready(t, w, "cluster-uuid", "--accept-changed-cluster-uuid", as(other, false))
	require.NoError(t, east.Stop())

	// Back under the former one, all is as it was.
	east = startBehind(t, w, as(eastUUID, false))
	east.says("west", "Active")
	require.NoError(t, east.Stop())

	east = startBehind(t, w, as(other, true))
	west.says("east", "UUIDMismatch")
	west.delete("east")
	west.gone("east")
	west.join("east", east.renew("west"))
	assert.Equal(t, other, uuid(west.says("east", "Active")))
	east.until("west", "used anew", usedAndActive)
	require.NoError(t, east.Stop())
	east = startBehind(t, w, as(other, false))
	east.says("west", "Active")
}
