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
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// verbImpersonate is what it takes to be somebody else, whatever is then done.
	verbImpersonate = "impersonate"
	// verbBe and verbActPrefix are for hosts that constrain impersonation: what it takes
	// to be somebody, and, before each verb, to do that as somebody else. The mode is that
	// of users who are neither nodes nor ServiceAccounts of this cluster.
	verbBe        = "impersonate:user-info"
	verbActPrefix = "impersonate-on:user-info:"
)

// impersonator is who acts here as the ServiceAccounts of other clusters, and how (H2).
type impersonator struct {
	// self is Entente, as a binding names it.
	self rbacv1.Subject
	// constrained says that the host cluster can constrain what is done as somebody else.
	constrained bool
}

// of returns what lets Entente be the users that a capability is granted to, and do what
// its rules say. It gives nothing to those users, and is worth nothing without what does.
func (i impersonator) of(granted *content, rules []rbacv1.PolicyRule) pair {
	c := &content{
		prefix:      record.ImpersonationPrefix,
		owner:       granted.owner,
		clusterUUID: granted.clusterUUID,
		capability:  granted.capability,
		rules:       canonical(i.rules(granted, rules)),
		subjects:    []rbacv1.Subject{i.self},
	}
	c.encoded = encode(c.rules, c.subjects)
	return c.in("")
}

// rules never has both the verb for any impersonation and those for a constrained one: the
// former would make the latter worth nothing.
func (i impersonator) rules(granted *content, rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var users []string
	for _, subject := range granted.subjects {
		users = append(users, subject.Name)
	}
	group := []string{protocol.UserGroup(granted.clusterUUID)}
	be := func(verb, apiGroup string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{
			{Verbs: []string{verb}, APIGroups: []string{apiGroup}, Resources: []string{"users"}, ResourceNames: users},
			{Verbs: []string{verb}, APIGroups: []string{apiGroup}, Resources: []string{"groups"}, ResourceNames: group},
		}
	}
	if !i.constrained {
		return be(verbImpersonate, corev1.GroupName)
	}
	all := be(verbBe, authenticationv1.GroupName)
	for _, rule := range append(slices.Clone(rules), discovery()) {
		acting := *rule.DeepCopy()
		for n, verb := range acting.Verbs {
			acting.Verbs[n] = verbActPrefix + verb
		}
		all = append(all, acting)
	}
	return all
}

// discovery is what workloads may read of the host cluster beside what is granted to them
// (G7). Kubernetes lets every user who is known do so.
func discovery() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs:           []string{"get"},
		NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version"},
	}
}
