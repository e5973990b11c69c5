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
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

// events answers with an event at once, and another one whenever something is sent, until
// the client goes.
func events(more <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case event := <-more:
				_, _ = io.WriteString(w, event+"\n")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// ends tells whether reading comes to an error.
func ends(body io.Reader) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, body)
		done <- err
	}()
	return done
}

// goesOn tells that nothing of it ends for a while.
func goesOn(t *testing.T, ending ...<-chan error) {
	t.Helper()
	require.Never(t, func() bool {
		return slices.ContainsFunc(ending, func(one <-chan error) bool { return len(one) > 0 })
	}, 20*time.Millisecond, tick, "it ended before")
}

// G8: each event of a watch arrives at once, and a watch may be as long as it likes.
func TestG8Watch(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Body: 10} })
	for _, path := range []string{"pods?watch=1", "pods?watch", "pods?watch=true", "watch/pods", "namespaces/n/pods/a/log?follow=true"} {
		more := make(chan string)
		w.far.answers(events(more))
		response, err := w.open(http.MethodGet, "logs/api/v1/"+path, nil)
		require.NoError(t, err)
		lines := bufio.NewScanner(response.Body)
		require.True(t, lines.Scan())
		assert.Equal(t, "first", lines.Text())
		for i := range 5 {
			more <- fmt.Sprint("event ", i)
			require.True(t, lines.Scan())
			assert.Equal(t, fmt.Sprint("event ", i), lines.Text())
		}
		require.NoError(t, response.Body.Close())
	}
	require.Eventually(t, func() bool { return turnoutOf(w) == 0 }, soon, tick, "the end of a watch reaches the peer")
}

// G8: an answer whose length is known arrives as it comes, too.
func TestG8SlowAnswer(t *testing.T) {
	w := newWorld(t)
	more := make(chan string)
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Length", "12")
		events(more)(rw, r)
	})
	response, err := w.open(http.MethodGet, "logs/api/v1/pods", nil)
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	require.True(t, lines.Scan())
	assert.Equal(t, "first", lines.Text())
	more <- "last."
	require.True(t, lines.Scan())
	assert.Equal(t, "last.", lines.Text())
}

func turnoutOf(w *world) int {
	w.outlet.turnout.lock.Lock()
	defer w.outlet.turnout.lock.Unlock()
	return len(w.outlet.turnout.peers)
}

// G7, G8: what lasts ends within a second of what it stands on. A watch ends as one of an API
// server does, so that its client begins anew, and is told why it cannot.
func TestG8StreamsEnd(t *testing.T) {
	grounds := withdrawals()
	grounds["the ledger is out of sight"] = func(w *world) { w.ledger.SetFresh(record.ErrStale) }
	for name, withdraw := range grounds {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.far.answers(events(nil))
			response, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
			require.NoError(t, err)
			defer response.Body.Close()
			socket := w.upgrade(t)
			defer socket.Close()
			watching, talking := ends(response.Body), ends(socket)
			w.clock.Step(time.Second)
			goesOn(t, watching, talking)
			withdraw(w)
			before := w.clock.Now()
			w.eventually(func() bool { return len(watching) > 0 && len(talking) > 0 }, "the end")
			assert.NoError(t, <-watching, "a watch may end at any time")
			assert.Less(t, w.clock.Since(before), soon)
		})
	}
}

// upgrade opens a WebSocket to the peer, which sends back what it gets.
func (w *world) upgrade(t *testing.T) net.Conn {
	t.Helper()
	handler := *w.far.handler.Load()
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			echo(t, rw, r)
			return
		}
		handler(rw, r)
	})
	return w.switched(t, "Sec-WebSocket-Key: a2V5\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.Y2FuYXJ5\r\n")
}

// switched sends a request for a WebSocket and returns the connection that it becomes.
func (w *world) switched(t *testing.T, headers string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(strings.TrimSuffix(w.front, "/proxy/"), "http://")
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = fmt.Fprintf(connection, "GET /proxy/logs/api/v1/x?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%s\r\n", headers)
	require.NoError(t, err)
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	require.Equal(t, "101 Switching Protocols", response.Status)
	assert.NotContains(t, fmt.Sprint(response.Header), canary)
	assert.Equal(t, "v4.channel.k8s.io", response.Header.Get("Sec-Websocket-Protocol"))
	return &buffered{Conn: connection, reader: reader}
}

type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// echo takes the connection over.
func echo(t *testing.T, w http.ResponseWriter, r *http.Request) {
	assert.Equal(t, []string{"v4.channel.k8s.io"}, r.Header["Sec-Websocket-Protocol"])
	assert.Equal(t, "a2V5", r.Header.Get("Sec-Websocket-Key"))
	connection, both, err := http.NewResponseController(w).Hijack()
	if !assert.NoError(t, err) {
		return
	}
	defer connection.Close()
	_, _ = both.WriteString("HTTP/1.1 101 " + canary + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Set-Cookie: a=" + canary + "\r\nSec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n")
	_ = both.Flush()
	_, _ = io.Copy(connection, both)
}

// G7, G8: a WebSocket passes, without the token that the caller may have put into it.
func TestG8WebSocket(t *testing.T) {
	w := newWorld(t)
	socket := w.upgrade(t)
	_, err := io.WriteString(socket, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(socket).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "hello\n", line)
	require.NoError(t, socket.Close())
	require.Eventually(t, func() bool { return turnoutOf(w) == 0 }, soon, tick)

	assert.Equal(t, http.StatusBadRequest, w.get("Connection", "Upgrade", "Upgrade", "SPDY/3.1").code)
}

// G8: a few WebSockets of one peer are enough, as each has a connection to itself.
func TestG8WebSocketLimit(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Upgrades: 1} })
	defer w.upgrade(t).Close()
	answer := w.get("Connection", "Upgrade", "Upgrade", "websocket")
	assert.Equal(t, http.StatusTooManyRequests, answer.code)
	assert.Equal(t, http.StatusOK, w.get().code)
}

// G8: the end of Run ends all, and nobody is carried any more.
func TestG8RunEnds(t *testing.T) {
	w := newWorld(t)
	w.far.answers(events(nil))
	response, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer response.Body.Close()
	w.stop()
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, w.get().code)
	require.Eventually(t, func() bool { return w.far.open.Load() == 0 }, soon, tick)
}

// G8: a thousand watches last at a time, and leave nothing behind.
func TestG8ThousandStreams(t *testing.T) {
	const count = 1000
	w := newWorld(t)
	w.far.answers(events(nil))
	before := runtime.NumGoroutine()
	var asking sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	bodies := make([]io.Closer, count)
	for i := range count {
		asking.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.front+"logs/api/v1/pods?watch=1", nil)
			if !assert.NoError(t, err) {
				return
			}
			response, err := w.client.Do(request)
			if assert.NoError(t, err) {
				assert.Equal(t, http.StatusOK, response.StatusCode)
				bodies[i] = response.Body
			}
		})
	}
	asking.Wait()
	assert.Len(t, w.host.requests(), 1)
	assert.EqualValues(t, count, w.far.requests.Load())
	assert.Less(t, w.far.connections.Load(), int32(128))
	for _, body := range bodies {
		if body != nil {
			_ = body.Close()
		}
	}
	w.edit(func(p *record.Peer) { p.Remote.Fault = record.PeerLeft })
	w.client.CloseIdleConnections()
	w.eventually(func() bool { return w.far.open.Load() == 0 && turnoutOf(w) == 0 && runtime.NumGoroutine() <= before+10 }, "base line")
}
