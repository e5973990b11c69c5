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

package outlet

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// G8, G7: nothing that the caller says of who somebody is reaches the peer.
func TestG8Smuggling(t *testing.T) {
	w := newWorld(t)
	var got http.Header
	var trailer http.Header
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got, trailer = r.Header, r.Trailer
		rw.WriteHeader(http.StatusNoContent)
	})
	smuggled := []string{
		"Authorization", "Bearer canary", "Proxy-Authorization", "canary", "Cookie", "a=canary",
		"Impersonate-User", "canary", "Impersonate-Group", "system:masters-canary", "Impersonate-Uid", "canary", "Impersonate-Extra-A", "canary",
		"X-Remote-User", "canary", "X-Remote-Group", "canary", "X-Remote-Extra-A", "canary", "X-Remote-Uid", "canary",
		"X-Forwarded-For", "canary", "X-Forwarded-Uri", "canary", "X-Forwarded-Host", "canary", "Forwarded", "for=canary", "X-Real-Ip", "canary",
		"X-Canary", "canary", "Te", "trailers", "Expect", "100-continue", "Connection", "Authorization", "Keep-Alive", "canary",
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.front+"logs/api/v1/pods", io.NopCloser(strings.NewReader("{}")))
	require.NoError(t, err)
	for i := 0; i < len(smuggled); i += 2 {
		request.Header.Add(smuggled[i], smuggled[i+1])
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Accept-Encoding", "gzip")
	request.Header.Set("User-Agent", "module/1")
	request.Trailer = http.Header{"Impersonate-User": {canary}}
	response, err := w.client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusNoContent, response.StatusCode)
	assert.NotContains(t, fmt.Sprint(got, trailer), canary)
	assert.Equal(t, []string{"Bearer " + w.host.last()}, got["Authorization"])
	assert.Equal(t, []string{"application/json"}, got["Accept"])
	assert.Equal(t, []string{"module/1"}, got["User-Agent"])
	for name := range got {
		assert.Contains(t, []string{"Authorization", "Accept", "User-Agent", "Content-Type", "Content-Length"}, name)
	}
}

// P11: whatever the peer answers ends in an answer of an API, and where that is ours there
// is no byte of the peer's in it.
func TestP11Answers(t *testing.T) {
	header := func(code int, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	const status = `{"kind":"Status","apiVersion":"v1","code":404,"message":"\u001b[31mred"}`
	for name, test := range map[string]struct {
		far  http.HandlerFunc
		code int
		body string // empty: a Status of ours
	}{
		"good":                    {header(http.StatusOK, "{}"), http.StatusOK, "{}"},
		"a Status":                {header(http.StatusNotFound, status), http.StatusNotFound, status},
		"a Status with escapes":   {header(http.StatusNotFound, "\x1b[31m"), http.StatusNotFound, "\x1b[31m"},
		"forbidden":               {header(http.StatusForbidden, status), http.StatusForbidden, status},
		"an odd code":             {header(499, "{}"), 499, "{}"},
		"a login form":            {header(http.StatusUnauthorized, canary, "WWW-Authenticate", "Basic realm="+canary), http.StatusServiceUnavailable, ""},
		"a proxy's login":         {header(http.StatusProxyAuthRequired, canary, "Proxy-Authenticate", "Basic realm="+canary), http.StatusServiceUnavailable, ""},
		"HTML":                    {header(http.StatusOK, "<canary>", "Content-Type", "text/html"), http.StatusBadGateway, ""},
		"HTML, refusing":          {header(http.StatusForbidden, "<canary>", "Content-Type", "text/html"), http.StatusBadGateway, ""},
		"a type in two ways":      {header(http.StatusOK, canary, "Content-Type", "application/json, text/html"), http.StatusBadGateway, ""},
		"a redirection":           {header(http.StatusFound, canary, "Location", "https://canary.example"), http.StatusBadGateway, ""},
		"a permanent redirection": {header(http.StatusPermanentRedirect, canary, "Location", "/canary"), http.StatusBadGateway, ""},
		"a failure":               {header(http.StatusInternalServerError, canary), http.StatusBadGateway, ""},
		"an outage":               {header(http.StatusServiceUnavailable, canary, "Retry-After", "99999"), http.StatusServiceUnavailable, ""},
		"a gateway's timeout":     {header(http.StatusGatewayTimeout, canary), http.StatusServiceUnavailable, ""},
		"compressed":              {header(http.StatusOK, canary, "Content-Encoding", "gzip"), http.StatusBadGateway, ""},
		"compressed more":         {header(http.StatusOK, canary, "Content-Encoding", "identity, br"), http.StatusBadGateway, ""},
		"not compressed":          {header(http.StatusOK, "{}", "Content-Encoding", "identity"), http.StatusOK, "{}"},
		"a gateway refuses":       {header(http.StatusForbidden, `{"reason":"canary"}`), http.StatusServiceUnavailable, ""},
		"a gateway that forgot":   {header(http.StatusGone, `{"reason":"Gone"}`), http.StatusServiceUnavailable, ""},
		"a gateway is busy":       {header(http.StatusTooManyRequests, `{"reason":"Busy"}`, "Retry-After", "99999"), http.StatusTooManyRequests, ""},
		"a gateway is older":      {header(http.StatusNotFound, `{"reason":"Invalid"}`), http.StatusBadGateway, ""},
		"another kind":            {header(http.StatusForbidden, `{"kind":"Other","reason":"x"}`), http.StatusForbidden, `{"kind":"Other","reason":"x"}`},
		"no reason":               {header(http.StatusForbidden, `{"error":"x"}`), http.StatusForbidden, `{"error":"x"}`},
		"an odd failure":          {header(999, canary), http.StatusBadGateway, ""},
		"a length beyond all":     {header(http.StatusOK, canary, "Content-Length", "99999999999"), http.StatusBadGateway, ""},
		"a large header":          {header(http.StatusOK, canary, "Warning", strings.Repeat(canary, 200<<10)), http.StatusServiceUnavailable, ""},
		"no answer":               {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, http.StatusServiceUnavailable, ""},
		"an end":                  {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http.StatusServiceUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.far.answers(test.far)
			if name == "no answer" {
				w.outlet.carriers.dialer = w.impatient
			}
			answer := w.get()
			assert.Equal(t, test.code, answer.code)
			if test.body != "" {
				assert.Equal(t, test.body, answer.body)
				return
			}
			answer.status(t)
			assert.NotContains(t, fmt.Sprint(answer), canary)
			assert.Empty(t, answer.header.Get("Www-Authenticate"))
			assert.NotEqual(t, "99999", answer.header.Get("Retry-After"))
		})
	}
}

// P11: of the headers of a good answer those pass that are harmless, and no trailers and
// interim answers.
func TestP11AnswerHeaders(t *testing.T) {
	w := newWorld(t)
	w.far.answers(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Link", canary)
		rw.WriteHeader(http.StatusEarlyHints)
		h := rw.Header()
		for _, name := range []string{
			"Set-Cookie", "Location", "Www-Authenticate", "Access-Control-Allow-Origin", "Strict-Transport-Security", "X-Canary",
			"Server", "Alt-Svc", "Refresh", "X-Kubernetes-Pf-Flowschema-Uid", "Upgrade",
		} {
			h.Set(name, canary)
		}
		h.Set("Trailer", "X-Announced")
		h.Set("Content-Type", "application/json")
		h.Set("Etag", "tag")
		_, _ = io.WriteString(rw, "{}")
		_ = http.NewResponseController(rw).Flush()
		h.Set("X-Announced", canary)
		h.Set(http.TrailerPrefix+"X-More", canary)
	})
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { return errors.New("an interim answer") },
	}), http.MethodGet, w.front+"logs/api/v1/pods", nil)
	require.NoError(t, err)
	response, err := w.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "{}", string(body))
	assert.NotContains(t, fmt.Sprint(response.Header, response.Trailer), canary)
	assert.Equal(t, "tag", response.Header.Get("Etag"))
	assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
}

// P11: an answer without end ends, and not as if it were complete.
func TestP11EndlessAnswer(t *testing.T) {
	const limit = 1 << 20
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Body: limit} })
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := rw.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return
			}
		}
	})
	for _, path := range []string{
		"pods", "pods?watch=false", "pods?watch=0", "pods?watch=FALSE", "pods?follow=1", "namespaces/n/pods/a?watch=1", "namespaces/n/pods/a/log?follow=0",
	} {
		response, err := w.open(http.MethodGet, "logs/api/v1/"+path, nil)
		require.NoError(t, err)
		count, err := io.CopyN(io.Discard, response.Body, 16*limit)
		require.Error(t, err)
		assert.LessOrEqual(t, count, int64(limit))
		require.NoError(t, response.Body.Close())
	}
	response, err := w.open(http.MethodPost, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	_, err = io.CopyN(io.Discard, response.Body, 16*limit)
	require.Error(t, err)
	require.NoError(t, response.Body.Close())
	require.Eventually(t, func() bool { return turnoutOf(w) == 0 }, soon, tick)
}

// P11: an answer that is cut is seen to be, unless it is a watch, which may end at any time.
func TestP11CutAnswer(t *testing.T) {
	w := newWorld(t)
	for path, whole := range map[string]bool{
		"pods?watch=1":                      true,
		"watch/pods":                        true,
		"pods":                              false,
		"pods?watch=1&code=403":             false,
		"pods?watch=0":                      false,
		"namespaces/n/pods/a?watch=1":       false,
		"namespaces/n/pods/a/log?follow=1":  false,
		"namespaces/n/pods/a/status?watch=": false,
	} {
		t.Run(path, func(t *testing.T) {
			w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Has("code") {
					rw.WriteHeader(http.StatusForbidden)
				}
				_, _ = io.WriteString(rw, "half")
				_ = http.NewResponseController(rw).Flush()
				panic(http.ErrAbortHandler)
			})
			response, err := w.open(http.MethodGet, "logs/api/v1/"+path, nil)
			require.NoError(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			assert.Equal(t, "half", string(body))
			assert.Equal(t, whole, err == nil, err)
		})
	}
}

// raw is a gateway in the place of the peer's, with a certificate that does, that answers
// each request with these bytes over HTTP/1.1 and then sends back what comes.
func (w *world) raw(t *testing.T, answer string) {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	leaf, err := pki.IssueGateway(w.far.authority, key.Public(), []string{"127.0.0.1"}, w.clock.Now().Add(-time.Hour), w.clock.Now().Add(time.Hour))
	require.NoError(t, err)
	certificate := key.TLS(leaf.Raw)
	certificate.Certificate = append(certificate.Certificate, w.far.authority.Certificate.Raw)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}})
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer connection.Close()
				reader := bufio.NewReader(connection)
				if _, err := http.ReadRequest(reader); err == nil {
					_, _ = io.WriteString(connection, answer)
					_, _ = io.Copy(connection, reader)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.stop() // closes what is open
		serving.Wait()
	})
	w.edit(func(p *record.Peer) { p.Remote.Endpoints = []string{"https://" + listener.Addr().String()} })
}

// P11: no connection is upgraded that was not to be, whatever else stands on the wire.
func TestP11Wire(t *testing.T) {
	const good = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Key", "a2V5"}
	for name, test := range map[string]struct {
		answer  string
		headers []string
		code    int
	}{
		"good":                        {"HTTP/1.1 200 canary\r\n" + good, nil, http.StatusOK},
		"interim answers":             {strings.Repeat("HTTP/1.1 103 canary\r\nLink: canary\r\n\r\n", 5) + "HTTP/1.1 200 OK\r\n" + good, nil, http.StatusOK},
		"interim answers without end": {strings.Repeat("HTTP/1.1 103 canary\r\nLink: canary\r\n\r\n", 1000), nil, http.StatusServiceUnavailable},
		"uninvited":                   {switching + "websocket\r\n\r\ncanary", nil, http.StatusBadGateway},
		"uninvited by a WebSocket":    {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\ncanary", upgrade, http.StatusBadGateway},
		"another protocol":            {switching + "canary\r\n\r\ncanary", upgrade, http.StatusBadGateway},
		"no HTTP":                     {"canary canary canary\r\n\r\n", nil, http.StatusServiceUnavailable},
		"a broken header":             {"HTTP/1.1 200 OK\r\ncanary\r\n\r\n", nil, http.StatusServiceUnavailable},
		"two lengths":                 {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" + good, nil, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.raw(t, test.answer)
			answer := w.get(test.headers...)
			assert.Equal(t, test.code, answer.code)
			assert.NotContains(t, fmt.Sprint(answer), canary)
			if test.code != http.StatusOK {
				answer.status(t)
			}
		})
	}
}

// Requests are counted by code, of which there are not more than there are names for.
func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	w := newWorld(t, func(c *Config) { c.Register = registry.Register })
	codes := []int{200, 404, 499, 498, 497}
	for _, code := range codes {
		w.far.answers(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(code)
		})
		w.get()
	}
	w.edit(func(p *record.Peer) { p.Remote = nil })
	w.get()
	w.get()
	require.Eventually(t, func() bool { return turnoutOf(w) == 0 }, soon, tick)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP entente_outlet_requests_total [ALPHA] Requests of workloads to peers that have ended, by status code; one that nobody knows is other, and code 0 a request that was not answered.
# TYPE entente_outlet_requests_total counter
entente_outlet_requests_total{code="200"} 1
entente_outlet_requests_total{code="403"} 2
entente_outlet_requests_total{code="404"} 1
entente_outlet_requests_total{code="other"} 3
`), "entente_outlet_requests_total"))
	_, err := newMetrics(registry.Register)
	require.NoError(t, err, "another server in the process")
}
