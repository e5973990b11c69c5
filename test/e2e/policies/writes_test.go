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
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// TestH3Policy is what Entente's ServiceAccount may write of RBAC, and that nobody else
// is kept from anything.
func TestH3Policy(t *testing.T) {
	t.Parallel()
	p := start(t)
	// RBAC alone refuses these; what the policy says of them is to be seen.
	p.Grant(t, p.who, rule(rbacv1.GroupName, "clusterroles", "update", "patch", "deletecollection"))
	for name, test := range map[string]func(*testing.T){
		"understood":             p.understood,
		"names":                  p.names,
		"created, never changed": p.neverChanged,
		"deleted":                p.deleted,
		"others":                 p.others,
		"namespaces":             p.namespaces,
		"bindings":               p.bindings,
		"aggregation":            p.aggregation,
		"rules as G1 has them":   p.grantedRules,
		"as much as there is":    p.most,
		"impersonation":          p.impersonation,
	} {
		t.Run(name, test)
	}
}

const foreignName = "RBAC objects of its own only"

// clusterRole has Entente try to make a ClusterRole.
func (p *policed) clusterRole(t *testing.T, meta metav1.ObjectMeta, rules ...rbacv1.PolicyRule) error {
	t.Helper()
	_, err := p.entente.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, dry)
	return err
}

func (p *policed) role(t *testing.T, namespace, name string, rules ...rbacv1.PolicyRule) error {
	t.Helper()
	_, err := p.entente.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, dry)
	return err
}

func (p *policed) clusterRoleBinding(t *testing.T, name string, ref rbacv1.RoleRef, subjects ...rbacv1.Subject) error {
	t.Helper()
	_, err := p.entente.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects}, dry)
	return err
}

func (p *policed) roleBinding(t *testing.T, namespace, name string, ref rbacv1.RoleRef, subjects ...rbacv1.Subject) error {
	t.Helper()
	_, err := p.entente.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects}, dry)
	return err
}

// The host finds nothing odd about the types in the policies.
func (p *policed) understood(t *testing.T) {
	policies := p.admin.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	for _, name := range []string{"entente-rbac", "entente-finalizers", "entente-project"} {
		eventually(t, "policy "+name+" is looked at", func(ctx context.Context) error {
			policy, err := policies.Get(ctx, name, metav1.GetOptions{})
			require.NoError(t, err)
			if policy.Status.ObservedGeneration != policy.Generation || policy.Status.TypeChecking == nil {
				return errors.New("it has not been")
			}
			assert.Empty(t, policy.Status.TypeChecking.ExpressionWarnings, name)
			return nil
		})
	}
}

func (p *policed) names(t *testing.T) {
	const refusal = foreignName
	for name, refusal := range map[string]string{
		hashed("a grant"):                 "",
		"entente-viewer":                  refusal, // shipped
		"entente-apiserver-grants":        refusal,
		"entente-":                        refusal,
		"entente-0123456789abcdef":        refusal,
		hashed("a grant") + "0":           refusal,
		hashed("a grant") + "-more":       refusal,
		"x" + hashed("a grant"):           refusal,
		"cluster-admin":                   refusal,
		"system:" + hashed("a grant"):     refusal,
		"entente-ABCDEF0123456789":        refusal,
		"entente-impersonate":             refusal,
		"entente-impersonate-east":        refusal,
		asOthers("a grant") + "0":         refusal,
		"entente-impersonate-system:node": refusal,
	} {
		judged(t, refusal, p.clusterRole(t, metav1.ObjectMeta{Name: name}, aRule), name)
		judged(t, refusal, p.role(t, namespace, name, aRule), name)
		judged(t, refusal, p.clusterRoleBinding(t, name, ref("ClusterRole", hashed("a grant")), user(aConsumer)), name)
		judged(t, refusal, p.roleBinding(t, namespace, name, ref("Role", hashed("a grant")), user(aConsumer)), name)
	}
	_, err := p.entente.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "entente-"}, Rules: []rbacv1.PolicyRule{aRule}}, dry)
	judged(t, refusal, err, "a generated name")
}

// What is there is never changed, whoever has made it, even where RBAC would let Entente.
func (p *policed) neverChanged(t *testing.T) {
	for _, name := range []string{hashed("changed"), "of-others", "entente-viewer"} {
		roles := p.admin.RbacV1().ClusterRoles()
		if name != "entente-viewer" {
			_, err := roles.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{aRule}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		found, err := roles.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		found.Labels = map[string]string{"changed": "yes"}
		_, err = p.entente.RbacV1().ClusterRoles().Update(t.Context(), found, metav1.UpdateOptions{})
		refusal := "change none"
		if name != hashed("changed") {
			refusal = foreignName
		}
		judged(t, refusal, err, "update "+name)
		_, err = p.entente.RbacV1().ClusterRoles().Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`), metav1.PatchOptions{})
		judged(t, refusal, err, "patch "+name)
		_, err = p.entente.RbacV1().ClusterRoles().Patch(t.Context(), name, types.ApplyPatchType,
			[]byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"`+name+`","labels":{"changed":"yes"}}}`), metav1.PatchOptions{FieldManager: "x"})
		judged(t, refusal, err, "apply "+name)
	}
}

func (p *policed) deleted(t *testing.T) {
	mine := []string{hashed("deleted"), asOthers("deleted")}
	others := []string{"deleted", "entente-x"}
	for _, name := range append(mine, others...) {
		meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"for": "deletion"}}
		_, err := p.admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = p.admin.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = p.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref("ClusterRole", "view")}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = p.admin.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref("Role", "x")}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	const refusal = foreignName
	ctx, rbac := t.Context(), p.entente.RbacV1()
	for _, name := range append(others, "entente-viewer", "cluster-admin") {
		judged(t, refusal, rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}), name)
	}
	for _, name := range others {
		judged(t, refusal, rbac.Roles(namespace).Delete(ctx, name, metav1.DeleteOptions{}), name)
		judged(t, refusal, rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}), name)
		judged(t, refusal, rbac.RoleBindings(namespace).Delete(ctx, name, metav1.DeleteOptions{}), name)
	}
	selector := metav1.ListOptions{LabelSelector: "for=deletion"}
	judged(t, refusal, rbac.ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, selector), "a collection")
	for _, name := range mine {
		if err := rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) { // the collection may have come so far
			judged(t, "", err, name)
		}
		judged(t, "", rbac.Roles(namespace).Delete(ctx, name, metav1.DeleteOptions{}), name)
		judged(t, "", rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}), name)
		judged(t, "", rbac.RoleBindings(namespace).Delete(ctx, name, metav1.DeleteOptions{}), name)
	}
}

// Nobody else is held to it but who has Entente's name.
func (p *policed) others(t *testing.T) {
	_, err := p.admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "anything"}, Rules: []rbacv1.PolicyRule{rule("*", "*", "*")}}, dry)
	require.NoError(t, err)
	for name, confined := range map[string]bool{"other": false, "x-entente-apiserver": false, install.ServiceAccount: true} {
		p.MustKubectl(t, kube.Admin, "", "create", "serviceaccount", "-n", namespace, name)
		who := p.ServiceAccountKubeconfig(t, namespace, name)
		p.Grant(t, who, rule(rbacv1.GroupName, "clusterroles", "create", "escalate"))
		_, err := p.Clientset(t, who).RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "anything"}}, dry)
		if confined {
			judged(t, foreignName, err, who)
		} else {
			judged(t, "", err, who)
		}
	}
}

// No grant is made where nothing ever belongs to a project.
func (p *policed) namespaces(t *testing.T) {
	for namespace, refusal := range map[string]string{namespace: "", "default": "", "kube-system": "(G4)", "kube-public": "(G4)", install.Namespace: "(G4)", install.AccessNamespace: "(G4)"} {
		judged(t, refusal, p.role(t, namespace, hashed("x"), aRule), namespace)
		judged(t, refusal, p.roleBinding(t, namespace, hashed("x"), ref("Role", hashed("x")), user(aConsumer)), namespace)
	}
}
