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

package reviews

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// REST is the endpoint of one kind of review; T is a pointer to its Go type. It
// has the verb create only.
type REST[T runtime.Object] struct {
	singular string
	empty    func() T
	// check says what is wrong with a question, as an API error.
	check func(T) error
	// answer may change the question and return it.
	answer func(context.Context, user.Info, T) T
}

var (
	_ rest.Creater              = &REST[runtime.Object]{} //nolint:misspell // the library's name
	_ rest.Scoper               = &REST[runtime.Object]{}
	_ rest.SingularNameProvider = &REST[runtime.Object]{}
)

// Create answers, and stores nothing.
func (r *REST[T]) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	question, ok := obj.(T)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a %s: %T", r.singular, obj))
	}
	if err := r.check(question); err != nil {
		return nil, err
	}
	caller, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return r.answer(ctx, caller, question), nil
}

// New implements rest.Storage.
func (r *REST[T]) New() runtime.Object { return r.empty() }

// Destroy implements rest.Storage; there is nothing to destroy.
func (r *REST[T]) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (r *REST[T]) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider.
func (r *REST[T]) GetSingularName() string { return r.singular }
