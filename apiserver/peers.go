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
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/apiserver/entrance"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/apiserver/outlet"
	"entente.dev/entente/controllers"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/registry/ledger"
)

// peers is the part of a server that deals with other clusters, beside the API: the
// ledger, the gateway that they dial and the client that dials them.
type peers struct {
	config PeeringConfig
	self   exchange.Self
	issuer func(context.Context) (*protocol.Issuer, error)
	host   *controllers.Host // nil: there is none
	// clusters is what the controllers of target clusters need; nil: they are not served.
	clusters *controllers.Clusters
	store    *clientv3.Client
	ledger   *ledger.Ledger
	claims   *record.IssuerClaims
	unclaim  func()
	dialer   *client.Dialer
	journal  *journal
	clock    clock.WithTicker

	listener net.Listener     // nil: this cluster can only join
	gateway  *gateway.Gateway // nil likewise
	specs    *specs
	entrance *entrance.Entrance // nil: without a gateway, or without a host cluster
	outlet   *outlet.Outlet     // nil without a host cluster

	lock     sync.Mutex
	stranger error // why this cluster is not the one that it has peered as
}

// newPeers makes the parts and starts none of them.
func newPeers(ctx context.Context, config CompletedConfig, storage storagebackend.Config, generic *genericapiserver.Config, mode mode, listener net.Listener) (*peers, error) {
	p := &peers{
		config:   config.Peering,
		self:     exchange.Self{ClusterUUID: mode.clusterUUID(), Endpoints: config.Peering.Endpoints},
		issuer:   mode.issuer,
		host:     mode.cluster(),
		clusters: config.clusters(mode),
		clock:    config.Peering.Clock,
		listener: listener,
		specs:    &specs{},
	}
	if p.clock == nil {
		p.clock = clock.RealClock{}
	}
	metrics, err := newGatewayMetrics(legacyregistry.Register)
	if err != nil {
		return nil, err
	}
	p.journal = newJournal(generic.AuditBackend, generic.AuditPolicyRuleEvaluator, metrics)
	p.dialer, err = client.New(client.Config{
		Policy:   client.Policy{AllowLocal: p.config.AllowLocalEndpoints, Deny: p.config.DenyEgress},
		ProxyURL: p.config.ProxyURL,
		Clock:    p.clock,
	})
	if err != nil {
		return nil, fmt.Errorf("could not set up dialling other clusters: %w", err)
	}
	if p.store, err = etcd.NewClient(context.WithoutCancel(ctx), storage.Transport); err != nil {
		return nil, err
	}
	p.ledger, err = ledger.New(ledger.Config{
		Client:       p.store,
		Prefix:       storage.Prefix,
		Transformers: generic.ResourceTransformers,
		Epoch:        mode.epoch(),
	})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.claims, p.unclaim = record.NewIssuerClaims(p.ledger)
	if listener != nil {
		p.gateway, err = gateway.New(gateway.Config{
			Ledger: p.ledger, Self: p.self, Specs: p.specs.of, Observer: p.journal, Clock: p.clock, Limits: p.config.Limits,
		})
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if err := p.carry(config, mode); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// carry makes the two ends by which workloads use the API of another cluster (G7, G8):
// that of those who come in by the gateway, and that of our own.
func (p *peers) carry(config CompletedConfig, mode mode) error {
	api, tokens, err := mode.workloads()
	if err != nil || api == nil {
		return err
	}
	p.outlet, err = outlet.New(outlet.Config{
		Ledger:       p.ledger,
		Specs:        p.specs.of,
		Capabilities: p.specs.capability,
		Tokens:       tokens,
		Dialer:       p.dialer,
		Clock:        p.clock,
		Serializer:   config.api.Codecs,
		Register:     legacyregistry.Register,
		Limits:       outlet.Limits{Requests: p.config.Workloads.MaxInFlight},
	})
	if err != nil || p.gateway == nil {
		return err
	}
	p.entrance, err = entrance.New(entrance.Config{
		Ledger:       p.ledger,
		Specs:        p.specs.of,
		Capabilities: p.specs.capability,
		Claims:       p.claims,
		API:          api,
		ClusterUUID:  p.self.ClusterUUID,
		Auditor:      p.journal,
		Clock:        p.clock,
		Limits: entrance.Limits{
			Requests: rate.Limit(p.config.Workloads.QPS), Burst: p.config.Workloads.Burst, Streams: p.config.Workloads.MaxInFlight,
		},
	})
	if err != nil {
		return err
	}
	return p.gateway.Handle(protocol.PathAPI, record.RoleData, p.entrance)
}

// Close ends the connection to the store. It may be called more than once.
func (p *peers) Close() error {
	if p.unclaim != nil {
		p.unclaim()
	}
	if err := p.store.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("could not close the connection to the store: %w", err)
	}
	return nil
}

// checks say whether other clusters can be dealt with.
func (p *peers) checks() []healthz.HealthChecker {
	return []healthz.HealthChecker{
		p.ledger.Readiness(),
		healthz.NamedCheck("cluster-uuid", func(*http.Request) error {
			p.lock.Lock()
			defer p.lock.Unlock()
			return p.stranger
		}),
	}
}

// begin waits until it is known what is in the ledger and who this cluster is, then
// serves other clusters until ctx ends, and calls lead for the controllers. It returns
// when the gateway has ended.
func (p *peers) begin(ctx context.Context, clients versioned.Interface, lead func()) {
	log := klog.FromContext(ctx)
	factory := externalversions.NewSharedInformerFactory(clients, 0)
	if err := p.specs.follow(factory); err != nil {
		log.Error(err, "No other cluster is served")
		return
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if !cache.WaitFor(ctx, "peering", p.specs.synced()...) {
		return
	}
	select {
	case <-p.ledger.Synced():
	case <-ctx.Done():
		return
	}
	err := p.accept(ctx)
	if err == nil {
		err = p.awaitTrust(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			log.Error(err, "Not ready: no other cluster is served, and no controller runs")
		}
		return
	}
	lead()
	defer p.runEnds(ctx)()
	if p.gateway == nil {
		<-ctx.Done()
		return
	}
	log.Info("Serving other clusters", "address", p.listener.Addr().String(), "endpoints", p.self.Endpoints)
	if err := p.gateway.Serve(ctx, p.listener); err != nil && ctx.Err() == nil {
		log.Error(err, "The gateway has ended")
	}
}

// runEnds runs the two ends by which workloads use another cluster. What is short may end by
// itself when ctx does; what lasts is ended soon after. It returns how to wait for that.
func (p *peers) runEnds(ctx context.Context) (wait func()) {
	after, end := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	if p.outlet != nil {
		all.Go(func() { p.outlet.Run(after) })
	}
	if p.entrance != nil {
		all.Go(func() { p.entrance.Run(after) })
	}
	all.Go(func() {
		defer end()
		<-ctx.Done()
		<-p.clock.After(shortRequests)
	})
	return all.Wait
}

// shortRequests is for how long requests of workloads that are under way may go on while the
// server stops.
const shortRequests = 2 * time.Second

// accept does what --accept-restored-store and --accept-changed-cluster-uuid say, and
// fails if this cluster has peered under another UUID.
func (p *peers) accept(ctx context.Context) error {
	if p.config.AcceptRestoredStore {
		if err := p.ledger.AcceptRestored(ctx); err != nil {
			return fmt.Errorf("could not accept the restored store: %w", err)
		}
	}
	known := p.ledger.Identity()
	if known == nil || known.ClusterUUID == p.self.ClusterUUID {
		return nil
	}
	if p.config.AcceptChangedClusterUUID {
		return p.ledger.Update(ctx, func(tx record.Tx) error {
			return tx.PutIdentity(&record.Identity{ClusterUUID: p.self.ClusterUUID})
		})
	}
	err := fmt.Errorf("this cluster is %s, and has peered as %s: other clusters would not know it; if that is right, start with --accept-changed-cluster-uuid and pair anew, else give the former by --cluster-uuid", p.self.ClusterUUID, known.ClusterUUID)
	p.lock.Lock()
	defer p.lock.Unlock()
	p.stranger = err
	return err
}

// awaitTrust waits until the store is not behind the epoch, or ctx ends: until somebody,
// perhaps another replica, has accepted it nothing is done on its word (S2).
func (p *peers) awaitTrust(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, storeRetryInterval, true, func(context.Context) (bool, error) {
		return !errors.Is(p.ledger.Fresh(), record.ErrRestored), nil
	})
}

// controllers makes the controllers of one term of office.
func (p *peers) controllers(clients versioned.Interface) (*controllers.Catalog, error) {
	config := controllers.Config{
		Client:         clients,
		Recorder:       p.journal,
		Clock:          p.clock,
		Ledger:         p.ledger,
		Claims:         p.claims,
		Dialer:         p.dialer,
		Self:           p.self,
		Specs:          p.specs.of,
		Issuer:         p.issuer,
		Host:           p.host,
		ProjectLabel:   p.config.ProjectLabel,
		PeeringVersion: version.Get().GitVersion,
		Alias:          p.config.ClusterAlias,
	}
	if p.gateway != nil {
		config.Contacts = p.gateway
	}
	if p.clusters != nil {
		clusters := *p.clusters
		clusters.Recorder = p.journal.recorder
		config.Clusters = &clusters
	}
	return controllers.NewCatalog(config)
}

// record says where Events are recorded.
func (p *peers) record(recorder events.EventRecorder) { p.journal.recorder = recorder }
