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

package capability

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/controllers/rules"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "capability"
	// FieldManager is the name under which the controller owns fields of a status.
	FieldManager = "entente-capability-controller"

	workers = 2
	// requestTimeout bounds one request to our own server, so that a hung one does not
	// hold a worker for ever.
	requestTimeout = 10 * time.Second
	// eventAction is what the controller was doing when it recorded an Event.
	eventAction = "Judge"
)

// Resources tells what resources the host cluster has. A discovery.Follower is one.
type Resources interface {
	rules.Source
	// Refresh asks for a look soon, for a resource may have come.
	Refresh()
}

// Config is what the controller needs from outside. What is not said to be optional is
// required.
type Config struct {
	// Client writes statuses.
	Client versioned.Interface
	// Informer tells which PeeringCapabilities there are. It is started by its owner.
	Informer informers.PeeringCapabilityInformer
	// Resources tells what the host cluster has. Optional: nil without a host cluster.
	Resources Resources
	// Recorder records Events about PeeringCapabilities.
	Recorder events.EventRecorder
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

// Controller says in every PeeringCapability whether it is valid.
type Controller struct {
	client    versioned.Interface
	lister    listers.PeeringCapabilityLister
	resources Resources
	recorder  events.EventRecorder
	clock     clock.PassiveClock
	loop      loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.Informer == nil || config.Recorder == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		client:    config.Client,
		lister:    config.Informer.Lister(),
		resources: config.Resources,
		recorder:  config.Recorder,
		clock:     config.Clock,
	}
	c.loop = loop.Loop{
		Name:     Name,
		Informer: config.Informer.Informer(),
		Workers:  workers,
		Clock:    config.Clock,
		Sync:     c.sync,
	}
	if c.resources != nil {
		c.loop.Subscribe = c.subscribe
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if
// the informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// subscribe has every capability judged again when the host cluster has other resources.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	return c.resources.Subscribe(func() {
		// Fails never: it reads from memory, and takes all.
		capabilities, _ := c.lister.List(labels.Everything())
		for _, capability := range capabilities {
			enqueue(cache.ObjectName{Name: capability.Name})
		}
	})
}

// sync brings the condition of one capability up to date.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	capability, err := c.lister.Get(object.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the PeeringCapability: %w", err)
	}
	if capability.DeletionTimestamp != nil {
		return 0, nil // nothing is left to say about it
	}
	verdict, known := c.judge(capability)
	if !known {
		return 0, nil // all are judged again when it is
	}
	condition := conditionFor(capability, verdict, c.clock.Now())
	if says(capability, condition) {
		return 0, nil
	}
	if verdict.Reason == rules.ReasonUnknownResource {
		c.resources.Refresh()
	}
	return 0, c.write(ctx, capability, condition)
}

// judge judges a capability. known is false if that takes the resources of a host cluster
// which has not told them yet; a fault that needs none is told before.
func (c *Controller) judge(capability *peeringv1alpha1.PeeringCapability) (verdict rules.Verdict, known bool) {
	if c.resources == nil {
		return rules.Judge(&capability.Spec, nil), true
	}
	verdict = rules.Judge(&capability.Spec, c.resources.Current())
	return verdict, verdict.Reason != rules.ReasonNoHost
}

// write writes the condition, and records an Event if it is a transition.
func (c *Controller) write(ctx context.Context, capability *peeringv1alpha1.PeeringCapability, condition metav1.Condition) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// With the UID, so that a write for a deleted object never reaches another one that
	// was given its name; with the resourceVersion, so that none is made by a look at what
	// is not so any more, our own last write among it.
	apply := peeringv1alpha1ac.PeeringCapability(capability.Name).
		WithUID(capability.UID).
		WithResourceVersion(capability.ResourceVersion).
		WithStatus(peeringv1alpha1ac.PeeringCapabilityStatus().
			WithObservedGeneration(capability.Generation).
			WithConditions(conditions.Apply(condition)))
	_, err := c.client.PeeringV1alpha1().PeeringCapabilities().ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted or changed meanwhile, as the informer is about to tell
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	klog.FromContext(ctx).V(2).Info("Wrote status", "valid", condition.Status, "reason", condition.Reason, "generation", condition.ObservedGeneration)
	if isTransition(capability, condition) {
		c.recorder.Eventf(peeringv1alpha1.Reference("PeeringCapability", capability.Name, capability.UID), nil, eventType(condition.Status), condition.Reason, eventAction, "%s", condition.Message)
	}
	return nil
}

// eventType is Warning for what somebody has to mend.
func eventType(status metav1.ConditionStatus) string {
	if status == metav1.ConditionFalse {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
