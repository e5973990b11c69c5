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

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// everyVerb is what K2 asks for, in the order of discovery.
var everyVerb = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// verbsBelow are those of a subresource, in the order of discovery.
func verbsBelow(subresource string) []string {
	if subresource == "proxy" {
		return []string{"create", "delete", "get", "patch", "update"}
	}
	return []string{"get", "patch", "update"}
}

func decoded[T any](t testing.TB, content string) (into T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(content), &into), content)
	return into
}

// Discovery through kube-apiserver has our kinds in both of its forms.
func (s *suite) discovery(t *testing.T) {
	const aggregated, legacy = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json"
	gv := peeringv1alpha1.SchemeGroupVersion

	t.Run("aggregated", func(t *testing.T) {
		got := s.get(t, viewer, "/apis", aggregated)
		require.Contains(t, got.header.Get("Content-Type"), "as=APIGroupDiscoveryList")
		var found []apidiscoveryv2.APIGroupDiscovery
		for _, group := range decoded[apidiscoveryv2.APIGroupDiscoveryList](t, got.body).Items {
			if strings.HasSuffix(group.Name, "entente.dev") {
				found = append(found, group)
			}
		}
		require.Len(t, found, 1)
		require.Equal(t, gv.Group, found[0].Name)
		require.Len(t, found[0].Versions, 1)
		version := found[0].Versions[0]
		assert.Equal(t, gv.Version, version.Version)
		assert.Equal(t, apidiscoveryv2.DiscoveryFreshnessCurrent, version.Freshness)
		type served struct {
			singular, kind string
			scope          apidiscoveryv2.ResourceScope
			short          []string
			subresources   string
		}
		resources := map[string]served{}
		for _, resource := range version.Resources {
			// An empty group and version are those of the resource.
			assert.Equal(t, &metav1.GroupVersionKind{Kind: resource.ResponseKind.Kind}, resource.ResponseKind)
			assert.Equal(t, everyVerb, resource.Verbs, resource.Resource)
			assert.Equal(t, []string{"entente"}, resource.Categories, resource.Resource)
			var subresources []string
			for _, subresource := range resource.Subresources {
				assert.Equal(t, verbsBelow(subresource.Subresource), subresource.Verbs, resource.Resource)
				subresources = append(subresources, subresource.Subresource)
			}
			slices.Sort(subresources)
			resources[resource.Resource] = served{resource.SingularResource, resource.ResponseKind.Kind, resource.Scope, resource.ShortNames, strings.Join(subresources, ",")}
		}
		assert.Equal(t, map[string]served{
			"clusterpeers":           {"clusterpeer", "ClusterPeer", apidiscoveryv2.ScopeCluster, []string{"cpeer"}, "proxy,sensitive,status"},
			"peeringcapabilities":    {"peeringcapability", "PeeringCapability", apidiscoveryv2.ScopeCluster, []string{"peercap"}, "status"},
			"projectpeers":           {"projectpeer", "ProjectPeer", apidiscoveryv2.ScopeNamespace, nil, "status"},
			"tokenexchangeproviders": {"tokenexchangeprovider", "TokenExchangeProvider", apidiscoveryv2.ScopeCluster, nil, "status"},
		}, resources)
	})

	t.Run("legacy", func(t *testing.T) {
		wanted := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
		var found []metav1.APIGroup
		for _, group := range decoded[metav1.APIGroupList](t, s.get(t, viewer, "/apis", legacy).body).Groups {
			if strings.HasSuffix(group.Name, "entente.dev") {
				found = append(found, group)
			}
		}
		require.Len(t, found, 1)
		assert.Equal(t, gv.Group, found[0].Name)
		group := decoded[metav1.APIGroup](t, s.get(t, viewer, "/apis/"+gv.Group, legacy).body)
		for _, group := range []metav1.APIGroup{found[0], group} {
			assert.Equal(t, []metav1.GroupVersionForDiscovery{wanted}, group.Versions)
			assert.Equal(t, wanted, group.PreferredVersion)
		}
		list := decoded[metav1.APIResourceList](t, s.get(t, viewer, "/apis/"+gv.String(), legacy).body)
		assert.Equal(t, gv.String(), list.GroupVersion)
		var resources []string
		for _, resource := range list.APIResources {
			_, subresource, below := strings.Cut(resource.Name, "/")
			verbs := verbsBelow(subresource)
			if !below {
				verbs = everyVerb
				assert.Equal(t, []string{"entente"}, resource.Categories, resource.Name)
			}
			assert.Equal(t, verbs, []string(resource.Verbs), resource.Name)
			resources = append(resources, fmt.Sprint(resource.Name, " ", resource.Kind, " ", resource.SingularName, " ", resource.ShortNames, " ", resource.Namespaced))
		}
		assert.ElementsMatch(t, []string{
			"clusterpeers ClusterPeer clusterpeer [cpeer] false",
			"clusterpeers/status ClusterPeer  [] false",
			"clusterpeers/sensitive ClusterPeer  [] false",
			"clusterpeers/proxy ClusterPeerProxyOptions  [] false",
			"peeringcapabilities PeeringCapability peeringcapability [peercap] false",
			"peeringcapabilities/status PeeringCapability  [] false",
			"projectpeers ProjectPeer projectpeer [] true",
			"projectpeers/status ProjectPeer  [] true",
			"tokenexchangeproviders TokenExchangeProvider tokenexchangeprovider [] false",
			"tokenexchangeproviders/status TokenExchangeProvider  [] false",
		}, resources)
	})
}

// OpenAPI of kube-apiserver has our kinds, with the mark of sensitive fields.
func (s *suite) openAPI(t *testing.T) {
	const (
		group = "/apis/peering.entente.dev/v1alpha1"
		mark  = "x-kubernetes-sensitive-data"
	)
	paths := []string{group + "/clusterpeers/{name}/sensitive", group + "/clusterpeers/{name}/proxy", group + "/clusterpeers/{name}/proxy/{path}"}
	for _, collection := range []string{group + "/clusterpeers", group + "/peeringcapabilities", group + "/namespaces/{namespace}/projectpeers", group + "/tokenexchangeproviders"} {
		paths = append(paths, collection, collection+"/{name}", collection+"/{name}/status")
	}
	type field struct {
		Description string `json:"description"`
		Sensitive   bool   `json:"x-kubernetes-sensitive-data"`
	}
	type schema struct {
		Properties map[string]field  `json:"properties"`
		Kinds      []json.RawMessage `json:"x-kubernetes-group-version-kind"`
	}
	check := func(t *testing.T, served map[string]json.RawMessage, schemas map[string]schema) {
		t.Helper()
		for _, path := range paths {
			assert.Contains(t, served, path)
		}
		sensitive, kinds := 0, 0
		for name, schema := range schemas {
			if !strings.Contains(name, "entente") {
				continue
			}
			for property, field := range schema.Properties {
				if field.Sensitive {
					assert.Equal(t, "connectionString", property, name)
					assert.NotEmpty(t, field.Description, name)
					sensitive++
				}
			}
			for _, kind := range schema.Kinds {
				for _, name := range []string{`"ClusterPeer"`, `"PeeringCapability"`, `"ProjectPeer"`, `"TokenExchangeProvider"`} {
					if strings.Contains(string(kind), name) {
						kinds++
					}
				}
			}
		}
		assert.Equal(t, 2, sensitive, "fields with %s", mark)
		assert.Equal(t, 4, kinds, "schemas of our kinds")
	}

	t.Run("v3", func(t *testing.T) {
		index := decoded[struct {
			Paths map[string]struct {
				ServerRelativeURL string `json:"serverRelativeURL"`
			} `json:"paths"`
		}](t, s.get(t, viewer, "/openapi/v3", "application/json").body)
		url := index.Paths["apis/peering.entente.dev/v1alpha1"].ServerRelativeURL
		require.NotEmpty(t, url)
		document := decoded[struct {
			Paths      map[string]json.RawMessage `json:"paths"`
			Components struct {
				Schemas map[string]schema `json:"schemas"`
			} `json:"components"`
		}](t, s.get(t, viewer, url, "application/json").body)
		check(t, document.Paths, document.Components.Schemas)
	})

	t.Run("v2", func(t *testing.T) {
		type swagger struct {
			Paths       map[string]json.RawMessage `json:"paths"`
			Definitions map[string]schema          `json:"definitions"`
		}
		var document swagger
		// kube-apiserver puts it together from time to time.
		eventually(t, "the group is in OpenAPI v2", func(context.Context) error {
			document = decoded[swagger](t, s.get(t, viewer, "/openapi/v2", "application/json").body)
			if _, found := document.Paths[group+"/clusterpeers"]; !found {
				return errors.New("it is not")
			}
			return nil
		})
		check(t, document.Paths, document.Definitions)
	})
}
