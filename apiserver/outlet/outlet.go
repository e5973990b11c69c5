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

package outlet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver/stream"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/passage"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/registry/peering/clusterpeer"
)

// sweepInterval is how soon is noticed that a peer lost its access, or that a token is too
// old to be kept.
const sweepInterval = time.Second

// Config is what an Outlet is made of. All but Register and Limits is required.
type Config struct {
	Ledger record.Reader
	// Specs finds what a ClusterPeer says now, Capabilities what there is of a
	// PeeringCapability now; false: there is none. They are quick.
	Specs        record.Specs
	Capabilities func(name string) (*peeringv1alpha1.PeeringCapability, bool)
	// Tokens makes tokens for ServiceAccounts.
	Tokens corev1client.ServiceAccountsGetter
	Dialer *client.Dialer
	Clock  clock.WithTicker
	// Serializer writes what the Outlet itself has to say.
	Serializer runtime.NegotiatedSerializer
	// Register registers metrics, as that of a registry does; nil: there are none.
	Register func(metrics.Registerable) error
	Limits   Limits
}

// Outlet carries requests of workloads to peers.
type Outlet struct {
	ledger       record.Reader
	specs        record.Specs
	capabilities func(name string) (*peeringv1alpha1.PeeringCapability, bool)
	serializer   runtime.NegotiatedSerializer
	limits       Limits
	clock        clock.WithTicker

	tokens   *tokens
	carriers *carriers
	turnout  *turnout
	requests *genericapirequest.RequestInfoFactory
	streams  *stream.Supervisor
	metrics  *outletMetrics
}

var _ clusterpeer.Carrier = &Outlet{}

// New returns an Outlet, which is to be run.
func New(config Config) (*Outlet, error) {
	if config.Ledger == nil || config.Specs == nil || config.Capabilities == nil || config.Tokens == nil || config.Dialer == nil || config.Clock == nil || config.Serializer == nil {
		return nil, errors.New("could not make an outlet: it needs a ledger, the specs of ClusterPeers and PeeringCapabilities, who makes tokens, a dialer, a clock and a serializer")
	}
	counts, err := newMetrics(config.Register)
	if err != nil {
		return nil, fmt.Errorf("could not make an outlet: %w", err)
	}
	limits := config.Limits.withDefaults()
	o := &Outlet{
		ledger: config.Ledger, specs: config.Specs, capabilities: config.Capabilities,
		serializer: config.Serializer, limits: limits, clock: config.Clock,
		tokens:   newTokens(config.Tokens, config.Clock, limits.Tokens),
		carriers: newCarriers(config.Dialer, config.Ledger, config.Clock, limits.Requests),
		turnout:  newTurnout(limits),
		requests: requests(),
		streams:  stream.New(config.Clock),
		metrics:  counts,
	}
	return o, nil
}

// Run ends what lost its ground, until ctx ends; then it ends all requests. None is carried
// before it, nor after.
func (o *Outlet) Run(ctx context.Context) {
	var supervising sync.WaitGroup
	supervising.Go(func() { o.streams.Run(ctx) })
	defer supervising.Wait()
	defer o.carriers.close()
	ticker := o.clock.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			o.carriers.sweep()
			o.tokens.sweep()
		}
	}
}

// Carry implements clusterpeer.Carrier.
func (o *Outlet) Carry(w http.ResponseWriter, r *http.Request, to clusterpeer.Destination) {
	answer := &answer{ResponseWriter: w}
	defer func() { o.metrics.answered(answer.code) }()
	if err := o.carry(answer, r, to); err != nil {
		o.refuse(answer, r, to.Name, err)
	}
}

// carry carries a request, or fails with a *fault before anything was answered.
func (o *Outlet) carry(w http.ResponseWriter, r *http.Request, to clusterpeer.Destination) error {
	capability, path, err := passage.Parse(to.Rest)
	if err != nil {
		return &fault{code: http.StatusBadRequest, text: "the path is not CAPABILITY/PATH in its shortest form"}
	}
	upgrade, err := passage.WantsUpgrade(r)
	if err != nil {
		return &fault{code: http.StatusBadRequest, text: err.Error()}
	}
	who, err := callerOf(r.Context())
	if err != nil {
		return err
	}
	// Nobody would end it (S3).
	if !o.streams.Runs() {
		return &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "this replica has just begun, or is about to end"}
	}
	on := &standing{outlet: o, uid: to.UID, capability: capability, caller: who}
	peer, err := on.look()
	if err != nil {
		return err
	}
	leave, err := o.turnout.enter(to.UID, upgrade)
	if err != nil {
		return err
	}
	defer leave()
	carrier, release, err := o.carriers.of(peer)
	if err != nil {
		return err
	}
	defer release()
	badge := badge{caller: who, audience: protocol.Audience(peer.Remote.ClusterUUID, capability)}
	token, err := o.tokens.get(r.Context(), badge)
	if err != nil {
		return err
	}
	on.expires = token.expires
	ctx, done := o.streams.Hold(r.Context(), func() bool { return on.fault() == nil })
	defer done()
	c := &crossing{
		outlet: o, in: r, on: on, name: to.Name, badge: badge, token: token, carrier: carrier,
		path: protocol.PathAPI + capability + path, upgrade: upgrade, duration: o.durationOf(r, path),
	}
	if err := c.checkSize(); err != nil {
		return err
	}
	c.carry(w, r.WithContext(ctx))
	return nil
}
