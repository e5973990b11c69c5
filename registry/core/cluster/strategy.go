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

package cluster

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
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
func parts() strategy.Parts[core.Cluster, *core.Cluster] {
	return strategy.Parts[core.Cluster, *core.Cluster]{
		Spec:       func(obj *core.Cluster) any { return &obj.Spec },
		CopyStatus: func(to, from *core.Cluster) { to.Status = from.Status },
	}
}

func (kindStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	parts().Create(obj)
	strategy.BoundManagedFields(obj.(*core.Cluster))
	// From the start, so that no Cluster goes without its Releases being seen to (C1).
	cluster := obj.(*core.Cluster)
	if !slices.Contains(cluster.Finalizers, corev1alpha1.FinalizerPruneReleases) {
		cluster.Finalizers = append(cluster.Finalizers, corev1alpha1.FinalizerPruneReleases)
	}
	cluster.Status.Reachable = new(bool) // which is required
}

func (kindStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	parts().Update(obj, old)
	strategy.BoundManagedFields(obj.(*core.Cluster))
}

func (kindStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateCluster(obj.(*core.Cluster))
}

func (kindStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateClusterUpdate(obj.(*core.Cluster), old.(*core.Cluster))
}

// statusStrategy holds the rules for writes to /status: the status changes and nothing
// else, the metadata least of all (S1).
type statusStrategy struct{ kindStrategy }

func (statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	parts().UpdateStatus(obj, old)
	strategy.BoundManagedFields(obj.(*core.Cluster))
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateClusterStatusUpdate(obj.(*core.Cluster), old.(*core.Cluster))
}
