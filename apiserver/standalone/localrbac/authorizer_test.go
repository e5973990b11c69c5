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

package localrbac

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2/ktesting"
)

const peering = "peering.entente.dev"

func testContext(t testing.TB) context.Context {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	return ctx
}

// write puts manifests into a new folder, or into dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
}

func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rbac")
	require.NoError(t, os.Mkdir(dir, 0o700))
	write(t, dir, files)
	return dir
}

func authorizerOf(t testing.TB, files map[string]string) *Authorizer {
	t.Helper()
	a, err := New(testContext(t), Options{Dir: folderOf(t, files)})
	require.NoError(t, err)
	return a
}

func person(name string, groups ...string) user.Info {
	return &user.DefaultInfo{Name: name, Groups: groups}
}

// request is what a request of who would ask for; resource may hold a
// subresource.
func request(who user.Info, verb, resource, subresource, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: who, Verb: verb, APIGroup: peering, APIVersion: "v1alpha1",
		Resource: resource, Subresource: subresource, Name: name, ResourceRequest: true,
	}
}

func allowed(t testing.TB, a *Authorizer, attributes authorizer.Attributes) bool {
	t.Helper()
	decision, reason, err := a.Authorize(context.Background(), attributes)
	require.NoError(t, err)
	aware := a.ConditionsAwareAuthorize(context.Background(), attributes)
	if again, _, err := a.Authorize(context.Background(), attributes); err != nil || again != decision {
		require.NoError(t, err)
		return again == authorizer.DecisionAllow // the manifests were read again meanwhile
	}
	assert.Equal(t, decision == authorizer.DecisionAllow, aware.IsAllow())
	if decision != authorizer.DecisionAllow {
		assert.Equal(t, authorizer.DecisionNoOpinion, decision, "other authorizers have their say")
		return false
	}
	assert.Contains(t, reason, "RBAC: allowed by ")
	return true
}

// binding gives user "somebody" the ClusterRole "some".
const bindingYAML = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: some}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: some}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: somebody}
---
`

func roleYAML(rules string) string {
	return bindingYAML + `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: some}
rules:
` + rules
}

// Design section 3: rules match as RBAC's do.
func TestRules(t *testing.T) {
	who := person("somebody")
	url := func(verb, path string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: who, Verb: verb, Path: path}
	}
	for name, tc := range map[string]struct {
		rule    string
		allowed []authorizer.AttributesRecord
		refused []authorizer.AttributesRecord
	}{
		"a resource without its subresources": {
			rule:    `- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [get]}`,
			allowed: []authorizer.AttributesRecord{request(who, "get", "clusterpeers", "", "a")},
			refused: []authorizer.AttributesRecord{
				request(who, "get", "clusterpeers", "sensitive", "a"),
				request(who, "list", "clusterpeers", "", ""),
				request(who, "get", "others", "", "a"),
				request(who, "", "clusterpeers", "", "a"),
				request(who, "get", "", "", ""),
				url("get", "/apis"),
			},
		},
		"list only": {
			rule:    `- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [list]}`,
			allowed: []authorizer.AttributesRecord{request(who, "list", "clusterpeers", "", "")},
			refused: []authorizer.AttributesRecord{
				request(who, "get", "clusterpeers", "", "a"),
				request(who, "watch", "clusterpeers", "", ""),
			},
		},
		"names": {
			rule: `- {apiGroups: [peering.entente.dev], resources: [clusterpeers/sensitive], verbs: [get, list], resourceNames: [a, b]}`,
			allowed: []authorizer.AttributesRecord{
				request(who, "get", "clusterpeers", "sensitive", "a"),
				request(who, "list", "clusterpeers", "sensitive", "b"),
			},
			refused: []authorizer.AttributesRecord{
				request(who, "get", "clusterpeers", "sensitive", "c"),
				request(who, "get", "clusterpeers", "sensitive", "*"),
				request(who, "list", "clusterpeers", "sensitive", ""),
				request(who, "get", "clusterpeers", "", "a"),
			},
		},
		"a star is no name": {
			rule:    `- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [get], resourceNames: ["*"]}`,
			refused: []authorizer.AttributesRecord{request(who, "get", "clusterpeers", "", "a")},
		},
		"one subresource of all resources": {
			rule: `- {apiGroups: ["*"], resources: ["*/status"], verbs: ["*"]}`,
			allowed: []authorizer.AttributesRecord{
				request(who, "patch", "clusterpeers", "status", "a"),
				request(who, "anything", "others", "status", "a"),
			},
			refused: []authorizer.AttributesRecord{
				request(who, "get", "clusterpeers", "sensitive", "a"),
				request(who, "get", "clusterpeers", "", "a"),
			},
		},
		"all subresources of one resource are not a pattern": {
			rule:    `- {apiGroups: ["*"], resources: ["clusterpeers/*"], verbs: ["*"]}`,
			refused: []authorizer.AttributesRecord{request(who, "get", "clusterpeers", "status", "a")},
		},
		"everything but URLs": {
			rule: `- {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`,
			allowed: []authorizer.AttributesRecord{
				request(who, "get", "clusterpeers", "sensitive", "a"),
				request(who, "use", "anything", "", ""),
			},
			refused: []authorizer.AttributesRecord{url("get", "/metrics")},
		},
		"the core group": {
			rule:    `- {apiGroups: [""], resources: ["*"], verbs: ["*"]}`,
			allowed: []authorizer.AttributesRecord{{User: who, Verb: "get", Resource: "secrets", ResourceRequest: true}},
			refused: []authorizer.AttributesRecord{request(who, "get", "clusterpeers", "", "a")},
		},
		"URLs": {
			rule:    `- {nonResourceURLs: [/livez, /apis/*], verbs: [get]}`,
			allowed: []authorizer.AttributesRecord{url("get", "/livez"), url("get", "/apis/"), url("get", "/apis/a/b")},
			refused: []authorizer.AttributesRecord{
				url("post", "/livez"), url("get", "/livez/ping"), url("get", "/apis"), url("get", "/"), url("get", ""),
				request(who, "get", "livez", "", ""),
			},
		},
		"all URLs": {
			rule:    `- {nonResourceURLs: ["*"], verbs: ["*"]}`,
			allowed: []authorizer.AttributesRecord{url("get", "/metrics"), url("put", "/a/b")},
			refused: []authorizer.AttributesRecord{request(who, "get", "clusterpeers", "", "")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := authorizerOf(t, map[string]string{"role.yaml": roleYAML(tc.rule)})
			require.Empty(t, a.Problems())
			for _, attributes := range tc.allowed {
				assert.True(t, allowed(t, a, attributes), "%+v", attributes)
				attributes.User = person("somebody-else")
				assert.False(t, allowed(t, a, attributes), "%+v", attributes)
			}
			for _, attributes := range tc.refused {
				assert.False(t, allowed(t, a, attributes), "%+v", attributes)
			}
		})
	}
}

const rightsYAML = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {apiGroups: ["*"], resources: [things], verbs: [get]}
- {nonResourceURLs: [/inside], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: writer, namespace: one}
rules:
- {apiGroups: ["*"], resources: [things], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: one}
roleRef: {kind: ClusterRole, name: reader}
subjects:
- {kind: Group, name: readers}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writers, namespace: one}
roleRef: {kind: Role, name: writer}
subjects:
- {kind: User, name: writer}
- {kind: ServiceAccount, name: robot, namespace: two}
`

// Design section 3: Roles and RoleBindings count in their namespace, for users,
// groups and service accounts.
func TestNamespaces(t *testing.T) {
	a := authorizerOf(t, map[string]string{"rights.yml": rightsYAML})
	require.Empty(t, a.Problems())
	robot := person("system:serviceaccount:two:robot", "system:serviceaccounts")
	for name, tc := range map[string]struct {
		who       user.Info
		verb      string
		namespace string
		want      bool
	}{
		"group in the namespace":           {person("x", "a", "readers"), "get", "one", true},
		"group in another namespace":       {person("x", "readers"), "get", "two", false},
		"group in no namespace":            {person("x", "readers"), "get", "", false},
		"user with the name of the group":  {person("readers"), "get", "one", false},
		"user":                             {person("writer"), "update", "one", true},
		"user with another verb":           {person("writer"), "get", "one", false},
		"group with the name of the user":  {person("x", "writer"), "update", "one", false},
		"service account":                  {robot, "update", "one", true},
		"service account, other namespace": {robot, "update", "two", false},
		"service account of another namespace": {
			person("system:serviceaccount:one:robot"), "update", "one", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			attributes := request(tc.who, tc.verb, "things", "", "a")
			attributes.Namespace = tc.namespace
			assert.Equal(t, tc.want, allowed(t, a, attributes))
		})
	}
	t.Run("a URL by a RoleBinding", func(t *testing.T) {
		inside := authorizer.AttributesRecord{User: person("x", "readers"), Verb: "get", Path: "/inside", Namespace: "one"}
		assert.False(t, allowed(t, a, inside))
	})
	t.Run("nobody", func(t *testing.T) {
		assert.False(t, allowed(t, a, request(nil, "get", "things", "", "a")))
	})
}

// kubectl auth can-i --list.
func TestRulesFor(t *testing.T) {
	a := authorizerOf(t, map[string]string{"rights.yaml": rightsYAML, "role.yaml": roleYAML(
		`- {apiGroups: [peering.entente.dev], resources: [clusterpeers/sensitive], verbs: [get], resourceNames: [a]}` + "\n" +
			`- {nonResourceURLs: [/livez], verbs: [get]}`)})
	require.Empty(t, a.Problems())
	resources, urls, incomplete, err := a.RulesFor(context.Background(), person("somebody", "readers"), "one")
	require.NoError(t, err)
	assert.False(t, incomplete)
	assert.Equal(t, []authorizer.ResourceRuleInfo{
		&authorizer.DefaultResourceRuleInfo{Verbs: []string{"get"}, APIGroups: []string{peering}, Resources: []string{"clusterpeers/sensitive"}, ResourceNames: []string{"a"}},
		&authorizer.DefaultResourceRuleInfo{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"things"}},
	}, resources)
	assert.Equal(t, []authorizer.NonResourceRuleInfo{
		&authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: []string{"/livez"}},
	}, urls)

	resources, urls, _, err = a.RulesFor(context.Background(), person("nobody"), "one")
	require.NoError(t, err)
	assert.Empty(t, resources)
	assert.Empty(t, urls)
}

// The reason goes to the audit log; it names the way a right was come by.
func TestReason(t *testing.T) {
	a := authorizerOf(t, map[string]string{"rights.yaml": rightsYAML})
	attributes := request(person("system:serviceaccount:two:robot"), "update", "things", "", "a")
	attributes.Namespace = "one"
	_, reason, err := a.Authorize(context.Background(), attributes)
	require.NoError(t, err)
	assert.Equal(t, `RBAC: allowed by RoleBinding "one/writers" of Role "writer" to ServiceAccount "two/robot"`, reason)

	_, _, err = a.EvaluateConditions(context.Background(), authorizer.ConditionsAwareDecision{}, nil)
	require.ErrorIs(t, err, authorizer.ErrorConditionEvaluationNotSupported)
}

func BenchmarkAuthorize(b *testing.B) {
	a := authorizerOf(b, map[string]string{"rights.yaml": rightsYAML, "role.yaml": roleYAML(
		`- {apiGroups: [peering.entente.dev], resources: [clusterpeers, clusterpeers/status], verbs: [get, list, watch, create, update, patch, delete, deletecollection]}`)})
	attributes := request(person("somebody", "system:authenticated"), "get", "clusterpeers", "", "a")
	b.ReportAllocs()
	for b.Loop() {
		if decision, _, _ := a.Authorize(b.Context(), attributes); decision != authorizer.DecisionAllow {
			b.Fatal("refused")
		}
	}
}
