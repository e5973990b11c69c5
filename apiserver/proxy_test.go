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

package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/registry/peering/clusterpeer"
	"entente.dev/entente/test/harness"
)

// sent is a request as it reached who carries it.
type sent struct {
	to            clusterpeer.Destination
	method, query string
	accept, body  string
	deadline      bool
}

// carrier notes what it is to carry, and answers as a peer might.
type carrier struct {
	t  testing.TB
	mu sync.Mutex
	// got are the requests so far.
	got []sent
	// holds, if set, is how long requests take.
	holds chan struct{}
}

func (c *carrier) Carry(w http.ResponseWriter, r *http.Request, to clusterpeer.Destination) {
	body, err := io.ReadAll(r.Body)
	assert.NoError(c.t, err)
	_, deadline := r.Context().Deadline()
	c.mu.Lock()
	c.got = append(c.got, sent{to, r.Method, r.URL.RawQuery, r.Header.Get("Accept"), string(body), deadline})
	c.mu.Unlock()
	if r.Header.Get("Upgrade") != "" {
		c.upgrade(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusAccepted)
	_, err = io.WriteString(w, "of the peer")
	assert.NoError(c.t, err)
	if c.holds != nil {
		assert.NoError(c.t, http.NewResponseController(w).Flush())
		select {
		case <-c.holds:
		case <-r.Context().Done():
		}
	}
}

// upgrade answers on the connection itself.
func (c *carrier) upgrade(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if !assert.NoError(c.t, err) {
		return
	}
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nof the peer")
	assert.NoError(c.t, err)
	assert.NoError(c.t, conn.Close())
}

func (c *carrier) last(t testing.TB) sent {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.NotEmpty(t, c.got)
	return c.got[len(c.got)-1]
}

func (c *carrier) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.got)
}

func withCarrier(c *carrier) harness.Option {
	return harness.WithConfig(func(config *apiserver.Config) {
		config.WrapCarrier = func(clusterpeer.Carrier) clusterpeer.Carrier { return c }
	})
}

// G8: a request reaches who carries it as it was sent, and the answer comes back as it was
// given, for every method: neither is one about objects of ours.
func TestG8ProxyPassesAll(t *testing.T) {
	c := &carrier{t: t}
	s := startAlone(t, withCarrier(c))
	s.seed(t, "east", s.secret(), s.secret())
	uid := text(t, s.do(t, harness.Viewer, http.MethodGet, "east", "").want(t, 200).object(t), "metadata", "uid")
	const protobuf = "application/vnd.kubernetes.protobuf,application/json"
	for _, r := range []struct{ method, contentType, body string }{
		{http.MethodGet, jsonType, ""},
		{http.MethodHead, jsonType, ""},
		{http.MethodPost, jsonType, "{no JSON"},
		{http.MethodPut, "application/vnd.kubernetes.protobuf", "k8s\x00 and more"},
		{http.MethodPatch, applyPat, "\tno: YAML"},
		{http.MethodPatch, applyPat, strings.Repeat("# long\n", 1<<20)},
		{http.MethodPatch, "some/patch", "x"},
		{http.MethodDelete, jsonType, `{"kind":"OfAnother"}`},
	} {
		const query = "dryRun=All&fieldManager=m&watch=1&timeout=1ms&a=b%2Fc"
		answered := s.do(t, harness.Admin, r.method, "east/proxy/logs/api/v1/pods/a%2Fb?"+query, r.body, as(r.contentType), accept(protobuf)).want(t, http.StatusAccepted)
		assert.Equal(t, "text/plain", answered.header.Get("Content-Type"))
		if r.method != http.MethodHead {
			assert.Equal(t, "of the peer", string(answered.body))
		}
		want := sent{to: clusterpeer.Destination{UID: uid, Name: "east", Rest: "logs/api/v1/pods/a%2Fb"}, method: r.method, query: query, accept: protobuf, body: r.body}
		assert.Equal(t, want, c.last(t), "without a deadline: it may be a watch")
	}
	before := c.count()
	for path, code := range map[string]int{"absent/proxy/logs": 404, "east/proxy": 404, "east/proxy/": 404, "%65ast/proxy/logs": 400} {
		// In whatever encoding.
		assert.Equal(t, code, s.do(t, harness.Admin, http.MethodGet, path, "", accept(protobuf)).code, path)
		assert.Equal(t, code, int(s.do(t, harness.Admin, http.MethodGet, path, "").want(t, code).status(t).Code), path)
	}
	assert.Contains(t, s.do(t, harness.Admin, http.MethodGet, "east/proxy", "").status(t).Message, "the path lacks the name of a capability")
	for _, method := range []string{http.MethodOptions, http.MethodTrace, "PROPFIND"} {
		assert.GreaterOrEqual(t, s.do(t, harness.Admin, method, "east/proxy/logs", "").code, 400, method)
	}
	assert.Equal(t, before, c.count(), "nothing of that is carried")
}

// G8: it takes the verb of the method on clusterpeers/proxy, for that ClusterPeer; a right
// on the object is none on its proxy.
func TestG8ProxyRights(t *testing.T) {
	c := &carrier{t: t}
	s := startAlone(t, withCarrier(c))
	s.seed(t, "east", s.secret(), "")
	s.seed(t, "west", s.secret(), "")
	verbs := map[string]string{http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}
	proxy := []string{"clusterpeers/proxy"}
	may := map[string]func(verb, name string) bool{
		harness.Admin:    func(string, string) bool { return true },
		harness.Operator: func(string, string) bool { return false },
		harness.Viewer:   func(string, string) bool { return false },
		"all-consumer":   func(string, string) bool { return true },
		"east-consumer":  func(_, name string) bool { return name == "east" },
		"watcher":        func(string, string) bool { return false },
	}
	s.AddUser(t, "all-consumer", harness.Rule([]string{"get", "create", "update", "patch", "delete"}, proxy))
	s.AddUser(t, "east-consumer", harness.Rule([]string{"get", "create", "update", "patch", "delete"}, proxy, "east"))
	s.AddUser(t, "watcher", harness.Rule([]string{"list", "watch", "deletecollection"}, proxy))
	for _, verb := range []string{"get", "create", "update", "patch", "delete"} {
		s.AddUser(t, verb+"-only", harness.Rule([]string{verb}, proxy))
		may[verb+"-only"] = func(asked, _ string) bool { return asked == verb }
	}
	for user, may := range may {
		for method, verb := range verbs {
			for _, name := range []string{"east", "west"} {
				want, before := http.StatusForbidden, c.count()
				if may(verb, name) {
					want = http.StatusAccepted
				}
				// Whatever the far end makes of it.
				for _, path := range []string{"logs/api/v1/pods", "logs/api/v1/pods?watch=1", "logs/api/v1/pods?fieldSelector=metadata.name%3Deast"} {
					assert.Equal(t, want, s.do(t, user, method, name+"/proxy/"+path, "").code, "%s %s %s as %s", method, name, path, user)
				}
				assert.Equal(t, want == http.StatusAccepted, c.count() > before)
			}
		}
	}
	assert.Equal(t, http.StatusUnauthorized, s.do(t, "", http.MethodGet, "east/proxy/logs", "").code, "who is not logged in")
}

// G8: what a peer is asked lasts as long as it takes. It is none of the requests of which
// there is a limit, nor one that ends after a while; and what has come of the answer is
// passed on.
func TestG8ProxyLasts(t *testing.T) {
	const limit = 4
	c := &carrier{t: t, holds: make(chan struct{})}
	s := startAlone(t, withCarrier(c), harness.WithOptions(func(o *options.Options) {
		o.ServerRun.MaxRequestsInFlight, o.ServerRun.MaxMutatingRequestsInFlight = limit, limit
	}))
	release := sync.OnceFunc(func() { close(c.holds) })
	t.Cleanup(release)
	s.seed(t, "east", s.secret(), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var open []*http.Response
	for i := range 4 * limit {
		method := []string{http.MethodGet, http.MethodPost}[i%2]
		resp, _ := s.send(ctx, t, harness.Admin, method, "east/proxy/logs/api/v1/pods?watch=1", "", nil)
		t.Cleanup(func() { _ = resp.Body.Close() })
		require.Equal(t, http.StatusAccepted, resp.StatusCode, i)
		begun := make([]byte, len("of the peer"))
		_, err := io.ReadFull(resp.Body, begun)
		require.NoError(t, err)
		open = append(open, resp)
	}
	assert.False(t, c.last(t).deadline)
	for range limit {
		s.do(t, harness.Viewer, http.MethodGet, "east", "").want(t, 200)
		s.do(t, harness.Operator, http.MethodPatch, "east", `{"metadata":{"labels":{"a":"b"}}}`, as(mergePat)).want(t, 200)
	}
	release()
	for _, resp := range open {
		rest, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Empty(t, rest)
	}
}

// G7: an upgrade gets the connection.
func TestG8ProxyUpgrades(t *testing.T) {
	s := startAlone(t, withCarrier(&carrier{t: t}))
	s.seed(t, "east", s.secret(), "")
	resp, _ := s.send(t.Context(), t, harness.Admin, http.MethodPost, "east/proxy/logs/api/v1/namespaces/a/pods/b/exec", "", []with{header("Connection", "Upgrade"), header("Upgrade", "SPDY/3.1")})
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "of the peer", string(content))
}

// G8, R5: where there is no host cluster the endpoint says so, and nothing of the
// ClusterPeer, to whoever may see all of it.
func TestG8ProxyStandalone(t *testing.T) {
	s := startAlone(t)
	s.seed(t, "east", s.secret(), s.secret())
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{"east/proxy", "east/proxy/logs/api"} {
			assert.Equal(t, "there is no host cluster, whose workloads could reach the peer", s.do(t, harness.Admin, method, path, "").want(t, 503).status(t).Message)
		}
		s.do(t, harness.Admin, method, "absent/proxy/logs", "").want(t, 404)
		s.do(t, harness.Operator, method, "east/proxy/logs", "").want(t, 403)
	}
}

// G8, K2: kubectl looks up whether a kind takes dry runs at any one patch of that kind in
// OpenAPI, and refuses one by itself if not. The patch of the proxy is of no kind that has
// others.
func TestG8ProxyIsNoPatchOfAnObject(t *testing.T) {
	s := startAlone(t)
	document := s.do(t, harness.Viewer, http.MethodGet, "/openapi/v3"+groupVersion, "").want(t, 200).object(t)
	patches := map[string]int{}
	for path, item := range field(document, "paths").(map[string]any) {
		patch, ok := item.(map[string]any)["patch"].(map[string]any)
		if !ok {
			continue
		}
		kind, parameters := field(patch, "x-kubernetes-group-version-kind", "kind"), map[any]bool{}
		patches[kind.(string)]++
		for _, parameter := range asList(patch["parameters"]) {
			parameters[parameter.(map[string]any)["name"]] = true
		}
		of := kind != "ClusterPeerProxyOptions"
		assert.Equal(t, of, parameters["dryRun"] && parameters["fieldValidation"], "%s %s", path, kind)
		assert.Equal(t, of, !strings.Contains(path, "/proxy"), "%s %s", path, kind)
	}
	assert.Equal(t, map[string]int{"ClusterPeer": 3, "ClusterPeerProxyOptions": 2, "PeeringCapability": 2, "ProjectPeer": 2, "TokenExchangeProvider": 2}, patches)
}
