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

package target

import (
	"context"
	"sync"
)

// turn is that of a call to have its answer decoded. It is taken when all of the answer is
// there, and not before: a slow cluster would keep others from theirs.
type turn struct {
	gate chan struct{}

	mu           sync.Mutex
	taken, ended bool
}

type turnKey struct{}

// turnOf returns the turn that the calls of a context have, nil if they need none.
func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// withTurn gives the calls of a context a turn, which the other that is returned ends.
func withTurn(ctx context.Context, gate chan struct{}) (context.Context, func()) {
	if cap(gate) == 0 {
		return ctx, func() {}
	}
	t := &turn{gate: gate}
	return context.WithValue(ctx, turnKey{}, t), t.end
}

// take waits for the turn, unless it has come before or is over.
func (t *turn) take(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken || t.ended {
		return nil
	}
	select {
	case t.gate <- struct{}{}:
		t.taken = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end lets the next one have its turn.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken && !t.ended {
		<-t.gate
	}
	t.ended = true
}
