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
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/registry/guard"
	"entente.dev/entente/registry/plain"
)

const resource = "clusters"

// Storage has one REST an endpoint.
type Storage struct {
	Main   *plain.REST
	Status *plain.Status
}

// NewStorage makes the endpoints of Cluster. The authorizer is the one of the server's
// requests; it is asked what a write takes that has Secrets used (C2), Releases deleted (C1),
// or Releases go elsewhere (C4). In ownNamespaces, which are Entente's, no Cluster names a
// Secret.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter, a authorizer.UnconditionalAuthorizer, ownNamespaces []string) (*Storage, error) {
	g, err := newGuard(a, ownNamespaces)
	if err != nil {
		return nil, err
	}
	strategy := newStrategy(scheme)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &core.Cluster{} },
		NewListFunc:               func() runtime.Object { return &core.ClusterList{} },
		DefaultQualifiedResource:  core.Resource(resource),
		SingularQualifiedResource: core.Resource("cluster"),
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
		Main:   plain.NewREST(core.Kind("Cluster"), guarded, nil, []string{"entente"}),
		Status: plain.NewStatus(core.Kind("Cluster"), store, statusStrategy{strategy}, apiVersion),
	}, nil
}
