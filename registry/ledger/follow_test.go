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
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/record"
)

// S3: a replica that hears nothing of the store for 10 seconds says so, also where
// nothing happens; and it heals.
func TestS3Stale(t *testing.T) {
	e := newEnvironment(t)
	clock := clocktesting.NewFakeClock(time.Now())
	e.clock = clock
	way := newRelay(t, e.endpoint)
	l := e.replicaAt(t, way.endpoint())
	assert.ErrorIs(t, l.Fresh(), record.ErrStale, "before it has read anything")
	assert.ErrorContains(t, l.Readiness().Check(nil), record.ErrStale.Error())
	run(t, l)
	eventually(t, func() bool { return l.Fresh() == nil }, "fresh")
	require.NoError(t, l.Readiness().Check(nil))
	pass(t, clock, l, 2*staleAfter)

	way.setCut(true)
	clock.Step(l.view.heardAt().Add(staleAfter).Sub(clock.Now()))
	assert.NoError(t, l.Fresh(), "10 seconds are not too old")
	clock.Step(time.Millisecond)
	assert.ErrorIs(t, l.Fresh(), record.ErrStale)
	other := e.started(t)
	require.NoError(t, other.Update(t.Context(), putting(inviting("u", "t"))))
	assert.ErrorIs(t, l.Fresh(), record.ErrStale)
	way.setCut(false)
	eventually(t, func() bool {
		clock.Step(time.Millisecond)
		return l.Fresh() == nil && l.Peer("u") != nil
	}, "it heals")
}

// S3: a connection that was lost while nothing happens in the store does not make the
// replica stale: a watch that was resumed may say nothing before something is written.
func TestS3LostConnectionToAnIdleStore(t *testing.T) {
	e := newEnvironment(t)
	clock := clocktesting.NewFakeClock(time.Now())
	e.clock = clock
	way := newRelay(t, e.endpoint)
	l := e.replicaAt(t, way.endpoint())
	run(t, l)
	eventually(t, func() bool { return l.Fresh() == nil }, "fresh")
	way.setCut(true)
	way.setCut(false)
	pass(t, clock, l, 2*staleAfter)
}

// pass lets time pass, four times as fast as it does, through which the replica is to
// stay fresh. Before it could become stale time waits for it.
func pass(t *testing.T, clock *clocktesting.FakeClock, l *Ledger, span time.Duration) {
	t.Helper()
	const step = 100 * time.Millisecond
	end := clock.Now().Add(span)
	require.Eventually(t, func() bool {
		if clock.Since(l.view.heardAt()) < staleAfter-step {
			clock.Step(step)
		}
		return clock.Now().After(end)
	}, 2*patience, step/4, "it shows signs of life")
	require.NoError(t, l.Fresh())
}

// heard collects what a subscriber is told.
type heard struct {
	mu  sync.Mutex
	all map[string]int
}

func subscribe(l *Ledger) *heard {
	h := &heard{all: map[string]int{}}
	l.Subscribe(func(uid string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all[uid]++
	})
	return h
}

func (h *heard) of(uid string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[uid]
}

// Of what happened while the store was out of reach, and was compacted away since,
// everybody is told all the same.
func TestCompaction(t *testing.T) {
	e := newEnvironment(t)
	clock := clocktesting.NewFakeClock(time.Now())
	e.clock = clock
	way := newRelay(t, e.endpoint)
	l := e.replicaAt(t, way.endpoint())
	run(t, l)
	other := e.started(t)
	require.NoError(t, other.Update(t.Context(), func(tx record.Tx) error {
		if err := tx.PutTombstone(&record.Tombstone{Key: record.Digest{1}}); err != nil {
			return err
		}
		return putting(inviting("gone", "t"), paired("changed", "c"), inviting("same", "s"))(tx)
	}))
	eventually(t, func() bool { return l.Peer("same") != nil && l.Tombstone(record.Digest{1}) != nil }, "the records")
	told := subscribe(l)
	gone, changed, same := l.Changed("gone"), l.Changed("changed"), l.Changed("same")

	way.setCut(true)
	require.NoError(t, other.Update(t.Context(), func(tx record.Tx) error {
		if err := tx.DeleteTombstone(record.Digest{1}); err != nil {
			return err
		}
		if err := tx.DeletePeer("gone"); err != nil {
			return err
		}
		return putting(paired("changed", "d"), paired("new", "c"))(tx)
	}))
	head, err := e.client(t).Get(t.Context(), "/")
	require.NoError(t, err)
	for i := range 3 {
		_, err = e.client(t).Put(t.Context(), "/elsewhere", fmt.Sprint(i))
		require.NoError(t, err)
	}
	_, err = e.client(t).Compact(t.Context(), head.Header.Revision+2)
	require.NoError(t, err)
	way.setCut(false)

	for _, channel := range []<-chan struct{}{gone, changed} {
		select {
		case <-channel:
		case <-time.After(patience):
			t.Fatal("a change was not told")
		}
	}
	eventually(t, func() bool {
		return told.of("gone") > 0 && told.of("changed") > 0 && told.of("new") > 0 && told.of("") > 0
	}, "subscribers are told")
	assert.Zero(t, told.of("same"))
	select {
	case <-same:
		t.Error("what did not change was told")
	default:
	}
	assert.Nil(t, l.Peer("gone"))
	assert.Nil(t, l.Tombstone(record.Digest{1}))
	assert.Equal(t, "new", l.PeerOfCluster("c").UID)
	assert.Equal(t, "changed", l.PeerOfCluster("d").UID)
	assert.NoError(t, l.Fresh())
}

// More records than are read at once.
func TestManyRecords(t *testing.T) {
	e := newEnvironment(t)
	writer := e.replica(t)
	const count = page + 10
	for from := 0; from < count; from += 30 {
		var some []*record.Peer
		for i := from; i < min(from+30, count); i++ {
			some = append(some, &record.Peer{UID: fmt.Sprintf("uid-%d", i)})
		}
		require.NoError(t, writer.Update(t.Context(), putting(some...)))
	}
	assert.Len(t, e.started(t).Peers(), count)
}
