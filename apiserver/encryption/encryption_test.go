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
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"

	"entente.dev/entente/apiserver/etcd"
)

const testPrefix = "/registry/test/"

var (
	peers  = schema.GroupResource{Group: "peering.test", Resource: "peers"}
	ledger = schema.GroupResource{Group: "test", Resource: "ledger"}
)

// startStore starts an etcd and returns a client of it.
func startStore(t testing.TB) *clientv3.Client {
	t.Helper()
	store, err := etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(t.TempDir(), "data")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	client, err := etcd.NewClient(context.WithoutCancel(t.Context()), storagebackend.TransportConfig{ServerList: []string{store.Endpoint()}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

func testConfig(store Reader, keys KeyStore) Config {
	return Config{Resources: []schema.GroupResource{peers, ledger}, Keys: keys, Store: store, Prefix: testPrefix, ServerID: "test"}
}

// open is New, closed when the test ends.
func open(t testing.TB, config Config) *Encryption {
	t.Helper()
	e, err := New(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func keyOf(resource schema.GroupResource, name string) string {
	return testPrefix + resource.Group + "/" + resource.Resource + "/" + name
}

// put stores a value as the library does.
func put(t testing.TB, client *clientv3.Client, e *Encryption, resource schema.GroupResource, name, plain string) {
	t.Helper()
	key := keyOf(resource, name)
	out, err := e.TransformerForResource(resource).TransformToStorage(t.Context(), []byte(plain), value.DefaultContext(key))
	require.NoError(t, err)
	putRaw(t, client, key, string(out))
}

func putRaw(t testing.TB, client *clientv3.Client, key, raw string) {
	t.Helper()
	_, err := client.Put(t.Context(), key, raw)
	require.NoError(t, err)
}

func getRaw(t testing.TB, client *clientv3.Client, key string) string {
	t.Helper()
	response, err := client.Get(t.Context(), key)
	require.NoError(t, err)
	require.Len(t, response.Kvs, 1)
	return string(response.Kvs[0].Value)
}

// get reads a value as the library does.
func get(t testing.TB, client *clientv3.Client, e *Encryption, resource schema.GroupResource, name string) (plain string, stale bool) {
	t.Helper()
	key := keyOf(resource, name)
	out, stale, err := e.TransformerForResource(resource).TransformFromStorage(t.Context(), []byte(getRaw(t, client, key)), value.DefaultContext(key))
	require.NoError(t, err)
	return string(out), stale
}

// secretOf is a key for a configuration file, the same for the same letter.
func secretOf(letter string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

const (
	identity = "identity: {}"
	both     = "peers.peering.test, ledger.test"
)

func gcm(letter string) string {
	return fmt.Sprintf("aesgcm: {keys: [{name: %s, secret: %s}]}", letter, secretOf(letter))
}

func box(letter string) string {
	return fmt.Sprintf("secretbox: {keys: [{name: %s, secret: %s}]}", letter, secretOf(letter))
}

// rule is an entry of a configuration file.
func rule(resources string, providers ...string) string {
	text := fmt.Sprintf("- resources: [%s]\n  providers:\n", resources)
	for _, provider := range providers {
		text += "  - " + provider + "\n"
	}
	return text
}

func file(rules ...string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" + strings.Join(rules, "")
}

func writeFile(t testing.TB, path, content string) string {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "encryption.yaml")
	}
	// As an editor or a mounted Secret does: whole or not at all.
	require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	return path
}

// R17: a configuration that leaves one of our resources in the clear is refused; a
// key of the file is never quoted.
func TestR17ConfigurationsAreTried(t *testing.T) {
	const refused = "in the clear"
	client := startStore(t)
	tests := []struct{ what, content, refused string }{
		{what: "both named", content: file(rule(both, gcm("a")))},
		{what: "both by any", content: file(rule("'*.*'", box("a")))},
		{what: "both by group", content: file(rule("'*.peering.test', '*.test'", box("a")))},
		{what: "two rules", content: file(rule("peers.peering.test", gcm("a")), rule("'*.*'", box("b")))},
		{what: "identity reads", content: file(rule(both, box("a"), identity))},
		{what: "others in the clear", content: file(rule("pods", identity), rule("'*.*'", box("a")))},
		{what: "one omitted", content: file(rule("peers.peering.test", gcm("a"))), refused: "it would store ledger.test in the clear; name it there (or *.test, or *.*)"},
		{what: "both omitted", content: file(rule("secrets", gcm("a"))), refused: "peers.peering.test, ledger.test in the clear"},
		{what: "the wrong group", content: file(rule("peers.test, ledger.test", gcm("a"))), refused: refused},
		{what: "no group", content: file(rule("peers, ledger", gcm("a"))), refused: refused},
		{what: "core group only", content: file(rule("'*.'", gcm("a"))), refused: refused},
		{what: "identity first", content: file(rule(both, identity, gcm("a"))), refused: refused},
		{what: "identity first for one", content: file(rule("peers.peering.test", gcm("a")), rule("ledger.test", identity)), refused: "ledger.test in the clear"},
		{what: "identity only", content: file(rule("'*.*'", identity)), refused: refused},
		{what: "the first of two rules wins", content: file(rule("ledger.test", identity), rule("'*.*'", gcm("a"))), refused: "ledger.test in the clear"},
		{what: "empty", content: "", refused: "is empty"},
		{what: "no providers", content: file(rule(both)), refused: "at least one resources[0].providers is required"},
		{what: "not YAML", content: "{", refused: "could not use --encryption-provider-config"},
		{what: "no kind", content: "apiVersion: apiserver.config.k8s.io/v1\nresources:\n" + rule(both, gcm("a")), refused: "apiVersion and kind are missing"},
		{what: "no apiVersion", content: "kind: EncryptionConfiguration\nresources:\n" + rule(both, gcm("a")), refused: "apiVersion and kind are missing"},
		{what: "another kind", content: strings.Replace(file(rule(both, gcm("a"))), "EncryptionConfiguration", "AdmissionConfiguration", 1), refused: "could not use"},
		{what: "short key", content: strings.Replace(file(rule(both, gcm("a"))), secretOf("a"), secretOf("a")[:24], 1), refused: "could not use"},
		{what: "no base64", content: strings.Replace(file(rule(both, gcm("a"))), secretOf("a"), secretOf("a")+"!", 1), refused: "could not use"},
		{what: "key as a number", content: strings.Replace(file(rule(both, gcm("a"))), secretOf("a"), "[ "+secretOf("a")+" ]", 1), refused: "could not use"},
		{what: "unknown field", content: strings.Replace(file(rule(both, gcm("a"))), "secret:", "secrets:", 1), refused: "could not use"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			config := testConfig(client, NewFileStore(t.TempDir()))
			config.ProviderConfigFile = writeFile(t, "", tt.content)
			e, err := New(t.Context(), config)
			if tt.refused != "" {
				require.ErrorContains(t, err, tt.refused)
				assert.ErrorContains(t, err, config.ProviderConfigFile)
				assert.NotContains(t, err.Error(), secretOf("a")[:12])
				return
			}
			require.NoError(t, err)
			defer e.Close()
			for _, resource := range []schema.GroupResource{peers, ledger} {
				require.NoError(t, try(t.Context(), resource, e.TransformerForResource(resource)))
			}
			stored, err := config.Keys.Load(t.Context())
			require.NoError(t, err)
			assert.Zero(t, stored.Ring.Len(), "a key was made though the file has one")
		})
	}
	t.Run("no file", func(t *testing.T) {
		config := testConfig(client, nil)
		config.ProviderConfigFile = filepath.Join(t.TempDir(), "none")
		_, err := New(t.Context(), config)
		assert.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("nothing at all", func(t *testing.T) {
		_, err := New(t.Context(), testConfig(client, nil))
		assert.ErrorContains(t, err, "nowhere to keep a generated key")
	})
}

// R17: whatever a transformer does later, nothing is written in the clear, and what
// was never tried cannot be stored.
func TestR17EveryWriteIsChecked(t *testing.T) {
	broken := &transformer{providers: plain{}}
	_, err := broken.TransformToStorage(t.Context(), []byte("canary"), value.DefaultContext("k"))
	require.ErrorIs(t, err, errClear)
	assert.NotContains(t, err.Error(), "canary")

	e := open(t, testConfig(startStore(t), NewFileStore(t.TempDir())))
	forgotten := schema.GroupResource{Group: "peering.test", Resource: "forgotten"}
	_, err = e.TransformerForResource(forgotten).TransformToStorage(t.Context(), []byte("canary"), value.DefaultContext("k"))
	assert.ErrorContains(t, err, "forgotten.peering.test: its encryption was not tried")
	_, _, err = e.TransformerForResource(forgotten).TransformFromStorage(t.Context(), []byte("canary"), value.DefaultContext("k"))
	assert.Error(t, err)
}

// plain encrypts nothing.
type plain struct{}

func (plain) TransformFromStorage(_ context.Context, data []byte, _ value.Context) ([]byte, bool, error) {
	return data, false, nil
}

func (plain) TransformToStorage(_ context.Context, data []byte, _ value.Context) ([]byte, error) {
	return data, nil
}

// trick says that it encrypts.
type trick struct{ plain }

func (trick) TransformToStorage(_ context.Context, data []byte, _ value.Context) ([]byte, error) {
	return append([]byte(encryptedPrefix+"trick:v1:"), data...), nil
}

// forgetful does not give back what it got.
type forgetful struct{ plain }

func (forgetful) TransformToStorage(context.Context, []byte, value.Context) ([]byte, error) {
	return []byte(encryptedPrefix + "forgetful:v1:"), nil
}

func TestTry(t *testing.T) {
	assert.ErrorIs(t, try(t.Context(), peers, plain{}), errClear)
	assert.ErrorIs(t, try(t.Context(), peers, trick{}), errClear)
	err := try(t.Context(), peers, forgetful{})
	require.Error(t, err)
	assert.NotErrorIs(t, err, errClear)
}

// R17: a lost key is never replaced, and each refusal says what to do.
func TestR17LostKeys(t *testing.T) {
	withFile := func(content string) func(t *testing.T, config *Config) {
		return func(t *testing.T, config *Config) { config.ProviderConfigFile = writeFile(t, "", content) }
	}
	nothing := func(*testing.T, *Config) {}
	tests := []struct {
		what          string
		before, after func(t *testing.T, config *Config)
		// value is stored, unless it is empty: then what before encrypts is.
		value   string
		refused string
	}{
		{what: "nothing changed", before: nothing, after: nothing},
		{what: "key gone", before: nothing, after: func(t *testing.T, config *Config) { config.Keys = NewFileStore(t.TempDir()) }, refused: "encrypted with a key that is not in the file"},
		{what: "another key", before: nothing, after: func(t *testing.T, config *Config) {
			config.Keys = NewFileStore(t.TempDir())
			_, err := config.Keys.Create(t.Context(), newRing(t))
			require.NoError(t, err)
		}, refused: "encrypted with a key that is not in the file"},
		{what: "a file instead of a lost key", before: nothing, after: func(t *testing.T, config *Config) {
			config.Keys = NewFileStore(t.TempDir())
			config.ProviderConfigFile = writeFile(t, "", file(rule(both, gcm("a"))))
		}, refused: "encrypted with a key that is not in the file"},
		{what: "a file beside the key", before: nothing, after: withFile(file(rule(both, gcm("a"))))},
		{what: "no file any more", before: withFile(file(rule(both, gcm("a")))), after: func(_ *testing.T, config *Config) { config.ProviderConfigFile = "" }, refused: "by a provider of an encryption configuration (k8s:enc:aesgcm:v1:); give that by --encryption-provider-config, or go back"},
		{what: "another file", before: withFile(file(rule(both, gcm("a")))), after: withFile(file(rule(both, box("a")))), refused: "its data (k8s:enc:aesgcm:v1:) cannot be read with --encryption-provider-config"},
		{what: "a file with the old key", before: withFile(file(rule(both, gcm("a")))), after: withFile(file(rule(both, box("a"), gcm("a"))))},
		{what: "clear", before: nothing, after: nothing, value: `{"a":"canary"}`, refused: "run `entente-apiserver storage rewrite --accept-clear` once"},
		{what: "clear, and a first start", before: nothing, after: func(t *testing.T, config *Config) { config.Keys = NewFileStore(t.TempDir()) }, value: `{"a":"canary"}`, refused: "storage rewrite --accept-clear"},
		{what: "clear, and a file", before: nothing, after: withFile(file(rule(both, gcm("a")))), value: `{"a":"canary"}`, refused: "storage rewrite --accept-clear"},
		{what: "clear, and identity reads", before: nothing, after: withFile(file(rule(both, gcm("a"), identity))), value: `{"a":"canary"}`},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			client := startStore(t)
			config := testConfig(client, NewFileStore(t.TempDir()))
			tt.before(t, &config)
			e := open(t, config)
			if tt.value == "" {
				put(t, client, e, peers, "a", "hello")
			} else {
				putRaw(t, client, keyOf(peers, "a"), tt.value)
			}
			// What is not ours does not count.
			putRaw(t, client, "/registry/else/a", "hello")

			tt.after(t, &config)
			before, err := config.Keys.Load(t.Context())
			require.NoError(t, err)
			again, err := New(t.Context(), config)
			if tt.refused == "" {
				require.NoError(t, err)
				again.Close()
				return
			}
			require.ErrorContains(t, err, tt.refused)
			assert.NotContains(t, err.Error(), "canary")
			after, err := config.Keys.Load(t.Context())
			require.NoError(t, err)
			assert.Equal(t, before, after, "the keys were changed")
		})
	}
	t.Run("a damaged value is not a lost key", func(t *testing.T) {
		client := startStore(t)
		config := testConfig(client, NewFileStore(t.TempDir()))
		e := open(t, config)
		putRaw(t, client, keyOf(peers, "a"), "damaged")
		put(t, client, e, peers, "b", "hello")
		open(t, config)
	})
}

// late is a KeyStore in which another server keeps a key after this one has looked.
type late struct {
	KeyStore
	looked bool
}

func (l *late) Load(ctx context.Context) (Stored, error) {
	if !l.looked {
		l.looked = true
		return Stored{}, nil
	}
	return l.KeyStore.Load(ctx)
}

// R17: a replica that starts while another makes the key does not think it lost.
func TestR17TwoFirstStarts(t *testing.T) {
	client := startStore(t)
	config := testConfig(client, NewSecretStore(emptySecret(t), "entente", SecretName))
	put(t, client, open(t, config), peers, "a", "hello")
	config.Keys = &late{KeyStore: config.Keys}
	plain, stale := get(t, client, open(t, config), peers, "a")
	assert.Equal(t, "hello", plain)
	assert.False(t, stale)
}
