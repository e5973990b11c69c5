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

package apiserver

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/registry/peering/clusterpeer"
	"entente.dev/entente/registry/sensitive"
)

// genericConfig configures the library's server, and returns the authorizer that
// decides who sees sensitive fields.
func genericConfig(ctx context.Context, config CompletedConfig, etcdOptions *genericoptions.EtcdOptions, mode mode, e *encryption.Encryption) (*genericapiserver.Config, authorizer.Authorizer, error) {
	generic := genericapiserver.NewConfig(config.api.Codecs)
	if err := config.ServerRun.ApplyTo(generic); err != nil {
		return nil, nil, err
	}
	serving := *config.SecureServing.SecureServingOptions
	if err := mode.serving(&serving); err != nil {
		return nil, nil, err
	}
	if err := serving.WithLoopback().ApplyTo(&generic.SecureServing, &generic.LoopbackClientConfig); err != nil {
		return nil, nil, fmt.Errorf("could not set up serving: %w", err)
	}
	encrypt(generic, config, e)
	if err := etcdOptions.ApplyTo(generic); err != nil {
		return nil, nil, fmt.Errorf("could not set up the store: %w", err)
	}
	if err := mode.configure(ctx, generic); err != nil {
		return nil, nil, err
	}
	requests, sight, err := mode.rights()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range []*authorizer.Authorizer{&requests, &sight} {
		if *a, err = authorize(*a); err != nil {
			return nil, nil, err
		}
		if config.WrapAuthorizer != nil {
			*a = config.WrapAuthorizer(*a)
		}
	}
	generic.Authorization.Authorizer = requests
	if err := mode.admit(ctx, generic); err != nil {
		return nil, nil, err
	}
	if err := config.Audit.ApplyTo(generic); err != nil {
		return nil, nil, fmt.Errorf("could not set up audit: %w", err)
	}
	if err := maskAudit(generic, config.api.Scheme); err != nil {
		return nil, nil, err
	}
	if err := describe(generic, config.api); err != nil {
		return nil, nil, err
	}
	ordinary := generic.LongRunningFunc
	generic.LongRunningFunc = func(req *http.Request, info *genericapirequest.RequestInfo) bool {
		return clusterpeer.IsProxied(info) || ordinary(req, info)
	}
	generic.BuildHandlerChainFunc = func(apiHandler http.Handler, c *genericapiserver.Config) http.Handler {
		groups := sets.New(config.groups()...)
		objects := sensitive.WithApplyBodyCheck(passOverProtobuf(apiHandler, groups), groups, c.MaxRequestBodyBytes, c.Serializer)
		return genericapiserver.DefaultBuildHandlerChain(clusterpeer.WithProxied(apiHandler, objects), c)
	}
	return generic, sight, nil
}
