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
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/registry/sensitive"
)

// REST serves the main resource of a kind, with all verbs of its store.
type REST struct {
	sensitive.Store
	kind       schema.GroupKind
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

// NewREST serves a store, which is complete, as the main resource of its kind.
func NewREST(kind schema.GroupKind, store sensitive.Store, shortNames, categories []string) *REST {
	return &REST{Store: store, kind: kind, shortNames: shortNames, categories: categories}
}

// Update changes an object, or creates it where an apply may. Its errors quote nothing (R15).
func (r *REST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.Store.Update(ctx, name, sensitive.QuotingNothing(objInfo, r.kind, name), createValidation, updateValidation, forceAllowCreate, options)
}

// ShortNames returns the short names of the resource.
func (r *REST) ShortNames() []string { return r.shortNames }

// Categories returns the categories that the resource is in.
func (r *REST) Categories() []string { return r.categories }
