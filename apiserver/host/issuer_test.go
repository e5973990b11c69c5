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
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// P10: the issuer and its keys are those of the discovery endpoints, of bounded length;
// a host cluster without is no fault, and is said once.
func TestP10_Issuer(t *testing.T) {
	const (
		config = `{"issuer":"https://issuer.example/path","jwks_uri":"https://elsewhere.example/keys"}`
		keys   = "{\n  \"keys\": [ {\"kty\": \"EC\"} ]\n}"
	)
	type answer struct {
		code int
		body string
	}
	for name, tc := range map[string]struct {
		config, keys answer
		url, jwks    string
		fault        string
		said         string
	}{
		"there":                 {config: answer{200, config}, keys: answer{200, keys}, url: "https://issuer.example/path", jwks: `{"keys":[{"kty":"EC"}]}`},
		"as long as it may be":  {config: answer{200, config}, keys: answer{200, `{"keys":"` + strings.Repeat("x", 64<<10-11) + `"}`}, url: "https://issuer.example/path", jwks: `{"keys":"` + strings.Repeat("x", 64<<10-11) + `"}`},
		"too long a document":   {config: answer{200, strings.Repeat(" ", 64<<10+1-len(config)) + config}, keys: answer{200, keys}, fault: "/.well-known/openid-configuration is longer"},
		"too many keys":         {config: answer{200, config}, keys: answer{200, `{"keys":"` + strings.Repeat("x", 64<<10-10) + `"}`}, fault: "/openid/v1/jwks is longer"},
		"not served":            {config: answer{404, ""}, said: "does not serve it"},
		"keys not served":       {config: answer{200, config}, keys: answer{404, ""}, said: "does not serve it"},
		"forbidden":             {config: answer{403, ""}, said: "--clusterrole=system:service-account-issuer-discovery --serviceaccount=entente-system:entente-apiserver"},
		"not JSON":              {config: answer{200, "<html>"}, fault: "openid-configuration is not the JSON"},
		"keys that are no JSON": {config: answer{200, config}, keys: answer{200, "<html>"}, fault: "jwks is not JSON"},
		"no issuer":             {config: answer{200, "{}"}, fault: "names no issuer"},
		"an issuer of http":     {config: answer{200, `{"issuer":"http://issuer.example"}`}, fault: "names no issuer"},
		"a failure":             {config: answer{500, ""}, fault: "could not read who issues"},
	} {
		t.Run(name, func(t *testing.T) {
			var accept atomic.Value
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				accept.Store(r.Header.Get("Accept"))
				got := map[string]answer{"/.well-known/openid-configuration": tc.config, "/openid/v1/jwks": tc.keys}[r.URL.Path]
				w.WriteHeader(got.code)
				_, _ = w.Write([]byte(got.body))
			}))
			defer server.Close()
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			issuer := (&Host{Client: client, facts: facts{username: account}}).NewIssuer()
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			ctx := klog.NewContext(t.Context(), logger)
			for range 2 {
				url, jwks, err := issuer.Read(ctx)
				assert.Equal(t, tc.url, url)
				assert.Equal(t, tc.jwks, jwks)
				if tc.fault != "" {
					require.ErrorContains(t, err, tc.fault)
					continue
				}
				require.NoError(t, err)
			}
			assert.Equal(t, "application/json, application/jwk-set+json", accept.Load())
			log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
			if tc.said == "" {
				assert.Empty(t, log)
				return
			}
			assert.Equal(t, 1, strings.Count(log, tc.said), log)
		})
	}
}
