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
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pod makes this process look like one of a pod, with these files of its ServiceAccount
// instead of the good ones (an empty name: without), and returns their folder. They lead to
// a cluster, from which seen has the last credentials.
func pod(t *testing.T, files map[string]string) (folder string, seen func() string) {
	t.Helper()
	var authorization string
	c := &cluster{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.set(func(*cluster) { authorization = r.Header.Get("Authorization") })
		c.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(address.Host)
	require.NoError(t, err)
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)

	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	all := map[string]string{"token": podToken, "ca.crt": string(authority), "namespace": "team\n"}
	folder = t.TempDir()
	for name, content := range all {
		if other, changed := files[name]; changed {
			content = other
		}
		if content != absent {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
		}
	}
	return folder, func() (last string) {
		c.set(func(*cluster) { last = authorization })
		return last
	}
}

const (
	podToken = "canary-6b1f03"
	// absent is the content of a file that is not there.
	absent = "absent"
)

// Without a kubeconfig the host is the cluster of the pod, as its ServiceAccount; whatever
// lacks is said by its file, and no token is.
func TestNewInAPod(t *testing.T) {
	for _, test := range []struct {
		name      string
		files     map[string]string
		namespace string // --namespace
		want      string // the namespace
		fault     string // if it fails: what is said, beside the file
	}{
		{name: "all is there", want: "team"},
		{name: "a namespace is asked for", namespace: "other", want: "other"},
		{name: "no namespace", files: map[string]string{"namespace": absent}, want: DefaultNamespace},
		{name: "a blank namespace", files: map[string]string{"namespace": " \n"}, want: DefaultNamespace},
		{name: "no token", files: map[string]string{"token": absent}, fault: "token: no such file"},
		{name: "an empty token", files: map[string]string{"token": ""}, fault: "token is empty"},
		// The system's authorities are none of the cluster's.
		{name: "no authority", files: map[string]string{"ca.crt": absent}, fault: "ca.crt: no such file"},
		{name: "a broken authority", files: map[string]string{"ca.crt": podToken}, fault: "ca.crt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder, seen := pod(t, test.files)
			h, err := New(Config{Namespace: test.namespace, podFolder: folder})
			if test.fault != "" {
				require.ErrorContains(t, err, "could not use the ServiceAccount of this pod")
				require.ErrorContains(t, err, test.fault)
				require.ErrorContains(t, err, folder)
				assert.NotContains(t, err.Error(), podToken)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, h.Namespace)
			version, err := h.Discovery.ServerVersionWithContext(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "v1.99.0-test", version.GitVersion)
			assert.Equal(t, "Bearer "+podToken, seen())
			// From the file, and not what it said at the start: the kubelet renews it.
			assert.Equal(t, filepath.Join(folder, "token"), h.config.BearerTokenFile)
		})
	}
}

func TestNewOutsideOfAPod(t *testing.T) {
	for _, missing := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		folder, _ := pod(t, nil)
		t.Setenv(missing, "")
		_, err := New(Config{podFolder: folder})
		require.ErrorContains(t, err, "--kubeconfig is not given", missing)
		require.ErrorContains(t, err, "--standalone", missing)
	}
}

// A kubeconfig may lead to another cluster: neither the pod's credentials nor its
// namespace are of use there.
func TestNewByKubeconfigInAPod(t *testing.T) {
	folder, _ := pod(t, nil)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://192.0.2.1"}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}`), 0o600))
	h, err := New(Config{Kubeconfig: path, podFolder: folder})
	require.NoError(t, err)
	assert.Equal(t, DefaultNamespace, h.Namespace)
	assert.Equal(t, "https://192.0.2.1", h.config.Host)
	assert.Empty(t, h.config.BearerTokenFile)
}
