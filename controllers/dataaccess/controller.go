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

package dataaccess

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "dataaccess"
	// FieldManager is the name under which the controller owns the Secrets that it makes.
	FieldManager = "entente-dataaccess-controller"

	// workers is how many ClusterPeers are looked at at once: a peer that does not answer
	// holds one of them for askTimeout at the most, and ever more seldom.
	workers = 8
	// updateTimeout bounds one change of the ledger.
	updateTimeout = 10 * time.Second
	// unknownAgain is when a ClusterPeer is looked at again while nothing is known of the
	// ledger.
	unknownAgain = 5 * time.Second
)

// Conn is what a peer is asked over: a *client.Conn.
type Conn interface {
	Renew(ctx context.Context, request protocol.RenewRequest) (protocol.RenewResponse, error)
	Close()
}

// Dialing connects to a peer by a dialer and our control key. It dials nobody yet.
func Dialing(dialer *client.Dialer) func(*record.Remote) (Conn, error) {
	return func(remote *record.Remote) (Conn, error) {
		target, err := client.TargetOf(remote, &remote.Ours)
		if err != nil {
			return nil, err
		}
		// Not returned as it is: a nil *client.Conn is no nil Conn.
		conn, err := dialer.Connect(target)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
}

// Config is what the controller needs from outside. All of it is required.
type Config struct {
	// Ledger is where the keys are.
	Ledger record.Ledger
	// Informer tells which ClusterPeers there are. It is started by its owner.
	Informer informers.ClusterPeerInformer
	// Connect returns what a peer is asked over.
	Connect func(*record.Remote) (Conn, error)
	// Secrets are those of the namespace for access in the host cluster.
	Secrets corev1client.SecretInterface
	// Recorder records Events of ClusterPeers.
	Recorder events.EventRecorder
	// Clock tells the time and times renewals.
	Clock clock.WithTicker
}

// Controller keeps our data keys at the peers.
type Controller struct {
	ledger  record.Ledger
	lister  listers.ClusterPeerLister
	connect func(*record.Remote) (Conn, error)
	secrets *secrets
	clock   clock.WithTicker
	paces   paces
	loop    loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Ledger == nil || config.Informer == nil || config.Connect == nil || config.Secrets == nil || config.Recorder == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		ledger:  config.Ledger,
		lister:  config.Informer.Lister(),
		connect: config.Connect,
		secrets: newSecrets(config.Secrets, config.Recorder, config.Clock),
		clock:   config.Clock,
	}
	c.loop = loop.Loop{
		Name:     Name,
		Informer: config.Informer.Informer(),
		Workers:  workers,
		Clock:    config.Clock,
		Sync:     c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if the
// informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sweeping sync.WaitGroup
	running := c.loop
	running.Subscribe = func(enqueue func(cache.ObjectName)) (cancel func()) {
		c.secrets.forget()
		sweeping.Go(func() { c.secrets.sweep(ctx, enqueue) })
		return c.ledger.Subscribe(func(uid string) {
			if peer := c.ledger.Peer(uid); peer != nil {
				enqueue(cache.ObjectName{Name: peer.Name})
			}
		})
	}
	err := running.Run(ctx)
	cancel()
	sweeping.Wait()
	return err
}

// sync brings the key at one peer, and its Secret, to where they should be. The ClusterPeer
// may be gone.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if !c.knows() {
		return unknownAgain, nil
	}
	cluster, err := c.lister.Get(object.Name)
	switch {
	case apierrors.IsNotFound(err):
		c.paces.forget(object.Name)
		return c.secrets.remove(ctx, object.Name)
	case err != nil:
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	peer := c.ledger.Peer(string(cluster.UID))
	if cluster.DeletionTimestamp != nil || !peer.DialsForData() {
		dropped := c.drop(ctx, peer)
		again, err := c.secrets.remove(ctx, cluster.Name)
		return again, errors.Join(dropped, err)
	}
	renewed, err := c.keepKey(ctx, peer)
	if err != nil {
		return 0, err
	}
	again, err = c.secrets.show(ctx, cluster, peer.Remote)
	return loop.Earliest(renewed, again), err
}

// knows tells whether it is known which peers there are.
func (c *Controller) knows() bool { return c.ledger.Fresh() == nil }

// drop forgets the keys at a peer.
func (c *Controller) drop(ctx context.Context, peer *record.Peer) error {
	if !peer.HoldsData() {
		return nil
	}
	if err := c.update(ctx, func(tx record.Tx) error { return record.DropData(tx, peer.UID) }); err != nil {
		return fmt.Errorf("could not forget our data key: %w", err)
	}
	return nil
}

// update changes the ledger within a bounded time.
func (c *Controller) update(ctx context.Context, change func(record.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	return c.ledger.Update(ctx, change)
}
