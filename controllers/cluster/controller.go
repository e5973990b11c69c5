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

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/core/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/core/v1alpha1"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/controllers/targets"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "cluster"
	// FieldManager is the name under which the controller owns fields of a status.
	FieldManager = "entente-cluster-controller"

	// workers is how many Clusters are written at once. They probe nothing.
	workers = 4
	// requestTimeout bounds one request to our own API.
	requestTimeout = 10 * time.Second
	// deletionAgain is when a Cluster that waits for its Releases to go is looked at again,
	// besides when one has gone.
	deletionAgain = 5 * time.Second
)

// Config is what the controller needs from outside. All of it is required, but for what says
// otherwise.
type Config struct {
	// Client writes statuses and deletes Releases.
	Client versioned.Interface
	// Clusters and Releases tell which there are. They are started by their owner, after New.
	Clusters informers.ClusterInformer
	Releases informers.ReleaseInformer
	// Pool keeps the connections. Run closes it at the end.
	Pool *targets.Pool
	// Terminating tells whether a namespace is being deleted. Without it none is.
	Terminating func(namespace string) bool
	// Resync is after what time a Cluster that cannot be used is looked at again.
	Resync time.Duration
	// Recorder records Events of Clusters.
	Recorder events.EventRecorder
	// Clock tells the time and times probes.
	Clock clock.WithTicker
}

// Controller probes target clusters and writes the statuses of Clusters.
type Controller struct {
	client      versioned.Interface
	clusters    listers.ClusterLister
	releases    cache.SharedIndexInformer
	pool        *targets.Pool
	terminating func(string) bool
	resync      time.Duration
	recorder    events.EventRecorder
	clock       clock.WithTicker
	memory      *memory
	well, other *lane
	// slowAfter is the constant, but in tests whose clusters are as fast as the machine is free.
	slowAfter time.Duration
	loop      loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete, or the
// informers have been started.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.Clusters == nil || config.Releases == nil || config.Pool == nil || config.Resync <= 0 || config.Recorder == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	if config.Terminating == nil {
		config.Terminating = func(string) bool { return false }
	}
	c := &Controller{
		client:      config.Client,
		clusters:    config.Clusters.Lister(),
		releases:    config.Releases.Informer(),
		pool:        config.Pool,
		terminating: config.Terminating,
		resync:      config.Resync,
		recorder:    config.Recorder,
		clock:       config.Clock,
		memory:      newMemory(),
		slowAfter:   slowAfter,
	}
	if err := targets.Index(c.releases); err != nil {
		return nil, fmt.Errorf("could not make controller %s: %w", Name, err)
	}
	c.well, c.other = newLane(wellWorkers), newLane(otherWorkers)
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.Clusters.Informer(),
		Subscribe: c.subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended and the connections
// are closed. It fails if an informer has been stopped. It may be called again after it
// returned.
func (c *Controller) Run(ctx context.Context) error {
	c.pool.Open()
	defer c.pool.Close()
	c.memory.begin()
	c.well, c.other = newLane(wellWorkers), newLane(otherWorkers)
	if !cache.WaitFor(ctx, Name, c.releases.HasSyncedChecker()) {
		return nil // ctx ended
	}
	ctx, cancel := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	for _, l := range []*lane{c.well, c.other} {
		lanes.Go(func() { l.run(ctx, c.probe) })
	}
	defer lanes.Wait()
	defer cancel() // which they wait for, also if the loop ends before
	return c.loop.Run(ctx)
}

// subscribe has a Cluster looked at when a probe has ended, and when a Release that refers to
// it comes or goes.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	silence := c.memory.subscribe(enqueue)
	look := func(object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if release, ok := object.(*corev1alpha1.Release); ok {
			enqueue(targets.ClusterOf(release))
		}
	}
	handler, err := c.releases.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, DeleteFunc: look})
	return func() {
		silence()
		if err == nil {
			_ = c.releases.RemoveEventHandler(handler)
		}
	}
}

// sync brings one Cluster to where it should be. One that is being deleted is served until it
// is gone, also when something is in the way of that: its Releases may need it.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	cluster, err := c.clusters.Clusters(object.Namespace).Get(object.Name)
	if apierrors.IsNotFound(err) {
		c.forget(object, "")
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the Cluster: %w", err)
	}
	// Another one had that name before.
	c.forget(object, cluster.UID)
	if cluster.DeletionTimestamp == nil {
		return c.serve(ctx, object, cluster)
	}
	gone, err := c.finish(ctx, cluster)
	if gone {
		return 0, err
	}
	again, serveErr := c.serve(ctx, object, cluster)
	return loop.Earliest(again, deletionAgain), errors.Join(err, serveErr)
}

// serve has a Cluster probed when it is time, and shown as it is.
func (c *Controller) serve(ctx context.Context, object cache.ObjectName, cluster *corev1alpha1.Cluster) (again time.Duration, err error) {
	if problem := c.pool.Supports(&cluster.Spec); problem != nil {
		c.pool.Forget(cluster.UID)
		c.memory.reset(object, cluster)
		return c.resync, c.show(ctx, cluster, refused(cluster, problem))
	}
	state, start := c.memory.look(object, cluster, c.clock.Now())
	if start {
		c.laneFor(state).add(object)
	}
	if state.outcome == nil {
		return 0, nil // the first probe tells
	}
	if err := c.show(ctx, cluster, c.shown(object, state)); err != nil {
		return 0, err
	}
	if !state.running {
		again = max(state.due.Sub(c.clock.Now()), time.Millisecond)
	}
	return again, nil
}

// forget forgets the Clusters of a name but the one of that UID.
func (c *Controller) forget(object cache.ObjectName, kept types.UID) {
	for _, uid := range c.memory.forget(object, kept) {
		c.pool.Forget(uid)
	}
}
