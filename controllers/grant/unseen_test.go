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
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// stalls has the informers show nothing, for so long that it is not waited for any more.
func (f *fixture) stalls() {
	f.t.Helper()
	f.show()
	for _, informer := range f.view.informers {
		require.NoError(f.t, informer.GetIndexer().Replace(nil, ""))
	}
	f.clock.Step(lookAgain)
	f.host.did()
	f.book.wrote()
}

// blind is once with informers that go on showing nothing.
func (f *fixture) blind(name string) error {
	f.t.Helper()
	_, err := f.sync(f.t.Context(), cache.ObjectName{Name: name})
	return err
}

// fails has requests answered with an error.
func (c *cluster) fails(err error, is func(verb string, r ref) bool) {
	c.before = func(verb string, r ref) error {
		if is(verb, r) {
			return err
		}
		return nil
	}
}

// G5: what the informers do not show is kept if it is there as it is to be, and is asked
// for once in a while.
func TestG5WatchStalled(t *testing.T) {
	f, plan := granted(t)
	var want []string
	for _, p := range wantedBy(plan, self) {
		want = append(want, "get "+p.role.String(), "get "+p.binding.String())
	}
	for range 2 {
		f.stalls()
		require.NoError(t, f.blind("west"))
		assert.ElementsMatch(t, want, f.host.did())
		require.NoError(t, f.blind("west"))
		assert.Empty(t, f.host.did(), "it is known")
		assert.Zero(t, f.book.wrote())
	}
	assert.Len(t, f.grants(), 3)
}

// G5: of what is not shown, what is not as it is to be goes and is made again, and nothing
// else.
func TestG5UnseenChanged(t *testing.T) {
	for name, change := range map[string]func(f *fixture, p pair){
		"without our label": func(f *fixture, p pair) {
			f.host.changes(p.role, func(live object) { delete(live.GetLabels(), peeringv1alpha1.LabelManagedBy) })
		},
		"widened": func(f *fixture, p pair) {
			f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} })
		},
		"gone": func(f *fixture, p pair) { f.host.loses(p.role) },
	} {
		t.Run(name, func(t *testing.T) {
			f, plan := granted(t)
			p := wantedBy(plan, self)[1]
			f.stalls()
			change(f, p)
			require.NoError(t, f.blind("west"))
			did := slices.DeleteFunc(f.host.did(), func(line string) bool { return line[:4] == "get " })
			assert.Equal(t, []string{
				"delete " + p.binding.String(), "delete " + p.role.String(),
				"create " + p.role.String(), "create " + p.binding.String(),
			}, did)
			assert.Len(t, f.grants(), 3)
			assert.Contains(t, f.grants(), "a d8-logs:reader get configmaps")
		})
	}
}

// G5: what is not shown and may not be read goes.
func TestG5UnseenUnreadable(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	f.stalls()
	f.host.fails(apierrors.NewForbidden(rbacv1.Resource("roles"), "x", errors.New("no")), func(verb string, r ref) bool {
		return verb == "get" && r == p.role
	})
	require.Error(t, f.blind("west"))
	assert.NotContains(t, f.host.all(), p.role)
	assert.NotContains(t, f.host.all(), p.binding)
	assert.Len(t, f.host.all(), 4)
}

// G5: what is not shown is another one by now: that is foreign, and not touched.
func TestG5UnseenReplaced(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	theirs := replacement(f.host.all()[p.role], rule("get", "configmaps"))
	f.stalls()
	f.host.puts(theirs)
	require.NoError(t, f.blind("west"))
	assert.Equal(t, theirs.GetUID(), f.host.all()[p.role].GetUID())
	assert.Contains(t, f.condition("west"), "False ForeignObject: ")
	assert.Len(t, f.grants(), 2)

	f.host.loses(p.role)
	require.NoError(t, f.blind("west"))
	assert.Len(t, f.grants(), 3, "nobody goes on seeing it")
}

// G5: while the server does not say how what is not shown is, that stays, and nothing is
// made; but what is not to be goes, and what is seen to be wrong.
func TestG5UnseenUnanswered(t *testing.T) {
	f, plan := granted(t)
	a, b := wantedBy(plan, self)[1], wantedBy(plan, self)[2]
	f.host.changes(b.role, func(live object) { live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} })
	changed := f.host.all()[b.role]
	f.stalls()
	require.NoError(t, f.view.informers[record.KindRole].GetIndexer().Add(changed))
	f.host.fails(apierrors.NewTooManyRequests("slow down", 1), func(verb string, r ref) bool {
		return verb == "get" && (r.namespace == "a")
	})
	only := planned(plan.Effective, "a", "b", "c")
	only.Effective = []access.Capability{capability("logs", "get")} // not the nodes
	f.plans.set(only)

	require.ErrorContains(t, f.blind("west"), "could not tell what is there: could not get ")
	assert.Equal(t, []string{"a d8-logs:reader get configmaps"}, f.grants())
	assert.Len(t, f.host.all(), 2)
	assert.Contains(t, f.host.all(), a.role)
	assert.Zero(t, f.host.took("create"))
	assert.LessOrEqual(t, f.host.took("get"), parallel)
	assert.Equal(t, "False ApplyFailed: "+unavailable.message(), f.condition("west"))

	f.host.before = nil
	f.show()
	f.settles("west")
	assert.Len(t, f.grants(), 3)
}

// G5: what is not to be any more goes at once, whatever the server says of what is foreign,
// and whether that can be recorded.
func TestG5ForeignHoldsNothingUp(t *testing.T) {
	foreignAt := func(p pair, labels map[string]string) object {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.role.namespace, Name: p.role.name, Labels: labels,
		}}
	}
	for name, test := range map[string]struct {
		// first says that it is listed as foreign by then.
		first bool
		fail  func(f *fixture)
	}{
		"it cannot be read": {true, func(f *fixture) {
			f.host.fails(apierrors.NewTooManyRequests("slow down", 1), func(verb string, r ref) bool {
				return verb == "get" && r.namespace == "a"
			})
		}},
		"it cannot be recorded": {false, func(f *fixture) {
			f.book.before = func() error { return errors.New("the disk is full") }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, plan := granted(t)
			a, b := wantedBy(plan, self)[1], wantedBy(plan, self)[2]
			if test.first {
				f.host.puts(foreignAt(a, nil))
				f.show()
				_, err := f.once("west")
				require.NoError(t, err)
			} else {
				f.host.puts(foreignAt(a, map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy})) // it is seen
			}
			require.Contains(t, f.host.all(), b.binding)
			f.plans.set(planned(plan.Effective, "a", "c"))
			// And one that is to be was changed.
			cluster := wantedBy(plan, self)[0]
			f.host.changes(cluster.binding, func(live object) { live.(*rbacv1.ClusterRoleBinding).Subjects[0].Name = "eve" })
			f.show()
			test.fail(f)

			require.Error(t, f.blind("west"))
			assert.Empty(t, f.grants())
			assert.NotContains(t, f.host.all(), b.binding)
			assert.NotContains(t, f.host.all(), cluster.binding)
			assert.Zero(t, f.host.took("create"), "nothing is made until it is known")

			f.host.before, f.book.before = nil, nil
			f.show()
			_, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, []string{"c d8-logs:reader get configmaps", "d8-logs:reader list nodes"}, f.grants())
		})
	}
}

// G5: when nothing foreign is in the way any more, a role is not made for a binding that is
// still to go.
func TestG5UnblockedWaits(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	binding, ok := f.host.all()[p.binding].(*rbacv1.RoleBinding)
	require.True(t, ok)
	f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: p.role.name}})
	f.show()
	_, err := f.once("west")
	require.NoError(t, err)
	require.NotContains(t, f.host.all(), p.binding)

	f.host.loses(p.role)
	binding.Subjects[0].Name = "eve"
	f.host.puts(binding)
	f.show()
	f.host.fails(apierrors.NewForbidden(rbacv1.Resource("rolebindings"), "x", errors.New("no")), func(verb string, r ref) bool {
		return verb == "delete" && r == p.binding
	})
	_, err = f.once("west")
	require.Error(t, err)
	assert.NotContains(t, f.host.all(), p.role)

	f.host.before = nil
	f.settles("west")
	assert.Len(t, f.grants(), 3)
	assert.NotContains(t, f.grants(), "a eve get configmaps")
}
