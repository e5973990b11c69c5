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

package gateway

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"entente.dev/entente/peering/record"
)

// presences are what this replica remembers of the peers that ask it, by the UID of
// their ClusterPeer: so long as there is a record.
type presences struct {
	ledger record.Reader
	limits Limits

	mu    sync.Mutex
	byUID map[string]*presence
}

type presence struct {
	calls *rate.Limiter
	// contact is when the peer was last heard.
	contact time.Time
	// hold is the sync that is held back, or nil.
	hold *pending
}

// pending is a sync whose answer is held back.
type pending struct{ end context.CancelFunc }

func newPresences(ledger record.Reader, limits Limits) *presences {
	return &presences{ledger: ledger, limits: limits, byUID: map[string]*presence{}}
}

// with does something with what is remembered of a peer.
func (p *presences) with(uid string, do func(*presence)) {
	p.mu.Lock()
	known := p.byUID[uid]
	if known == nil {
		known = &presence{calls: rate.NewLimiter(p.limits.Calls, p.limits.CallBurst)}
		p.byUID[uid] = known
	}
	do(known)
	p.mu.Unlock()
	// If the record went in the meantime, then either forget finds this, or this does.
	p.forget(uid)
}

// forget drops what is remembered if there is no record any more.
func (p *presences) forget(uid string) {
	if uid == "" || p.ledger.Peer(uid) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byUID, uid)
}

// allow counts a call.
func (p *presences) allow(uid string, now time.Time) (allowed bool) {
	p.with(uid, func(known *presence) { allowed = known.calls.AllowN(now, 1) })
	return allowed
}

// heard notes that a peer was heard.
func (p *presences) heard(uid string, now time.Time) {
	p.with(uid, func(known *presence) { known.contact = now })
}

// contact returns when a peer was last heard, or the zero time.
func (p *presences) contact(uid string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byUID[uid]; known != nil {
		return known.contact
	}
	return time.Time{}
}

// hold begins to hold a sync back, and ends the one of that peer that was. The context
// ends when the next one does that; release is to be called when it is over.
func (p *presences) hold(ctx context.Context, uid string) (held context.Context, release func()) {
	held, cancel := context.WithCancel(ctx)
	mine := &pending{end: cancel}
	p.with(uid, func(known *presence) {
		if known.hold != nil {
			known.hold.end()
		}
		known.hold = mine
	})
	return held, func() {
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		if known := p.byUID[uid]; known != nil && known.hold == mine {
			known.hold = nil
		}
	}
}
