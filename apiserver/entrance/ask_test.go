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

package entrance

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/passage"
	"entente.dev/entente/peering/record"
)

// stand returns what a request of the consumer would stand on.
func (f *fixture) stand(method, target string) *standing {
	f.t.Helper()
	path, query, _ := strings.Cut(target, "?")
	asked, reason := f.entrance.newAsk(method, path, query)
	require.Empty(f.t, reason, target)
	asked.capability = logs
	peer := &gateway.Peer{UID: uid, Name: "west", ClusterUUID: west, Role: record.RoleData}
	return &standing{
		entrance: f.entrance, peer: peer, ask: asked, issuer: *f.Peer(uid).Remote.Offer.Body.Issuer,
		workload: &workloadtoken.Workload{Username: workload, Namespace: "module-logs", Name: "controller", Expires: f.clock.Now().Add(9 * time.Minute)},
	}
}

// G7: a request is let in if a rule of the capability is for it, where the peer has been
// granted that. All else is refused before the host hears of it.
func TestG7RequestsAreMatchedWithTheRules(t *testing.T) {
	both := []record.GrantedObject{
		{Kind: record.KindClusterRole, Name: "c", UID: "c"},
		{Kind: record.KindRole, Namespace: "shop", Name: "r", UID: "r"},
	}
	f := newFixture(t, Limits{})
	for _, test := range []struct {
		request string
		// want is the reason with both grants, role with that of the namespace alone,
		// cluster with that of the cluster alone.
		want, role, cluster Reason
	}{
		{"GET /api/v1/namespaces/shop/configmaps/a", "", "", NotGranted},
		{"HEAD /api/v1/namespaces/shop/configmaps/a", "", "", NotGranted},
		{"GET /api/v1/namespaces/shop/configmaps", "", "", NotGranted},
		{"GET /api/v1/namespaces/shop/configmaps?watch=true", "", "", NotGranted},
		{"POST /api/v1/namespaces/shop/configmaps", "", "", NotGranted},
		{"PUT /api/v1/namespaces/shop/configmaps/a", "", "", NotGranted},
		{"PATCH /api/v1/namespaces/shop/configmaps/a", "", "", NotGranted},
		{"DELETE /api/v1/namespaces/shop/configmaps/a", "", "", NotGranted},
		{"DELETE /api/v1/namespaces/shop/configmaps", NotInRules, NotInRules, NotInRules},
		{"DELETE /apis/apps/v1/namespaces/shop/deployments", "", "", NotGranted},
		{"DELETE /apis/apps/v1/namespaces/shop/deployments/a", NotInRules, NotInRules, NotInRules},
		{"GET /apis/extensions/v1/namespaces/shop/deployments/a", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/configmaps/a/status", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/pods/a/log?follow=true", "", "", NotGranted},
		{"POST /api/v1/namespaces/shop/pods/a/exec?command=sh", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/pods/a/proxy/x", NotInRules, NotInRules, NotInRules},
		{"POST /api/v1/namespaces/shop/serviceaccounts/a/token", NotInRules, NotInRules, NotInRules},
		// In other namespaces, and in all, there is a grant for the whole cluster or none.
		{"GET /api/v1/namespaces/other/configmaps/a", NotGranted, NotGranted, NotGranted},
		{"GET /api/v1/configmaps", "", NotGranted, ""},
		{"GET /api/v1/configmaps?watch=1", "", NotGranted, ""},
		{"GET /api/v1/nodes", "", NotGranted, ""},
		{"GET /api/v1/nodes/a", "", NotGranted, ""},
		{"DELETE /api/v1/nodes/a", NotInRules, NotInRules, NotInRules},
		// A Namespace is in none.
		{"GET /api/v1/namespaces/shop", "", NotGranted, ""},
		{"GET /api/v1/namespaces/shop/status", "", NotGranted, ""},
		{"GET /api/v1/namespaces/shop/namespaces/shop", "", NotGranted, ""},
		{"GET /api/v1/namespaces", "", NotGranted, ""},
		{"PUT /api/v1/namespaces/shop/finalize", NotInRules, NotInRules, NotInRules},
		// Secrets are by name: in the path, or in the selector that limits what is listed.
		{"GET /api/v1/namespaces/shop/secrets/known", "", "", NotGranted},
		{"GET /api/v1/namespaces/shop/secrets/other", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/secrets", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/secrets?watch=true", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Dknown", "", "", NotGranted},
		{"GET /api/v1/namespaces/shop/secrets?watch=true&fieldSelector=metadata.name%3Dknown", "", "", NotGranted},
		{"GET /api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Dother", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/secrets?fieldSelector=metadata.name!%3Dknown", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Dother&fieldSelector=metadata.name%3Dknown", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/namespaces/shop/secrets?labelSelector=metadata.name%3Dknown", NotInRules, NotInRules, NotInRules},
		{"GET /api/v1/secrets?fieldSelector=metadata.name%3Dknown", "", NotGranted, ""},
		{"DELETE /api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Dknown", NotInRules, NotInRules, NotInRules},
		{"POST /api/v1/namespaces/shop/secrets/known", NotInRules, NotInRules, NotInRules},
		// URLs that are no resources are the whole cluster's.
		{"GET /metrics", "", NotGranted, ""},
		{"POST /metrics", NotInRules, NotInRules, NotInRules},
		{"HEAD /metrics", NotInRules, NotInRules, NotInRules},
		{"GET /metrics/cadvisor", NotInRules, NotInRules, NotInRules},
		{"GET /", NotInRules, NotInRules, NotInRules},
		{"GET /healthz", NotInRules, NotInRules, NotInRules},
		{"GET /logs", NotInRules, NotInRules, NotInRules},
		{"GET /debug/pprof/heap", NotInRules, NotInRules, NotInRules},
		{"GET /openid/v1/jwks", NotInRules, NotInRules, NotInRules},
		// Discovery is open.
		{"GET /api", "", "", ""},
		{"GET /api/v1", "", "", ""},
		{"GET /apis", "", "", ""},
		{"GET /apis/apps", "", "", ""},
		{"HEAD /apis/apps/v1", "", "", ""},
		{"GET /openapi/v2", "", "", ""},
		{"GET /openapi/v3", "", "", ""},
		{"GET /openapi/v3/apis/apps/v1?hash=x", "", "", ""},
		{"GET /version", "", "", ""},
		{"POST /version", NotInRules, NotInRules, NotInRules},
		{"POST /apis/apps/v1", NotInRules, NotInRules, NotInRules},
		{"GET /api/v2", NotInRules, NotInRules, NotInRules},
		{"GET /versions", NotInRules, NotInRules, NotInRules},
		{"GET /apis/apps/v1/deployments", NotInRules, NotInRules, NotInRules},
	} {
		t.Run(test.request, func(t *testing.T) {
			method, target, _ := strings.Cut(test.request, " ")
			for _, each := range []struct {
				grants []record.GrantedObject
				want   Reason
			}{{both, test.want}, {both[1:], test.role}, {both[:1], test.cluster}} {
				f.grant(each.grants...)
				s := f.stand(method, target)
				assert.Equal(t, each.want, s.fault())
			}
		})
	}
}

// G7: what cannot be read in one way only is not read at all.
func TestG7RequestsThatCannotBeRead(t *testing.T) {
	f := newFixture(t, Limits{Requests: 1000, Burst: 1000})
	for target, want := range map[string]Reason{
		"/peering/v1/api/":                                                     InvalidPath,
		"/peering/v1/api/%6cogs":                                               NotInRules, // it is read, and is logs
		"/peering/v1/api/LOGS/api":                                             InvalidPath,
		"/peering/v1/api/lo.gs/api":                                            InvalidPath,
		"/peering/v1/api/" + strings.Repeat("x", 64) + "/api":                  InvalidPath,
		"/peering/v1/%61pi/logs/api":                                           InvalidPath,
		apiPath + "//api":                                                      InvalidPath,
		apiPath + "/../logs/api":                                               InvalidPath,
		apiPath + "/api/../api":                                                InvalidPath,
		apiPath + "/api/%2e%2e/api":                                            InvalidPath,
		apiPath + "/api/v1/namespaces/shop%2Fconfigmaps":                       InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps/a%252Fb":                 InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps/a%3Fwatch=1":             InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps/a%23b":                   InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps/a;b":                     InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps/a%00":                    InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps/%C3%A4":                  InvalidPath,
		apiPath + "/api/v1/watch/namespaces/shop/configmaps":                   InvalidPath,
		apiPath + "/api/v1/watch":                                              InvalidPath,
		apiPath + "/apis/apps/v1/watch/deployments":                            InvalidPath,
		apiPath + "/api/v1/proxy/namespaces/shop/pods/a":                       InvalidPath,
		apiPath + "/api/v1/namespaces/shop/configmaps?watch=1;b=2":             InvalidQuery,
		apiPath + "/api/v1/namespaces/shop/configmaps?a=%zz":                   InvalidQuery,
		apiPath + "/api/v1/namespaces/shop/configmaps?limit=x":                 InvalidQuery,
		apiPath + "/api/v1/namespaces/shop/configmaps?fieldSelector=%3D%3D%3D": InvalidQuery,
		"/peering/v1/api/other/api":                                            NotInEffect,
	} {
		response, _, _ := f.raw("GET " + target + " HTTP/1.1\nHost: x\nAuthorization: Bearer " + f.token() + "\n\n")
		assert.Equal(t, want, f.read(response).reason, target)
	}
	for _, method := range []string{"OPTIONS", "TRACE", "PROPFIND", "get"} {
		response, _, _ := f.raw(method + " " + apiPath + "/api HTTP/1.1\nHost: x\nAuthorization: Bearer " + f.token() + "\n\n")
		assert.Equal(t, InvalidMethod, f.read(response).reason, method)
	}
	assert.Empty(t, f.host.take())
	assert.NotContains(t, f.log.String(), "%3D", "R15")
	a := f.get("/api/v1/namespaces/shop/configmaps/")
	assert.Equal(t, http.StatusOK, a.code, "one slash at the end is not minded")
	assert.Equal(t, "/base/api/v1/namespaces/shop/configmaps", f.host.take()[0].uri)
}

// G1: a capability that may not be granted is of no use, whatever its status says.
func TestG1ForbiddenRulesAreOfNoUse(t *testing.T) {
	f := newFixture(t, Limits{})
	for _, rule := range []peeringv1alpha1.CapabilityRule{
		{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/proxy"}, Verbs: []string{"get"}},
		{APIGroups: []string{"*"}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
		{APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers"}, Verbs: []string{"get"}},
		{NonResourceURLs: []string{"/*"}, Verbs: []string{"get"}},
	} {
		f.change(func(s *peeringv1alpha1.PeeringCapabilitySpec) { s.Rules = append(s.Rules[:5:5], rule) })
		f.lock.Lock()
		f.capabilities[logs].Status.Conditions = nil
		f.lock.Unlock()
		assert.Equal(t, NotInEffect, f.get("/api").reason)
	}
	f.change(func(s *peeringv1alpha1.PeeringCapabilitySpec) { s.Rules = s.Rules[:5] })
	assert.Equal(t, http.StatusOK, f.get("/api").code)
}

// G7: whatever is let in, the host takes it for what it was taken for here.
func FuzzG7HostReadsTheSame(f *testing.F) {
	for _, seed := range []string{
		"/api/v1/namespaces/shop/configmaps/a", "/api/v1/watch/pods?watch=0", "/api/v1/pods?watch=&fieldSelector=metadata.name%3Da",
		"/apis/apps/v1/namespaces/x/deployments/y/scale?a=b;c", "/%61pi/v1/..%2f", "/api//v1", "/openapi/v3/apis/apps/v1", "/api/v1/namespaces/a/status", "/a+b/~c/%41",
	} {
		f.Add("GET", seed)
		f.Add("DELETE", seed)
	}
	e := &Entrance{requests: requests()}
	f.Fuzz(func(t *testing.T, method, target string) {
		came, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + apiPath + target + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil || !isMethod(method) {
			return
		}
		came.Method = method
		asked, reason := e.readAsk(came)
		if reason != "" {
			return
		}
		// As it is sent on, and as a server reads it.
		sent := &url.URL{Path: asked.path, RawQuery: asked.query}
		went, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + sent.RequestURI() + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		require.NoError(t, err)
		host, err := requests().NewRequestInfo(went)
		require.NoError(t, err)
		// All that a host needs to decide. (The selectors it reads itself, from the same
		// query.)
		asked.info.FieldSelector, asked.info.LabelSelector = host.FieldSelector, host.LabelSelector
		assert.Equal(t, host, asked.info)
		assert.Equal(t, asked.path, went.URL.Path)
		capability, again, err := passage.Parse(asked.capability + went.URL.EscapedPath())
		require.NoError(t, err)
		assert.Equal(t, []string{asked.capability, asked.path}, []string{capability, again})
		assert.NotContains(t, asked.path, "//")
		assert.NotContains(t, asked.path+"/", "/../")
	})
}
