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

package grants

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// held: neither by a finalizer nor by what depends on it does the admin of a namespace
// keep a binding from going. It is deleted as soon as it is seen, and made anew.
func (g *granting) held(t *testing.T) {
	const admin = "admin-of-a"
	g.AddUser(t, admin)
	g.BindIn(t, "a", admin, "admin")
	tenant, ctx := g.Clientset(t, admin), t.Context()
	binding := g.bindings("a")[0]
	const hold = "example.com/hold"
	g.eventually("no finalizer is let in", func() bool {
		_, err := tenant.RbacV1().RoleBindings("a").Patch(ctx, binding.Name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":["`+hold+`"]}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})

	blocks := true
	owner := metav1.OwnerReference{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Name: binding.Name, UID: binding.UID, BlockOwnerDeletion: &blocks}
	dependant := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "holds", Finalizers: []string{hold}, OwnerReferences: []metav1.OwnerReference{owner}}}
	_, err := tenant.CoreV1().ConfigMaps("a").Create(ctx, dependant, metav1.CreateOptions{})
	require.NoError(t, err)
	foreground := metav1.DeletePropagationForeground
	require.NoError(t, tenant.RbacV1().RoleBindings("a").Delete(ctx, binding.Name, metav1.DeleteOptions{PropagationPolicy: &foreground}))
	g.eventually("made anew", func() bool {
		now, err := g.admin.RbacV1().RoleBindings("a").Get(ctx, binding.Name, metav1.GetOptions{})
		return err == nil && now.UID != binding.UID && g.condition() == "True Applied"
	})
	_, err = tenant.CoreV1().ConfigMaps("a").Patch(ctx, "holds", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
}
