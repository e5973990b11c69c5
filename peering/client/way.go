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
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// way is the way to one gateway, over whichever of its endpoints answers.
type way struct {
	newLine func(endpoint string) (*line, error)
	// closing ends all calls, end says so.
	closing context.Context
	end     context.CancelFunc
	calls   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// endpoints are in the order in which to try them: the one that answered last first.
	endpoints []string
	lines     map[string]*line
}

func (d *Dialer) newWay(endpoints []string, recognised recognition, certificate tls.Certificate) *way {
	closing, end := context.WithCancel(context.Background())
	return &way{
		endpoints: slices.Clone(endpoints),
		lines:     map[string]*line{},
		closing:   closing,
		end:       end,
		newLine: func(endpoint string) (*line, error) {
			host, err := d.hostOf(endpoint)
			if err != nil {
				return nil, err
			}
			return d.newLine(endpoint, d.dial, d.tlsConfig(host, recognised, certificate)), nil
		},
	}
}

// with has all lines of the way differ from others in some way.
func (w *way) with(change func(*http.Transport)) *way {
	newLine := w.newLine
	w.newLine = func(endpoint string) (*line, error) {
		l, err := newLine(endpoint)
		if err == nil {
			change(l.transport)
		}
		return l, err
	}
	return w
}

// put puts a request to the endpoints in turn, until one answers. It returns what was
// answered, also with an error that says what is wrong with it, and which endpoint did.
func put[Answer any](ctx context.Context, w *way, c *call) (answer Answer, endpoint string, err error) {
	endpoints, err := w.begin()
	if err != nil {
		return answer, "", err
	}
	defer w.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.closing, cancel)() //nolint:contextcheck // the end of the way, not of the caller, is to end the call too

	var worst error
	for i, endpoint := range endpoints {
		answer = *new(Answer)
		err := w.at(ctx, endpoint, len(endpoints)-i, c, &answer)
		if isAnswer(err) {
			w.remember(endpoint)
			return answer, endpoint, err
		}
		// Somebody else in its place is worse than nobody.
		if worst == nil || !isKind(worst, Untrusted) {
			worst = err
		}
		if ctx.Err() != nil {
			worst = err
			break
		}
	}
	return *new(Answer), "", worst
}

// at puts a request to one endpoint. If there is a deadline, it leaves to each of the
// endpoints that are left its share of the time.
func (w *way) at(ctx context.Context, endpoint string, left int, c *call, answer any) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	l, err := w.line(endpoint)
	if err != nil {
		return err
	}
	return c.on(ctx, l, answer)
}

func isAnswer(err error) bool {
	var failure *Failure
	return err == nil || errors.As(err, &failure) && failure.Kind != Unreachable && failure.Kind != Untrusted
}

func isKind(err error, kind Kind) bool {
	var failure *Failure
	return errors.As(err, &failure) && failure.Kind == kind
}

// begin notes that a call goes on, unless the way is closed.
func (w *way) begin() (endpoints []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, net.ErrClosed
	}
	w.calls.Add(1)
	return slices.Clone(w.endpoints), nil
}

func (w *way) line(endpoint string) (*line, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.lines[endpoint]; l != nil {
		return l, nil
	}
	l, err := w.newLine(endpoint)
	if err != nil {
		return nil, err
	}
	w.lines[endpoint] = l
	return l, nil
}

func (w *way) remember(endpoint string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(w.endpoints), func(other string) bool { return other == endpoint })
	w.endpoints = append([]string{endpoint}, rest...)
}

// close ends all calls, waits for them, and closes all connections.
func (w *way) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.calls.Wait()
	for _, l := range w.lines {
		l.close()
	}
}
