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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nobody takes more connections than are meant for one, or for all; one that was closed
// makes room, once.
func TestConnectionsAreCounted(t *testing.T) {
	d := newDoorkeeper(nil, Limits{Connections: 3, ConnectionsPerSource: 2})
	one := network(netip.MustParseAddr("192.0.2.1"))
	assert.True(t, d.enter(one))
	assert.True(t, d.enter(one))
	assert.False(t, d.enter(one), "of one source")
	six := network(netip.MustParseAddr("2001:db8::1"))
	assert.True(t, d.enter(six))
	assert.False(t, d.enter(network(netip.MustParseAddr("192.0.2.2"))), "in all")
	d.leave(one)
	assert.True(t, d.enter(network(netip.MustParseAddr("192.0.2.2"))))
	d.leave(six)
	assert.NotContains(t, d.sources, six, "nothing is kept of who is gone")
}

func TestConnectionsMakeRoomWhenClosed(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	d := newDoorkeeper(listener, Limits{Connections: 1, ConnectionsPerSource: 1})
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		return conn
	}
	defer dial().Close()
	first, err := d.Accept()
	require.NoError(t, err)
	refused := dial()
	defer refused.Close()
	third := dial()
	defer third.Close()
	accepted := make(chan net.Conn)
	go func() {
		conn, err := d.Accept()
		if err == nil {
			accepted <- conn
		}
	}()
	_, err = refused.Read(make([]byte, 1))
	require.Error(t, err, "one too many is closed")
	_, err = third.Read(make([]byte, 1))
	require.Error(t, err)
	require.NoError(t, first.Close())
	require.Error(t, first.Close())
	defer dial().Close()
	require.NoError(t, (<-accepted).Close())
	assert.Zero(t, d.all)
}

// P6, P11: limits and audit know a source by the same address, however it is written.
func TestSourceOf(t *testing.T) {
	for remote, want := range map[string]netip.Addr{
		"192.0.2.1:443":           netip.MustParseAddr("192.0.2.1"),
		"[::ffff:192.0.2.1]:443":  netip.MustParseAddr("192.0.2.1"),
		"[2001:db8::1]:443":       netip.MustParseAddr("2001:db8::1"),
		"[fe80::1%interface]:443": netip.MustParseAddr("fe80::1"),
		"":                        {},
		"@":                       {},
		"/run/socket":             {},
	} {
		assert.Equal(t, want, sourceOf(remote), remote)
	}
}
