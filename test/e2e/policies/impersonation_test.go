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
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/test/install"
)

// H2: by the other family of names Entente may let itself be users of peers.
func (p *policed) impersonation(t *testing.T) {
	const name = "entente-impersonate-east"
	const refusal = "named users and groups of other clusters only"
	for _, test := range []struct {
		rule    rbacv1.PolicyRule
		refusal string
	}{
		{named(rule("", "users", "impersonate"), aConsumer), ""},
		{named(rule("", "groups", "impersonate"), aPeer), ""},
		{named(rule("authentication.k8s.io", "users", "impersonate:user-info"), aConsumer), ""},
		{rule("", "configmaps", "impersonate-on:user-info:get", "impersonate-on:user-info:list"), ""},
		{urls("/version", "impersonate-on:user-info:get"), ""},
		{rule("", "users", "impersonate"), refusal},
		{named(rule("", "users", "impersonate"), "system:admin"), refusal},
		{named(rule("", "users", "impersonate"), aConsumer, "system:admin"), refusal},
		{named(rule("", "groups", "impersonate"), "system:masters"), refusal},
		{named(rule("", "serviceaccounts", "impersonate"), "peer:x"), refusal},
		{named(rule("authentication.k8s.io", "userextras/scopes", "impersonate"), "peer:x"), refusal},
		{named(rule("authentication.k8s.io", "nodes", "impersonate:arbitrary-node"), "peer:x"), refusal},
		{named(rule("*", "users", "impersonate"), aConsumer), refusal},
		{named(rule("", "*", "impersonate"), aConsumer), refusal},
		{named(rule("", "users", "*"), aConsumer), refusal},
		{named(rule("", "users", "impersonate", "get"), aConsumer), refusal},
		{rule("", "configmaps", "get"), refusal},
		{rule("", "configmaps", "impersonate-on:user-info:get", "get"), refusal},
		{rule("", "configmaps", "impersonate-on:arbitrary-node:get"), refusal},
	} {
		what := fmt.Sprintf("%v", test.rule)
		judged(t, test.refusal, p.clusterRole(t, metav1.ObjectMeta{Name: name}, test.rule), what)
		if test.rule.NonResourceURLs == nil {
			judged(t, test.refusal, p.role(t, namespace, name, test.rule), what)
		}
	}
	itself := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: install.Namespace, Name: install.ServiceAccount}
	elsewhere, other := itself, itself
	elsewhere.Namespace, other.Name = namespace, "other"
	for _, test := range []struct {
		subject rbacv1.Subject
		refusal string
	}{
		{itself, ""},
		{elsewhere, "but itself"},
		{other, "but itself"},
		{user(p.who), "but itself"},
		{user(aConsumer), "but itself"},
		{rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts"}, "but itself"},
	} {
		what := fmt.Sprintf("%v", test.subject)
		judged(t, test.refusal, p.clusterRoleBinding(t, name, ref("ClusterRole", name), test.subject), what)
		judged(t, test.refusal, p.roleBinding(t, namespace, name, ref("Role", name), test.subject), what)
	}
	judged(t, "roles of its own only", p.clusterRoleBinding(t, name, ref("ClusterRole", hashed("x")), itself), "a grant to itself")
	judged(t, "roles of its own only", p.clusterRoleBinding(t, name, ref("ClusterRole", "cluster-admin"), itself), "everything to itself")
}
