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
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// G5: if the ledger does not say, the proof does: of objects that were about to be made,
// and after the store was restored.
func TestG5Proof(t *testing.T) {
	restored := func(f *fixture, change func(grant *record.Grant)) {
		t.Helper()
		require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
			grant, err := tx.Grant(westUID, "logs")
			if err != nil {
				return err
			}
			change(grant)
			return tx.PutGrant(grant)
		}))
		f.restart()
	}
	empty := func(grant *record.Grant) { grant.Objects = nil }
	intended := func(grant *record.Grant) {
		for i := range grant.Objects {
			grant.Objects[i].UID = ""
		}
	}
	t.Run("what is to be is taken over as it is", func(t *testing.T) {
		for _, change := range []func(*record.Grant){empty, intended} {
			f, _ := granted(t)
			before := f.host.every()
			restored(f, change)
			f.settles("west")
			assert.Equal(t, before, f.host.every())
			assert.True(t, isComplete(f.book.Grants(westUID)[0]))
			assert.Len(t, f.book.Grants(westUID)[0].Objects, 8)
		}
	})
	t.Run("what was changed is not", func(t *testing.T) {
		for _, change := range []func(*record.Grant){empty, intended} {
			f, plan := granted(t)
			p := wantedBy(plan, self)[1]
			f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} })
			restored(f, change)
			f.settles("west")
			assert.Len(t, f.grants(), 3)
			assert.Contains(t, f.grants(), "a d8-logs:reader get configmaps")
		}
	})
	t.Run("what is no longer to be goes", func(t *testing.T) {
		for _, change := range []func(*record.Grant){empty, intended} {
			f, _ := granted(t)
			f.plans.set(withoutCluster())
			restored(f, change)
			f.settles("west")
			assert.Empty(t, f.host.every())
		}
	})
	t.Run("nor is there a ClusterPeer", func(t *testing.T) {
		f, _ := granted(t)
		f.forgets("west")
		restored(f, empty)
		f.settles("west")
		assert.Empty(t, f.host.every())
	})
	t.Run("under another name", func(t *testing.T) {
		f, plan := granted(t)
		p := wantedBy(plan, self)[1]
		f.host.changes(p.role, func(live object) { live.GetLabels()[peeringv1alpha1.LabelPeer] = "east" })
		f.show()
		_, err := f.once("east")
		require.NoError(t, err)
		assert.Contains(t, f.host.all(), p.role, "it is listed, for another ClusterPeer")
		restored(f, empty)
		_, err = f.once("east")
		require.NoError(t, err)
		assert.NotContains(t, f.host.all(), p.role)
		f.settles("west")
		assert.Len(t, f.grants(), 3)
	})
	t.Run("labels alone are not ours", func(t *testing.T) {
		f, _ := granted(t)
		var theirs []object
		for r, live := range f.host.all() {
			if r.kind == record.KindRole {
				copied := replacement(live)
				copied.Name += "-copy" // with the proof of the other name
				theirs = append(theirs, copied)
			}
		}
		theirs = append(theirs, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", Labels: theirs[0].GetLabels()}})
		for _, live := range theirs {
			f.host.puts(live)
		}
		f.show()
		f.idles("west")
		f.plans.set(withoutCluster())
		f.settles("west")
		assert.Len(t, f.host.all(), len(theirs))
	})
	t.Run("while nothing is known it stays", func(t *testing.T) {
		f, _ := granted(t)
		f.plans.unknown()
		restored(f, empty)
		_, err := f.once("west")
		require.NoError(t, err)
		assert.Len(t, f.host.all(), 6)
	})
}

// Two processes that both think they lead do no harm to each other's objects.
func TestG5TwoLeaders(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules = nil })
	f.show()
	first := true
	f.host.before = func(verb string, r ref) error {
		if verb != "delete" || r != p.role || !first {
			return nil
		}
		first = false
		// The other one was faster: it has deleted it, made it anew and listed it.
		old := f.host.all()[r]
		f.host.uids++
		live := p.build(r, f.book.GrantKey())
		live.SetUID("other")
		require.NoError(t, f.host.Tracker().Delete(rbacv1.SchemeGroupVersion.WithResource("roles"), "a", r.name))
		require.NoError(t, f.host.Tracker().Create(rbacv1.SchemeGroupVersion.WithResource("roles"), live.(*rbacv1.Role), "a"))
		return f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
			return record.ChangeGrant(tx, record.GrantChange{PeerUID: westUID, PeerName: "west", Capability: "logs", Drop: []record.GrantedObject{r.granted(string(old.GetUID()))}, Put: []record.GrantedObject{r.granted("other")}})
		})
	}
	_, err := f.once("west")
	require.NoError(t, err)
	f.host.before = nil
	f.settles("west")
	assert.Len(t, f.grants(), 3)
	assert.True(t, isComplete(f.book.Grants(westUID)[0]))
	assert.Empty(t, f.events(), "it is not taken for a foreign one")
}

// G5: one of ours that is in the way, and that no informer shows, is replaced if it is not
// as it is to be.
func TestG5InTheWay(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a")
	p := one(t, plan)
	for name, test := range map[string]struct {
		change func(live object)
		after  func(f *fixture) func(verb string, r ref) error
		err    error
	}{
		"as it is to be":                      {change: func(object) {}},
		"changed":                             {change: func(live object) { live.(*rbacv1.Role).Rules = nil }},
		"without labels":                      {change: func(live object) { live.SetLabels(nil) }},
		"without the one by which it is seen": {change: func(live object) { delete(live.GetLabels(), peeringv1alpha1.LabelManagedBy) }},
		"held":                                {change: func(live object) { live.SetFinalizers([]string{"example.com/hold"}) }, err: errContested},
		"gone when it is looked at": {
			change: func(object) {},
			after: func(f *fixture) func(string, ref) error {
				first := true
				return func(verb string, r ref) error {
					if verb == "get" && r == p.role && first {
						first = false
						f.host.loses(r)
						return apierrors.NewNotFound(rbacv1.Resource("roles"), r.name)
					}
					return nil
				}
			},
		},
		"it cannot be read": {
			change: func(object) {},
			after: func(*fixture) func(string, ref) error {
				return func(verb string, _ ref) error {
					if verb == "get" {
						return errCrash
					}
					return nil
				}
			},
			err: errCrash,
		},
		"it cannot be deleted": {
			change: func(live object) { live.SetLabels(nil) },
			after: func(*fixture) func(string, ref) error {
				return func(verb string, _ ref) error {
					if verb == "delete" {
						return errCrash
					}
					return nil
				}
			},
			err: errCrash,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(plan)
			_, err := f.Controller.key(t.Context())
			require.NoError(t, err)
			live := p.build(p.role, f.book.GrantKey())
			test.change(live)
			f.host.puts(live) // and the informers do not show it
			if test.after != nil {
				f.host.after = test.after(f)
			}
			_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				assert.Empty(t, f.grants())
				assert.NotEmpty(t, f.book.Grants(westUID), "it is listed though")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []string{"a d8-logs:reader get configmaps"}, f.grants())
			assert.True(t, p.matches(f.host.all()[p.role], p.role, f.book.GrantKey()))
			f.show()
			f.idles("west")
		})
	}
}
