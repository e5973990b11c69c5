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

package projectpeer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/plain"
)

const resource = "projectpeers"

// Storage has one REST an endpoint.
type Storage struct {
	Main   *plain.REST
	Status *plain.Status
}

// NewStorage makes the endpoints of ProjectPeer.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*Storage, error) {
	strategy := newStrategy(scheme)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &peering.ProjectPeer{} },
		NewListFunc:               func() runtime.Object { return &peering.ProjectPeerList{} },
		DefaultQualifiedResource:  peering.Resource(resource),
		SingularQualifiedResource: peering.Resource("projectpeer"),
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
	return &Storage{
		Main:   plain.NewREST(peering.Kind("ProjectPeer"), store, nil, []string{"entente"}),
		Status: plain.NewStatus(peering.Kind("ProjectPeer"), store, statusStrategy{strategy}, apiVersion),
	}, nil
}
