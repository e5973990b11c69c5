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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// SubresourceStore is what the kernel needs of the store of a subresource: a copy
// of the kind's store with a strategy of its own.
type SubresourceStore interface {
	rest.Storage
	rest.Patcher
	rest.TableConvertor
}

// ResetFieldsFilter says, by version, which fields a write through an endpoint
// can change.
type ResetFieldsFilter = map[fieldpath.APIVersion]fieldpath.Filter

// Subresource serves a subresource that shows the whole object and changes a
// part of it, such as /status and /sensitive. It never creates an object.
type Subresource struct {
	store       SubresourceStore
	decider     *Decider
	resetFields ResetFieldsFilter
}

var (
	_ rest.Patcher                   = &Subresource{}
	_ rest.Storage                   = &Subresource{}
	_ rest.TableConvertor            = &Subresource{}
	_ rest.ResetFieldsFilterStrategy = &Subresource{}
)

// NewSubresource serves store as a subresource; resetFields are those of its
// strategy.
func NewSubresource(store SubresourceStore, decider *Decider, resetFields ResetFieldsFilter) (*Subresource, error) {
	if err := check(store, decider); err != nil {
		return nil, err
	}
	if len(resetFields) == 0 {
		return nil, errors.New("could not serve a subresource: its strategy says of no version which fields it changes")
	}
	return &Subresource{store: store, decider: decider, resetFields: resetFields}, nil
}

// Get returns the whole object.
func (r *Subresource) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	out, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.decider.answer(ctx, "get", name, out)
}

// Update changes the part of an existing object that the subresource stands for.
func (r *Subresource) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return update(ctx, neverCreates{r.store}, r.decider, name, objInfo, createValidation, updateValidation, forceAllowCreate, options)
}

// neverCreates hides from the store that an apply may create (R9).
type neverCreates struct {
	rest.Updater
}

func (u neverCreates) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return u.Updater.Update(ctx, name, objInfo, createValidation, updateValidation, false, options)
}

// ConvertToTable renders what Get returned, which is redacted already.
func (r *Subresource) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

// GetResetFieldsFilter returns the fields that a write here can change.
func (r *Subresource) GetResetFieldsFilter() ResetFieldsFilter { return r.resetFields }

// New returns an empty object.
func (r *Subresource) New() runtime.Object { return r.store.New() }

// Destroy does nothing: the store behind belongs to the main resource.
func (r *Subresource) Destroy() {}
