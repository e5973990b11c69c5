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

package clusterpeer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "clusterpeer"
	// FieldManager is the name under which the controller owns fields of a status.
	FieldManager = "entente-clusterpeer-controller"

	workers = 8
	// diallers is how many of the workers may wait for other clusters at a time.
	diallers = 4
	// requestTimeout bounds one request to our own server, so that a hung one does
	// not hold a worker for ever.
	requestTimeout = 10 * time.Second
	// staleFor is how long it takes until a ledger that cannot be relied on is looked
	// at again.
	staleFor = 5 * time.Second
)

// Providers says what keeps the TokenExchangeProviders of peers from being made (G6).
type Providers interface {
	// Fault returns reason and message of what keeps that of the ClusterPeer with a UID from
	// being made, so that it is not ready; empty: nothing does.
	Fault(peerUID string) (reason, message string)
	// Subscribe has enqueue called with the name of each ClusterPeer whose fault may have
	// changed. It returns how to end that.
	Subscribe(enqueue func(cache.ObjectName)) (cancel func())
}

// Config is what the controller needs from outside. All of it but Host is required.
type Config struct {
	// Client reads connection strings and writes statuses.
	Client versioned.Interface
	// Informer tells which ClusterPeers there are. It is started by its owner.
	Informer informers.ClusterPeerInformer
	// Recorder records Events.
	Recorder events.EventRecorder
	// Clock tells the time and times retries.
	Clock clock.WithTicker
	// Ledger holds what decides (S1); statuses are made of it.
	Ledger record.Ledger
	// Plans says which capabilities take effect and which projects are paired.
	Plans access.Plans
	// Providers says what keeps the TokenExchangeProviders of peers from being made.
	Providers Providers
	// Dialer talks to other clusters.
	Dialer Dialer
	// Self is this cluster. Without endpoints it can join, and not invite.
	Self exchange.Self
	// Host says that there is a host cluster, in which access is granted. Another
	// controller does that, and tells of it.
	Host bool
	// TokenRandom is what tokens are made of; outside tests, crypto/rand.Reader.
	TokenRandom io.Reader
}

func (c Config) complete() bool {
	return c.Client != nil && c.Informer != nil && c.Recorder != nil && c.Clock != nil &&
		c.Ledger != nil && c.Plans != nil && c.Providers != nil && c.Dialer != nil && c.Self.ClusterUUID != "" && c.TokenRandom != nil
}

// Controller issues and uses connection strings, ends peerings, and keeps the statuses
// of ClusterPeers up to date.
type Controller struct {
	client    versioned.Interface
	sensitive rest.Interface
	lister    listers.ClusterPeerLister
	indexer   cache.Indexer
	recorder  events.EventRecorder
	clock     clock.WithTicker
	ledger    record.Ledger
	plans     access.Plans
	providers Providers
	dialer    Dialer
	self      exchange.Self
	host      bool
	random    io.Reader
	// jitter returns a random duration from 0 to less than limit.
	jitter func(limit time.Duration) time.Duration
	memory memory
	// dialling is held by those who wait for another cluster.
	dialling  chan struct{}
	authority atomic.Pointer[record.Authority] // as it was seen last
	loop      loop.Loop
}

// byUID finds a ClusterPeer by its UID.
const byUID = "uid"

// New makes the controller and starts nothing. It fails if the config is not
// complete.
func New(config Config) (*Controller, error) {
	if !config.complete() {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	err := config.Informer.Informer().AddIndexers(cache.Indexers{byUID: func(object any) ([]string, error) {
		if peer, ok := object.(*peeringv1alpha1.ClusterPeer); ok {
			return []string{string(peer.UID)}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("could not make controller %s: %w", Name, err)
	}
	c := &Controller{
		client:    config.Client,
		sensitive: config.Client.PeeringV1alpha1().RESTClient(),
		lister:    config.Informer.Lister(),
		indexer:   config.Informer.Informer().GetIndexer(),
		recorder:  config.Recorder,
		clock:     config.Clock,
		ledger:    config.Ledger,
		plans:     config.Plans,
		providers: config.Providers,
		dialer:    config.Dialer,
		self:      config.Self,
		host:      config.Host,
		random:    config.TokenRandom,
		jitter:    rand.N[time.Duration],
		memory:    memory{peers: map[string]remembered{}},
		dialling:  make(chan struct{}, diallers),
	}
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.Informer.Informer(),
		Subscribe: c.subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It
// fails if the informer has been stopped. It may be called again after it
// returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// subscribe has a ClusterPeer looked at when its record changes, and each that has a
// record once at the start, whether it still exists or not.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	unsubscribe := c.ledger.Subscribe(func(uid string) {
		if uid == "" {
			c.rotated(enqueue)
			return
		}
		if peer := c.ledger.Peer(uid); peer != nil {
			enqueue(cache.ObjectName{Name: peer.Name})
			return
		}
		// It may be on its way out, and wait for its grants to go. Fails only without the
		// index.
		names, _ := c.indexer.IndexKeys(byUID, uid)
		for _, name := range names {
			enqueue(cache.ObjectName{Name: name})
		}
	})
	for _, peer := range c.ledger.Peers() {
		enqueue(cache.ObjectName{Name: peer.Name})
	}
	unplan := c.plans.Subscribe(enqueue)
	unprovide := c.providers.Subscribe(enqueue)
	return func() {
		unprovide()
		unplan()
		unsubscribe()
	}
}

// rotated has every ClusterPeer looked at if the peering CA changed: they wait for it,
// or show its rotation.
func (c *Controller) rotated(enqueue func(cache.ObjectName)) {
	authority := c.ledger.Authority()
	if c.authority.Swap(authority) == authority {
		return
	}
	peers, err := c.lister.List(labels.Everything())
	if err != nil {
		return // a lister of a cache has no way to fail
	}
	for _, peer := range peers {
		enqueue(cache.ObjectName{Name: peer.Name})
	}
}

// sync brings one ClusterPeer to where it should be.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if err := c.ledger.Fresh(); err != nil {
		// Whether the server is ready says so already.
		klog.FromContext(ctx).V(2).Info("Waiting for the ledger", "reason", err.Error())
		return staleFor, nil
	}
	peer, err := c.lister.Get(object.Name)
	if apierrors.IsNotFound(err) {
		if err := c.sweep(ctx, object.Name); err != nil {
			return 0, err
		}
		c.memory.forget(object.Name)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	if !c.memory.swept(peer) {
		if err := c.sweep(ctx, object.Name); err != nil {
			return 0, err
		}
		c.memory.sweeps(peer)
	}
	if peer.DeletionTimestamp != nil {
		return c.disconnect(ctx, peer)
	}
	if wait := c.memory.awaits(peer, c.clock.Now()); wait > 0 {
		return wait, nil
	}
	look, err := c.look(peer)
	if err != nil {
		return 0, err
	}
	if err := c.undo(ctx, look); err != nil {
		return 0, err
	}
	if peer.Spec.Type == peeringv1alpha1.ClusterPeerTypeInvite {
		err = c.invite(ctx, look)
	} else {
		err = c.join(ctx, look)
	}
	if err == nil && !look.gone {
		c.tellIneffective(look.peer, look.plan)
	}
	return look.again, err
}

// look is one look at a ClusterPeer.
type look struct {
	peer   *peeringv1alpha1.ClusterPeer
	record *record.Peer // never nil
	facts
	// gone says that the ClusterPeer turned out to be gone, or another one: the informer
	// is about to tell.
	gone bool
	// again is when to look again without being asked; 0: not at all.
	again time.Duration
}

func (c *Controller) look(peer *peeringv1alpha1.ClusterPeer) (*look, error) {
	l := &look{peer: peer, record: c.ledger.Peer(string(peer.UID))}
	if l.record == nil {
		l.record = &record.Peer{UID: string(peer.UID), Name: peer.Name}
	}
	l.gateway, l.host = len(c.self.Endpoints) > 0, c.host
	l.authority = c.ledger.Authority()
	l.grants = c.ledger.Grants(l.record.UID)
	l.provider.reason, l.provider.message = c.providers.Fault(l.record.UID)
	plan, err := c.plans.Plan(peer)
	switch {
	case errors.Is(err, access.ErrUnknown):
		l.after(access.AskAgain)
	case err != nil:
		return nil, err
	}
	l.plan = plan
	return l, nil
}

// after has the ClusterPeer looked at again after a time, or earlier.
func (l *look) after(wait time.Duration) {
	if wait > 0 && (l.again == 0 || wait < l.again) {
		l.again = wait
	}
}

// update changes the ledger, and takes over the record as it is then.
func (c *Controller) update(ctx context.Context, l *look, change func(record.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var after *record.Peer
	err := c.ledger.Update(ctx, func(tx record.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		var err error
		after, err = tx.Peer(string(l.peer.UID))
		return err
	})
	if err != nil {
		return fmt.Errorf("could not change the ledger: %w", err)
	}
	if after != nil {
		l.record = after
	}
	return nil
}

// undo ends a pairing that was not confirmed in time (P7).
func (c *Controller) undo(ctx context.Context, l *look) error {
	remote := l.record.Remote
	if remote == nil || !remote.ConfirmedAt.IsZero() {
		return nil
	}
	now := c.clock.Now()
	if wait := remote.PairedAt.Add(record.ConfirmWithin).Sub(now); wait > 0 {
		l.after(wait)
		return nil
	}
	return c.update(ctx, l, func(tx record.Tx) error {
		_, err := record.Undo(tx, l.record.UID, now)
		return err
	})
}
