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

package standalone

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// Issue 2, bad input: clear errors that name the file and quote no key.
func TestPrepareRefuses(t *testing.T) {
	swap := func(t *testing.T, a, b string) {
		t.Helper()
		content := read(t, a)
		require.NoError(t, os.WriteFile(a, []byte(read(t, b)), 0o600))
		require.NoError(t, os.WriteFile(b, []byte(content), 0o600))
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, e *Environment)
		is     error
		says   string
	}{
		"world-writable data folder": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Chmod(filepath.Dir(e.KeysDir), 0o777)) },
			is:     datadir.ErrInsecure,
		},
		"group-writable keys": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Chmod(e.KeysDir, 0o770)) },
			is:     datadir.ErrInsecure,
			says:   "keys",
		},
		"world-writable folder of manifests": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Chmod(e.RBACDir, 0o777)) },
			is:     datadir.ErrInsecure,
			says:   "rbac",
		},
		"world-writable manifest": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.Chmod(filepath.Join(e.RBACDir, "viewer.yaml"), 0o666))
			},
			is:   datadir.ErrInsecure,
			says: "viewer.yaml",
		},
		"readable key": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Chmod(e.ServingKeyFile, 0o644)) },
			says:   "chmod 600",
		},
		"lost key of an authority": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Remove(keyFile(e.ClientCAFile))) },
			is:     fs.ErrNotExist,
			says:   "client-ca.key",
		},
		"key of another authority": {
			change: func(t *testing.T, e *Environment) {
				swap(t, keyFile(e.ClientCAFile), keyFile(e.ServerCAFile))
			},
			says: "the key is another one's",
		},
		"a leaf for an authority": {
			change: func(t *testing.T, e *Environment) {
				swap(t, e.ServerCAFile, e.ServingCertFile)
				swap(t, keyFile(e.ServerCAFile), e.ServingKeyFile)
			},
			says: "it is no authority",
		},
		"damaged key": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.WriteFile(e.ServingKeyFile, []byte("secret"), 0o600))
			},
			says: "not a PEM file",
		},
		"damaged authority": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.WriteFile(e.ServerCAFile, []byte("secret"), 0o600))
			},
			says: "server-ca.crt",
		},
		"damaged kubeconfig": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.WriteFile(e.Kubeconfigs["admin"], []byte("secret: ["), 0o600))
			},
			says: "delete it to get a new one",
		},
		"damaged UUID": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(e.KeysDir), "cluster-uuid"), []byte("secret"), 0o600))
			},
			says: "does not hold a UUID",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			tc.change(t, prepared(t, Config{DataDir: dir}))
			before := contents(t, dir)
			_, err := Prepare(testContext(t), Config{DataDir: dir, Port: 6443})
			require.ErrorContains(t, err, tc.says)
			assert.NotContains(t, err.Error(), "secret")
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			assert.Equal(t, before, contents(t, dir), "a refusal changes nothing")
		})
	}
	for name, config := range map[string]Config{
		"no data folder given": {Port: 1},
		"0 is not a port":      {DataDir: t.TempDir()},
		"70000 is not a port":  {DataDir: t.TempDir(), Port: 70000},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Prepare(testContext(t), config)
			require.ErrorContains(t, err, name)
		})
	}
}

// Design section 3: the manifests are the users' own after the first start.
func TestManifestsAreKept(t *testing.T) {
	dir := t.TempDir()
	e := prepared(t, Config{DataDir: dir})
	edited := filepath.Join(e.RBACDir, "viewer.yaml")
	require.NoError(t, os.WriteFile(edited, []byte(strings.ReplaceAll(read(t, edited), `"watch"`, `"get"`)), 0o644))
	require.NoError(t, os.Remove(filepath.Join(e.RBACDir, "operator.yaml")))
	require.NoError(t, os.WriteFile(filepath.Join(e.RBACDir, "own.yaml"), []byte("# mine\n"), 0o600))
	before := contents(t, e.RBACDir)

	e = prepared(t, Config{DataDir: dir})
	assert.Equal(t, before, contents(t, e.RBACDir))

	for path := range before {
		require.NoError(t, os.Remove(path))
	}
	e = prepared(t, Config{DataDir: dir})
	assert.Empty(t, contents(t, e.RBACDir), "nobody has rights then, as the user wants")

	require.NoError(t, os.Remove(e.RBACDir))
	e = prepared(t, Config{DataDir: dir})
	assert.Len(t, contents(t, e.RBACDir), 4, "without the folder the defaults are back")
}
