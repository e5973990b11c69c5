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
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// G5: what a plan grants, and to whom.
func TestG5Wanted(t *testing.T) {
	url := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/version"}}
	mixed := capability("logs", "get")
	mixed.Cluster = []rbacv1.PolicyRule{rule("list", "nodes"), url}
	nobody := capability("logs", "get")
	nobody.Consumers = nil
	oneWay := capability("logs", "get")
	oneWay.Namespaced = nil
	tests := []struct {
		name   string
		plan   *access.Plan
		wanted []string // capability, kind, namespace
	}{
		{"a pair for each namespace", planned([]access.Capability{capability("backup", "get"), capability("logs", "get")}, "a", "b"), []string{
			"backup Role a", "backup Role b", "backup as those", "logs Role a", "logs Role b", "logs as those",
		}},
		{"one for the whole cluster", planned([]access.Capability{mixed}, "a"), []string{"logs ClusterRole ", "logs Role a", "logs as those"}},
		{"no project is paired", planned([]access.Capability{mixed}), []string{"logs ClusterRole ", "logs as those"}},
		{"no consumers", planned([]access.Capability{nobody}, "a"), nil},
		{"rules for namespaces, and none is paired", planned([]access.Capability{capability("logs", "get")}), nil},
		{"no rules", planned([]access.Capability{oneWay}, "a"), nil},
		{"no peering", &access.Plan{Name: "west", UID: westUID, Effective: []access.Capability{mixed}, Paired: planned(nil, "a").Paired}, nil},
		{"a namespace twice", planned([]access.Capability{capability("logs", "get")}, "a", "a"), []string{"logs Role a", "logs as those"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var wanted []string
			for _, p := range wantedBy(test.plan, self) {
				line := fmt.Sprintf("%s %s %s", p.capability, p.role.kind, p.role.namespace)
				if p.role.isImpersonation() {
					line = p.capability + " as those"
				}
				wanted = append(wanted, line)
				assert.Equal(t, p.role.kind+"Binding", p.binding.kind)
				assert.Equal(t, p.role.namespace, p.binding.namespace)
				assert.NotEqual(t, p.role.name, p.binding.name)
			}
			assert.Equal(t, test.wanted, wanted)
		})
	}
}

// G5: what the objects are.
func TestG5Objects(t *testing.T) {
	key := &record.GrantKey{Key: record.NewSecret([]byte("key"))}
	granted := capability("logs", "get")
	granted.Consumers = []peeringv1alpha1.Consumer{consumer("z", "reader"), consumer("a", "reader"), consumer("z", "reader")}
	granted.Cluster = []rbacv1.PolicyRule{rule("list", "nodes")}
	pairs := given(wantedBy(planned([]access.Capability{granted}, "ns"), self))
	require.Len(t, pairs, 2)
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "peer:" + west + ":system:serviceaccount:" + name}
	}
	subjects := []rbacv1.Subject{user("a:reader"), user("z:reader")}
	whole, project := pairs[0], pairs[1]

	role, ok := project.build(project.role, key).(*rbacv1.Role)
	require.True(t, ok)
	assert.Equal(t, "ns", role.Namespace)
	assert.Regexp(t, regexp.MustCompile(`^entente-[0-9a-f]{64}$`), role.Name)
	assert.Equal(t, map[string]string{
		"app.kubernetes.io/managed-by": "entente", "peering.entente.dev/peer": "west", "peering.entente.dev/capability": "logs",
	}, role.Labels)
	assert.Equal(t, westUID, role.Annotations["peering.entente.dev/peer-uid"])
	assert.Equal(t, key.Proof(westUID, project.role.granted("")), role.Annotations["peering.entente.dev/grant"])
	assert.Equal(t, []rbacv1.PolicyRule{rule("get", "configmaps")}, role.Rules)
	binding, ok := project.build(project.binding, key).(*rbacv1.RoleBinding)
	require.True(t, ok)
	assert.Equal(t, subjects, binding.Subjects)
	assert.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role.Name}, binding.RoleRef)
	clusterRole, ok := whole.build(whole.role, key).(*rbacv1.ClusterRole)
	require.True(t, ok)
	assert.Equal(t, []rbacv1.PolicyRule{rule("list", "nodes")}, clusterRole.Rules)
	clusterBinding, ok := whole.build(whole.binding, key).(*rbacv1.ClusterRoleBinding)
	require.True(t, ok)
	assert.Equal(t, subjects, clusterBinding.Subjects)
	assert.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: clusterRole.Name}, clusterBinding.RoleRef)
	for _, p := range pairs {
		for _, r := range []ref{p.role, p.binding} {
			assert.True(t, p.matches(p.build(r, key), r, key), r)
			assert.False(t, p.matches(p.build(r, key), r, &record.GrantKey{Key: record.NewSecret([]byte("other"))}), r)
			assert.False(t, p.matches(p.build(r, key), r, nil), r)
		}
	}
}

// G5: whatever differs makes another name, and only that.
func TestG5Names(t *testing.T) {
	granting := func(change func(plan *access.Plan, c *access.Capability)) *access.Plan {
		plan := planned(nil, "a")
		c := capability("logs", "get")
		change(plan, &c)
		plan.Effective = []access.Capability{c}
		return plan
	}
	names := map[string]string{}
	for what, change := range map[string]func(plan *access.Plan, c *access.Capability){
		"nothing": func(*access.Plan, *access.Capability) {},
		"peer":    func(plan *access.Plan, _ *access.Capability) { plan.UID = "22222222-0000-4000-8000-000000000001" },
		"cluster": func(plan *access.Plan, _ *access.Capability) {
			plan.ClusterUUID = "cccccccc-0000-4000-8000-000000000002"
		},
		"capability": func(_ *access.Plan, c *access.Capability) { c.Name = "log" },
		"namespace":  func(plan *access.Plan, _ *access.Capability) { plan.Paired = planned(nil, "b").Paired },
		"verb": func(_ *access.Plan, c *access.Capability) {
			c.Namespaced = []rbacv1.PolicyRule{rule("list", "configmaps")}
		},
		"verbs": func(_ *access.Plan, c *access.Capability) { c.Namespaced[0].Verbs = []string{"get", "list"} },
		"field": func(_ *access.Plan, c *access.Capability) {
			c.Namespaced = []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"configmaps"}, Resources: []string{""}}}
		},
		"names":    func(_ *access.Plan, c *access.Capability) { c.Namespaced[0].ResourceNames = []string{"x"} },
		"rules":    func(_ *access.Plan, c *access.Capability) { c.Namespaced = append(c.Namespaced, rule("get", "pods")) },
		"consumer": func(_ *access.Plan, c *access.Capability) { c.Consumers[0].Name = "writer" },
	} {
		p := one(t, granting(change))
		for _, r := range []ref{p.role, p.binding} {
			assert.Empty(t, names[r.name], what)
			names[r.name] = what
		}
	}
	// Tuples that are the same when their parts are joined.
	joined := func(name, namespace string) string {
		return one(t, planned([]access.Capability{capability(name, "get")}, namespace)).role.name
	}
	assert.NotEqual(t, joined("a", "b-c"), joined("a-b", "c"))
	assert.NotEqual(t, joined("a", "bc"), joined("ab", "c"))
	assert.NotEqual(t, nameOf(&content{capability: "ab"}, "k", "c"), nameOf(&content{capability: "a"}, "k", "bc"))
	assert.NotEqual(t, encode([]rbacv1.PolicyRule{{Verbs: []string{"a", "b"}}}, nil), encode([]rbacv1.PolicyRule{{Verbs: []string{"ab"}}}, nil))
	assert.NotEqual(t, encode([]rbacv1.PolicyRule{{Verbs: []string{"a"}}}, nil), encode([]rbacv1.PolicyRule{{APIGroups: []string{"a"}}}, nil))
}

// G5: the order in which the same is written makes no difference, so nothing is made anew.
func TestG5Canonical(t *testing.T) {
	first := capability("logs", "get")
	first.Consumers = []peeringv1alpha1.Consumer{consumer("a", "x"), consumer("b", "x")}
	first.Namespaced = []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{}}, rule("get", "configmaps")}
	second := first
	second.Consumers = []peeringv1alpha1.Consumer{consumer("b", "x"), consumer("a", "x"), consumer("b", "x")}
	second.Namespaced = []rbacv1.PolicyRule{rule("get", "configmaps"), {Verbs: []string{"list", "get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}, rule("get", "configmaps")}
	before := fmt.Sprint(second)
	a, b := one(t, planned([]access.Capability{first}, "a")), one(t, planned([]access.Capability{second}, "a"))
	assert.Equal(t, a.role, b.role)
	assert.Equal(t, a.binding, b.binding)
	assert.Equal(t, a.rules, b.rules)
	assert.Equal(t, a.subjects, b.subjects)
	assert.Equal(t, before, fmt.Sprint(second), "a plan is shared and not changed")
	assert.True(t, slices.IsSortedFunc(a.subjects, bySubject))
}
