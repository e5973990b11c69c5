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
	"net/http"
	"strings"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// route is something that a peer may ask for.
type route struct {
	// path is the whole path, or how it begins if it ends with a slash.
	path string
	// role is that of the certificate that it takes.
	role record.Role
	// renewing says that a certificate will do that is to be renewed.
	renewing bool
	serve    func(*visit, *caller)
}

func (g *Gateway) ownRoutes() []route {
	return []route{
		{path: protocol.PathSync, role: record.RoleControl, serve: g.called(g.sync)},
		{path: protocol.PathRenew, role: record.RoleControl, renewing: true, serve: g.called(g.renew)},
		{path: protocol.PathLeave, role: record.RoleControl, serve: g.called(g.leave)},
	}
}

func (g *Gateway) route(path string) (route, bool) {
	for _, each := range g.routes {
		if path == each.path || (strings.HasSuffix(each.path, "/") && strings.HasPrefix(path, each.path)) {
			return each, true
		}
	}
	return route{}, false
}

// serve serves a request.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	leave, entered := g.crowd.enter(sourceOf(r.RemoteAddr))
	if !entered {
		// Without an answer, which might not be taken either.
		panic(http.ErrAbortHandler)
	}
	defer leave()
	v := g.visit(w, r)
	defer v.end()
	if r.URL.Path == protocol.PathJoin {
		v.about.Path = protocol.PathJoin
		g.join(r.Context(), v)
		return
	}
	to, found := g.route(r.URL.Path)
	v.about.Path = to.path
	c, denied := g.admit(r, to.role, to.renewing)
	if c != nil {
		v.about.UID, v.about.Name, v.about.ClusterUUID = c.peer.UID, c.peer.Name, c.peer.Remote.ClusterUUID
	}
	switch {
	case denied != nil:
		v.part()
		v.deny(denied)
	case !found:
		// What there is and what is not, only a peer learns.
		v.deny(&unknown)
	default:
		to.serve(v, c)
	}
}

// called is what a peer asks for by a message, and not too often.
func (g *Gateway) called(do func(*visit, *caller)) func(*visit, *caller) {
	return func(v *visit, c *caller) {
		denied := v.isPost()
		if !g.presences.allow(c.peer.UID, g.clock.Now()) {
			denied = &busy
		}
		if denied != nil {
			v.deny(denied)
			return
		}
		do(v, c)
	}
}
