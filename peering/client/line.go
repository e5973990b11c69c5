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
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// Limits of what an answer may take besides its body.
const (
	maxHeaderBytes  = 16 << 10
	maxStreamBuffer = 512 << 10
)

// line is the way to one endpoint, with the connections that were opened to it.
type line struct {
	endpoint  string
	transport *http.Transport

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newLine makes a line on which dial opens connections, unless there is a proxy: then they
// go to that.
func (d *Dialer) newLine(endpoint string, dial dialFunc, config *tls.Config) *line {
	if d.proxy != nil {
		dial = d.plain().DialContext
	}
	l := &line{endpoint: endpoint, open: map[net.Conn]bool{}}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	l.transport = &http.Transport{
		DialContext:            l.kept(dial),
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    d.connectTimeout,
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        2 * d.callTimeout,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: maxStreamBuffer,
			// Finds out that the other side is gone while it is to hold an answer back.
			SendPingTimeout: d.syncGrace,
			PingTimeout:     d.syncGrace,
		},
	}
	if d.proxy != nil {
		l.transport.Proxy = http.ProxyURL(d.proxy)
	}
	return l
}

// kept has the connections that are dialled closed with the line, idle or not.
func (l *line) kept(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed {
			_ = connection.Close()
			return nil, net.ErrClosed
		}
		l.open[connection] = true
		return &keptConn{Conn: connection, line: l}, nil
	}
}

// close closes all connections.
func (l *line) close() {
	l.mu.Lock()
	l.closed = true
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
