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

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver/standalone/reviews"
	"entente.dev/entente/controllers"
	"entente.dev/entente/registry/peering/clusterpeer"
	"entente.dev/entente/registry/sensitive"
)

// install makes the library's server and gives it the API groups and hooks.
func (s *Server) install(ctx context.Context, config CompletedConfig, generic *genericapiserver.Config, a authorizer.Authorizer) error {
	server, err := generic.Complete(nil).New("entente", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return fmt.Errorf("could not make the server: %w", err)
	}
	s.generic = server
	if s.store != nil {
		if err := s.store.RegisterMetrics(legacyregistry.CustomRegister); err != nil {
			return err
		}
	}
	group, err := peeringGroup(config.api, generic, a)
	if err != nil {
		return err
	}
	groups := []*genericapiserver.APIGroupInfo{group}
	if config.Standalone {
		// There is no host cluster that answers kubectl auth.
		own, err := reviews.APIGroups(generic.Authorization.Authorizer, generic.RuleResolver)
		if err != nil {
			return err
		}
		groups = append(groups, own...)
	}
	if err := server.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("could not install the API groups: %w", err)
	}
	return s.addControllers(ctx, config.api)
}

// peeringGroup maps the resources of peering.entente.dev to their endpoints.
func peeringGroup(api *API, generic *genericapiserver.Config, a authorizer.Authorizer) (*genericapiserver.APIGroupInfo, error) {
	group := genericapiserver.NewDefaultAPIGroupInfo(peering.GroupName, api.Scheme, api.ParameterCodec, api.Codecs)
	group.NegotiatedSerializer = sensitive.NewNegotiatedSerializer(api.Codecs)
	metrics, err := sensitive.NewMetrics("entente", legacyregistry.Register)
	if err != nil {
		return nil, err
	}
	clusterPeers, err := clusterpeer.NewStorage(api.Scheme, generic.RESTOptionsGetter, a, metrics)
	if err != nil {
		return nil, err
	}
	group.VersionedResourcesStorageMap[peeringv1alpha1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"clusterpeers":           clusterPeers.Main,
		"clusterpeers/status":    clusterPeers.Status,
		"clusterpeers/sensitive": clusterPeers.Sensitive,
	}
	return &group, nil
}

// addControllers starts the embedded controllers once the server is ready, over
// the loopback client, so that they go through the same registry as everyone, and
// stops them before it drains.
func (s *Server) addControllers(ctx context.Context, api *API) error {
	var err error
	if s.loopback, err = restclient.HTTPClientFor(s.generic.LoopbackClientConfig); err != nil {
		return fmt.Errorf("could not make the controllers' client: %w", err)
	}
	client, err := versioned.NewForConfigAndClient(s.generic.LoopbackClientConfig, s.loopback)
	if err != nil {
		return fmt.Errorf("could not make the controllers' client: %w", err)
	}
	// Without a host cluster there is nowhere to record Events: they are log lines.
	broadcaster := events.NewBroadcaster(nil)
	stopLogging, err := broadcaster.StartLogging(klog.FromContext(ctx))
	if err != nil {
		return fmt.Errorf("could not log Events: %w", err)
	}
	s.stopEvents = func() { stopLogging(); broadcaster.Shutdown() }
	catalog, err := controllers.NewCatalog(controllers.Config{Client: client, Recorder: broadcaster.NewRecorder(api.Scheme, "entente")})
	if err != nil {
		return err
	}
	// The hooks' contexts end with the server's, before it drains: the controllers
	// end when they are told to.
	running := context.WithoutCancel(ctx)
	start := func(genericapiserver.PostStartHookContext) error { return catalog.Start(running) }
	stop := func() error {
		ctx, cancel := context.WithTimeout(running, controllerStopTimeout)
		defer cancel()
		return catalog.Stop(ctx)
	}
	if err := s.generic.AddPostStartHook("start-controllers", start); err != nil {
		return err
	}
	return s.generic.AddPreShutdownHook("stop-controllers", stop)
}
