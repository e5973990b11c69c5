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

package projectpeer

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/loop"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "projectpeer"
	// FieldManager is the name under which the controller owns statuses.
	FieldManager = "entente-projectpeer-controller"

	workers = 2
	// writers is how many requests of one ClusterPeer are under way at a time.
	writers = 8
	// requestTimeout bounds one request to our own server, so that a hung one does not
	// hold a worker for ever.
	requestTimeout = 10 * time.Second
	// skippedFor is after what time a namespace is tried again that is on its way out,
	// unless it has gone before.
	skippedFor = 10 * time.Second
)

// Config is what the controller needs from outside. All of it is required.
type Config struct {
	// Client writes ProjectPeers.
	Client versioned.Interface
	// ClusterPeers and ProjectPeers tell which there are. They are started by their
	// owner, after New.
	ClusterPeers informers.ClusterPeerInformer
	ProjectPeers informers.ProjectPeerInformer
	// Plans says which projects are paired.
	Plans access.Plans
	// Clock times retries.
	Clock clock.WithTicker
}

// Controller keeps the ProjectPeers of this cluster.
type Controller struct {
	client       versioned.Interface
	clusterPeers listers.ClusterPeerLister
	projectPeers cache.SharedIndexInformer
	plans        access.Plans
	loop         loop.Loop
}

// byName finds the ProjectPeers of one ClusterPeer, in all namespaces.
const byName = "name"

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.ClusterPeers == nil || config.ProjectPeers == nil || config.Plans == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		client:       config.Client,
		clusterPeers: config.ClusterPeers.Lister(),
		projectPeers: config.ProjectPeers.Informer(),
		plans:        config.Plans,
	}
	err := c.projectPeers.AddIndexers(cache.Indexers{byName: func(object any) ([]string, error) {
		if projectPeer, ok := object.(*peeringv1alpha1.ProjectPeer); ok {
			return []string{projectPeer.Name}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("could not make controller %s: %w", Name, err)
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

// Run works until ctx ends, and returns when the work in flight has ended. It fails if
// the informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// subscribe has a ClusterPeer looked at when its plan may have changed, or one of its
// ProjectPeers. Of a stray there may be no ClusterPeer.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	unsubscribe := c.plans.Subscribe(enqueue)
	add := func(object any) {
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			enqueue(cache.ObjectName{Name: name.Name})
		}
	}
	handler, err := c.projectPeers.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	})
	if err != nil {
		return unsubscribe // it has been stopped, and with it all that could change
	}
	return func() {
		// Fails only for a handler of another informer.
		_ = c.projectPeers.RemoveEventHandler(handler)
		unsubscribe()
	}
}

// sync brings the ProjectPeers of one ClusterPeer, which may be gone, to where they
// should be.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if !c.projectPeers.HasSynced() {
		return access.AskAgain, nil
	}
	plan := &access.Plan{}
	peer, err := c.clusterPeers.Get(object.Name)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	default:
		if plan, err = c.plans.Plan(peer); errors.Is(err, access.ErrUnknown) {
			return access.AskAgain, nil
		}
		if err != nil {
			return 0, err
		}
	}
	work, err := c.compare(object.Name, plan)
	if err != nil {
		return 0, err
	}
	return c.do(ctx, work)
}

// compare returns the steps from what there is to what should be, withdrawing first.
func (c *Controller) compare(name string, plan *access.Plan) ([]step, error) {
	objects, err := c.projectPeers.GetIndexer().ByIndex(byName, name)
	if err != nil {
		return nil, fmt.Errorf("could not list the ProjectPeers: %w", err)
	}
	wanted := statuses(plan)
	var work []step
	for _, object := range objects {
		existing, ok := object.(*peeringv1alpha1.ProjectPeer)
		if !ok {
			continue
		}
		status, paired := wanted[existing.Namespace]
		switch {
		case !paired && existing.DeletionTimestamp == nil:
			work = append(work, c.remove(existing))
		case paired && differs(&existing.Status, &status):
			work = append(work, c.show(existing, status))
		}
		delete(wanted, existing.Namespace)
	}
	for namespace, status := range wanted {
		work = append(work, c.create(namespace, name, status))
	}
	return work, nil
}

// step is one change; skipped says that it has to wait for somebody else.
type step func(ctx context.Context) (skipped bool, err error)

// do takes all steps, whatever becomes of the others.
func (c *Controller) do(ctx context.Context, work []step) (again time.Duration, err error) {
	skipped, errs := make([]bool, len(work)), make([]error, len(work))
	workqueue.ParallelizeUntil(ctx, writers, len(work), func(i int) {
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		skipped[i], errs[i] = work[i](within)
	})
	for _, waits := range skipped {
		if waits {
			again = skippedFor
		}
	}
	if len(work) > 0 {
		klog.FromContext(ctx).V(2).Info("Changed ProjectPeers", "changes", len(work))
	}
	return again, errors.Join(errs...)
}
