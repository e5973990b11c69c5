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

package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

// runs has the controller run with its informers, until the test ends or stop is called. What
// it writes down of looks is counted.
func (f *fixture) runs() (stop func()) {
	f.t.Helper()
	inner := f.loop.Sync
	f.loop.Sync = func(ctx context.Context, object cache.ObjectName) (time.Duration, error) {
		f.lock.Lock()
		f.looks[object.Name]++
		f.lock.Unlock()
		return inner(ctx, object)
	}
	ctx, cancel := context.WithCancel(f.context())
	f.factory.StartWithContext(ctx)
	end := f.runsOnce()
	stop = sync.OnceFunc(func() {
		end()
		cancel()
		f.factory.Shutdown()
	})
	f.t.Cleanup(stop)
	return stop
}

// runsOnce has the controller run, whose informers are running, until end is called.
func (f *fixture) runsOnce() (end func()) {
	ctx, cancel := context.WithCancel(f.context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(f.t, f.Run(ctx)) })
	return func() {
		cancel()
		running.Wait()
	}
}

// looked is how often a Cluster was looked at.
func (f *fixture) looked(name string) int {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.looks[name]
}

// until lets time pass until something is so.
func (f *fixture) until(why string, so func() bool) {
	f.t.Helper()
	for end := time.Now().Add(enough); !so(); {
		if time.Now().After(end) {
			require.Fail(f.t, "It was never so", why)
		}
		f.clock.Step(250 * time.Millisecond)
		time.Sleep(time.Millisecond)
	}
}
