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

package guard

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/registry/sensitive"
)

// Store is the store of a kind, with a guard before what it stores.
//
// The guard judges where the library has the admission plugins validate, and before them:
// in the transaction, for every attempt, on objects that are complete and valid. The
// store's own hooks, BeginCreate and BeginUpdate, come too early for that, before an
// endpoint has put back what cannot be changed through it.
type Store struct {
	*genericregistry.Store
	guard *Guard
}

var (
	_ sensitive.Store            = &Store{}
	_ sensitive.SubresourceStore = &Store{}
)

// NewStore puts a guard before a store, which is complete.
func NewStore(store *genericregistry.Store, guard *Guard) (*Store, error) {
	if store == nil || guard == nil {
		return nil, errors.New("could not guard a store: no store, or no guard")
	}
	return &Store{Store: store, guard: guard}, nil
}

// Create stores a new object, if its guard lets it.
func (s *Store) Create(ctx context.Context, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	return s.Store.Create(ctx, obj, creates(s.guard.Begin(), createValidation), options)
}

// Update changes an object, or creates it where an apply may, if its guard lets it.
func (s *Store) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	judge := s.guard.Begin()
	update := func(ctx context.Context, obj, old runtime.Object) error {
		if err := judge.Update(ctx, obj, old, sensitive.WrittenUnseen(objInfo)); err != nil || updateValidation == nil {
			return err
		}
		return updateValidation(ctx, obj, old)
	}
	return s.Store.Update(ctx, name, objInfo, creates(judge, createValidation), update, forceAllowCreate, options)
}

// creates is a validation with a judge before it.
func creates(judge Judge, validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if err := judge.Create(ctx, obj); err != nil || validate == nil {
			return err
		}
		return validate(ctx, obj)
	}
}
