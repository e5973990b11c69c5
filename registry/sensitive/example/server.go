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
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	restclient "k8s.io/client-go/rest"

	"entente.dev/entente/registry/sensitive"
)

// surroundings are what an aggregated server gets from its options: where it stores,
// who its users are and what they may do, and where audit goes.
type surroundings struct {
	etcd          string // its endpoint
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	audit         audit.Backend
}

// server is an API server, and what says whether it is ready.
type server struct {
	*genericapiserver.GenericAPIServer
	ready func() error
}

// newServer puts a server together; what belongs to the kernel is marked with the
// steps of docs/kernel.md.
func newServer(s surroundings) (*server, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, fmt.Errorf("could not make the scheme: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	config := genericapiserver.NewConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ExternalAddress = "localhost:443"
	config.LoopbackClientConfig = &restclient.Config{}
	config.Authentication.Authenticator = s.authenticator
	config.Authorization.Authorizer = s.authorizer

	// Step 2: the mark in the schema.
	marked, err := sensitive.MarkOpenAPI(definitions, hookModel, &Hook{})
	if err != nil {
		return nil, err
	}
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(marked, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(marked, namer)

	// Step 5: bodies that the handlers would quote.
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		handler = sensitive.WithApplyBodyCheck(handler, sets.New(groupName), c.MaxRequestBodyBytes, c.Serializer)
		return genericapiserver.DefaultBuildHandlerChain(handler, c)
	}
	// Step 6: audit, masked before any other backend gets it.
	gvr := groupVersion().WithResource(resource)
	if config.AuditBackend, err = sensitive.NewAuditBackend(s.audit, scheme, sensitive.AuditedResource{Resource: gvr, Kind: kind}); err != nil {
		return nil, err
	}
	config.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(&auditinternal.Policy{
		Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelRequestResponse, OmitStages: []auditinternal.Stage{auditinternal.StageRequestReceived}}},
	})

	made, err := config.Complete(nil).New("hooks", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("could not make the server: %w", err)
	}
	endpoints, err := newStorages(scheme, storageOptions(s.etcd, codecs), s.authorizer)
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(groupName, scheme, runtime.NewParameterCodec(scheme), codecs)
	// Step 4: errors of decoding.
	group.NegotiatedSerializer = sensitive.NewNegotiatedSerializer(codecs)
	group.VersionedResourcesStorageMap[groupVersion().Version] = map[string]rest.Storage{
		resource: endpoints.main,
		resource + "/" + sensitive.SubresourceName: endpoints.sensitive,
	}
	if err := made.InstallAPIGroup(&group); err != nil {
		return nil, fmt.Errorf("could not install the API group: %w", err)
	}
	return &server{made, endpoints.main.ReadinessCheck}, nil
}

// storageOptions say where to store. A real server takes them from EtcdOptions, with
// encryption at rest.
func storageOptions(etcd string, codecs serializer.CodecFactory) generic.RESTOptions {
	config := storagebackend.NewDefaultConfig("/hooks", codecs.LegacyCodec(groupVersion()))
	config.Transport.ServerList = []string{etcd}
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(groupVersion().WithResource(resource).GroupResource()),
		Decorator:               genericregistry.StorageWithCacher(),
		ResourcePrefix:          resource,
		DeleteCollectionWorkers: 1,
		EnableGarbageCollection: true,
	}
}
