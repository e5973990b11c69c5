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

package standalone

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// userOf is the user whom the client certificate in a kubeconfig logs in.
func userOf(t *testing.T, e *Environment, name string) user.Info {
	t.Helper()
	subject := clientCertificate(t, e, name).Subject
	return &user.DefaultInfo{Name: subject.CommonName, Groups: append(slices.Clone(subject.Organization), user.AllAuthenticated)}
}

func decide(t *testing.T, e *Environment, attributes authorizer.Attributes) bool {
	t.Helper()
	decision, _, err := e.Authorizer.Authorize(context.Background(), attributes)
	require.NoError(t, err)
	return decision == authorizer.DecisionAllow
}

// Design section 3: admin may everything; operator every verb on every kind and
// status but not clusterpeers/sensitive; viewer get, list and watch. G2, G4: nobody but
// the admin escalates, binds or pairs. G8: nor sends anything to a peer. C2, C4: the
// operator may name files of the data folder in Clusters, and use every Cluster.
func TestDefaultRights(t *testing.T) {
	e := prepared(t, Config{DataDir: t.TempDir()})
	require.Empty(t, e.Authorizer.Problems())

	read := []string{"get", "list", "watch"}
	every := append(slices.Clone(read), "create", "update", "patch", "delete", "deletecollection")
	beyond := []string{"use", "bind", "escalate", "pair", "impersonate", "*"}
	all := append(slices.Clone(every), beyond...)
	resources := map[string]authorizer.AttributesRecord{
		"clusterpeers":                  {APIGroup: "peering.entente.dev", Resource: "clusterpeers"},
		"clusterpeers/status":           {APIGroup: "peering.entente.dev", Resource: "clusterpeers", Subresource: "status"},
		"clusterpeers/sensitive":        {APIGroup: "peering.entente.dev", Resource: "clusterpeers", Subresource: "sensitive"},
		"peeringcapabilities":           {APIGroup: "peering.entente.dev", Resource: "peeringcapabilities"},
		"peeringcapabilities/status":    {APIGroup: "peering.entente.dev", Resource: "peeringcapabilities", Subresource: "status"},
		"projectpeers":                  {APIGroup: "peering.entente.dev", Resource: "projectpeers", Namespace: "default"},
		"projectpeers/status":           {APIGroup: "peering.entente.dev", Resource: "projectpeers", Subresource: "status", Namespace: "default"},
		"tokenexchangeproviders":        {APIGroup: "peering.entente.dev", Resource: "tokenexchangeproviders"},
		"tokenexchangeproviders/status": {APIGroup: "peering.entente.dev", Resource: "tokenexchangeproviders", Subresource: "status"},
		"clusterpeers/proxy":            {APIGroup: "peering.entente.dev", Resource: "clusterpeers", Subresource: "proxy"},
		"others of the group":           {APIGroup: "peering.entente.dev", Resource: "others"},
		"clusters":                      {APIGroup: "core.convoy.kumodo.io", Resource: "clusters", Namespace: "default"},
		"clusters/status":               {APIGroup: "core.convoy.kumodo.io", Resource: "clusters", Subresource: "status", Namespace: "default"},
		"releases":                      {APIGroup: "core.convoy.kumodo.io", Resource: "releases", Namespace: "default"},
		"releases/status":               {APIGroup: "core.convoy.kumodo.io", Resource: "releases", Subresource: "status", Namespace: "default"},
		"others of the convoy group":    {APIGroup: "core.convoy.kumodo.io", Resource: "others", Namespace: "default"},
		"secrets":                       {Resource: "secrets", Namespace: "default"},
		"configmaps":                    {Resource: "configmaps", Namespace: "default"},
		"secrets of another group":      {APIGroup: "example.org", Resource: "secrets", Namespace: "default"},
		"others of the core group":      {Resource: "serviceaccounts", Namespace: "default"},
		"another group's peers":         {APIGroup: "example.org", Resource: "clusterpeers"},
		"another group's clusters":      {APIGroup: "example.org", Resource: "clusters", Namespace: "default"},
	}
	may := map[string]map[string][]string{
		"admin":    {},
		"operator": {},
		"viewer":   {},
	}
	for _, resource := range []string{"clusterpeers", "peeringcapabilities", "projectpeers", "tokenexchangeproviders", "clusters", "releases"} {
		may["operator"][resource], may["operator"][resource+"/status"] = every, every
		may["viewer"][resource], may["viewer"][resource+"/status"] = read, []string{"get"}
	}
	may["operator"]["clusters"] = append(slices.Clone(every), "use")
	may["operator"]["secrets"], may["operator"]["configmaps"] = []string{"get"}, []string{"get"}
	for resource := range resources {
		may["admin"][resource] = all
	}
	for name, rights := range may {
		who := userOf(t, e, name)
		for resource, attributes := range resources {
			for _, verb := range all {
				attributes.User, attributes.Verb, attributes.ResourceRequest = who, verb, true
				if !slices.Contains([]string{"list", "watch", "create", "deletecollection"}, verb) {
					attributes.Name = "peer"
				}
				want := slices.Contains(rights[resource], verb)
				assert.Equal(t, want, decide(t, e, attributes), "%s %s %s", name, verb, resource)
			}
		}
	}
}

// Discovery and kubectl auth for everybody who logs in, health and the version
// for everybody.
func TestBasicRights(t *testing.T) {
	e := prepared(t, Config{DataDir: t.TempDir()})
	anonymous := &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	stranger := &user.DefaultInfo{Name: "stranger", Groups: []string{user.AllAuthenticated}}
	admin := userOf(t, e, "admin")
	for path, want := range map[string]struct{ anonymous, stranger bool }{
		"/healthz":                        {true, true},
		"/livez":                          {true, true},
		"/readyz":                         {true, true},
		"/readyz/etcd":                    {true, true},
		"/version":                        {true, true},
		"/version/":                       {true, true},
		"/api":                            {false, true},
		"/apis":                           {false, true},
		"/apis/peering.entente.dev":       {false, true},
		"/apis/core.convoy.kumodo.io":     {false, true},
		"/openapi/v2":                     {false, true},
		"/openapi/v3/apis/peering":        {false, true},
		"/metrics":                        {false, false},
		"/debug/pprof/":                   {false, false},
		"/":                               {false, false},
		"/peering/v1/api/something/else/": {false, false},
	} {
		url := func(who user.Info, verb string) authorizer.AttributesRecord {
			return authorizer.AttributesRecord{User: who, Verb: verb, Path: path}
		}
		assert.Equal(t, want.anonymous, decide(t, e, url(anonymous, "get")), "anonymous %s", path)
		assert.Equal(t, want.stranger, decide(t, e, url(stranger, "get")), "stranger %s", path)
		assert.False(t, decide(t, e, url(stranger, "post")), "stranger posts %s", path)
		assert.True(t, decide(t, e, url(admin, "post")), "admin posts %s", path)
	}
	for resource, group := range map[string]string{
		"selfsubjectaccessreviews": "authorization.k8s.io",
		"selfsubjectrulesreviews":  "authorization.k8s.io",
		"selfsubjectreviews":       "authentication.k8s.io",
	} {
		review := authorizer.AttributesRecord{Verb: "create", APIGroup: group, Resource: resource, ResourceRequest: true}
		review.User = stranger
		assert.True(t, decide(t, e, review), resource)
		review.User = anonymous
		assert.False(t, decide(t, e, review), resource)
	}
	subject := authorizer.AttributesRecord{
		User: userOf(t, e, "operator"), Verb: "create", APIGroup: "authorization.k8s.io", Resource: "subjectaccessreviews", ResourceRequest: true,
	}
	assert.False(t, decide(t, e, subject), "asking about others is for the admin")
}
