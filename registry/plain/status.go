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

package plain

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/registry/sensitive"
)

// Status serves the subresource /status of a kind: the whole object is read, the status
// is written. It never creates an object. It does not embed the store, which has more
// verbs than these.
type Status struct {
	kind        schema.GroupKind
	store       *genericregistry.Store
	resetFields map[fieldpath.APIVersion]fieldpath.Filter
}

var (
	_ rest.Storage                   = &Status{}
	_ rest.Patcher                   = &Status{}
	_ rest.TableConvertor            = &Status{}
	_ rest.ResetFieldsFilterStrategy = &Status{}
)

// NewStatus serves a copy of the store of a kind, with a strategy for writes of the
// status. version is the served one.
func NewStatus(kind schema.GroupKind, store *genericregistry.Store, strategy rest.RESTUpdateStrategy, version fieldpath.APIVersion) *Status {
	own := *store
	own.UpdateStrategy = strategy
	only := fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie("status"))
	return &Status{kind: kind, store: &own, resetFields: map[fieldpath.APIVersion]fieldpath.Filter{version: only}}
}

// New returns an empty object.
func (r *Status) New() runtime.Object { return r.store.New() }

// Destroy does nothing: what the store holds belongs to the main resource.
func (r *Status) Destroy() {}

// Get returns the whole object.
func (r *Status) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update changes the status of an object that is there: not even an apply creates one. Its errors
// quote nothing (R15).
func (r *Status) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, sensitive.QuotingNothing(objInfo, r.kind, name), createValidation, updateValidation, false, options)
}

// ConvertToTable prints the object.
func (r *Status) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, tableOptions)
}

// GetResetFieldsFilter returns the fields that a write here can change, and own.
func (r *Status) GetResetFieldsFilter() map[fieldpath.APIVersion]fieldpath.Filter {
	return r.resetFields
}
