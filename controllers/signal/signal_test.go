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

package signal

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSignal(t *testing.T) {
	var signal Signal
	signal.Send() // to nobody
	a, b := 0, 0
	cancelA := signal.Subscribe(func() { a++ })
	cancelB := signal.Subscribe(func() { b++ })
	signal.Send()
	assert.Equal(t, []int{1, 1}, []int{a, b})
	cancelA()
	cancelA()
	signal.Send()
	assert.Equal(t, []int{1, 2}, []int{a, b})
	cancelB()
	signal.Send()
	assert.Equal(t, []int{1, 2}, []int{a, b})
}

// Who is called may subscribe, and cancel itself.
func TestSubscribeWhileCalled(t *testing.T) {
	var signal Signal
	calls, later := 0, 0
	var cancel func()
	cancel = signal.Subscribe(func() {
		calls++
		cancel()
		signal.Subscribe(func() { later++ })
	})
	signal.Send()
	signal.Send()
	assert.Equal(t, []int{1, 1}, []int{calls, later})
}

func TestConcurrently(t *testing.T) {
	var signal Signal
	var calls atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			cancel := signal.Subscribe(func() { calls.Add(1) })
			signal.Send()
			cancel()
		})
	}
	all.Wait()
	assert.GreaterOrEqual(t, calls.Load(), int64(8))
	before := calls.Load()
	signal.Send()
	assert.Equal(t, before, calls.Load())
}
