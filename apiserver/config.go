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
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/value"

	"entente.dev/entente/registry/peering/clusterpeer"
)

// Config says what server to make. The library's own option structs stand for
// the parts that the library configures.
type Config struct {
	// Standalone makes the server authenticate and authorize by itself, from
	// files in DataDir, instead of asking a host cluster.
	Standalone bool
	// Host says which cluster is the host, unless the server is standalone.
	Host HostConfig
	// DataDir holds the embedded store and, in standalone mode, keys, users and
	// RBAC manifests. Not needed with an external etcd and a host cluster.
	DataDir string
	// QuotaBackendBytes limits the embedded store's database, in bytes. 0 means
	// the default of package etcd.
	QuotaBackendBytes int64
	// ServeGroups are API groups that are served beside peering.entente.dev: those of Groups
	// that somebody wants.
	ServeGroups []string
	// Peering says how this cluster peers with others.
	Peering PeeringConfig
	// Clusters says how target clusters are dealt with, if their group is served.
	Clusters ClustersConfig

	ServerRun     *genericoptions.ServerRunOptions
	Etcd          *genericoptions.EtcdOptions
	SecureServing *genericoptions.SecureServingOptionsWithLoopback
	Audit         *genericoptions.AuditOptions
	Features      *genericoptions.FeatureOptions

	// WrapAuthorizer, if set, replaces each of the two authorizers, that of requests and
	// that of the sight of sensitive values, by one of the caller's making around it.
	// Tests use it to count, delay and refuse.
	WrapAuthorizer func(authorizer.Authorizer) authorizer.Authorizer
	// WrapTransformers, if set, replaces what encrypts stored values by something of
	// the caller's making around it. Tests use it to store in the clear.
	WrapTransformers func(value.ResourceTransformers) value.ResourceTransformers
	// WrapCarrier, if set, replaces what carries requests of workloads to the peers, which
	// is nil if nothing does, by something of the caller's making around it. Tests use it
	// where there is no host cluster.
	WrapCarrier func(clusterpeer.Carrier) clusterpeer.Carrier
	// NeverLeads makes the server one that runs no controllers, as a replica is while
	// another one leads. Tests of what the API does by itself use it: the controllers take
	// out of a status what somebody else has written there.
	NeverLeads bool
}

// HostConfig says which cluster is the host, and where this server is in it.
type HostConfig struct {
	// Kubeconfig is the path of a kubeconfig. Empty: the ServiceAccount of the pod.
	Kubeconfig string
	// Namespace holds the server's Service and Secrets. Empty: that of the pod, or
	// host.DefaultNamespace outside of one.
	Namespace string
	// ServiceName is the name of the Service that the APIServices lead to. Required
	// unless a serving certificate is given.
	ServiceName string
	// AccessNamespace holds the Secrets with which workloads dial the peers themselves.
	// Nothing else is in it.
	AccessNamespace string
	// Impersonation is how this server does what workloads of peers ask for in their name;
	// empty is ImpersonationAuto.
	Impersonation Impersonation
}

// Impersonation is how a server may do in the host cluster what others ask for in their
// name (H2).
type Impersonation string

const (
	// ImpersonationAuto goes by the version of the host cluster.
	ImpersonationAuto Impersonation = "auto"
	// ImpersonationConstrained is limited to named users and to what they are granted. It
	// takes Kubernetes v1.36, or a feature gate before.
	ImpersonationConstrained Impersonation = "constrained"
	// ImpersonationLegacy is limited to named users.
	ImpersonationLegacy Impersonation = "legacy"
)

// constrained tells whether impersonation is to be constrained in a host cluster that can
// do that, or not.
func (i Impersonation) constrained(can bool) bool {
	return i == ImpersonationConstrained || (i != ImpersonationLegacy && can)
}

// CompletedConfig is a Config that New accepts.
type CompletedConfig struct {
	*completedConfig
}

type completedConfig struct {
	Config
	api *API
}

// embedded says whether the store is etcd in this process.
func (c *completedConfig) embedded() bool {
	return len(c.Etcd.StorageConfig.Transport.ServerList) == 0
}

// Complete checks the config and derives what follows from it.
func (c Config) Complete() (CompletedConfig, error) {
	if c.ServerRun == nil || c.Etcd == nil || c.SecureServing == nil || c.Audit == nil || c.Features == nil {
		return CompletedConfig{}, errors.New("could not configure the server: an option group is missing")
	}
	completed := &completedConfig{Config: c}
	if c.DataDir == "" && (c.Standalone || completed.embedded()) {
		return CompletedConfig{}, errors.New("could not configure the server: --data-dir is needed for the embedded store and in standalone mode")
	}
	var err error
	if completed.api, err = NewAPI(); err != nil {
		return CompletedConfig{}, fmt.Errorf("could not configure the server: %w", err)
	}
	return CompletedConfig{completed}, nil
}
