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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// host is what a host cluster has: by group, the resources and whether they are namespaced.
type host map[string]map[string]bool

// down is a group whose resources are not all known.
const down = "down"

func (h host) Scope(group, resource string) (namespaced, found bool) {
	namespaced, found = h[group][resource]
	return namespaced, found
}

func (h host) Failed(group string) bool { return h[group][down] }

// usual is what the tests have for a host cluster.
func usual() host {
	return host{
		"": {
			"configmaps": true, "secrets": true, "pods": true, "pods/log": true, "pods/exec": true, "serviceaccounts": true,
			"serviceaccounts/token": true, "events": true, "namespaces": false, "nodes": false, "nodes/proxy": false,
		},
		"apps":                         {"deployments": true, "deployments/scale": true, "events": true},
		"rbac.authorization.k8s.io":    {"roles": true, "clusterroles": false},
		"admissionregistration.k8s.io": {"validatingwebhookconfigurations": false},
		"apiregistration.k8s.io":       {"apiservices": false},
		"apiextensions.k8s.io":         {"customresourcedefinitions": false},
		"certificates.k8s.io":          {"certificatesigningrequests": false},
		"peering.entente.dev":          {"clusterpeers": false},
		"core.convoy.kumodo.io":        {"clusters": true},
		"vault.example.com":            {"secrets": true, "pods/exec": true},
		"broken.example.com":           {"widgets": true, down: true},
	}
}

type (
	spec     = peeringv1alpha1.PeeringCapabilitySpec
	rule     = peeringv1alpha1.CapabilityRule
	consumer = peeringv1alpha1.Consumer
)

var agent = consumer{Kind: "ServiceAccount", Namespace: "module", Name: "agent"}

func of(rules ...rule) *spec { return &spec{Version: "1", Rules: rules, Consumers: []consumer{agent}} }

func list(texts ...string) []string { return texts }

// on is a rule for resources of one group.
func on(verbs, group, resources string, names ...string) rule {
	return rule{Verbs: strings.Fields(verbs), APIGroups: list(group), Resources: strings.Fields(resources), ResourceNames: names}
}

// urls is a rule for URLs.
func urls(verbs string, urls ...string) rule {
	return rule{Verbs: strings.Fields(verbs), NonResourceURLs: urls}
}

// G1: what is granted, and where it applies.
func TestG1Valid(t *testing.T) {
	for name, test := range map[string]struct {
		spec                *spec
		scope               []peeringv1alpha1.CapabilityScope
		namespaced, cluster []rbacv1.PolicyRule
		message             string
	}{
		"no rules": {
			spec:    &spec{},
			message: "It can be offered. Without rules it grants nothing.",
		},
		"no consumers": {
			spec:       &spec{Rules: []rule{on("get", "", "pods")}},
			scope:      []peeringv1alpha1.CapabilityScope{"project"},
			namespaced: []rbacv1.PolicyRule{{Verbs: list("get"), APIGroups: list(""), Resources: list("pods")}},
			message:    "It can be offered. Without consumers its rules are granted to nobody.",
		},
		"namespaced": {
			spec:       of(on("get create", "", "configmaps pods/log", "a", "b")),
			scope:      []peeringv1alpha1.CapabilityScope{"project"},
			namespaced: []rbacv1.PolicyRule{{Verbs: list("get", "create"), APIGroups: list(""), Resources: list("configmaps", "pods/log"), ResourceNames: list("a", "b")}},
		},
		"cluster-scoped": {
			spec:    of(on("list", "", "nodes")),
			scope:   []peeringv1alpha1.CapabilityScope{"cluster"},
			cluster: []rbacv1.PolicyRule{{Verbs: list("list"), APIGroups: list(""), Resources: list("nodes")}},
		},
		"URLs": {
			spec:    of(urls("get", "/version", "/healthz/", "/")),
			scope:   []peeringv1alpha1.CapabilityScope{"cluster"},
			cluster: []rbacv1.PolicyRule{{Verbs: list("get"), NonResourceURLs: list("/version", "/healthz/", "/")}},
		},
		"of mixed scope, split by group": {
			spec: of(
				rule{Verbs: list("watch"), APIGroups: list("apps", ""), Resources: list("events", "nodes", "deployments")},
				urls("get", "/version"),
				on("get", "", "namespaces configmaps"),
			),
			scope: []peeringv1alpha1.CapabilityScope{"project", "cluster"},
			namespaced: []rbacv1.PolicyRule{
				{Verbs: list("watch"), APIGroups: list("apps"), Resources: list("events", "deployments")},
				{Verbs: list("watch"), APIGroups: list(""), Resources: list("events")},
				{Verbs: list("get"), APIGroups: list(""), Resources: list("configmaps")},
			},
			cluster: []rbacv1.PolicyRule{
				{Verbs: list("watch"), APIGroups: list(""), Resources: list("nodes")},
				{Verbs: list("get"), NonResourceURLs: list("/version")},
				{Verbs: list("get"), APIGroups: list(""), Resources: list("namespaces")},
			},
		},
		"reads of what decides": {
			spec:    of(on("get list watch", "rbac.authorization.k8s.io", "clusterroles")),
			scope:   []peeringv1alpha1.CapabilityScope{"cluster"},
			cluster: []rbacv1.PolicyRule{{Verbs: list("get", "list", "watch"), APIGroups: list("rbac.authorization.k8s.io"), Resources: list("clusterroles")}},
		},
		"one Secret": {
			spec:       of(on("get list watch update patch delete", "", "secrets", "token")),
			scope:      []peeringv1alpha1.CapabilityScope{"project"},
			namespaced: []rbacv1.PolicyRule{{Verbs: list("get", "list", "watch", "update", "patch", "delete"), APIGroups: list(""), Resources: list("secrets"), ResourceNames: list("token")}},
		},
		"another group's secrets": {
			spec:       of(on("get create", "vault.example.com", "secrets pods/exec")),
			scope:      []peeringv1alpha1.CapabilityScope{"project"},
			namespaced: []rbacv1.PolicyRule{{Verbs: list("get", "create"), APIGroups: list("vault.example.com"), Resources: list("secrets", "pods/exec")}},
		},
		"what is known of a group that is not all known": {
			spec:       of(on("get", "broken.example.com", "widgets")),
			scope:      []peeringv1alpha1.CapabilityScope{"project"},
			namespaced: []rbacv1.PolicyRule{{Verbs: list("get"), APIGroups: list("broken.example.com"), Resources: list("widgets")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			message := test.message
			if message == "" {
				message = "It can be offered, and its rules granted to its consumers."
			}
			assert.Equal(t, Verdict{
				Status: metav1.ConditionTrue, Reason: "Valid", Message: message,
				Scope: test.scope, Namespaced: test.namespaced, Cluster: test.cluster,
			}, Judge(test.spec, usual()))
		})
	}
}

// refused judges, and requires that nothing is granted.
func refused(t *testing.T, spec *spec, resources Resources, status metav1.ConditionStatus, reason string) (message string) {
	t.Helper()
	verdict := Judge(spec, resources)
	assert.Equal(t, Verdict{Status: status, Reason: reason, Message: verdict.Message}, verdict)
	assert.True(t, strings.HasSuffix(verdict.Message, " (G1)."), verdict.Message)
	return verdict.Message
}

// G1: what no other cluster gets, and that a host cluster has no say in it.
func TestG1ForbiddenRules(t *testing.T) {
	const rbac = "rbac.authorization.k8s.io"
	for _, test := range []struct {
		rule rule
		at   string
	}{
		{on("*", "", "pods"), "verbs[0]"},
		{on("get get*", "", "pods"), "verbs[1]"},
		{on("get", "*", "pods"), "apiGroups[0]"},
		{on("get", "*.example.com", "pods"), "apiGroups[0]"},
		{on("get", "", "*"), "resources[0]"},
		{on("get", "", "pods pods/*"), "resources[1]"},
		{on("get", "", "*/scale"), "resources[0]"},
		{on("get", "", "pods", "web", "web-*"), "resourceNames[1]"},
		{urls("get", "/healthz", "/healthz/*"), "nonResourceURLs[1]"},
		{urls("get", "*"), "nonResourceURLs[0]"},
		{urls("*", "/healthz"), "verbs[0]"},

		{on("escalate", rbac, "roles"), "verbs[0]"},
		{on("get bind", rbac, "roles"), "verbs[1]"},
		{on("impersonate", "", "users"), "verbs[0]"},
		{on("impersonate:user-info", "authentication.k8s.io", "users"), "verbs[0]"},
		{on("impersonate-on:user-info:get", "", "pods"), "verbs[0]"},
		{on("impersonatex", "", "pods"), "verbs[0]"},
		{on("approve", "certificates.k8s.io", "signers"), "verbs[0]"},
		{on("sign", "certificates.k8s.io", "signers", "example.com/a"), "verbs[0]"},
		{urls("impersonate", "/healthz"), "verbs[0]"},

		{on("create", "", "serviceaccounts/token"), "resources[0]"},
		{on("get", "", "nodes nodes/proxy"), "resources[1]"},
		{on("get", "", "services/proxy"), "resources[0]"},
		{on("get", "", "pods/exec"), "resources[0]"},
		{on("get", "", "pods/attach"), "resources[0]"},
		{on("get", "", "pods/portforward"), "resources[0]"},
		{on("get", "", "pods/proxy"), "resources[0]"},
		{on("get", "", "pods/ephemeralcontainers"), "resources[0]"},
		{on("create", "", "pods/exec", "web"), "resources[0]"},
		{rule{Verbs: list("get"), APIGroups: list("apps", ""), Resources: list("deployments", "pods/exec")}, "resources[1]"},

		{on("get", "peering.entente.dev", "clusterpeers"), "apiGroups[0]"},
		{on("get", "core.convoy.kumodo.io", "clusters"), "apiGroups[0]"},
		{rule{Verbs: list("get"), APIGroups: list("", "peering.entente.dev"), Resources: list("pods", "clusterpeers")}, "apiGroups[1]"},

		{on("get update", rbac, "roles"), "verbs[1]"},
		{on("create", rbac, "clusterroles"), "verbs[0]"},
		{on("patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations"), "verbs[0]"},
		{on("delete", "apiregistration.k8s.io", "apiservices"), "verbs[0]"},
		{on("deletecollection", "apiextensions.k8s.io", "customresourcedefinitions"), "verbs[0]"},
		{on("list watch use", "certificates.k8s.io", "certificatesigningrequests"), "verbs[2]"},
		{on("update", "certificates.k8s.io", "certificatesigningrequests", "mine"), "verbs[0]"},
		{rule{Verbs: list("update"), APIGroups: list("apps", rbac), Resources: list("deployments", "roles")}, "verbs[0]"},

		{on("get", "", "secrets"), "resources[0]"},
		{on("create", "", "configmaps secrets"), "resources[1]"},
		{rule{Verbs: list("list"), APIGroups: list("vault.example.com", ""), Resources: list("secrets")}, "resources[0]"},
		{on("get create", "", "secrets", "token"), "verbs[1]"},
		{on("deletecollection", "", "secrets", "token"), "verbs[0]"},

		{on("get patch", "", "namespaces"), "verbs[1]"},
		{on("create", "", "pods namespaces"), "verbs[0]"},
		{on("update", "", "namespaces/finalize"), "verbs[0]"},
		{on("update", "", "namespaces", "b"), "verbs[0]"},
		{on("patch", "deckhouse.io", "projects"), "verbs[0]"},
		{on("update", "deckhouse.io", "projects/status"), "verbs[0]"},
		{rule{Verbs: list("update"), APIGroups: list("deckhouse.io", ""), Resources: list("pods", "projects")}, "verbs[0]"},

		{on("get", rbac, "clusterroles", "view", "system:node"), "resourceNames[1]"},
		{on("get", "", "configmaps", "system:"), "resourceNames[0]"},
	} {
		t.Run(fmt.Sprint(test.rule), func(t *testing.T) {
			capability := of(on("get", "", "pods"), test.rule)
			for _, resources := range []Resources{usual(), host{}, nil} {
				message := refused(t, capability, resources, metav1.ConditionFalse, "ForbiddenRule")
				assert.True(t, strings.HasPrefix(message, "spec.rules[1]."+test.at+" is "), message)
			}
		})
	}
}

// G1: rules that RBAC would take, or not, and that mean something else than they say.
func TestG1InvalidRules(t *testing.T) {
	for _, test := range []struct {
		rule rule
		at   string
	}{
		{rule{}, " has no verbs"},
		{rule{APIGroups: list(""), Resources: list("pods")}, " has no verbs"},
		{rule{Verbs: list("get")}, " has neither"},
		{rule{Verbs: list("get"), APIGroups: list("")}, " has neither"},
		{rule{Verbs: list("get"), APIGroups: list(""), Resources: list("pods"), NonResourceURLs: list("/version")}, " has both"},
		{rule{Verbs: list("get"), Resources: list("pods")}, " has resources without apiGroups"},
		{rule{Verbs: list("get"), APIGroups: list(""), NonResourceURLs: list("/version")}, " has nonResourceURLs with"},
		{rule{Verbs: list("get"), ResourceNames: list("a"), NonResourceURLs: list("/version")}, " has nonResourceURLs with"},
		{rule{Verbs: list("get", ""), APIGroups: list(""), Resources: list("pods")}, ".verbs[1] is no verb"},
		{on("GET", "", "pods"), ".verbs[0] is no verb"},
		{on("Impersonate", "", "users"), ".verbs[0] is no verb"},
		{rule{Verbs: list("get "), APIGroups: list(""), Resources: list("pods")}, ".verbs[0] is no verb"},
		{rule{Verbs: list("get\n"), APIGroups: list(""), Resources: list("pods")}, ".verbs[0] is no verb"},
		{on("get", "Apps", "deployments"), ".apiGroups[0] is no API group"},
		{on("get", "apps/v1", "deployments"), ".apiGroups[0] is no API group"},
		{on("get", " ", "deployments"), ".apiGroups[0] is no API group"},
		{rule{Verbs: list("get"), APIGroups: list(""), Resources: list("pods", "")}, ".resources[1] is neither"},
		{on("get", "", "pods/"), ".resources[0] is neither"},
		{on("get", "", "/log"), ".resources[0] is neither"},
		{on("get", "", "pods/log/x"), ".resources[0] is neither"},
		{on("get", "", ".."), ".resources[0] is neither"},
		{on("get", "", "pods", ""), ".resourceNames[0] can be the name"},
		{on("list", "", "secrets", "token", ""), ".resourceNames[1] can be the name"},
		{on("get", "", "pods", "a/b"), ".resourceNames[0] can be the name"},
		{on("get", "", "pods", ".."), ".resourceNames[0] can be the name"},
		{on("get", "", "pods", "%2e"), ".resourceNames[0] can be the name"},
		{urls("get", ""), ".nonResourceURLs[0] does not begin"},
		{urls("get", "version"), ".nonResourceURLs[0] does not begin"},
		{urls("get", "https://example.com/version"), ".nonResourceURLs[0] does not begin"},
		{urls("get", "//example.com/version"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/healthz", "/a//b"), ".nonResourceURLs[1] is no path"},
		{urls("get", "/a/../b"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/a/./"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/a//"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/version?x"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/version#x"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/%76ersion"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/a b"), ".nonResourceURLs[0] is no path"},
		{urls("get", "/a\n"), ".nonResourceURLs[0] is no path"},
	} {
		t.Run(fmt.Sprintf("%q", test.rule), func(t *testing.T) {
			capability := of(on("get", "", "pods"), test.rule)
			for _, resources := range []Resources{usual(), nil} {
				message := refused(t, capability, resources, metav1.ConditionFalse, "InvalidRule")
				assert.True(t, strings.HasPrefix(message, "spec.rules[1]"+test.at), message)
			}
		})
	}
}

// G1: how much there may be, and one more. What is beyond is not even looked at.
func TestG1Bounds(t *testing.T) {
	many := func(n int) (texts []string) {
		for i := range n {
			texts = append(texts, fmt.Sprintf("v%d", i))
		}
		return texts
	}
	full := rule{Verbs: many(32), APIGroups: list(""), Resources: list("pods", "events"), ResourceNames: many(8)}
	more := urls("get", "/version")
	assert.Equal(t, metav1.ConditionTrue, Judge(of(slices.Repeat([]rule{more}, 64)...), usual()).Status)
	assert.Equal(t, metav1.ConditionTrue, Judge(of(full), usual()).Status, "512")
	assert.Equal(t, metav1.ConditionTrue, Judge(of(full, full), usual()).Status, "1,024")
	refused(t, of(on(strings.Join(many(1025), " "), "", "pods")), usual(), metav1.ConditionFalse, "InvalidRule")

	message := refused(t, of(slices.Repeat([]rule{more}, 65)...), usual(), metav1.ConditionFalse, "InvalidRule")
	assert.Equal(t, "spec.rules has more than 64 rules (G1).", message)
	message = refused(t, of(full, full, more), usual(), metav1.ConditionFalse, "InvalidRule")
	assert.Equal(t, "spec.rules[2] goes beyond 1,024 permissions, each verb on each resource and name counted (G1).", message)
	huge := many(200_000)
	refused(t, of(rule{Verbs: huge, APIGroups: huge, Resources: huge, ResourceNames: huge}), usual(), metav1.ConditionFalse, "InvalidRule")
	refused(t, of(rule{Verbs: huge, NonResourceURLs: huge}), usual(), metav1.ConditionFalse, "InvalidRule")
	assert.Equal(t, MaxPermissions+1, count(&rule{Verbs: huge, APIGroups: huge, Resources: huge, ResourceNames: huge}))
}

// G1: consumers are checked for form.
func TestG1InvalidConsumers(t *testing.T) {
	for _, test := range []struct {
		consumers []consumer
		at        string
	}{
		{[]consumer{{}}, "[0].name"},
		{[]consumer{{Namespace: "module"}}, "[0].name"},
		{[]consumer{{Name: "agent"}}, "[0].namespace"},
		{[]consumer{agent, {Name: "Agent", Namespace: "module"}}, "[1].name"},
		{[]consumer{{Name: "agent_1", Namespace: "module"}}, "[0].name"},
		{[]consumer{{Name: "system:masters", Namespace: "module"}}, "[0].name"},
		{[]consumer{{Name: "a:b", Namespace: "module"}}, "[0].name"},
		{[]consumer{{Name: "agent", Namespace: "system:x"}}, "[0].namespace"},
		{[]consumer{{Name: "agent", Namespace: "a.b"}}, "[0].namespace"},
		{[]consumer{{Name: "agent", Namespace: "module", Kind: "User"}}, "[0].kind"},
		{[]consumer{agent, {Name: "b", Namespace: "module"}, agent}, "[2]"},
		{[]consumer{agent, {Name: agent.Name, Namespace: agent.Namespace}}, "[1]"},
		{make([]consumer, 65), ""},
	} {
		for _, resources := range []Resources{usual(), nil} {
			message := refused(t, &spec{Consumers: test.consumers}, resources, metav1.ConditionFalse, "InvalidConsumer")
			assert.True(t, strings.HasPrefix(message, "spec.consumers"+test.at+" "), message)
		}
	}
	assert.Equal(t, metav1.ConditionTrue, Judge(&spec{Consumers: []consumer{
		{Name: "agent", Namespace: "module"}, {Name: "agent", Namespace: "other"}, {Name: "agent.v2", Namespace: "module"},
	}}, usual()).Status)
}

// G1: what the host cluster does not have, and what it does not tell.
func TestG1UnknownResources(t *testing.T) {
	for name, test := range map[string]struct {
		rules      []rule
		status     metav1.ConditionStatus
		reason, at string
	}{
		"no such resource":    {[]rule{on("get", "", "pods widgets")}, "False", "UnknownResource", "[0].resources[1]"},
		"no such subresource": {[]rule{on("get", "", "configmaps/log")}, "False", "UnknownResource", "[0].resources[0]"},
		"no such group":       {[]rule{on("get", "example.org", "pods")}, "False", "UnknownResource", "[0].resources[0]"},
		"a group too many": {
			[]rule{{Verbs: list("get"), APIGroups: list("", "apps"), Resources: list("pods")}},
			"False", "UnknownResource", "[0].apiGroups[1]",
		},
		"not told": {[]rule{on("get", "broken.example.com", "gadgets")}, "Unknown", "DiscoveryFailed", "[0].resources[0]"},
		"perhaps in the group that is not told": {
			[]rule{{Verbs: list("get"), APIGroups: list("", "broken.example.com"), Resources: list("configmaps", "gadgets")}},
			"Unknown", "DiscoveryFailed", "[0].resources[1]",
		},
		"a group that may have it": {
			[]rule{{Verbs: list("get"), APIGroups: list("", "broken.example.com"), Resources: list("pods")}},
			"Unknown", "DiscoveryFailed", "[0].apiGroups[1]",
		},
		"what is certain comes first": {
			[]rule{on("get", "broken.example.com", "gadgets"), on("get", "", "widgets")},
			"False", "UnknownResource", "[1].resources[0]",
		},
		"the first of what is not told": {
			[]rule{on("get", "broken.example.com", "gadgets"), on("get", "broken.example.com", "gizmos")},
			"Unknown", "DiscoveryFailed", "[0].resources[0]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			message := refused(t, of(test.rules...), usual(), test.status, test.reason)
			assert.True(t, strings.HasPrefix(message, "spec.rules"+test.at+" "), message)
		})
	}
}

// G1: without a host cluster nothing can be told but what is wrong.
func TestG1NoHost(t *testing.T) {
	for _, capability := range []*spec{{}, of(on("get", "", "pods")), of(urls("get", "/version"))} {
		refused(t, capability, nil, metav1.ConditionUnknown, "NoHost")
	}
}

// The first fault is told: the rules in their order, then the consumers, then the host.
func TestG1FirstFault(t *testing.T) {
	unknown, forbidden, malformed := on("get", "", "widgets"), on("*", "", "pods"), on("GET", "", "pods")
	nobody := consumer{}
	for want, capability := range map[string]*spec{
		"spec.rules[1].verbs[0] is or":        {Rules: []rule{unknown, forbidden, malformed}, Consumers: []consumer{nobody}},
		"spec.rules[1].verbs[0] is no":        {Rules: []rule{unknown, malformed, forbidden}, Consumers: []consumer{nobody}},
		"spec.consumers[0].name is no":        {Rules: []rule{unknown}, Consumers: []consumer{nobody}},
		"spec.rules[0].resources[0] is no re": {Rules: []rule{unknown}, Consumers: []consumer{agent}},
	} {
		for range 3 {
			message := Judge(capability, usual()).Message
			assert.True(t, strings.HasPrefix(message, want), message)
		}
	}
}

// A verdict shares nothing with what was judged.
func TestVerdictIsItsOwn(t *testing.T) {
	sample := func() *spec { return of(on("get", "", "pods nodes", "a"), urls("get", "/version")) }
	capability, want := sample(), Judge(sample(), usual())
	verdict := Judge(capability, usual())
	for i := range capability.Rules {
		r := &capability.Rules[i]
		for _, texts := range [][]string{r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs} {
			for j := range texts {
				texts[j] = "*"
			}
		}
	}
	require.Equal(t, want, verdict)
}
