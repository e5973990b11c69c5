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

package loop

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

const deadline = 20 * time.Second

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// calls counts the calls of Sync by name.
type calls struct {
	lock  sync.Mutex
	count map[string]int
}

func (c *calls) add(name string) (number int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[name]++
	return c.count[name]
}

func (c *calls) of(name string) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.count[name]
}

// start runs a loop over the namespaces of a source until the test ends, and
// checks that it leaves no goroutine.
func start(t *testing.T, source *cachetesting.FakeControllerSource, clk *clocktesting.FakeClock, sync func(context.Context, cache.ObjectName) (time.Duration, error)) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(context.Background())
	informer := cache.NewSharedIndexInformer(source, &corev1.Namespace{}, 0, nil)
	l := Loop{Name: t.Name(), Informer: informer, Workers: 2, Clock: clk, Sync: sync}
	ended := make(chan error, 1)
	informed := make(chan struct{})
	go func() { defer close(informed); informer.RunWithContext(ctx) }()
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		<-informed
		source.Shutdown()
		goleak.VerifyNone(t, before)
	})
}

func eventually(t *testing.T, clk *clocktesting.FakeClock, step time.Duration, condition func() bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		if condition() {
			return true
		}
		clk.Step(step)
		return condition()
	}, deadline, 5*time.Millisecond)
}

func TestEveryObjectAndEveryChange(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	source.Add(namespace("a"))
	source.Add(namespace("b"))
	var seen calls
	clk := clocktesting.NewFakeClock(time.Now())
	start(t, source, clk, func(_ context.Context, object cache.ObjectName) (time.Duration, error) {
		seen.add(object.Name)
		return 0, nil
	})
	eventually(t, clk, 0, func() bool { return seen.of("a") == 1 && seen.of("b") == 1 })
	source.Modify(namespace("a"))
	eventually(t, clk, 0, func() bool { return seen.of("a") == 2 })
	source.Delete(namespace("a"))
	eventually(t, clk, 0, func() bool { return seen.of("a") == 3 })
	source.Add(namespace("c"))
	eventually(t, clk, 0, func() bool { return seen.of("c") == 1 })
	assert.Equal(t, 1, seen.of("b"))
}

func TestFailureAndPanicAreRetriedAndHoldNobodyUp(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	for _, name := range []string{"failing", "panicking", "well"} {
		source.Add(namespace(name))
	}
	var seen calls
	clk := clocktesting.NewFakeClock(time.Now())
	start(t, source, clk, func(_ context.Context, object cache.ObjectName) (time.Duration, error) {
		number := seen.add(object.Name)
		switch {
		case number > 4:
		case object.Name == "failing":
			return 0, errors.New("a fault of this test")
		case object.Name == "panicking":
			panic("a panic of this test")
		}
		return 0, nil
	})
	eventually(t, clk, 0, func() bool { return seen.of("failing") == 1 && seen.of("panicking") == 1 && seen.of("well") == 1 })
	eventually(t, clk, maxRetry, func() bool { return seen.of("failing") == 5 && seen.of("panicking") == 5 })
	assert.Equal(t, 1, seen.of("well"))
}

func TestAgain(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	source.Add(namespace("a"))
	var seen calls
	clk := clocktesting.NewFakeClock(time.Now())
	start(t, source, clk, func(_ context.Context, object cache.ObjectName) (time.Duration, error) {
		if seen.add(object.Name) == 1 {
			return time.Hour, nil
		}
		return 0, nil
	})
	eventually(t, clk, 0, func() bool { return seen.of("a") == 1 })
	eventually(t, clk, time.Hour, func() bool { return seen.of("a") == 2 })
}

// What is not of the informer has objects looked at too, also ones that it does not know.
func TestSubscribe(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	defer source.Shutdown()
	source.Add(namespace("a"))
	ctx, cancel := context.WithCancel(context.Background())
	informer := cache.NewSharedIndexInformer(source, &corev1.Namespace{}, 0, nil)
	informed := make(chan struct{})
	go func() { defer close(informed); informer.RunWithContext(ctx) }()
	var seen calls
	var enqueue func(cache.ObjectName)
	subscribed, ends := make(chan struct{}), 0
	l := Loop{
		Name: t.Name(), Informer: informer, Workers: 1, Clock: clocktesting.NewFakeClock(time.Now()),
		Subscribe: func(add func(cache.ObjectName)) func() {
			add(cache.ObjectName{Name: "at the start"})
			enqueue = add
			close(subscribed)
			return func() { ends++ }
		},
		Sync: func(_ context.Context, object cache.ObjectName) (time.Duration, error) {
			seen.add(object.Name)
			return 0, nil
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	<-subscribed
	require.Eventually(t, func() bool { return seen.of("a") == 1 && seen.of("at the start") == 1 }, deadline, time.Millisecond)
	enqueue(cache.ObjectName{Name: "a"})
	enqueue(cache.ObjectName{Name: "b"})
	require.Eventually(t, func() bool { return seen.of("a") == 2 && seen.of("b") == 1 }, deadline, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	assert.Equal(t, 1, ends)
	<-informed
	enqueue(cache.ObjectName{Name: "a"}) // late, and nobody's any more
}

func TestRunWaitsForCallsInFlight(t *testing.T) {
	source := cachetesting.NewFakeControllerSource()
	defer source.Shutdown()
	source.Add(namespace("a"))
	informer := cache.NewSharedIndexInformer(source, &corev1.Namespace{}, 0, nil)
	inside, release := make(chan struct{}), make(chan struct{})
	l := Loop{Name: t.Name(), Informer: informer, Workers: 1, Clock: clocktesting.NewFakeClock(time.Now()), Sync: func(ctx context.Context, _ cache.ObjectName) (time.Duration, error) {
		close(inside)
		<-ctx.Done()
		<-release
		return 0, ctx.Err()
	}}
	informing, stopInforming := context.WithCancel(context.Background())
	informed := make(chan struct{})
	go func() { defer close(informed); informer.RunWithContext(informing) }()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	<-inside
	cancel()
	select {
	case err := <-ended:
		t.Errorf("Run returned while a call was in flight: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	require.NoError(t, <-ended)

	// It may be run again, and then sees every object again.
	again := make(chan struct{})
	l.Sync = func(context.Context, cache.ObjectName) (time.Duration, error) {
		close(again)
		return 0, nil
	}
	ctx, cancel = context.WithCancel(context.Background())
	go func() { ended <- l.Run(ctx) }()
	<-again
	cancel()
	require.NoError(t, <-ended)

	stopInforming()
	<-informed
	require.ErrorContains(t, l.Run(context.Background()), "could not watch objects")
}

func TestRunEndsBeforeTheInformerIsSynced(t *testing.T) {
	informer := cache.NewSharedIndexInformer(cachetesting.NewFakeControllerSource(), &corev1.Namespace{}, 0, nil)
	l := Loop{Name: t.Name(), Informer: informer, Workers: 1, Clock: clocktesting.NewFakeClock(time.Now())}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, l.Run(ctx))
}

func TestEarliest(t *testing.T) {
	assert.Equal(t, time.Duration(0), Earliest(0, 0))
	assert.Equal(t, time.Second, Earliest(time.Second, 0))
	assert.Equal(t, time.Second, Earliest(0, time.Second))
	assert.Equal(t, time.Second, Earliest(time.Minute, time.Second))
}
