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

package target

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"entente.dev/entente/peering/client"
)

// Limits of a connection.
const (
	// connectTimeout is for a TCP connection and for the TLS handshake, each.
	connectTimeout  = 10 * time.Second
	idleTimeout     = 90 * time.Second
	maxHeaderBytes  = 64 << 10
	maxStreamBuffer = 1 << 20
	// A connection over which nothing comes for so long is asked for life, and given up
	// after so long without an answer.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
)

// errClosed is what a call on a closed client fails with.
var errClosed = errors.New("the client is closed")

type (
	dialFunc  = func(ctx context.Context, network, address string) (net.Conn, error)
	proxyFunc = func(*http.Request) (*url.URL, error)
)

// line is the way to one cluster, with the connections that were opened to it. It is a
// transport of its own, since client-go never lets go of those that it makes.
type line struct {
	transport *http.Transport
	// ended ends with the line, and the dialling with it.
	ended context.Context
	end   context.CancelFunc

	mu   sync.Mutex
	open map[net.Conn]bool // nil after the line was closed
}

// newLine makes a line. The proxy is never that of the environment.
func newLine(dial dialFunc, proxy proxyFunc, encryption *tls.Config, plain bool) *line {
	l := &line{open: map[net.Conn]bool{}}
	l.ended, l.end = context.WithCancel(context.Background())
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	l.transport = &http.Transport{
		Proxy:                  proxy,
		DialContext:            l.kept(dial),
		TLSClientConfig:        encryption,
		TLSHandshakeTimeout:    connectTimeout,
		Protocols:              &protocols,
		DisableCompression:     plain,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idleTimeout,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: maxStreamBuffer,
			SendPingTimeout:           pingAfter,
			PingTimeout:               pingTimeout,
		},
	}
	return l
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.transport.RoundTrip(request)
	if err != nil && l.ended.Err() != nil {
		return nil, errClosed // whatever it looks like
	}
	return response, err
}

// kept has the connections that are dialled closed with the line, idle or not, and those
// that are not there yet given up.
func (l *line) kept(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(l.ended, cancel) //nolint:contextcheck // the life of the line, besides that of the call
		defer stop()
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open == nil {
			_ = connection.Close()
			return nil, errClosed
		}
		l.open[connection] = true
		return &keptConn{Conn: connection, line: l}, nil
	}
}

// close closes all connections.
func (l *line) close() {
	l.end()
	l.mu.Lock()
	for connection := range l.open {
		_ = connection.Close()
	}
	l.open = nil
	l.mu.Unlock()
	l.transport.CloseIdleConnections()
}

type keptConn struct {
	net.Conn
	line *line
}

// Close closes the connection and forgets it.
func (c *keptConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.open, c.Conn)
	c.line.mu.Unlock()
	return c.Conn.Close()
}

// dialer dials where a tenant says, as far as the policy allows it (P11).
type dialer struct {
	policy   client.Policy
	resolver *net.Resolver
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	resolver := d.resolver
	if resolver == nil {
		// Go's own, which knows names that end with a dot from /etc/hosts too.
		resolver = &net.Resolver{PreferGo: true}
	}
	inner := net.Dialer{
		Timeout:  connectTimeout,
		Resolver: resolver,
		// Here the address is the one that the connection is about to be opened to, so that
		// no name can resolve to one that is checked and then to another.
		ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return client.ErrAddress
			}
			return d.policy.Check(target.Addr())
		},
	}
	return inner.DialContext(ctx, network, absolute(address))
}

// absolute makes a host name one from the root.
func absolute(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || host[len(host)-1] == '.' {
		return address
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return address
	}
	return net.JoinHostPort(host+".", port)
}

// proxyOf returns the proxy of an access, nil: it has none. What lies behind it is not dialled
// here, so its address, if it is one, is checked before.
func proxyOf(m *material, policy client.Policy) proxyFunc {
	if m.proxy == nil {
		return nil
	}
	return func(request *http.Request) (*url.URL, error) {
		if ip, err := netip.ParseAddr(request.URL.Hostname()); err == nil && policy.Check(ip) != nil {
			return nil, client.ErrAddress
		}
		return m.proxy, nil
	}
}
