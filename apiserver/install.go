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
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/peering/clusterpeer"
	"entente.dev/entente/registry/peering/escalation"
	"entente.dev/entente/registry/peering/peeringcapability"
	"entente.dev/entente/registry/peering/projectpeer"
	"entente.dev/entente/registry/peering/tokenexchangeprovider"
	"entente.dev/entente/registry/sensitive"
)

// install makes the library's server and gives it the API groups and hooks.
func (s *Server) install(ctx context.Context, config CompletedConfig, generic *genericapiserver.Config, sight authorizer.Authorizer) error {
	server, err := generic.Complete(s.mode.informers()).New("entente", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return fmt.Errorf("could not make the server: %w", err)
	}
	s.generic = server
	if s.store != nil {
		if err := s.store.RegisterMetrics(legacyregistry.CustomRegister); err != nil {
			return err
		}
	}
	if err := server.AddReadyzChecks(append(s.mode.checks(), s.peering.checks()...)...); err != nil {
		return fmt.Errorf("could not add readiness checks: %w", err)
	}
	var carrier clusterpeer.Carrier
	if s.peering.outlet != nil {
		carrier = s.peering.outlet
	}
	if config.WrapCarrier != nil {
		carrier = config.WrapCarrier(carrier)
	}
	group, err := peeringGroup(config.api, generic, sight, issuers(config), carrier)
	if err != nil {
		return err
	}
	groups, err := s.mode.groups(generic)
	if err != nil {
		return err
	}
	groups = append(groups, group)
	if config.serves(core.GroupName) {
		clusters, err := coreGroup(config.api, generic, s.mode.ownNamespaces())
		if err != nil {
			return err
		}
		groups = append(groups, clusters)
	}
	if err := server.InstallAPIGroups(groups...); err != nil {
		return fmt.Errorf("could not install the API groups: %w", err)
	}
	return s.addControllers(ctx, config)
}

// issuers are the embedded controllers, whoever else may write a status. Where none run
// everybody is one: there is nobody to keep what was issued from.
func issuers(config CompletedConfig) clusterpeer.Issuers {
	if config.NeverLeads {
		return func(user.Info) bool { return true }
	}
	return func(who user.Info) bool {
		return who.GetName() == user.APIServerUser && slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
	}
}

// peeringGroup maps the resources of peering.entente.dev to their endpoints; sight
// decides who sees sensitive fields, and the carrier takes requests to the peers; nil: nobody
// does.
func peeringGroup(api *API, generic *genericapiserver.Config, sight authorizer.Authorizer, issuers clusterpeer.Issuers, carrier clusterpeer.Carrier) (*genericapiserver.APIGroupInfo, error) {
	group := genericapiserver.NewDefaultAPIGroupInfo(peering.GroupName, api.Scheme, api.ParameterCodec, api.Codecs)
	group.NegotiatedSerializer = sensitive.NewNegotiatedSerializer(api.Codecs)
	metrics, err := sensitive.NewMetrics("entente", legacyregistry.Register)
	if err != nil {
		return nil, err
	}
	capabilityGuard, err := escalation.NewCapabilityGuard(generic.Authorization.Authorizer)
	if err != nil {
		return nil, err
	}
	capabilities, err := peeringcapability.NewStorage(api.Scheme, generic.RESTOptionsGetter, capabilityGuard)
	if err != nil {
		return nil, err
	}
	peerGuard, err := escalation.NewPeerGuard(generic.Authorization.Authorizer, capabilities.Main)
	if err != nil {
		return nil, err
	}
	clusterPeers, err := clusterpeer.NewStorage(api.Scheme, generic.RESTOptionsGetter, sight, metrics, issuers, peerGuard, carrier)
	if err != nil {
		return nil, err
	}
	projectPeers, err := projectpeer.NewStorage(api.Scheme, generic.RESTOptionsGetter)
	if err != nil {
		return nil, err
	}
	providers, err := tokenexchangeprovider.NewStorage(api.Scheme, generic.RESTOptionsGetter)
	if err != nil {
		return nil, err
	}
	group.VersionedResourcesStorageMap[peeringv1alpha1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"clusterpeers":                  clusterPeers.Main,
		"clusterpeers/status":           clusterPeers.Status,
		"clusterpeers/sensitive":        clusterPeers.Sensitive,
		"clusterpeers/proxy":            clusterPeers.Proxy,
		"peeringcapabilities":           capabilities.Main,
		"peeringcapabilities/status":    capabilities.Status,
		"projectpeers":                  projectPeers.Main,
		"projectpeers/status":           projectPeers.Status,
		"tokenexchangeproviders":        providers.Main,
		"tokenexchangeproviders/status": providers.Status,
	}
	return &group, nil
}

// addControllers starts what deals with other clusters once the server is ready: the
// gateway, and the embedded controllers while it leads, over the loopback client, so that
// they go through the same registry as everyone. They end before the server drains.
func (s *Server) addControllers(ctx context.Context, config CompletedConfig) error {
	var err error
	if s.loopback, err = restclient.HTTPClientFor(s.generic.LoopbackClientConfig); err != nil {
		return fmt.Errorf("could not make the controllers' client: %w", err)
	}
	client, err := versioned.NewForConfigAndClient(s.generic.LoopbackClientConfig, s.loopback)
	if err != nil {
		return fmt.Errorf("could not make the controllers' client: %w", err)
	}
	recorder, err := s.recordEvents(ctx, config.api)
	if err != nil {
		return err
	}
	s.peering.record(recorder)
	term := func() (catalog, error) { return s.peering.controllers(client) }
	// What is wrong with their config is said now, not when this server is elected.
	if _, err := term(); err != nil {
		return err
	}
	lead := s.mode.lead
	if config.NeverLeads {
		lead = neverLead
	}
	office := newOffice(lead, term)
	// The hooks' contexts end with the server's, before it drains: the controllers
	// end when they are told to.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var serving sync.WaitGroup
	start := func(genericapiserver.PostStartHookContext) error {
		serving.Go(func() { s.peering.begin(running, client, func() { office.start(context.WithoutCancel(ctx)) }) })
		return nil
	}
	stop := func() error {
		stopping, done := context.WithTimeout(context.WithoutCancel(ctx), controllerStopTimeout)
		defer done()
		err := office.stop(stopping)
		cancel()
		serving.Wait()
		return err
	}
	if err := s.generic.AddPostStartHook("start-controllers", start); err != nil {
		cancel()
		return err
	}
	return s.generic.AddPreShutdownHook("stop-controllers", stop)
}

// recordEvents records Events in the host cluster. Without one there is nowhere to
// record them: they are log lines.
func (s *Server) recordEvents(ctx context.Context, api *API) (events.EventRecorder, error) {
	// The controllers are awaited after ctx has ended.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sink := s.mode.events()
	broadcaster := events.NewBroadcaster(sink)
	stop := cancel
	if sink == nil {
		stopLogging, err := broadcaster.StartLogging(klog.FromContext(ctx))
		if err != nil {
			cancel()
			return nil, fmt.Errorf("could not log Events: %w", err)
		}
		stop = func() { stopLogging(); cancel() }
	} else if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("could not record Events: %w", err)
	}
	s.stopEvents = func() { broadcaster.Shutdown(); stop() }
	return broadcaster.NewRecorder(api.Scheme, "entente"), nil
}
