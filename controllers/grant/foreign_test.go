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

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// replacement is a Role with everything of ours in it that can be copied, and more rules.
func replacement(live object, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: live.GetNamespace(), Name: live.GetName(), Labels: live.GetLabels(), Annotations: live.GetAnnotations()},
		Rules:      rules,
	}
}

// G5: what stands under the name of one of ours and is not ours is never touched; our half
// of the pair goes; the condition and one Event say so; when it is gone ours is made.
func TestG5Foreign(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b")
	pairs := wantedBy(plan, self)
	a := pairs[0]
	everything := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	bare := func(r ref) object {
		described := metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}
		if r.isBinding() {
			return &rbacv1.RoleBinding{ObjectMeta: described, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "x"}}
		}
		return &rbacv1.Role{ObjectMeta: described, Rules: []rbacv1.PolicyRule{everything}}
	}
	labelled := func(r ref) object {
		live := bare(r)
		live.SetLabels(map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy, peeringv1alpha1.LabelPeer: "west", LabelCapability: "logs"})
		live.SetAnnotations(map[string]string{peeringv1alpha1.AnnotationPeerUID: westUID})
		return live
	}
	for name, test := range map[string]struct {
		of ref
		// first says that it was there before.
		first bool
		make  func(f *fixture) object
	}{
		"a Role that was there before":       {a.role, true, func(*fixture) object { return bare(a.role) }},
		"a binding that was there before":    {a.binding, true, func(*fixture) object { return bare(a.binding) }},
		"a Role with our labels":             {a.role, true, func(*fixture) object { return labelled(a.role) }},
		"a binding with our labels":          {a.binding, true, func(*fixture) object { return labelled(a.binding) }},
		"our Role replaced":                  {a.role, false, func(*fixture) object { return bare(a.role) }},
		"our Role replaced, with our labels": {a.role, false, func(*fixture) object { return labelled(a.role) }},
		"our binding replaced":               {a.binding, false, func(*fixture) object { return bare(a.binding) }},
		"our Role replaced, with its proof": {a.role, false, func(f *fixture) object {
			return replacement(f.host.all()[a.role], everything)
		}},
		"our Role replaced, with its proof, without labels": {a.role, false, func(f *fixture) object {
			live := replacement(f.host.all()[a.role], everything)
			live.Labels = nil
			return live
		}},
		"the proof of another object": {a.role, false, func(f *fixture) object {
			live := replacement(f.host.all()[a.role], everything)
			live.Annotations = f.host.all()[pairs[1].role].GetAnnotations()
			return live
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			if !test.first {
				f.plans.set(plan)
				f.settles("west")
			}
			theirs := test.make(f)
			f.host.puts(theirs)
			f.plans.set(plan)
			f.show()
			again, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, lookAgain, again)

			check := func() {
				t.Helper()
				all := f.host.all()
				assert.Equal(t, []string{"b d8-logs:reader get configmaps"}, f.grants())
				require.Contains(t, all, test.of)
				assert.Equal(t, theirs.GetUID(), all[test.of].GetUID())
				assert.Len(t, all, 3, "our half is gone")
				assert.Contains(t, f.condition("west"), "False ForeignObject: ")
				assert.Contains(t, f.condition("west"), test.of.String())
				assert.Equal(t, []string{"b"}, f.book.Grants(westUID)[0].Namespaces())
				assert.False(t, isComplete(f.book.Grants(westUID)[0]))
				listed := slices.DeleteFunc(f.book.Grants(westUID)[0].Objects, func(o record.GrantedObject) bool { return o.Namespace != "a" })
				foreign := test.of.granted("")
				foreign.Foreign = true
				assert.Equal(t, []record.GrantedObject{foreign}, listed)
			}
			check()
			events := f.events()
			require.Len(t, events, 1)
			assert.Contains(t, events[0], "Warning ForeignObject")

			// It stays so, whoever looks, and costs a request at most.
			f.book.wrote()
			for range 2 {
				f.host.did()
				_, err = f.once("west")
				require.NoError(t, err)
				assert.LessOrEqual(t, len(f.host.did()), 1)
				f.restart()
			}
			assert.Zero(t, f.book.wrote())
			assert.Empty(t, f.events())
			check()

			f.host.loses(test.of)
			f.show()
			f.settles("west")
			assert.Equal(t, []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}, f.grants())
			assert.Equal(t, "True Applied: 4 objects in 2 namespaces for 1 capability.", f.condition("west"))
			assert.Empty(t, f.events())

			// It says so again if it happens again.
			f.host.puts(bare(test.of))
			f.show()
			_, err = f.once("west")
			require.NoError(t, err)
			assert.Len(t, f.events(), 1)

			f.plans.set(withoutCluster())
			f.settles("west")
			assert.Len(t, f.host.all(), 1, "what is foreign stays to the end")
			assert.Empty(t, f.book.AllGrants())
		})
	}
}

// G5: that it cannot be told whether something foreign is still there keeps nothing from
// going.
func TestG5ForeignUnreadable(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get"), capability("backup", "get")}, "a")
	f := newFixture(t)
	f.holds("west", westUID)
	p := wantedBy(plan, self)[0]
	f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: p.role.name}})
	f.plans.set(plan)
	_, err := f.once("west")
	require.NoError(t, err)
	f.host.before = func(verb string, _ ref) error {
		if verb == "get" {
			return apierrors.NewForbidden(rbacv1.Resource("roles"), "x", errors.New("no"))
		}
		return nil
	}
	f.plans.set(planned(plan.Effective[:1], "a"))
	_, err = f.once("west")
	require.Error(t, err)
	assert.Len(t, f.host.all(), 1)
	assert.Equal(t, "False ApplyFailed: "+forbidden.message(), f.condition("west"))
}

// Many foreign objects are one Event and one message, which names some.
func TestG5ManyForeign(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b", "c", "d", "e")
	f := newFixture(t)
	f.holds("west", westUID)
	for _, p := range wantedBy(plan, self) {
		f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: p.role.namespace, Name: p.role.name}})
	}
	f.plans.set(plan)
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Empty(t, f.grants())
	assert.Len(t, f.host.all(), 5)
	assert.Len(t, f.events(), 1)
	assert.Contains(t, f.condition("west"), "Role c/entente-")
	assert.Contains(t, f.condition("west"), " and 2 more.")
	assert.NotContains(t, f.condition("west"), "Role d/")
}

// G5: an object that was about to be made and is not ours is not deleted with the rest.
func TestG5IntentOfAnother(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a")
	p := one(t, plan)
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(plan)
	f.host.before = func(verb string, _ ref) error {
		if verb == "create" {
			return errCrash
		}
		return nil
	}
	_, err := f.once("west")
	require.Error(t, err)
	f.host.before = nil
	require.Len(t, f.book.Grants(westUID)[0].Objects, 4)
	f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: p.role.name}})
	f.show()
	f.plans.set(withoutCluster())
	f.settles("west")
	assert.Len(t, f.host.every(), 1)
	assert.Empty(t, f.book.AllGrants())
}
