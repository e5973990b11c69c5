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
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"entente.dev/entente/test/kube"
)

const noFinalizers = "may have no finalizers"

// TestG5Finalizers is that nobody keeps what Entente grants from going.
func TestG5Finalizers(t *testing.T) {
	t.Parallel()
	p := start(t)
	const admin = "namespace-admin"
	p.AddUser(t, admin)
	p.BindIn(t, namespace, admin, "admin")
	tenant := p.Clientset(t, admin)
	p.refusesFinalizers(t)
	eventually(t, "the role admin is complete", func(ctx context.Context) error {
		_, err := tenant.RbacV1().Roles(namespace).List(ctx, metav1.ListOptions{})
		return err
	})
	t.Run("made with one", p.madeWithFinalizer)
	t.Run("given one", func(t *testing.T) { p.givenFinalizer(t, tenant) })
	t.Run("deleted by garbage collection", func(t *testing.T) { p.collected(t, tenant) })
	t.Run("held by what depends on it", func(t *testing.T) { p.heldByDependant(t, tenant) })
	t.Run("there before", p.finalizedBefore) // takes the policy away for a while
}

// refusesFinalizers waits until the policy applies.
func (p *policed) refusesFinalizers(t *testing.T) {
	t.Helper()
	eventually(t, "the policy applies", func(ctx context.Context) error {
		_, err := p.admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: finalized(hashed("probe"))}, dry)
		return refusedByPolicy(err, noFinalizers)
	})
}

func finalized(name string, finalizers ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Finalizers: append(finalizers, "example.com/hold")}
}

func (p *policed) madeWithFinalizer(t *testing.T) {
	for name, refusal := range map[string]string{
		hashed("a grant"):          noFinalizers,
		asOthers("a grant"):        noFinalizers,
		"entente-impersonate-east": "",
		"entente-operator-2":       "",
		hashed("a grant") + "0":    "",
		"anything":                 "",
	} {
		meta, rbac, ctx := finalized(name), p.admin.RbacV1(), t.Context()
		_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta}, dry)
		judged(t, refusal, err, name)
		_, err = rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta}, dry)
		judged(t, refusal, err, name)
		_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref("ClusterRole", "view")}, dry)
		judged(t, refusal, err, name)
		_, err = rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref("Role", "x")}, dry)
		judged(t, refusal, err, name)
	}
}

// binds makes a Role and a binding of that name as Entente does.
func (p *policed) binds(t *testing.T, name string) *rbacv1.RoleBinding {
	t.Helper()
	_, err := p.entente.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{aRule}}, metav1.CreateOptions{})
	require.NoError(t, err)
	made, err := p.entente.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref("Role", name), Subjects: []rbacv1.Subject{user(aConsumer)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return made
}

// The admin of a namespace may change what is in it, and so could hold it.
func (p *policed) givenFinalizer(t *testing.T, tenant kubernetes.Interface) {
	made := p.binds(t, hashed("given"))
	p.MustKubectl(t, kube.Admin, "", "create", "rolebinding", "-n", namespace, "his", "--role=x", "--user=x")
	roles, bindings, ctx := tenant.RbacV1().Roles(namespace), tenant.RbacV1().RoleBindings(namespace), t.Context()
	for _, finalizer := range []string{"example.com/hold", metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents} {
		merge := []byte(`{"metadata":{"finalizers":["` + finalizer + `"]}}`)
		_, err := bindings.Patch(ctx, made.Name, types.MergePatchType, merge, metav1.PatchOptions{})
		judged(t, noFinalizers, err, "a binding: "+finalizer)
		_, err = roles.Patch(ctx, made.Name, types.MergePatchType, merge, metav1.PatchOptions{})
		judged(t, noFinalizers, err, "a Role: "+finalizer)
		_, err = bindings.Patch(ctx, "his", types.MergePatchType, merge, metav1.PatchOptions{DryRun: dry.DryRun})
		judged(t, "", err, "his own: "+finalizer)
	}
	_, err := bindings.Patch(ctx, made.Name, types.ApplyPatchType,
		[]byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"`+made.Name+`","finalizers":["example.com/hold"]}}`), metav1.PatchOptions{FieldManager: "x"})
	judged(t, noFinalizers, err, "applied")
	replaced := made.DeepCopy()
	replaced.Finalizers = []string{"example.com/hold"}
	_, err = bindings.Update(ctx, replaced, metav1.UpdateOptions{})
	judged(t, noFinalizers, err, "an update")
	_, err = p.admin.RbacV1().RoleBindings(namespace).Update(ctx, replaced, metav1.UpdateOptions{})
	judged(t, noFinalizers, err, "an update by an administrator")
	_, err = bindings.Patch(ctx, made.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"his":"label"}}}`), metav1.PatchOptions{})
	judged(t, "", err, "a label")
}

// depends makes a ConfigMap that depends on a binding, and blocks the deletion of that if
// it is deleted in the foreground.
func depends(t *testing.T, client kubernetes.Interface, name string, on *rbacv1.RoleBinding, finalizers ...string) {
	t.Helper()
	blocks := true
	owner := metav1.OwnerReference{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Name: on.Name, UID: on.UID, BlockOwnerDeletion: &blocks}
	_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}, Finalizers: finalizers},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func deleteAs(policy metav1.DeletionPropagation) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

// The API server gives finalizers to what is deleted in the foreground or orphans others,
// and the garbage collector takes them off. That goes on.
func (p *policed) collected(t *testing.T, tenant kubernetes.Interface) {
	for policy, isOrphaned := range map[metav1.DeletionPropagation]bool{metav1.DeletePropagationForeground: false, metav1.DeletePropagationOrphan: true} {
		made := p.binds(t, hashed(string(policy)))
		depends(t, tenant, "on-"+made.Name[:20], made)
		require.NoError(t, tenant.RbacV1().RoleBindings(namespace).Delete(t.Context(), made.Name, deleteAs(policy)))
		eventually(t, "the binding is gone: "+string(policy), func(ctx context.Context) error {
			_, err := tenant.RbacV1().RoleBindings(namespace).Get(ctx, made.Name, metav1.GetOptions{})
			return isGone(err)
		})
		left, err := tenant.CoreV1().ConfigMaps(namespace).Get(t.Context(), "on-"+made.Name[:20], metav1.GetOptions{})
		if isOrphaned {
			require.NoError(t, err)
			assert.Empty(t, left.OwnerReferences)
		} else {
			assert.NoError(t, isGone(err))
		}
	}
}

func isGone(err error) error {
	if err == nil {
		return errors.New("it is there")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// G5: what is deleted in the foreground waits for what depends on it, which may be held.
// Deleted as Entente does it waits for nothing.
func (p *policed) heldByDependant(t *testing.T, tenant kubernetes.Interface) {
	made := p.binds(t, hashed("depended on"))
	depends(t, tenant, "holds", made, "example.com/hold")
	bindings := p.entente.RbacV1().RoleBindings(namespace)
	require.NoError(t, tenant.RbacV1().RoleBindings(namespace).Delete(t.Context(), made.Name, deleteAs(metav1.DeletePropagationForeground)))
	eventually(t, "the garbage collector has come to it", func(ctx context.Context) error {
		holds, err := tenant.CoreV1().ConfigMaps(namespace).Get(ctx, "holds", metav1.GetOptions{})
		if err == nil && holds.DeletionTimestamp == nil {
			err = errors.New("it has not")
		}
		return err
	})
	live, err := bindings.Get(t.Context(), made.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{metav1.FinalizerDeleteDependents}, live.Finalizers)

	options := deleteAs(metav1.DeletePropagationBackground)
	options.Preconditions = metav1.NewUIDPreconditions(string(made.UID))
	require.NoError(t, bindings.Delete(t.Context(), made.Name, options))
	_, err = bindings.Get(t.Context(), made.Name, metav1.GetOptions{})
	assert.NoError(t, isGone(err), "at once")
	p.MustKubectl(t, kube.Admin, "", "patch", "configmap", "-n", namespace, "holds", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

// What had finalizers before the policy was there may be written, and may lose them.
func (p *policed) finalizedBefore(t *testing.T) {
	policy := p.MustKubectl(t, kube.Admin, "", "get", "validatingadmissionpolicybinding", "entente-finalizers", "-o", "yaml")
	p.MustKubectl(t, kube.Admin, "", "delete", "validatingadmissionpolicybinding", "entente-finalizers")
	roles := p.admin.RbacV1().ClusterRoles()
	name := hashed("before")
	eventually(t, "the policy does not apply", func(ctx context.Context) error {
		_, err := roles.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: finalized(name, "example.com/first")}, metav1.CreateOptions{})
		return err
	})
	p.MustKubectl(t, kube.Admin, policy, "create", "-f", "-")
	patch := func(text string) error {
		_, err := roles.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":`+text+`}`), metav1.PatchOptions{})
		return err
	}
	p.refusesFinalizers(t)
	judged(t, noFinalizers, patch(`{"finalizers":["example.com/first","example.com/hold","example.com/more"]}`), "one more")
	judged(t, "", patch(`{"labels":{"some":"label"}}`), "a label")
	judged(t, noFinalizers, patch(`{"finalizers":["example.com/other"]}`), "another one")
	judged(t, "", patch(`{"finalizers":["example.com/first"]}`), "one goes")
	judged(t, noFinalizers, patch(`{"finalizers":["example.com/first","example.com/hold"]}`), "it comes back")
	require.NoError(t, p.entente.RbacV1().ClusterRoles().Delete(t.Context(), name, metav1.DeleteOptions{}))
	judged(t, "", patch(`{"finalizers":null}`), "the last one goes")
	_, err := roles.Get(t.Context(), name, metav1.GetOptions{})
	assert.NoError(t, isGone(err))
}
