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

package peerprovider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "peerprovider"
	// FieldManager is the name under which the controller owns fields of a status, and the
	// objects that it makes.
	FieldManager = "entente-peerprovider-controller"

	workers = 2
	// requestTimeout bounds one request to our own server, or one write to the ledger, so
	// that a hung one does not hold a worker for ever.
	requestTimeout = 10 * time.Second
	// rejectedFor is after what time a provider is tried again that was refused: what the
	// refusal hangs on changes without a change of the object.
	rejectedFor = 30 * time.Second
)

// Config is what the controller needs from outside. All of it but Serves is required.
type Config struct {
	// Client writes TokenExchangeProviders, and statuses of ClusterPeers.
	Client versioned.Interface
	// ClusterPeers and Providers tell which there are. They are started by their owner,
	// after New.
	ClusterPeers informers.ClusterPeerInformer
	Providers    informers.TokenExchangeProviderInformer
	// Plans says which capabilities take effect.
	Plans access.Plans
	// Ledger tells what the peers publish, and keeps the key of the proofs.
	Ledger record.Ledger
	// ClusterUUID is that of this cluster.
	ClusterUUID string
	// Serves says that workloads of peers are let in here: there is a gateway, and a host
	// cluster behind it. Without that there are no providers, and nothing is said of them.
	Serves bool
	// Recorder records Events of ClusterPeers.
	Recorder events.EventRecorder
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

func (c Config) complete() bool {
	return c.Client != nil && c.ClusterPeers != nil && c.Providers != nil && c.Plans != nil &&
		c.Ledger != nil && c.ClusterUUID != "" && c.Recorder != nil && c.Clock != nil
}

// Controller keeps the TokenExchangeProviders of the peers of this cluster.
type Controller struct {
	client       versioned.Interface
	clusterPeers listers.ClusterPeerLister
	providers    listers.TokenExchangeProviderLister
	informer     cache.SharedIndexInformer // of the providers
	plans        access.Plans
	ledger       record.Ledger
	clusterUUID  string
	serves       bool
	recorder     events.EventRecorder
	clock        clock.PassiveClock
	memory       memory
	loop         loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if !config.complete() {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		client:       config.Client,
		clusterPeers: config.ClusterPeers.Lister(),
		providers:    config.Providers.Lister(),
		informer:     config.Providers.Informer(),
		plans:        config.Plans,
		ledger:       config.Ledger,
		clusterUUID:  config.ClusterUUID,
		serves:       config.Serves,
		recorder:     config.Recorder,
		clock:        config.Clock,
	}
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.ClusterPeers.Informer(),
		Subscribe: c.subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if the
// informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// subscribe has a ClusterPeer looked at when its plan or its record may have changed, or its
// provider. Of a provider that is left over there may be no ClusterPeer.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	unsubscribe := c.plans.Subscribe(enqueue)
	add := func(object any) {
		name, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			return
		}
		if peer, named := strings.CutPrefix(name.Name, peeringv1alpha1.ProviderName("")); named && peer != "" {
			enqueue(cache.ObjectName{Name: peer})
		}
	}
	handler, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	})
	if err != nil {
		return unsubscribe // it has been stopped, and with it all that could change
	}
	return func() {
		// Fails only for a handler of another informer.
		_ = c.informer.RemoveEventHandler(handler)
		unsubscribe()
	}
}

// sync brings the provider of one ClusterPeer, which may be gone, to where it should be.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if !c.knows() {
		return access.AskAgain, nil
	}
	peer, err := c.clusterPeers.Get(object.Name)
	switch {
	case apierrors.IsNotFound(err):
		c.memory.forget(object.Name)
		return 0, c.withdraw(ctx, object.Name)
	case err != nil:
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	case peer.DeletionTimestamp != nil:
		return 0, c.withdraw(ctx, object.Name) // nothing is left to say about it
	}
	found, err := c.bring(ctx, peer)
	if errors.Is(err, access.ErrUnknown) {
		return access.AskAgain, nil
	}
	if err != nil {
		return 0, err
	}
	c.memory.finds(peer, found)
	if found.isRefusal() {
		again = rejectedFor
	}
	return again, c.say(ctx, peer, found)
}

// knows tells whether it is known which providers and peers there are.
func (c *Controller) knows() bool { return c.informer.HasSynced() && c.ledger.Fresh() == nil }

// bring brings the provider to where it should be, and returns what there is to say of it.
// It fails with access.ErrUnknown while it cannot be told where that is.
func (c *Controller) bring(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) (finding, error) {
	if !c.serves {
		return finding{}, c.withdraw(ctx, peer.Name)
	}
	plan, err := c.plans.Plan(peer)
	if err != nil {
		return finding{}, err
	}
	if plan.ClusterUUID == "" {
		return finding{}, c.withdraw(ctx, peer.Name)
	}
	rec := c.ledger.Peer(plan.UID)
	if rec == nil || rec.Remote == nil || rec.Remote.ClusterUUID != plan.ClusterUUID {
		return finding{}, access.ErrUnknown // it has changed since the plan was made
	}
	issuer := rec.Remote.Offer.Body.Issuer
	if issuer == nil {
		return awaitingIssuer(), c.withdraw(ctx, peer.Name)
	}
	if _, err := protocol.ParseJWKS(issuer.JWKS); err != nil {
		return noKeySet(), c.withdraw(ctx, peer.Name)
	}
	return c.provide(ctx, wanted{peer: peer, spec: specOf(c.clusterUUID, plan, issuer)})
}
