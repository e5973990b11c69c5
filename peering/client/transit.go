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

	"k8s.io/utils/clock"

	"entente.dev/entente/peering/passage"
)

// Why a request is ended.
var (
	// errPatience: its answer does not begin.
	errPatience = errors.New("no answer in time")
	// errCrowded: there is no connection for it.
	errCrowded = errors.New("no connection in time")
)

// transit is one request that is under way: from when it is put until the body of its
// answer is closed.
type transit struct {
	request *http.Request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// forget stops following the end of the way.
	forget func() bool

	// leave gives up the place that the request has, if it has one.
	leave func()

	// patience ends the request unless it is answered. It starts anew whenever some of
	// the body is taken.
	patience clock.Timer
	limit    time.Duration
	answered atomic.Bool // or ended by patience
	// timers make one that ends a request for which there is no connection within space.
	timers clock.WithDelayedExecution
	space  time.Duration
	crowd  clock.Timer
	// connected tells whether there is a connection for the request, so that some of it
	// may have been sent.
	connected atomic.Bool
}

func (c *Carrier) newTransit(r *http.Request) *transit {
	t := &transit{request: r, limit: c.dialer.carryTimeout, timers: c.timers, leave: func() {}}
	// A connection is opened, and TLS spoken, within twice that time, or fails by itself.
	t.space = 2*c.dialer.connectTimeout + time.Second
	t.ctx, t.cancel = context.WithCancelCause(passage.Apart(r.Context(), context.Background()))
	t.patience = c.timers.AfterFunc(t.limit, func() {
		if t.answered.CompareAndSwap(false, true) {
			t.cancel(errPatience)
		}
	})
	return t
}

// until has the request end with another context, too.
func (t *transit) until(ctx context.Context) {
	t.forget = context.AfterFunc(ctx, func() { t.cancel(nil) })
}

// end is when nothing of the request is wanted any more, once or more often. It closes the
// body, unless some connection still may read it and will do so.
func (t *transit) end() {
	t.patience.Stop()
	t.found()
	if t.forget != nil {
		t.forget()
	}
	t.cancel(nil)
	if t.request.Body != nil && !t.connected.Load() {
		_ = t.request.Body.Close()
	}
	t.leave()
}

// seek is when the request begins to wait for a connection, found when it has one.
func (t *transit) seek() {
	t.connected.Store(false)
	t.found()
	t.crowd = t.timers.AfterFunc(t.space, func() { t.cancel(errCrowded) })
}

func (t *transit) found() {
	if t.crowd != nil {
		t.crowd.Stop()
	}
}

// traced is the context of a request that notes whether there is a connection for it. The
// library looks for another one where the first turned out to be closed before anything
// was sent.
func (t *transit) traced() context.Context {
	return httptrace.WithClientTrace(t.ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.seek() },
		GotConn: func(httptrace.GotConnInfo) { t.found(); t.connected.Store(true) },
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

// accept returns an answer, unless the request was ended meanwhile: its end is what some
// answer.
func (t *transit) accept(response *http.Response) (*http.Response, error) {
	if !t.answered.CompareAndSwap(false, true) {
		t.cancel(errPatience) // as is about to be done
	}
	if err := t.ctx.Err(); err != nil {
		_ = response.Body.Close()
		return nil, t.failure(err)
	}
	return t.answer(response), nil
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
