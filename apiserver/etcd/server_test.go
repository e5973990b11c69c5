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

package etcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/klog/v2/ktesting"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// patience is how long a test waits for what has to happen, on a slow machine
// with the race detector.
const patience = 30 * time.Second

// noLeaks fails the test if goroutines are left when everything is closed.
func noLeaks(t *testing.T) {
	t.Helper()
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, current) })
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	return ctx
}

func startStore(t *testing.T, config Config) *Server {
	t.Helper()
	server, err := Start(testContext(t), config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	return server
}

func dial(t *testing.T, server *Server) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, DialTimeout: patience})
	require.NoError(t, err)
	// A test that closes it earlier has its own look at the error.
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func put(t *testing.T, client *clientv3.Client, key, value string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := client.Put(ctx, key, value)
	return err
}

func get(t *testing.T, client *clientv3.Client, key string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	response, err := client.Get(ctx, key)
	require.NoError(t, err)
	require.Len(t, response.Kvs, 1)
	return string(response.Kvs[0].Value)
}

// Design section 3: storage by default; llmtrace#275: two replicas on one
// folder, the second refuses.
func TestRestartKeepsData(t *testing.T) {
	noLeaks(t)
	dir := filepath.Join(t.TempDir(), "data")

	begin := time.Now()
	first := startStore(t, Config{Dir: dir})
	t.Logf("ready after %s", time.Since(begin))
	client := dial(t, first)
	require.NoError(t, put(t, client, "key", "value"))

	_, err := Start(testContext(t), Config{Dir: dir})
	require.ErrorIs(t, err, datadir.ErrInUse)
	assert.Equal(t, "value", get(t, client, "key"), "the refused start left the first store alone")
	assert.NoError(t, first.Err())

	require.NoError(t, client.Close())
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "closing twice is harmless")
	assert.ErrorIs(t, first.Err(), ErrClosed)
	<-first.Done()

	begin = time.Now()
	second := startStore(t, Config{Dir: dir})
	t.Logf("ready again after %s", time.Since(begin))
	assert.Equal(t, "value", get(t, dial(t, second), "key"))
}

// Design section 3: the client of the API server reaches the store through the
// socket.
func TestAPIServerClient(t *testing.T) {
	server := startStore(t, Config{Dir: t.TempDir()})
	config := storagebackend.NewDefaultConfig("/registry/entente", nil)
	config.Transport.ServerList = []string{server.Endpoint()}
	stop := make(chan struct{})
	defer close(stop)
	ready, err := factory.CreateReadyCheck(*config, stop)
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, ready()) }, patience, 50*time.Millisecond)
}

// Design section 3: data under DIR/etcd, a socket in a 0700 folder.
func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	server := startStore(t, Config{Dir: dir})
	socket := strings.TrimPrefix(server.Endpoint(), "unix://")
	assert.Equal(t, filepath.Join(dir, "run", "etcd.sock"), socket)
	for path, mode := range map[string]os.FileMode{
		dir:                                  0o700,
		filepath.Join(dir, "etcd"):           0o700,
		filepath.Join(dir, "etcd", "member"): 0o700,
		filepath.Dir(socket):                 0o700,
		socket:                               os.ModeSocket | 0o600,
		filepath.Join(dir, "lock"):           0o600,
		filepath.Join(dir, "version"):        0o600,
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode()&(os.ModeSocket|os.ModePerm), path)
	}
	require.NoError(t, server.Close())
	assert.NoDirExists(t, filepath.Dir(socket), "Close removes the socket's folder")
}

// Design section 3: socket paths end at 107 bytes.
func TestUnsuitableSocketPath(t *testing.T) {
	for name, last := range map[string]string{
		"long":    strings.Repeat("x", 120),
		"unusual": "a b%20?c#d",
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			dir := filepath.Join(t.TempDir(), last)
			server := startStore(t, Config{Dir: dir})
			client := dial(t, server)
			require.NoError(t, put(t, client, "key", "value"))

			folder := filepath.Dir(strings.TrimPrefix(server.Endpoint(), "unix://"))
			assert.Equal(t, filepath.Clean(os.TempDir()), filepath.Dir(folder))
			info, err := os.Stat(folder)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
			require.NoError(t, client.Close())
			require.NoError(t, server.Close())
			assert.NoDirExists(t, folder)
		})
	}
	t.Run("nowhere", func(t *testing.T) {
		long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
		require.NoError(t, os.Mkdir(long, 0o700))
		t.Setenv("TMPDIR", long)
		_, err := Start(testContext(t), Config{Dir: long})
		require.ErrorContains(t, err, "set TMPDIR")
	})
}

func TestStartRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		config Config
		says   string
	}{
		"no folder":       {config: Config{}, says: "no path given"},
		"quota too low":   {config: Config{QuotaBackendBytes: 1 << 20}, says: "the quota of 1048576 bytes"},
		"quota too high":  {config: Config{QuotaBackendBytes: 9 << 30}, says: "is not between"},
		"negative time":   {config: Config{MaintenanceInterval: -1}, says: "must not be negative"},
		"share above one": {config: Config{DefragmentFreeShare: 1.5}, says: "is not between 0 and 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(testContext(t), tc.config)
			require.ErrorContains(t, err, tc.says)
		})
	}
	t.Run("newer format", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "version"), []byte("2\n"), 0o600))
		_, err := Start(testContext(t), Config{Dir: dir})
		require.ErrorIs(t, err, datadir.ErrNewerFormat)
		assert.NoDirExists(t, filepath.Join(dir, "etcd"))
	})
	t.Run("canceled", func(t *testing.T) {
		noLeaks(t)
		ctx, cancel := context.WithCancel(testContext(t))
		cancel()
		dir := t.TempDir()
		if server, err := Start(ctx, Config{Dir: dir}); err == nil {
			require.NoError(t, server.Close(), "it may be ready before it looks")
		}
		claim, err := datadir.Acquire(dir)
		require.NoError(t, err, "the folder is free again")
		require.NoError(t, claim.Release())
	})
}

// A caller that needs the folder before the store does holds the claim itself.
func TestClaimOfCaller(t *testing.T) {
	claim, err := datadir.Acquire(t.TempDir())
	require.NoError(t, err)
	server := startStore(t, Config{Claim: claim})
	require.NoError(t, server.Close())
	_, err = datadir.Acquire(claim.Path())
	require.ErrorIs(t, err, datadir.ErrInUse, "Close leaves the caller's claim")
	require.NoError(t, claim.Release())
}
