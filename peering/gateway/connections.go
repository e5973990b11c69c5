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
	"net"
	"net/netip"
	"sync"
)

// doorkeeper is a listener that does not keep more connections than it may, in all and of
// one source: before a request is there nothing else is known of who opens them.
type doorkeeper struct {
	net.Listener
	limits Limits

	mu      sync.Mutex
	all     int
	sources map[netip.Prefix]int // of those that have any
}

func newDoorkeeper(listener net.Listener, limits Limits) *doorkeeper {
	return &doorkeeper{Listener: listener, limits: limits, sources: map[netip.Prefix]int{}}
}

// Accept returns the next connection that is not one too many; those are closed.
func (d *doorkeeper) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source := network(sourceOf(conn.RemoteAddr().String()))
		if d.enter(source) {
			return &leaving{Conn: conn, leave: sync.OnceFunc(func() { d.leave(source) })}, nil
		}
		_ = conn.Close()
	}
}

func (d *doorkeeper) enter(source netip.Prefix) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all >= d.limits.Connections || d.sources[source] >= d.limits.ConnectionsPerSource {
		return false
	}
	d.all++
	d.sources[source]++
	return true
}

func (d *doorkeeper) leave(source netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.sources[source]--; d.sources[source] == 0 {
		delete(d.sources, source)
	}
}

// leaving is a connection that is doorkeeper until it is closed.
type leaving struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (l *leaving) Close() error {
	defer l.leave()
	return l.Conn.Close()
}

// crowd counts the requests of each source that are under way.
type crowd struct {
	most int

	mu      sync.Mutex
	sources map[netip.Prefix]int // of those that have any
}

func newCrowd(most int) *crowd { return &crowd{most: most, sources: map[netip.Prefix]int{}} }

// enter counts a request, unless there are too many of its source. Leave is to be called
// when it is over.
func (c *crowd) enter(source netip.Addr) (leave func(), entered bool) {
	of := network(source)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sources[of] >= c.most {
		return nil, false
	}
	c.sources[of]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.sources[of]--; c.sources[of] == 0 {
			delete(c.sources, of)
		}
	}, true
}

// sourceOf is the address of who opened a connection, given as HOST:PORT; the zero one if
// that is none of IP.
func sourceOf(remote string) netip.Addr {
	source, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return source.Addr().Unmap().WithZone("")
}
