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

// H3: a grant is to ServiceAccounts of other clusters, of a role of Entente's.
func (p *policed) bindings(t *testing.T) {
	const (
		subjects = "ServiceAccounts of other clusters only"
		roles    = "roles of its own only"
	)
	for _, test := range []struct {
		subject rbacv1.Subject
		refusal string
	}{
		{user(aConsumer), ""},
		{user(aPeer + ":system:serviceaccount:a:b.c-d"), ""},
		{user(aPeer), subjects},
		{user(aPeer + ":system:serviceaccount:module"), subjects},
		{user(aPeer + ":system:serviceaccount::controller"), subjects},
		{user(aPeer + ":system:serviceaccount:module:controller:more"), subjects},
		{user(aPeer + ":system:node:one"), subjects},
		{user("peer:east:system:serviceaccount:module:controller"), subjects},
		{user("peer::system:serviceaccount:module:controller"), subjects},
		{user("x" + aConsumer), subjects},
		{user(aConsumer + "\n"), subjects},
		{user("system:serviceaccount:module:controller"), subjects},
		{user("system:admin"), subjects},
		{user(p.who), subjects},
		{rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}, subjects},
		{rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: aConsumer}, subjects},
		{rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: install.Namespace, Name: install.ServiceAccount}, subjects},
	} {
		what := fmt.Sprintf("%v", test.subject)
		judged(t, test.refusal, p.clusterRoleBinding(t, hashed("x"), ref("ClusterRole", hashed("x")), test.subject), what)
		judged(t, test.refusal, p.roleBinding(t, namespace, hashed("x"), ref("Role", hashed("x")), test.subject), what)
		judged(t, test.refusal, p.roleBinding(t, namespace, hashed("x"), ref("Role", hashed("x")), user(aConsumer), test.subject), "beside another: "+what)
	}
	for name, refusal := range map[string]string{
		hashed("x"):             "",
		hashed("another"):       "",
		"cluster-admin":         roles,
		"view":                  roles,
		"entente-operator":      roles,
		"entente-impersonate-x": roles,
		asOthers("x"):           roles,
	} {
		judged(t, refusal, p.clusterRoleBinding(t, hashed("x"), ref("ClusterRole", name), user(aConsumer)), name)
		judged(t, refusal, p.roleBinding(t, namespace, hashed("x"), ref("Role", name), user(aConsumer)), name)
	}
	// Else what is meant for the whole cluster would be, by a right to namespaces only.
	judged(t, roles, p.roleBinding(t, namespace, hashed("x"), ref("ClusterRole", hashed("x")), user(aConsumer)), "a ClusterRole in a namespace")
}

// H3: what a grant holds stays in it, and nothing comes to it.
func (p *policed) aggregation(t *testing.T) {
	_, err := p.entente.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta:      metav1.ObjectMeta{Name: hashed("x")},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}},
	}, dry)
	judged(t, "aggregated", err, "gathers all rules that there are")
	meta := metav1.ObjectMeta{Name: hashed("x"), Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}}
	judged(t, "aggregated", p.clusterRole(t, meta, aRule), "gives its rules to all who may view")
	meta.Labels = map[string]string{"app.kubernetes.io/managed-by": "entente", "peering.entente.dev/peer": "east", "peering.entente.dev/capability": "x"}
	judged(t, "", p.clusterRole(t, meta, aRule), "labels of Entente")
}
