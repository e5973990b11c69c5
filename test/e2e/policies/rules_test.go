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

package policies

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/rules"
)

// everything is a host cluster that has every resource.
type everything struct{}

func (everything) Scope(string, string) (namespaced, found bool) { return true, true }
func (everything) Failed(string) bool                            { return false }

// rulesToGrant are some that may be granted, and some that may not.
func rulesToGrant() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		aRule,
		rule("", "pods/log", "get"),
		rule("apps", "deployments", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use"),
		named(rule("", "secrets", "get", "list", "watch", "update", "patch", "delete"), "one", "two"),
		rule("rbac.authorization.k8s.io", "roles", "get", "list", "watch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "list"),
		rule("", "serviceaccounts", "create"),
		rule("", "nodes", "get"),
		rule("metrics.k8s.io", "pods/exec", "get"), // another group's
		rule("example.com", "secrets", "create"),   // another group's
		urls("/version", "get"),
		urls("/metrics", "get", "post"),
		rule("", "namespaces", "get", "list", "watch", "delete", "deletecollection"),
		rule("deckhouse.io", "projects", "get", "delete"),
		rule("deckhouse.io", "projecttemplates", "create"),
		rule("deckhouse.io", "namespaces", "create"), // another group's
		rule("", "projects", "create"),               // another group's

		rule("", "configmaps", "*"),
		rule("*", "configmaps", "get"),
		rule("", "*", "get"),
		rule("", "pods/*", "get"),
		rule("", "*/scale", "get"),
		rule("", "*/exec", "get"),
		named(rule("", "configmaps", "get"), "*"),
		named(rule("", "configmaps", "get"), "one", "system:two"),
		named(rule("rbac.authorization.k8s.io", "clusterroles", "get"), "system:node"),
		urls("*", "get"),
		urls("/healthz/*", "get"),
		rule("rbac.authorization.k8s.io", "roles", "escalate"),
		rule("example.com", "widgets", "get", "escalate"),
		rule("example.com", "widgets", "bind"),
		rule("", "users", "impersonate"),
		rule("authentication.k8s.io", "users", "impersonate:user-info"),
		rule("", "configmaps", "impersonate-on:user-info:get"),
		rule("certificates.k8s.io", "signers", "approve"),
		rule("certificates.k8s.io", "signers", "sign"),
		rule("example.com", "widgets", "approve"),
		rule("", "serviceaccounts/token", "create"),
		rule("", "nodes/proxy", "get"),
		rule("", "services/proxy", "get"),
		rule("", "pods/exec", "get"),
		rule("", "pods/attach", "create"),
		rule("", "pods/portforward", "create"),
		rule("", "pods/proxy", "get"),
		rule("", "pods/ephemeralcontainers", "patch"),
		rule("peering.entente.dev", "clusterpeers", "get"),
		rule("core.convoy.kumodo.io", "clusters", "get"),
		rule("rbac.authorization.k8s.io", "rolebindings", "create"),
		rule("rbac.authorization.k8s.io", "rolebindings", "get", "delete"),
		rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", "delete"),
		rule("apiregistration.k8s.io", "apiservices", "patch"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "update"),
		rule("certificates.k8s.io", "certificatesigningrequests", "create"),
		rule("", "secrets", "get"),
		rule("", "secrets", "list"),
		named(rule("", "secrets", "create"), "one"),
		named(rule("", "secrets", "deletecollection"), "one"),
		rule("", "namespaces", "create"),
		rule("", "namespaces", "get", "update"),
		named(rule("", "namespaces", "patch"), "one"),
		rule("", "namespaces/status", "patch"),
		rule("", "namespaces/finalize", "update"),
		rule("", "namespaces", "use"),
		rule("deckhouse.io", "projects", "create"),
		rule("deckhouse.io", "projects/status", "patch"),
		{APIGroups: []string{"apps", "deckhouse.io"}, Resources: []string{"deployments", "projects"}, Verbs: []string{"get", "update"}},
	}
}

// refusalOf returns how the policy refuses to grant a rule, if Entente finds it forbidden.
func refusalOf(t *testing.T, granted rbacv1.PolicyRule) string {
	t.Helper()
	capability := &peeringv1alpha1.PeeringCapabilitySpec{Version: "1", Rules: []peeringv1alpha1.CapabilityRule{{
		APIGroups: granted.APIGroups, Resources: granted.Resources, ResourceNames: granted.ResourceNames, NonResourceURLs: granted.NonResourceURLs, Verbs: granted.Verbs,
	}}}
	verdict := rules.Judge(capability, everything{})
	if verdict.Status == metav1.ConditionTrue {
		return ""
	}
	require.Equal(t, rules.ReasonForbiddenRule, verdict.Reason, "%v", granted)
	return "(G1)"
}

// What Entente finds forbidden in a PeeringCapability the policy does not let it grant,
// and it does what Entente does not.
func (p *policed) grantedRules(t *testing.T) {
	for _, granted := range rulesToGrant() {
		what, refusal := fmt.Sprintf("%v", granted), refusalOf(t, granted)
		judged(t, refusal, p.clusterRole(t, metav1.ObjectMeta{Name: hashed("x")}, granted), what)
		judged(t, refusal, p.clusterRole(t, metav1.ObjectMeta{Name: hashed("x")}, aRule, granted), "beside another: "+what)
		if granted.NonResourceURLs == nil {
			judged(t, refusal, p.role(t, namespace, hashed("x"), granted), what)
		}
	}
}

// The largest capabilities that there can be are granted; of what is larger nothing is
// even looked at.
func (p *policed) most(t *testing.T) {
	const refusal = "no more than a PeeringCapability can have"
	many := func(n, length int) (texts []string) {
		for i := range n {
			texts = append(texts, fmt.Sprintf("%s%04d", strings.Repeat("x", length-4), i))
		}
		return texts
	}
	split := make([]peeringv1alpha1.CapabilityRule, rules.MaxRules)
	for i := range split {
		split[i] = peeringv1alpha1.CapabilityRule{APIGroups: many(rules.MaxPermissions/rules.MaxRules, 63), Resources: []string{"things"}, Verbs: []string{"get"}}
	}
	for what, largest := range map[string][]peeringv1alpha1.CapabilityRule{
		"names":  {{APIGroups: []string{"example.com"}, Resources: []string{"things"}, ResourceNames: many(rules.MaxPermissions, 253), Verbs: []string{"get"}}},
		"verbs":  {{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: many(rules.MaxPermissions, 253)}},
		"groups": split,
	} {
		verdict := rules.Judge(&peeringv1alpha1.PeeringCapabilitySpec{Version: "1", Rules: largest}, everything{})
		require.Equal(t, metav1.ConditionTrue, verdict.Status, "%s: %s", what, verdict.Message)
		judged(t, "", p.role(t, namespace, hashed("x"), verdict.Namespaced...), what)
		judged(t, "(G1)", p.role(t, namespace, hashed("x"), append(verdict.Namespaced, rule("", "pods/exec", "create"))...), what+", and one that is forbidden")
	}

	consumers := make([]rbacv1.Subject, rules.MaxConsumers)
	for i := range consumers {
		consumers[i] = user(aPeer + ":system:serviceaccount:" + strings.Repeat("n", 63) + ":" + many(i+1, 253)[i])
	}
	judged(t, "", p.roleBinding(t, namespace, hashed("x"), ref("Role", hashed("x")), consumers...), "consumers")
	judged(t, "other clusters only", p.roleBinding(t, namespace, hashed("x"), ref("Role", hashed("x")), append(consumers[1:], user("x"))...), "consumers, and one that is none")
	judged(t, refusal, p.roleBinding(t, namespace, hashed("x"), ref("Role", hashed("x")), append(consumers, user(aConsumer))...), "one consumer more")

	tooMuch := aRule
	tooMuch.ResourceNames = many(100_000, 4)
	judged(t, refusal, p.role(t, namespace, hashed("x"), tooMuch), "more names than anybody has")
	judged(t, refusal, p.role(t, namespace, hashed("x"), slices.Repeat([]rbacv1.PolicyRule{aRule}, 10_000)...), "more rules than anybody has")
	judged(t, refusal, p.clusterRole(t, metav1.ObjectMeta{Name: asOthers("x")}, tooMuch), "more names than anybody has, to be them")
}
