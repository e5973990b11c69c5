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
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/pki"
)

// carrier is a Carrier to a gateway with some client certificate.
func carrier(t testing.TB, d *Dialer, trust [][]byte, endpoints ...string) *Carrier {
	t.Helper()
	return carrierOf(t, 1000, d, trust, endpoints...)
}

func carrierOf(t testing.TB, requests int, d *Dialer, trust [][]byte, endpoints ...string) *Carrier {
	t.Helper()
	key := newKey(t)
	certificate, err := pki.SelfSigned(key, now(), now())
	require.NoError(t, err)
	c, err := d.Carrier(Target{Endpoints: endpoints, Trust: trust, Certificate: key.TLS(certificate.Raw)}, requests)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// asking is a request whose host is none.
func asking(t testing.TB, method, path string, body io.Reader, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://nobody.invalid"+path, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func carried(t testing.TB, c *Carrier, r *http.Request) string {
	t.Helper()
	response, err := c.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func eachProtocol(t *testing.T, test func(t *testing.T, http2 bool)) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) { test(t, http2) })
	}
}

// G8: what is asked arrives as it is, at the endpoint, under the certificate.
func TestG8Carry(t *testing.T) {
	eachProtocol(t, func(t *testing.T, http2 bool) {
		var endpoint string
		g := serve(t, entrance{http2: http2}, func(w http.ResponseWriter, r *http.Request) {
			assert.Len(t, r.TLS.PeerCertificates, 1)
			assert.EqualValues(t, tls.VersionTLS13, r.TLS.Version)
			assert.Equal(t, endpoint[len("https://"):], r.Host)
			assert.Equal(t, []string{"one", "two"}, r.Header["X-Test"])
			assert.Empty(t, r.Header["Accept-Encoding"])
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
		})
		endpoint = g.endpoint
		c := carrier(t, dialer(t), g.trust(), g.endpoint)
		for range 3 {
			r := asking(t, http.MethodPatch, "/peering/v1/api/a/b%20c?d=e", strings.NewReader("body"), "X-Test", "one", "X-Test", "two")
			response, err := c.RoundTrip(r)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, "PATCH /peering/v1/api/a/b%20c?d=e body", string(body))
			assert.Equal(t, http.StatusTeapot, response.StatusCode)
			assert.Equal(t, r, response.Request)
			assert.Equal(t, "nobody.invalid", r.URL.Host, "a RoundTripper changes no request")
		}
		assert.EqualValues(t, 1, g.connections.Load())
		c.Close()
		closed := &closing{Reader: strings.NewReader("body")}
		_, err := c.RoundTrip(asking(t, http.MethodPost, "/", closed))
		require.ErrorIs(t, err, net.ErrClosed)
		assert.True(t, closed.is())
		c.Close()
	})
}

// closing notes that it was closed, and cannot be read then.
type closing struct {
	io.Reader
	mu     sync.Mutex
	closed bool
}

func (c *closing) Read(p []byte) (int, error) {
	if c.is() {
		return 0, net.ErrClosed
	}
	return c.Reader.Read(p)
}

func (c *closing) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}

func (c *closing) is() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Another endpoint takes over, with the whole body, where there was no connection, and
// nowhere else.
func TestG8CarryEndpoints(t *testing.T) {
	eachProtocol(t, func(t *testing.T, http2 bool) {
		echoing := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
		first, second := serve(t, entrance{http2: http2}, echoing), serve(t, entrance{http2: http2}, echoing)
		stranger := serve(t, entrance{http2: http2}, echoing)
		trust := append(first.trust(), second.trust()...)
		d := dialer(t, func(c *Config) { c.ConnectTimeout = 300 * time.Millisecond })
		c := carrier(t, d, trust, silence(t), nobody(t), stranger.endpoint, second.endpoint)
		for range 3 {
			assert.Equal(t, "body", carried(t, c, asking(t, http.MethodPost, "/", &closing{Reader: strings.NewReader("body")})))
		}
		assert.EqualValues(t, 3, second.requests.Load())
		assert.Zero(t, stranger.requests.Load())
		assert.Equal(t, second.endpoint, c.way.endpoints[0])

		breaking := serve(t, entrance{http2: http2}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		c = carrier(t, d, append(breaking.trust(), trust...), breaking.endpoint, first.endpoint)
		_, err := c.RoundTrip(asking(t, http.MethodPost, "/", &closing{Reader: strings.NewReader("body")}))
		requireFailure(t, Failure{Kind: Unreachable, Detail: DetailConnect}, err)
		assert.Zero(t, first.requests.Load(), "no request is made twice")

		c = carrier(t, d, trust, nobody(t), stranger.endpoint, nobody(t))
		closed := &closing{Reader: strings.NewReader("body")}
		_, err = c.RoundTrip(asking(t, http.MethodPost, "/", closed))
		requireFailure(t, Failure{Kind: Untrusted}, err)
		assert.True(t, closed.is())
	})
}

// P11: whom the policy does not let be dialled is not, and a proxy only as configured.
func TestP11CarryPolicy(t *testing.T) {
	g := serve(t, entrance{hosts: []string{"gateway.example"}, http2: true}, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	_, err := carrier(t, dialer(t, func(c *Config) { c.Policy = Policy{} }), g.trust(), g.endpoint).RoundTrip(asking(t, http.MethodGet, "/", nil))
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailAddress}, err)
	assert.Zero(t, g.connections.Load())

	p := newProxy(t, g.endpoint[len("https://"):])
	d := dialer(t, func(c *Config) { c.Policy = Policy{}; c.ProxyURL = p.url })
	assert.Equal(t, "body", carried(t, carrier(t, d, g.trust(), "https://gateway.example:8443"), asking(t, http.MethodPost, "/", strings.NewReader("body"))))
	assert.Equal(t, []string{"CONNECT gateway.example:8443"}, p.asked)
}

// timed is a Carrier whose requests are measured by another clock.
func timed(t testing.TB, c *Carrier) *clocktesting.FakeClock {
	t.Helper()
	clock := clocktesting.NewFakeClock(now())
	c.timers = clock
	return clock
}

// result is what became of a request.
type result struct {
	body string
	err  error
}

// going carries a request in another goroutine.
func going(t testing.TB, c *Carrier, r *http.Request) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	go func() {
		response, err := c.RoundTrip(r)
		if err != nil {
			done <- result{"", err}
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		done <- result{string(body), err}
	}()
	return done
}

// An answer has to begin in time, counted from when some of the body was last taken. It
// may last.
func TestG8CarryPatience(t *testing.T) {
	const patience = time.Minute
	eachProtocol(t, func(t *testing.T, http2 bool) {
		arrived, taken, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
		g := serve(t, entrance{http2: http2, streaming: true}, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/hang":
				arrived <- struct{}{}
				<-r.Context().Done()
			case "/last":
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				arrived <- struct{}{}
				<-finish
			case "/upload":
				for buffer := make([]byte, 4); ; taken <- struct{}{} {
					if _, err := io.ReadFull(r.Body, buffer); err != nil {
						break
					}
				}
			}
			_, _ = w.Write([]byte("done"))
		})
		c := carrier(t, dialer(t, func(c *Config) { c.CarryTimeout = patience }), g.trust(), g.endpoint)
		clock := timed(t, c)
		hanging := going(t, c, asking(t, http.MethodGet, "/hang", nil))
		<-arrived
		clock.Step(patience)
		requireFailure(t, Failure{Kind: Unreachable, Detail: DetailTimeout}, (<-hanging).err)

		response, err := c.RoundTrip(asking(t, http.MethodGet, "/last", nil))
		require.NoError(t, err)
		<-arrived
		clock.Step(2 * patience)
		close(finish)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, "done", string(body))

		reader, writer := io.Pipe()
		uploading := going(t, c, asking(t, http.MethodPost, "/upload", reader))
		for range 4 {
			_, err := writer.Write([]byte("some"))
			require.NoError(t, err)
			<-taken
			clock.Step(patience - time.Second)
		}
		require.NoError(t, writer.Close())
		assert.Equal(t, result{"done", nil}, <-uploading)

		ctx, cancel := context.WithCancel(t.Context())
		hanging = going(t, c, asking(t, http.MethodGet, "/hang", nil).WithContext(ctx))
		<-arrived
		cancel()
		err = (<-hanging).err
		require.ErrorIs(t, err, context.Canceled)
		assert.False(t, isKind(err, Unreachable), "that is not the peer's fault")
	})
}

// What a gateway answers to a request that was ended, because it was, is no answer.
func TestG8CarryLateAnswer(t *testing.T) {
	c := carrier(t, dialer(t), [][]byte{newAuthority(t, now().Add(time.Hour)).Certificate.Raw}, nobody(t))
	for name, test := range map[string]struct {
		end  func(*transit)
		want error
	}{
		"in time":              {func(*transit) {}, nil},
		"by the one who asked": {func(r *transit) { r.cancel(nil) }, context.Canceled},
		"for it took too long": {func(r *transit) { r.answered.Store(true) }, &Failure{Kind: Unreachable, Detail: DetailTimeout}},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.newTransit(asking(t, http.MethodGet, "/", nil))
			defer r.end()
			test.end(r)
			body := &closing{Reader: strings.NewReader("late")}
			response, err := r.accept(&http.Response{StatusCode: http.StatusOK, Body: body})
			assert.Equal(t, test.want != nil, body.is())
			if test.want == nil {
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				return
			}
			require.ErrorContains(t, err, test.want.Error())
		})
	}
}

// P11: interim answers, trailers and what a status is called do not arrive, nor does a
// header that is too large; no redirection is followed.
func TestP11CarryAnswers(t *testing.T) {
	eachProtocol(t, func(t *testing.T, http2 bool) {
		g := serve(t, entrance{http2: http2}, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/interim":
				w.Header().Set("Link", canary)
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Del("Link")
				w.Header().Set("Trailer", "X-Announced")
				w.WriteHeader(http.StatusOK)
				_, _ = w.Write([]byte("done"))
				w.(http.Flusher).Flush()
				w.Header().Set("X-Announced", canary)
				w.Header().Set(http.TrailerPrefix+"X-More", canary)
			case "/large":
				w.Header().Set("X-Large", strings.Repeat("a", 1<<20))
			case "/redirect":
				http.Redirect(w, r, "/interim", http.StatusFound)
			}
		})
		c := carrier(t, dialer(t), g.trust(), g.endpoint)
		r := asking(t, http.MethodGet, "/interim", nil)
		interim := func(int, textproto.MIMEHeader) error { t.Error("an interim answer arrived"); return nil }
		response, err := c.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: interim})))
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, "done", string(body))
		assert.Equal(t, "200 OK", response.Status)
		assert.Empty(t, response.Trailer)
		assert.NotContains(t, fmt.Sprint(response.Header), canary)

		_, err = c.RoundTrip(asking(t, http.MethodGet, "/large", nil))
		requireFailure(t, Failure{Kind: Unreachable, Detail: DetailConnect}, err)
		response, err = c.RoundTrip(asking(t, http.MethodGet, "/redirect", nil))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusFound, response.StatusCode)
	})
}

// echo takes the connection over and sends back what comes.
func echoUpgraded(t testing.TB, w http.ResponseWriter) {
	connection, both, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	_, _ = both.WriteString("HTTP/1.1 101 " + canary + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_ = both.Flush()
	_, _ = io.Copy(connection, both)
}

// G7: a connection can be upgraded, although others are of HTTP/2, and ends with the
// carrier.
func TestG7CarryUpgrade(t *testing.T) {
	g := serve(t, entrance{http2: true}, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			return
		}
		assert.Equal(t, "websocket", r.Header.Get("Upgrade"))
		echoUpgraded(t, w)
	})
	c := carrier(t, dialer(t), g.trust(), g.endpoint)
	for range 2 * maxDialled { // they do not wait for each other
		assert.Empty(t, carried(t, c, asking(t, http.MethodGet, "/", nil)))
		response, err := c.RoundTrip(asking(t, http.MethodGet, "/", nil, "Connection", "Upgrade", "Upgrade", "websocket"))
		require.NoError(t, err)
		assert.Equal(t, "101 Switching Protocols", response.Status)
		both, ok := response.Body.(io.ReadWriteCloser)
		require.True(t, ok)
		_, err = both.Write([]byte("hello\n"))
		require.NoError(t, err)
		line, err := bufio.NewReader(both).ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "hello\n", line)
		t.Cleanup(func() { _ = both.Close() })
	}
	response, err := c.RoundTrip(asking(t, http.MethodGet, "/", nil, "Connection", "Upgrade", "Upgrade", "websocket"))
	require.NoError(t, err)
	c.Close()
	_, err = response.Body.Read(make([]byte, 1))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), local)
	_ = response.Body.Close()
}

// Close ends answers that last, and leaves nothing behind (goleak) even where nobody closes
// their bodies.
func TestG8CarryClose(t *testing.T) {
	eachProtocol(t, func(t *testing.T, http2 bool) {
		g := serve(t, entrance{http2: http2}, lasting)
		c := carrier(t, dialer(t), g.trust(), g.endpoint)
		response, err := c.RoundTrip(asking(t, http.MethodGet, "/", nil))
		require.NoError(t, err)
		c.Close()
		_, err = io.ReadAll(response.Body)
		require.Error(t, err)
	})
}

// lasting answers at once, and goes on until the client has gone.
func lasting(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if r.URL.Path != "/once" {
		<-r.Context().Done()
	}
}

// A thousand answers can last at a time, over few connections, however many streams a
// gateway allows on each; one more is refused at once; and their end leaves no connection
// open.
func TestG8CarryThousand(t *testing.T) {
	for _, count := range []int{1024, 3000} {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			g := serve(t, entrance{http2: true, streams: 128}, lasting)
			c := carrierOf(t, count, dialer(t), g.trust(), g.endpoint)
			bodies := make([]io.Closer, count)
			var waiting sync.WaitGroup
			for i := range count {
				waiting.Go(func() {
					response, err := c.RoundTrip(asking(t, http.MethodGet, "/", nil))
					if assert.NoError(t, err) {
						bodies[i] = response.Body
					}
				})
			}
			waiting.Wait()
			const initially = 100 // streams, until the gateway has said how many
			assert.LessOrEqual(t, g.open.Load(), int32(count/initially+1+maxDialled))
			closed := &closing{Reader: strings.NewReader("body")}
			_, err := c.RoundTrip(asking(t, http.MethodPost, "/", closed))
			requireFailure(t, Failure{Kind: Busy}, err)
			assert.True(t, closed.is())
			assert.EqualValues(t, count, g.requests.Load())
			for _, body := range bodies {
				if body != nil {
					assert.NoError(t, body.Close())
					assert.NoError(t, body.Close())
				}
			}
			before := g.connections.Load()
			assert.Empty(t, carried(t, c, asking(t, http.MethodGet, "/once", nil)))
			assert.Equal(t, before, g.connections.Load(), "connections are used again")
			assert.Empty(t, c.places)
		})
	}
	_, err := dialer(t).Carrier(Target{}, 0)
	require.Error(t, err)
}

// One that gets no connection does not wait for as long as it would for an answer.
func TestG8CarryCrowded(t *testing.T) {
	g := serve(t, entrance{}, lasting) // each request takes a connection
	c := carrierOf(t, 1000, dialer(t, func(c *Config) { c.CarryTimeout = time.Hour }), g.trust(), g.endpoint)
	clock := timed(t, c)
	for range maxDialled {
		response, err := c.RoundTrip(asking(t, http.MethodGet, "/", nil))
		require.NoError(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	before := clock.Waiters()
	crowded := going(t, c, asking(t, http.MethodGet, "/", nil))
	require.Eventually(t, func() bool { return clock.Waiters() == before+2 }, 10*time.Second, time.Millisecond, "for a connection and an answer")
	clock.Step(2*defaultConnectTimeout + time.Second)
	requireFailure(t, Failure{Kind: Busy}, (<-crowded).err)
}
