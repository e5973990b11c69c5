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
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"entente.dev/entente/peering/record"
)

// client makes, reads and deletes objects of one kind, in one place.
type client interface {
	create(ctx context.Context, wanted object) (object, error)
	get(ctx context.Context, name string) (object, error)
	// remove deletes the object of that name if it has that UID and, unless that is empty,
	// is still of that version.
	remove(ctx context.Context, name, uid, version string) error
}

// clientFor returns the client for an object. It fails if its kind is none of ours: the
// ledger was written by a version that knew more.
func clientFor(host rbacclient.RbacV1Interface, r ref) (client, error) {
	switch r.kind {
	case record.KindRole:
		return typed[*rbacv1.Role]{host.Roles(r.namespace)}, nil
	case record.KindRoleBinding:
		return typed[*rbacv1.RoleBinding]{host.RoleBindings(r.namespace)}, nil
	case record.KindClusterRole:
		return typed[*rbacv1.ClusterRole]{host.ClusterRoles()}, nil
	case record.KindClusterRoleBinding:
		return typed[*rbacv1.ClusterRoleBinding]{host.ClusterRoleBindings()}, nil
	}
	return nil, fmt.Errorf("could not reach an object of kind %q: it is not one that grants", r.kind)
}

// typed is a client of client-go.
type typed[T object] struct {
	api interface {
		Create(ctx context.Context, wanted T, options metav1.CreateOptions) (T, error)
		Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
		Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	}
}

func (t typed[T]) create(ctx context.Context, wanted object) (object, error) {
	of, ok := wanted.(T)
	if !ok {
		return nil, fmt.Errorf("could not make an object: it is a %T", wanted)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return t.api.Create(ctx, of, metav1.CreateOptions{FieldManager: FieldManager})
}

func (t typed[T]) get(ctx context.Context, name string) (object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return t.api.Get(ctx, name, metav1.GetOptions{})
}

func (t typed[T]) remove(ctx context.Context, name, uid, version string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	only := metav1.NewUIDPreconditions(uid)
	if version != "" {
		only.ResourceVersion = &version
	}
	// In the background: what depends on it does not hold it, not even if somebody else
	// deleted it before in a way that has it wait for that.
	background := metav1.DeletePropagationBackground
	return t.api.Delete(ctx, name, metav1.DeleteOptions{Preconditions: only, PropagationPolicy: &background})
}
