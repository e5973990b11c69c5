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
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names resolves every host name to what it is told, and notes what it is asked. No
// address: there is no such name.
type names struct {
	address string
	mu      sync.Mutex
	asked   []string
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go n.answer(there)
		return here, nil
	}}
}

// answer speaks DNS over a stream (RFC 1035, 4.2.2).
func (n *names) answer(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	var length [2]byte
	if _, err := io.ReadFull(connection, length[:]); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(connection, query); err != nil {
		return
	}
	var name strings.Builder
	end := 12
	for query[end] != 0 {
		label := query[end+1 : end+1+int(query[end])]
		name.Write(label)
		name.WriteByte('.')
		end += 1 + len(label)
	}
	kind := binary.BigEndian.Uint16(query[end+1:])
	n.mu.Lock()
	n.asked = append(n.asked, name.String())
	n.mu.Unlock()

	var data []byte
	if address, err := netip.ParseAddr(n.address); err == nil && address.Is4() == (kind == 1) {
		data = address.AsSlice()
	}
	reply := append([]byte(nil), query[:end+5]...)
	copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	switch {
	case data != nil:
		reply[7] = 1
		reply = append(reply, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
		reply = append(reply, data...)
	case n.address == "":
		reply[3] |= 3 // no such name
	}
	_, _ = connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
}

// P11: the address is checked after resolving: a name does not get round the policy.
func TestP11NamesOfForbiddenAddresses(t *testing.T) {
	g := serve(t, entrance{hosts: []string{"gateway.example"}}, answering(t, http.StatusOK, echo()))
	endpoint := "https://gateway.example:" + portOf(g.endpoint)

	for _, address := range []string{"127.0.0.1", "::1", "169.254.169.254", "::ffff:7f00:1", "64:ff9b::7f00:1"} {
		where := &names{address: address}
		d := dialer(t, func(c *Config) { c.Policy = Policy{}; c.Resolver = where.resolver() })
		_, err := connect(t, d, g.trust(), endpoint).Sync(t.Context(), beat())
		requireFailure(t, Failure{Kind: Unreachable, Detail: DetailAddress}, err)
	}
	assert.Zero(t, g.connections.Load())

	// With AllowLocal the same name leads there, and is asked for from the root only.
	where := &names{address: local}
	d := dialer(t, func(c *Config) { c.Resolver = where.resolver() })
	_, err := connect(t, d, g.trust(), endpoint).Sync(t.Context(), beat())
	require.NoError(t, err)
	for _, asked := range where.asked {
		assert.Equal(t, "gateway.example.", asked)
	}

	// A name that is none.
	d = dialer(t, func(c *Config) { c.Resolver = (&names{}).resolver() })
	_, err = connect(t, d, g.trust(), endpoint).Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailResolve}, err)
}

// P11: an address in the endpoint itself.
func TestP11ForbiddenEndpoints(t *testing.T) {
	g := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	closed := dialer(t, func(c *Config) { c.Policy = Policy{} })
	denied := dialer(t, func(c *Config) { c.Policy.Deny = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	for _, d := range []*Dialer{closed, denied} {
		_, err := connect(t, d, g.trust(), g.endpoint).Sync(t.Context(), beat())
		requireFailure(t, Failure{Kind: Unreachable, Detail: DetailAddress}, err)
	}
	for _, endpoint := range []string{"http://192.0.2.1", "https://user@192.0.2.1", "https://192.0.2.1/path", "canary"} {
		_, err := connect(t, dialer(t), g.trust(), endpoint).Sync(t.Context(), beat())
		requireFailure(t, Failure{Kind: Unreachable, Detail: DetailAddress}, err)
	}
	assert.Zero(t, g.connections.Load())
}

// A search list is for names without a dot at the end.
func TestP11NamesFromTheRoot(t *testing.T) {
	for address, want := range map[string]string{
		"kubernetes.default:443": "kubernetes.default.:443", "192.0.2.1:443": "192.0.2.1:443", "[2001:db8::1]:443": "[2001:db8::1]:443",
	} {
		assert.Equal(t, want, absolute(address))
	}
}

func portOf(endpoint string) string { return endpoint[strings.LastIndex(endpoint, ":")+1:] }
