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

package kube

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// userLabel marks what Grant and Bind made for a user, by a hash of its name. The
// annotation markerAnnotation tells which marker goes with a binding: a right on it
// is given last and taken last.
const (
	userLabel        = "test.entente.dev/user"
	markerAnnotation = "test.entente.dev/marker"
)

// markers is a resource that nobody serves. A right on one of them is given last
// and to nobody else, so that whoever has it has also got what was given before:
// the authorizer learns of roles, and of bindings, in the order they were made in.
const (
	markerGroup = "test.entente.dev"
	markers     = "markers"
)

// Grant gives a user rights on everything in the cluster, in addition to those it
// has, and waits until they count.
func (c *ControlPlane) Grant(ctx context.Context, user string, rules ...rbacv1.PolicyRule) error {
	return c.GrantIn(ctx, "", user, rules...)
}

// GrantIn gives a user rights in one namespace, in addition to those it has, and
// waits until they count.
func (c *ControlPlane) GrantIn(ctx context.Context, namespace, user string, rules ...rbacv1.PolicyRule) error {
	client, err := c.Clientset(Admin)
	if err != nil {
		return err
	}
	role, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: rbacMeta(user, ""), Rules: rules}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("could not grant rights to %s: %w", user, err)
	}
	return c.BindIn(ctx, namespace, user, role.Name)
}

// Bind binds a user to a ClusterRole that is there already, and waits until that
// counts.
func (c *ControlPlane) Bind(ctx context.Context, user, clusterRole string) error {
	return c.BindIn(ctx, "", user, clusterRole)
}

// BindIn binds a user to a ClusterRole in one namespace, and waits until that
// counts.
func (c *ControlPlane) BindIn(ctx context.Context, namespace, user, clusterRole string) error {
	client, err := c.Clientset(Admin)
	if err != nil {
		return err
	}
	// A binding to nothing is allowed, and no use.
	if _, err := client.RbacV1().ClusterRoles().Get(ctx, clusterRole, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("could not bind %s: %w", user, err)
	}
	marker := strings.ToLower(rand.Text())
	role, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: rbacMeta(user, ""),
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{markerGroup}, Resources: []string{markers}, ResourceNames: []string{marker}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("could not bind %s: %w", user, err)
	}
	// The names tell in which order Revoke takes them away.
	for i, name := range []string{clusterRole, role.Name} {
		meta := rbacMeta(user, marker)
		meta.GenerateName, meta.Name = "", fmt.Sprintf("test-%s-%d", marker, i)
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
		subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
		if namespace == "" {
			_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		} else {
			_, err = client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		}
		if err != nil {
			return fmt.Errorf("could not bind %s to ClusterRole %s: %w", user, name, err)
		}
	}
	return awaitMarker(ctx, client, namespace, user, marker, true)
}

// Revoke takes from a user all that Grant, Bind and the like have given, and waits
// until that counts. Servers that ask kube-apiserver for decisions may remember
// them for some seconds more.
func (c *ControlPlane) Revoke(ctx context.Context, user string) error {
	client, err := c.Clientset(Admin)
	if err != nil {
		return err
	}
	selector := metav1.ListOptions{LabelSelector: userLabel + "=" + userHash(user)}
	inCluster, err := client.RbacV1().ClusterRoleBindings().List(ctx, selector)
	if err != nil {
		return fmt.Errorf("could not find the rights of %s: %w", user, err)
	}
	inNamespaces, err := client.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, selector)
	if err != nil {
		return fmt.Errorf("could not find the rights of %s: %w", user, err)
	}
	var objects []metav1.ObjectMeta
	for _, binding := range inCluster.Items {
		objects = append(objects, binding.ObjectMeta)
	}
	for _, binding := range inNamespaces.Items {
		objects = append(objects, binding.ObjectMeta)
	}
	slices.SortFunc(objects, func(a, b metav1.ObjectMeta) int { return strings.Compare(a.Name, b.Name) })
	var errs []error
	for _, object := range objects {
		if object.Namespace == "" {
			err = client.RbacV1().ClusterRoleBindings().Delete(ctx, object.Name, metav1.DeleteOptions{})
		} else {
			err = client.RbacV1().RoleBindings(object.Namespace).Delete(ctx, object.Name, metav1.DeleteOptions{})
		}
		errs = append(errs, err)
	}
	errs = append(errs, client.RbacV1().ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, selector))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("could not take the rights of %s: %w", user, err)
	}
	for _, object := range objects {
		if err := awaitMarker(ctx, client, object.Namespace, user, object.Annotations[markerAnnotation], false); err != nil {
			return err
		}
	}
	return nil
}

func rbacMeta(user, marker string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{userLabel: userHash(user)}}
	if marker != "" {
		meta.Annotations = map[string]string{markerAnnotation: marker}
	}
	return meta
}

func userHash(user string) string {
	hash := sha256.Sum256([]byte(user))
	return hex.EncodeToString(hash[:16])
}

// awaitMarker waits until kube-apiserver says that a user may, or may not, get a
// marker.
func awaitMarker(ctx context.Context, client kubernetes.Interface, namespace, user, marker string, allowed bool) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Group: markerGroup, Resource: markers, Name: marker},
	}}
	err := eventually(ctx, func(ctx context.Context) (bool, error) {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed == allowed, err
	})
	if err != nil {
		return fmt.Errorf("could not see the rights of %s change: %w", user, err)
	}
	return nil
}
