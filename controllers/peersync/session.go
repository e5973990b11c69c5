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

package peersync

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

var (
	// errNews ends a beat for another one, since there is something new to say.
	errNews = errors.New("there is something new to say")
	// errOurs is what failed for a reason of our own: it says nothing of the other cluster.
	errOurs = errors.New("could not record what came of a beat")
	// errPanicked stands for what a panic said.
	errPanicked = errors.New("could not go on with a beat: panic")
)

// session keeps in touch with one peer that this cluster dials.
type session struct {
	*Controller
	uid     string
	pairing pairing
	cancel  context.CancelFunc
	ended   chan struct{}

	// What follows is the session's own goroutine's.

	limiter *rate.Limiter
	conn    Conn
	way     way
	// signed answers what the other cluster asked for last; zero: nothing.
	signed      signed
	failures    int // in a row
	successes   int // in a row
	lastSuccess time.Time
	// renewAfter is when a renewal that failed is tried again.
	renewAfter time.Time

	lock sync.Mutex
	// said is what the beat under way says, nil if there is none; interrupt ends it.
	said      *protocol.State
	interrupt context.CancelCauseFunc
}

// startSession starts a session. It ends when it is cancelled, or ctx ends.
func (c *Controller) startSession(ctx context.Context, peer *record.Peer) *session {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		Controller:  c,
		uid:         peer.UID,
		pairing:     pairingOf(peer),
		cancel:      cancel,
		ended:       make(chan struct{}),
		limiter:     newLimiter(),
		lastSuccess: c.clock.Now(),
	}
	go func() {
		defer close(s.ended)
		defer cancel()
		s.run(ctx)
	}()
	return s
}

func (s *session) run(ctx context.Context) {
	defer s.hangUp()
	for ctx.Err() == nil {
		now := s.clock.Now()
		pause(ctx, s.clock, s.limiter.ReserveN(now, 1).DelayFrom(now))
		if err := s.safely(ctx, s.beat); err != nil && ctx.Err() == nil {
			pause(ctx, s.clock, s.failed(ctx, err))
		}
	}
}

// safely turns a panic into an error: one odd peer must not end the others, nor this
// process. What a panic says could quote an answer, so only where it happened is logged.
func (s *session) safely(ctx context.Context, beat func(context.Context) error) (err error) {
	defer func() {
		if recover() != nil {
			klog.FromContext(ctx).Error(errPanicked, "Panic", "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	return beat(ctx)
}

// listen notes what is said, so that the returned context ends, by errNews, as soon as
// there is something else to say.
func (s *session) listen(ctx context.Context, said protocol.State) (context.Context, func()) {
	ctx, interrupt := context.WithCancelCause(ctx)
	s.lock.Lock()
	s.said, s.interrupt = &said, interrupt
	s.lock.Unlock()
	// It may have come since that was put together.
	s.changed()
	return ctx, func() {
		s.lock.Lock()
		s.said, s.interrupt = nil, nil
		s.lock.Unlock()
		interrupt(nil)
	}
}

// changed ends the beat under way if it does not say what is to be said by now.
func (s *session) changed() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.said != nil && s.news(*s.said) {
		s.interrupt(errNews)
	}
}

// news tells whether there is something else to say than what was.
func (s *session) news(said protocol.State) bool {
	peer, authority := s.ledger.Peer(s.uid), s.ledger.Authority()
	if pairingOf(peer) != s.pairing || authority == nil {
		return false
	}
	return exchange.News(said, peer, authority)
}

// way is how a peer is dialled.
type way struct{ endpoints, trust, certificate string }

// connected returns the connection to a peer, another one than before if the peer moved,
// or its trust bundle or our certificate changed.
func (s *session) connected(remote *record.Remote) (Conn, error) {
	current := way{
		endpoints:   strings.Join(remote.Endpoints, "\n"),
		trust:       pki.BundleDigest(remote.Trust),
		certificate: string(remote.Ours.Certificate),
	}
	if s.conn != nil && s.way == current {
		return s.conn, nil
	}
	s.hangUp()
	target, err := client.TargetOf(remote, &remote.Ours)
	if err != nil {
		return nil, err
	}
	conn, err := s.connect(target)
	if err != nil {
		return nil, err
	}
	s.conn, s.way = conn, current
	return conn, nil
}

// hangUp closes the connection, if there is one.
func (s *session) hangUp() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}
