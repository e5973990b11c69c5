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

package recordtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

func TestMemoryConforms(t *testing.T) {
	Conform(t, func(*testing.T) record.Ledger { return New() })
}

func TestMemoryIsAsFreshAsItIsSaidToBe(t *testing.T) {
	m := New()
	put := func(tx record.Tx) error { return tx.PutPeer(inviting("u", "t")) }
	m.SetFresh(record.ErrStale)
	require.ErrorIs(t, m.Fresh(), record.ErrStale)
	require.NoError(t, m.Update(t.Context(), put))
	m.SetFresh(record.ErrRestored)
	require.ErrorIs(t, m.Fresh(), record.ErrRestored)
	require.ErrorIs(t, m.Update(t.Context(), put), record.ErrRestored)
	m.SetFresh(nil)
	require.NoError(t, m.Fresh())
}

func TestMemoryRunsAChangeTwice(t *testing.T) {
	m, runs := New(), 0
	require.NoError(t, m.Update(t.Context(), func(tx record.Tx) error {
		runs++
		return tx.MoveEpoch()
	}))
	assert.Equal(t, 2, runs)
	assert.Equal(t, uint64(1), m.Epoch(), "only the second run counts")
}
