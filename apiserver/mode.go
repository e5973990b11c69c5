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

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"

	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/host"
	"entente.dev/entente/controllers"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/registry/ledger"
)

// mode is what differs between a server behind a host cluster and one without.
// Its methods are called in this order, once each unless they say otherwise.
type mode interface {
	// prepare makes what a server on this port needs.
	prepare(ctx context.Context, port int) error
	// clusterUUID is the identity of this cluster.
	clusterUUID() string
	// keys is where the generated key of the store is kept.
	keys() encryption.KeyStore
	// epoch is where the epoch of the ledger is kept.
	epoch() ledger.EpochStore
	// serving completes how to serve: the certificate.
	serving(options *genericoptions.SecureServingOptions) error
	// configure decides who users are and how many requests are served at a time.
	configure(ctx context.Context, generic *genericapiserver.Config) error
	// rights returns two authorizers that know the users' rights: one for requests, and
	// one for the sight of sensitive values, which forgets sooner (R3).
	rights() (requests, sight authorizer.Authorizer, err error)
	// admit sets the admission plugins; the server's authorizer is set.
	admit(ctx context.Context, generic *genericapiserver.Config) error
	// informers follow the host cluster; nil without one.
	informers() informers.SharedInformerFactory
	// checks say whether the server is ready.
	checks() []healthz.HealthChecker
	// groups are the API groups that are served beside our own.
	groups(generic *genericapiserver.Config) ([]*genericapiserver.APIGroupInfo, error)
	// events is where Events are recorded; nil: nowhere, they are log lines.
	events() events.EventSink
	// issuer reads who issues the tokens of this cluster's ServiceAccounts, as often as it
	// is asked; nil: nobody.
	issuer(ctx context.Context) (*protocol.Issuer, error)
	// credentials reads what Clusters name.
	credentials() targets.Credentials
	// ownNamespaces are the namespaces of the host cluster that are this server's own.
	ownNamespaces() []string
	// cluster is the host cluster as the controllers reach it; nil without one.
	cluster() *controllers.Host
	// workloads is how requests of other clusters' workloads are carried to the host cluster,
	// and what makes tokens for its own; nil without one.
	workloads() (*host.API, corev1client.ServiceAccountsGetter, error)
	// lead calls work whenever this server is the one of its replicas to run the
	// controllers, until ctx ends. The context of work ends when it no longer is.
	lead(ctx context.Context, work func(context.Context)) error
	// run does what is to be done while the server serves and drains, until ctx ends.
	run(ctx context.Context)
}

// newMode waits until there is what the mode depends on.
func newMode(ctx context.Context, config CompletedConfig) (mode, error) {
	if config.Standalone {
		return &standaloneMode{config: config}, nil
	}
	return newHostMode(ctx, config)
}

// healthPaths may be asked by anybody: they say nothing but ok.
func healthPaths() []string { return []string{"/healthz", "/livez", "/readyz"} }

// anonymous lets nobody in without a name except to the health paths.
func anonymous() *apiserver.AnonymousAuthConfig {
	config := &apiserver.AnonymousAuthConfig{Enabled: true}
	for _, healthPath := range healthPaths() {
		config.Conditions = append(config.Conditions, apiserver.AnonymousAuthCondition{Path: healthPath})
	}
	return config
}

// authorize lets the loopback client do everything and anybody ask for health; all
// else is decided by rights.
func authorize(rights authorizer.Authorizer) (authorizer.Authorizer, error) {
	health, err := path.NewAuthorizer(healthPaths())
	if err != nil {
		return nil, fmt.Errorf("could not set up authorization: %w", err)
	}
	a, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "privileged-groups", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
		union.NamedAuthorizer{AuthorizerName: "rights", Authorizer: rights},
	)
	if err != nil {
		return nil, fmt.Errorf("could not set up authorization: %w", err)
	}
	return a, nil
}
