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
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
	"entente.dev/entente/registry/plain"
)

const resource = "peeringcapabilities"

// Storage has one REST an endpoint.
type Storage struct {
	Main   *plain.REST
	Status *plain.Status
}

// NewStorage makes the endpoints of PeeringCapability. The guard judges what is written but
// to /status, through which nothing is granted (G2).
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter, g *guard.Guard) (*Storage, error) {
	strategy := newStrategy(scheme)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &peering.PeeringCapability{} },
		NewListFunc:               func() runtime.Object { return &peering.PeeringCapabilityList{} },
		DefaultQualifiedResource:  peering.Resource(resource),
		SingularQualifiedResource: peering.Resource("peeringcapability"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            table(),
		ReturnDeletedObject:       true,
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: optsGetter}); err != nil {
		return nil, fmt.Errorf("could not make the store of %s: %w", resource, err)
	}
	guarded, err := guard.NewStore(store, g)
	if err != nil {
		return nil, err
	}
	return &Storage{
		Main:   plain.NewREST(peering.Kind("PeeringCapability"), guarded, []string{"peercap"}, []string{"entente"}),
		Status: plain.NewStatus(peering.Kind("PeeringCapability"), store, statusStrategy{strategy}, apiVersion),
	}, nil
}
