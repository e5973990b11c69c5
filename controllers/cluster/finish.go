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

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/finalizer"
	"entente.dev/entente/controllers/targets"
)

// finish lets a Cluster go that is being deleted, and returns true; or deletes the Releases
// that are to go with it, and returns false until they have gone: until then it serves them.
//
// In a namespace that is being deleted all Releases go as well, whatever the Cluster says, and
// need it until they have.
func (c *Controller) finish(ctx context.Context, cluster *corev1alpha1.Cluster) (gone bool, err error) {
	prunes := cluster.Spec.DeletionPolicy != nil && ptr.Deref(cluster.Spec.DeletionPolicy.PruneReleases, false)
	if prunes || c.terminating(cluster.Namespace) {
		left, err := c.left(ctx, cluster)
		if err != nil {
			return false, err
		}
		if prunes {
			err = c.prune(ctx, left)
		}
		if len(left) > 0 || err != nil {
			return false, err
		}
	}
	patch, err := finalizer.Removal(cluster, corev1alpha1.FinalizerPruneReleases)
	if err != nil || patch == nil {
		return false, err // others hold it
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = c.client.CoreV1alpha1().Clusters(cluster.Namespace).Patch(ctx, cluster.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("could not take the finalizer off: %w", err)
	}
	return true, nil
}

// left are the Releases that refer to a Cluster. That there are none is asked of the store: an
// informer may not have heard of one that was made a moment ago.
func (c *Controller) left(ctx context.Context, cluster *corev1alpha1.Cluster) ([]*corev1alpha1.Release, error) {
	name := cache.MetaObjectToName(cluster)
	known, err := c.releases.GetIndexer().ByIndex(targets.ByCluster, name.String())
	if err != nil {
		return nil, fmt.Errorf("could not find the Releases: %w", err)
	}
	var left []*corev1alpha1.Release
	for _, object := range known {
		if release, ok := object.(*corev1alpha1.Release); ok && needs(release) {
			left = append(left, release)
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := c.client.CoreV1alpha1().Releases(cluster.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("could not list the Releases: %w", err)
	}
	for i := range list.Items {
		if targets.ClusterOf(&list.Items[i]) == name && needs(&list.Items[i]) {
			left = append(left, &list.Items[i])
		}
	}
	return left, nil
}

// prune deletes Releases, each of which goes as its own deletion policy says. One that cannot
// be deleted holds up no other.
func (c *Controller) prune(ctx context.Context, releases []*corev1alpha1.Release) error {
	var failed []error
	for _, release := range releases {
		if release.DeletionTimestamp != nil {
			continue
		}
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		err := c.client.CoreV1alpha1().Releases(release.Namespace).Delete(within, release.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &release.UID}})
		cancel()
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("could not delete Release %s: %w", release.Name, err))
		}
	}
	return errors.Join(failed...)
}

// needs tells whether a Release needs its Cluster: one that somebody else holds, after its
// deletion policy was carried out, does not, or it would keep the Cluster for ever (C5).
func needs(release *corev1alpha1.Release) bool {
	return release.DeletionTimestamp == nil || slices.Contains(release.Finalizers, corev1alpha1.FinalizerRelease)
}
