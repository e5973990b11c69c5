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

package clusterpeer

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
)

const proxyPath = "/apis/peering.entente.dev/v1alpha1/clusterpeers/"

// carried notes what it is to carry, and carries nothing.
type carried struct {
	to      []Destination
	request *http.Request
}

func (c *carried) Carry(w http.ResponseWriter, r *http.Request, to Destination) {
	c.to, c.request = append(c.to, to), r
	w.WriteHeader(http.StatusAccepted)
}

// refusal notes the error of a request.
type refusal struct{ err error }

func (r *refusal) Error(err error)            { r.err = err }
func (r *refusal) Object(int, runtime.Object) { panic("nothing of ours is answered") }

// only has one ClusterPeer, and notes of nothing else.
type only struct{ peer *peering.ClusterPeer }

func (o only) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if name != o.peer.Name {
		return nil, apierrors.NewNotFound(peering.Resource(resource), name)
	}
	return o.peer, nil
}

// named is a ClusterPeer with everything in it.
func named(name string) *peering.ClusterPeer {
	peer := join()
	peer.Name, peer.UID = name, "uid-of-"+peer.UID
	return peer
}

// G8: what follows clusterpeers/NAME/proxy/ is carried as it was sent, escapes and all,
// wherever else the word proxy is; and nothing of the ClusterPeer but name and UID.
func TestG8Rest(t *testing.T) {
	for path, want := range map[string]string{
		"east/proxy/logs":                             "logs",
		"east/proxy/logs/":                            "logs/",
		"east/proxy/logs/api/v1/pods":                 "logs/api/v1/pods",
		"east/proxy/logs/api/v1/pods/a%2Fb%20c":       "logs/api/v1/pods/a%2Fb%20c",
		"east/proxy/logs/a%2f..%2Fb":                  "logs/a%2f..%2Fb",
		"east/proxy/logs/../../west/proxy/x":          "logs/../../west/proxy/x",
		"east/proxy//logs":                            "/logs",
		"east/proxy/%2Flogs":                          "%2Flogs",
		"east/proxy/proxy/proxy/east/proxy/x":         "proxy/proxy/east/proxy/x",
		"proxy/proxy/logs/api/v1/nodes/n/proxy/stats": "logs/api/v1/nodes/n/proxy/stats",
		"proxy/proxy/proxy":                           "proxy",
	} {
		name, _, _ := strings.Cut(path, "/")
		carrier, responder := &carried{}, &refusal{}
		handler, err := newProxy(only{named(name)}, carrier).Connect(t.Context(), name, nil, responder)
		require.NoError(t, err)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, proxyPath+path, nil))
		assert.NoError(t, responder.err, path)
		assert.Equal(t, []Destination{{UID: string(named(name).UID), Name: name, Rest: want}}, carrier.to, path)
	}
}

// G8: without a capability there is nowhere to go, and what is missing is said. A path that
// others could read differently is not carried.
func TestG8NoRest(t *testing.T) {
	for path, want := range map[string]struct {
		code int32
		says string
	}{
		"east/proxy":            {http.StatusNotFound, "lacks the name of a capability: it is clusterpeers/east/proxy/CAPABILITY/PATH"},
		"east/proxy/":           {http.StatusNotFound, "lacks the name of a capability"},
		"east/proxy?x=/proxy/y": {http.StatusNotFound, "lacks the name of a capability"},
		"%65ast/proxy/logs":     {http.StatusBadRequest, "must not be escaped before the name of the capability"},
		"east%2Fproxy/logs":     {http.StatusBadRequest, "must not be escaped"},
		"east/%70roxy/logs":     {http.StatusBadRequest, "must not be escaped"},
		"east/proxy%2Flogs":     {http.StatusBadRequest, "must not be escaped"},
	} {
		carrier, responder := &carried{}, &refusal{}
		handler, err := newProxy(only{named("east")}, carrier).Connect(t.Context(), "east", nil, responder)
		require.NoError(t, err)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, proxyPath+path, nil))
		var status apierrors.APIStatus
		require.ErrorAs(t, responder.err, &status, path)
		assert.Equal(t, want.code, status.Status().Code, path)
		assert.Contains(t, status.Status().Message, want.says, path)
		assert.Empty(t, carrier.to, path)
	}
}

// G8: a ClusterPeer that is not there has no proxy, nor has any where there is no host
// cluster, whose workloads are carried; of the store, as it is.
func TestG8Connect(t *testing.T) {
	s := newTestStorage(t)
	created := s.create(t, newJoin())
	carrier := &carried{}
	proxy := newProxy(s.Proxy.peers, carrier)
	_, err := proxy.Connect(as(operator, "proxy"), "absent", nil, &refusal{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = s.Proxy.Connect(as(operator, "proxy"), "a-peer", nil, &refusal{})
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.ErrorContains(t, err, "there is no host cluster")
	_, err = s.Proxy.Connect(as(operator, "proxy"), "absent", nil, &refusal{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)

	send := func() {
		handler, err := proxy.Connect(as(operator, "proxy"), "a-peer", nil, &refusal{})
		require.NoError(t, err)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, proxyPath+"a-peer/proxy/logs", nil))
	}
	send()
	// P12: one that is made anew is another one.
	_, _, err = s.Main.Delete(as(operator, ""), "a-peer", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	write(as(operator, ""), t, s.Main, func(p *peering.ClusterPeer) { p.Finalizers = nil })
	anew := s.create(t, newJoin())
	require.NotEqual(t, created.UID, anew.UID)
	send()
	assert.Equal(t, []Destination{{string(created.UID), "a-peer", "logs"}, {string(anew.UID), "a-peer", "logs"}}, carrier.to)
}

// G8: there is a method for each verb, and what is below the endpoint is its own.
func TestG8Endpoint(t *testing.T) {
	proxy := newProxy(only{named("east")}, nil)
	assert.ElementsMatch(t, []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, proxy.ConnectMethods())
	options, subpath, parameter := proxy.NewConnectOptions()
	assert.Nil(t, options)
	assert.True(t, subpath)
	assert.Empty(t, parameter)
	assert.IsType(t, &peering.ClusterPeerProxyOptions{}, proxy.New())
}

// G8: requests to the proxy pass the preparations for objects by, and their query is kept
// from what is on their way; all others do as before.
func TestG8WithProxied(t *testing.T) {
	const query = "dryRun=All&a=b%2Fc&a=;&watch=1"
	var took string
	var inner *http.Request
	note := func(way string) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { took, inner = way, r })
	}
	handler := WithProxied(note("inner"), note("objects"))
	for name, test := range map[string]struct {
		info *genericapirequest.RequestInfo
		want string
	}{
		"the proxy":              {&genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: peering.GroupName, Resource: "clusterpeers", Subresource: "proxy", Name: "east"}, "inner"},
		"an object":              {&genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: peering.GroupName, Resource: "clusterpeers", Name: "proxy"}, "objects"},
		"another subresource":    {&genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: peering.GroupName, Resource: "clusterpeers", Subresource: "status", Name: "proxy"}, "objects"},
		"another resource":       {&genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: peering.GroupName, Resource: "projectpeers", Subresource: "proxy"}, "objects"},
		"another group":          {&genericapirequest.RequestInfo{IsResourceRequest: true, Resource: "clusterpeers", Subresource: "proxy"}, "objects"},
		"no resource":            {&genericapirequest.RequestInfo{APIGroup: peering.GroupName, Resource: "clusterpeers", Subresource: "proxy"}, "objects"},
		"nothing is known of it": {nil, "objects"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := httptest.NewRequest(http.MethodPatch, proxyPath+"east/proxy/logs?"+query, strings.NewReader("body"))
			sent.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
			if test.info != nil {
				sent = sent.WithContext(genericapirequest.WithRequestInfo(sent.Context(), test.info))
			}
			handler.ServeHTTP(httptest.NewRecorder(), sent)
			assert.Equal(t, test.want, took)
			if test.want == "objects" {
				assert.Same(t, sent, inner)
				assert.Same(t, sent, unsealed(sent))
				return
			}
			assert.Empty(t, inner.URL.RawQuery)
			assert.Equal(t, query, sent.URL.RawQuery, "the request itself is whole, for who logs it")
			again := unsealed(inner)
			assert.Equal(t, sent.URL, again.URL)
			assert.Equal(t, sent.Header, again.Header)
			assert.Equal(t, sent.Body, again.Body)
		})
	}
}
