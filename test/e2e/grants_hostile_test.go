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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/kube"
)

func condition(peer *peeringv1alpha1.ClusterPeer, name string) metav1.Condition {
	if found := meta.FindStatusCondition(peer.Status.Conditions, name); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func capability(name, consumers, rules string) string {
	return "apiVersion: peering.entente.dev/v1alpha1\nkind: PeeringCapability\nmetadata: {name: " + name + "}\n" +
		"spec: {version: 1.0.0, consumers: " + consumers + ", rules: " + rules + "}\n"
}

const collectors = "[{namespace: log-collector, name: collector}]"

// G1: what asks for too much is not valid, and neither offered nor granted, whoever made
// it, and whoever named it.
func (g *granting) tooMuch(t *testing.T) {
	for name, test := range map[string]struct{ rules, reason string }{
		"any-secret": {`[{apiGroups: [""], resources: [secrets], verbs: [get]}]`, "ForbiddenRule"},
		"wildcard":   {`[{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]`, "ForbiddenRule"},
		"unknown":    {`[{apiGroups: [example.com], resources: [widgets], verbs: [get]}]`, "UnknownResource"},
		"of-two":     {`[{apiGroups: [""], resources: [configmaps], verbs: [get]}, {apiGroups: [""], resources: [pods/exec], verbs: [create]}]`, "ForbiddenRule"},
	} {
		g.east.MustKubectl(t, author, capability(name, collectors, test.rules), "create", "-f", "-")
		g.west.MustKubectl(t, platform, capability(name, "[]", "[]"), "create", "-f", "-")
		eventually(t, name+" is not valid", func(context.Context) error {
			return contains(g.east.MustKubectl(t, viewer, "", "get", "peercap", name, "--no-headers"), "False", test.reason)
		})
	}
	const all = `{"capabilities":["any-secret","logs","of-two","unknown","wildcard"]}`
	g.east.spec(t, author, "cpeer", "west", all)
	g.west.spec(t, platform, "cpeer", "east", all)
	g.east.until(t, "west", "the other cluster offers them", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return peer.Status.Peer != nil && len(peer.Status.Peer.Capabilities) == 5
	})
	eventually(t, "an Event says why", func(context.Context) error { return g.tells(t, "CapabilityNotValid") })
	peer := g.east.peer(t, "west")
	assert.Equal(t, []string{"logs"}, peer.Status.EffectiveCapabilities)
	require.Len(t, peer.Status.Offer.Capabilities, 1)
	assert.Equal(t, "logs", peer.Status.Offer.Capabilities[0].Name)
	assert.Len(t, peer.Status.Grants, 1)
	assert.Zero(t, g.objects(t.Context(), t, "app.kubernetes.io/managed-by=entente,peering.entente.dev/capability!=logs").count())
	g.await(t, "the rest is granted", soon, in("b1", "b2", "c1"))

	for s, name := range map[*side]string{g.east: "west", g.west: "east"} {
		s.spec(t, platform, "cpeer", name, `{"capabilities":["logs"]}`)
		s.MustKubectl(t, platform, "", "delete", "peercap", "any-secret", "wildcard", "unknown", "of-two")
	}
}

// G2: nobody grants what he does not hold, here, in all namespaces, by any of the ways in
// which a ClusterPeer decides who gets it.
func (g *granting) guarded(t *testing.T) {
	const local = "holds-in-one-namespace"
	g.east.AddUser(t, local)
	g.east.Bind(t, local, "entente-operator")
	g.east.GrantIn(t, "b1", local, policy("", "configmaps", "get"))
	configmaps := capability("guarded", collectors, `[{apiGroups: [""], resources: [configmaps], verbs: [get]}]`)
	refused := func(user, stdin string, args ...string) {
		t.Helper()
		result := g.east.Kubectl(t, user, stdin, args...)
		assert.NotZero(t, result.Code, "kubectl %v as %s", args, user)
		assert.Contains(t, result.Stderr, "rule G2", "kubectl %v as %s", args, user)
		assert.Contains(t, result.Stderr, "Forbidden", "kubectl %v as %s", args, user)
	}
	for _, user := range []string{local, operator} {
		refused(user, configmaps, "create", "-f", "-")
		refused(user, configmaps, "apply", "--server-side", "-f", "-")
		refused(user, "", "patch", "peercap", "logs", "--type=merge", "-p", `{"spec":{"consumers":[{"namespace":"x","name":"mine"}]}}`)
	}
	g.east.MustKubectl(t, platform, configmaps, "create", "--dry-run=server", "-f", "-")
	g.east.MustKubectl(t, operator, capability("guarded", collectors, "[]"), "create", "--dry-run=server", "-f", "-")

	// ClusterPeer west names logs.
	before := g.east.MustKubectl(t, viewer, "", "get", "cpeer", "west", "-o", "jsonpath={.metadata.generation} {.status.invite.tokenID}")
	for _, change := range []string{
		`{"spec":{"projects":["a"]}}`,
		`{"spec":{"invite":{"expectedClusterUUID":"0f0e8a4c-2b1d-4c55-9f0a-6f5f7f6d0c11"}}}`,
		`{"metadata":{"annotations":{"peering.entente.dev/renew":"` + strings.Fields(before)[1] + `"}}}`,
		`{"spec":{"capabilities":["logs","not-yet"]}}`,
	} {
		refused(operator, "", "patch", "cpeer", "west", "--type=merge", "-p", change)
	}
	assert.Equal(t, before, g.east.MustKubectl(t, viewer, "", "get", "cpeer", "west", "-o", "jsonpath={.metadata.generation} {.status.invite.tokenID}"))
	g.east.MustKubectl(t, operator, "", "label", "cpeer", "west", "some=label")
	refused(operator, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: mine}\nspec: {type: Invite, capabilities: [logs]}\n", "create", "-f", "-")

	// A Join that names it: whoever writes its string says to whom it goes.
	g.east.MustKubectl(t, platform, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: spare}\nspec: {type: Join, join: {}, capabilities: [logs]}\n", "create", "-f", "-")
	// kubectl gets it before it patches it.
	g.east.Grant(t, local, policy("peering.entente.dev", "clusterpeers/sensitive", "get", "patch", "update"))
	for _, more := range [][]string{nil, {"--subresource=sensitive"}} {
		refused(local, "", append([]string{"patch", "cpeer", "spare", "--type=merge", "-p", `{"spec":{"join":{"connectionString":"entente1.x.y"}}}`}, more...)...)
	}
	g.east.MustKubectl(t, platform, "", "delete", "cpeer", "spare", "--timeout=30s")
}

// roleIn is the name of the Role that is granted in a namespace.
func (g *granting) roleIn(t *testing.T, namespace string) string {
	t.Helper()
	for _, role := range g.objects(t.Context(), t, logs).roles {
		if role.Namespace == namespace {
			return role.Name
		}
	}
	require.Fail(t, "there is none in "+namespace)
	return ""
}

// G5: objects of others under names of ours are not touched, and what would go with them
// is not there; once they are gone all is as it should be.
func (g *granting) foreign(t *testing.T) {
	g.east.BindIn(t, "c1", tenant, "admin")
	was := g.objects(t.Context(), t, logs)
	role := g.roleIn(t, "c1")
	binding := was.bindings[slices.IndexFunc(was.bindings, func(b rbacv1.RoleBinding) bool { return b.Namespace == "b1" })].Name
	clusterRole, clusterBinding := was.clusterRoles[0].Name, was.clusterBound[0].Name
	g.east.spec(t, platform, "cpeer", "west", `{"capabilities":null}`)
	g.await(t, "withdrawn", soon, grants{})

	// A namespace admin makes the Role, with what he may give and with labels of ours; the
	// others are without.
	g.east.MustKubectl(t, tenant, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"+
		"metadata: {name: "+role+", namespace: c1, labels: {app.kubernetes.io/managed-by: entente, peering.entente.dev/peer: west, peering.entente.dev/capability: mine}}\n"+
		"rules: [{apiGroups: [\"\"], resources: [secrets], verbs: [get, list]}]\n", "create", "-f", "-")
	g.east.MustKubectl(t, kube.Admin, "", "create", "rolebinding", "-n", "b1", binding, "--role=x", "--user=x")
	g.east.MustKubectl(t, kube.Admin, "", "create", "clusterrole", clusterRole, "--verb=get", "--resource=secrets")
	g.east.MustKubectl(t, kube.Admin, "", "create", "clusterrolebinding", clusterBinding, "--clusterrole=x", "--user=x")
	versions := func() string {
		t.Helper()
		const version = `jsonpath={.metadata.uid} {.metadata.resourceVersion}{"\n"}`
		return g.east.MustKubectl(t, kube.Admin, "", "get", "role", "-n", "c1", role, "-o", version) +
			g.east.MustKubectl(t, kube.Admin, "", "get", "rolebinding", "-n", "b1", binding, "-o", version) +
			g.east.MustKubectl(t, kube.Admin, "", "get", "clusterrolebinding", clusterBinding, "-o", version)
	}
	before := versions()
	complains := func(names ...string) {
		t.Helper()
		g.east.until(t, "west", "something foreign is there", func(peer *peeringv1alpha1.ClusterPeer) bool {
			applied := condition(peer, "GrantsApplied")
			return applied.Status == metav1.ConditionFalse && applied.Reason == "ForeignObject" && contains(applied.Message, names...) == nil
		})
	}
	g.east.spec(t, platform, "cpeer", "west", `{"capabilities":["logs"]}`)
	complains("Role c1/"+role, "RoleBinding b1/"+binding, "ClusterRole "+clusterRole)
	g.await(t, "the rest is granted", soon, grants{[]string{"b2"}, false})
	eventually(t, "an Event says so", func(context.Context) error { return g.tells(t, "ForeignObject") })
	g.east.says(t, "west", "Active") // it is no fault of the peering
	for _, namespace := range []string{"b1", "c1"} {
		assert.Equal(t, "no", strings.TrimSpace(g.east.Kubectl(t, auditor, "", "auth", "can-i", "get", "secrets", "-n", namespace, "--as", g.consumer).Stdout))
	}

	// One goes, and another shows.
	g.east.MustKubectl(t, kube.Admin, "", "delete", "clusterrole", clusterRole)
	complains("Role c1/"+role, "RoleBinding b1/"+binding, "ClusterRoleBinding "+clusterBinding)
	assert.Equal(t, before, versions(), "they were touched")
	g.east.MustKubectl(t, tenant, "", "delete", "role", "-n", "c1", role)
	g.await(t, "one that bears our label goes", soon, grants{[]string{"b2", "c1"}, false})
	g.east.MustKubectl(t, kube.Admin, "", "delete", "rolebinding", "-n", "b1", binding)
	g.east.MustKubectl(t, kube.Admin, "", "delete", "clusterrolebinding", clusterBinding)
	// That nobody tells; it is looked for now and then.
	g.await(t, "those without go", patience, in("b1", "b2", "c1"))
	g.east.until(t, "west", "all is granted", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return condition(peer, "GrantsApplied").Reason == "Applied"
	})
	g.contents(t, "configmaps", g.consumer)
}

// G5: what a namespace admin does to our objects is undone; what he binds himself is his.
func (g *granting) namespaceAdmin(t *testing.T) {
	g.east.BindIn(t, "b1", tenant, "admin")
	name := g.roleIn(t, "b1")
	whole := func(what string) {
		t.Helper()
		eventuallyWithin(t, soon, what, func(ctx context.Context) error {
			found, err := g.objects(ctx, t, logs).grants()
			if err == nil && len(found.namespaces) != 3 {
				err = fmt.Errorf("it is granted in %v", found.namespaces)
			}
			if err == nil {
				got := g.east.Kubectl(t, tenant, "", "get", "role", "-n", "b1", name, "-o", "jsonpath={.rules[*].resources[*]}").Stdout
				err = map[bool]error{false: fmt.Errorf("the rules are for %q", got)}[got == "configmaps"]
			}
			return err
		})
		g.contents(t, "configmaps", g.consumer)
	}
	g.east.MustKubectl(t, tenant, "", "create", "rolebinding", "mine", "-n", "b1", "--role="+name, "--serviceaccount=b1:default")
	g.east.MustKubectl(t, tenant, "", "delete", "role", "-n", "b1", name)
	whole("a Role that was deleted is back")
	g.east.MustKubectl(t, tenant, "", "delete", "rolebinding", "-n", "b1", "-l", logs)
	whole("a RoleBinding that was deleted is back")
	g.east.MustKubectl(t, tenant, "", "patch", "role", "-n", "b1", name, "--type=json", "-p", `[{"op":"replace","path":"/rules/0/resources","value":["configmaps","secrets"]}]`)
	whole("a Role that was widened is as it was")
	g.east.MustKubectl(t, tenant, "", "label", "role", "-n", "b1", name, "app.kubernetes.io/managed-by-", "peering.entente.dev/capability-")
	whole("a Role without its labels is as it was")
	assert.Equal(t, name, g.east.MustKubectl(t, tenant, "", "get", "rolebinding", "-n", "b1", "mine", "-o", "jsonpath={.roleRef.name}"), "his own binding is left alone")
	g.east.MustKubectl(t, tenant, "", "delete", "rolebinding", "-n", "b1", "mine")

	// He cannot put another namespace into a project, and not even see those of others.
	result := g.east.Kubectl(t, tenant, "", "label", "namespace", "b1", "--overwrite", projectLabel+"=a")
	assert.Contains(t, result.Stderr, "Forbidden")
	// He sees with whom his project is paired, and whoever writes ProjectPeers gains nothing.
	assert.Contains(t, g.east.MustKubectl(t, tenant, "", "get", "projectpeers", "-n", "b1"), "Paired")
	stray := "apiVersion: peering.entente.dev/v1alpha1\nkind: ProjectPeer\nmetadata: {name: west, namespace: a1}\n"
	g.east.MustKubectl(t, operator, stray, "create", "-f", "-")
	g.east.awaitProjectPeers(t, soon, "b1", "b2", "c1")
	g.await(t, "nothing came of it", soon, in("b1", "b2", "c1"))
}
