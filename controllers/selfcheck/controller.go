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

package selfcheck

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "selfcheck"
	// FieldManager is the name under which the controller owns fields of a status.
	FieldManager = "entente-selfcheck-controller"

	workers = 2
	// requestTimeout bounds one request to our own server, so that a hung one does not
	// hold a worker for ever.
	requestTimeout = 10 * time.Second
)

// Config is what the controller needs from outside. What is not said to be optional is
// required.
type Config struct {
	// Client writes statuses.
	Client versioned.Interface
	// Informer tells which ClusterPeers there are. It is started by its owner.
	Informer informers.ClusterPeerInformer
	// Ledger tells the peering CA.
	Ledger record.Reader
	// Endpoints are the advertised URLs of this cluster's gateway. Without any there is
	// nothing to look at, and no condition.
	Endpoints []string
	// Probe looks at an endpoint as somebody who has no client certificate.
	Probe func(ctx context.Context, endpoint string, trust [][]byte) client.ProbeResult
	// Clock tells the time and times looks and retries.
	Clock clock.WithTicker
}

// Controller says in every ClusterPeer how the own gateway is entered.
type Controller struct {
	client versioned.Interface
	lister listers.ClusterPeerLister
	check  *check
	loop   loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.Informer == nil || config.Ledger == nil || config.Probe == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		client: config.Client,
		lister: config.Informer.Lister(),
		check:  &check{endpoints: config.Endpoints, probe: config.Probe, ledger: config.Ledger, clock: config.Clock},
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

// Run works until ctx ends, and returns when the work in flight has ended. It fails if
// the informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	looking.Go(func() { c.check.run(ctx) })
	return c.loop.Run(ctx)
}

// subscribe has every ClusterPeer looked at when something else was found.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	return c.check.subscribe(func() {
		// Fails never: it reads from memory, and takes all.
		peers, _ := c.lister.List(labels.Everything())
		for _, peer := range peers {
			enqueue(cache.ObjectName{Name: peer.Name})
		}
	})
}

// sync brings the conditions of one ClusterPeer up to date.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	found := c.check.found()
	if !found.known {
		return 0, nil // all are looked at when it is
	}
	peer, err := c.lister.Get(object.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	if peer.DeletionTimestamp != nil {
		return 0, nil // nothing is left to say about it
	}
	wanted := conditionsFor(peer, found)
	if equality.Semantic.DeepEqual(ours(peer), wanted) {
		return 0, nil
	}
	return 0, c.write(ctx, peer, wanted)
}

// write writes the conditions. None takes those away that were written before.
func (c *Controller) write(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, wanted []metav1.Condition) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status := peeringv1alpha1ac.ClusterPeerStatus()
	for _, condition := range wanted {
		status.WithConditions(conditions.Apply(condition))
	}
	// With the UID, so that a write for a deleted object never reaches another one that
	// was given its name.
	apply := peeringv1alpha1ac.ClusterPeer(peer.Name).WithUID(peer.UID).WithStatus(status)
	_, err := c.client.PeeringV1alpha1().ClusterPeers().ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	return nil
}
