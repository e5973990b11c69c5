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
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"entente.dev/entente/controllers/access"
)

// checkNeverMore checks that nobody may do anything that is not in what is to be, before
// or after a change, nor both of a capability; and that every binding of ours refers to a
// role of ours.
func (f *fixture) checkNeverMore(before, after []string) {
	f.t.Helper()
	all := f.grants()
	for _, line := range all {
		if !slices.Contains(before, line) {
			assert.Contains(f.t, after, line)
		}
	}
	for _, line := range all {
		if slices.Contains(before, line) && !slices.Contains(after, line) {
			for _, other := range all {
				assert.False(f.t, slices.Contains(after, other) && !slices.Contains(before, other), "both %q and %q", line, other)
			}
		}
	}
}

var errCrash = errors.New("the process ends")

// G5: a process that ends at any step leaves less, never more, and the next one finishes.
func TestG5CrashAtEveryStep(t *testing.T) {
	old := []access.Capability{capability("logs", "get")}
	changed := []access.Capability{capability("logs", "list")}
	gets := []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}
	lists := []string{"a d8-logs:reader list configmaps", "b d8-logs:reader list configmaps"}
	for _, test := range []struct {
		name          string
		from, to      *access.Plan
		before, after []string
	}{
		{"granted", withoutCluster(), planned(old, "a", "b"), nil, gets},
		{"withdrawn", planned(old, "a", "b"), withoutCluster(), gets, nil},
		{"changed", planned(old, "a", "b"), planned(changed, "a", "b"), gets, lists},
		{"moved", planned(old, "a"), planned(old, "b"), gets[:1], gets[1:]},
	} {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the last step done: %t", test.name, done), func(t *testing.T) {
				steps := 0
				for at := 1; ; at++ {
					f := newFixture(t)
					f.holds("west", westUID)
					f.plans.set(test.from)
					f.settles("west")
					f.plans.set(test.to)

					steps = 0
					step := func() error {
						f.checkNeverMore(test.before, test.after)
						if steps++; steps >= at {
							return errCrash // and so does all that follows
						}
						return nil
					}
					request := func(string, ref) error { return step() }
					if done {
						f.host.after, f.book.after = request, step
					} else {
						f.host.before, f.book.before = request, step
					}
					_, err := f.once("west")
					f.checkNeverMore(test.before, test.after)
					f.host.before, f.host.after, f.book.before, f.book.after = nil, nil, nil, nil
					if steps < at {
						require.NoError(t, err)
						assert.Greater(t, at, 4)
						return
					}
					require.Error(t, err)
					f.restart()
					f.settles("west")
					assert.ElementsMatch(t, test.after, f.grants(), "step %d", at)
					assert.Len(t, f.host.all(), 2*len(test.after), "step %d", at)
					assert.Len(t, f.host.every(), 2*len(test.after)+2*min(1, len(test.after)), "step %d: H2", at)
					assert.Empty(t, f.events())
				}
			})
		}
	}
}

// G5: a single failure is made up for by the same process.
func TestG5FailureAtEveryStep(t *testing.T) {
	for at := 1; at < 40; at++ {
		f, _ := granted(t)
		f.plans.set(planned([]access.Capability{capability("logs", "list"), capability("backup", "get")}, "b", "c"))
		steps := 0
		step := func() error {
			if steps++; steps == at {
				return errCrash
			}
			return nil
		}
		f.host.after, f.book.before = func(string, ref) error { return step() }, step
		for range 3 {
			_, _ = f.once("west")
		}
		f.host.after, f.book.before = nil, nil
		f.idles("west")
		assert.Equal(t, []string{
			"b d8-logs:reader get configmaps", "b d8-logs:reader list configmaps",
			"c d8-logs:reader get configmaps", "c d8-logs:reader list configmaps",
		}, f.grants(), "step %d", at)
		assert.Equal(t, "True Applied: 8 objects in 2 namespaces for 2 capabilities.", f.condition("west"))
	}
}

// G5: while something of a capability is there that is to go, nothing of it is made in that
// place; what is elsewhere, and of others, does not wait for it.
func TestG5WhatStaysBlocks(t *testing.T) {
	f, _ := granted(t)
	changed := capability("logs", "list")
	changed.Cluster = []rbacv1.PolicyRule{rule("get", "nodes")}
	f.plans.set(planned([]access.Capability{changed, capability("backup", "get")}, "a", "b", "c"))
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && r.namespace == "b" {
			return apierrors.NewForbidden(rbacv1.Resource("roles"), r.name, errors.New("no"))
		}
		return nil
	}
	for range 3 {
		_, err := f.once("west")
		require.Error(t, err)
		assert.Equal(t, []string{
			"a d8-logs:reader get configmaps", "a d8-logs:reader list configmaps",
			"b d8-logs:reader get configmaps", // of backup
			"b d8-logs:reader get configmaps", // of logs, as it was
			"c d8-logs:reader get configmaps", "c d8-logs:reader list configmaps",
			"d8-logs:reader get nodes",
		}, f.grants())
		assert.Equal(t, "False ApplyFailed: "+forbidden.message(), f.condition("west"))
	}
	f.host.before = nil
	f.settles("west")
	assert.Len(t, f.grants(), 7)
	assert.Equal(t, "True Applied: 14 objects in 3 namespaces for 2 capabilities.", f.condition("west"))

	// So it is for what is in the whole cluster.
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && r.namespace == "" {
			return apierrors.NewForbidden(rbacv1.Resource("clusterroles"), r.name, errors.New("no"))
		}
		return nil
	}
	last := capability("logs", "watch")
	last.Cluster = []rbacv1.PolicyRule{rule("watch", "nodes")}
	f.plans.set(planned([]access.Capability{last}, "a"))
	_, err := f.once("west")
	require.Error(t, err)
	assert.Equal(t, []string{"a d8-logs:reader watch configmaps", "d8-logs:reader get nodes"}, f.grants())
}

// A server that does not answer is not asked for each object.
func TestG5Outage(t *testing.T) {
	var namespaces []string
	for i := range 100 {
		namespaces = append(namespaces, fmt.Sprintf("ns-%d", i))
	}
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(planned([]access.Capability{capability("logs", "get"), capability("backup", "get")}, namespaces...))
	f.host.before = func(string, ref) error { return &url.Error{Op: "Post", Err: errors.New("refused")} }
	for range 4 {
		_, err := f.once("west")
		require.Error(t, err)
		assert.LessOrEqual(t, len(f.host.did()), 2*parallel)
		assert.Equal(t, "False ApplyFailed: "+unavailable.message(), f.condition("west"))
		assert.False(t, f.rang, "it is not asked again at once")
	}
	f.host.before = nil
	f.settles("west") // all of it at once
	assert.Len(t, f.grants(), 200)
}
