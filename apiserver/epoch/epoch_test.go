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

package epoch

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"entente.dev/entente/registry/ledger"
)

const namespace = "entente-system"

func shipped() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: SecretName}}
}

// S2: both stores keep what they were given, for whoever opens them next, and never
// less.
func TestS2EpochOnlyGrows(t *testing.T) {
	dir := t.TempDir()
	client := fake.NewClientset(shipped()).CoreV1().Secrets(namespace)
	for name, open := range map[string]func() ledger.EpochStore{
		"file":   func() ledger.EpochStore { return NewFile(dir) },
		"secret": func() ledger.EpochStore { return NewSecret(client, namespace) },
	} {
		t.Run(name, func(t *testing.T) {
			load := func() uint64 {
				number, err := open().Load(t.Context())
				require.NoError(t, err)
				return number
			}
			assert.Zero(t, load())
			require.NoError(t, open().Raise(t.Context(), 7))
			assert.Equal(t, uint64(7), load())
			require.NoError(t, open().Raise(t.Context(), 3))
			assert.Equal(t, uint64(7), load())

			if name == "secret" {
				return // the client of tests knows no conflicts; they are made below
			}
			store := open()
			var group sync.WaitGroup
			for to := range uint64(20) {
				group.Go(func() { assert.NoError(t, store.Raise(t.Context(), to)) })
			}
			group.Wait()
			assert.Equal(t, uint64(19), load())
		})
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys", "epoch")
	store := NewFile(dir)
	assert.Equal(t, "the file "+path, store.Location())
	require.NoError(t, store.Raise(t.Context(), 12))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "12\n", string(content))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, files, 1)

	for what, damage := range map[string]func() error{
		"not a number":       func() error { return os.WriteFile(path, []byte("twelve"), 0o600) },
		"negative":           func() error { return os.WriteFile(path, []byte("-1"), 0o600) },
		"too long":           func() error { return os.WriteFile(path, []byte("1234567890123456789012345678901234567890"), 0o600) },
		"empty":              func() error { return os.WriteFile(path, nil, 0o600) },
		"writable by others": func() error { return errors.Join(os.WriteFile(path, []byte("12"), 0o600), os.Chmod(path, 0o622)) },
	} {
		require.NoError(t, damage(), what)
		_, err := store.Load(t.Context())
		require.ErrorContains(t, err, "could not read "+path, what)
		require.ErrorContains(t, store.Raise(t.Context(), 99), "could not write "+path, what)
	}
}

func TestFileInAFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "keys"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "keys"), 0o777))
	require.Error(t, NewFile(dir).Raise(t.Context(), 1))
}

// Of several servers at once none lowers what another wrote.
func TestSecretConflict(t *testing.T) {
	clientset := fake.NewClientset(shipped())
	conflicts := 2
	clientset.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts < 0 {
			return false, nil, nil
		}
		secret := shipped()
		secret.Data = map[string][]byte{secretKey: []byte("5")}
		err := clientset.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), secret, namespace)
		return true, nil, errors.Join(err, apierrors.NewConflict(corev1.Resource("secrets"), SecretName, errors.New("changed")))
	})
	store := NewSecret(clientset.CoreV1().Secrets(namespace), namespace)
	require.NoError(t, store.Raise(t.Context(), 4))
	number, err := store.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, uint64(5), number)
	require.NoError(t, store.Raise(t.Context(), 6))
	number, err = store.Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, uint64(6), number)
}

func TestSecretThatCannotBeUsed(t *testing.T) {
	clientset := fake.NewClientset()
	store := NewSecret(clientset.CoreV1().Secrets(namespace), namespace)
	_, err := store.Load(t.Context())
	require.ErrorContains(t, err, "create it empty")
	require.ErrorContains(t, store.Raise(t.Context(), 1), "create it empty")

	damaged := shipped()
	damaged.Data = map[string][]byte{secretKey: []byte("canary")}
	require.NoError(t, clientset.Tracker().Add(damaged))
	_, err = store.Load(t.Context())
	require.ErrorIs(t, err, errNumber)
	assert.NotContains(t, err.Error(), "canary")

	// R15: what an admission webhook says of a Secret goes no further.
	clientset = fake.NewClientset(shipped())
	clientset.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "canary"}}
	})
	err = NewSecret(clientset.CoreV1().Secrets(namespace), namespace).Raise(context.Background(), 1)
	require.ErrorContains(t, err, "could not write the Secret entente-system/entente-epoch")
	assert.NotContains(t, err.Error(), "canary")
}
