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

package projectpeer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// create makes a ProjectPeer. A namespace that goes, or has gone, is none of the project
// any more: whoever follows projects is about to say so.
func (c *Controller) create(namespace, name string, status peeringv1alpha1.ProjectPeerStatus) step {
	return func(ctx context.Context) (skipped bool, err error) {
		object := &peeringv1alpha1.ProjectPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		made, err := c.client.PeeringV1alpha1().ProjectPeers(namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: FieldManager})
		switch {
		case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			return true, nil
		case apierrors.IsAlreadyExists(err):
			return false, nil // the informer is about to bring it
		case err != nil:
			return false, fmt.Errorf("could not make the ProjectPeer in namespace %s: %w", namespace, err)
		}
		return c.show(made, status)(ctx)
	}
}

// show writes the status of a ProjectPeer, the whole of it: nobody else has a part in it.
func (c *Controller) show(object *peeringv1alpha1.ProjectPeer, status peeringv1alpha1.ProjectPeerStatus) step {
	return func(ctx context.Context) (skipped bool, err error) {
		changed := &peeringv1alpha1.ProjectPeer{ObjectMeta: object.ObjectMeta, Status: status}
		_, err = c.client.PeeringV1alpha1().ProjectPeers(object.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{FieldManager: FieldManager})
		// A conflict: there is another version of it, which the informer brings.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return false, fmt.Errorf("could not write the status of the ProjectPeer in namespace %s: %w", object.Namespace, err)
		}
		return false, nil
	}
}

// remove deletes a ProjectPeer.
func (c *Controller) remove(object *peeringv1alpha1.ProjectPeer) step {
	return func(ctx context.Context) (skipped bool, err error) {
		options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(object.UID))}
		err = c.client.PeeringV1alpha1().ProjectPeers(object.Namespace).Delete(ctx, object.Name, options)
		// A conflict: another one has its name by now, which the informer brings.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return false, fmt.Errorf("could not delete the ProjectPeer in namespace %s: %w", object.Namespace, err)
		}
		return false, nil
	}
}
