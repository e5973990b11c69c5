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
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/utils/clock"
)

// Limits of what a Carrier takes of this cluster and of the other one.
const (
	// maxDialled is how many connections to one endpoint are opened at a time. How many there
	// are in the end is for the requests to say: a gateway takes 128 on each, and 256
	// connections of one source, so that a thousand at once must not open a thousand.
	maxDialled = 8
	// maxCarriedBuffer is how much of an answer waits here for the one who asked to take
	// it, in bytes.
	maxCarriedBuffer = 128 << 10
)

// Carrier carries requests of workloads to the gateway of a paired cluster. It may be used
// by several goroutines at once. It looks at neither headers nor bodies: what may pass is
// for its user to say. Close it.
type Carrier struct {
	dialer *Dialer
	way    *way
	// places has room for those that may be under way.
	places chan struct{}
	timers clock.WithDelayedExecution
}

var _ http.RoundTripper = &Carrier{}

// Carrier returns a Carrier for so many requests at a time, of which one is under way until
// the body of its answer is closed. Connections are opened as they need them. Like a Conn it
// dials when it is first used, keeps its connections, and begins with the endpoint that
// answered last.
func (d *Dialer) Carrier(target Target, requests int) (*Carrier, error) {
	if requests < 1 {
		return nil, errors.New("could not make a carrier: it is for one request at least")
	}
	recognised, err := target.recognised()
	if err != nil {
		return nil, fmt.Errorf("could not make a carrier: %w", err)
	}
	way := d.newWay(target.Endpoints, recognised, target.Certificate).with(sharing)
	return &Carrier{dialer: d, way: way, places: make(chan struct{}, requests), timers: clock.RealClock{}}, nil
}

// sharing has requests share connections. To the library one of HTTP/2 that has no room left
// does not count, as long as it lasts; one of HTTP/1.1 always does, unless it was upgraded.
func sharing(t *http.Transport) {
	t.MaxConnsPerHost = maxDialled
	t.HTTP2.MaxReceiveBufferPerStream = maxCarriedBuffer
}

// RoundTrip implements http.RoundTripper. Scheme and host of the URL do not count: those of
// an endpoint take their place. Another endpoint is tried only where the one before could
// not be connected to, so that no request is made twice.
//
// It fails with a *Failure, or with the error of the context when that is cancelled, and
// so do reads of the answer's body. One request too many fails at once, as Busy, and so does
// one that waited for a connection for longer than it takes to open one. How long an answer
// takes to begin is limited, counted from when some of the request's body was last taken; how
// long it lasts is not. Interim answers, trailers and what the other cluster calls a status
// code are dropped.
//
// A request that is to become a WebSocket has a connection to itself, of HTTP/1.1, whatever
// the gateway speaks; the others share connections.
func (c *Carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	t := c.newTransit(r)
	select {
	case c.places <- struct{}{}:
		t.leave = sync.OnceFunc(func() { <-c.places })
	default:
		t.end()
		return nil, &Failure{Kind: Busy}
	}
	endpoints, err := c.way.begin()
	if err != nil {
		t.end()
		return nil, err
	}
	defer c.way.calls.Done()
	t.until(c.way.closing)

	var worst error
	for _, endpoint := range endpoints {
		response, err := t.over(c.way, endpoint)
		if err == nil {
			c.way.remember(endpoint)
			return response, nil
		}
		// Somebody else in its place is worse than nobody.
		if worst == nil || !isKind(worst, Untrusted) {
			worst = err
		}
		if t.connected.Load() || t.ctx.Err() != nil {
			worst = err
			break
		}
	}
	t.end()
	return nil, worst
}

// Close ends all requests and the bodies of all answers, and closes all connections.
// Requests after it fail.
func (c *Carrier) Close() { c.way.close() }

// over carries the request to one endpoint.
func (t *transit) over(w *way, endpoint string) (*http.Response, error) {
	l, err := w.line(endpoint)
	if err != nil {
		return nil, err
	}
	t.connected.Store(false)
	request := t.request.Clone(t.traced())
	// An endpoint is a scheme, a host and a port, and nothing else.
	request.URL.Scheme, request.URL.Host, _ = strings.Cut(endpoint, "://")
	request.Host = ""
	request.Body = t.body()
	response, err := l.transport.RoundTrip(request)
	if err != nil {
		return nil, t.failure(err)
	}
	return t.accept(response)
}

// failure says what became of a request, or of the body of its answer.
func (t *transit) failure(err error) error {
	switch {
	case errors.Is(context.Cause(t.ctx), errCrowded):
		return &Failure{Kind: Busy}
	case errors.Is(context.Cause(t.ctx), errPatience), errors.Is(t.ctx.Err(), context.DeadlineExceeded):
		// Whatever else it looks like.
		return &Failure{Kind: Unreachable, Detail: DetailTimeout}
	case t.ctx.Err() != nil:
		return fmt.Errorf("could not wait for an answer: %w", context.Canceled)
	default:
		return failureOf(err)
	}
}
