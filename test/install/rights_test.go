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

package install

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const shipped = `apiVersion: v1
kind: ServiceAccount
metadata: {name: entente-apiserver, namespace: entente-system}
---
apiVersion: v1
kind: Service
metadata: {name: entente-apiserver, namespace: entente-system}
spec: {selector: {app: entente}, ports: [{port: 443}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: entente-apiserver, namespace: entente-system}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.peering.entente.dev}
spec:
  group: peering.entente.dev
  service: {name: entente-apiserver, namespace: entente-system, port: 443}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shipped}
rules:
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [deployments, deployments/status]
  resourceNames: [one, two]
  verbs: [get]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, clusterroles]
  verbs: [escalate, bind]
- nonResourceURLs: ["/metrics/*"]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: for-people}
rules:
- apiGroups: [peering.entente.dev]
  resources: [clusterpeers]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shipped}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shipped}
subjects: [{kind: ServiceAccount, name: entente-apiserver, namespace: entente-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: somebody-else}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: for-people}
subjects: [{kind: ServiceAccount, name: entente-apiserver, namespace: elsewhere}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: entente-apiserver, namespace: entente-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: events, namespace: default}
rules:
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: events, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: events}
subjects: [{kind: ServiceAccount, name: entente-apiserver, namespace: entente-system}]
`

func TestOutsideCluster(t *testing.T) {
	m, err := outsideCluster(shipped, 23456)
	require.NoError(t, err)
	objects, err := decode(m.yaml)
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, object := range objects {
		kinds[object.GetKind()]++
		switch object.GetKind() {
		case "Service":
			assert.Equal(t, map[string]any{"type": "ExternalName", "externalName": "localhost"}, object.Object["spec"])
		case "APIService":
			assert.Equal(t, map[string]any{
				"group":   "peering.entente.dev",
				"service": map[string]any{"name": "entente-apiserver", "namespace": "entente-system", "port": int64(23456)},
			}, object.Object["spec"])
		}
	}
	assert.Equal(t, map[string]int{
		"ServiceAccount": 1, "Service": 1, "APIService": 1,
		"ClusterRole": 2, "ClusterRoleBinding": 2, "Role": 1, "RoleBinding": 2,
	}, kinds)

	_, err = outsideCluster("apiVersion: v1\nkind: ConfigMap", 1)
	require.ErrorContains(t, err, "found 0 Services entente-apiserver and 0 APIServices")
}

// Rules of ours are told apart by verb, resource and name (H4); those of Kubernetes'
// own roles are not.
func TestCompare(t *testing.T) {
	const (
		user    = "system:serviceaccount:entente-system:entente-apiserver"
		ours    = `RBAC: allowed by ClusterRoleBinding "shipped" of ClusterRole "shipped" to ServiceAccount "entente-apiserver/entente-system"`
		events  = `RBAC: allowed by RoleBinding "events/default" of Role "events" to ServiceAccount "entente-apiserver/entente-system"`
		others  = `RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"`
		cluster = "ClusterRoleBinding shipped of ClusterRole shipped: "
	)
	m, err := outsideCluster(shipped, 1)
	require.NoError(t, err)
	all := []string{
		cluster + "bind clusterroles.rbac.authorization.k8s.io",
		cluster + "bind roles.rbac.authorization.k8s.io",
		cluster + "escalate clusterroles.rbac.authorization.k8s.io",
		cluster + "escalate roles.rbac.authorization.k8s.io",
		cluster + "get /metrics/*",
		cluster + "get deployments.apps one",
		cluster + "get deployments.apps two",
		cluster + "get deployments/status.apps one",
		cluster + "get deployments/status.apps two",
		cluster + "list namespaces",
		cluster + "watch namespaces",
		"RoleBinding events/default of Role events: create events.events.k8s.io",
		"RoleBinding events/default of Role events: patch events.events.k8s.io",
		"RoleBinding reader/kube-system of Role extension-apiserver-authentication-reader",
	}
	event := func(reason, verb string, ref *auditv1.ObjectReference) auditv1.Event {
		return auditv1.Event{
			User: authenticationv1.UserInfo{Username: user}, Verb: verb, ObjectRef: ref, RequestURI: "/somewhere",
			Annotations: map[string]string{"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": reason},
		}
	}
	namespaces := &auditv1.ObjectReference{Resource: "namespaces"}
	made := func(resource string, code int32) auditv1.Event {
		made := event(ours, "create", &auditv1.ObjectReference{APIGroup: "rbac.authorization.k8s.io", Resource: resource})
		made.ResponseStatus = &metav1.Status{Code: code}
		return made
	}
	with := func(event auditv1.Event, change func(*auditv1.Event)) auditv1.Event {
		change(&event)
		return event
	}
	for name, tc := range map[string]struct {
		event   auditv1.Event
		used    []string
		refused []string
	}{
		"a verb":                    {event: event(ours, "list", namespaces), used: []string{cluster + "list namespaces"}},
		"by a right of everybody":   {event: event(others, "list", namespaces)},
		"by another of our roles":   {event: event(events, "list", namespaces)},
		"another group":             {event: event(ours, "list", &auditv1.ObjectReference{Resource: "namespaces", APIGroup: "other"})},
		"a name":                    {event: event(ours, "get", &auditv1.ObjectReference{APIGroup: "apps", Resource: "deployments", Name: "two"}), used: []string{cluster + "get deployments.apps two"}},
		"a subresource":             {event: event(ours, "get", &auditv1.ObjectReference{APIGroup: "apps", Resource: "deployments", Subresource: "status", Name: "one"}), used: []string{cluster + "get deployments/status.apps one"}},
		"a role of Kubernetes":      {event: event(`RBAC: allowed by RoleBinding "reader/kube-system" of Role "extension-apiserver-authentication-reader" to ServiceAccount "entente-apiserver/entente-system"`, "get", namespaces), used: []string{"RoleBinding reader/kube-system of Role extension-apiserver-authentication-reader"}},
		"a URL":                     {event: with(event(ours, "get", nil), func(e *auditv1.Event) { e.RequestURI = "/metrics/some?x=/y" }), used: []string{cluster + "get /metrics/*"}},
		"another URL":               {event: with(event(ours, "get", nil), func(e *auditv1.Event) { e.RequestURI = "/other?x=/metrics/" })},
		"an apply that changes":     {event: event(events, "patch", &auditv1.ObjectReference{APIGroup: "events.k8s.io", Resource: "events", Name: "x"}), used: []string{"RoleBinding events/default of Role events: patch events.events.k8s.io"}},
		"an apply that creates":     {event: with(event(events, "patch", &auditv1.ObjectReference{APIGroup: "events.k8s.io", Resource: "events", Name: "x"}), func(e *auditv1.Event) { e.ResponseStatus = &metav1.Status{Code: 201} }), used: []string{"RoleBinding events/default of Role events: create events.events.k8s.io", "RoleBinding events/default of Role events: patch events.events.k8s.io"}},
		"a role":                    {event: made("roles", 201), used: []string{cluster + "escalate roles.rbac.authorization.k8s.io"}},
		"a role for the cluster":    {event: made("clusterroles", 201), used: []string{cluster + "escalate clusterroles.rbac.authorization.k8s.io"}},
		"a binding":                 {event: made("rolebindings", 201), used: []string{cluster + "bind roles.rbac.authorization.k8s.io"}},
		"a binding for the cluster": {event: made("clusterrolebindings", 201), used: []string{cluster + "bind clusterroles.rbac.authorization.k8s.io"}},
		"a role that is there":      {event: made("roles", 409)},
		"somebody else":             {event: with(event(ours, "list", namespaces), func(e *auditv1.Event) { e.User.Username = "system:admin" })},
		"as somebody else":          {event: with(event(ours, "list", namespaces), func(e *auditv1.Event) { e.ImpersonatedUser = &authenticationv1.UserInfo{Username: "x"} })},
		"forbidden":                 {event: with(event("", "list", namespaces), func(e *auditv1.Event) { e.Annotations["authorization.k8s.io/decision"] = "forbid" }), refused: []string{"list /somewhere"}},
		"forbidden by admission":    {event: with(event(ours, "list", namespaces), func(e *auditv1.Event) { e.ResponseStatus = &metav1.Status{Code: 403, Message: "no"} }), refused: []string{"list /somewhere: no"}},
		"a failure of another kind": {event: with(event(ours, "list", namespaces), func(e *auditv1.Event) { e.ResponseStatus = &metav1.Status{Code: 404} }), used: []string{cluster + "list namespaces"}},
	} {
		t.Run(name, func(t *testing.T) {
			rights := compare(user, m.grants, []auditv1.Event{tc.event})
			assert.ElementsMatch(t, tc.used, rights.Used)
			assert.ElementsMatch(t, tc.refused, rights.Refused)
			assert.ElementsMatch(t, all, append(rights.Used, rights.Unused...))
		})
	}
}

// What one installation has used is used.
func TestMerge(t *testing.T) {
	merged := Rights{Refused: []string{"x"}, Used: []string{"a"}, Unused: []string{"b", "c"}}.Merge(
		Rights{Refused: []string{"x", "y"}, Used: []string{"b"}, Unused: []string{"a", "c"}},
		Rights{Used: []string{"a"}, Unused: []string{"b", "c"}},
	)
	assert.Equal(t, Rights{Refused: []string{"x", "y"}, Used: []string{"a", "b"}, Unused: []string{"c"}}, merged)
}
