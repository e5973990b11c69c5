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
	"fmt"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/peering"
	"entente.dev/entente/controllers"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/registry/core/cluster"
	"entente.dev/entente/registry/core/release"
	"entente.dev/entente/registry/sensitive"
)

// ClustersConfig says how target clusters are dealt with: the kinds Cluster and Release.
type ClustersConfig struct {
	// Resync is after what time a Cluster that cannot be used is looked at again, and a
	// Release applied again.
	Resync time.Duration
	// AllowLocalEndpoints allows target clusters on the loopback interface.
	AllowLocalEndpoints bool
	// AllowInsecureTLS and AllowProxyURL allow kubeconfigs that say so.
	AllowInsecureTLS, AllowProxyURL bool
	// TokenAndCert has the auth types token and clientCert work.
	TokenAndCert bool
	// ReleaseDeleteTimeout is for how long what a deleted Release has in its target is tried
	// to be deleted (C5).
	ReleaseDeleteTimeout time.Duration
}

// Groups are the API groups that a server can serve. The first is always served.
func Groups() []string { return []string{peering.GroupName, core.GroupName} }

// serves tells whether a group is served.
func (c *completedConfig) serves(group string) bool { return slices.Contains(c.groups(), group) }

// groups are the API groups that are served.
func (c *completedConfig) groups() []string {
	return slices.DeleteFunc(Groups(), func(group string) bool {
		return group != peering.GroupName && !slices.Contains(c.ServeGroups, group)
	})
}

// clusters is what the controllers of target clusters need; nil if they are not served.
func (c *completedConfig) clusters(mode mode) *controllers.Clusters {
	if !c.serves(core.GroupName) {
		return nil
	}
	config := &controllers.Clusters{
		Targets: targets.Config{
			Credentials:   mode.credentials(),
			OwnNamespaces: mode.ownNamespaces(),
			Allow:         target.Allowances{InsecureTLS: c.Clusters.AllowInsecureTLS, ProxyURL: c.Clusters.AllowProxyURL},
			Policy:        client.Policy{AllowLocal: c.Clusters.AllowLocalEndpoints, Deny: c.Peering.DenyEgress},
			TokenAndCert:  c.Clusters.TokenAndCert,
		},
		Resync:               c.Clusters.Resync,
		ReleaseDeleteTimeout: c.Clusters.ReleaseDeleteTimeout,
	}
	if host := mode.cluster(); host != nil {
		config.Targets.Host = host.Config
	}
	return config
}

// coreGroup maps the resources of core.convoy.kumodo.io to their endpoints. The Secrets of
// ownNamespaces are for nobody.
func coreGroup(api *API, generic *genericapiserver.Config, ownNamespaces []string) (*genericapiserver.APIGroupInfo, error) {
	group := genericapiserver.NewDefaultAPIGroupInfo(core.GroupName, api.Scheme, api.ParameterCodec, api.Codecs)
	group.NegotiatedSerializer = sensitive.NewNegotiatedSerializer(api.Codecs)
	clusters, err := cluster.NewStorage(api.Scheme, generic.RESTOptionsGetter, generic.Authorization.Authorizer, ownNamespaces)
	if err != nil {
		return nil, fmt.Errorf("could not serve Clusters: %w", err)
	}
	releases, err := release.NewStorage(api.Scheme, generic.RESTOptionsGetter, generic.Authorization.Authorizer)
	if err != nil {
		return nil, fmt.Errorf("could not serve Releases: %w", err)
	}
	group.VersionedResourcesStorageMap[corev1alpha1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"clusters":        clusters.Main,
		"clusters/status": clusters.Status,
		"releases":        releases.Main,
		"releases/status": releases.Status,
	}
	return &group, nil
}
