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
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"entente.dev/entente/test/harness"
)

const capabilities = groupVersion + "/peeringcapabilities"

// capability is a PeeringCapability that lets its consumer read logs, as a tree.
func capability(name string) map[string]any {
	return map[string]any{
		"apiVersion": "peering.entente.dev/v1alpha1",
		"kind":       "PeeringCapability",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"version": "1.0.0",
			"rules": []any{
				map[string]any{"apiGroups": []any{""}, "resources": []any{"pods/log"}, "verbs": []any{"get"}},
				map[string]any{"nonResourceURLs": []any{"/metrics"}, "verbs": []any{"get"}},
			},
		},
	}
}

// naming is a Join that names capabilities.
func naming(t testing.TB, name, value string, names ...any) map[string]any {
	t.Helper()
	obj := set(t, joinPeer(name, value), names, "spec", "capabilities")
	return set(t, obj, []any{"one"}, "spec", "projects")
}

// The users of these tests can all write both kinds.
const (
	clerk     = "clerk"     // has no right besides
	local     = "local"     // may do what the capability grants, in one namespace
	partial   = "partial"   // may do a part of it
	powerful  = "powerful"  // may do all of it
	escalator = "escalator" // has the verb escalate
	binder    = "binder"    // has the verb bind
)

func (s *api) guardedUsers(t *testing.T) {
	t.Helper()
	logs := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}}
	metrics := rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}
	for user, more := range map[string][]rbacv1.PolicyRule{
		clerk:     nil,
		local:     {metrics},
		partial:   {metrics},
		powerful:  {logs, metrics},
		escalator: {harness.Rule([]string{"escalate"}, []string{"peeringcapabilities"})},
		binder:    {harness.Rule([]string{"bind"}, []string{"peeringcapabilities"})},
	} {
		verbs := []string{"create", "get", "list", "update", "patch", "delete"}
		both := harness.Rule(verbs, []string{"clusterpeers", "clusterpeers/status", "clusterpeers/sensitive", "peeringcapabilities", "peeringcapabilities/status"})
		s.AddUser(t, user, append([]rbacv1.PolicyRule{both}, more...)...)
	}
	manifest := `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: logs, namespace: default}
rules: [{apiGroups: [""], resources: ["pods/log"], verbs: ["get"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: logs, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: logs}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: local}]
`
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "rbac", "local.yaml"), []byte(manifest), 0o600))
	harness.Eventually(t, "the Role counts", func(context.Context) bool { return s.can(t, local, "default") })
	require.False(t, s.can(t, local, ""))
}

// can says whether a user may get pods/log in a namespace, or in all of them.
func (s *api) can(t testing.TB, user, namespace string) bool {
	t.Helper()
	review := `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods","subresource":"log","namespace":` + quote(namespace) + `}}}`
	a := s.do(t, user, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review).want(t, 201)
	allowed, _ := field(a.object(t), "status", "allowed").(bool)
	return allowed
}

// forbidden is what everybody reads whom the guard refuses.
func forbidden(t testing.TB, a answer, words ...string) {
	t.Helper()
	status := a.want(t, 403).status(t)
	assert.EqualValues(t, "Forbidden", status.Reason, a.request)
	for _, word := range append(words, "rule G2") {
		assert.Contains(t, status.Message, word, a.request)
	}
}

// G2: who may write a PeeringCapability, in each way of writing. What is refused is not
// stored, and a dry run is refused as well.
func TestG2PeeringCapability(t *testing.T) {
	s := startAlone(t)
	s.guardedUsers(t)
	may := map[string]bool{powerful: true, escalator: true, harness.Admin: true, loopbackClient: true}
	for _, user := range []string{clerk, local, partial, binder, harness.Operator, powerful, escalator, harness.Admin, loopbackClient} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			n := "g2-" + strings.Trim(user, "()")
			judge := func(a answer, code int) {
				t.Helper()
				if may[user] {
					a.want(t, code)
					return
				}
				forbidden(t, a, `"escalate"`, n)
				missing := `{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}`
				assert.Contains(t, string(a.body), strings.ReplaceAll(missing, `"`, `\"`), "who may read it is told what is missing")
			}
			for _, dry := range []string{"?dryRun=All", "?"} {
				judge(s.do(t, user, http.MethodPost, capabilities+dry, encode(t, capability(n))), 201)
				judge(s.do(t, user, http.MethodPatch, capabilities+"/"+n+"-applied"+dry+"&fieldManager=g2", encode(t, capability(n+"-applied")), as(applyPat)), 201)
			}
			for _, name := range []string{n, n + "-applied"} {
				want := 404
				if may[user] {
					want = 200
				}
				s.do(t, harness.Viewer, http.MethodGet, capabilities+"/"+name, "").want(t, want)
			}

			n += "-there"
			path := capabilities + "/" + n
			s.do(t, harness.Admin, http.MethodPost, capabilities, encode(t, capability(n))).want(t, 201)
			for _, dry := range []string{"?dryRun=All", "?"} {
				before := s.do(t, user, http.MethodGet, path, "").want(t, 200).object(t)
				judge(s.do(t, user, http.MethodPut, path+dry, encode(t, set(t, capability(n), "1.1.0", "spec", "version"))), 200)
				judge(s.do(t, user, http.MethodPatch, path+dry, `{"spec":{"version":"1.2.0"}}`, as(mergePat)), 200)
				judge(s.do(t, user, http.MethodPatch, path+dry, `{"spec":{"consumers":[{"name":"a","namespace":"b"}]}}`, as(smPatch)), 200)
				judge(s.do(t, user, http.MethodPatch, path+dry, `[{"op":"remove","path":"/spec/rules/1"}]`, as(jsonPatch)), 200)
				judge(s.do(t, user, http.MethodPatch, path+dry+"&fieldManager=g2&force=true", encode(t, set(t, capability(n), "2.0.0", "spec", "version")), as(applyPat)), 200)
				after := s.do(t, user, http.MethodGet, path, "").want(t, 200).object(t)
				if !may[user] || dry != "?" {
					assert.Equal(t, before, after, "nothing at all has changed")
				}
			}
			// What grants nothing is nobody's business.
			current := s.do(t, user, http.MethodGet, path, "").want(t, 200).object(t)
			s.do(t, user, http.MethodPut, path, encode(t, current)).want(t, 200)
			s.do(t, user, http.MethodPatch, path, `{"metadata":{"labels":{"a":"b"}}}`, as(mergePat)).want(t, 200)
			s.do(t, user, http.MethodPatch, path+"/status", `{"status":{"observedGeneration":7},"spec":{"version":"9.0.0"}}`, as(mergePat)).want(t, 200)
			s.do(t, user, http.MethodPatch, path, `{"spec":{"rules":null}}`, as(mergePat)).want(t, 200)
			s.do(t, user, http.MethodPatch, path, `{"spec":{"version":"8.0.0"}}`, as(mergePat)).want(t, 200)
			s.do(t, user, http.MethodDelete, path, "").want(t, 200)
		})
	}
	t.Run("faults of form come first", func(t *testing.T) {
		s.do(t, clerk, http.MethodPost, capabilities, encode(t, set(t, capability("NOT VALID"), "1.0.0", "spec", "version"))).want(t, 422)
	})
	t.Run("too much to check", func(t *testing.T) {
		var many []any
		for i := range 600 {
			many = append(many, "/x"+strings.Repeat("y", i%200)+strings.Repeat("z", i/200))
		}
		obj := set(t, capability("g2-wide"), []any{map[string]any{"nonResourceURLs": many, "verbs": []any{"get"}}}, "spec", "rules")
		forbidden(t, s.do(t, powerful, http.MethodPost, capabilities, encode(t, obj)), "more than 512 permissions", `"escalate"`)
		s.do(t, escalator, http.MethodPost, capabilities, encode(t, obj)).want(t, 201)
	})
}

// G2: who may name capabilities, and who may point elsewhere a ClusterPeer that names some,
// in each way of writing.
func TestG2ClusterPeer(t *testing.T) {
	s := startAlone(t)
	s.guardedUsers(t)
	for _, name := range []string{"g2-logs", "g2-more"} {
		s.do(t, harness.Admin, http.MethodPost, capabilities, encode(t, capability(name))).want(t, 201)
	}
	may := map[string]bool{powerful: true, binder: true, harness.Admin: true, loopbackClient: true}
	for _, user := range []string{clerk, local, partial, escalator, harness.Operator, powerful, binder, harness.Admin, loopbackClient} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			n := "g2-" + strings.Trim(user, "()")
			judge := func(a answer, code int, words ...string) {
				t.Helper()
				if may[user] {
					a.want(t, code)
					return
				}
				forbidden(t, a, append(words, `"bind"`, "peeringcapabilities")...)
			}
			for _, dry := range []string{"?dryRun=All", "?"} {
				judge(s.do(t, user, http.MethodPost, dry, encode(t, naming(t, n, s.secret(), "g2-logs")), revealing()), 201, "g2-logs")
				judge(s.do(t, user, http.MethodPatch, n+"-applied"+dry+"&fieldManager=g2", encode(t, naming(t, n+"-applied", "", "g2-logs")), as(applyPat)), 201)
			}
			s.do(t, user, http.MethodPost, "", encode(t, joinPeer(n+"-plain", s.secret())), revealing()).want(t, 201)
			s.do(t, user, http.MethodPatch, n+"-plain", `{"spec":{"projects":["two"],"join":{"connectionString":`+quote(s.secret())+`}}}`, as(mergePat), revealing()).want(t, 200)
			judge(s.do(t, user, http.MethodPatch, n+"-plain", `{"spec":{"capabilities":["g2-logs"]}}`, as(mergePat), revealing()), 200, "g2-logs")

			n += "-there"
			s.seedObject(t, naming(t, n, s.secret(), "g2-logs"), "")
			read := func() map[string]any {
				t.Helper()
				return s.do(t, harness.Admin, http.MethodGet, n+"/sensitive", "", revealing()).want(t, 200).object(t)
			}
			for _, dry := range []string{"?dryRun=All", "?"} {
				for _, way := range []struct{ path, contentType, body string }{
					{"", mergePat, `{"spec":{"join":{"connectionString":VALUE}}}`},
					{"", smPatch, `{"spec":{"join":{"connectionString":VALUE}}}`},
					{"", jsonPatch, `[{"op":"add","path":"/spec/join/connectionString","value":VALUE}]`},
					{"", jsonPatch, `[{"op":"remove","path":"/spec/join/connectionString"}]`},
					{"", mergePat, `{"spec":{"join":{"connectionString":VALUE}}}`},
					{"", applyPat, encode(t, naming(t, n, "VALUE", "g2-logs"))},
					{"", jsonType, encode(t, naming(t, n, "VALUE", "g2-logs"))},
					{"/sensitive", mergePat, `{"spec":{"join":{"connectionString":VALUE}}}`},
					{"/sensitive", smPatch, `{"spec":{"join":{"connectionString":VALUE}}}`},
					{"/sensitive", jsonPatch, `[{"op":"add","path":"/spec/join/connectionString","value":VALUE}]`},
					{"/sensitive", applyPat, encode(t, naming(t, n, "VALUE", "g2-logs"))},
					{"/sensitive", jsonType, encode(t, naming(t, n, "VALUE", "g2-logs"))},
					{"", mergePat, `{"spec":{"join":{"expectedClusterUUID":"9f2d6d3e-6ff4-4b6a-8f2c-111111111111"}}}`},
					{"", mergePat, `{"spec":{"projects":["one","two"]}}`},
					{"", mergePat, `{"spec":{"projects":null}}`},
					{"", mergePat, `{"spec":{"capabilities":["g2-logs","g2-more"]}}`},
					{"", mergePat, `{"metadata":{"annotations":{"peering.entente.dev/renew":"0123456789abcdef"}}}`},
				} {
					if user == harness.Operator && way.path == "/sensitive" {
						continue // may not write there at all
					}
					before := read()
					value := quote(s.secret())
					body := strings.ReplaceAll(strings.ReplaceAll(way.body, `"VALUE"`, value), "VALUE", value)
					query, method := dry, http.MethodPatch
					switch way.contentType {
					case applyPat:
						query += "&fieldManager=g2&force=true"
					case jsonType:
						method = http.MethodPut
					}
					judge(s.do(t, user, method, n+way.path+query, body, as(way.contentType), revealing()), 200)
					if !may[user] || dry != "?" {
						assert.Equal(t, before, read(), "nothing at all has changed")
					}
				}
			}
		})
	}
}

// G2: what points a ClusterPeer nowhere else takes no right: the same again, placeholder and
// all, metadata, the status, and less.
func TestG2ClusterPeerAsItIs(t *testing.T) {
	s := startAlone(t)
	s.guardedUsers(t)
	s.do(t, harness.Admin, http.MethodPost, capabilities, encode(t, capability("g2-logs"))).want(t, 201)
	value := s.secret()
	s.seedObject(t, set(t, naming(t, "g2-same", value, "g2-logs", "g2-more"), map[string]any{"peering.entente.dev/renew": "0123456789abcdef"}, "metadata", "annotations"), "")
	for _, user := range []string{harness.Operator, clerk} {
		for _, path := range []string{"g2-same", "g2-same/sensitive"} {
			if user == harness.Operator && path != "g2-same" {
				continue
			}
			current := s.do(t, user, http.MethodGet, path, "", revealing()).want(t, 200).object(t)
			s.do(t, user, http.MethodPut, path, encode(t, current), revealing()).want(t, 200)
			set(t, current, placeholder, specField...)
			s.do(t, user, http.MethodPut, path, encode(t, current), revealing()).want(t, 200)
			s.do(t, user, http.MethodPatch, path, `{"spec":{"join":{"connectionString":"<omitted>"}}}`, as(mergePat), revealing()).want(t, 200)
		}
		s.do(t, user, http.MethodPatch, "g2-same?fieldManager=g2-"+user, encode(t, naming(t, "g2-same", placeholder, "g2-logs", "g2-more")), as(applyPat), revealing()).want(t, 200)
		s.do(t, user, http.MethodPatch, "g2-same", `{"metadata":{"labels":{"by":"`+user+`"}}}`, as(mergePat), revealing()).want(t, 200)
		s.do(t, user, http.MethodPatch, "g2-same/status", `{"status":{"phase":"Pending"},"spec":{"projects":["other"],"join":{"connectionString":"other"}}}`, as(mergePat), revealing()).want(t, 200)
	}
	// R10: by who cannot see it, the stored value counts as another one.
	guess := func(guess string) string {
		a := s.do(t, harness.Operator, http.MethodPatch, "g2-same?dryRun=All", `{"spec":{"join":{"connectionString":`+quote(guess)+`}}}`, as(mergePat))
		forbidden(t, a)
		return string(a.body)
	}
	assert.Equal(t, guess(s.secret()), guess(value))
	s.do(t, harness.Operator, http.MethodPatch, "g2-same", `{"metadata":{"annotations":{"peering.entente.dev/renew":null}},"spec":{"capabilities":["g2-logs"]}}`, as(mergePat)).want(t, 200)
	forbidden(t, s.do(t, harness.Operator, http.MethodPatch, "g2-same", `{"spec":{"capabilities":["g2-logs","g2-more"]}}`, as(mergePat)), "g2-more", "no such capability")
	s.do(t, harness.Operator, http.MethodPatch, "g2-same", `{"spec":{"capabilities":null,"projects":null}}`, as(mergePat)).want(t, 200)
	stored, _ := s.stored(t, "g2-same")
	assert.Equal(t, value, stored)
}

// G2: what is missing is said to who may read the capability. Others cannot even tell
// whether it exists.
func TestG2WhatARefusalTells(t *testing.T) {
	s := startAlone(t)
	s.AddUser(t, "blind", harness.Rule([]string{"create", "update", "patch"}, []string{"clusterpeers", "peeringcapabilities"}))
	s.AddUser(t, "reader", harness.Rule([]string{"create"}, []string{"clusterpeers"}), harness.Rule([]string{"get"}, []string{"peeringcapabilities"}, "g2-here"))
	s.do(t, harness.Admin, http.MethodPost, capabilities, encode(t, capability("g2-here"))).want(t, 201)
	ask := func(user, name string) string {
		a := s.do(t, user, http.MethodPost, "", encode(t, naming(t, "p", "", name)))
		forbidden(t, a, name)
		return strings.ReplaceAll(a.status(t).Message, name, "NAME")
	}
	assert.Equal(t, ask("blind", "g2-away"), ask("blind", "g2-here"))
	assert.NotContains(t, ask("blind", "g2-here"), "missing")
	assert.Contains(t, ask("reader", "g2-here"), `missing: {APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}, {NonResourceURLs:["/metrics"], Verbs:["get"]}`)
	assert.Equal(t, ask("blind", "g2-away"), ask("reader", "g2-away"))
	a := s.do(t, "blind", http.MethodPatch, capabilities+"/g2-here", `{"spec":{"version":"2.0.0"}}`, as(mergePat))
	forbidden(t, a)
	assert.NotContains(t, string(a.body), "pods/log")
}
