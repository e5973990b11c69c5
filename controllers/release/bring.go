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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/record"
)

// finding is how a Release is.
type finding struct {
	reason, message string
	// going says that all was done, and something is still on its way out.
	going bool
	// attempted says that it was tried to bring the objects to the cluster.
	attempted bool
}

// another is said when another cluster answers than the one that the objects are in.
const another = "Another cluster answers than the one that the objects are in. Nothing is applied to it, and nothing deleted in it."

var (
	// errAnother says that of what the ledger knows, or of what answers.
	errAnother = errors.New("the objects are in another cluster")
	// errTooMany says that a record has no room for more.
	errTooMany = errors.New("there are too many objects")
)

func notReady(message string) finding {
	return finding{reason: corev1alpha1.ReasonClusterNotReady, message: message}
}

// bring brings the objects of a Release to its target, if it is time, and shows how it is.
func (c *Controller) bring(ctx context.Context, release *corev1alpha1.Release) (again time.Duration, err error) {
	cluster, ready, obstacle, err := c.reach(release, c.ledger.Release(string(release.UID)))
	switch {
	case err != nil:
		return 0, err
	case obstacle == nil && cluster == nil:
		return 0, nil // not known yet; the pool tells
	case obstacle != nil:
		return 0, c.show(ctx, release, cluster, *obstacle)
	}
	under := circumstances{release: release.Generation, cluster: cluster.Generation, clusterUID: cluster.UID, client: ready.Client, target: ready.UID}
	if last := c.memory.last(release, under); last != nil {
		if left := last.due.Sub(c.clock.Now()); left > 0 {
			return left, c.show(ctx, release, cluster, last.found)
		}
	}
	var found finding
	if free := c.memory.within(release, ready.Client, c.clock, func() { found, err = c.attempt(ctx, release, cluster, ready) }); !free {
		return unknownAgain, nil
	}
	if err == nil && errors.Is(ctx.Err(), context.Canceled) {
		// Entente is stopping: what came of this says nothing of the Release.
		err = fmt.Errorf("could not bring the objects to the cluster: %w", context.Canceled)
	}
	if err != nil {
		return 0, err
	}
	again = c.memory.note(release, under, found, c.clock.Now(), c.resync)
	return again, c.show(ctx, release, cluster, found)
}

// reach returns the Cluster of a Release and how its target can be used; or what is in the
// way of that. It returns none of these while it is not known yet. What is known of the
// Release may be nil.
func (c *Controller) reach(release *corev1alpha1.Release, known *record.Release) (*corev1alpha1.Cluster, targets.Ready, *finding, error) {
	cluster, err := c.clusters.Clusters(release.Namespace).Get(release.Spec.ClusterRef.Name)
	switch {
	case apierrors.IsNotFound(err):
		obstacle := notReady("spec.clusterRef: there is no such Cluster in the namespace.")
		return nil, targets.Ready{}, &obstacle, nil
	case err != nil:
		return nil, targets.Ready{}, nil, fmt.Errorf("could not get the Cluster: %w", err)
	}
	if c.pool.Supports(&cluster.Spec) != nil {
		obstacle := notReady("The Cluster is of a kind that is not implemented.")
		return cluster, targets.Ready{}, &obstacle, nil //nolint:nilerr // it is said
	}
	ready, usable, probed := c.pool.Ready(cluster.UID)
	switch {
	case !probed:
		return nil, targets.Ready{}, nil, nil
	case !usable:
		obstacle := notReady("The Cluster is not reachable.")
		return cluster, targets.Ready{}, &obstacle, nil
	case ready.UID == "":
		obstacle := notReady("The UID of the namespace kube-system cannot be read, by which a cluster is known from another: the credentials need the verb get for it.")
		return cluster, targets.Ready{}, &obstacle, nil
	}
	if isElsewhere(known, ready.UID) {
		obstacle := notReady(another)
		return cluster, targets.Ready{}, &obstacle, nil
	}
	return cluster, ready, nil, nil
}

// isElsewhere tells whether a Release has objects in another target.
func isElsewhere(known *record.Release, target string) bool {
	return known != nil && len(known.Objects) > 0 && known.Target != target
}

// attempt applies all objects, and deletes those that are not wanted any more once all are
// applied. It fails if the ledger does.
func (c *Controller) attempt(ctx context.Context, release *corev1alpha1.Release, cluster *corev1alpha1.Cluster, ready targets.Ready) (finding, error) {
	objects, err := c.render(ctx, release, cluster)
	if err != nil {
		return finding{reason: corev1alpha1.ReasonMutationFailed, message: err.Error()}, nil //nolint:nilerr // it is said
	}
	all, refused, err := resolve(ctx, ready.Client, release, objects)
	if err == nil {
		err = isThere(ctx, ready)
	}
	if err != nil {
		return absent(err), nil
	}
	known, err := c.expect(ctx, release, ready.UID, all)
	switch {
	case errors.Is(err, errAnother):
		return notReady(another), nil
	case errors.Is(err, errTooMany):
		return finding{reason: corev1alpha1.ReasonApplyFailed, message: fmt.Sprintf("The Release has more than %d objects in its cluster, those that it does not want any more among them: they are deleted once all others are applied. Take out what is refused.", maxObjects), attempted: true}, nil
	case err != nil:
		return finding{}, err
	}
	came, err := c.apply(ctx, ready, release, all)
	// What was known before may have been applied before.
	if strikeErr := c.strike(ctx, release, append(came.foreign, without(came.untouched, known)...)); strikeErr != nil {
		return finding{}, strikeErr
	}
	if err != nil {
		return absent(err), nil
	}
	if refused = append(refused, came.refused...); len(refused) > 0 {
		return finding{reason: corev1alpha1.ReasonApplyFailed, message: list(refused), attempted: true}, nil
	}
	left, err := c.remove(ctx, ready, release, unwanted(known, all))
	switch {
	case errors.Is(err, errAnother), isAway(err):
		return absent(err), nil
	case err != nil:
		return finding{}, err
	case len(left.refused) > 0:
		return finding{reason: corev1alpha1.ReasonApplyFailed, message: "What is not wanted any more could not be deleted: " + list(left.refused), attempted: true}, nil
	case len(left.going) > 0:
		return finding{reason: corev1alpha1.ReasonApplied, message: fmt.Sprintf("All %d objects are applied; %d that are not wanted any more are being deleted.", len(all), len(left.going)), going: true, attempted: true}, nil
	}
	return finding{reason: corev1alpha1.ReasonApplied, message: fmt.Sprintf("All %d objects are applied.", len(all)), attempted: true}, nil
}

// isThere fails with errAnother if another cluster answers now than the one that was probed, and
// with an *awayError if none does. It is asked before anything is applied, before anything is deleted,
// and before anything is taken for gone: the last probe may be seconds old, and an address may
// lead elsewhere meanwhile.
func isThere(ctx context.Context, ready targets.Ready) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch still, err := ready.IsStill(ctx); {
	case err != nil:
		return &awayError{target.FailureOf(err).Reason}
	case !still:
		return errAnother
	}
	return nil
}

// expect takes down what is about to be applied, and returns what was known before. From then
// on nothing of it is forgotten, whatever happens. It fails with errAnother if the Release has
// objects in another target, as this replica may not have heard yet, and with errTooMany if
// there is no room for more.
func (c *Controller) expect(ctx context.Context, release *corev1alpha1.Release, target string, all []wanted) (before []record.ReleaseObject, err error) {
	err = c.update(ctx, release, func(known *record.Release) error {
		if isElsewhere(known, target) {
			return errAnother
		}
		before = append([]record.ReleaseObject(nil), known.Objects...)
		known.Target = target
		for _, w := range all {
			known.List(w.ReleaseObject)
		}
		if len(known.Objects) > maxObjects {
			return errTooMany
		}
		return nil
	})
	return before, err
}

// strike takes objects from the list that are not the Release's, or gone.
func (c *Controller) strike(ctx context.Context, release *corev1alpha1.Release, objects []record.ReleaseObject) error {
	if len(objects) == 0 {
		return nil
	}
	return c.update(ctx, release, func(known *record.Release) error {
		known.Strike(objects...)
		return nil
	})
}

// update changes what is known of a Release. It is written even when the attempt has taken too
// long already.
func (c *Controller) update(ctx context.Context, release *corev1alpha1.Release, change func(*record.Release) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	err := c.ledger.Update(ctx, func(tx record.Tx) error {
		known, err := tx.Release(string(release.UID))
		if err != nil {
			return err
		}
		if known == nil {
			known = &record.Release{UID: string(release.UID), Namespace: release.Namespace, Name: release.Name}
		}
		if err := change(known); err != nil {
			return err
		}
		if len(known.Objects) == 0 {
			return tx.DeleteRelease(known.UID)
		}
		return tx.PutRelease(known)
	})
	if err != nil {
		return fmt.Errorf("could not write down what the Release has in its cluster: %w", err)
	}
	return nil
}

// sweep forgets what Releases of a name had that are gone although nobody carried out their
// deletion policy: the finalizer was forced off, or the object lost otherwise. That they are
// gone is asked of the store: an informer may not have heard of one that the ledger knows.
func (c *Controller) sweep(ctx context.Context, object cache.ObjectName, kept types.UID) error {
	for _, known := range c.ledger.Releases() {
		if known.Namespace != object.Namespace || known.Name != object.Name || known.UID == string(kept) {
			continue
		}
		if err := c.sweepOne(ctx, known); err != nil {
			return fmt.Errorf("could not forget a Release that is gone: %w", err)
		}
	}
	return nil
}

// sweepAll forgets what Releases had that went while nobody looked.
func (c *Controller) sweepAll(ctx context.Context) error {
	var errs []error
	for _, known := range c.ledger.Releases() {
		_, err := c.releases.Releases(known.Namespace).Get(known.Name)
		if apierrors.IsNotFound(err) {
			err = c.sweepOne(ctx, known)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("could not forget Releases that are gone: %w", err)
	}
	return nil
}

func (c *Controller) sweepOne(ctx context.Context, known *record.Release) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	there, err := c.client.CoreV1alpha1().Releases(known.Namespace).Get(ctx, known.Name, metav1.GetOptions{})
	switch {
	case err == nil && string(there.UID) == known.UID:
		return nil // the informer is about to tell
	case err != nil && !apierrors.IsNotFound(err):
		return err
	}
	return c.ledger.Update(ctx, func(tx record.Tx) error { return tx.DeleteRelease(known.UID) })
}

// unwanted are those of some objects that a Release does not want any more.
func unwanted(known []record.ReleaseObject, all []wanted) []record.ReleaseObject {
	var keep []record.ReleaseObject
	for _, w := range all {
		keep = append(keep, w.ReleaseObject)
	}
	return without(known, keep)
}

// without are those of some objects that are not among others.
func without(objects, others []record.ReleaseObject) []record.ReleaseObject {
	var left record.Release
	left.List(objects...)
	left.Strike(others...)
	return left.Objects
}
