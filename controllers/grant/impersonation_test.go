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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// legacy is self in a host cluster that cannot constrain impersonation.
var legacy = impersonator{self: self.self}

// impersonating returns the pairs of a plan that let Entente act as others.
func impersonating(plan *access.Plan, as impersonator) []pair {
	return slices.DeleteFunc(wantedBy(plan, as), func(p pair) bool { return !p.role.isImpersonation() })
}

// mixed grants something in namespaces, and something that is not in one.
func mixed() access.Capability {
	c := capability("logs", "get")
	c.Consumers = []peeringv1alpha1.Consumer{consumer("z", "reader"), consumer("a", "reader"), consumer("z", "reader")}
	c.Namespaced = []rbacv1.PolicyRule{{Verbs: []string{"list", "get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"one"}}}
	c.Cluster = []rbacv1.PolicyRule{rule("list", "nodes"), {Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}
	return c
}

// H2: Entente may be exactly the users that a capability is granted to, and their group,
// and, where the host can tell, do no more as them than they may.
func TestH2Objects(t *testing.T) {
	const peer = "peer:" + west
	users := []string{peer + ":system:serviceaccount:a:reader", peer + ":system:serviceaccount:z:reader"}
	be := func(verb, group string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{
			{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{"groups"}, ResourceNames: []string{peer}},
			{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{"users"}, ResourceNames: users},
		}
	}
	const on = "impersonate-on:user-info:"
	for name, test := range map[string]struct {
		as    impersonator
		rules []rbacv1.PolicyRule
	}{
		"any host": {legacy, be("impersonate", "")},
		"a host that constrains it": {self, append(be("impersonate:user-info", "authentication.k8s.io"),
			rbacv1.PolicyRule{Verbs: []string{on + "get", on + "list"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"one"}},
			rbacv1.PolicyRule{Verbs: []string{on + "list"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
			rbacv1.PolicyRule{Verbs: []string{on + "get"}, NonResourceURLs: []string{"/metrics"}},
			rbacv1.PolicyRule{Verbs: []string{on + "get"}, NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version"}},
		)},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planned([]access.Capability{mixed()}, "a", "b")
			before := fmt.Sprint(plan.Effective)
			pairs := impersonating(plan, test.as)
			require.Len(t, pairs, 1)
			p, key := pairs[0], &record.GrantKey{Key: record.NewSecret([]byte("key"))}
			role, ok := p.build(p.role, key).(*rbacv1.ClusterRole)
			require.True(t, ok)
			assert.Regexp(t, `^entente-impersonate-[0-9a-f]{64}$`, role.Name)
			assert.ElementsMatch(t, test.rules, role.Rules)
			binding, ok := p.build(p.binding, key).(*rbacv1.ClusterRoleBinding)
			require.True(t, ok)
			assert.Regexp(t, `^entente-impersonate-[0-9a-f]{64}$`, binding.Name)
			assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "entente-system", Name: "entente-apiserver"}}, binding.Subjects)
			assert.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role.Name}, binding.RoleRef)
			assert.Equal(t, before, fmt.Sprint(plan.Effective), "a plan is shared and not changed")

			// With both, the constraint would be worth nothing.
			var verbs []string
			for _, rule := range role.Rules {
				verbs = append(verbs, rule.Verbs...)
			}
			assert.Equal(t, !test.as.constrained, slices.Contains(verbs, "impersonate"))
			assert.Equal(t, test.as.constrained, slices.ContainsFunc(verbs, func(verb string) bool { return strings.HasPrefix(verb, "impersonate") && verb != "impersonate" }))
		})
	}
}

// H2: another right is another object; where it is granted makes no difference.
func TestH2Names(t *testing.T) {
	names := map[string]string{}
	another := self
	another.self.Namespace = "another"
	for what, test := range map[string]struct {
		as     impersonator
		change func(plan *access.Plan, c *access.Capability)
	}{
		"nothing":     {self, func(*access.Plan, *access.Capability) {}},
		"constrained": {legacy, func(*access.Plan, *access.Capability) {}},
		"who":         {another, func(*access.Plan, *access.Capability) {}},
		"peer":        {self, func(plan *access.Plan, _ *access.Capability) { plan.UID = "22222222-0000-4000-8000-000000000001" }},
		"cluster": {self, func(plan *access.Plan, _ *access.Capability) {
			plan.ClusterUUID = "cccccccc-0000-4000-8000-000000000002"
		}},
		"capability": {self, func(_ *access.Plan, c *access.Capability) { c.Name = "log" }},
		"verb":       {self, func(_ *access.Plan, c *access.Capability) { c.Namespaced[0].Verbs = []string{"get"} }},
		"consumer":   {self, func(_ *access.Plan, c *access.Capability) { c.Consumers[0].Name = "writer" }},
	} {
		plan, c := planned(nil, "a"), mixed()
		test.change(plan, &c)
		plan.Effective = []access.Capability{c}
		for _, p := range impersonating(plan, test.as) {
			for _, r := range []ref{p.role, p.binding} {
				assert.Empty(t, names[r.name], what)
				names[r.name] = what
			}
		}
		assert.Equal(t, wantedBy(plan, test.as)[2].role.name, impersonating(plan, test.as)[0].role.name, "the last of a capability")
	}
	assert.Len(t, names, 8*2)
	elsewhere := impersonating(planned([]access.Capability{mixed()}, "b", "c"), self)[0]
	assert.Equal(t, "nothing", names[elsewhere.role.name])
	assert.Equal(t, "nothing", names[impersonating(planned([]access.Capability{mixed()}), self)[0].binding.name], "no project is paired")
}

// H2: what Entente may itself is none of what the peer is granted.
func TestH2NotGranted(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
	f.settles("west")
	assert.Len(t, f.host.every(), 4)
	grants := f.book.Grants(westUID)
	require.Len(t, grants, 1)
	assert.Len(t, grants[0].Objects, 4)
	assert.False(t, grants[0].ClusterWide())
	assert.Equal(t, []string{"a"}, grants[0].Namespaces())
	assert.Equal(t, "True Applied: 2 objects in 1 namespace for 1 capability.", f.condition("west"))

	f.plans.set(planned([]access.Capability{capability("logs", "get")}))
	f.settles("west")
	assert.Empty(t, f.host.every(), "nobody is granted anything, so nobody is to be acted as")
	assert.Empty(t, f.book.AllGrants())
}

// H2: when the host cluster can constrain impersonation from then on, or cannot any more,
// or Entente is somebody else, the old right goes before there is a new one.
func TestH2Replaced(t *testing.T) {
	another := self
	another.self.Namespace = "another"
	for name, test := range map[string]struct{ before, after impersonator }{
		"constrained now":    {legacy, self},
		"not constrained":    {self, legacy},
		"Entente moved away": {self, another},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planned([]access.Capability{mixed()}, "a")
			old, next := impersonating(plan, test.before)[0], impersonating(plan, test.after)[0]
			f := newFixture(t)
			f.impersonates = test.before
			f.restart()
			f.holds("west", westUID)
			f.plans.set(plan)
			f.settles("west")
			granted := f.host.all()
			require.Contains(t, f.host.every(), old.binding)

			f.impersonates = test.after
			f.host.changes(old.binding, hold)
			f.restart()
			f.host.did()
			_, err := f.once("west")
			require.ErrorIs(t, err, errHeld)
			assert.Contains(t, f.host.every(), old.binding)
			assert.Zero(t, f.host.took("create"), "never both")
			assert.Equal(t, granted, f.host.all(), "what is granted is none of that")

			f.host.changes(old.binding, release)
			f.show()
			f.settles("west")
			every := f.host.every()
			assert.Contains(t, every, next.role)
			assert.Contains(t, every, next.binding)
			assert.NotContains(t, every, old.role)
			assert.NotContains(t, every, old.binding)
			assert.Equal(t, granted, f.host.all())
		})
	}
}

// H2: neither of the two keeps the other from being made.
func TestH2PlaceOfItsOwn(t *testing.T) {
	for name, held := range map[string]func(plan *access.Plan) pair{
		"a grant is held":       func(plan *access.Plan) pair { return given(wantedBy(plan, self))[0] },
		"impersonation is held": func(plan *access.Plan) pair { return impersonating(plan, self)[0] },
	} {
		t.Run(name, func(t *testing.T) {
			f, plan := granted(t)
			p := held(plan)
			require.Empty(t, p.role.namespace)
			f.host.changes(p.binding, hold)
			f.show()
			changed := capability("logs", "list")
			changed.Cluster = []rbacv1.PolicyRule{rule("get", "nodes")}
			next := planned([]access.Capability{changed}, "a", "b")
			f.plans.set(next)
			_, err := f.once("west")
			require.ErrorIs(t, err, errHeld)
			every := f.host.every()
			assert.Equal(t, p.role.isImpersonation(), every[wantedBy(next, self)[0].binding] != nil)
			assert.Equal(t, !p.role.isImpersonation(), every[impersonating(next, self)[0].binding] != nil)
		})
	}
}

// H2: one object that goes first ends all that was granted by a capability.
func TestH2First(t *testing.T) {
	binding := func(name string) removal { return removal{ref: ref{kind: record.KindClusterRoleBinding, name: name}} }
	all := []removal{binding("entente-1"), binding("entente-impersonate-2"), binding("entente-3"), binding("entente-impersonate-4")}
	slices.SortStableFunc(all, impersonationFirst)
	var names []string
	for _, r := range all {
		names = append(names, r.name)
	}
	assert.Equal(t, []string{"entente-impersonate-2", "entente-impersonate-4", "entente-1", "entente-3"}, names)
}
