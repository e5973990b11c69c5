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

package encryption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fill stores more values than are read at once, in both resources.
func fill(t testing.TB, client *clientv3.Client, e *Encryption) (count int) {
	t.Helper()
	for i := range rewritePage + 7 {
		put(t, client, e, peers, fmt.Sprintf("p%03d", i), fmt.Sprintf("hello %d", i))
	}
	put(t, client, e, ledger, "a/b/c", "hello")
	return rewritePage + 8
}

// requireAll requires that everything that fill stored is there, encrypted with what
// begins with prefix.
func requireAll(t testing.TB, client *clientv3.Client, e *Encryption, prefix string) {
	t.Helper()
	for i := range rewritePage + 7 {
		name := fmt.Sprintf("p%03d", i)
		plain, stale := get(t, client, e, peers, name)
		require.Equal(t, fmt.Sprintf("hello %d", i), plain)
		require.False(t, stale)
		require.True(t, strings.HasPrefix(getRaw(t, client, keyOf(peers, name)), prefix))
	}
	plain, stale := get(t, client, e, ledger, "a/b/c")
	require.Equal(t, "hello", plain)
	require.False(t, stale)
}

// R17: a new generated key takes the place of the old one, which is gone then.
func TestR17NewKey(t *testing.T) {
	client := startStore(t)
	config := testConfig(client, NewFileStore(t.TempDir()))
	count := fill(t, client, open(t, config))
	before, err := config.Keys.Load(t.Context())
	require.NoError(t, err)

	result, err := Rewrite(t.Context(), config, client, RewriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Current: count}, result, "there was nothing to do")

	result, err = Rewrite(t.Context(), config, client, RewriteOptions{NewKey: true})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Rewritten: count}, result)
	after, err := config.Keys.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, after.Ring.Len())
	assert.NotEqual(t, before.Ring.keys[0].name, after.Ring.keys[0].name)
	assert.NotEqual(t, before.Ring.keys[0].seed, after.Ring.keys[0].seed)
	requireAll(t, client, open(t, config), ringPrefix+after.Ring.keys[0].name+":")
}

// crash is a store that fails at a write, as if the process ended there.
type crash struct {
	*clientv3.Client
	left int
}

var errCrash = errors.New("crash")

func (c *crash) Txn(ctx context.Context) clientv3.Txn {
	if c.left--; c.left < 0 {
		return broken{}
	}
	return c.Client.Txn(ctx)
}

type broken struct{ clientv3.Txn }

func (b broken) If(...clientv3.Cmp) clientv3.Txn      { return b }
func (b broken) Then(...clientv3.Op) clientv3.Txn     { return b }
func (b broken) Else(...clientv3.Op) clientv3.Txn     { return b }
func (broken) Commit() (*clientv3.TxnResponse, error) { return nil, errCrash }

// crashingKeys fails at an update.
type crashingKeys struct {
	KeyStore
	left int
}

func (c *crashingKeys) Update(ctx context.Context, loaded Stored, ring Ring) (Stored, error) {
	if c.left--; c.left < 0 {
		return Stored{}, errCrash
	}
	return c.KeyStore.Update(ctx, loaded, ring)
}

// R17: wherever a rotation ends too early, everything can be read, and the next one
// completes it.
func TestR17NewKeySurvivesACrash(t *testing.T) {
	client := startStore(t)
	config := testConfig(client, NewFileStore(t.TempDir()))
	keys := config.Keys
	fill(t, client, open(t, config))
	for _, tt := range []struct {
		what            string
		updates, writes int
	}{
		{"before there is a key", 0, 1000},
		{"before the first value", 1, 0},
		{"after some values", 1, 3},
		{"after a page", 1, rewritePage + 1},
		{"before the old keys are removed", 1, 1000},
	} {
		t.Run(tt.what, func(t *testing.T) {
			config.Keys = &crashingKeys{KeyStore: keys, left: tt.updates}
			_, err := Rewrite(t.Context(), config, &crash{Client: client, left: tt.writes}, RewriteOptions{NewKey: true})
			require.ErrorIs(t, err, errCrash)
			config.Keys = keys
			e := open(t, config)
			for i := range rewritePage + 7 {
				plain, _ := get(t, client, e, peers, fmt.Sprintf("p%03d", i))
				require.Equal(t, fmt.Sprintf("hello %d", i), plain)
			}
		})
	}
	_, err := Rewrite(t.Context(), config, client, RewriteOptions{NewKey: true})
	require.NoError(t, err)
	stored, err := keys.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, stored.Ring.Len())
	requireAll(t, client, open(t, config), ringPrefix+stored.Ring.keys[0].name+":")
}

// R17: to a configuration file, to another key in it, and back, all the time
// readable by the server.
func TestR17ToAFileAndBack(t *testing.T) {
	client := startStore(t)
	config := testConfig(client, NewFileStore(t.TempDir()))
	count := fill(t, client, open(t, config))

	config.ProviderConfigFile = writeFile(t, "", file(rule(both, gcm("a"))))
	e := open(t, config)
	plain, stale := get(t, client, e, peers, "p000")
	assert.Equal(t, "hello 0", plain, "what the generated key encrypted is read beside the file")
	assert.True(t, stale)
	_, err := Rewrite(t.Context(), config, client, RewriteOptions{NewKey: true})
	require.ErrorContains(t, err, "keys of its own")
	result, err := Rewrite(t.Context(), config, client, RewriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Rewritten: count}, result)
	requireAll(t, client, e, "k8s:enc:aesgcm:v1:a:")

	without := config
	without.ProviderConfigFile = ""
	_, err = Rewrite(t.Context(), without, client, RewriteOptions{})
	require.ErrorContains(t, err, "give that by --encryption-provider-config")
	config.ProviderConfigFile = writeFile(t, "", file(rule(both, box("b"), gcm("a"))))
	result, err = Rewrite(t.Context(), config, client, RewriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Rewritten: count}, result)
	config.ProviderConfigFile = writeFile(t, "", file(rule(both, box("b"))))
	requireAll(t, client, open(t, config), "k8s:enc:secretbox:v1:b:")

	result, err = Rewrite(t.Context(), config, client, RewriteOptions{ToGeneratedKey: true})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Rewritten: count}, result)
	config.ProviderConfigFile = ""
	requireAll(t, client, open(t, config), ringPrefix)
}

// R17: what lies in the clear is encrypted only on demand: it may be planted.
func TestR17Clear(t *testing.T) {
	client := startStore(t)
	keys := NewFileStore(t.TempDir())
	config := testConfig(client, keys)
	key := keyOf(peers, "a")
	putRaw(t, client, key, `{"canary":1}`)
	_, err := Rewrite(t.Context(), config, client, RewriteOptions{})
	require.ErrorContains(t, err, "in the clear")
	stored, err := keys.Load(t.Context())
	require.NoError(t, err)
	assert.Zero(t, stored.Ring.Len())

	result, err := Rewrite(t.Context(), config, client, RewriteOptions{AcceptClear: true})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Rewritten: 1, Clear: 1}, result)
	plain, _ := get(t, client, open(t, config), peers, "a")
	assert.JSONEq(t, `{"canary":1}`, plain)
	assert.NotContains(t, getRaw(t, client, key), "canary")

	putRaw(t, client, keyOf(ledger, "planted"), `{"canary":1}`)
	result, err = Rewrite(t.Context(), config, client, RewriteOptions{})
	require.ErrorIs(t, err, errInTheClear)
	assert.ErrorContains(t, err, keyOf(ledger, "planted"))
	assert.NotContains(t, err.Error(), "canary")
	assert.Equal(t, RewriteResult{Current: 1}, result, "the rest is still done")
}

// R17: nothing is removed or replaced that could still be needed.
func TestR17RewriteLeavesWhatItCannotRead(t *testing.T) {
	client := startStore(t)
	config := testConfig(client, NewFileStore(t.TempDir()))
	e := open(t, config)
	put(t, client, e, peers, "a", "hello")
	putRaw(t, client, keyOf(peers, "damaged"), ringPrefix+"abc:damaged")
	putRaw(t, client, keyOf(schema.GroupResource{Group: "peering.test", Resource: "unknown"}, "x"), "hello")
	result, err := Rewrite(t.Context(), config, client, RewriteOptions{NewKey: true})
	require.ErrorContains(t, err, keyOf(peers, "damaged"))
	require.ErrorContains(t, err, "unknown/x anew: it belongs to no resource that this version knows")
	assert.Equal(t, 1, result.Rewritten)
	stored, err := config.Keys.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, stored.Ring.Len(), "the old key was removed")
	assert.Equal(t, ringPrefix+"abc:damaged", getRaw(t, client, keyOf(peers, "damaged")))

	lost := config
	lost.Keys = NewFileStore(t.TempDir())
	_, err = Rewrite(t.Context(), lost, client, RewriteOptions{})
	require.ErrorContains(t, err, "encrypted with a key that is not in the file")
	_, err = Rewrite(t.Context(), lost, client, RewriteOptions{NewKey: true})
	require.ErrorContains(t, err, "there is none yet")
	stored, err = lost.Keys.Load(t.Context())
	require.NoError(t, err)
	assert.Zero(t, stored.Ring.Len(), "a lost key was replaced")
}

// busy is a store whose values change between being read and being written.
type busy struct {
	*clientv3.Client
	meanwhile func()
}

func (b *busy) Txn(ctx context.Context) clientv3.Txn {
	if meanwhile := b.meanwhile; meanwhile != nil {
		b.meanwhile = nil
		meanwhile()
	}
	return b.Client.Txn(ctx)
}

// R17: a server that writes meanwhile loses nothing.
func TestR17RewriteBesideAServer(t *testing.T) {
	client := startStore(t)
	config := testConfig(client, nil)
	config.ProviderConfigFile = writeFile(t, "", file(rule(both, gcm("a"))))
	old := open(t, config)
	lease, err := client.Grant(t.Context(), 3600)
	require.NoError(t, err)
	put(t, client, old, peers, "a", "hello")
	put(t, client, old, peers, "b", "hello")
	_, err = client.Put(t.Context(), keyOf(peers, "a"), getRaw(t, client, keyOf(peers, "a")), clientv3.WithLease(lease.ID))
	require.NoError(t, err)
	config.ProviderConfigFile = writeFile(t, "", file(rule(both, box("b"), gcm("a"))))

	result, err := Rewrite(t.Context(), config, &busy{Client: client, meanwhile: func() {
		_, err := client.Put(t.Context(), keyOf(peers, "a"), "", clientv3.WithIgnoreValue(), clientv3.WithLease(lease.ID))
		require.NoError(t, err)
	}}, RewriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Rewritten: 2}, result, "a changed value is taken as it is then")
	response, err := client.Get(t.Context(), keyOf(peers, "a"))
	require.NoError(t, err)
	assert.Equal(t, int64(lease.ID), response.Kvs[0].Lease, "the value expires no more")

	put(t, client, old, peers, "a", "one")
	put(t, client, old, peers, "b", "two")
	_, err = Rewrite(t.Context(), config, &busy{Client: client, meanwhile: func() {
		put(t, client, old, peers, "a", "changed")
	}}, RewriteOptions{})
	require.NoError(t, err)
	plain, stale := get(t, client, open(t, config), peers, "a")
	assert.Equal(t, "changed", plain, "a write was lost")
	assert.False(t, stale)

	put(t, client, old, peers, "a", "one")
	result, err = Rewrite(t.Context(), config, &busy{Client: client, meanwhile: func() {
		_, err := client.Delete(t.Context(), keyOf(peers, "a"))
		require.NoError(t, err)
	}}, RewriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, RewriteResult{Current: 1}, result)
	gone, err := client.Get(t.Context(), keyOf(peers, "a"))
	require.NoError(t, err)
	assert.Empty(t, gone.Kvs, "what was deleted came back")
}
