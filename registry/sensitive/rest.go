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

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Store is what the kernel needs of the store of a kind; it is satisfied by the
// generic registry's Store.
type Store interface {
	rest.StandardStorage
	rest.StorageWithReadiness
	rest.Scoper
	rest.SingularNameProvider
	rest.TableConvertor
	rest.StorageVersionProvider
	rest.ResetFieldsStrategy
	rest.MayReturnFullObjectDeleter
	rest.CorruptObjectDeleterProvider
}

// REST serves the main resource of a kind. It does not embed the store, so that
// no method of the store can be reached past the redaction: each verb is named.
type REST struct {
	store      Store
	decider    *Decider
	shortNames []string
	categories []string
}

var (
	_ rest.StandardStorage              = &REST{}
	_ rest.Patcher                      = &REST{}
	_ rest.StorageWithReadiness         = &REST{}
	_ rest.Scoper                       = &REST{}
	_ rest.SingularNameProvider         = &REST{}
	_ rest.ShortNamesProvider           = &REST{}
	_ rest.CategoriesProvider           = &REST{}
	_ rest.TableConvertor               = &REST{}
	_ rest.StorageVersionProvider       = &REST{}
	_ rest.ResetFieldsStrategy          = &REST{}
	_ rest.MayReturnFullObjectDeleter   = &REST{}
	_ rest.CorruptObjectDeleterProvider = &REST{}
)

// NewREST serves store as the main resource of its kind. Its objects must
// implement Object.
func NewREST(store Store, decider *Decider, shortNames, categories []string) (*REST, error) {
	if err := check(store, decider); err != nil {
		return nil, err
	}
	return &REST{store: store, decider: decider, shortNames: shortNames, categories: categories}, nil
}

func check(store rest.Storage, decider *Decider) error {
	if decider == nil {
		return errors.New("could not serve sensitive objects: no decider")
	}
	if _, ok := store.New().(Object); !ok {
		return errors.New("could not serve sensitive objects: the stored type does not name its sensitive fields")
	}
	return nil
}

// answer is what leaves the server: out for whom it is allowed, redacted for
// everyone else (R5, R6).
func (d *Decider) answer(ctx context.Context, verb, name string, out runtime.Object) (runtime.Object, error) {
	if d.Allowed(ctx, verb, name) {
		return out, nil
	}
	return redactAny(out)
}

// Get returns one object.
func (r *REST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	out, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.decider.answer(ctx, "get", name, out)
}

// List returns the objects that match options.
func (r *REST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	out, err := r.store.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return r.decider.answer(ctx, "list", listedName(options), out)
}

// Watch follows the objects that match options. The caller's right is followed as
// well, for as long as the watch is open (R3).
func (r *REST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	allowed, end := r.decider.follow(ctx, "watch", listedName(options))
	inner, err := r.store.Watch(ctx, options)
	if err != nil {
		end()
		return nil, err
	}
	return newRedactingWatch(inner, allowed, end), nil
}

func listedName(options *metainternalversion.ListOptions) string {
	if options == nil {
		return ""
	}
	return selectedName(options.FieldSelector)
}

// Create stores a new object.
func (r *REST) Create(ctx context.Context, in runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	obj, ok := in.(Object)
	if !ok {
		return nil, errNotSensitive(in)
	}
	submitted := submittedValues(obj)
	scrubAnnotations(ctx, obj, submitted)
	out, err := r.store.Create(ctx, obj, createValidation, options)
	if err != nil {
		return nil, scrubError(err, submitted)
	}
	name := ""
	if created, ok := out.(metav1.Object); ok {
		name = created.GetName()
	}
	return r.decider.answer(ctx, "get", name, out)
}

// Update changes an object, or creates it where an apply may.
func (r *REST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return update(ctx, r.store, r.decider, name, objInfo, createValidation, updateValidation, forceAllowCreate, options)
}

// Delete deletes an object.
func (r *REST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return deleteAndRedact(ctx, r.store, r.decider, name, deleteValidation, options)
}

func deleteAndRedact(ctx context.Context, store rest.GracefulDeleter, decider *Decider, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	out, deleted, err := store.Delete(ctx, name, deleteValidation, options)
	if err != nil {
		return nil, deleted, err
	}
	out, err = decider.answer(ctx, "get", name, out)
	return out, deleted, err
}

// DeleteCollection deletes the objects that match listOptions.
func (r *REST) DeleteCollection(ctx context.Context, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	out, err := r.store.DeleteCollection(ctx, deleteValidation, options, listOptions)
	if err != nil {
		return nil, err
	}
	return r.decider.answer(ctx, "list", listedName(listOptions), out)
}

// GetCorruptObjDeleter returns the deleter of objects that cannot be read, or
// nil if the store has none.
func (r *REST) GetCorruptObjDeleter() rest.GracefulDeleter {
	inner := r.store.GetCorruptObjDeleter()
	if inner == nil {
		return nil
	}
	return corruptObjectDeleter{inner, r.decider}
}

type corruptObjectDeleter struct {
	inner   rest.GracefulDeleter
	decider *Decider
}

func (d corruptObjectDeleter) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return deleteAndRedact(ctx, d.inner, d.decider, name, deleteValidation, options)
}

// ConvertToTable renders what a verb above returned, which is redacted already.
func (r *REST) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

// The rest says what the store is; nothing of an object passes here.

// New returns an empty object.
func (r *REST) New() runtime.Object { return r.store.New() }

// NewList returns an empty list.
func (r *REST) NewList() runtime.Object { return r.store.NewList() }

// Destroy frees what the store holds.
func (r *REST) Destroy() { r.store.Destroy() }

// ReadinessCheck says whether the store can serve.
func (r *REST) ReadinessCheck() error { return r.store.ReadinessCheck() }

// NamespaceScoped says whether the kind is namespaced.
func (r *REST) NamespaceScoped() bool { return r.store.NamespaceScoped() }

// GetSingularName returns the singular name of the resource.
func (r *REST) GetSingularName() string { return r.store.GetSingularName() }

// ShortNames returns the short names of the resource.
func (r *REST) ShortNames() []string { return r.shortNames }

// Categories returns the categories that the resource is in.
func (r *REST) Categories() []string { return r.categories }

// StorageVersion returns the version in which objects are stored.
func (r *REST) StorageVersion() runtime.GroupVersioner { return r.store.StorageVersion() }

// GetResetFields returns the fields that a write here cannot change.
func (r *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// DeleteReturnsDeletedObject says whether a delete answers with the object.
func (r *REST) DeleteReturnsDeletedObject() bool { return r.store.DeleteReturnsDeletedObject() }
