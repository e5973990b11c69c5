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

package peeringcapability

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apis/peering/validation"
)

const apiVersion = fieldpath.APIVersion(peeringv1alpha1.GroupName + "/v1alpha1")

// strategy holds the rules for writes to the main resource: the spec changes, the
// status does not.
type strategy struct {
	rest.DeclarativeValidation
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy  = strategy{}
	_ rest.RESTUpdateStrategy  = strategy{}
	_ rest.RESTDeleteStrategy  = strategy{}
	_ rest.ResetFieldsStrategy = strategy{}
)

func newStrategy(scheme *runtime.Scheme) strategy {
	return strategy{rest.DeclarativeValidation{Scheme: scheme}, names.SimpleNameGenerator}
}

func (strategy) NamespaceScoped() bool { return false }

func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		apiVersion: fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	capability := obj.(*peering.PeeringCapability)
	capability.Status = peering.PeeringCapabilityStatus{}
	capability.Generation = 1
}

// PrepareForUpdate moves the generation when the spec changed (K2); the library moves
// it when deletion starts.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	capability, oldCapability := obj.(*peering.PeeringCapability), old.(*peering.PeeringCapability)
	capability.Status = oldCapability.Status
	capability.Generation = oldCapability.Generation
	if !apiequality.Semantic.DeepEqual(capability.Spec, oldCapability.Spec) {
		capability.Generation++
	}
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidatePeeringCapability(obj.(*peering.PeeringCapability))
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidatePeeringCapabilityUpdate(obj.(*peering.PeeringCapability), old.(*peering.PeeringCapability))
}

func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (strategy) Canonicalize(runtime.Object) {}

func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

// statusStrategy holds the rules for writes to /status: the status changes and nothing
// else, the metadata least of all. Annotations and finalizers decide things, and whoever
// may write a status must not (S1).
type statusStrategy struct{ strategy }

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	capability, oldCapability := obj.(*peering.PeeringCapability), old.(*peering.PeeringCapability)
	status, managedFields := capability.Status, capability.ManagedFields
	*capability = *oldCapability.DeepCopy()
	capability.Status, capability.ManagedFields = status, managedFields
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidatePeeringCapabilityStatusUpdate(obj.(*peering.PeeringCapability), old.(*peering.PeeringCapability))
}
