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
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/guard"
	"entente.dev/entente/registry/sensitive"
)

const resource = "clusterpeers"

// Storage has one REST an endpoint.
type Storage struct {
	Main      *sensitive.REST
	Status    *sensitive.Subresource
	Sensitive *sensitive.Subresource
	Proxy     *Proxy
}

// NewStorage makes the endpoints of ClusterPeer. The authorizer is the one that
// says who may see sensitive fields. The guard judges what is written but to /status,
// through which nothing is granted (G2). The carrier carries what is sent to /proxy; nil:
// that endpoint answers that it cannot (G8).
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter, a authorizer.UnconditionalAuthorizer, metrics *sensitive.Metrics, issuers Issuers, g *guard.Guard, carrier Carrier) (*Storage, error) {
	strategy := newStrategy(scheme)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &peering.ClusterPeer{} },
		NewListFunc:               func() runtime.Object { return &peering.ClusterPeerList{} },
		PredicateFunc:             matchClusterPeer,
		DefaultQualifiedResource:  peering.Resource(resource),
		SingularQualifiedResource: peering.Resource("clusterpeer"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            table(),
		ReturnDeletedObject:       true,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: optsGetter, AttrFunc: attributes}); err != nil {
		return nil, fmt.Errorf("could not make the store of %s: %w", resource, err)
	}
	statusStore, sensitiveStore := *store, *store
	status, sensitiveFields := statusStrategy{strategy, issuers}, sensitiveStrategy{strategy}
	statusStore.UpdateStrategy, sensitiveStore.UpdateStrategy = status, sensitiveFields

	guarded, err := guard.NewStore(store, g)
	if err != nil {
		return nil, err
	}
	guardedSensitive, err := guard.NewStore(&sensitiveStore, g)
	if err != nil {
		return nil, err
	}
	decider, err := sensitive.NewDecider(a, peeringv1alpha1.SchemeGroupVersion.WithResource(resource), "ClusterPeer", metrics)
	if err != nil {
		return nil, err
	}
	out := &Storage{Proxy: newProxy(store, carrier)}
	if out.Main, err = sensitive.NewREST(guarded, decider, []string{"cpeer"}, []string{"entente"}); err != nil {
		return nil, err
	}
	if out.Status, err = sensitive.NewSubresource(&statusStore, decider, status.resetFieldsFilter()); err != nil {
		return nil, err
	}
	if out.Sensitive, err = sensitive.NewSubresource(guardedSensitive, decider, sensitiveFields.resetFieldsFilter()); err != nil {
		return nil, err
	}
	return out, nil
}

func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	peer, ok := obj.(*peering.ClusterPeer)
	if !ok {
		return nil, nil, fmt.Errorf("could not select on an object of type %T: not a ClusterPeer", obj)
	}
	return labels.Set(peer.Labels), generic.ObjectMetaFieldsSet(&peer.ObjectMeta, false), nil
}

func matchClusterPeer(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
}
