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

package peersync

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "peersync"

	// updateTimeout bounds one change of the ledger, so that a hung store does not hold
	// a session for ever.
	updateTimeout = 10 * time.Second
)

// Conn is what a paired cluster is talked to over: a *client.Conn.
type Conn interface {
	Sync(ctx context.Context, request protocol.SyncRequest) (protocol.SyncResponse, error)
	Renew(ctx context.Context, request protocol.RenewRequest) (protocol.RenewResponse, error)
	Close()
}

// Connect returns what a paired cluster is talked to over. It dials nobody yet.
type Connect func(client.Target) (Conn, error)

// Dialing connects by a dialer.
func Dialing(dialer *client.Dialer) Connect {
	return func(target client.Target) (Conn, error) {
		// Not returned as it is: a nil *client.Conn is no nil Conn.
		conn, err := dialer.Connect(target)
		if err != nil {
			return nil, err
		}
		return conn, nil
	}
}

// Contacts tells when a peer that dials us was last heard by this replica's gateway; the
// zero time: never.
type Contacts interface {
	Contact(uid string) time.Time
}

// Config is what the controller needs from outside. What is not said to be optional is
// required.
type Config struct {
	// Ledger is where the records are.
	Ledger record.Ledger
	// Connect is how to talk to a peer.
	Connect Connect
	// Self is this cluster.
	Self exchange.Self
	// Specs finds what a ClusterPeer says now.
	Specs record.Specs
	// Contacts is this replica's gateway. Optional: a replica may have none.
	Contacts Contacts
	// Clock tells the time and times beats.
	Clock clock.WithTicker
}

// Controller keeps paired clusters in touch.
type Controller struct {
	ledger   record.Ledger
	connect  Connect
	self     exchange.Self
	specs    record.Specs
	contacts Contacts
	clock    clock.WithTicker
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Ledger == nil || config.Connect == nil || config.Self.ClusterUUID == "" || config.Specs == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	return &Controller{
		ledger:   config.Ledger,
		connect:  config.Connect,
		self:     config.Self,
		specs:    config.Specs,
		contacts: config.Contacts,
		clock:    config.Clock,
	}, nil
}

// Run works until ctx ends, and returns when all sessions have ended and their
// connections are closed. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error {
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: Name, Clock: c.clock})
	defer c.ledger.Subscribe(queue.Add)()
	for _, peer := range c.ledger.Peers() {
		queue.Add(peer.UID)
	}
	var all sync.WaitGroup
	all.Go(func() { c.watch(ctx) })
	all.Go(func() { c.keepSessions(ctx, queue) })
	<-ctx.Done()
	queue.ShutDown()
	all.Wait()
	return nil
}

// keepSessions has one session for each peer that is to be dialled, until the queue of
// records that changed is shut down.
func (c *Controller) keepSessions(ctx context.Context, queue workqueue.TypedInterface[string]) {
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			s.cancel()
		}
		for _, s := range sessions {
			<-s.ended
		}
	}()
	for {
		uid, shutdown := queue.Get()
		if shutdown {
			return
		}
		if uid == "" {
			// The peering CA may be another one, which concerns everybody.
			for _, s := range sessions {
				s.changed()
			}
		} else if ctx.Err() == nil {
			c.keepSession(ctx, sessions, uid)
		}
		queue.Done(uid)
	}
}

// keepSession starts or ends the session of one record, or tells it that something
// changed.
func (c *Controller) keepSession(ctx context.Context, sessions map[string]*session, uid string) {
	peer, running := c.ledger.Peer(uid), sessions[uid]
	if running != nil {
		if dials(peer) && running.pairing == pairingOf(peer) {
			running.changed()
			return
		}
		running.cancel()
		<-running.ended
		delete(sessions, uid)
	}
	if dials(peer) {
		logger := klog.LoggerWithValues(klog.FromContext(ctx), "clusterPeer", peer.Name, "uid", uid)
		sessions[uid] = c.startSession(klog.NewContext(ctx, logger), peer)
	}
}

// dials tells whether this cluster is the one that dials: it joined, was let in, and
// there is nothing that rules out that they talk.
func dials(peer *record.Peer) bool {
	return peer != nil && peer.Join != nil && peer.Remote != nil &&
		len(peer.Remote.Ours.Certificate) > 0 && !peer.Remote.Fault.Final()
}

// pairing tells one peering from the next one of the same ClusterPeer.
type pairing struct {
	clusterUUID string
	at          int64
}

func pairingOf(peer *record.Peer) pairing {
	if peer == nil || peer.Remote == nil {
		return pairing{}
	}
	return pairing{clusterUUID: peer.Remote.ClusterUUID, at: peer.Remote.PairedAt.UnixNano()}
}

// update changes the ledger within a bounded time.
func (c *Controller) update(ctx context.Context, change func(record.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	return c.ledger.Update(ctx, change)
}
