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

package main

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/registry/sensitive"
)

// storages are the endpoints of Hooks.
type storages struct {
	main      *sensitive.REST
	sensitive *sensitive.Subresource
}

// newStorages makes an ordinary store, and puts the kernel around it (step 3).
func newStorages(scheme *runtime.Scheme, options generic.RESTOptionsGetter, a authorizer.UnconditionalAuthorizer) (*storages, error) {
	gvr := groupVersion().WithResource(resource)
	hooks := strategy{scheme, names.SimpleNameGenerator}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &Hook{} },
		NewListFunc:               func() runtime.Object { return &HookList{} },
		PredicateFunc:             match,
		DefaultQualifiedResource:  gvr.GroupResource(),
		SingularQualifiedResource: groupVersion().WithResource("hook").GroupResource(),
		CreateStrategy:            hooks,
		UpdateStrategy:            hooks,
		DeleteStrategy:            hooks,
		ResetFieldsStrategy:       hooks,
		TableConvertor:            rest.NewDefaultTableConvertor(gvr.GroupResource()),
		ReturnDeletedObject:       true,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: attributes}); err != nil {
		return nil, fmt.Errorf("could not make the store: %w", err)
	}
	// A subresource is a copy of the store with a strategy of its own.
	values := *store
	values.UpdateStrategy = valuesStrategy{hooks}

	decider, err := sensitive.NewDecider(a, gvr, kind, nil)
	if err != nil {
		return nil, err
	}
	out := &storages{}
	if out.main, err = sensitive.NewREST(store, decider, nil, nil); err != nil {
		return nil, err
	}
	out.sensitive, err = sensitive.NewSubresource(&values, decider, sensitive.ResetFieldsFilter{
		fieldpath.APIVersion(groupVersion().String()): fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie("spec", "auth", "token")),
	})
	return out, err
}

func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	hook, ok := obj.(*Hook)
	if !ok {
		return nil, nil, fmt.Errorf("could not select on an object of type %T: not a Hook", obj)
	}
	return hook.Labels, generic.ObjectMetaFieldsSet(&hook.ObjectMeta, false), nil
}

// match selects by name only: a selector on a sensitive field would tell its value.
func match(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
}

// strategy is that of any kind, but for two lines.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

func (strategy) NamespaceScoped() bool { return false }

func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return nil }

func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) { obj.(*Hook).Generation = 1 }

func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	hook, was := obj.(*Hook), old.(*Hook)
	hook.Generation = was.Generation
	if !apiequality.Semantic.DeepEqual(hook.Spec, was.Spec) {
		hook.Generation++
	}
}

// Validate refuses a placeholder that stands for nothing.
func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return sensitive.Validate(obj.(*Hook))
}

// ValidateUpdate does so too.
func (strategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	return sensitive.Validate(obj.(*Hook))
}

func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (strategy) Canonicalize(runtime.Object)                   {}
func (strategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// valuesStrategy changes the sensitive field and nothing else.
type valuesStrategy struct{ strategy }

func (s valuesStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	hook, kept := obj.(*Hook), old.DeepCopyObject().(*Hook)
	token := ""
	if hook.Spec.Auth != nil {
		token = hook.Spec.Auth.Token
	}
	if token != "" || kept.Spec.Auth != nil {
		_, value := kept.SensitiveField(0, true)
		*value = token
	}
	kept.ManagedFields, kept.ResourceVersion = hook.ManagedFields, hook.ResourceVersion
	*hook = *kept
	s.strategy.PrepareForUpdate(ctx, obj, old)
}
