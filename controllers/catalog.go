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

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/controllers/peersync"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// Config is what the controllers need from outside.
type Config struct {
	// Client reaches this server's own API, over its loopback connection. Required.
	Client versioned.Interface
	// Recorder records Events about our objects. Required. Whoever made it shuts
	// its broadcaster down, after the catalog was stopped.
	Recorder events.EventRecorder
	// Clock tells the time and times retries. Without it, the clock of the machine.
	Clock clock.WithTicker
	// Ledger holds what decides about peering. Required.
	Ledger record.Ledger
	// Claims tells which keys two clusters publish for their tokens. Required.
	Claims *record.IssuerClaims
	// Dialer dials other clusters. Required.
	Dialer *client.Dialer
	// Self is this cluster; its UUID is required.
	Self exchange.Self
	// Specs finds what a ClusterPeer says now. Required.
	Specs record.Specs
	// Contacts tells when this replica's gateway last heard of a peer. Without it there
	// is no gateway.
	Contacts peersync.Contacts
	// Issuer reads the issuer of this cluster's ServiceAccount tokens. Optional.
	Issuer func(ctx context.Context) (*protocol.Issuer, error)
	// Host is the host cluster. Without one there are no projects, no capability is valid,
	// and nothing is granted.
	Host *Host
	// ProjectLabel is the key of the label that says of a namespace to which project it
	// belongs. Required with a host.
	ProjectLabel string
	// Clusters is what the controllers of target clusters need; nil: their kinds are not served.
	Clusters *Clusters
	// PeeringVersion is the version of this program, Alias the name that this cluster
	// gives itself; either may be empty.
	PeeringVersion, Alias string
}

// Catalog is every controller, and the informers they share. It is started once
// and stopped once.
type Catalog struct {
	clock       clock.WithTicker
	factories   []informerFactory
	controllers []controller

	lock    sync.Mutex
	cancel  context.CancelFunc  // nil before the start
	stopped bool                // a stop came before the start
	running map[string]struct{} // names of those that have not ended
	ended   chan struct{}       // closed when the controllers and informers have ended
}

// informerFactory makes informers, starts and stops them.
type informerFactory interface {
	StartWithContext(ctx context.Context)
	Shutdown()
}

// controller is one entry of the catalog. run returns when the context ends; if
// it returns or panics earlier, it is run again.
type controller struct {
	name string
	run  func(context.Context) error
}

// NewCatalog makes the controllers and starts nothing. It fails if the config
// lacks what is required.
func NewCatalog(config Config) (*Catalog, error) {
	if config.Client == nil {
		return nil, errors.New("could not make the controllers: no client")
	}
	if config.Recorder == nil {
		return nil, errors.New("could not make the controllers: no recorder of Events")
	}
	if config.Ledger == nil || config.Claims == nil || config.Dialer == nil || config.Specs == nil {
		return nil, errors.New("could not make the controllers: no ledger, no claims, no dialer, or nobody who knows the specs")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	// No resync: what the controllers want to see again they ask the queue for.
	made := &making{config: config, factory: externalversions.NewSharedInformerFactory(config.Client, 0)}
	if err := made.all(); err != nil {
		return nil, fmt.Errorf("could not make the controllers: %w", err)
	}
	return newCatalog(config.Clock, append(made.host.factories(), made.factory), made.controllers), nil
}

func newCatalog(clk clock.WithTicker, factories []informerFactory, controllers []controller) *Catalog {
	return &Catalog{
		clock:       clk,
		factories:   factories,
		controllers: controllers,
		running:     map[string]struct{}{},
		ended:       make(chan struct{}),
	}
}

// Start starts the informers and the controllers, and returns at once. They run
// until Stop is called or ctx ends; ctx also carries their logger. It fails if
// the catalog was started before; after Stop it does nothing, so that a stop
// which overtakes the start is not lost.
func (c *Catalog) Start(ctx context.Context) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.stopped {
		return nil
	}
	if c.cancel != nil {
		return errors.New("could not start the controllers: they were started before")
	}
	ctx, c.cancel = context.WithCancel(ctx)
	for _, factory := range c.factories {
		factory.StartWithContext(ctx)
	}
	var all sync.WaitGroup
	for _, controller := range c.controllers {
		c.running[controller.name] = struct{}{}
		all.Go(func() {
			defer c.end(controller.name)
			keepRunning(ctx, c.clock, controller)
		})
	}
	go func() {
		all.Wait()
		// Waits for the informers, which end with ctx as well.
		for _, factory := range c.factories {
			factory.Shutdown()
		}
		close(c.ended)
	}()
	return nil
}

// Stop stops the controllers and informers and waits until they have ended. It
// fails, naming those that still run, if ctx ends first; they end later all the
// same. It may be called repeatedly, and before the start.
func (c *Catalog) Stop(ctx context.Context) error {
	c.lock.Lock()
	c.stopped = true
	cancel := c.cancel
	c.lock.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("could not stop the controllers in time, still running: %s: %w", c.stillRunning(), context.Cause(ctx))
	}
}

func (c *Catalog) end(name string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.running, name)
}

func (c *Catalog) stillRunning() string {
	c.lock.Lock()
	defer c.lock.Unlock()
	if len(c.running) == 0 {
		return "informers"
	}
	var names []string
	for name := range c.running {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
