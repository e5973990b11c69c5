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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// The second attempt follows at once, and each further one after twice the time.
func TestPace(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(noon)
	p := newPace(clk)
	one, two := ref{record.KindRole, "a", "x"}, ref{record.KindRole, "b", "x"}
	for i, seconds := range []int{0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60} {
		wanted := time.Duration(seconds) * time.Second
		pause, why := p.pauses(one)
		assert.Equal(t, wanted, pause, "attempt %d", i+1)
		if i > 0 {
			assert.Equal(t, altered, why)
		}
		clk.SetTime(clk.Now().Add(wanted))
		pause, _ = p.pauses(one)
		assert.Zero(t, pause)
		p.counts(one, altered)
	}
	pause, _ := p.pauses(two)
	assert.Zero(t, pause, "that is another one")
	p.forgets(one)
	pause, _ = p.pauses(one)
	assert.Zero(t, pause)

	for range 5 {
		p.counts(one, disturbed)
	}
	clk.SetTime(clk.Now().Add(forgotten))
	p.counts(one, disturbed)
	pause, _ = p.pauses(one)
	assert.Zero(t, pause, "that was long ago")
	later := func() { clk.SetTime(clk.Now().Add(forgotten * 3 / 5)) }
	later()
	for range 5 {
		p.counts(one, disturbed)
	}
	later()
	p.counts(two, disturbed) // all are looked at, and that one stays
	later()
	p.counts(one, disturbed)
	pause, _ = p.pauses(one)
	assert.Zero(t, pause, "it is counted no more all the same")
	clk.SetTime(clk.Now().Add(2 * forgotten))
	p.counts(two, disturbed)
	assert.Len(t, p.tried, 1, "nothing is remembered for ever")
}

// G5: an object that somebody deletes in a loop is made again ever more seldom, and no
// other waits for it.
func TestG5DeletedInALoop(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	one := []access.Capability{capability("logs", "get")}
	f.plans.set(planned(one, "a", "b"))
	f.settles("west")
	p := wantedBy(planned(one, "a"), self)[0]
	f.host.did()
	for range 600 { // seconds
		if f.host.all()[p.role] != nil {
			f.host.loses(p.role)
			f.show()
		}
		again, err := f.once("west")
		require.NoError(t, err)
		if f.host.all()[p.role] == nil {
			assert.Positive(t, again)
			assert.LessOrEqual(t, again, maxPause)
			assert.Equal(t, "False ApplyFailed: "+disturbed.message(), f.condition("west"))
			assert.Equal(t, []string{"b d8-logs:reader get configmaps"}, f.grants(), "nor does the binding stay")
		}
		f.clock.Step(time.Second)
	}
	assert.InDelta(t, 2*(1+6+10), f.host.took("create"), 4, "a Role and a binding each time")
	f.plans.set(planned(one, "a", "b", "c"))
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Contains(t, f.grants(), "c d8-logs:reader get configmaps")

	f.clock.Step(maxPause)
	f.settles("west")
	assert.Len(t, f.grants(), 3)
	assert.Equal(t, "True Applied: 6 objects in 3 namespaces for 1 capability.", f.condition("west"))

	// What is withdrawn and granted again is not what somebody else does.
	for range 5 {
		f.plans.set(withoutCluster())
		f.settles("west")
		f.plans.set(planned(one, "a", "b", "c"))
		f.settles("west")
		assert.Len(t, f.grants(), 3)
	}
}

// G5: so it is with a binding alone.
func TestG5BindingDeletedInALoop(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	plan := planned([]access.Capability{capability("logs", "get")}, "a")
	f.plans.set(plan)
	f.settles("west")
	p := one(t, plan)
	f.host.did()
	for range 600 {
		if f.host.all()[p.binding] != nil {
			f.host.loses(p.binding)
			f.show()
		}
		_, err := f.once("west")
		require.NoError(t, err)
		f.clock.Step(time.Second)
	}
	assert.InDelta(t, 2+6+10, f.host.took("create"), 2)
}
