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

package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
)

// WithClusters has the server serve Clusters and Releases too.
func WithClusters() Option {
	return WithOptions(func(o *options.Options) { o.ServeGroups = apiserver.Groups() })
}

// ClusterRule is a rule on resources of the group core.convoy.kumodo.io; names may be empty.
func ClusterRule(verbs, resources []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"core.convoy.kumodo.io"}, Resources: resources, Verbs: verbs, ResourceNames: names}
}

// SecretRule is a rule on Secrets or ConfigMaps, which a standalone server does not serve: it
// says which of them a user may name in Clusters.
func SecretRule(resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}, ResourceNames: names}
}

// SecretsFolder is where in the data folder the files are that stand for Secrets.
const SecretsFolder = "secrets"

// WriteSecret writes, or replaces as a whole, the file that stands for a key of a Secret.
func (s *Server) WriteSecret(t testing.TB, namespace, name, key string, content []byte) {
	t.Helper()
	folder := filepath.Join(s.Dir, SecretsFolder, namespace, name)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	// Beside the folder of the Secret, so that the file is no key of it.
	unfinished := folder + ".tmp"
	require.NoError(t, os.WriteFile(unfinished, content, 0o600))
	require.NoError(t, os.Rename(unfinished, filepath.Join(folder, key)))
}
