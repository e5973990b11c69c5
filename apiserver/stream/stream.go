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
	held map[*request]struct{}
	// running says that somebody looks.
	running bool
}

// request is one that lasts.
type request struct {
	stands func() bool
	end    context.CancelFunc
}

// New returns a Supervisor, which holds nothing until Run is called.
func New(clk clock.WithTicker) *Supervisor {
	return &Supervisor{clock: clk, held: map[*request]struct{}{}}
}

// Hold returns a context that ends soon after stands has become false, which is quick and
// is called from another goroutine, by one at a time. Release is to be called when the
// request is over; stands may still be running then, and is not called again.
//
// Before Run, and once that has returned, the context has ended from the beginning, as
// nobody looks: Runs tells that apart from the end of ctx.
func (s *Supervisor) Hold(ctx context.Context, stands func() bool) (held context.Context, release func()) {
	held, cancel := context.WithCancel(ctx)
	r := &request{stands: stands, end: cancel}
	s.lock.Lock()
	defer s.lock.Unlock()
	if !s.running {
		cancel()
		return held, cancel
	}
	s.held[r] = struct{}{}
	return held, func() {
		cancel()
		s.lock.Lock()
		defer s.lock.Unlock()
		delete(s.held, r)
	}
}

// Runs tells whether requests are held now.
func (s *Supervisor) Runs() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.running
}

// Run looks at what is held, until ctx ends. Then all of it ends: what nobody looks at any
// more must not go on. It is called once.
func (s *Supervisor) Run(ctx context.Context) {
	ticker := s.clock.NewTicker(Interval)
	defer ticker.Stop()
	s.begin()
	defer s.end()
	var all []*request
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			all = s.look(all)
		}
	}
}

// look ends what does not stand any more. What it returns is to be given to it the next
// time, to be used again.
func (s *Supervisor) look(all []*request) []*request {
	s.lock.Lock()
	for r := range s.held {
		all = append(all, r)
	}
	s.lock.Unlock()
	// Without the lock: requests begin and end meanwhile.
	for _, r := range all {
		if s.holds(r) && !r.stands() {
			r.end()
		}
	}
	clear(all)
	return all[:0]
}

func (s *Supervisor) holds(r *request) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	_, held := s.held[r]
	return held
}

func (s *Supervisor) begin() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.running = true
}

// end ends all that is held, and all that is to be held from then on.
func (s *Supervisor) end() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.running = false
	for r := range s.held {
		r.end()
	}
}
