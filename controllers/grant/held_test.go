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
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"entente.dev/entente/controllers/access"
)

// hold is what the admin of a namespace can do, where the policy for it is not in force.
func hold(live object) { live.SetFinalizers([]string{"example.com/hold"}) }

func release(live object) { live.SetFinalizers(nil) }

// hide takes an object out of the sight of the informers.
func hide(live object) { live.SetLabels(nil) }

// G5: an object that is held by a finalizer is not gone, and is not taken for it.
func TestG5Held(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		f, plan := granted(t)
		p := wantedBy(plan, self)[1]
		f.host.changes(p.binding, hold)
		if hidden {
			f.host.changes(p.binding, hide)
		}
		f.show()
		f.plans.set(withoutCluster())
		for range 3 {
			_, err := f.once("west")
			require.ErrorIs(t, err, errHeld)
		}
		assert.Len(t, f.host.all(), 1)
		assert.Len(t, f.book.Grants(westUID)[0].Objects, 1, "it is still listed")
		assert.Equal(t, "False ApplyFailed: Objects that are to go are held by finalizers, and count until those are taken off: "+p.binding.String()+".", f.condition("west"))
		events := f.events()
		require.Len(t, events, 1)
		assert.Contains(t, events[0], "Warning ApplyFailed")
		assert.Contains(t, events[0], p.binding.String())
		f.host.changes(p.binding, release)
		f.show()
		f.settles("west")
		assert.Empty(t, f.host.every())
		assert.Equal(t, "True Applied: Nothing is granted.", f.condition("west"))
		assert.Empty(t, f.events())
	}
}

// G5: the finalizer may come when it was decided already that the object is to go, which
// then is as little gone.
func TestG5HeldAfterTheDecision(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	came := false
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && r == p.binding && !came {
			came = true
			f.host.alter(p.binding, hold)
			f.host.alter(p.binding, hide)
		}
		return nil
	}
	f.plans.set(withoutCluster())
	for range 3 {
		_, err := f.once("west")
		require.ErrorIs(t, err, errHeld)
		require.Len(t, f.book.Grants(westUID), 1)
		assert.Len(t, f.book.Grants(westUID)[0].Objects, 1, "it is still listed")
		f.restart()
	}
	f.host.changes(p.binding, release)
	f.settles("west")
	assert.Empty(t, f.host.every())
}

// G5: what is deleted in the foreground, or for others to be orphaned, waits for the garbage
// collector, and that for what depends on it. Entente does not.
func TestG5HeldByDependants(t *testing.T) {
	f, plan := granted(t)
	for i, finalizer := range []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents} {
		f.host.changes(wantedBy(plan, self)[i].binding, func(live object) { live.SetFinalizers([]string{finalizer}) })
	}
	f.show()
	f.settles("west")
	assert.Len(t, f.grants(), 3)
	for _, live := range f.host.all() {
		assert.Empty(t, live.GetFinalizers(), "it is made anew")
	}
	assert.Empty(t, f.events())
}

// G5: whoever changes an object all the time does not keep it.
func TestG5ChangedAllTheTime(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	times := 0
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && r == p.binding {
			times++
			f.host.alter(r, func(live object) { live.SetAnnotations(map[string]string{"times": strconv.Itoa(times)}) })
		}
		return nil
	}
	f.plans.set(withoutCluster())
	f.settles("west")
	assert.Empty(t, f.host.every())
	assert.Equal(t, looks, times)
}

// G5: who holds an object in one namespace has no say in the others.
func TestG5HeldInOneNamespace(t *testing.T) {
	f, plan := granted(t)
	for _, p := range wantedBy(plan, self)[1:] {
		if p.role.namespace == "b" {
			f.host.changes(p.role, hold)
			f.host.changes(p.binding, hold)
		}
	}
	f.show()
	changed := capability("logs", "list")
	changed.Cluster = []rbacv1.PolicyRule{rule("get", "nodes")}
	f.plans.set(planned([]access.Capability{changed}, "a", "b", "c"))
	for range 3 {
		_, err := f.once("west")
		require.ErrorIs(t, err, errHeld)
		assert.Equal(t, []string{
			"a d8-logs:reader list configmaps", "b d8-logs:reader get configmaps", "c d8-logs:reader list configmaps", "d8-logs:reader get nodes",
		}, f.grants())
		assert.Contains(t, f.condition("west"), "False ApplyFailed: Objects that are to go are held")
	}
	assert.Len(t, f.events(), 1)
}

// G5: a ClusterPeer that is being deleted says what it waits for, and one Event does.
func TestG5HeldWhileDeleted(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	f.host.changes(p.binding, hold)
	f.deletes("west")
	f.plans.unknown()
	for range 2 { // before its own write is shown
		_, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
		require.ErrorIs(t, err, errHeld)
	}
	for range 3 {
		_, err := f.once("west")
		require.ErrorIs(t, err, errHeld)
		assert.Len(t, f.book.Grants(westUID)[0].Objects, 1)
		assert.Contains(t, f.condition("west"), "False ApplyFailed: Objects that are to go are held")
		assert.Contains(t, f.condition("west"), p.binding.String())
	}
	assert.Len(t, f.events(), 1)
	f.host.changes(p.binding, release)
	f.show()
	f.settles("west")
	assert.Empty(t, f.book.Grants(westUID))
	assert.Equal(t, "True Applied: Nothing is granted.", f.condition("west"))
	assert.Empty(t, f.events())
}

// Some of many that are held are named.
func TestG5ManyHeld(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b", "c", "d", "e")
	f.plans.set(plan)
	f.settles("west")
	for _, p := range given(wantedBy(plan, self)) {
		f.host.changes(p.binding, hold)
	}
	f.show()
	f.plans.set(withoutCluster())
	_, err := f.once("west")
	require.ErrorIs(t, err, errHeld)
	assert.Contains(t, f.condition("west"), "RoleBinding c/entente-")
	assert.Contains(t, f.condition("west"), " and 2 more.")
	assert.NotContains(t, f.condition("west"), "RoleBinding d/")
}
