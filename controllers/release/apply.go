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
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/record"
)

var (
	// errForeign says that an object is there which the Release has not made.
	errForeign = errors.New("it is there already, and not of this Release")
	// errGoing says that it is on its way out: what is applied to it goes with it.
	errGoing = errors.New("it is being deleted")
	// errOccupied says that another Release of the namespace is about to apply the same.
	errOccupied = errors.New("another Release is applying it")
)

// at is the endpoint of an object.
func at(client *target.Client, o record.ReleaseObject) target.Objects {
	return client.Objects(schema.GroupVersionResource{Group: o.Group, Version: o.Version, Resource: o.Resource}, o.Namespace)
}

// isOf tells whether an object is one that the Release has applied.
func isOf(release *corev1alpha1.Release, object *unstructured.Unstructured) bool {
	return object.GetLabels()[corev1alpha1.LabelRelease] == string(release.UID)
}

// outcome is what came of applying objects.
type outcome struct {
	// foreign are others', and were left as they are.
	foreign []record.ReleaseObject
	// untouched are those of which it is certain that this attempt did not apply them.
	untouched []record.ReleaseObject
	refused   []refusal
}

// apply applies objects, each for itself. It fails if the target does not answer.
func (c *Controller) apply(ctx context.Context, ready targets.Ready, release *corev1alpha1.Release, all []wanted) (outcome, error) {
	var came outcome
	for i, w := range all {
		var err error = &awayError{}
		if ready.Holds() {
			err = c.applyOne(ctx, ready, release, w)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, errForeign):
			came.foreign = append(came.foreign, w.ReleaseObject)
			came.refused = append(came.refused, refusal{w.ReleaseObject, errForeign.Error()})
			continue
		case errors.Is(err, errGoing), errors.Is(err, errOccupied):
			came.refused = append(came.refused, refusal{w.ReleaseObject, err.Error()})
			continue
		}
		text, away := objectTo(ctx, err)
		if away != nil {
			for _, next := range all[i+1:] {
				came.untouched = append(came.untouched, next.ReleaseObject)
			}
			return came, away
		}
		if isFinal(err) {
			came.untouched = append(came.untouched, w.ReleaseObject)
		}
		came.refused = append(came.refused, refusal{w.ReleaseObject, text})
	}
	return came, nil
}

// applyOne applies an object, unless one is there that is not of the Release: to write beside
// others is one thing, but what a Release has applied it also deletes. Between the look and the
// write no other Release of the namespace does the same; of what somebody else has made in
// between the answer tells.
func (c *Controller) applyOne(ctx context.Context, ready targets.Ready, release *corev1alpha1.Release, w wanted) error {
	leave, free := c.memory.occupy(place{release.Namespace, ready.UID, nameOf(w.ReleaseObject)})
	if !free {
		return errOccupied
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	endpoint := at(ready.Client, w.ReleaseObject)
	there, err := endpoint.Get(ctx, w.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		if !isOf(release, there) {
			return errForeign
		}
		if there.GetDeletionTimestamp() != nil {
			return errGoing
		}
		// Another one of that name, made in between, is not taken over.
		w.object.SetUID(there.GetUID())
	}
	made, applyErr := endpoint.Apply(ctx, w.Name, w.object, TargetManager)
	if applyErr != nil || err == nil || isOurs(made) {
		return applyErr
	}
	// To apply nothing is to give all up again, the label with it.
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(w.object.GroupVersionKind())
	nothing.SetNamespace(w.object.GetNamespace())
	nothing.SetName(w.Name)
	nothing.SetUID(made.GetUID())
	if _, err := endpoint.Apply(ctx, w.Name, nothing, TargetManager); err != nil {
		return err
	}
	return errForeign
}

// isOurs tells whether nobody else has written an object that was made a moment ago.
func isOurs(object *unstructured.Unstructured) bool {
	return !slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != TargetManager && entry.Subresource == ""
	})
}

// left is what could not be removed yet.
type left struct {
	// going are being deleted, refused could not be.
	going   []record.ReleaseObject
	refused []refusal
}

// remove deletes objects that are of the Release, and forgets those that are gone or of
// others. It fails with an *awayError if the target does not answer, with errAnother if it is not that
// one any more, or if the ledger fails.
func (c *Controller) remove(ctx context.Context, ready targets.Ready, release *corev1alpha1.Release, objects []record.ReleaseObject) (left, error) {
	var rest left
	if len(objects) == 0 {
		return rest, nil
	}
	if err := isThere(ctx, ready); err != nil {
		return rest, err
	}
	client := ready.Client
	var gone []record.ReleaseObject
	var away error
	known := &kinds{client: client}
	for _, object := range objects {
		if !ready.Holds() {
			away = &awayError{}
			break
		}
		done, err := removeOne(ctx, client, known, release, object)
		if err != nil {
			var text string
			if text, away = objectTo(ctx, err); away != nil {
				break
			}
			rest.refused = append(rest.refused, refusal{object, text})
			continue
		}
		if done {
			gone = append(gone, object)
		} else {
			rest.going = append(rest.going, object)
		}
	}
	if len(gone) > 0 {
		// What is not there is gone only if it was asked for where it was.
		if err := isThere(ctx, ready); err != nil {
			return rest, err
		}
	}
	return rest, errors.Join(c.strike(ctx, release, gone), away)
}

// removeOne returns true if an object is gone, or is not of the Release.
func removeOne(ctx context.Context, client *target.Client, known *kinds, release *corev1alpha1.Release, object record.ReleaseObject) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	there, endpoint, err := find(ctx, client, known, object)
	if apierrors.IsNotFound(err) && !known.renewed {
		// It may only have moved: its version has gone, and it is there in another one.
		known.renew()
		there, endpoint, err = find(ctx, client, known, object)
	}
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if !isOf(release, there) {
		return true, nil
	}
	if there.GetDeletionTimestamp() != nil {
		return false, nil
	}
	err = endpoint.Delete(ctx, object.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: ptr.To(there.GetUID()), ResourceVersion: ptr.To(there.GetResourceVersion())},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if apierrors.IsConflict(err) {
		return false, nil // it has changed: whether it is still the Release's is asked again
	}
	if err != nil {
		return false, err
	}
	// Most are gone at once. In a namespace that is being deleted nobody may ask later.
	_, err = endpoint.Get(ctx, object.Name)
	return apierrors.IsNotFound(err), nil
}

// find gets an object, and returns its endpoint. Its version may have gone while another one of
// its kind is there. If its kind is not known it is asked for where it was applied: when the
// kind is gone, and all of its objects with it, that is not found; but what a cluster knows of
// itself may lack a group whose server is down.
func find(ctx context.Context, client *target.Client, known *kinds, object record.ReleaseObject) (*unstructured.Unstructured, target.Objects, error) {
	mapping, err := known.mapping(ctx, schema.GroupVersionKind{Group: object.Group, Version: object.Version, Kind: object.Kind})
	if meta.IsNoMatchError(err) {
		mapping, err = known.mapping(ctx, schema.GroupVersionKind{Group: object.Group, Kind: object.Kind})
	}
	switch {
	case err == nil:
		object.Version, object.Resource = mapping.Resource.Version, mapping.Resource.Resource
	case !meta.IsNoMatchError(err):
		return nil, target.Objects{}, err
	}
	endpoint := at(client, object)
	there, err := endpoint.Get(ctx, object.Name)
	return there, endpoint, err
}
