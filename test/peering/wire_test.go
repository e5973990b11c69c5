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

package peering

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/harness"
)

// Encrypted records of TLS that are at least that long are, towards a gateway, a message,
// and, from it after one, an answer: the joiner's certificate and what HTTP itself says
// are shorter.
const (
	encrypted       = 23
	shortestRequest = 900
	shortestAnswer  = 250
)

// wire is a TCP proxy in front of a gateway. Its address stays where it is when the
// gateway starts anew elsewhere. It can be cut, and held at a moment of a call.
type wire struct {
	t        testing.TB
	listener net.Listener
	pumps    sync.WaitGroup
	// ended is closed when the test ends.
	ended chan struct{}

	mu     sync.Mutex
	target string // empty: nobody is there
	open   map[net.Conn]bool
	calls  int // since hold
	held   *held
}

// moment is a point of a call, which is what is said over a new connection.
type moment struct {
	// call counts from 1.
	call int
	// answer: the answer is on its way; else the request.
	answer bool
	// passed: it has passed; else it is about to.
	passed bool
}

// held is a moment at which a call is held.
type held struct {
	moment
	reached, cut chan struct{}
	once         sync.Once
}

// newWire listens on the loopback interface until the test ends.
func newWire(t testing.TB) *wire {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{t: t, listener: listener, open: map[net.Conn]bool{}, ended: make(chan struct{})}
	w.pumps.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// endpoint is the URL of the gateway behind the wire.
func (w *wire) endpoint() string { return "https://" + w.listener.Addr().String() }

// to leads to another address from now on. Empty: connections end at once.
func (w *wire) to(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target = address
	w.hangUp()
}

// cut ends all connections, and lets no new one through.
func (w *wire) cut() { w.to("") }

func (w *wire) hangUp() {
	for conn := range w.open {
		_ = conn.Close()
	}
}

func (w *wire) close() {
	close(w.ended)
	_ = w.listener.Close()
	w.cut()
	w.pumps.Wait()
}

// hold holds the next call that comes to that moment, once: until release, which cuts it.
func (w *wire) hold(at moment) *held {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.held = 0, &held{moment: at, reached: make(chan struct{}), cut: make(chan struct{})}
	return w.held
}

// await waits until the moment has come.
func (h *held) await(t testing.TB) {
	t.Helper()
	select {
	case <-h.reached:
	case <-time.After(deadline):
		require.Failf(t, "did not happen", "no call came to %+v", h.moment)
	}
}

func (h *held) release() { h.once.Do(func() { close(h.cut) }) }

// reach tells whether the connection is to be cut here, after a while.
func (w *wire) reach(at moment) (cut bool) {
	w.mu.Lock()
	h := w.held
	if h == nil || h.moment != at {
		w.mu.Unlock()
		return false
	}
	w.held = nil
	w.mu.Unlock()
	close(h.reached)
	select {
	case <-h.cut:
	case <-w.ended:
	}
	return true
}

func (w *wire) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.pumps.Go(func() { w.connect(conn) })
	}
}

func (w *wire) connect(client net.Conn) {
	defer client.Close()
	w.mu.Lock()
	target := w.target
	w.mu.Unlock()
	if target == "" {
		return
	}
	gateway, err := (&net.Dialer{Timeout: deadline}).Dial("tcp", target)
	if err != nil {
		return
	}
	defer gateway.Close()
	if !w.keep(target, client, gateway) {
		return
	}
	defer w.forget(client, gateway)
	c := &call{wire: w}
	var both sync.WaitGroup
	end := func() { _ = errors.Join(client.Close(), gateway.Close()) }
	both.Go(func() { defer end(); c.pump(gateway, client, false) })
	both.Go(func() { defer end(); c.pump(client, gateway, true) })
	both.Wait()
}

// keep notes connections to be cut, unless that has happened meanwhile.
func (w *wire) keep(target string, conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range conns {
		w.open[conn] = true
	}
	return w.target == target
}

func (w *wire) forget(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range conns {
		delete(w.open, conn)
	}
}

// call is what goes over one connection.
type call struct {
	wire *wire

	mu              sync.Mutex
	number          int // 0: nothing was asked yet
	asked, answered bool
}

// pump passes records of TLS on until one of the two sides is gone, or the call is cut.
func (c *call) pump(from io.Reader, to io.Writer, toGateway bool) {
	const header = 5
	record := make([]byte, header, header+1<<15)
	for {
		if _, err := io.ReadFull(from, record[:header]); err != nil {
			return
		}
		length := int(binary.BigEndian.Uint16(record[3:header]))
		if header+length > cap(record) {
			return
		}
		if _, err := io.ReadFull(from, record[header:header+length]); err != nil {
			return
		}
		at, first := c.at(record[0], length, toGateway)
		if first && c.wire.reach(at) {
			return
		}
		if _, err := to.Write(record[:header+length]); err != nil {
			return
		}
		at.passed = true
		if first && c.wire.reach(at) {
			return
		}
	}
}

// at returns which moment the first record of a request, or of its answer, is.
func (c *call) at(kind byte, length int, toGateway bool) (at moment, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind != encrypted:
	case toGateway && !c.asked && length >= shortestRequest:
		c.asked = true
		c.wire.mu.Lock()
		c.wire.calls++
		c.number = c.wire.calls
		c.wire.mu.Unlock()
		return moment{call: c.number}, true
	case !toGateway && c.asked && !c.answered && length >= shortestAnswer:
		c.answered = true
		return moment{call: c.number, answer: true}, true
	}
	return moment{}, false
}

// behind is the option for a server whose gateway is behind the wire. That leads to it
// only when it is told to.
func (w *wire) behind() harness.Option {
	return harness.WithGatewayAt(w.t, "127.0.0.1:0", w.endpoint())
}

// startBehind starts a server whose gateway is dialled by the wire.
func startBehind(t *testing.T, w *wire, opts ...harness.Option) *cluster {
	t.Helper()
	c := &cluster{t: t, Server: harness.Start(t, append([]harness.Option{w.behind()}, opts...)...)}
	w.to(c.Server.Server.GatewayAddress())
	return c
}
