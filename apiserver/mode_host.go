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
	"os"
	"slices"
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver/credentials"
	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/epoch"
	"entente.dev/entente/apiserver/host"
	"entente.dev/entente/apiserver/servingcert"
	"entente.dev/entente/controllers"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/registry/ledger"
)

// informerResync is after what time informers hand everything out again, as in
// other Kubernetes servers.
const informerResync = 10 * time.Minute

// hostMode delegates to a host cluster.
type hostMode struct {
	config      CompletedConfig
	host        *host.Host
	uuid        string
	factory     informers.SharedInformerFactory
	monitor     *host.Monitor
	header      *host.RequestHeader
	tokens      *host.Issuer
	certificate *servingcert.Manager // nil with --tls-cert-file
}

func newHostMode(ctx context.Context, config CompletedConfig) (*hostMode, error) {
	h, err := host.New(host.Config{Kubeconfig: config.Host.Kubeconfig, Namespace: config.Host.Namespace})
	if err != nil {
		return nil, err
	}
	if err := h.Await(ctx, config.groups()...); err != nil {
		return nil, err
	}
	if err := awaitKeys(ctx, keysInSecret(h)); err != nil {
		return nil, err
	}
	clusterUUID := config.Peering.ClusterUUID
	if clusterUUID == "" {
		if clusterUUID, err = h.ClusterUUID(ctx); err != nil {
			return nil, err
		}
	}
	return &hostMode{
		config:  config,
		host:    h,
		uuid:    clusterUUID,
		factory: informers.NewSharedInformerFactoryWithOptions(h.Client, informerResync, informers.WithTransform(onlyPoliciesFor(config.groups()...))),
		monitor: h.NewMonitor(),
		tokens:  h.NewIssuer(),
	}, nil
}

// apiServices are the names of the APIServices of some groups, each of which has one version.
func apiServices(groups []string) []string {
	var names []string
	for _, version := range storageVersions() {
		if slices.Contains(groups, version.Group) {
			names = append(names, version.Version+"."+version.Group)
		}
	}
	return names
}

func (m *hostMode) prepare(ctx context.Context, _ int) (err error) {
	m.header, err = m.host.NewRequestHeader(ctx)
	return err
}

func (m *hostMode) clusterUUID() string { return m.uuid }

func (m *hostMode) keys() encryption.KeyStore {
	return keysInSecret(m.host)
}

// awaitKeys waits until the Secret of the key is there and may be read, or ctx ends.
func awaitKeys(ctx context.Context, keys encryption.KeyStore) error {
	said := ""
	err := wait.PollUntilContextCancel(ctx, storeRetryInterval, true, func(ctx context.Context) (bool, error) {
		_, err := keys.Load(ctx)
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			klog.FromContext(ctx).Error(err, "Not ready: waiting for the key of the store")
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("gave up waiting for the key of the store: %w", err)
	}
	return nil
}

// keysInSecret keeps the generated key of the store in the host cluster.
func keysInSecret(h *host.Host) encryption.KeyStore {
	return encryption.NewSecretStore(h.Client.CoreV1().Secrets(h.Namespace), h.Namespace, encryption.SecretName)
}

func (m *hostMode) epoch() ledger.EpochStore {
	return epoch.NewSecret(m.host.Client.CoreV1().Secrets(m.host.Namespace), m.host.Namespace)
}

// serving uses a certificate of our own CA, unless one is given.
func (m *hostMode) serving(options *genericoptions.SecureServingOptions) error {
	// kube-apiserver sends what it proxies over few connections.
	if options.HTTP2MaxStreamsPerConnection == 0 {
		options.HTTP2MaxStreamsPerConnection = 1000
	}
	if options.ServerCert.CertKey.CertFile != "" {
		return nil
	}
	var err error
	m.certificate, err = servingcert.New(m.host.Client.CoreV1().Secrets(m.host.Namespace), servingcert.NewAPIServices(m.host.Dynamic), servingcert.Options{
		Namespace:   m.host.Namespace,
		Service:     m.config.Host.ServiceName,
		APIServices: apiServices(m.config.groups()),
	})
	if err != nil {
		return err
	}
	options.ServerCert.GeneratedCert = m.certificate
	return m.certificate.RegisterMetrics(legacyregistry.CustomRegister)
}

// configure knows users by what the host cluster vouches for.
func (m *hostMode) configure(ctx context.Context, generic *genericapiserver.Config) error {
	features := *m.config.Features
	if features.EnablePriorityAndFairness && !m.host.Serves(flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")) {
		klog.FromContext(ctx).Info("The host cluster lacks an API: requests are limited by --max-requests-inflight, not by priority and fairness", "lacks", flowcontrolv1.SchemeGroupVersion)
		features.EnablePriorityAndFairness = false
	}
	if err := features.ApplyTo(generic, m.host.Client, m.factory); err != nil {
		return err
	}
	return m.host.Authenticate(generic, m.header, anonymous())
}

func (m *hostMode) rights() (requests, sight authorizer.Authorizer, err error) {
	if requests, err = m.host.Authorizer(); err != nil {
		return nil, nil, err
	}
	if sight, err = m.host.SightAuthorizer(); err != nil {
		return nil, nil, err
	}
	return requests, sight, nil
}

func (m *hostMode) informers() informers.SharedInformerFactory { return m.factory }

func (m *hostMode) groups(*genericapiserver.Config) ([]*genericapiserver.APIGroupInfo, error) {
	return nil, nil
}

func (m *hostMode) checks() []healthz.HealthChecker {
	checks := []healthz.HealthChecker{m.monitor, m.header}
	if m.certificate != nil {
		checks = append(checks, m.certificate)
	}
	return checks
}

func (m *hostMode) events() events.EventSink {
	return &events.EventSinkImpl{Interface: m.host.Client.EventsV1()}
}

func (m *hostMode) issuer(ctx context.Context) (*protocol.Issuer, error) {
	url, jwks, err := m.tokens.Read(ctx)
	if err != nil || url == "" {
		return nil, err
	}
	return &protocol.Issuer{URL: url, JWKS: jwks}, nil
}

func (m *hostMode) credentials() targets.Credentials {
	return credentials.NewHost(m.host.Credentials.CoreV1())
}

func (m *hostMode) ownNamespaces() []string {
	return []string{m.host.Namespace, m.config.Host.AccessNamespace}
}

func (m *hostMode) cluster() *controllers.Host {
	return &controllers.Host{
		Client: m.host.Client, Bulk: m.host.Bulk, Dynamic: m.host.Dynamic, Discovery: m.host.Discovery, Namespace: m.host.Namespace,
		Self:                     m.host.Self(),
		ConstrainedImpersonation: m.config.Host.Impersonation.constrained(m.host.ConstrainsImpersonation()),
		AccessNamespace:          m.config.Host.AccessNamespace,
		Config:                   m.host.Config(),
	}
}

func (m *hostMode) workloads() (*host.API, corev1client.ServiceAccountsGetter, error) {
	api, err := m.host.API()
	return api, m.host.Tokens(), err
}

func (m *hostMode) lead(ctx context.Context, work func(context.Context)) error {
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("could not name this replica: %w", err)
	}
	return m.host.Lead(ctx, name+"_"+string(uuid.NewUUID()), work)
}

func (m *hostMode) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { m.monitor.Run(ctx) })
	all.Go(func() { m.header.Run(ctx) })
	all.Wait()
}
