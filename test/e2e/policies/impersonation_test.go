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

package policies

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/test/install"
)

// H2: by the other family of names Entente may let itself be users of peers.
func (p *policed) impersonation(t *testing.T) {
	t.Run("by rules of these forms", p.impersonationRules)
	t.Run("in one role", p.impersonationRoles)
	t.Run("doing what could be granted", p.impersonatedRules)
	t.Run("as much as there is", p.mostImpersonation)
	t.Run("by itself", p.impersonationBindings)
}

const (
	notNamed = "named users and groups of other clusters only"
	actOn    = "impersonate-on:user-info:"
)

func (p *policed) impersonationRules(t *testing.T) {
	const (
		auth    = "authentication.k8s.io"
		be      = "impersonate:user-info"
		noMore  = "(G1)"
		another = "peer:0f0e8a4c-2b1d-4c55-9f0a-6f5f7f6d0c12"
	)
	both := named(rule("", "users", "impersonate"), aConsumer)
	both.APIGroups = []string{"", auth}
	beside := named(rule("", "users", "impersonate"), aConsumer)
	beside.Resources = []string{"users", "groups"}
	for _, test := range []struct {
		rule    rbacv1.PolicyRule
		refusal string
	}{
		{named(rule("", "users", "impersonate"), aConsumer), ""},
		{named(rule("", "users", "impersonate"), aConsumer, aPeer+":system:serviceaccount:a:b.c"), ""},
		{named(rule("", "groups", "impersonate"), aPeer), ""},
		{named(rule(auth, "users", be), aConsumer), ""},
		{named(rule(auth, "groups", be), aPeer), ""},
		{rule("", "configmaps", actOn+"get", actOn+"list"), ""},
		{urls("/metrics", actOn+"get"), ""},
		{rbacv1.PolicyRule{Verbs: []string{actOn + "get"}, NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version"}}, ""},

		{rule("", "users", "impersonate"), notNamed},
		{rule(auth, "groups", be), notNamed},
		{named(rule("", "users", "impersonate"), "system:admin"), notNamed},
		{named(rule("", "users", "impersonate"), aConsumer, "system:admin"), notNamed},
		{named(rule("", "users", "impersonate"), aPeer), notNamed},
		{named(rule("", "users", "impersonate"), "peer:x"), notNamed},
		{named(rule("", "users", "impersonate"), aPeer+":system:node:one"), notNamed},
		{named(rule("", "users", "impersonate"), "*"), notNamed},
		{named(rule("", "groups", "impersonate"), "system:masters"), notNamed},
		{named(rule("", "groups", "impersonate"), aConsumer), notNamed},
		{named(rule(auth, "groups", be), aPeer, "system:masters"), notNamed},
		{named(rule("", "serviceaccounts", "impersonate"), aConsumer), notNamed},
		{named(rule("", "serviceaccounts", "impersonate"), "controller"), notNamed},
		{named(rule(auth, "userextras/scopes", "impersonate"), aConsumer), notNamed},
		{named(rule(auth, "uids", be), aConsumer), notNamed},
		{named(rule("*", "users", "impersonate"), aConsumer), notNamed},
		{named(rule(auth, "users", "impersonate"), aConsumer), notNamed},
		{named(rule("", "users", be), aConsumer), notNamed},
		{both, notNamed},
		{beside, notNamed},
		{named(rule("", "*", "impersonate"), aConsumer), notNamed},
		{named(rule(auth, "users", be), aConsumer, another+":system:serviceaccount:a:b"), "of one cluster"},
		{named(rule("", "groups", "impersonate"), aPeer, another), "of one cluster"},

		{named(rule(auth, "nodes", "impersonate:arbitrary-node"), aConsumer), noMore},
		{named(rule(auth, "users", "impersonate:serviceaccount"), aConsumer), noMore},
		{named(rule("", "users", "*"), aConsumer), noMore},
		{named(rule("", "users", "impersonate", "get"), aConsumer), noMore},
		{named(rule(auth, "users", "impersonate", be), aConsumer), noMore},
		{rule("", "configmaps", "get"), noMore},
		{rule("", "configmaps", actOn+"get", "get"), noMore},
		{rule("", "configmaps", "impersonate-on:arbitrary-node:get"), noMore},
		{rule("", "configmaps", "impersonate-on:*"), noMore},
		{rule("", "configmaps", actOn), noMore},
		{rule("", "configmaps", "x"+actOn+"get"), noMore},
		{urls("/api/*", "get"), noMore},
		{urls("/api/*", actOn+"post"), noMore},
		{urls("/healthz/*", actOn+"get"), noMore},
		{urls("/openapi*", actOn+"get"), noMore},
		{urls("*", actOn+"get"), noMore},
		{rbacv1.PolicyRule{Verbs: []string{actOn + "get"}, NonResourceURLs: []string{"/api/*", "/logs/*"}}, noMore},
	} {
		what := fmt.Sprintf("%v", test.rule)
		judged(t, test.refusal, p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, test.rule), what)
		if test.rule.NonResourceURLs == nil {
			err := p.role(t, namespace, asOthers("x"), test.rule)
			require.Error(t, err, what)
			if test.refusal == "" {
				judged(t, "by ClusterRoles", err, what)
			}
		}
	}
}

// H2: a role is for one peer, and constrained or not.
func (p *policed) impersonationRoles(t *testing.T) {
	const another = "peer:0f0e8a4c-2b1d-4c55-9f0a-6f5f7f6d0c12"
	auth := func(resource string, names ...string) rbacv1.PolicyRule {
		return named(rule("authentication.k8s.io", resource, "impersonate:user-info"), names...)
	}
	anyhow := func(resource string, names ...string) rbacv1.PolicyRule {
		return named(rule("", resource, "impersonate"), names...)
	}
	acting := rule("", "configmaps", actOn+"get")
	for what, test := range map[string]struct {
		rules   []rbacv1.PolicyRule
		refusal string
	}{
		"constrained":                  {[]rbacv1.PolicyRule{auth("groups", aPeer), auth("users", aConsumer), acting}, ""},
		"not constrained":              {[]rbacv1.PolicyRule{anyhow("groups", aPeer), anyhow("users", aConsumer)}, ""},
		"both":                         {[]rbacv1.PolicyRule{auth("groups", aPeer), anyhow("users", aConsumer)}, "both with a constraint and without"},
		"both, by what is done":        {[]rbacv1.PolicyRule{anyhow("groups", aPeer), anyhow("users", aConsumer), acting}, "both with a constraint and without"},
		"the group of another cluster": {[]rbacv1.PolicyRule{auth("groups", another), auth("users", aConsumer), acting}, "of one cluster"},
		"a user of another cluster":    {[]rbacv1.PolicyRule{auth("groups", aPeer), auth("users", another+":system:serviceaccount:a:b")}, "of one cluster"},
		"somebody here":                {[]rbacv1.PolicyRule{auth("groups", aPeer), auth("users", aConsumer), auth("users", "system:admin")}, notNamed},
	} {
		judged(t, test.refusal, p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, test.rules...), what)
	}
	judged(t, "(G1)", p.clusterRole(t, metav1.ObjectMeta{Name: hashed("x")}, auth("users", aConsumer)), "by a grant")
	judged(t, "(G1)", p.clusterRole(t, metav1.ObjectMeta{Name: hashed("x")}, urls("/api/*", "get")), "discovery by a grant")
}

// H2, G1: as somebody else Entente may do what could be granted to them, and no more.
func (p *policed) impersonatedRules(t *testing.T) {
	for _, granted := range rulesToGrant() {
		acting := *granted.DeepCopy()
		for i := range acting.Verbs {
			acting.Verbs[i] = actOn + acting.Verbs[i]
		}
		refusal, what := refusalOf(t, granted), fmt.Sprintf("%v", acting)
		judged(t, refusal, p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, acting), what)
		judged(t, refusal, p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, rule("", "configmaps", actOn+"get"), acting), "beside another: "+what)
	}
}

// The largest capabilities that there can be are carried out.
func (p *policed) mostImpersonation(t *testing.T) {
	const auth, be = "authentication.k8s.io", "impersonate:user-info"
	consumers := make([]string, rules.MaxConsumers)
	for i := range consumers {
		consumers[i] = fmt.Sprintf("%s:system:serviceaccount:%s:%s%04d", aPeer, strings.Repeat("n", 63), strings.Repeat("x", 249), i)
	}
	all := []rbacv1.PolicyRule{
		named(rule(auth, "groups", be), aPeer), named(rule(auth, "users", be), consumers...),
		{Verbs: []string{actOn + "get"}, NonResourceURLs: []string{"/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version"}},
	}
	// Each permission a rule of its own is more than comes of any capability.
	for i := range rules.MaxPermissions {
		all = append(all, named(rule("example.com", fmt.Sprintf("%s%04d", strings.Repeat("r", 249), i), actOn+"get"), strings.Repeat("n", 253)))
	}
	judged(t, "", p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, all...), "a rule for each permission")
	judged(t, "(G1)", p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, append(all, rule("", "pods/exec", actOn+"create"))...), "and one that is forbidden")
	judged(t, notNamed, p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, append(all, named(rule(auth, "users", be), "system:admin"))...), "and somebody here")
}

func (p *policed) impersonationBindings(t *testing.T) {
	name := asOthers("x")
	itself := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: install.Namespace, Name: install.ServiceAccount}
	elsewhere, other := itself, itself
	elsewhere.Namespace, other.Name = namespace, "other"
	const butItself = "but itself"
	for what, test := range map[string]struct {
		subjects []rbacv1.Subject
		refusal  string
	}{
		"itself":             {[]rbacv1.Subject{itself}, ""},
		"nobody":             {nil, butItself},
		"twice":              {[]rbacv1.Subject{itself, itself}, butItself},
		"elsewhere":          {[]rbacv1.Subject{elsewhere}, butItself},
		"another":            {[]rbacv1.Subject{other}, butItself},
		"itself and another": {[]rbacv1.Subject{itself, other}, butItself},
		"by its user":        {[]rbacv1.Subject{user(p.who)}, butItself},
		"a consumer":         {[]rbacv1.Subject{user(aConsumer)}, butItself},
		"a group":            {[]rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts"}}, butItself},
	} {
		judged(t, test.refusal, p.clusterRoleBinding(t, name, ref("ClusterRole", name), test.subjects...), what)
		require.Error(t, p.roleBinding(t, namespace, name, ref("Role", name), test.subjects...), what)
	}
	judged(t, "by ClusterRoles", p.roleBinding(t, namespace, name, ref("Role", name), itself), "in a namespace")
	for _, role := range []string{hashed("x"), "cluster-admin", "entente-impersonate-x", "entente-apiserver-grants"} {
		judged(t, "roles of its own only", p.clusterRoleBinding(t, name, ref("ClusterRole", role), itself), role)
	}
}
