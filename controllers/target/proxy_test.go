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
	"bufio"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proxyServer is a proxy that leads everywhere to one address; it counts who came.
func proxyServer(t *testing.T, to string) (address string, came *atomic.Int32) {
	t.Helper()
	came = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		assert.Equal(t, http.MethodConnect, r.Method)
		assert.Empty(t, r.Header.Get("Proxy-Authorization"))
		there, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		here, buffer, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		_, _ = here.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		go func() {
			_, _ = io.Copy(here, there)
			_ = here.Close()
		}()
		_, _ = io.Copy(there, bufio.NewReader(buffer))
		_ = there.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL, came
}

// C2, P11: a proxy is that of the access only, and checked itself.
func TestC2Proxy(t *testing.T) {
	cluster := serve(t, entrance{leaf: func(c *x509.Certificate) { c.DNSNames = []string{"behind.example"} }}, api(nil))
	address, _ := url.Parse(cluster.URL)
	proxy, came := proxyServer(t, address.Host)
	access := func(server, proxy string) *Access {
		text := kubeconfig(`server: "`+server+`", proxy-url: "`+proxy+`", certificate-authority-data: "`+encode(cluster.authority.pem())+`"`, soundUser)
		access, err := ParseKubeconfig([]byte(text), Allowances{ProxyURL: true})
		require.NoError(t, err)
		return access
	}

	found, err := probe(t, open(t, access("https://behind.example", proxy), local()))
	require.NoError(t, err)
	assert.Equal(t, wellFound(), found)
	assert.EqualValues(t, 1, came.Load())

	_, err = probe(t, open(t, access("https://behind.example", proxy), Config{}))
	requireReason(t, ReasonAddress, err)
	_, err = probe(t, open(t, access("https://169.254.169.254", proxy), local()))
	requireReason(t, ReasonAddress, err)
	assert.EqualValues(t, 1, came.Load())

	t.Setenv("HTTPS_PROXY", proxy)
	t.Setenv("https_proxy", proxy)
	direct, err := Token("https://behind.invalid", cluster.authority.pem(), []byte(canary))
	require.NoError(t, err)
	config := local()
	config.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}
	_, err = probe(t, open(t, direct, config))
	requireReason(t, ReasonResolve, err)
	assert.EqualValues(t, 1, came.Load())
}
