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

package client

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// proxy leads every CONNECT to one address, and notes where it was to lead.
type proxy struct {
	url   *url.URL
	mu    sync.Mutex
	asked []string
}

func newProxy(t *testing.T, leadsTo string) *proxy {
	t.Helper()
	p := &proxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.Host)
		p.mu.Unlock()
		there, err := net.Dial("tcp", leadsTo)
		if err != nil {
			http.Error(w, canary, http.StatusBadGateway)
			return
		}
		defer func() { _ = there.Close() }()
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = here.Close() }()
		_, _ = here.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		go func() { _, _ = io.Copy(there, here); _ = there.Close() }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(server.Close)
	p.url, _ = url.Parse(server.URL)
	return p
}

// P11: proxies only as configured. Names are the proxy's matter, addresses are not.
func TestP11Proxy(t *testing.T) {
	g := serve(t, entrance{hosts: []string{"gateway.example"}}, answering(t, http.StatusOK, echo()))
	there := g.endpoint[len("https://"):]
	p := newProxy(t, there)
	// The proxy itself is on this machine: its owner's choice.
	d := dialer(t, func(c *Config) { c.Policy = Policy{}; c.ProxyURL = p.url })
	_, err := connect(t, d, g.trust(), "https://gateway.example:8443").Sync(t.Context(), beat())
	require.NoError(t, err)
	assert.Equal(t, []string{"CONNECT gateway.example:8443"}, p.asked)

	_, err = connect(t, d, g.trust(), "https://other.example:8443").Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Untrusted}, err)
	_, err = connect(t, d, g.trust(), g.endpoint, "https://169.254.169.254", "https://[::1]:1").Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailAddress}, err)
	assert.Len(t, p.asked, 2)

	broken := newProxy(t, nobody(t)[len("https://"):])
	d = dialer(t, func(c *Config) { c.ProxyURL = broken.url })
	_, err = connect(t, d, g.trust(), "https://gateway.example:8443").Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailConnect}, err)
}

func TestP11NoProxyOfTheEnvironment(t *testing.T) {
	g := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	// The library reads the environment once; that we do not ask for it is what counts.
	l := dialer(t).newLine(g.endpoint, nil, nil)
	assert.Nil(t, l.transport.Proxy)

	for _, text := range []string{"https://proxy.example", "http://", "ftp://proxy.example", "proxy.example:3128", "http://user:canary@"} {
		parsed, err := url.Parse(text)
		if err != nil {
			continue
		}
		_, err = New(Config{ProxyURL: parsed})
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), canary)
	}
}
