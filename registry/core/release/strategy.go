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

package release

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/core/validation"
	"entente.dev/entente/registry/strategy"
)

const apiVersion = fieldpath.APIVersion(corev1alpha1.GroupName + "/v1alpha1")

// kindStrategy holds the rules for writes to the main resource: the spec changes, the
// status does not.
type kindStrategy struct{ strategy.Base }

var (
	_ rest.RESTCreateStrategy  = kindStrategy{}
	_ rest.RESTUpdateStrategy  = kindStrategy{}
	_ rest.RESTDeleteStrategy  = kindStrategy{}
	_ rest.ResetFieldsStrategy = kindStrategy{}
)

func newStrategy(scheme *runtime.Scheme) kindStrategy {
	return kindStrategy{strategy.New(scheme, apiVersion, true)}
}

// parts are what is written apart.
func parts() strategy.Parts[core.Release, *core.Release] {
	return strategy.Parts[core.Release, *core.Release]{
		Spec:       func(obj *core.Release) any { return &obj.Spec },
		CopyStatus: func(to, from *core.Release) { to.Status = from.Status },
	}
}

func (kindStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	parts().Create(obj)
	strategy.BoundManagedFields(obj.(*core.Release))
	release := obj.(*core.Release)
	canonicalize(&release.Spec)
	// From the start, so that no Release goes without its deletion policy being carried out.
	if !slices.Contains(release.Finalizers, corev1alpha1.FinalizerRelease) {
		release.Finalizers = append(release.Finalizers, corev1alpha1.FinalizerRelease)
	}
}

func (kindStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	canonicalize(&obj.(*core.Release).Spec)
	parts().Update(obj, old)
	strategy.BoundManagedFields(obj.(*core.Release))
}

func (kindStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateRelease(obj.(*core.Release))
}

func (kindStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateReleaseUpdate(obj.(*core.Release), old.(*core.Release))
}

// statusStrategy holds the rules for writes to /status: the status changes and nothing
// else, the metadata least of all (S1).
type statusStrategy struct{ kindStrategy }

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	parts().UpdateStatus(obj, old)
	strategy.BoundManagedFields(obj.(*core.Release))
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateReleaseStatusUpdate(obj.(*core.Release), old.(*core.Release))
}

// canonicalize writes the objects of a Release in one form: the order of keys and white
// space are no change of a spec (K2), and a key that is there twice means the same to
// whoever reads it later. What is no JSON stays for the validation.
func canonicalize(spec *core.ReleaseSpec) {
	for i := range spec.Resources {
		given, err := spec.Resources[i].MarshalJSON()
		if err != nil {
			continue
		}
		var object any
		if err := json.Unmarshal(given, &object); err != nil || object == nil {
			continue
		}
		if written, err := json.Marshal(object); err == nil {
			spec.Resources[i] = runtime.RawExtension{Raw: written}
		}
	}
}
