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

package ledger

import (
	"context"
	"fmt"
	"sync"

	"entente.dev/entente/peering/record"
)

// EpochStore keeps the epoch apart from the store, so that a copy of the store does not
// bring it back (S2). Several replicas may use it at once.
type EpochStore interface {
	// Location says where it is, for people: "the file PATH".
	Location() string
	// Load returns the epoch, 0 if none was kept yet.
	Load(ctx context.Context) (uint64, error)
	// Raise keeps a higher epoch. It never lowers it. What it kept survives a crash.
	Raise(ctx context.Context, to uint64) error
}

// guard holds the epoch in the store against the one outside. The one outside follows:
// it is raised after each transaction that moved the one in the store, so it is never
// ahead, unless the store went back.
type guard struct {
	store EpochStore
	// turn is held by who raises the epoch outside.
	turn chan struct{}

	mu sync.Mutex
	// loaded says that outside was read.
	loaded bool
	// outside is what is known to be kept outside.
	outside uint64
	// floor is the highest epoch that was ever seen: the store cannot be below it, and
	// outside should not be.
	floor uint64
	// behind says that it was.
	behind bool
}

func newGuard(store EpochStore) *guard { return &guard{store: store, turn: make(chan struct{}, 1)} }

func (g *guard) isBehind() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.behind
}

// load reads the epoch outside, and returns the floor of what is read from the store
// after that.
func (g *guard) load(ctx context.Context) (floor uint64, err error) {
	outside, err := g.store.Load(ctx)
	if err != nil {
		return 0, fmt.Errorf("could not read the epoch in %s: %w", g.store.Location(), err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loaded, g.outside, g.floor = true, outside, max(g.floor, outside)
	return g.floor, nil
}

// begin returns the floor for a transaction, which begins after it.
func (g *guard) begin(ctx context.Context) (floor uint64, err error) {
	g.mu.Lock()
	loaded, behind, floor := g.loaded, g.behind, g.floor
	g.mu.Unlock()
	if behind {
		return 0, record.ErrRestored
	}
	if !loaded {
		return g.load(ctx)
	}
	return floor, nil
}

// see takes the epoch of the store that was read after floor was that.
func (g *guard) see(inStore, floor uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.behind = inStore < floor
	g.floor = max(g.floor, inStore)
}

// follow takes the epoch of the store that the watch saw after another one. The watch is
// late: it may be below the floor without harm, unless the store was found to be.
func (g *guard) follow(inStore, before uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.behind {
		before = g.floor
	}
	g.behind = inStore < before
	g.floor = max(g.floor, inStore)
}

// keep returns once the epoch outside is at least that. Who comes while another one
// raises it waits, and then raises it for all who wait.
func (g *guard) keep(ctx context.Context, to uint64) error {
	if !g.want(to) {
		return nil
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return fmt.Errorf("could not raise the epoch in %s: %w", g.store.Location(), ctx.Err())
	}
	if !g.want(to) {
		return nil
	}
	g.mu.Lock()
	floor := g.floor
	g.mu.Unlock()
	if err := g.store.Raise(ctx, floor); err != nil {
		return fmt.Errorf("could not raise the epoch in %s: %w", g.store.Location(), err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outside = max(g.outside, floor)
	return nil
}

// want tells whether the epoch outside has still to be raised.
func (g *guard) want(to uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.floor = max(g.floor, to)
	return g.outside < to
}
