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

package passage

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// G7, R15: of a context nothing passes but its end, for which nobody waits.
func TestG7Apart(t *testing.T) {
	type key string
	with := func(name key) context.Context { return context.WithValue(t.Context(), name, "value") }
	parent, cancel := context.WithCancel(with("theirs"))
	ctx := Apart(parent, with("ours"))
	assert.Nil(t, ctx.Value(key("theirs")))
	assert.Equal(t, "value", ctx.Value(key("ours")))
	goroutines := runtime.NumGoroutine()
	var children []context.Context
	for range 100 {
		child, end := context.WithCancel(ctx)
		t.Cleanup(end)
		children = append(children, child)
	}
	assert.Less(t, runtime.NumGoroutine(), goroutines+50)
	gone, end := context.WithCancel(ctx)
	end()
	require.NoError(t, ctx.Err())
	cancel()
	for _, each := range append(children, ctx, gone) {
		<-each.Done()
		require.ErrorIs(t, each.Err(), context.Canceled)
	}
}
