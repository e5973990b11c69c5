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

package entrance

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// G7: what interrupts a request, and what reads its body, may come after its handler has
// returned. Over HTTP/2 there is nothing to be interrupted then, and over HTTP/1.1 it would
// be the next request.
func TestG7NothingIsInterruptedLater(t *testing.T) {
	var before *writer
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil {
			before.interrupt()
			before.arrived()
			before.interrupt()
		}
		before = newWriter(r.Context(), w, soon)
		_, _ = before.Write([]byte("well"))
		before.end()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, two := range []bool{true, false} {
		before = nil
		var protocols http.Protocols
		protocols.SetHTTP1(!two)
		protocols.SetHTTP2(two)
		transport := &http.Transport{TLSClientConfig: server.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), Protocols: &protocols}
		t.Cleanup(transport.CloseIdleConnections)
		for range 3 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
			require.NoError(t, err)
			response, err := transport.RoundTrip(r)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			response.Body.Close()
			assert.Equal(t, "well", string(body))
		}
		before.interrupt()
	}
}

// G7: a peer that takes a stream back just as its answer ends, or as its body does, ends
// nothing but that.
func TestG7StreamsThatAreReset(t *testing.T) {
	f := newFixture(t, Limits{Requests: 1e6, Burst: 1e6})
	f.host.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
		w.(http.Flusher).Flush()
	})
	until := time.Now().Add(time.Second)
	var peers sync.WaitGroup
	for i := range 8 {
		transport := f.client(true)
		path, token := apiPath+"/api/v1/namespaces/shop/configmaps", f.token()
		peers.Go(func() {
			for time.Now().Before(until) {
				ctx, cancel := context.WithCancel(t.Context())
				sent, more := io.Pipe()
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+f.address+path, sent)
				assert.NoError(t, err)
				r.Header.Set("Authorization", "Bearer "+token)
				if i%2 == 0 {
					r.Method, r.Body = http.MethodGet, http.NoBody
				}
				go func() { _, _ = more.Write([]byte("{}")); _ = more.Close() }()
				response, err := transport.RoundTrip(r)
				if assert.NoError(t, err) {
					_, _ = io.ReadFull(response.Body, make([]byte, 2))
					cancel()
					_ = response.Body.Close()
				}
				_ = sent.Close()
				cancel()
			}
		})
	}
	peers.Wait()
	f.underWay(0, 0)
	assert.Equal(t, http.StatusOK, f.get("/api").code)
}

// frames opens a connection of HTTP/2 on which frames can be written. What comes back is
// read, and no byte of a body is to come.
func (f *fixture) frames() *http2.Framer {
	f.t.Helper()
	config := f.tls()
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(f.t.Context(), "tcp", f.address)
	require.NoError(f.t, err)
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(f.t, err)
	framer := http2.NewFramer(conn, conn)
	require.NoError(f.t, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			f.frame(frame)
		}
	})
	f.t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	return framer
}

// frame counts an answer, or a stream that was broken off.
func (f *fixture) frame(frame http2.Frame) {
	f.lock.Lock()
	defer f.lock.Unlock()
	switch frame.(type) {
	case *http2.HeadersFrame:
		f.answered++
	case *http2.RSTStreamFrame:
		f.reset++
	}
}

// block is the header of a request with a valid token.
func (f *fixture) block(method, path string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0)
	for _, field := range [][2]string{
		{":method", method}, {":scheme", "https"}, {":authority", f.address}, {":path", apiPath + path}, {"authorization", "Bearer " + f.token()},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	return block.Bytes()
}

// P11: a refusal that is not taken holds nothing for long, and of those that a peer asks too
// much few are held at all: others are broken off, as soon as they come.
func TestP11RefusalsThatAreNotTaken(t *testing.T) {
	f := newFixture(t, Limits{Requests: 0.001, Burst: 10, Refuse: 300 * time.Millisecond})
	f.edit(func(p *record.Peer) { p.Remote.Offer.Body.Capabilities = nil })
	const requests = 10 + maxTold + 40
	framer := f.frames()
	block := f.block(http.MethodGet, "/api")
	began := time.Now()
	for i := range uint32(requests) {
		require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block, EndHeaders: true, EndStream: true}))
	}
	count := map[Reason]int{}
	codes := map[int]int{}
	for _, each := range f.audited(requests) {
		count[each.Reason]++
		codes[each.Code]++
	}
	assert.Less(t, time.Since(began), soon/2)
	assert.Equal(t, map[Reason]int{NotInEffect: 10, TooManyRequests: maxTold + 40}, count, "all are told")
	assert.Equal(t, 10, codes[http.StatusForbidden])
	assert.Equal(t, requests-10, codes[http.StatusTooManyRequests]+codes[0])
	assert.GreaterOrEqual(t, codes[http.StatusTooManyRequests], maxTold)
	assert.Positive(t, codes[0])
	require.Eventually(t, func() bool {
		f.lock.Lock()
		defer f.lock.Unlock()
		return f.reset == requests && f.answered == requests-codes[0]
	}, soon, tick, "none was taken")
	f.underWay(0, 0)
	assert.Zero(t, f.presenceOf().telling)
}

// P11: a refusal does not wait for a body either.
func TestP11RefusalsDoNotWaitForBodies(t *testing.T) {
	f := newFixture(t, Limits{Refuse: 300 * time.Millisecond})
	began := time.Now()
	response, reader, _ := f.raw("POST " + apiPath + "/api/v1/namespaces/shop/configmaps HTTP/1.1\nHost: x\nContent-Length: 9\n\n{")
	assert.Equal(t, NoToken, f.read(response).reason)
	_, err := reader.ReadByte()
	require.ErrorIs(t, err, io.EOF, "nor for another request after it")
	assert.Less(t, time.Since(began), soon/2)
	assert.Equal(t, http.StatusUnauthorized, f.audited(1)[0].Code)
	// Where the body has come the connection goes on, for longer than a refusal waits.
	transport := f.client(false)
	for range 2 {
		r := f.request(t.Context(), http.MethodPost, apiPath+"/api", strings.NewReader("{}"))
		assert.Equal(t, NotInRules, f.send(transport, r).reason)
		<-after(150 * time.Millisecond)
	}
}

// G6: a peer whose tokens are bad too often is told so, before a signature is looked at. Who
// is known goes on.
func TestG6TooManyBadTokens(t *testing.T) {
	f := newFixture(t, Limits{Failures: 1, FailureBurst: 2})
	transport := f.client(true)
	send := func(token string) answer {
		r := f.request(t.Context(), http.MethodGet, apiPath+"/api", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return f.send(transport, r)
	}
	fresh := func(by *issuer) string {
		claims := f.claims()
		claims["jti"] = rand.Text()
		return by.sign(claims)
	}
	known, forger := fresh(f.issuer), newIssuer(t, "west")
	assert.Equal(t, http.StatusOK, send(known).code)
	bad := fresh(forger)
	for range 3 {
		assert.Equal(t, Reason("BadSignature"), send(bad).reason)
	}
	assert.Equal(t, Reason("BadSignature"), send(fresh(forger)).reason)
	for _, token := range []string{fresh(forger), fresh(f.issuer)} {
		a := send(token)
		assert.Equal(t, http.StatusTooManyRequests, a.code)
		assert.Equal(t, Reason("TooManyFailures"), a.reason)
		assert.Equal(t, "1", a.header.Get("Retry-After"))
	}
	assert.Equal(t, http.StatusOK, send(known).code)
	// Other keys make no difference: it is the peer's.
	next := newIssuer(t, "next")
	f.setIssuer(&protocol.Issuer{URL: issuerURL, JWKS: next.jwks()})
	assert.Equal(t, Reason("TooManyFailures"), send(fresh(next)).reason)
	f.clock.Step(time.Second)
	assert.Equal(t, http.StatusOK, send(fresh(next)).code)
}
