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

// Package strategy is what the strategies of all kinds have in common: a main resource
// whose status cannot be written through it, and a subresource /status through which
// nothing else can.
package strategy

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Base is embedded in the strategy of a kind, which adds how its objects are prepared and
// validated.
type Base struct {
	rest.DeclarativeValidation
	names.NameGenerator
	version    fieldpath.APIVersion
	namespaced bool
}

// New makes the base for a kind in the version that is served.
func New(scheme *runtime.Scheme, version fieldpath.APIVersion, namespaced bool) Base {
	return Base{rest.DeclarativeValidation{Scheme: scheme}, names.SimpleNameGenerator, version, namespaced}
}

// NamespaceScoped tells whether the kind is namespaced.
func (b Base) NamespaceScoped() bool { return b.namespaced }

// GetResetFields returns the fields that nobody owns by a write of the main resource.
func (b Base) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{b.version: fieldpath.NewSet(fieldpath.MakePathOrDie("status"))}
}

// WarningsOnCreate returns none.
func (Base) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// WarningsOnUpdate returns none.
func (Base) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string { return nil }

// Canonicalize changes nothing.
func (Base) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate forbids that a PUT creates an object.
func (Base) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate allows an update without a resourceVersion.
func (Base) AllowUnconditionalUpdate(context.Context) bool { return true }

// Object is a pointer to an object of type T.
type Object[T any] interface {
	*T
	metav1.Object
	DeepCopy() *T
}

// Revert makes obj what old is, but for who manages its fields. An endpoint through which
// only a part can be written puts that part back: annotations and finalizers decide things,
// and whoever may write a status must not (S1).
func Revert[T any, P Object[T]](obj, old P) {
	managed := obj.GetManagedFields()
	*obj = *old.DeepCopy()
	obj.SetManagedFields(managed)
}
