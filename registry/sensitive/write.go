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

package sensitive

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
)

// update runs a write of any kind through the store so that it is computed on
// the redacted object, and answers with what the caller may see.
func update(ctx context.Context, store rest.Updater, decider *Decider, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, apply bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	allowed := decider.Allowed(ctx, "get", name)
	write := &write{
		UpdatedObjectInfo: objInfo,
		kind:              decider.kind,
		name:              name,
		allowed:           allowed,
		// Who may read the value through /sensitive may also compute with it there;
		// on every other path even the holder of the right computes on the
		// placeholder, so that the outcome is the same for everyone (R10).
		onReal: allowed && onSubresource(ctx),
		apply:  apply,
	}
	out, created, err := store.Update(ctx, name, write, createValidation, updateValidation, apply, options)
	if err != nil {
		return nil, created, scrubError(withoutPrecondition(err), write.submitted)
	}
	if !allowed {
		if out, err = redactAny(out); err != nil {
			return nil, created, apierrors.NewInternalError(err)
		}
	}
	return out, created, nil
}

// write stands between the store and what computes the new object: patches of
// every kind, defaulting, field management, mutating admission. Those get a
// redacted object to work on; the values that the result keeps are put back from
// the stored object, inside the storage transaction.
type write struct {
	rest.UpdatedObjectInfo
	kind    schema.GroupKind
	name    string
	allowed bool // the caller may see the values
	onReal  bool // the write is computed on the values
	apply   bool // server-side apply

	// submitted holds the values that the last attempt submitted, for errors to
	// be scrubbed of. The store makes attempts one after the other.
	submitted []string
	// written are the paths of those values.
	written []string
}

// WrittenUnseen returns the paths of the sensitive fields in which the last attempt at an
// update wrote a value, the placeholder apart, for a caller who cannot see what is stored.
// It is for stores that decide by what a write changes: to them such a value is another
// one, for the decision must not tell whether it was a right guess (R10).
func WrittenUnseen(objInfo rest.UpdatedObjectInfo) []string {
	w, ok := objInfo.(*write)
	if !ok || w.allowed {
		return nil
	}
	return w.written
}

// UpdatedObject computes the object to store. The store may call it again when
// another write came first, so it keeps nothing from one call for the next and
// changes nothing of existing.
func (w *write) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	old, ok := existing.(Object)
	if !ok {
		return nil, errNotSensitive(existing)
	}
	obj, err := w.compute(ctx, old)
	if err != nil {
		return nil, err
	}
	w.submitted, w.written = submittedValues(obj), submittedPaths(obj)
	if err := checkResourceVersion(obj, w.kind, w.name); err != nil {
		return nil, err
	}
	scrubAnnotations(ctx, obj, w.submitted)
	if old.GetUID() != "" {
		w.putBack(obj, old)
	}
	return obj, nil
}

// checkResourceVersion refuses what no server has given: the store would log and
// quote it, and it may be a value in a wrong place, or a copy of one.
func checkResourceVersion(obj Object, kind schema.GroupKind, name string) error {
	version := obj.GetResourceVersion()
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return apierrors.NewInvalid(kind, name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), field.OmitValueType{}, "must be as the server gave it"),
		})
	}
	return nil
}

// compute hands the object to work on to what computes the new one.
func (w *write) compute(ctx context.Context, old Object) (Object, error) {
	if !w.onReal {
		return w.computeOn(ctx, redactShared(old))
	}
	if !w.apply {
		return w.computeOn(ctx, old)
	}
	// An apply of the placeholder would conflict with the owners of the value that it
	// stands for. So it is computed on the redacted object first, which tells in
	// which fields a value was applied, and then with the values of those.
	obj, err := w.computeOn(ctx, redactShared(old))
	base, again := redactShared(old), false
	for i, path := range Fields(old) {
		stored := get(old, i)
		if stored != "" && (conflictsAt(err, path) || err == nil && get(obj, i) != Placeholder) {
			set(base, i, stored)
			again = true
		}
	}
	if !again {
		return obj, err
	}
	return w.computeOn(ctx, base)
}

// conflictsAt says whether an apply failed because somebody else owns a field.
func conflictsAt(err error, path string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Type == metav1.CauseTypeFieldManagerConflict && cause.Field == "."+path
	})
}

func (w *write) computeOn(ctx context.Context, base Object) (Object, error) {
	updated, err := updatedObject(ctx, w.UpdatedObjectInfo, base, w.kind, w.name)
	if err != nil {
		return nil, err
	}
	if updated == runtime.Object(base) {
		updated = updated.DeepCopyObject()
	}
	obj, ok := updated.(Object)
	if !ok {
		return nil, errNotSensitive(updated)
	}
	return obj, nil
}

// updatedObject is the object that a write makes of another one, or an error that quotes neither.
func updatedObject(ctx context.Context, objInfo rest.UpdatedObjectInfo, base runtime.Object, kind schema.GroupKind, name string) (_ runtime.Object, err error) {
	defer func() {
		// The library panics over some patches that make no sense. What the panic says
		// could quote a value; where it happened may be logged.
		r := recover()
		if r == nil {
			return
		}
		if abort, ok := r.(error); ok && errors.Is(abort, http.ErrAbortHandler) {
			panic(r)
		}
		klog.FromContext(ctx).Error(errPanicked, "The computation of a write panicked", "stack", string(debug.Stack()))
		err = apierrors.NewBadRequest("the write could not be computed")
	}()
	updated, err := objInfo.UpdatedObject(withRewrittenWarnings(ctx), base)
	if err != nil {
		return nil, rewriteError(err, kind, name)
	}
	return updated, nil
}

// putBack gives each field in which the placeholder was written its stored value
// (R11). Where nothing is stored the placeholder stays, for validation to refuse.
func (w *write) putBack(obj, old Object) {
	var kept []string
	for i, path := range Fields(obj) {
		stored := get(old, i)
		if stored == "" {
			continue
		}
		switch get(obj, i) {
		case Placeholder:
			set(obj, i, stored)
			kept = append(kept, path)
		case stored:
			// Whoever can read the value and writes what is there has changed
			// nothing, though it differs from the placeholder that it was compared
			// with. An apply says that the applier wants to own the field; and to
			// somebody without the right, a guess must look like the truth.
			if w.allowed && !w.apply {
				kept = append(kept, path)
			}
		}
	}
	restoreOwners(obj, old, kept)
}

var errPanicked = errors.New("panic")

func errNotSensitive(obj runtime.Object) error {
	return apierrors.NewInternalError(fmt.Errorf("an object of type %T names no sensitive fields", obj))
}
