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

package entrance

import (
	"context"
	"errors"
	"net/http"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver/host"
	"entente.dev/entente/apiserver/stream"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/record"
)

// Config is what an Entrance is made of. All but Limits is required.
type Config struct {
	Ledger record.Reader
	// Specs finds what a ClusterPeer says now.
	Specs record.Specs
	// Capabilities finds a PeeringCapability as it is now, false if there is none. It
	// returns the same object as long as that is unchanged.
	Capabilities func(name string) (*peeringv1alpha1.PeeringCapability, bool)
	// Claims knows whose keys are whose.
	Claims *record.IssuerClaims
	// API is the host cluster's.
	API *host.API
	// ClusterUUID is that of this cluster.
	ClusterUUID string
	Auditor     Auditor
	// Clock is what everything is measured by but the deadlines of connections, which have
	// that of the system.
	Clock  clock.WithTicker
	Limits Limits
}

// Entrance lets workloads of other clusters in. It is to be mounted at the gateway under
// protocol.PathAPI.
type Entrance struct {
	config       Config
	limits       Limits
	requests     *genericapirequest.RequestInfoFactory
	capabilities *capabilities
	presences    *presences
	streams      *stream.Supervisor
	buffers      *buffers
}

var _ http.Handler = &Entrance{}

// New returns an Entrance. It is not to be served before Run is called.
func New(config Config) (*Entrance, error) {
	switch {
	case config.Ledger == nil, config.Specs == nil, config.Capabilities == nil, config.Claims == nil, config.Auditor == nil, config.Clock == nil:
		return nil, errors.New("could not make an entrance: it needs a ledger, specs, capabilities, claims, an auditor and a clock")
	case config.API == nil, config.API.URL == nil, config.API.Plain == nil, config.API.Upgrade == nil:
		return nil, errors.New("could not make an entrance: it needs a host cluster")
	case !connstring.IsUUID(config.ClusterUUID):
		return nil, errors.New("could not make an entrance: it needs the UUID of this cluster")
	}
	limits := config.Limits.withDefaults()
	return &Entrance{
		config:       config,
		limits:       limits,
		requests:     requests(),
		capabilities: newCapabilities(config.Capabilities),
		presences:    newPresences(config.Ledger, limits),
		streams:      stream.New(config.Clock),
		buffers:      newBuffers(),
	}, nil
}

// Run ends requests that have lost what they stood on, and forgets peers that went, until
// ctx ends. All requests under way end then, as nobody looks at them any more: that is to
// be after the gateway has been served.
func (e *Entrance) Run(ctx context.Context) {
	defer e.config.Ledger.Subscribe(e.presences.forget)()
	e.streams.Run(ctx)
}

// ServeHTTP implements http.Handler.
func (e *Entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	peer, ok := gateway.PeerFrom(r.Context())
	if !ok || peer.Role != record.RoleData {
		refusalOf(NotPeer).write(w, NotPeer)
		return
	}
	v := e.visit(w, r, &peer)
	defer v.end()
	if reason := v.enter(); reason != "" {
		v.refuse(reason)
		return
	}
	defer v.presence.leave()
	s, reason := v.standing(r.Context())
	if reason != "" {
		v.refuse(reason)
		return
	}
	if s.ask.lasts {
		if !v.presence.stay() {
			v.refuse(TooManyStreams)
			return
		}
		defer v.presence.stayed()
	}
	v.carry(r.Context(), s)
}
