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

package discovery

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// Both ways in which a host cluster tells what it has, with client-go's own client: a
// group version that is stale, or that fails, is known to fail.
func TestG1DiscoveryClient(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{"aggregated": aggregated, "legacy": legacy} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			clk := clocktesting.NewFakeClock(noon)
			follower, err := New(Config{Client: client, Clock: clk})
			require.NoError(t, err)
			f := &fixture{t: t, clock: clk, Follower: follower}
			f.look(t.Context())
			assert.Nil(t, f.Current())
			f.clock.Step(patience)
			f.look(t.Context())
			assert.Equal(t, "namespaced", f.scope("", "pods"))
			assert.Equal(t, "namespaced", f.scope("", "pods/log"))
			assert.Equal(t, "cluster", f.scope("authorization.k8s.io", "subjectaccessreviews"))
			assert.Equal(t, "failed", f.scope("metrics.k8s.io", "pods"))
			assert.Empty(t, f.scope("example.com", "widgets"))
		})
	}
}

func answerJSON(w http.ResponseWriter, kind string, object any) {
	w.Header().Set("Content-Type", "application/json"+kind)
	_ = json.NewEncoder(w).Encode(object)
}

func aggregated(w http.ResponseWriter, r *http.Request) {
	kind := &metav1.GroupVersionKind{Version: "v1", Kind: "Any"}
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}}
	group := func(name, version string, freshness apidiscoveryv2.DiscoveryFreshness, resources ...apidiscoveryv2.APIResourceDiscovery) {
		list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Versions:   []apidiscoveryv2.APIVersionDiscovery{{Version: version, Freshness: freshness, Resources: resources}},
		})
	}
	switch r.URL.Path {
	case "/api":
		group("", "v1", apidiscoveryv2.DiscoveryFreshnessCurrent, apidiscoveryv2.APIResourceDiscovery{
			Resource: "pods", Scope: apidiscoveryv2.ScopeNamespace, ResponseKind: kind,
			Subresources: []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "log", ResponseKind: kind}},
		})
	case "/apis":
		group("authorization.k8s.io", "v1", apidiscoveryv2.DiscoveryFreshnessCurrent,
			apidiscoveryv2.APIResourceDiscovery{Resource: "subjectaccessreviews", Scope: apidiscoveryv2.ScopeCluster, ResponseKind: kind})
		group("metrics.k8s.io", "v1", apidiscoveryv2.DiscoveryFreshnessStale)
	}
	answerJSON(w, ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", list)
}

func legacy(w http.ResponseWriter, r *http.Request) {
	group := func(name string) metav1.APIGroup {
		version := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	}
	switch r.URL.Path {
	case "/api":
		answerJSON(w, "", metav1.APIVersions{Versions: []string{"v1"}})
	case "/api/v1":
		answerJSON(w, "", metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true}, {Name: "pods/log", Kind: "Pod", Namespaced: true},
		}})
	case "/apis":
		answerJSON(w, "", metav1.APIGroupList{Groups: []metav1.APIGroup{group("authorization.k8s.io"), group("metrics.k8s.io")}})
	case "/apis/authorization.k8s.io/v1":
		answerJSON(w, "", metav1.APIResourceList{GroupVersion: "authorization.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "subjectaccessreviews", Kind: "SubjectAccessReview"},
		}})
	default:
		http.Error(w, "the aggregated server is down", http.StatusServiceUnavailable)
	}
}
