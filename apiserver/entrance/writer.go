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
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// writer writes an answer, and does not wait for who does not take it: each part may take
// so long, while between parts any time may pass.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context
	// patience is how long a part may take, by the clock of the system, as all deadlines
	// of connections are.
	patience time.Duration
	// begins is called with the status code when it is known, if there is somebody to.
	begins func(code int)
	// code is the status code, 0 until it is known.
	code     int
	hijacked bool

	lock sync.Mutex
	// over says that the handler has returned, or is about to. What control works on is the
	// server's again then: the next request's, or nothing.
	over bool
}

func newWriter(ctx context.Context, w http.ResponseWriter, patience time.Duration) *writer {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{})
	return &writer{ResponseWriter: w, control: control, ctx: ctx, patience: patience}
}

// WriteHeader implements http.ResponseWriter. What comes before an answer, of codes from
// 100, does not pass: nobody has looked at its headers.
func (w *writer) WriteHeader(code int) {
	if code < http.StatusOK {
		return
	}
	w.begin(code)
	w.ResponseWriter.WriteHeader(code)
}

func (w *writer) begin(code int) {
	if w.code != 0 {
		return
	}
	w.code = code
	if w.begins != nil {
		w.begins(code)
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(data []byte) (written int, err error) {
	w.begin(http.StatusOK)
	err = w.within(func() (err error) {
		written, err = w.ResponseWriter.Write(data)
		return err
	})
	return written, err
}

// FlushError is for http.ResponseController.
func (w *writer) FlushError() error { return w.within(w.control.Flush) }

// within does a part, if the request still goes on.
func (w *writer) within(do func() error) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.patience))
	// The deadline that interrupt set may have been the one before this. Then the context
	// had ended.
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	// Over HTTP/2 it would end the stream although nothing waits.
	return w.control.SetWriteDeadline(time.Time{})
}

// interrupt has whatever waits for the peer fail.
func (w *writer) interrupt() {
	past := time.Now().Add(-time.Second)
	w.unlessOver(func() {
		_ = w.control.SetReadDeadline(past)
		_ = w.control.SetWriteDeadline(past)
	})
}

// arrived lets the peer be silent: its request has arrived, and it waits.
func (w *writer) arrived() {
	w.unlessOver(func() { _ = w.control.SetReadDeadline(time.Time{}) })
}

// unlessOver does something to the connection, or the stream, from a goroutine that may
// outlast the handler.
func (w *writer) unlessOver(do func()) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if !w.over {
		do()
	}
}

// end is called by the handler, last of all.
func (w *writer) end() {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.over = true
}

// Hijack implements http.Hijacker. The connection ends with the context.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := w.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.hijacked = true
	w.begin(http.StatusSwitchingProtocols)
	_ = conn.SetWriteDeadline(time.Now().Add(w.patience))
	upgraded := &upgraded{Conn: conn, patience: w.patience}
	upgraded.stop = context.AfterFunc(w.ctx, func() { _ = conn.Close() })
	return upgraded, buffered, nil
}

// upgraded is a connection that became something else.
type upgraded struct {
	net.Conn
	patience time.Duration
	stop     func() bool
}

// Write implements net.Conn.
func (u *upgraded) Write(data []byte) (int, error) {
	_ = u.SetWriteDeadline(time.Now().Add(u.patience))
	return u.Conn.Write(data)
}

// Close implements net.Conn.
func (u *upgraded) Close() error {
	u.stop()
	return u.Conn.Close()
}
