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

package release

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/controllers/finalizer"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/record"
)

// ReasonObjectsLeft is that of the Event of a Release that went although not all of its objects
// could be deleted.
const ReasonObjectsLeft = "ObjectsLeft"

// maxLeft is how many objects that Event lists at the most: it has room for 1,024 characters.
const maxLeft = 20

// finish carries out the deletion policy of a Release that is being deleted, and lets it go. It
// waits for a target that is away, and for objects that take time to go, but not for ever (C5).
func (c *Controller) finish(ctx context.Context, release *corev1alpha1.Release) (again time.Duration, err error) {
	known, err := c.known(ctx, release)
	if err != nil {
		return 0, err
	}
	if known == nil || release.Spec.DeletionPolicy == corev1alpha1.ReleaseDeletionPolicyOrphan {
		return 0, c.letGo(ctx, release)
	}
	cluster, ready, obstacle, err := c.reach(release, known)
	if err != nil {
		return 0, err
	}
	left := c.deleteTimeout - c.clock.Since(release.DeletionTimestamp.Time)
	var message string
	switch {
	case obstacle != nil:
		message = obstacle.message
	case cluster == nil:
		message = "It is not known yet whether the Cluster is reachable."
		// After a restart it is not, however long ago the Release was deleted.
		left = max(left, unknownPatience-c.memory.waits(release, c.clock.Now()))
	default:
		message = "The Cluster is busy with other Releases."
		free := c.memory.within(release, ready.Client, c.clock, func() { message, known, err = c.delete(ctx, release, ready, known) })
		if !free && left > -c.deleteTimeout {
			return unknownAgain, nil // it is reachable
		}
		if err != nil {
			return 0, err
		}
		if known == nil {
			return 0, c.letGo(ctx, release)
		}
	}
	if cluster != nil && cluster.Spec.ConnectionMode == corev1alpha1.ConnectionModeInCluster && c.terminating(release.Namespace) {
		// What let it act here, as itself or as the ServiceAccount, goes with the namespace; and
		// what is left in that does so too.
		left = 0
	}
	if left <= 0 {
		c.say(ctx, release, known, message)
		return 0, c.letGo(ctx, release)
	}
	found := finding{reason: corev1alpha1.ReasonDeleting, message: message}
	return min(goingAgain, left), c.show(ctx, release, cluster, found)
}

// known returns what a Release has, nil for nothing. It is read from the store: this replica
// may not have heard yet of all that another one wrote down.
func (c *Controller) known(ctx context.Context, release *corev1alpha1.Release) (known *record.Release, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	err = c.ledger.Update(ctx, func(tx record.Tx) (err error) {
		known, err = tx.Release(string(release.UID))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("could not read what the Release has in its cluster: %w", err)
	}
	return known, nil
}

// delete deletes what a Release has. It returns what is in the way of that, and what is left,
// nil for nothing.
func (c *Controller) delete(ctx context.Context, release *corev1alpha1.Release, ready targets.Ready, known *record.Release) (string, *record.Release, error) {
	rest, err := c.remove(ctx, ready, release, known.Objects)
	if errors.Is(ctx.Err(), context.Canceled) {
		// Entente is stopping: what came of this says nothing of the cluster.
		return "", nil, fmt.Errorf("could not delete the objects: %w", context.Canceled)
	}
	if err != nil && !isAway(err) && !errors.Is(err, errAnother) {
		return "", nil, err
	}
	known, readErr := c.known(ctx, release)
	switch {
	case readErr != nil:
		return "", nil, readErr
	case err != nil:
		return absent(err).message, known, nil
	case len(rest.refused) > 0:
		return "Objects could not be deleted: " + list(rest.refused), known, nil
	}
	return fmt.Sprintf("%d objects are being deleted.", len(rest.going)), known, nil
}

// say records what a Release leaves behind.
func (c *Controller) say(ctx context.Context, release *corev1alpha1.Release, known *record.Release, why string) {
	var names []string
	for _, object := range known.Objects[:min(len(known.Objects), maxLeft)] {
		names = append(names, nameOf(object))
	}
	listed := strings.Join(names, ", ")
	if more := len(known.Objects) - maxLeft; more > 0 {
		listed += fmt.Sprintf(", and %d more", more)
	}
	// In a namespace that is being deleted there are no Events.
	klog.FromContext(ctx).Info("A Release leaves objects in its cluster", "objects", listed, "why", why)
	c.event(release, corev1.EventTypeWarning, ReasonObjectsLeft, conditions.Shorten(fmt.Sprintf("The Release goes after %s; these are left in the cluster: %s. %s", c.deleteTimeout, listed, why)))
}

// letGo forgets what a Release has, and takes the finalizer off.
func (c *Controller) letGo(ctx context.Context, release *corev1alpha1.Release) error {
	err := c.update(ctx, release, func(known *record.Release) error {
		known.Objects = nil
		return nil
	})
	if err != nil {
		return err
	}
	patch, err := finalizer.Removal(release, corev1alpha1.FinalizerRelease)
	if err != nil || patch == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	_, err = c.client.CoreV1alpha1().Releases(release.Namespace).Patch(ctx, release.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("could not take the finalizer off: %w", err)
	}
	return nil
}
