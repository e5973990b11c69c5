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
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"entente.dev/entente/apiserver/etcd/datadir"
)

func acquire(t *testing.T, dir string) *datadir.Claim {
	t.Helper()
	claim, err := datadir.Acquire(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, claim.Release()) })
	return claim
}

// Issue 4, backup and restore: a restored store holds what the snapshot held, and
// whoever watches from before is told to read anew, even from what it saw after the
// snapshot.
func TestSnapshotAndRestore(t *testing.T) {
	noLeaks(t)
	server := startStore(t, Config{Dir: t.TempDir()})
	client := dial(t, server)
	require.NoError(t, put(t, client, "/a", "1"))
	require.NoError(t, put(t, client, "/a", "2"))
	path := filepath.Join(t.TempDir(), "snapshot")
	require.NoError(t, SaveSnapshot(t.Context(), client, path))
	require.NoError(t, put(t, client, "/a", "lost"))
	require.NoError(t, put(t, client, "/b", "lost"))
	now, err := client.Get(t.Context(), "/a")
	require.NoError(t, err)
	seen := now.Header.GetRevision()

	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "something else was left in the folder")
	require.ErrorIs(t, SaveSnapshot(t.Context(), client, path), fs.ErrExist)

	claim := acquire(t, filepath.Join(t.TempDir(), "new"))
	require.NoError(t, Restore(claim, path))
	require.ErrorContains(t, Restore(claim, path), "is not empty")
	info, err = os.Stat(filepath.Join(claim.Path(), "etcd"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err = os.ReadDir(claim.Path())
	require.NoError(t, err)
	assert.Len(t, entries, 3, "something else was left in the folder: %v", entries)

	restored := dial(t, startStore(t, Config{Claim: claim}))
	assert.Equal(t, "2", get(t, restored, "/a"))
	gone, err := restored.Get(t.Context(), "/b")
	require.NoError(t, err)
	assert.Empty(t, gone.Kvs)
	assert.Greater(t, gone.Header.GetRevision(), seen+revisionBump/2)
	for _, from := range []int64{2, seen, seen + 1, seen + 1000} {
		_, err := restored.Get(t.Context(), "/a", clientv3.WithRev(from))
		require.ErrorIsf(t, err, rpctypes.ErrCompacted, "revision %d", from)
		response := <-restored.Watch(t.Context(), "/a", clientv3.WithRev(from))
		require.ErrorIsf(t, response.Err(), rpctypes.ErrCompacted, "revision %d", from)
	}
	require.NoError(t, put(t, restored, "/a", "3"))
	assert.Equal(t, "3", get(t, restored, "/a"))
	require.NoError(t, restored.Close())
	require.NoError(t, client.Close())
}

// A snapshot that is damaged, cut, or none is refused and leaves no store.
func TestRestoreRefuses(t *testing.T) {
	client := dial(t, startStore(t, Config{Dir: t.TempDir()}))
	require.NoError(t, put(t, client, "/a", "1"))
	var whole bytes.Buffer
	require.NoError(t, WriteSnapshot(t.Context(), client, &whole))
	flipped := bytes.Clone(whole.Bytes())
	flipped[len(flipped)/2] ^= 1
	for what, content := range map[string][]byte{
		"flipped bit":  flipped,
		"cut":          whole.Bytes()[:whole.Len()-4096],
		"without hash": whole.Bytes()[:whole.Len()-32],
		"text":         bytes.Repeat([]byte("text"), 1000),
		"short":        []byte("text"),
		"empty":        nil,
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "snapshot")
			require.NoError(t, os.WriteFile(path, content, 0o600))
			claim := acquire(t, filepath.Join(t.TempDir(), "new"))
			require.ErrorContains(t, Restore(claim, path), "could not restore the snapshot "+path)
			entries, err := os.ReadDir(claim.Path())
			require.NoError(t, err)
			assert.Len(t, entries, 2, "%v", entries) // lock and version
		})
	}
	t.Run("no file", func(t *testing.T) {
		claim := acquire(t, filepath.Join(t.TempDir(), "new"))
		require.ErrorIs(t, Restore(claim, filepath.Join(t.TempDir(), "none")), fs.ErrNotExist)
	})
}

// damaging is a store whose snapshots arrive damaged.
type damaging struct {
	*clientv3.Client
	damage func([]byte) []byte
}

func (d damaging) SnapshotWithVersion(ctx context.Context) (*clientv3.SnapshotResponse, error) {
	response, err := d.Client.SnapshotWithVersion(ctx)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(response.Snapshot)
	if err != nil {
		return nil, err
	}
	response.Snapshot = io.NopCloser(bytes.NewReader(d.damage(data)))
	return response, nil
}

// A snapshot that arrives damaged leaves no file.
func TestSnapshotIsVerified(t *testing.T) {
	client := dial(t, startStore(t, Config{Dir: t.TempDir()}))
	require.NoError(t, put(t, client, "/a", "1"))
	for what, damage := range map[string]func([]byte) []byte{
		"flipped bit": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"cut":         func(b []byte) []byte { return b[:len(b)-1] },
		"cut to a page, and still of a length that could have a hash": func(b []byte) []byte { return b[:4096+32] },
		"empty": func([]byte) []byte { return nil },
	} {
		path := filepath.Join(t.TempDir(), "snapshot")
		require.ErrorContains(t, SaveSnapshot(t.Context(), damaging{client, damage}, path), "its hash is wrong", what)
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Empty(t, entries, what)
	}
}

// The store of a running server is reached through its socket.
func TestRunningEndpoint(t *testing.T) {
	dir := t.TempDir()
	_, err := RunningEndpoint(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	exists, err := Exists(dir)
	require.NoError(t, err)
	assert.False(t, exists)

	server := startStore(t, Config{Dir: dir})
	require.NoError(t, put(t, dial(t, server), "/a", "1"))
	endpoint, err := RunningEndpoint(dir)
	require.NoError(t, err)
	assert.Equal(t, server.Endpoint(), endpoint)
	client, err := NewClient(t.Context(), storagebackend.TransportConfig{ServerList: []string{endpoint}})
	require.NoError(t, err)
	defer client.Close()
	assert.Equal(t, "1", get(t, client, "/a"))
	exists, err = Exists(dir)
	require.NoError(t, err)
	assert.True(t, exists)
}

func TestClientCertificates(t *testing.T) {
	_, err := NewClient(t.Context(), storagebackend.TransportConfig{ServerList: []string{"https://127.0.0.1:1"}, TrustedCAFile: filepath.Join(t.TempDir(), "none")})
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
