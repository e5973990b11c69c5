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
	"path/filepath"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"

	"entente.dev/entente/apiserver/credentials"
	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/epoch"
	"entente.dev/entente/apiserver/host"
	"entente.dev/entente/apiserver/standalone"
	"entente.dev/entente/apiserver/standalone/reviews"
	"entente.dev/entente/controllers"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/registry/ledger"
)

// standaloneMode stands in for a host cluster with files in the data folder.
type standaloneMode struct {
	config      CompletedConfig
	environment *standalone.Environment
}

func (m *standaloneMode) prepare(ctx context.Context, port int) (err error) {
	m.environment, err = standalone.Prepare(ctx, standalone.Config{DataDir: m.config.DataDir, Port: port})
	return err
}

func (m *standaloneMode) clusterUUID() string {
	if m.config.Peering.ClusterUUID != "" {
		return m.config.Peering.ClusterUUID
	}
	return m.environment.ClusterUUID
}

func (m *standaloneMode) keys() encryption.KeyStore {
	return encryption.NewFileStore(m.config.DataDir)
}

func (m *standaloneMode) epoch() ledger.EpochStore { return epoch.NewFile(m.config.DataDir) }

func (m *standaloneMode) serving(options *genericoptions.SecureServingOptions) error {
	if options.ServerCert.CertKey.CertFile == "" {
		options.ServerCert.CertKey = genericoptions.CertKey{CertFile: m.environment.ServingCertFile, KeyFile: m.environment.ServingKeyFile}
	}
	return nil
}

// configure knows users by their client certificates and their rights from the
// manifests. Priority and fairness reads its configuration from a host cluster;
// without one requests are limited by --max-requests-inflight.
func (m *standaloneMode) configure(_ context.Context, generic *genericapiserver.Config) error {
	features := *m.config.Features
	features.EnablePriorityAndFairness = false
	if err := features.ApplyTo(generic, nil, nil); err != nil {
		return err
	}
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", m.environment.ClientCAFile)
	if err != nil {
		return fmt.Errorf("could not read the client CA: %w", err)
	}
	factory := authenticatorfactory.DelegatingAuthenticatorConfig{Anonymous: anonymous(), ClientCertificateCAContentProvider: clientCA}
	generic.Authentication.Authenticator, _, err = factory.New()
	if err != nil {
		return fmt.Errorf("could not set up authentication: %w", err)
	}
	if err := generic.Authentication.ApplyClientCert(clientCA, generic.SecureServing); err != nil {
		return fmt.Errorf("could not set up authentication: %w", err)
	}
	generic.RuleResolver = m.environment.Authorizer
	return nil
}

// rights keeps no answers: the manifests are in memory.
func (m *standaloneMode) rights() (requests, sight authorizer.Authorizer, err error) {
	return m.environment.Authorizer, m.environment.Authorizer, nil
}

// admit admits everything: plugins are configured by objects of a host cluster.
func (m *standaloneMode) admit(context.Context, *genericapiserver.Config) error { return nil }

func (m *standaloneMode) informers() informers.SharedInformerFactory { return nil }

// groups answers kubectl auth, as a host cluster would.
func (m *standaloneMode) groups(generic *genericapiserver.Config) ([]*genericapiserver.APIGroupInfo, error) {
	return reviews.APIGroups(generic.Authorization.Authorizer, generic.RuleResolver)
}

func (m *standaloneMode) checks() []healthz.HealthChecker { return nil }

func (m *standaloneMode) events() events.EventSink { return nil }

// issuer knows of nobody: there are no ServiceAccounts.
func (m *standaloneMode) issuer(context.Context) (*protocol.Issuer, error) { return nil, nil }

// credentials are files of the data folder.
func (m *standaloneMode) credentials() targets.Credentials {
	return credentials.NewFiles(filepath.Join(m.config.DataDir, secretsFolder))
}

// secretsFolder is where the files are that stand for Secrets, in the data folder.
const secretsFolder = "secrets"

func (m *standaloneMode) ownNamespaces() []string { return nil }

// cluster is none: there are no namespaces, and nobody to grant anything.
func (m *standaloneMode) cluster() *controllers.Host { return nil }

// workloads are nobody's: there is no host cluster whose API they could use.
func (m *standaloneMode) workloads() (*host.API, corev1client.ServiceAccountsGetter, error) {
	return nil, nil, nil
}

// lead is all that there is: the data folder belongs to one process.
func (m *standaloneMode) lead(ctx context.Context, work func(context.Context)) error {
	work(ctx)
	return nil
}

func (m *standaloneMode) run(ctx context.Context) { m.environment.Run(ctx) }
