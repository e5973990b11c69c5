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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/loop"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "clusterpeer"
	// FieldManager is the name under which the controller owns fields of a status.
	FieldManager = "entente-clusterpeer-controller"
	// eventAction is what the controller was doing when it recorded an Event.
	eventAction = "Reconcile"

	workers = 2
	// requestTimeout bounds one request to our own server, so that a hung one does
	// not hold a worker for ever.
	requestTimeout = 10 * time.Second
)

// Config is what the controller needs from outside. All of it is required.
type Config struct {
	// Client reads connection strings and writes statuses.
	Client versioned.Interface
	// Informer tells which ClusterPeers there are. It is started by its owner.
	Informer informers.ClusterPeerInformer
	// Recorder records an Event when the reason of the condition Ready changes.
	Recorder events.EventRecorder
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

// Controller keeps the statuses of ClusterPeers up to date.
type Controller struct {
	client    versioned.Interface
	sensitive rest.Interface
	lister    listers.ClusterPeerLister
	recorder  events.EventRecorder
	clock     clock.WithTicker
	memory    memory
	loop      loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not
// complete.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.Informer == nil || config.Recorder == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		client:    config.Client,
		sensitive: config.Client.PeeringV1alpha1().RESTClient(),
		lister:    config.Informer.Lister(),
		recorder:  config.Recorder,
		clock:     config.Clock,
		memory:    memory{peers: map[string]remembered{}},
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

// Run works until ctx ends, and returns when the work in flight has ended. It
// fails if the informer has been stopped. It may be called again after it
// returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// sync brings the status of one ClusterPeer up to date.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	peer, err := c.lister.Get(object.Name)
	if apierrors.IsNotFound(err) {
		c.memory.forget(object.Name)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	if peer.DeletionTimestamp != nil {
		return 0, nil // nothing is left to say about it
	}
	if wait := c.memory.awaits(peer, c.clock.Now()); wait > 0 {
		return wait, nil
	}
	found, again, current, err := c.find(ctx, peer)
	if err != nil || !current {
		return 0, err
	}
	wanted := reconcile(peer, found, c.clock)
	if equality.Semantic.DeepEqual(&peer.Status, wanted) {
		return again, nil
	}
	if err := c.write(ctx, peer, wanted); err != nil {
		return 0, err
	}
	return again, nil
}

// find returns what is known of the connection string of a ClusterPeer, and for
// how long that counts (0: as long as the generation does). It asks the server
// once a generation. If the object has moved on meanwhile or is gone, current is
// false: the informer is about to tell.
func (c *Controller) find(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) (found finding, again time.Duration, current bool, err error) {
	if !hasConnectionString(peer) {
		return finding{}, 0, true, nil
	}
	if found, again, known := c.memory.findingOf(peer, c.clock.Now()); known {
		return found, again, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seen, err := inspect(ctx, c.sensitive, peer)
	if apierrors.IsNotFound(err) {
		return finding{}, 0, false, nil
	}
	if err != nil {
		return finding{}, 0, false, err
	}
	if seen.found.denied {
		again = deniedFor
	}
	c.memory.inspected(peer.Name, seen, c.clock.Now())
	return seen.found, again, seen.uid == peer.UID && seen.generation == peer.Generation, nil
}

// write writes what this controller owns of a status, and records an Event if the
// reason of the condition Ready changed.
func (c *Controller) write(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, wanted *peeringv1alpha1.ClusterPeerStatus) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ready := meta.FindStatusCondition(wanted.Conditions, ConditionReady)
	status := peeringv1alpha1ac.ClusterPeerStatus().
		WithPhase(wanted.Phase).
		WithObservedGeneration(wanted.ObservedGeneration).
		WithConditions(metav1ac.Condition().
			WithType(ready.Type).
			WithStatus(ready.Status).
			WithReason(ready.Reason).
			WithMessage(ready.Message).
			WithObservedGeneration(ready.ObservedGeneration).
			WithLastTransitionTime(ready.LastTransitionTime))
	// With the UID, so that a write for a deleted object never reaches another one
	// that was given its name.
	apply := peeringv1alpha1ac.ClusterPeer(peer.Name).WithUID(peer.UID).WithStatus(status)
	written, err := c.client.PeeringV1alpha1().ClusterPeers().ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	c.memory.wrote(written, c.clock.Now())
	klog.FromContext(ctx).V(2).Info("Wrote status", "phase", wanted.Phase, "reason", ready.Reason, "generation", wanted.ObservedGeneration)

	before := meta.FindStatusCondition(peer.Status.Conditions, ConditionReady)
	if before == nil || before.Reason != ready.Reason {
		c.recorder.Eventf(reference(peer), nil, eventType(wanted.Phase), ready.Reason, eventAction, "%s", ready.Message)
	}
	return nil
}

// eventType is Warning for what somebody has to mend.
func eventType(phase peeringv1alpha1.ClusterPeerPhase) string {
	if phase == peeringv1alpha1.ClusterPeerPhaseError {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// reference names a ClusterPeer in an Event. The recorder takes objects as well,
// but logs them when something goes wrong. Without a resourceVersion, so that the
// same Event about it again is a series and not another Event.
func reference(peer *peeringv1alpha1.ClusterPeer) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: peeringv1alpha1.SchemeGroupVersion.String(),
		Kind:       "ClusterPeer",
		Name:       peer.Name,
		UID:        peer.UID,
	}
}
