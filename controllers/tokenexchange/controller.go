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

package tokenexchange

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "tokenexchange"
	// FieldManager is the name under which the controller owns statuses.
	FieldManager = "entente-tokenexchange-controller"

	workers = 2
	// requestTimeout bounds one request to our own server, so that a hung one does not hold a
	// worker for ever.
	requestTimeout = 10 * time.Second
)

// Config is what the controller needs from outside. All of it but Serves is required.
type Config struct {
	// Client writes statuses.
	Client versioned.Interface
	// Providers and ClusterPeers tell which there are. They are started by their owner, after
	// New.
	Providers    informers.TokenExchangeProviderInformer
	ClusterPeers informers.ClusterPeerInformer
	// Ledger tells what the peers publish.
	Ledger record.Reader
	// Claims tells which keys are published by two.
	Claims *record.IssuerClaims
	// Serves says that workloads of peers are let in here. Without that no provider is in use.
	Serves bool
	// Verifier fails if tokens of the ServiceAccounts of the peer with that cluster UUID
	// cannot be verified with its issuer.
	Verifier func(issuer protocol.Issuer, peerUUID string) error
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

func (c Config) complete() bool {
	return c.Client != nil && c.Providers != nil && c.ClusterPeers != nil && c.Ledger != nil &&
		c.Claims != nil && c.Verifier != nil && c.Clock != nil
}

// Controller says in every TokenExchangeProvider whether it is in use.
type Controller struct {
	client       versioned.Interface
	providers    listers.TokenExchangeProviderLister
	clusterPeers listers.ClusterPeerLister
	peerInformer cache.SharedIndexInformer
	ledger       record.Reader
	claims       *record.IssuerClaims
	serves       bool
	verifier     func(issuer protocol.Issuer, peerUUID string) error
	clock        clock.PassiveClock
	loop         loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if !config.complete() {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	c := &Controller{
		client:       config.Client,
		providers:    config.Providers.Lister(),
		clusterPeers: config.ClusterPeers.Lister(),
		peerInformer: config.ClusterPeers.Informer(),
		ledger:       config.Ledger,
		claims:       config.Claims,
		serves:       config.Serves,
		verifier:     config.Verifier,
		clock:        config.Clock,
	}
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.Providers.Informer(),
		Subscribe: c.subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if the
// informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// sync brings the status of one provider up to date.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if !c.knows() {
		return access.AskAgain, nil
	}
	provider, err := c.providers.Get(object.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not get the TokenExchangeProvider: %w", err)
	}
	if provider.DeletionTimestamp != nil {
		return 0, nil // nothing is left to say about it
	}
	found, err := c.judge(provider)
	if err != nil {
		return 0, err
	}
	shown := meta.FindStatusCondition(provider.Status.Conditions, peeringv1alpha1.ConditionReady)
	condition := conditions.Since(metav1.Condition{
		Type: peeringv1alpha1.ConditionReady, Status: found.status(), Reason: found.reason, Message: found.message,
		ObservedGeneration: provider.Generation, LastTransitionTime: metav1.NewTime(c.clock.Now()).Rfc3339Copy(),
	}, shown)
	if shown != nil && equality.Semantic.DeepEqual(*shown, condition) && provider.Status.ObservedGeneration == provider.Generation {
		return 0, nil
	}
	return 0, c.write(ctx, provider, condition)
}

// knows tells whether it is known which ClusterPeers and peers there are.
func (c *Controller) knows() bool { return c.peerInformer.HasSynced() && c.ledger.Fresh() == nil }

// write writes the status.
func (c *Controller) write(ctx context.Context, provider *peeringv1alpha1.TokenExchangeProvider, condition metav1.Condition) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// With the UID, so that a write for a deleted object never reaches another one that was
	// given its name; with the resourceVersion, so that none is made by a look at what is not
	// so any more, our own last write among it.
	apply := peeringv1alpha1ac.TokenExchangeProvider(provider.Name).WithUID(provider.UID).WithResourceVersion(provider.ResourceVersion).
		WithStatus(peeringv1alpha1ac.TokenExchangeProviderStatus().
			WithObservedGeneration(provider.Generation).
			WithConditions(conditions.Apply(condition)))
	_, err := c.client.PeeringV1alpha1().TokenExchangeProviders().ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted or changed meanwhile, as the informer is about to tell
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	return nil
}
