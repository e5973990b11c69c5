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

package target

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// The host cluster is reached as a config of our own says, wherever it is.
func TestOwn(t *testing.T) {
	var user, authorization atomic.Value
	well := api(nil)
	cluster := serve(t, entrance{http2: true}, func(w http.ResponseWriter, r *http.Request) {
		user.Store(r.Header.Get("Impersonate-User"))
		authorization.Store(r.Header.Get("Authorization"))
		well(w, r)
	})
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("of-file"), 0o600))
	ca := filepath.Join(t.TempDir(), "ca")
	require.NoError(t, os.WriteFile(ca, cluster.authority.pem(), 0o600))
	config := &rest.Config{Host: strings.TrimPrefix(cluster.URL, "https://"), BearerTokenFile: file, TLSClientConfig: rest.TLSClientConfig{CAFile: ca}}
	before := rest.CopyConfig(config)
	for _, as := range []string{"", "system:serviceaccount:a:entente-release"} {
		c, err := Own(config, as)
		require.NoError(t, err)
		found, err := probe(t, c)
		require.NoError(t, err)
		assert.Equal(t, wellFound(), found)
		_, err = c.Objects(configMaps(), "a").Get(t.Context(), "it")
		require.NoError(t, err)
		_, err = c.Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
		require.NoError(t, err)
		assert.Equal(t, as, user.Load())
		assert.Equal(t, "Bearer of-file", authorization.Load())
		c.Close()
	}
	assert.Equal(t, before, config)

	_, err := Own(&rest.Config{Host: cluster.URL, Transport: http.DefaultTransport}, "")
	require.Error(t, err)
	_, err = Own(&rest.Config{Host: "https://\x01canary"}, "")
	require.Error(t, err)
	requireSilent(t, err)
	_, err = Own(&rest.Config{Host: cluster.URL, BearerTokenFile: "/canary"}, "")
	require.Error(t, err)
	requireSilent(t, err)
}
