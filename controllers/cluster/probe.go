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
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
)

const (
	// probeTimeout bounds one probe, what is read of Secrets for it included (C3).
	probeTimeout = 5 * time.Second
	// wellWorkers and otherWorkers are how many clusters are probed at once that answered
	// within slowAfter last time, and that did not, or were not asked yet. Together with probeTimeout and the pauses
	// between probes they say how many clusters can be dead without any other being late: all
	// that are in the other lane.
	wellWorkers  = 32
	otherWorkers = 64
)

// lane probes Clusters, some at a time.
type lane struct {
	queue   workqueue.TypedInterface[cache.ObjectName]
	workers int
}

func newLane(workers int) *lane {
	return &lane{queue: workqueue.NewTyped[cache.ObjectName](), workers: workers}
}

func (l *lane) add(object cache.ObjectName) { l.queue.Add(object) }

// run probes until ctx ends, and returns when the last probe has ended.
func (l *lane) run(ctx context.Context, probe func(context.Context, cache.ObjectName)) {
	var all sync.WaitGroup
	for range l.workers {
		all.Go(func() {
			for {
				object, shutdown := l.queue.Get()
				if shutdown {
					return
				}
				probe(ctx, object)
				l.queue.Done(object)
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	all.Wait()
}

// slowAfter is how long a probe may take of a cluster that counts as one that answers.
const slowAfter = time.Second

func (c *Controller) laneFor(state state) *lane {
	if state.outcome != nil && state.outcome.found != nil && state.outcome.took < c.slowAfter {
		return c.well
	}
	return c.other
}

// outcome is how a probe went.
type outcome struct {
	// generation is that of the Cluster.
	generation int64
	// client is what was asked with; nil: there was none.
	client *target.Client
	// found is what was found, nil if it failed.
	found *target.Found
	// message says why it failed.
	message string
	// took is how long it took.
	took time.Duration
}

// probe probes one Cluster and takes down what came of it.
func (c *Controller) probe(ctx context.Context, object cache.ObjectName) {
	cluster, err := c.clusters.Clusters(object.Namespace).Get(object.Name)
	if err != nil || ctx.Err() != nil || !c.memory.knows(object, cluster.UID) {
		return // it is about to be forgotten
	}
	result := &outcome{generation: cluster.Generation, message: "The probe panicked, which is a fault of Entente."}
	defer func() {
		_ = recover() // HandleCrash panics again: one odd cluster must not stop the others
		if ctx.Err() != nil {
			return // no fault of the cluster
		}
		reachable, counts := c.memory.note(object, cluster.UID, result, c.clock.Now())
		switch {
		case counts:
			c.pool.Note(cluster.UID, result.client, result.found, reachable)
		case !c.memory.knows(object, cluster.UID):
			c.pool.Forget(cluster.UID) // it may have been connected to after it was forgotten
		}
		c.memory.tell(object, cluster.UID)
	}()
	defer utilruntime.HandleCrashWithContext(ctx)
	within, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	began := time.Now() // what is measured takes time, whatever time it is
	result.client, result.found, result.message = c.ask(within, cluster)
	result.took = time.Since(began)
}

// ask returns what a cluster says of itself, or why it does not.
func (c *Controller) ask(ctx context.Context, cluster *corev1alpha1.Cluster) (*target.Client, *target.Found, string) {
	client, err := c.pool.Connect(ctx, cluster)
	var problem *targets.Problem
	switch {
	case errors.As(err, &problem):
		return nil, nil, problem.Message
	case err != nil:
		return nil, nil, "The connection cannot be set up."
	}
	found, err := client.Probe(ctx)
	var failure *target.Failure
	switch {
	case err == nil:
		return client, &found, ""
	case errors.As(err, &failure):
		return client, nil, failure.Error()
	}
	return client, nil, "The cluster could not be asked."
}
