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

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
)

// G5: objects of ours that somebody changed are deleted and made anew.
func TestG5Changed(t *testing.T) {
	p := one(t, planned([]access.Capability{capability("logs", "get")}, "a"))
	more := rbacv1.Subject{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "eve"}
	for name, test := range map[string]struct {
		of     ref
		change func(live object)
	}{
		"rules widened": {p.role, func(live object) {
			live.(*rbacv1.Role).Rules = append(live.(*rbacv1.Role).Rules, rule("get", "secrets"))
		}},
		"rules gone": {p.role, func(live object) { live.(*rbacv1.Role).Rules = nil }},
		"subject added": {p.binding, func(live object) {
			live.(*rbacv1.RoleBinding).Subjects = append(live.(*rbacv1.RoleBinding).Subjects, more)
		}},
		"role replaced":          {p.binding, func(live object) { live.(*rbacv1.RoleBinding).RoleRef.Name = "other" }},
		"kind of role":           {p.binding, func(live object) { live.(*rbacv1.RoleBinding).RoleRef.Kind = "ClusterRole" }},
		"our label removed":      {p.role, func(live object) { live.SetLabels(nil) }},
		"label of a binding":     {p.binding, func(live object) { live.SetLabels(nil) }},
		"everything of ours":     {p.binding, func(live object) { live.SetLabels(nil); live.SetAnnotations(nil) }},
		"another peer's name":    {p.role, func(live object) { live.GetLabels()[peeringv1alpha1.LabelPeer] = "east" }},
		"another capability":     {p.role, func(live object) { live.GetLabels()[LabelCapability] = "backup" }},
		"proof removed":          {p.role, func(live object) { delete(live.GetAnnotations(), AnnotationProof) }},
		"UID of another peer":    {p.binding, func(live object) { live.GetAnnotations()[peeringv1alpha1.AnnotationPeerUID] = "x" }},
		"gone":                   {p.role, nil},
		"the binding is gone":    {p.binding, nil},
		"widened without labels": {p.role, func(live object) { live.SetLabels(nil); live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
			f.settles("west")
			before := f.host.all()[test.of].GetUID()
			if test.change == nil {
				f.host.loses(test.of)
			} else {
				f.host.changes(test.of, test.change)
			}
			f.show()
			f.settles("west")
			assert.Equal(t, []string{"a d8-logs:reader get configmaps"}, f.grants())
			assert.Len(t, f.host.all(), 2)
			assert.NotEqual(t, before, f.host.all()[test.of].GetUID(), "it is never changed")
			live := f.host.all()[test.of]
			assert.True(t, p.matches(live, test.of, f.book.GrantKey()))
			assert.Empty(t, f.events())
			assert.Equal(t, "True Applied: 2 objects in 1 namespace for 1 capability.", f.condition("west"))
		})
	}

	// What others add that grants nothing stays.
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
	f.settles("west")
	f.host.changes(p.role, func(live object) { live.GetLabels()["team"] = "a"; live.GetAnnotations()["note"] = "b" })
	f.show()
	f.idles("west")
}

// G5: a binding whose role is gone goes before that is made anew: meanwhile somebody could
// put another one in its place.
func TestG5LostRole(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[1]
	f.host.loses(p.role)
	f.show()
	f.host.did()
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Equal(t, []string{
		"get " + p.role.String(), // the informer may be late
		"delete " + p.binding.String(), "delete " + p.role.String(),
		"create " + p.role.String(), "create " + p.binding.String(),
	}, f.host.did())
}

// G5: a ClusterRole that was made to aggregate others is one that was changed.
func TestG5Aggregated(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan, self)[0]
	f.host.changes(p.role, func(live object) {
		live.(*rbacv1.ClusterRole).AggregationRule = &rbacv1.AggregationRule{}
	})
	f.show()
	f.settles("west")
	role, ok := f.host.all()[p.role].(*rbacv1.ClusterRole)
	require.True(t, ok)
	assert.Nil(t, role.AggregationRule)
}
