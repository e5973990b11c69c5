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
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// recheck is how soon a request that lasts ends after the peer lost its right by
// something else than a change of the ledger: a certificate that ran out, a ClusterPeer
// that is being deleted.
const recheck = 5 * time.Second

// Peer is who a request is of.
type Peer struct {
	// UID and Name are those of the ClusterPeer.
	UID, Name   string
	ClusterUUID string
	Role        record.Role
	// Key is the hash of the public key of its certificate.
	Key record.Digest
	// Source is the address that the request came from, the zero one if that is none of IP.
	Source netip.Addr
}

type peerKey struct{}

// PeerFrom returns the peer that a request is of, in a handler that was mounted by
// Handle; false elsewhere.
func PeerFrom(ctx context.Context) (Peer, bool) {
	peer, ok := ctx.Value(peerKey{}).(Peer)
	return peer, ok
}

// Handle has a handler serve all paths that begin with prefix, which ends with a slash,
// for peers with a certificate of that role; with role data only while there is a peering
// without fault. It is to be called before Serve. The context of a request ends when the
// peer loses that right. How much a peer may ask for is for the handler to limit.
func (g *Gateway) Handle(prefix string, role record.Role, handler http.Handler) error {
	switch {
	case handler == nil, role != record.RoleControl && role != record.RoleData:
		return fmt.Errorf("could not serve %s at the gateway: it takes a role and a handler", prefix)
	case !strings.HasPrefix(prefix, "/"), !strings.HasSuffix(prefix, "/"), below(protocol.PathJoin, prefix):
		return fmt.Errorf("could not serve %s at the gateway: it is not a prefix of its own", prefix)
	case g.served.Load():
		return fmt.Errorf("could not serve %s at the gateway: it is being served", prefix)
	}
	for _, each := range g.routes {
		if below(each.path, prefix) || below(prefix, each.path) {
			return fmt.Errorf("could not serve %s at the gateway: %s is served already", prefix, each.path)
		}
	}
	g.routes = append(g.routes, route{path: prefix, role: role, serve: func(v *visit, c *caller) { g.mounted(v, c, handler) }})
	return nil
}

// below tells whether a path begins with a prefix.
func below(path, prefix string) bool { return strings.HasPrefix(path, prefix) }

func (g *Gateway) mounted(v *visit, c *caller, handler http.Handler) {
	_ = v.control.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(context.WithValue(v.r.Context(), peerKey{}, Peer{
		UID: c.peer.UID, Name: c.peer.Name, ClusterUUID: c.peer.Remote.ClusterUUID, Role: c.key.Role, Key: c.key.Hash, Source: v.about.Source,
	}))
	watching := make(chan struct{})
	defer func() {
		cancel()
		<-watching
	}()
	go func() {
		defer close(watching)
		defer cancel()
		g.whileAdmitted(ctx, v.r, c)
	}()
	handler.ServeHTTP(&counted{ResponseWriter: v.w, about: &v.about}, v.r.WithContext(ctx))
}

// whileAdmitted returns when the peer has no right any more to what it asked for, or the
// context ends.
func (g *Gateway) whileAdmitted(ctx context.Context, r *http.Request, c *caller) {
	ticker := g.clock.NewTicker(recheck)
	defer ticker.Stop()
	for {
		changed := g.ledger.Changed(c.peer.UID)
		if _, denied := g.admit(r, c.key.Role, false); denied != nil {
			return
		}
		select {
		case <-changed:
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
	}
}

// counted keeps the status code of an answer.
type counted struct {
	http.ResponseWriter
	about *Request
}

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(code int) {
	if c.about.Code < http.StatusOK {
		c.about.Code = code
	}
	c.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (c *counted) Write(data []byte) (int, error) {
	if c.about.Code < http.StatusOK {
		c.about.Code = http.StatusOK
	}
	return c.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush implements http.Flusher.
func (c *counted) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// Hijack implements http.Hijacker.
func (c *counted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.ResponseWriter).Hijack()
}
