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

package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// Gateway serves other clusters.
type Gateway struct {
	ledger   record.Ledger
	self     exchange.Self
	specs    record.Specs
	observer Observer
	clock    clock.WithTicker
	limits   Limits

	serving   *serving
	joins     *joinLimiter
	joining   chan struct{}
	crowd     *crowd
	presences *presences
	routes    []route

	served   atomic.Bool
	stopping chan struct{}
}

// New returns a gateway that is yet to be served.
func New(config Config) (*Gateway, error) {
	hosts, err := config.hosts()
	if err != nil {
		return nil, err
	}
	key, err := pki.NewKey()
	if err != nil {
		return nil, fmt.Errorf("could not make a gateway: %w", err)
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	limits := config.Limits.withDefaults()
	g := &Gateway{
		ledger:    config.Ledger,
		self:      config.Self,
		specs:     config.Specs,
		observer:  config.Observer,
		clock:     config.Clock,
		limits:    limits,
		serving:   &serving{ledger: config.Ledger, clock: config.Clock, hosts: hosts, key: key},
		joins:     newJoinLimiter(limits),
		joining:   make(chan struct{}, limits.ConcurrentJoins),
		crowd:     newCrowd(limits.RequestsPerSource),
		presences: newPresences(config.Ledger, limits),
		stopping:  make(chan struct{}),
	}
	g.routes = g.ownRoutes()
	return g, nil
}

// Contact returns when this replica last heard a peer by itself, to be told sooner than
// by the ledger that the peer is there; the zero time: never.
func (g *Gateway) Contact(uid string) time.Time { return g.presences.contact(uid) }

// Serve serves the listener, once, until the context ends. Syncs that are held back are
// answered then, and requests under way are waited for, but not for long.
func (g *Gateway) Serve(ctx context.Context, listener net.Listener) error {
	if !g.served.CompareAndSwap(false, true) {
		return errors.New("could not serve the gateway: it was served before")
	}
	defer g.ledger.Subscribe(g.presences.forget)()
	server := g.server(ctx)
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = server.ServeTLS(newDoorkeeper(listener, g.limits), "", "")
	}()
	select {
	case <-ended:
		close(g.stopping)
		_ = server.Close()
		return fmt.Errorf("could not serve the gateway: %w", failure)
	case <-ctx.Done():
	}
	close(g.stopping)
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.limits.Drain)
	defer cancel()
	if server.Shutdown(draining) != nil {
		_ = server.Close()
	}
	<-ended
	return nil
}

func (g *Gateway) server(ctx context.Context) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Server{
		Handler:   http.HandlerFunc(g.serve),
		Protocols: &protocols,
		TLSConfig: &tls.Config{
			MinVersion:             tls.VersionTLS13,
			SessionTicketsDisabled: true,
			// Whose it is, and whether it is good, is for the ledger to say, at every
			// request.
			ClientAuth:     tls.RequireAnyClientCert,
			GetCertificate: g.serving.certificate,
		},
		// There is none for reading or writing a request as a whole: answers are held
		// back, and streams last. Each part has its own.
		ReadHeaderTimeout: g.limits.Header,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// The library would answer OPTIONS * to anybody.
		DisableGeneralOptionsHandler: true,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: idleTimeout / 4},
		ErrorLog:                     errorLog(ctx),
		// The end of the context must not break off what is under way.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return remembering(ctx) },
	}
}
