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
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
)

// G7: requests of others are carried with this server's credentials, over HTTP/1.1 where a
// connection is to be upgraded, and under the name that they come with.
func TestG7API(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.Header.Get("Authorization")+" "+r.Header.Get("User-Agent"))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{
		Host: server.URL + "/prefix", BearerToken: "ours", UserAgent: "entente",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1, Burst: 1,
	}
	api, err := (&Host{config: config}).API()
	require.NoError(t, err)
	assert.Equal(t, "/prefix", api.URL.Path)
	for proto, transport := range map[string]http.RoundTripper{"HTTP/2.0": api.Plain, "HTTP/1.1": api.Upgrade} {
		for range 3 { // the limits of a client are not those of a transport
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			require.NoError(t, err)
			request.Header.Set("User-Agent", "kubectl")
			response, err := transport.RoundTrip(request)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, proto+" Bearer ours kubectl", string(body))
		}
	}
	assert.Equal(t, "entente", config.UserAgent)

	_, err = (&Host{config: &rest.Config{Host: "https://a b"}}).API()
	require.ErrorContains(t, err, "could not tell where the host cluster is")
}

// H2: a binding names a ServiceAccount as such, and anybody else as a user.
func TestH2Self(t *testing.T) {
	for username, want := range map[string]rbacv1.Subject{
		"system:serviceaccount:entente-system:entente-apiserver": {Kind: "ServiceAccount", Namespace: "entente-system", Name: "entente-apiserver"},
		"developer": {Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "developer"},
	} {
		assert.Equal(t, want, (&Host{facts: facts{username: username}}).Self())
	}
}

// H2: impersonation is constrained where the host can do that by its version.
func TestH2ConstrainsImpersonation(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.37.2": true, "v1.36.0": true, "v1.36.0-rc.1": true, "v1.36.1+k3s1": true, "v1.36.4-gke.1000": true, "v2.0.0": true,
		"v1.35.9": false, "v1.30.0": false, "v1.35.0-eks-1234": false, "": false, "main": false,
	} {
		assert.Equal(t, want, (&Host{facts: facts{version: version}}).ConstrainsImpersonation(), version)
	}
}
