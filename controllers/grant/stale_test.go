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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/controllers/access"
)

func manyNamespaces(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%04d", i))
	}
	return names
}

// G5: a plan that is withdrawn while it is carried out is not carried out to its end.
func TestG5PlanWithdrawn(t *testing.T) {
	for name, withdraw := range map[string]func(f *fixture){
		"no peering":  func(f *fixture) { f.plans.set(withoutCluster()) },
		"not known":   func(f *fixture) { f.plans.unknown() },
		"another one": func(f *fixture) { f.plans.set(planned([]access.Capability{capability("logs", "list")}, "a")) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, manyNamespaces(300)...))
			made := 0
			f.host.before = func(verb string, _ ref) error {
				if made++; made == 10 {
					withdraw(f)
				}
				return nil
			}
			_, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, 200, made)
			assert.True(t, f.rang, "it is to go on at once")
			assert.Empty(t, f.condition("west"), "it is not done")
			f.host.before = nil
			_, err = f.once("west")
			require.NoError(t, err)
			assert.LessOrEqual(t, len(f.host.all()), 200)
			assert.False(t, f.rang)
		})
	}
}

// G5: a large plan is carried out in steps, which follow each other at once.
func TestG5LargePlan(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	for _, names := range []int{30, 250, 30} {
		f.plans.set(planned([]access.Capability{capability("logs", "get")}, manyNamespaces(names)...))
		f.settles("west")
		assert.Len(t, f.grants(), names)
	}
}

// G5: what cannot be made holds up nothing else, however much of it there is.
func TestG5RefusedHoldsNobodyUp(t *testing.T) {
	const hopeless = 150
	names := manyNamespaces(hopeless + 100)
	for name, test := range map[string]struct {
		set, end  func(h *cluster)
		condition string
	}{
		"refused": {
			func(h *cluster) {
				h.before = func(verb string, r ref) error {
					if verb == "create" && r.namespace < names[hopeless] {
						return apierrors.NewForbidden(rbacv1.Resource("roles"), r.name, errors.New("no"))
					}
					return nil
				}
			},
			func(h *cluster) { h.before = nil },
			"False ApplyFailed: " + forbidden.message(),
		},
		"terminating": {
			func(h *cluster) {
				for _, name := range names[:hopeless] {
					h.terminating[name] = true
				}
			},
			func(h *cluster) { h.terminating = nil },
			"True Applied: 200 objects in 100 namespaces for 1 capability.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, names...))
			test.set(f.host)
			f.rings(func() { _, _ = f.once("west") })
			assert.Len(t, f.grants(), 100)
			assert.Equal(t, test.condition, f.condition("west"))
			test.end(f.host)
			f.rings(func() {
				f.clock.Step(maxPause)
				_, err := f.once("west")
				require.NoError(t, err)
			})
			assert.Len(t, f.grants(), len(names))
			f.idles("west")
		})
	}
}

// rings does something until the controller does not want to look again at once.
func (f *fixture) rings(once func()) {
	f.t.Helper()
	f.rang = true
	for times := 0; f.rang; times++ {
		require.Less(f.t, times, 10, "it does not come to an end")
		once()
	}
}

// G5: what is foreign is decided about anew, and no more is made because of that.
func TestG5LargePlanWithForeign(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	plan := planned([]access.Capability{capability("logs", "get")}, manyNamespaces(300)...)
	for _, p := range wantedBy(plan, self)[:20] {
		f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: p.role.namespace, Name: p.role.name}})
	}
	f.plans.set(plan)
	_, err := f.once("west")
	require.NoError(t, err)
	assert.LessOrEqual(t, f.host.took("create"), 2*most)
	f.rings(func() {
		_, err := f.once("west")
		require.NoError(t, err)
	})
	assert.Len(t, f.grants(), 280)
	assert.Contains(t, f.condition("west"), "False ForeignObject: ")
}
