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

package client

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"entente.dev/entente/peering/connstring"
)

// Time limits where Config has none.
const (
	defaultConnectTimeout = 5 * time.Second
	defaultCallTimeout    = 30 * time.Second
	defaultSyncGrace      = 15 * time.Second
	defaultLeaveTimeout   = 5 * time.Second
	defaultCarryTimeout   = 30 * time.Second
)

// Config is how to dial.
type Config struct {
	Policy Policy
	// ProxyURL is a proxy to go through, http://HOST:PORT or socks5://HOST:PORT; nil: none.
	// The environment is not asked. Where the proxy is, and where it leads, is its
	// owner's choice: of endpoints only IP addresses are checked then, not what names
	// resolve to.
	ProxyURL *url.URL
	// Clock tells whether certificates are valid now. Nil: that of the system.
	Clock clock.PassiveClock
	// Resolver resolves host names. Nil: that of the system.
	Resolver *net.Resolver

	// ConnectTimeout is for a TCP connection and for the TLS handshake, each; 0: 5 s.
	ConnectTimeout time.Duration
	// CallTimeout is for a join or a renewal at one endpoint; 0: 30 s.
	CallTimeout time.Duration
	// SyncGrace is for a sync at one endpoint, besides what the gateway may wait; 0: 15 s.
	SyncGrace time.Duration
	// LeaveTimeout is for a leave, at all endpoints together; 0: 5 s.
	LeaveTimeout time.Duration
	// CarryTimeout is until an answer to the request of a workload begins, at all
	// endpoints together; 0: 30 s.
	CarryTimeout time.Duration
}

// Dialer dials gateways.
type Dialer struct {
	policy   Policy
	proxy    *url.URL
	clock    clock.PassiveClock
	resolver *net.Resolver

	connectTimeout, callTimeout, syncGrace, leaveTimeout, carryTimeout time.Duration
}

// New returns a Dialer, or an error, which quotes nothing, if the proxy is none that can
// be used.
func New(config Config) (*Dialer, error) {
	d := &Dialer{
		policy:         config.Policy,
		proxy:          config.ProxyURL,
		clock:          config.Clock,
		resolver:       config.Resolver,
		connectTimeout: cmp.Or(config.ConnectTimeout, defaultConnectTimeout),
		callTimeout:    cmp.Or(config.CallTimeout, defaultCallTimeout),
		syncGrace:      cmp.Or(config.SyncGrace, defaultSyncGrace),
		leaveTimeout:   cmp.Or(config.LeaveTimeout, defaultLeaveTimeout),
		carryTimeout:   cmp.Or(config.CarryTimeout, defaultCarryTimeout),
	}
	if d.proxy != nil {
		// Not https: the library would present the peering's certificate to the proxy.
		if scheme := d.proxy.Scheme; (scheme != "http" && scheme != "socks5") || d.proxy.Hostname() == "" {
			return nil, errors.New("the proxy is not of the form http://HOST:PORT or socks5://HOST:PORT")
		}
	}
	if d.clock == nil {
		d.clock = clock.RealClock{}
	}
	if d.resolver == nil {
		// Go's own, which knows names that end with a dot from /etc/hosts too.
		d.resolver = &net.Resolver{PreferGo: true}
	}
	return d, nil
}

// hostOf returns the host of an endpoint, or the failure that it is not one, or not one
// that may be dialled as far as that can be told by now.
func (d *Dialer) hostOf(endpoint string) (string, error) {
	parsed, err := url.Parse(endpoint)
	if err != nil || !connstring.IsEndpoint(endpoint) {
		return "", &Failure{Kind: Unreachable, Detail: DetailAddress}
	}
	host := parsed.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil && d.policy.Check(ip) != nil {
		return "", &Failure{Kind: Unreachable, Detail: DetailAddress}
	}
	return host, nil
}

// dial opens a TCP connection to an address that the policy allows.
func (d *Dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := d.plain()
	// Here the address is the one that the connection is about to be opened to, so that
	// no name can resolve to one that is checked and then to another.
	dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return ErrAddress
		}
		return d.policy.Check(target.Addr())
	}
	return dialer.DialContext(ctx, network, absolute(address))
}

// plain opens a TCP connection to wherever our own owner says.
func (d *Dialer) plain() *net.Dialer {
	return &net.Dialer{Timeout: d.connectTimeout, Resolver: d.resolver}
}

// absolute makes a host name one from the root: a search list would turn the name of
// another cluster's choice into one of this cluster.
func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return address
	}
	return net.JoinHostPort(host+".", port)
}
