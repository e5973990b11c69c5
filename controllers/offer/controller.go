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

package offer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "offer"

	workers = 1
	// interval is how often an offer is looked at besides, since what it is made of may
	// change without a word.
	interval = time.Minute
	// writeTimeout bounds one write, so that a hung store does not hold a worker for ever.
	writeTimeout = 30 * time.Second
)

// Config is what the controller needs from outside. What is not said to be optional is
// required.
type Config struct {
	// Ledger is where offers are kept.
	Ledger record.Ledger
	// Informer tells which ClusterPeers there are. It is started by its owner.
	Informer informers.ClusterPeerInformer
	// Plans says which capabilities and projects are offered.
	Plans access.Plans
	// Recorder records Events about ClusterPeers.
	Recorder events.EventRecorder
	// Issuer returns the issuer of this cluster's ServiceAccount tokens, nil for none.
	// Optional: without it there is none. It is asked once a minute.
	Issuer func(ctx context.Context) (*protocol.Issuer, error)
	// PeeringVersion is the version of this program, cut to what a message may hold.
	PeeringVersion string
	// Alias is the name that this cluster gives itself. Optional.
	Alias string
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

// Controller keeps the offers to the peers up to date.
type Controller struct {
	ledger record.Ledger
	lister listers.ClusterPeerLister
	plans  access.Plans
	offer  contents
	// refused are the ClusterPeers whose owners know that what would be offered breaks the
	// limits: their UIDs, by name.
	refused  sync.Map
	recorder events.EventRecorder
	loop     loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Ledger == nil || config.Informer == nil || config.Plans == nil || config.Recorder == nil || config.PeeringVersion == "" || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		ledger:   config.Ledger,
		lister:   config.Informer.Lister(),
		plans:    config.Plans,
		recorder: config.Recorder,
		offer: contents{
			peeringVersion: cut(config.PeeringVersion),
			alias:          config.Alias,
			issuer:         &issuer{read: config.Issuer, clock: config.Clock},
		},
	}
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.Informer.Informer(),
		Subscribe: config.Plans.Subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if
// the informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// sync brings the offer to the peer of one ClusterPeer up to date.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	peer, err := c.lister.Get(object.Name)
	if apierrors.IsNotFound(err) {
		c.refused.Delete(object.Name)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	uid := string(peer.UID)
	kept := c.ledger.Peer(uid)
	if kept == nil || peer.DeletionTimestamp != nil {
		return 0, nil // the ledger, or the informer, tells when that changes
	}
	// Not all of a thousand peers at the same moment.
	again = wait.Jitter(interval, 0.1)
	plan, err := c.plans.Plan(peer)
	switch {
	case errors.Is(err, access.ErrUnknown):
		return access.AskAgain, nil
	case err != nil:
		return 0, err
	case plan.OfferUnknown:
		return access.AskAgain, nil
	}
	body, err := c.offer.to(ctx, plan)
	if err != nil {
		return 0, err
	}
	if !kept.Offer.Differs(body) {
		c.refused.Delete(object.Name)
		return again, nil
	}
	if err := body.Validate(); err != nil {
		// The other cluster would refuse it whole. It keeps what it was offered before.
		klog.FromContext(ctx).Error(err, "What this cluster would offer breaks the limits, so the offer before it stands")
		c.refuse(peer, err)
		return again, nil
	}
	c.refused.Delete(object.Name)
	return again, c.write(ctx, uid, body)
}

// ReasonOfferTooLarge is the reason of the Event that says that what would be offered
// breaks the limits (P10).
const ReasonOfferTooLarge = "OfferTooLarge"

// refuse tells the owner of a ClusterPeer once that the offer before stands.
func (c *Controller) refuse(peer *peeringv1alpha1.ClusterPeer, fault error) {
	if told, _ := c.refused.Swap(peer.Name, peer.UID); told == peer.UID {
		return
	}
	c.recorder.Eventf(peeringv1alpha1.Reference("ClusterPeer", peer.Name, peer.UID), nil, corev1.EventTypeWarning, ReasonOfferTooLarge, "Offer",
		"What this cluster would offer breaks the limits of an offer, so the one before it stands: %s. Name fewer capabilities, or projects (spec.projects).", fault)
}

func (c *Controller) write(ctx context.Context, uid string, body protocol.Offer) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	changed := false
	err := c.ledger.Update(ctx, func(tx record.Tx) (err error) {
		changed, err = record.SetOffer(tx, uid, body)
		return err
	})
	if err != nil {
		return fmt.Errorf("could not record the offer: %w", err)
	}
	if changed {
		klog.FromContext(ctx).V(2).Info("Changed the offer", "capabilities", len(body.Capabilities), "projects", len(body.Projects), "issuer", body.Issuer != nil)
	}
	return nil
}
