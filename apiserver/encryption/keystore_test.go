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
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// secretAPI is a namespace with at most one Secret, whose updates need the current
// resourceVersion, as those of a host cluster do.
type secretAPI struct {
	t      testing.TB
	mu     sync.Mutex
	secret *corev1.Secret
	// meanwhile, if set, happens once before an update.
	meanwhile func()
}

func (s *secretAPI) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	assert.Nil(s.t, klog.FromContext(ctx).GetSink(), "the client could log the keys")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil || s.secret.Name != name {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return s.secret.DeepCopy(), nil
}

func (s *secretAPI) Update(ctx context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	assert.Nil(s.t, klog.FromContext(ctx).GetSink(), "the client could log the keys")
	if meanwhile := s.meanwhile; meanwhile != nil {
		s.meanwhile = nil
		meanwhile()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), secret.Name)
	}
	if secret.ResourceVersion != s.secret.ResourceVersion {
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, nil)
	}
	version, err := strconv.Atoi(secret.ResourceVersion)
	if err != nil {
		return nil, err
	}
	s.secret = secret.DeepCopy()
	s.secret.ResourceVersion = strconv.Itoa(version + 1)
	return s.secret.DeepCopy(), nil
}

func emptySecret(t testing.TB) *secretAPI {
	return &secretAPI{t: t, secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: SecretName, Namespace: "entente", ResourceVersion: "1", Labels: map[string]string{"app": "entente"}}}}
}

// R17: both places keep the first key and no other.
func TestKeyStores(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) KeyStore{
		"file":   func(t *testing.T) KeyStore { return NewFileStore(t.TempDir()) },
		"secret": func(t *testing.T) KeyStore { return NewSecretStore(emptySecret(t), "entente", SecretName) },
	} {
		t.Run(name, func(t *testing.T) {
			store := store(t)
			none, err := store.Load(t.Context())
			require.NoError(t, err)
			require.Zero(t, none.Ring.Len())

			first := newRing(t)
			created, err := store.Create(t.Context(), first)
			require.NoError(t, err)
			assert.Equal(t, first.keys, created.Ring.keys)
			late, err := store.Create(t.Context(), newRing(t))
			require.NoError(t, err)
			assert.Equal(t, first.keys, late.Ring.keys, "a later writer replaced the key")

			rotated := withNewKey(t, first)
			updated, err := store.Update(t.Context(), late, rotated)
			require.NoError(t, err)
			_, err = store.Update(t.Context(), late, withNewKey(t, first))
			require.ErrorIs(t, err, ErrConflict, "what was loaded is no longer what is kept")
			loaded, err := store.Load(t.Context())
			require.NoError(t, err)
			assert.Equal(t, rotated.keys, loaded.Ring.keys)
			_, err = store.Update(t.Context(), updated, rotated.FirstOnly())
			require.NoError(t, err)
		})
	}
}

// R17: of several replicas that start at once all use one key.
func TestSecretHasOneFirstKey(t *testing.T) {
	const replicas = 8
	client := emptySecret(t)
	// Everybody has read the empty Secret before anybody writes.
	var arrived sync.WaitGroup
	arrived.Add(replicas)
	rings := make([]Ring, replicas)
	var all sync.WaitGroup
	for i := range replicas {
		all.Go(func() {
			store := NewSecretStore(client, "entente", SecretName)
			loaded, err := store.Load(t.Context())
			assert.NoError(t, err)
			assert.Zero(t, loaded.Ring.Len())
			arrived.Done()
			arrived.Wait()
			stored, err := store.Create(t.Context(), newRing(t))
			assert.NoError(t, err)
			rings[i] = stored.Ring
		})
	}
	all.Wait()
	for _, ring := range rings {
		assert.Equal(t, rings[0].keys, ring.keys)
	}
	assert.Equal(t, map[string]string{"app": "entente"}, client.secret.Labels, "what else is in the Secret is kept")
}

// R17: who is overtaken while writing takes the other's key, or writes again if it
// was something else that changed.
func TestSecretIsOvertaken(t *testing.T) {
	client, theirs, mine := emptySecret(t), newRing(t), newRing(t)
	store := NewSecretStore(client, "entente", SecretName)
	client.meanwhile = func() {
		_, err := NewSecretStore(client, "entente", SecretName).Create(t.Context(), theirs)
		require.NoError(t, err)
	}
	stored, err := store.Create(t.Context(), mine)
	require.NoError(t, err)
	assert.Equal(t, theirs.keys, stored.Ring.keys)

	client = emptySecret(t)
	store = NewSecretStore(client, "entente", SecretName)
	client.meanwhile = func() { client.secret.ResourceVersion = "7" }
	stored, err = store.Create(t.Context(), mine)
	require.NoError(t, err)
	assert.Equal(t, mine.keys, stored.Ring.keys)

	client.meanwhile = func() { client.secret.ResourceVersion = "70" }
	_, err = store.Update(t.Context(), stored, theirs)
	assert.ErrorIs(t, err, ErrConflict)
}

func TestSecretFaults(t *testing.T) {
	client := &secretAPI{t: t}
	_, err := NewSecretStore(client, "entente", SecretName).Load(t.Context())
	require.ErrorContains(t, err, "the Secret entente/entente-encryption-key is missing; create it empty")
	assert.True(t, apierrors.IsNotFound(err))

	client = emptySecret(t)
	client.secret.Data = map[string][]byte{secretKey: []byte("canary")}
	_, err = NewSecretStore(client, "entente", SecretName).Load(t.Context())
	require.ErrorIs(t, err, errNoRing)
	assert.NotContains(t, err.Error(), "canary")
}

func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys", "encryption.json")
	store := NewFileStore(dir)
	_, err := store.Create(t.Context(), newRing(t))
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "something else was left in the folder")

	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = store.Load(t.Context())
		assert.ErrorContains(t, err, "only its owner may read and write it")
	}
	require.NoError(t, os.WriteFile(path, []byte("canary"), 0o600))
	require.NoError(t, os.Chmod(path, 0o600))
	_, err = store.Load(t.Context())
	require.ErrorIs(t, err, errNoRing)
	assert.ErrorContains(t, err, path)
	assert.NotContains(t, err.Error(), "canary")
	_, err = store.Create(t.Context(), newRing(t))
	assert.ErrorIs(t, err, errNoRing, "a damaged file was replaced")
}
