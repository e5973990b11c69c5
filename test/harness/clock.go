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

package harness

import (
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// Clock goes as the machine's does, from the time it is made with, and can be set
// forward: whatever is due by then happens at once.
type Clock struct{ *clocktesting.FakeClock }

// tick is how far it goes at a time.
const tick = 10 * time.Millisecond

// NewClock returns a clock that goes until the test ends. Make it before the servers
// that use it: they need it to stop.
func NewClock(t testing.TB, from time.Time) *Clock {
	t.Helper()
	c := &Clock{clocktesting.NewFakeClock(from)}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case now := <-ticker.C:
				c.Step(now.Sub(last))
				last = now
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return c
}

// NewTicker returns a ticker that ends when it is stopped. The library's does not: those
// of servers that have ended would count the ticks of each step for ever.
func (c *Clock) NewTicker(interval time.Duration) clock.Ticker {
	t := &ticker{ticks: make(chan time.Time, 1), stopped: make(chan struct{})}
	timer := c.NewTimer(interval)
	go func() {
		defer timer.Stop()
		for {
			select {
			case now := <-timer.C():
				select {
				case t.ticks <- now:
				default: // as a real ticker drops those that nobody waits for
				}
				timer.Reset(interval)
			case <-t.stopped:
				return
			}
		}
	}()
	return t
}

type ticker struct {
	ticks   chan time.Time
	stopped chan struct{}
	stop    sync.Once
}

func (t *ticker) C() <-chan time.Time { return t.ticks }

func (t *ticker) Stop() { t.stop.Do(func() { close(t.stopped) }) }
