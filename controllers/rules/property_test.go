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

package rules

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// What rules are made of in these tests, good and bad.
var (
	someVerbs = []string{
		"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use",
		"*", "escalate", "bind", "impersonate", "impersonate:user-info", "impersonate-on:user-info:get", "approve", "sign", "GET", "",
	}
	someGroups = []string{
		"", "apps", "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io",
		"certificates.k8s.io", "peering.entente.dev", "core.convoy.kumodo.io", "deckhouse.io", "vault.example.com", "*", "Apps",
	}
	someResources = []string{
		"configmaps", "pods", "pods/log", "nodes", "namespaces", "namespaces/finalize", "projects", "deployments", "secrets", "roles", "serviceaccounts",
		"serviceaccounts/token", "nodes/proxy", "services/proxy", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy",
		"pods/ephemeralcontainers", "*", "pods/*", "*/exec", "",
	}
	someNames = []string{"a", "b", "system:node", "*", ""}
	someURLs  = []string{"/version", "/healthz", "/*", "*", "version", "/healthz/*"}
)

// roomy is a host cluster that has every resource in every group, so that it is no help.
type roomy struct{}

func (roomy) Scope(_, resource string) (namespaced, found bool) {
	return resource != "nodes" && resource != "namespaces", true
}
func (roomy) Failed(string) bool { return false }

// request is a rule for one request, as an authorizer sees it. The name of a request that
// tells none is empty.
func request(verb, group, resource, name string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: list(verb), APIGroups: list(group), Resources: list(resource), ResourceNames: list(name)}
}

// never are requests that no peer may make.
func never() (all []rbacv1.PolicyRule) {
	all = append(all, neverVerbs()...)
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "use"} {
		for _, name := range []string{"", "a"} {
			for _, resource := range []string{
				"serviceaccounts/token", "nodes/proxy", "services/proxy", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/ephemeralcontainers",
			} {
				all = append(all, request(verb, "", resource, name))
			}
			for _, resource := range someResources {
				all = append(all, request(verb, "peering.entente.dev", resource, name), request(verb, "core.convoy.kumodo.io", resource, name))
			}
		}
		// Neither a Secret that no rule names, nor all of them.
		all = append(all, request(verb, "", "secrets", "unnamed"), request(verb, "", "secrets", ""))
		// What no rule can mean but by a wildcard.
		all = append(all, request(verb, "unnamed", "pods", "a"), request(verb, "", "unnamed", "a"), request(verb, "", "pods/unnamed", "a"),
			rbacv1.PolicyRule{Verbs: list(verb), NonResourceURLs: list("/unnamed")}, rbacv1.PolicyRule{Verbs: list(verb), NonResourceURLs: list("/healthz/unnamed")})
	}
	return all
}

func neverVerbs() (all []rbacv1.PolicyRule) {
	writes := []string{"create", "update", "patch", "delete", "deletecollection", "use"}
	bad := []string{"escalate", "bind", "impersonate", "impersonate:user-info", "impersonate-on:user-info:get", "approve", "sign", "unnamed"}
	for _, resource := range someResources {
		for _, name := range []string{"", "a"} {
			for _, group := range []string{"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiregistration.k8s.io", "apiextensions.k8s.io", "certificates.k8s.io"} {
				for _, verb := range writes {
					all = append(all, request(verb, group, resource, name))
				}
			}
			for _, group := range someGroups {
				for _, verb := range bad {
					all = append(all, request(verb, group, resource, name))
				}
			}
		}
	}
	for _, verb := range []string{"create", "update", "patch", "use"} {
		for _, name := range []string{"", "a"} {
			all = append(all, request(verb, "", "namespaces", name), request(verb, "", "namespaces/finalize", name), request(verb, "deckhouse.io", "projects", name))
		}
	}
	for _, verb := range bad {
		all = append(all, rbacv1.PolicyRule{Verbs: list(verb), NonResourceURLs: list("/version")})
	}
	return all
}

// harmless requires that what a verdict grants allows none of the requests, in the words
// of RBAC itself, and nothing that the capability does not say.
func harmless(t *testing.T, capability *spec, verdict Verdict, never []rbacv1.PolicyRule) {
	t.Helper()
	granted := slices.Concat(verdict.Namespaced, verdict.Cluster)
	if len(granted) == 0 {
		return
	}
	if _, left := validation.Covers(granted, never); len(left) != len(never) {
		t.Fatalf("of %d requests %d are allowed by %v", len(never), len(never)-len(left), granted)
	}
	var asked []rbacv1.PolicyRule
	for _, r := range capability.Rules {
		asked = append(asked, rbacv1.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, NonResourceURLs: r.NonResourceURLs})
	}
	covered, left := validation.Covers(asked, granted)
	require.True(t, covered, "granted, and not asked for: %v", left)
	for _, r := range verdict.Namespaced {
		require.Empty(t, r.NonResourceURLs, "a Role cannot have them")
	}
}

// G1: whatever a capability says, no request that is forbidden is allowed by what is
// granted for it, as RBAC matches.
func TestG1NothingForbiddenIsGranted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // the same in each run
	some := func(texts []string, most int) (chosen []string) {
		for range random.IntN(most + 1) {
			chosen = append(chosen, texts[random.IntN(len(texts))])
		}
		return chosen
	}
	never, valid := never(), 0
	for range 20_000 {
		r := rule{Verbs: some(someVerbs, 2), APIGroups: some(someGroups, 2), Resources: some(someResources, 2), ResourceNames: some(someNames, 2)}
		if random.IntN(8) == 0 {
			r = rule{Verbs: some(someVerbs, 2), NonResourceURLs: some(someURLs, 2)}
		}
		capability := of(r)
		verdict := Judge(capability, roomy{})
		if verdict.Status != metav1.ConditionTrue {
			assert.Empty(t, verdict.Namespaced)
			assert.Empty(t, verdict.Cluster)
			continue
		}
		valid++
		harmless(t, capability, verdict, never)
	}
	assert.Greater(t, valid, 100, "or nothing was tested")
}

// The same for specs that somebody else thinks of. It never panics.
func FuzzG1Judge(f *testing.F) {
	for _, capability := range []*spec{
		of(on("get", "", "pods secrets", "a")), of(urls("get", "/version")), of(on("list", "", "secrets", "a", "")),
		of(on("update", "rbac.authorization.k8s.io", "roles")),
		{},
		of(on("get", "*", "*/exec"), on("impersonate:user-info", "", "users")),
	} {
		data, err := json.Marshal(capability)
		require.NoError(f, err)
		f.Add(data)
	}
	never := never()
	f.Fuzz(func(t *testing.T, data []byte) {
		capability := &spec{}
		if json.Unmarshal(data, capability) != nil {
			return
		}
		verdict := Judge(capability, roomy{})
		if verdict.Status == metav1.ConditionTrue {
			harmless(t, capability, verdict, never)
		}
		require.NotEmpty(t, verdict.Message)
		require.Less(t, len(verdict.Message), 300)
	})
}
