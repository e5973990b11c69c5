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

// Package stream ends requests that last once what they stand on is gone: watches, and
// connections that were upgraded, are decided on when they begin, and may go on for long.
package stream

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Interval is how soon a request ends after its ground went, at the latest.
const Interval = time.Second

// Supervisor looks at all requests that last, in one place: a thousand of them cost no
// goroutine each.
type Supervisor struct {
	clock clock.WithTicker

	lock sync.Mutex
	held map[*held]struct{}
}

type held struct {
	stands func() bool
	end    context.CancelFunc
}

// New returns a Supervisor, which does nothing until Run is called.
func New(clk clock.WithTicker) *Supervisor {
	return &Supervisor{clock: clk, held: map[*held]struct{}{}}
}

// Hold returns a context that ends soon after stands has become false, which is quick and
// is called from another goroutine. Release is to be called when the request is over.
func (s *Supervisor) Hold(ctx context.Context, stands func() bool) (held context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	h := newHeld(stands, cancel)
	s.lock.Lock()
	s.held[h] = struct{}{}
	s.lock.Unlock()
	return ctx, func() {
		cancel()
		s.lock.Lock()
		delete(s.held, h)
		s.lock.Unlock()
	}
}

func newHeld(stands func() bool, end context.CancelFunc) *held { return &held{stands, end} }

// Run looks at what is held, until ctx ends.
func (s *Supervisor) Run(ctx context.Context) {
	ticker := s.clock.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.look()
		}
	}
}

func (s *Supervisor) look() {
	s.lock.Lock()
	all := make([]*held, 0, len(s.held))
	for h := range s.held {
		all = append(all, h)
	}
	s.lock.Unlock()
	for _, h := range all {
		if !h.stands() {
			h.end()
		}
	}
}
