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
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

// errPatience ends a request whose answer does not begin.
var errPatience = errors.New("no answer in time")

// transit is one request that is under way: from when it is put until the body of its
// answer is closed.
type transit struct {
	request *http.Request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// forget stops following the end of the way.
	forget func() bool

	// patience ends the request unless it is answered. It starts anew whenever some of
	// the body is taken.
	patience *time.Timer
	limit    time.Duration
	answered atomic.Bool
	// connected tells whether there is a connection for the request, so that some of it
	// may have been sent.
	connected atomic.Bool
}

func (c *Carrier) newTransit(r *http.Request) *transit {
	t := &transit{request: r, limit: c.dialer.carryTimeout}
	t.ctx, t.cancel = context.WithCancelCause(bare{r.Context()})
	t.patience = time.AfterFunc(t.limit, func() {
		if !t.answered.Load() {
			t.cancel(errPatience)
		}
	})
	return t
}

// until has the request end with another context, too.
func (t *transit) until(ctx context.Context) {
	t.forget = context.AfterFunc(ctx, func() { t.cancel(nil) })
}

// end is when nothing of the request is wanted any more. It closes the body, unless some
// connection still may read it and will do so.
func (t *transit) end() {
	t.patience.Stop()
	if t.forget != nil {
		t.forget()
	}
	t.cancel(nil)
	if t.request.Body != nil && !t.connected.Load() {
		_ = t.request.Body.Close()
	}
}

// traced is the context of a request that notes whether there is a connection for it. The
// library looks for another one where the first turned out to be closed before anything
// was sent.
func (t *transit) traced() context.Context {
	return httptrace.WithClientTrace(t.ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { t.connected.Store(true) },
	})
}

// body is that of the request, for one attempt.
func (t *transit) body() io.ReadCloser {
	if t.request.Body == nil || t.request.Body == http.NoBody {
		return t.request.Body
	}
	return &sentBody{t}
}

// sentBody is the body of a request as the library reads it.
type sentBody struct{ *transit }

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.request.Body.Read(p)
	if !b.answered.Load() {
		b.patience.Reset(b.limit)
	}
	return n, err
}

// Close closes the body, unless it is to be sent to another endpoint.
func (b *sentBody) Close() error {
	if !b.connected.Load() {
		return nil
	}
	return b.request.Body.Close()
}

// answer makes an answer of what is wanted of one. It is another object than the one that
// the library goes on to add the trailers to.
func (t *transit) answer(from *http.Response) *http.Response {
	response := &http.Response{
		StatusCode: from.StatusCode, Status: strconv.Itoa(from.StatusCode) + " " + http.StatusText(from.StatusCode),
		Proto: from.Proto, ProtoMajor: from.ProtoMajor, ProtoMinor: from.ProtoMinor,
		Header: from.Header, ContentLength: from.ContentLength, Request: t.request,
	}
	body := &answerBody{ReadCloser: from.Body, transit: t}
	response.Body = body
	if both, ok := from.Body.(io.ReadWriteCloser); ok && from.StatusCode == http.StatusSwitchingProtocols {
		response.Body = &switchedBody{answerBody: body, Writer: both}
	}
	return response
}

// answerBody is the body of an answer.
type answerBody struct {
	io.ReadCloser
	transit *transit
}

// Read implements io.Reader.
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a body ends with the error itself
		err = b.transit.failure(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.transit.end()
	if err != nil {
		return b.transit.failure(err)
	}
	return nil
}

// switchedBody is what a connection becomes that was upgraded.
type switchedBody struct {
	*answerBody
	io.Writer
}

// bare is a context without values: of those that a request may have, some have the library
// tell others what the other cluster sends.
type bare struct{ context.Context }

// Value implements context.Context.
func (bare) Value(any) any { return nil }

// AfterFunc spares the library a goroutine.
func (b bare) AfterFunc(f func()) func() bool { return context.AfterFunc(b.Context, f) }
