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

package release

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/core/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/core/v1alpha1"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "release"
	// FieldManager is the name under which the controller owns fields of a status.
	FieldManager = "entente-release-controller"
	// TargetManager is the name under which it owns fields in target clusters.
	TargetManager = "entente"

	// workers is how many Releases are worked on at once, and perTarget how many of one
	// cluster, so that one that hangs does not hold all workers.
	workers   = 16
	perTarget = 2
	// perNamespace is how many of one namespace.
	perNamespace = workers / 2
	// A Release counts as slow until an attempt took less than slowAfter, and after each that
	// took longer. slowWorkers is how many of these are worked on at once, and
	// slowPerNamespace of one namespace: a tenant whose clusters take their time, or are
	// always new, keeps those waiting that do the same.
	slowAfter        = 5 * time.Second
	slowWorkers      = workers / 2
	slowPerNamespace = slowWorkers / 2
	// maxObjects is how many objects a Release may have in its cluster, those that it does not
	// want any more among them. Its record has room for no more.
	maxObjects = 512
	// requestTimeout bounds one request, attemptTimeout all that is done for one Release at
	// once.
	requestTimeout = 10 * time.Second
	attemptTimeout = 2 * time.Minute
	// unknownAgain is when a Release is looked at again that had to wait for the ledger, or
	// for others with the same target.
	unknownAgain = time.Second
	// goingAgain is when it is looked at again whether what was deleted has gone.
	goingAgain = 2 * time.Second
)

// Config is what the controller needs from outside. All of it is required, but for what says
// otherwise.
type Config struct {
	// Client writes statuses.
	Client versioned.Interface
	// Clusters and Releases tell which there are. They are started by their owner, after New.
	Clusters informers.ClusterInformer
	Releases informers.ReleaseInformer
	// Pool keeps the connections, and knows which clusters are reachable.
	Pool *targets.Pool
	// Terminating tells whether a namespace is being deleted. Without it none is.
	Terminating func(namespace string) bool
	// Ledger lists what Releases have in their targets.
	Ledger record.Ledger
	// Resync is after what time a Release is applied again.
	Resync time.Duration
	// DeleteTimeout is for how long what a deleted Release has is tried to be deleted (C5).
	DeleteTimeout time.Duration
	// Recorder records Events of Releases.
	Recorder events.EventRecorder
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

// Controller applies Releases.
type Controller struct {
	client        versioned.Interface
	clusters      listers.ClusterLister
	releases      listers.ReleaseLister
	clusterEvents cache.SharedIndexInformer
	byCluster     cache.Indexer
	pool          *targets.Pool
	terminating   func(string) bool
	ledger        record.Ledger
	resync        time.Duration
	deleteTimeout time.Duration
	recorder      events.EventRecorder
	clock         clock.WithTicker
	memory        *memory
	loop          loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete, or the
// informers have been started.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.Clusters == nil || config.Releases == nil || config.Pool == nil || config.Ledger == nil ||
		config.Resync <= 0 || config.DeleteTimeout < 0 || config.Recorder == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	if config.Terminating == nil {
		config.Terminating = func(string) bool { return false }
	}
	if err := targets.Index(config.Releases.Informer()); err != nil {
		return nil, fmt.Errorf("could not make controller %s: %w", Name, err)
	}
	c := &Controller{
		client:        config.Client,
		clusters:      config.Clusters.Lister(),
		releases:      config.Releases.Lister(),
		clusterEvents: config.Clusters.Informer(),
		byCluster:     config.Releases.Informer().GetIndexer(),
		pool:          config.Pool,
		terminating:   config.Terminating,
		ledger:        config.Ledger,
		resync:        config.Resync,
		deleteTimeout: config.DeleteTimeout,
		recorder:      config.Recorder,
		clock:         config.Clock,
		memory:        newMemory(),
	}
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.Releases.Informer(),
		Subscribe: c.subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if an
// informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitFor(ctx, Name, c.clusterEvents.HasSyncedChecker()) {
		return nil // ctx ended
	}
	return c.loop.Run(ctx)
}

// nothing is the name of no Release. To look at it is to look for Releases that are gone.
var nothing cache.ObjectName

// subscribe has a Release looked at when its Cluster changes, or what is known of it.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	all := func(cluster cache.ObjectName) {
		releases, err := c.byCluster.ByIndex(targets.ByCluster, cluster.String())
		if err != nil {
			return // there is such an index
		}
		for _, object := range releases {
			if release, ok := object.(*corev1alpha1.Release); ok {
				enqueue(cache.MetaObjectToName(release))
			}
		}
	}
	look := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			all(name)
		}
	}
	silence := c.pool.Subscribe(all)
	handler, err := c.clusterEvents.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: look, DeleteFunc: look,
		UpdateFunc: func(before, after any) {
			old, _ := before.(*corev1alpha1.Cluster)
			cluster, _ := after.(*corev1alpha1.Cluster)
			if old == nil || cluster == nil || old.UID != cluster.UID || old.Generation != cluster.Generation {
				look(after)
			}
		},
	})
	// That is done in its turn: the ledger may not have been read yet.
	enqueue(nothing)
	return func() {
		silence()
		if err == nil {
			_ = c.clusterEvents.RemoveEventHandler(handler)
		}
	}
}

// sync brings one Release to where it should be.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if c.ledger.Fresh() != nil {
		return unknownAgain, nil
	}
	if object == nothing {
		return c.resync, c.sweepAll(ctx)
	}
	release, err := c.releases.Releases(object.Namespace).Get(object.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("could not get the Release: %w", err)
	}
	if err != nil {
		c.memory.forget(object, "")
		return 0, c.sweep(ctx, object, "")
	}
	if !c.memory.knows(release) {
		// Another one may have had that name before.
		c.memory.forget(object, release.UID)
		if err := c.sweep(ctx, object, release.UID); err != nil {
			return 0, err
		}
		c.memory.meets(release)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if release.DeletionTimestamp != nil {
		return c.finish(ctx, release)
	}
	return c.bring(ctx, release)
}
