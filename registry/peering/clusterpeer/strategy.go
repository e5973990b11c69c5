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

package clusterpeer

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apis/peering/validation"
	"entente.dev/entente/registry/sensitive"
	"entente.dev/entente/registry/strategy"
)

const apiVersion = fieldpath.APIVersion(peeringv1alpha1.GroupName + "/v1alpha1")

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
	return kindStrategy{strategy.New(scheme, apiVersion, false)}
}

// parts are what is written apart; the sensitive fields of the spec can be so, besides.
func parts() strategy.Parts[peering.ClusterPeer, *peering.ClusterPeer] {
	return strategy.Parts[peering.ClusterPeer, *peering.ClusterPeer]{
		Spec:       func(obj *peering.ClusterPeer) any { return &obj.Spec },
		CopyStatus: func(to, from *peering.ClusterPeer) { to.Status = from.Status },
	}
}

func (kindStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	parts().Create(obj)
	// From the start, so that no ClusterPeer with access goes without losing it (P12).
	if peer := obj.(*peering.ClusterPeer); !slices.Contains(peer.Finalizers, peeringv1alpha1.FinalizerDisconnect) {
		peer.Finalizers = append(peer.Finalizers, peeringv1alpha1.FinalizerDisconnect)
	}
}

func (kindStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	parts().Update(obj, old)
}

func (kindStrategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	peer := obj.(*peering.ClusterPeer)
	return append(validation.ValidateClusterPeer(peer), sensitive.Validate(peer)...)
}

func (kindStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	peer := obj.(*peering.ClusterPeer)
	return append(validation.ValidateClusterPeerUpdate(peer, old.(*peering.ClusterPeer)), sensitive.Validate(peer)...)
}

// statusStrategy holds the rules for writes to /status: the status changes and
// nothing else, the metadata least of all. Annotations and finalizers decide
// things, and whoever may write a status must not (S1). Nor must he have the other
// cluster led astray: what was issued is written by issuers only.
type statusStrategy struct {
	kindStrategy
	issuers Issuers
}

// Issuers tells whether a user issues connection strings; nil: nobody does.
type Issuers func(user.Info) bool

func (i Issuers) has(ctx context.Context) bool {
	who, ok := genericapirequest.UserFrom(ctx)
	return ok && i != nil && i(who)
}

func (s statusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	parts().UpdateStatus(obj, old)
	if !s.issuers.has(ctx) {
		obj.(*peering.ClusterPeer).Status.Invite = old.(*peering.ClusterPeer).Status.Invite.DeepCopy()
	}
}

func (statusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	peer := obj.(*peering.ClusterPeer)
	return append(validation.ValidateClusterPeerStatusUpdate(peer, old.(*peering.ClusterPeer)), sensitive.Validate(peer)...)
}

func (statusStrategy) resetFieldsFilter() sensitive.ResetFieldsFilter {
	return onlyFields([]any{"status"})
}

// sensitiveStrategy holds the rules for writes to /sensitive: the sensitive
// fields of the spec change and nothing else (R9).
type sensitiveStrategy struct{ kindStrategy }

func (sensitiveStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	peer, oldPeer := obj.(*peering.ClusterPeer), old.(*peering.ClusterPeer)
	submitted := *peer
	strategy.Revert(peer, oldPeer)
	for i, path := range sensitive.Fields(peer) {
		if !strings.HasPrefix(path, "spec.") {
			continue
		}
		if value := sensitiveValue(&submitted, i); value != sensitiveValue(peer, i) {
			_, target := peer.SensitiveField(i, true)
			*target = value
		}
	}
	parts().Update(peer, oldPeer)
}

func sensitiveValue(peer *peering.ClusterPeer, i int) string {
	if _, value := peer.SensitiveField(i, false); value != nil {
		return *value
	}
	return ""
}

func (sensitiveStrategy) resetFieldsFilter() sensitive.ResetFieldsFilter {
	var paths [][]any
	for _, path := range sensitive.Fields(&peering.ClusterPeer{}) {
		if !strings.HasPrefix(path, "spec.") {
			continue
		}
		var elements []any
		for _, name := range strings.Split(path, ".") {
			elements = append(elements, name)
		}
		paths = append(paths, elements)
	}
	return onlyFields(paths...)
}

// onlyFields lets an endpoint own the fields below paths and no others.
func onlyFields(paths ...[]any) sensitive.ResetFieldsFilter {
	var matchers []*fieldpath.SetMatcher
	for _, path := range paths {
		matchers = append(matchers, fieldpath.MakePrefixMatcherOrDie(path...))
	}
	return sensitive.ResetFieldsFilter{apiVersion: fieldpath.NewIncludeMatcherFilter(matchers...)}
}
