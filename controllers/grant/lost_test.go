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

package grant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record/recordtest"
)

// G5, S2: when a ledger from before its key was accepted, what was granted cannot be told
// from what others made: it stays, and it is not said that it grants nothing.
func TestG5KeyLost(t *testing.T) {
	f, _ := granted(t)
	fresh := recordtest.New()
	assert.Less(t, fresh.Epoch(), f.book.Epoch(), "it is recognised, unless it is accepted")
	f.book.Memory = fresh
	f.restart()
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Len(t, f.host.all(), 6)
	assert.Len(t, f.grants(), 3)
	assert.Contains(t, f.condition("west"), "False ForeignObject: ")
	assert.Contains(t, f.condition("west"), "may grant something themselves")
	assert.NotContains(t, f.condition("west"), "nothing is granted")
	assert.Len(t, f.events(), 1)

	// People delete them, by their label.
	for r := range f.host.every() {
		f.host.loses(r)
	}
	f.show()
	f.settles("west")
	assert.Len(t, f.grants(), 3)
	assert.Equal(t, "True Applied: 6 objects in 2 namespaces for 1 capability.", f.condition("west"))
}
