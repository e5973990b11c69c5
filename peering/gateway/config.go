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
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/record"
)

// Config is what a Gateway is made of. All but Clock and Limits is required.
type Config struct {
	Ledger record.Ledger
	// Self is this cluster. The serving certificate is for the hosts of its endpoints.
	Self exchange.Self
	// Specs finds what a ClusterPeer says now.
	Specs    record.Specs
	Observer Observer
	// Clock is that of the system by default. (How long a connection may idle is always
	// measured by that.)
	Clock  clock.WithTicker
	Limits Limits
}

// Limits keep those who ask from asking too much. A field that is zero has the default.
type Limits struct {
	// JoinsPerSource is how often one address may try to join, in tries a second, and
	// JoinBurstPerSource how many tries may come at once. The addresses of an IPv6
	// network of 64 bits count as one. (0.5 a second, 10)
	JoinsPerSource     rate.Limit
	JoinBurstPerSource int
	// Joins and JoinBurst are for all addresses together. (20 a second, 50)
	Joins     rate.Limit
	JoinBurst int
	// Sources is how many addresses are remembered, the latest ones. (4096)
	Sources int
	// ConcurrentJoins is how many invites may be looked up at the same time. (8)
	ConcurrentJoins int
	// Connections is how many connections may be open at a time, ConnectionsPerSource how
	// many of one source. More are closed at once. (8192, 256)
	Connections          int
	ConnectionsPerSource int
	// RequestsPerSource is how many requests of one source may be under way at a time, on
	// all its connections together. More are broken off at once: an answer, too, takes
	// memory until it is taken. (2048)
	RequestsPerSource int
	// Calls and CallBurst are how often one peer may ask, for sync, renewal and leaving
	// together. (2 a second, 20)
	Calls     rate.Limit
	CallBurst int
	// Wait is for how long the answer to a sync is held back at the most. (30 s)
	Wait time.Duration
	// Header, Body and Write are how long it may take to shake hands and send the header
	// of a request, to send its body, and to take the answer. (5 s, 10 s, 10 s)
	Header, Body, Write time.Duration
	// Update is how long a change of the ledger may take. (10 s)
	Update time.Duration
	// Drain is how long Serve waits for requests under way when it is to end. (5 s)
	Drain time.Duration
}

// Limits that are nobody's choice.
const (
	maxHeaderBytes = 16 << 10
	idleTimeout    = 30 * time.Second
	// refusalTimeout is for how long a refusal waits to be taken.
	refusalTimeout = 2 * time.Second
	// A peer needs few streams for itself; the rest is for its workloads.
	maxStreams = 128
)

func (l Limits) withDefaults() Limits {
	return Limits{
		JoinsPerSource:       cmp.Or(l.JoinsPerSource, 0.5),
		JoinBurstPerSource:   cmp.Or(l.JoinBurstPerSource, 10),
		Joins:                cmp.Or(l.Joins, 20),
		JoinBurst:            cmp.Or(l.JoinBurst, 50),
		Sources:              cmp.Or(l.Sources, 4096),
		ConcurrentJoins:      cmp.Or(l.ConcurrentJoins, 8),
		Connections:          cmp.Or(l.Connections, 8192),
		ConnectionsPerSource: cmp.Or(l.ConnectionsPerSource, 256),
		RequestsPerSource:    cmp.Or(l.RequestsPerSource, 2048),
		Calls:                cmp.Or(l.Calls, 2),
		CallBurst:            cmp.Or(l.CallBurst, 20),
		Wait:                 cmp.Or(l.Wait, 30*time.Second),
		Header:               cmp.Or(l.Header, 5*time.Second),
		Body:                 cmp.Or(l.Body, 10*time.Second),
		Write:                cmp.Or(l.Write, 10*time.Second),
		Update:               cmp.Or(l.Update, 10*time.Second),
		Drain:                cmp.Or(l.Drain, 5*time.Second),
	}
}

// hosts returns the hosts of the endpoints, or what is missing in the configuration.
func (c Config) hosts() ([]string, error) {
	switch {
	case c.Ledger == nil, c.Specs == nil, c.Observer == nil:
		return nil, errors.New("could not make a gateway: it needs a ledger, the specs of ClusterPeers and an observer")
	case !connstring.IsUUID(c.Self.ClusterUUID):
		return nil, errors.New("could not make a gateway: it needs the UUID of this cluster")
	case len(c.Self.Endpoints) == 0:
		return nil, errors.New("could not make a gateway: it needs an endpoint under which it is advertised")
	}
	var hosts []string
	for _, endpoint := range c.Self.Endpoints {
		parsed, err := url.Parse(endpoint)
		if err != nil || !connstring.IsEndpoint(endpoint) {
			return nil, fmt.Errorf("could not make a gateway: %q is not an endpoint", endpoint)
		}
		hosts = append(hosts, parsed.Hostname())
	}
	return hosts, nil
}
