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

package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A kubeconfig that cannot be used is said with the flag and the file, and without
// what is in it: it holds credentials.
func TestNewNamesTheFaultOfAKubeconfigAndQuotesNothing(t *testing.T) {
	const canary = "canary-2f9c61"
	const valid = `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: ` + canary + `}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`
	tests := []struct {
		name, content string
		wants         []string
	}{
		{"no YAML", "\t{" + canary, []string{"--kubeconfig", "it is not a kubeconfig"}},
		{"another kind of object", "{apiVersion: v1, kind: Secret, stringData: {token: " + canary + "}}", []string{"--kubeconfig"}},
		{"a list where an object belongs", "users: {" + canary + ": 1}", []string{"it is not a kubeconfig"}},
		{"empty", "", []string{"it names no cluster"}},
		{"a context that is not there", valid[:len(valid)-2] + "gone}", []string{"--kubeconfig", "context was not found for specified context: gone"}},
		{"a certificate file that is not there", `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", certificate-authority: gone.crt}}], users: [{name: u, user: {token: ` + canary + `}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`, []string{"--kubeconfig", "gone.crt"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			require.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
			_, err := New(Config{Kubeconfig: path})
			for _, want := range test.wants {
				require.ErrorContains(t, err, want)
			}
			assert.NotContains(t, err.Error(), canary)
		})
	}
	t.Run("no file", func(t *testing.T) {
		_, err := New(Config{Kubeconfig: filepath.Join(t.TempDir(), "gone")})
		require.ErrorContains(t, err, "could not read --kubeconfig")
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("a good one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		require.NoError(t, os.WriteFile(path, []byte(valid), 0o600))
		h, err := New(Config{Kubeconfig: path})
		require.NoError(t, err)
		assert.Equal(t, DefaultNamespace, h.Namespace)
		assert.Regexp(t, "^entente-apiserver/", h.config.UserAgent)
		h, err = New(Config{Kubeconfig: path, Namespace: "other"})
		require.NoError(t, err)
		assert.Equal(t, "other", h.Namespace)
	})
}

// R15: no password from a server's address gets into the log.
func TestR15AddressWithoutUserinfo(t *testing.T) {
	assert.Equal(t, "https://host:6443/path", withoutUserinfo("https://user:password@host:6443/path"))
	assert.Equal(t, "https://host", withoutUserinfo("https://host"))
	assert.NotContains(t, withoutUserinfo("https://user:password@host:port"), "password")
}
