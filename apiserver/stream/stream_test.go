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

package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	soon = 10 * time.Second
	tick = time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run runs a supervisor, and returns how to end that.
func run(t *testing.T) (*Supervisor, *testingclock.FakeClock, func()) {
	t.Helper()
	clock := testingclock.NewFakeClock(time.Now())
	s := New(clock)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { s.Run(ctx) })
	stop := sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(stop)
	require.Eventually(t, s.Runs, soon, tick)
	return s, clock, stop
}

func ended(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(soon):
		require.Fail(t, "it goes on")
	}
}

// G7: what stands goes on, what does not ends within a second, and nothing else does.
func TestG7WhatLostItsGroundEnds(t *testing.T) {
	s, clock, _ := run(t)
	var first, second atomic.Bool
	first.Store(true)
	second.Store(true)
	asked := make(chan struct{}, 100)
	one, releaseOne := s.Hold(t.Context(), func() bool { asked <- struct{}{}; return first.Load() })
	defer releaseOne()
	two, releaseTwo := s.Hold(t.Context(), func() bool { asked <- struct{}{}; return second.Load() })
	for range 3 {
		clock.Step(Interval)
		<-asked
		<-asked
	}
	require.NoError(t, one.Err())
	first.Store(false)
	require.NoError(t, one.Err(), "nobody has looked yet")
	clock.Step(Interval)
	ended(t, one)
	require.NoError(t, two.Err())
	releaseTwo()
	ended(t, two)
	releaseTwo() // more than once is not minded
	assert.Len(t, s.held, 1)
	releaseOne()
	assert.Empty(t, s.held)
}

// What is over is not asked any more, and what is held ends with its own context too.
func TestWhatIsOverIsNotAsked(t *testing.T) {
	s, clock, _ := run(t)
	ctx, cancel := context.WithCancel(t.Context())
	held, release := s.Hold(ctx, func() bool { return true })
	cancel()
	ended(t, held)
	release()
	// Released by one that is looked at before.
	var lock sync.Mutex
	var releases []func()
	asked := map[int]int{}
	for i := range 2 {
		_, release := s.Hold(t.Context(), func() bool {
			lock.Lock()
			defer lock.Unlock()
			asked[i]++
			releases[1-i]()
			return true
		})
		releases = append(releases, release)
	}
	clock.Step(Interval)
	require.Eventually(t, func() bool { lock.Lock(); defer lock.Unlock(); return len(asked) > 0 }, soon, tick)
	require.Eventually(t, func() bool {
		s.lock.Lock()
		defer s.lock.Unlock()
		return len(s.held) == 1
	}, soon, tick)
	lock.Lock()
	assert.Len(t, asked, 1)
	lock.Unlock()
	for _, release := range releases {
		release()
	}
}

// S3: what nobody looks at does not begin, and does not go on.
func TestS3NothingGoesOnUnsupervised(t *testing.T) {
	idle := New(testingclock.NewFakeClock(time.Now()))
	early, releaseEarly := idle.Hold(t.Context(), func() bool { return true })
	defer releaseEarly()
	require.Error(t, early.Err(), "before Run")
	assert.False(t, idle.Runs())

	s, _, stop := run(t)
	held, release := s.Hold(t.Context(), func() bool { return true })
	defer release()
	require.NoError(t, held.Err())
	stop()
	ended(t, held)
	late, releaseLate := s.Hold(t.Context(), func() bool { return true })
	defer releaseLate()
	require.Error(t, late.Err(), "after Run")
	assert.False(t, s.Runs())
}

func TestManyAtOnce(t *testing.T) {
	s, clock, _ := run(t)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			for range 20 {
				ctx, release := s.Hold(t.Context(), func() bool { return i%2 == 0 })
				clock.Step(Interval)
				if i%2 == 1 {
					ended(t, ctx)
				}
				release()
			}
		})
	}
	group.Wait()
	assert.Empty(t, s.held)
}
