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
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/test/harness"
)

// inTheClear stores everything as it is, as nothing but a test can.
type inTheClear struct{}

func (inTheClear) TransformerForResource(schema.GroupResource) value.Transformer {
	return identity.NewEncryptCheckTransformer()
}

func withoutEncryption() harness.Option {
	return harness.WithTransformers(func(value.ResourceTransformers) value.ResourceTransformers { return inTheClear{} })
}

// atRest is all that is stored, as an EncryptionConfiguration names it.
const atRest = "clusterpeers.peering.entente.dev, peeringcapabilities.peering.entente.dev, projectpeers.peering.entente.dev, tokenexchangeproviders.peering.entente.dev, " +
	"clusters.core.convoy.kumodo.io, releases.core.convoy.kumodo.io, ledger.peering.entente.dev"

// encryptionFile is an EncryptionConfiguration for all that is stored, each by its name.
func encryptionFile(providers ...string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n" +
		"- resources: [" + atRest + "]\n  providers:\n  - " + strings.Join(providers, "\n  - ") + "\n"
}

func secretbox(name string) string {
	return fmt.Sprintf("secretbox: {keys: [{name: %s, secret: %s}]}", name, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name, 32))[:32]))
}

func withEncryptionFile(path string) harness.Option {
	return harness.WithOptions(func(o *options.Options) { o.Etcd.EncryptionProviderConfigFilepath = path })
}

// replaceFile replaces a file as an editor does, whole or not at all.
func replaceFile(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

const (
	canarySpec     = "entente1.canary-spec-7f3a.x"
	canaryStatus   = "entente1.canary-status-91bc.x"
	canaryLabel    = "canary-label-55d0"
	canaryReplaced = "entente1.canary-replaced-0c1e.x"
)

func canaries() []string { return []string{canarySpec, canaryStatus, canaryLabel, canaryReplaced} }

// startStill starts a server without controllers, so that canaries stay where they are
// put.
func startStill(t testing.TB, opts ...harness.Option) *harness.Server {
	t.Helper()
	return harness.Start(t, append(opts, harness.WithoutControllers())...)
}

// writeCanaries puts canaries into all sensitive fields and a label, and replaces
// and deletes some.
func writeCanaries(t testing.TB, s *harness.Server) {
	t.Helper()
	peers := s.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers()
	for _, name := range []string{"east", "west"} {
		peer := lifecycleJoin(name)
		peer.Labels = map[string]string{"canary": canaryLabel}
		peer.Spec.Join.ConnectionString = canaryReplaced
		_, err := peers.Create(t.Context(), peer, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = peers.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"join":{"connectionString":%q}}}`, canarySpec), metav1.PatchOptions{})
		require.NoError(t, err)
		_, err = peers.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"status":{"invite":{"connectionString":%q}}}`, canaryStatus), metav1.PatchOptions{}, "status")
		require.NoError(t, err)
	}
	require.NoError(t, peers.Delete(t.Context(), "west", metav1.DeleteOptions{}))
	_, err := peers.Patch(t.Context(), "west", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = peers.Get(t.Context(), "west", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

// requireCanaries requires that the object is there and whole.
func requireCanaries(t testing.TB, s *harness.Server) {
	t.Helper()
	peer, err := s.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers().Get(t.Context(), "east", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, canarySpec, peer.Spec.Join.ConnectionString)
	assert.Equal(t, canaryStatus, peer.Status.Invite.ConnectionString)
	assert.Equal(t, canaryLabel, peer.Labels["canary"])
}

// search returns which of the words are in files of the folder, that of the keys
// apart.
func search(t testing.TB, dir string, words ...string) map[string]bool {
	t.Helper()
	found, files := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "keys" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files[filepath.Ext(path)] = true
		for _, word := range words {
			if bytes.Contains(content, []byte(word)) {
				found[word] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.True(t, files[".wal"], "the log was not searched: %v", files)
	return found
}

// R17: neither the database nor the log on disk shows anything of an object, labels
// and old values included; and the search would find it.
func TestR17RawBytes(t *testing.T) {
	for name, opts := range map[string][]harness.Option{
		"generated key": nil,
		"file":          {withEncryptionFile(harness.File(t, "encryption.yaml", encryptionFile(secretbox("a"))))},
	} {
		t.Run(name, func(t *testing.T) {
			s := startStill(t, opts...)
			writeCanaries(t, s)
			assert.Empty(t, search(t, s.Dir, canaries()...), "while it runs")
			require.NoError(t, s.Stop())
			assert.Empty(t, search(t, s.Dir, canaries()...))
			assert.True(t, search(t, s.Dir, "k8s:enc:")["k8s:enc:"])

			again := startStill(t, append(opts, harness.InDir(s.Dir))...)
			requireCanaries(t, again)
		})
	}
	t.Run("without encryption the search finds them", func(t *testing.T) {
		s := startStill(t, withoutEncryption())
		writeCanaries(t, s)
		require.NoError(t, s.Stop())
		assert.Len(t, search(t, s.Dir, canaries()...), len(canaries()))
		assert.Empty(t, search(t, s.Dir, "k8s:enc:"))
	})
}

// R17: the generated key is a private file apart from the data, and once lost it is
// not replaced.
func TestR17GeneratedKey(t *testing.T) {
	s := startStill(t)
	writeCanaries(t, s)
	require.NoError(t, s.Stop())
	path := filepath.Join(s.Dir, "keys", "encryption.json")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	key, err := os.ReadFile(path)
	require.NoError(t, err)
	var kept struct{ Keys []struct{ Seed []byte } }
	require.NoError(t, json.Unmarshal(key, &kept))
	require.Len(t, kept.Keys, 1)
	assert.Empty(t, search(t, s.Dir, string(kept.Keys[0].Seed), base64.StdEncoding.EncodeToString(kept.Keys[0].Seed)), "the key lies beside the data")

	require.NoError(t, os.Remove(path))
	_, err = harness.New(t, harness.InDir(s.Dir))
	require.ErrorContains(t, err, "its data is encrypted with a key that is not in the file "+path)
	require.NoFileExists(t, path)
	require.NoError(t, os.WriteFile(path, key, 0o600))
	requireCanaries(t, startStill(t, harness.InDir(s.Dir)))
}

// R17: the server does not start with a configuration that leaves one of our kinds, or
// the ledger, in the clear.
func TestR17RefusesTheClear(t *testing.T) {
	for _, tt := range []struct{ what, content, names string }{
		{"omitted", strings.Replace(encryptionFile(secretbox("a")), "clusterpeers.", "clusterpeer.", 1), "clusterpeers.peering.entente.dev"},
		{"capabilities omitted", strings.Replace(encryptionFile(secretbox("a")), "peeringcapabilities.", "peeringcapability.", 1), "peeringcapabilities.peering.entente.dev"},
		{"project peers omitted", strings.Replace(encryptionFile(secretbox("a")), "projectpeers.", "projectpeer.", 1), "projectpeers.peering.entente.dev"},
		{"providers omitted", strings.Replace(encryptionFile(secretbox("a")), "tokenexchangeproviders.", "tokenexchangeprovider.", 1), "tokenexchangeproviders.peering.entente.dev"},
		{"clusters omitted, which are not served", strings.Replace(encryptionFile(secretbox("a")), "clusters.", "cluster.", 1), "clusters.core.convoy.kumodo.io"},
		{"releases omitted, which are not served", strings.Replace(encryptionFile(secretbox("a")), "releases.", "release.", 1), "releases.core.convoy.kumodo.io"},
		{"ledger omitted", strings.Replace(encryptionFile(secretbox("a")), "ledger.", "ledgers.", 1), "ledger.peering.entente.dev"},
		{"identity first", encryptionFile("identity: {}", secretbox("a")), atRest},
	} {
		path := harness.File(t, "encryption.yaml", tt.content)
		_, err := harness.New(t, withEncryptionFile(path))
		require.ErrorContainsf(t, err, "could not use --encryption-provider-config "+path+": it would store "+tt.names+" in the clear", tt.what)
	}
	_, err := harness.New(t, harness.WithOptions(func(o *options.Options) { o.Etcd.EncryptionProviderConfigAutomaticReload = true }))
	assert.ErrorContains(t, err, "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config")
}

// storeClient is a client of the embedded store of a running server.
func storeClient(t testing.TB, s *harness.Server) *clientv3.Client {
	t.Helper()
	endpoint, err := etcd.RunningEndpoint(s.Dir)
	require.NoError(t, err)
	client, err := etcd.NewClient(context.WithoutCancel(t.Context()), storagebackend.TransportConfig{ServerList: []string{endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// stored is the object as it is in the store.
func stored(ctx context.Context, t testing.TB, client *clientv3.Client, name string) string {
	t.Helper()
	response, err := client.Get(ctx, "/registry/entente.dev/peering.entente.dev/clusterpeers/"+name)
	require.NoError(t, err)
	require.Len(t, response.Kvs, 1)
	return string(response.Kvs[0].Value)
}

// touch changes an object, so that it is stored anew.
func touch(ctx context.Context, t testing.TB, s *harness.Server, name string) error {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":"t%d"}}}`, time.Now().UnixNano())
	_, err := s.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// refusedReloads is the library's metric of reloads that failed, of all servers of
// this process.
func refusedReloads(t testing.TB, s *harness.Server) (count float64) {
	t.Helper()
	code, body := lifecycleGet(t, s.HTTP(t, harness.Admin), s.Base+"/metrics")
	require.Equal(t, http.StatusOK, code)
	match := regexp.MustCompile(`(?m)^apiserver_encryption_config_controller_automatic_reloads_total\{.*status="failure"\} (\S+)$`).FindStringSubmatch(body)
	if match == nil {
		return 0
	}
	count, err := strconv.ParseFloat(match[1], 64)
	require.NoError(t, err)
	return count
}

// R17: keys in the file are rotated while the server runs and is read from; an
// update that changes nothing encrypts anew, even by who may not read the values.
func TestR17RotationWhileReading(t *testing.T) {
	path := harness.File(t, "encryption.yaml", encryptionFile(secretbox("a")))
	s := harness.Start(t, withEncryptionFile(path), harness.WithOptions(func(o *options.Options) { o.Etcd.EncryptionProviderConfigAutomaticReload = true }))
	const count = 10
	for i := range count {
		lifecycleCreate(t, s, fmt.Sprintf("peer-%d", i))
		lifecyclePeer(t, s, fmt.Sprintf("peer-%d", i))
	}
	lifecycleCreate(t, s, "touched")
	lifecyclePeer(t, s, "touched")
	client := storeClient(t, s)
	writesWith := func(prefix string) {
		t.Helper()
		harness.Eventually(t, "the server writes with "+prefix, func(ctx context.Context) bool {
			require.NoError(t, touch(ctx, t, s, "touched"))
			return strings.HasPrefix(stored(ctx, t, client, "touched"), prefix)
		})
	}
	writesWith("k8s:enc:secretbox:v1:a:")

	reading, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var reads int
	readers.Go(func() {
		peers := s.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers()
		for reading.Err() == nil {
			list, err := peers.List(t.Context(), metav1.ListOptions{})
			if !assert.NoError(t, err) || !assert.Len(t, list.Items, count+1) {
				return
			}
			for _, peer := range list.Items {
				assert.Equal(t, lifecycleValue(peer.Name), peer.Spec.Join.ConnectionString)
			}
			_, err = peers.Get(t.Context(), "peer-0", metav1.GetOptions{})
			assert.NoError(t, err)
			reads++
		}
	})
	t.Cleanup(readers.Wait)
	t.Cleanup(stop)

	// One that would store in the clear is not taken, and what was in use stays.
	refused := refusedReloads(t, s)
	replaceFile(t, path, encryptionFile("identity: {}", secretbox("a")))
	harness.Eventually(t, "the server refuses the file", func(context.Context) bool { return refusedReloads(t, s) > refused })
	writesWith("k8s:enc:secretbox:v1:a:")
	replaceFile(t, path, encryptionFile(secretbox("b"), secretbox("a")))
	writesWith("k8s:enc:secretbox:v1:b:")

	peers := s.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers()
	for i := range count {
		name := fmt.Sprintf("peer-%d", i)
		require.True(t, strings.HasPrefix(stored(t.Context(), t, client, name), "k8s:enc:secretbox:v1:a:"))
		peer, err := peers.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "<omitted>", peer.Spec.Join.ConnectionString)
		updated, err := peers.Update(t.Context(), peer, metav1.UpdateOptions{})
		require.NoError(t, err)
		assert.Equal(t, peer.Generation, updated.Generation)
		require.True(t, strings.HasPrefix(stored(t.Context(), t, client, name), "k8s:enc:secretbox:v1:b:"), "an update that changes nothing does not encrypt anew")
	}
	replaceFile(t, path, encryptionFile(secretbox("c"), secretbox("b")))
	writesWith("k8s:enc:secretbox:v1:c:")
	stop()
	readers.Wait()
	assert.Positive(t, reads)
}

// R17: a real KMS v2 plugin: its keys rotate while the server runs, it may restart,
// and a server that starts without it is not ready until it is there.
func TestR17KMS(t *testing.T) {
	plugin := harness.NewKMSPlugin(t)
	plugin.SetKeys(t, "key-one")
	path := harness.File(t, "encryption.yaml", encryptionFile(plugin.Provider()))
	s := startStill(t, withEncryptionFile(path))
	writeCanaries(t, s)
	client := storeClient(t, s)
	raw := stored(t.Context(), t, client, "east")
	require.True(t, strings.HasPrefix(raw, "k8s:enc:kms:v2:test:"))
	require.Contains(t, raw, "key-one")
	assert.Empty(t, search(t, s.Dir, canaries()...))

	// It restarts: what the server knows already stays readable and writable.
	plugin.Stop(t)
	require.NoError(t, touch(t.Context(), t, s, "east"))
	requireCanaries(t, s)
	plugin.SetKeys(t, "key-two", "key-one")
	plugin.Start(t)
	// The library asks a healthy plugin for its key every 20 seconds when it is asked
	// for its health, else every minute.
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, _ = lifecycleGet(t, s.HTTP(t, ""), s.Base+"/readyz")
		require.NoError(t, touch(ctx, t, s, "east"))
		return strings.Contains(stored(ctx, t, client, "east"), "key-two"), nil
	})
	require.NoError(t, err, "the new key of the plugin is not used")
	requireCanaries(t, s)
	require.NoError(t, s.Stop())

	// The first key is removed when nothing needs it any more.
	plugin.SetKeys(t, "key-three", "key-two")
	result := harness.RunBinary(t, "storage", "rewrite", "--data-dir", s.Dir, "--encryption-provider-config", path)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Stdout, "rewritten: 1 (0 were in the clear)\ncurrent: 0\n")
	plugin.SetKeys(t, "key-three")
	again := startStill(t, withEncryptionFile(path), harness.InDir(s.Dir))
	requireCanaries(t, again)
	require.NoError(t, again.Stop())

	// A plugin that lost its keys is no first start.
	plugin.SetKeys(t, "key-four")
	_, err = harness.New(t, withEncryptionFile(path), harness.InDir(s.Dir))
	require.ErrorContains(t, err, "its data (k8s:enc:kms:v2:) cannot be read with --encryption-provider-config")
	plugin.SetKeys(t, "key-three")

	plugin.Stop(t)
	late, err := harness.New(t, withEncryptionFile(path), harness.InDir(s.Dir))
	require.NoError(t, err)
	late.Run(t)
	harness.Eventually(t, "the server says that it lacks the plugin", func(context.Context) bool {
		code, body := lifecycleGet(t, late.HTTP(t, ""), late.Base+"/readyz")
		return code == http.StatusInternalServerError && strings.Contains(body, "[-]kms-providers failed")
	})
	code, body := lifecycleGet(t, late.HTTP(t, ""), late.Base+"/livez")
	assert.Equal(t, http.StatusOK, code, body)
	plugin.Start(t)
	late.WaitReady(t)
	requireCanaries(t, late)
}

// R17: the generated key is replaced on a server that is stopped, and nothing in the
// database needs the old one.
func TestR17StorageRewrite(t *testing.T) {
	s := startStill(t)
	writeCanaries(t, s)
	result := harness.RunBinary(t, "storage", "rewrite", "--data-dir", s.Dir, "--new-key")
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Stderr, "the data folder is in use by process")
	before := strings.SplitAfterN(stored(t.Context(), t, storeClient(t, s), "east"), ":", 6)
	old := strings.Join(before[:5], "")
	require.Regexp(t, `^k8s:enc:entente:v1:[0-9a-f]{16}:$`, old)
	require.NoError(t, s.Stop())
	database := filepath.Join(s.Dir, "etcd", "member", "snap")

	result = harness.RunBinary(t, "storage", "rewrite", "--data-dir", s.Dir, "--new-key")
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Stdout, "rewritten: 1 (0 were in the clear)\ncurrent: 0\n")
	content, err := os.ReadFile(filepath.Join(database, "db"))
	require.NoError(t, err)
	assert.NotContains(t, string(content), old, "the database still needs the old key")
	key, err := os.ReadFile(filepath.Join(s.Dir, "keys", "encryption.json"))
	require.NoError(t, err)
	assert.NotContains(t, string(key), strings.Split(old, ":")[4], "the old key is still there")

	again := startStill(t, harness.InDir(s.Dir))
	requireCanaries(t, again)
	assert.NotContains(t, stored(t.Context(), t, storeClient(t, again), "east"), old)
	require.NoError(t, again.Stop())

	result = harness.RunBinary(t, "storage", "rewrite", "--data-dir", s.Dir)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Stdout, "rewritten: 0 (0 were in the clear)\ncurrent: 1\n")
	result = harness.RunBinary(t, "storage", "rewrite", "--data-dir", filepath.Join(s.Dir, "none"))
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Stderr, "there is no store in it")
	require.NoDirExists(t, filepath.Join(s.Dir, "none"))
}

// R17: on an etcd of its own a store is encrypted anew beside a server.
func TestR17StorageRewriteBesideAServer(t *testing.T) {
	external := harness.NewExternalEtcd(t)
	external.Start(t)
	path := harness.File(t, "encryption.yaml", encryptionFile(secretbox("b"), secretbox("a")))
	onExternal := harness.WithOptions(func(o *options.Options) {
		o.Etcd.StorageConfig.Transport.ServerList = []string{external.Endpoint}
	})
	old := startStill(t, onExternal, withEncryptionFile(harness.File(t, "old.yaml", encryptionFile(secretbox("a")))))
	writeCanaries(t, old)
	require.NoError(t, old.Stop())
	s := startStill(t, onExternal, withEncryptionFile(path))
	result := harness.RunBinary(t, "storage", "rewrite", "--etcd-servers", external.Endpoint, "--encryption-provider-config", path)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Stdout, "rewritten: 1 (0 were in the clear)\n")
	client, err := etcd.NewClient(t.Context(), storagebackend.TransportConfig{ServerList: []string{external.Endpoint}})
	require.NoError(t, err)
	defer client.Close()
	assert.True(t, strings.HasPrefix(stored(t.Context(), t, client, "east"), "k8s:enc:secretbox:v1:b:"))
	requireCanaries(t, s)
	for _, flags := range [][]string{nil, {"--encryption-provider-config", path, "--new-key"}, {"--encryption-provider-config", path, "--to-generated-key"}} {
		result = harness.RunBinary(t, append([]string{"storage", "rewrite", "--etcd-servers", external.Endpoint}, flags...)...)
		assert.NotZero(t, result.Code)
		assert.Contains(t, result.Stderr, "--data-dir is needed")
	}
	// A server that runs would go on to encrypt with a key that is removed.
	result = harness.RunBinary(t, "storage", "rewrite", "--etcd-servers", external.Endpoint, "--data-dir", t.TempDir(), "--new-key")
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Stderr, "--servers-are-stopped")
}

// R17: data that was written without encryption is refused until somebody says that
// it is to be encrypted.
func TestR17FromTheClear(t *testing.T) {
	s := startStill(t, withoutEncryption())
	writeCanaries(t, s)
	require.NoError(t, s.Stop())
	_, err := harness.New(t, harness.InDir(s.Dir))
	require.ErrorContains(t, err, "`entente-apiserver storage rewrite --accept-clear`")
	result := harness.RunBinary(t, "storage", "rewrite", "--data-dir", s.Dir)
	assert.NotZero(t, result.Code)
	assert.NotContains(t, result.Output(), "canary")
	result = harness.RunBinary(t, "storage", "rewrite", "--data-dir", s.Dir, "--accept-clear")
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Stdout, "rewritten: 1 (1 were in the clear)\n")
	content, err := os.ReadFile(filepath.Join(s.Dir, "etcd", "member", "snap", "db"))
	require.NoError(t, err)
	for _, canary := range canaries() {
		assert.NotContains(t, string(content), canary)
	}
	requireCanaries(t, startStill(t, harness.InDir(s.Dir)))
}

// R17, issue 4: a snapshot holds no key and nothing in the clear; restored with the
// key it is the store as it was, and whoever watches from before reads anew.
func TestR17SnapshotAndRestore(t *testing.T) {
	s := startStill(t)
	writeCanaries(t, s)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	result := harness.RunBinary(t, "storage", "snapshot", "--data-dir", s.Dir, "--output", snapshot)
	require.Zero(t, result.Code, result.Output())
	lifecycleCreate(t, s, "lost")
	lost, err := s.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers().Get(t.Context(), "lost", metav1.GetOptions{})
	require.NoError(t, err)
	seen := lost.ResourceVersion
	require.NoError(t, s.Stop())

	content, err := os.ReadFile(snapshot)
	require.NoError(t, err)
	key, err := os.ReadFile(filepath.Join(s.Dir, "keys", "encryption.json"))
	require.NoError(t, err)
	var kept struct{ Keys []struct{ Seed []byte } }
	require.NoError(t, json.Unmarshal(key, &kept))
	for _, word := range append(canaries(), string(kept.Keys[0].Seed), base64.StdEncoding.EncodeToString(kept.Keys[0].Seed)) {
		assert.NotContains(t, string(content), word)
	}
	result = harness.RunBinary(t, "storage", "snapshot", "--data-dir", s.Dir, "--output", snapshot)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Stderr, "file already exists")
	result = harness.RunBinary(t, "storage", "snapshot", "--data-dir", s.Dir, "--output", "-")
	require.Zero(t, result.Code, result.Stderr)
	assert.Greater(t, len(result.Stdout), 8<<10, "a stopped server has a snapshot too")

	result = harness.RunBinary(t, "storage", "restore", "--data-dir", s.Dir, "--input", snapshot)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Stderr, "is not empty; it is never replaced")
	dir := filepath.Join(t.TempDir(), "restored")
	result = harness.RunBinary(t, "storage", "restore", "--data-dir", dir, "--input", snapshot)
	require.Zero(t, result.Code, result.Output())

	_, err = harness.New(t, harness.InDir(dir))
	require.ErrorContains(t, err, "its data is encrypted with a key that is not in the file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "keys", "encryption.json"), key, 0o600))
	restored := startStill(t, harness.InDir(dir))
	requireCanaries(t, restored)
	peers := restored.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers()
	_, err = peers.Get(t.Context(), "lost", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	watch, err := peers.Watch(t.Context(), metav1.ListOptions{ResourceVersion: seen})
	if err == nil {
		event := <-watch.ResultChan()
		watch.Stop()
		err = apierrors.FromObject(event.Object)
	}
	assert.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "a watch from before is not told to read anew: %v", err)
	created, err := peers.Create(t.Context(), &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite}}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Greater(t, len(created.ResourceVersion), len(seen), "revisions begin again")
}
