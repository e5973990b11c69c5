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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"entente.dev/entente/test/kube"
)

// People of both clusters, beside keeper, operator and viewer.
const (
	platform = "platform" // entente-operator, holds what is granted in these tests, and pairs
	author   = "author"   // entente-operator, and may let others have what nobody of these holds
	writer   = "writer"   // writes namespaces, and does not pair
	tenant   = "tenant"   // admin of a namespace of a project
	auditor  = "auditor"  // reads RBAC, and asks what a peer may do
)

// granting are two clusters that peer, of which east grants something to a module of
// west. In east ClusterPeer west is the Invite, in west ClusterPeer east the Join.
type granting struct {
	*pair
	rbac kubernetes.Interface // of the auditor in east
	// consumer is who it is granted to, stranger another of west, as users of east.
	consumer, stranger string
}

// TestGrants is what another cluster may do here, with two real control planes and
// ordinary users: it comes and goes as capabilities, projects and ClusterPeers do.
func TestGrants(t *testing.T) {
	t.Parallel()
	clusters := kube.StartAll(t, []string{"east", "west"})
	g := &granting{pair: &pair{east: newSide(t, clusters[0]), west: newSide(t, clusters[1])}}
	for _, s := range g.sides() {
		s.entente.Run(t)
	}
	for _, s := range g.sides() {
		s.entente.WaitServed(t)
		s.addGranters(t)
	}
	for _, part := range []struct {
		name string
		test func(*granting, *testing.T)
	}{
		{"G4 G5 paired", (*granting).paired},
		{"G5 what the consumer may do", (*granting).consumed},
		{"G1 too much", (*granting).tooMuch},
		{"G2 guarded", (*granting).guarded},
		{"G5 foreign object", (*granting).foreign},
		{"G5 namespace admin", (*granting).namespaceAdmin},
		{"G3 G4 G5 comes and goes", (*granting).comesAndGoes},
		{"G4 Deckhouse", (*granting).deckhouse},
		{"G5 many, and killed", (*granting).many},
		{"G5 left, and offered again", (*granting).leftAndOffered},
		{"documented", (*granting).documented},
		{"H3 rights", (*granting).rights},
		{"uninstalled", (*granting).uninstalled},
	} {
		start := time.Now()
		if !t.Run(part.name, func(t *testing.T) { part.test(g, t) }) {
			return // each part begins with what the one before has left
		}
		t.Logf("%s: %v", part.name, time.Since(start).Round(time.Second))
	}
}

func (s *side) addGranters(t *testing.T) {
	t.Helper()
	for _, user := range []string{platform, author, writer, tenant, auditor} {
		s.AddUser(t, user)
	}
	for _, user := range []string{platform, author} {
		s.Bind(t, user, "entente-operator")
	}
	namespaces := policy("", "namespaces", "get", "list", "create", "update", "patch", "delete")
	s.Grant(t, platform, namespaces,
		policy("", "configmaps", "get", "list", "watch"),
		policy("", "pods", "get", "list"),
		policy("", "nodes", "get", "list"),
		rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
		policy("peering.entente.dev", "projectpeers", "pair"))
	s.Grant(t, author, policy("peering.entente.dev", "peeringcapabilities", "escalate", "bind"))
	s.Grant(t, writer, namespaces)
	s.Bind(t, auditor, "entente-viewer")
	s.Grant(t, auditor, rbacv1.PolicyRule{
		APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"}, Verbs: []string{"get", "list"},
	})
}

func policy(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

const (
	// soon is how long a change in east may take until it shows in RBAC; it is meant to
	// take less than five seconds, on a machine that does nothing else.
	soon = 20 * time.Second
	// later is that for what the other cluster has to say, which may add something once
	// in ten seconds (P11).
	later = 40 * time.Second
)

// grants is what is granted: the namespaces with a Role and a RoleBinding, and whether
// there is a ClusterRole with its binding.
type grants struct {
	namespaces []string
	cluster    bool
}

func in(namespaces ...string) grants { return grants{namespaces, true} }

// objects are the RBAC objects in east that a ClusterPeer is named on, but for those by which
// Entente may be the consumers.
type objects struct {
	roles        []rbacv1.Role
	bindings     []rbacv1.RoleBinding
	clusterRoles []rbacv1.ClusterRole
	clusterBound []rbacv1.ClusterRoleBinding
}

func (g *granting) objects(ctx context.Context, t *testing.T, selector string) objects {
	t.Helper()
	options := metav1.ListOptions{LabelSelector: selector}
	roles, err := g.rbac.RbacV1().Roles("").List(ctx, options)
	require.NoError(t, err)
	bindings, err := g.rbac.RbacV1().RoleBindings("").List(ctx, options)
	require.NoError(t, err)
	clusterRoles, err := g.rbac.RbacV1().ClusterRoles().List(ctx, options)
	require.NoError(t, err)
	clusterBound, err := g.rbac.RbacV1().ClusterRoleBindings().List(ctx, options)
	require.NoError(t, err)
	return objects{
		roles.Items, bindings.Items,
		slices.DeleteFunc(clusterRoles.Items, func(role rbacv1.ClusterRole) bool { return forEntente(role.Name) }),
		slices.DeleteFunc(clusterBound.Items, func(binding rbacv1.ClusterRoleBinding) bool { return forEntente(binding.Name) }),
	}
}

func forEntente(name string) bool { return strings.HasPrefix(name, "entente-impersonate-") }

func (o objects) count() int {
	return len(o.roles) + len(o.bindings) + len(o.clusterRoles) + len(o.clusterBound)
}

// grants is where there are both halves, and an error if there are more, or halves.
func (o objects) grants() (grants, error) {
	var found, bound []string
	for _, role := range o.roles {
		found = append(found, role.Namespace)
	}
	for _, binding := range o.bindings {
		bound = append(bound, binding.Namespace)
	}
	slices.Sort(found)
	slices.Sort(bound)
	if !slices.Equal(found, bound) || len(o.clusterRoles) != len(o.clusterBound) || len(o.clusterRoles) > 1 {
		return grants{}, fmt.Errorf("there are Roles in %v and RoleBindings in %v, %d ClusterRoles and %d ClusterRoleBindings", found, bound, len(o.clusterRoles), len(o.clusterBound))
	}
	return grants{found, len(o.clusterRoles) == 1}, nil
}

const logs = "peering.entente.dev/capability=logs"

// await waits until exactly this is granted by capability logs, says how long it took, and
// until ClusterPeer and ProjectPeers say the same.
func (g *granting) await(t *testing.T, what string, limit time.Duration, want grants) {
	t.Helper()
	start := time.Now()
	eventuallyWithin(t, limit, what, func(ctx context.Context) error {
		found, err := g.objects(ctx, t, logs).grants()
		if err == nil && (!slices.Equal(found.namespaces, want.namespaces) || found.cluster != want.cluster) {
			err = fmt.Errorf("it is granted in %v (cluster: %v), not in %v (%v)", found.namespaces, found.cluster, want.namespaces, want.cluster)
		}
		return err
	})
	t.Logf("%s: after %v", what, time.Since(start).Round(10*time.Millisecond))
	eventuallyWithin(t, limit, what+": status.grants says so", func(context.Context) error {
		return g.shows(t, want)
	})
}

// shows says what of the status of the ClusterPeer is not as it should be, if there is one.
func (g *granting) shows(t *testing.T, want grants) error {
	t.Helper()
	result := g.east.Kubectl(t, auditor, "", "get", "cpeer", "west", "--ignore-not-found", "-o", `jsonpath={range .status.grants[?(@.capability=="logs")]}{.namespaces[*]}{"\n"}{end}`)
	require.Zero(t, result.Code, result.Output())
	expected := ""
	if len(want.namespaces) > 0 || want.cluster {
		expected = strings.Join(want.namespaces, " ") + "\n"
	}
	if result.Stdout != expected {
		return fmt.Errorf("it says %q, not %q", result.Stdout, expected)
	}
	return nil
}

// awaitProjectPeers waits until there are ProjectPeers in exactly these namespaces.
func (s *side) awaitProjectPeers(t *testing.T, limit time.Duration, namespaces ...string) {
	t.Helper()
	eventuallyWithin(t, limit, fmt.Sprintf("ProjectPeers in %v of %s", namespaces, s.Name), func(ctx context.Context) error {
		list, err := s.entente.Client(t, auditor).PeeringV1alpha1().ProjectPeers("").List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		var found []string
		for _, peer := range list.Items {
			found = append(found, peer.Namespace)
		}
		slices.Sort(found)
		if !slices.Equal(found, namespaces) {
			return fmt.Errorf("there are some in %v", found)
		}
		return nil
	})
}

// project has a user put namespaces, which it makes, into a project.
func (s *side) project(t *testing.T, user, project string, namespaces ...string) {
	t.Helper()
	var manifest strings.Builder
	for _, name := range namespaces {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {%s: %s}}\n", name, projectLabel, project)
	}
	s.MustKubectl(t, user, manifest.String(), "create", "-f", "-")
}

const projectLabel = "peering.entente.dev/project"

// label has a user move a namespace to a project, or out of all if that is empty.
func (s *side) label(t *testing.T, user, namespace, project string) {
	t.Helper()
	label := projectLabel + "=" + project
	if project == "" {
		label = projectLabel + "-"
	}
	s.MustKubectl(t, user, "", "label", "namespace", namespace, "--overwrite", label)
}

// spec has a user merge something into the spec of an object.
func (s *side) spec(t *testing.T, user, kind, name, fields string) {
	t.Helper()
	s.MustKubectl(t, user, "", "patch", kind, name, "--type=merge", "-p", `{"spec":`+fields+`}`)
}

const (
	eastLogs = `
apiVersion: peering.entente.dev/v1alpha1
kind: PeeringCapability
metadata: {name: logs}
spec:
  version: 1.2.0
  consumers:
  - {namespace: log-collector, name: collector}
  rules:
  - {apiGroups: [""], resources: [configmaps, nodes], verbs: [get, list]}
  - {nonResourceURLs: [/metrics], verbs: [get]}
`
	// Without rules: this side only uses what the other one grants.
	westLogs = `
apiVersion: peering.entente.dev/v1alpha1
kind: PeeringCapability
metadata: {name: logs}
spec: {version: 1.9.1}
`
)

// Two clusters with projects a, b, c and b, c, d pair b and c, and nothing else. What is
// in a namespace is granted in theirs, and all else once.
func (g *granting) paired(t *testing.T) {
	g.east.project(t, platform, "a", "a1")
	g.east.project(t, platform, "b", "b1", "b2")
	g.east.project(t, platform, "c", "c1")
	g.west.project(t, platform, "b", "b9")
	g.west.project(t, platform, "c", "c9")
	g.west.project(t, platform, "d", "d9")
	g.east.MustKubectl(t, platform, eastLogs, "create", "-f", "-")
	g.west.MustKubectl(t, platform, westLogs, "create", "-f", "-")
	for _, s := range g.sides() {
		s.MustKubectl(t, viewer, "", "wait", "peercap/logs", "--for=condition=Valid", "--timeout=1m")
	}
	g.rbac = g.east.Clientset(t, auditor)
	g.invited(t)

	g.await(t, "granted", later, in("b1", "b2", "c1"))
	g.east.awaitProjectPeers(t, soon, "b1", "b2", "c1")
	g.west.awaitProjectPeers(t, later, "b9", "c9")
	peer := g.east.peer(t, "west")
	assert.Equal(t, []string{"logs"}, peer.Status.EffectiveCapabilities)
	assert.EqualValues(t, 2, peer.Status.PairedProjectsCount)
	assert.Equal(t, "Applied", condition(peer, "GrantsApplied").Reason)
	assert.Empty(t, g.west.peer(t, "east").Status.Grants, "west grants nothing")
	assert.Equal(t, "Paired west b9\n", g.east.MustKubectl(t, auditor, "", "get", "projectpeers", "-n", "b2",
		"-o", `jsonpath={range .items[*]}{.status.state} {.metadata.name} {.status.remoteNamespaces[*]}{"\n"}{end}`))
	g.contents(t, "configmaps", g.consumer)
}

// invited has people make ClusterPeers on both sides that name the capability.
func (g *granting) invited(t *testing.T) {
	t.Helper()
	const peer = "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: %s}\nspec: {type: %s, capabilities: [logs]%s}\n"
	g.east.MustKubectl(t, platform, fmt.Sprintf(peer, "west", "Invite", ""), "create", "-f", "-")
	g.keep(g.east.issued(t, "west", ""))
	g.west.MustKubectl(t, platform, fmt.Sprintf(peer, "east", "Join", ", join: {connectionString: "+g.text+"}"), "create", "-f", "-")
	g.east.says(t, "west", "Active")
	uuid := g.west.uid(t)
	g.consumer, g.stranger = "peer:"+uuid+":system:serviceaccount:log-collector:collector", "peer:"+uuid+":system:serviceaccount:log-collector:other"
}

// contents is that each half is as it should be: one resource in namespaces, one consumer.
func (g *granting) contents(t *testing.T, resource string, consumer string) {
	t.Helper()
	found := g.objects(t.Context(), t, logs)
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: consumer}}
	labels := map[string]string{"app.kubernetes.io/managed-by": "entente", "peering.entente.dev/peer": "west", "peering.entente.dev/capability": "logs"}
	for _, role := range found.roles {
		assert.Equal(t, []rbacv1.PolicyRule{policy("", resource, "get", "list")}, role.Rules, role.Namespace)
		assert.Equal(t, labels, role.Labels)
		assert.Regexp(t, "^entente-[0-9a-f]{64}$", role.Name)
	}
	for _, binding := range found.bindings {
		assert.Equal(t, subjects, binding.Subjects, binding.Namespace)
		assert.Equal(t, "Role", binding.RoleRef.Kind)
		assert.True(t, slices.ContainsFunc(found.roles, func(role rbacv1.Role) bool {
			return role.Namespace == binding.Namespace && role.Name == binding.RoleRef.Name
		}))
	}
	for _, role := range found.clusterRoles {
		assert.ElementsMatch(t, []rbacv1.PolicyRule{policy("", "nodes", "get", "list"), {NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules)
		assert.Equal(t, labels, role.Labels)
	}
	for _, binding := range found.clusterBound {
		assert.Equal(t, subjects, binding.Subjects)
		assert.Equal(t, found.clusterRoles[0].Name, binding.RoleRef.Name)
	}
}

// What docs/access.md has people ask shows the grants, and nothing more.
func (g *granting) consumed(t *testing.T) {
	g.east.Grant(t, auditor, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{g.consumer, g.stranger}, Verbs: []string{"impersonate"},
	})
	may := func(user, namespace string) []string {
		t.Helper()
		var lines []string
		for line := range strings.Lines(g.east.MustKubectl(t, auditor, "", "auth", "can-i", "--list", "-n", namespace, "--as", user)) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return lines
	}
	everywhere := []string{"nodes [] [] [get list]", "[/metrics] [] [get]"}
	for namespace, want := range map[string][]string{
		"b1":          append([]string{"configmaps [] [] [get list]"}, everywhere...),
		"c1":          append([]string{"configmaps [] [] [get list]"}, everywhere...),
		"a1":          everywhere,
		"default":     everywhere,
		"kube-system": everywhere,
	} {
		all := may(g.stranger, namespace) // what everybody may
		more := slices.DeleteFunc(may(g.consumer, namespace), func(line string) bool { return slices.Contains(all, line) })
		assert.ElementsMatch(t, want, more, namespace)
	}
	for args, want := range map[string]string{
		"get configmaps -n b1": "yes", "list configmaps -n c1": "yes", "get nodes": "yes", "get /metrics": "yes",
		"get configmaps -n a1": "no", "get configmaps -A": "no", "watch configmaps -n b1": "no", "create configmaps -n b1": "no",
		"get secrets -n b1": "no", "get pods -n b1": "no", "get clusterpeers.peering.entente.dev": "no",
	} {
		result := g.east.Kubectl(t, auditor, "", append([]string{"auth", "can-i", "--as", g.consumer}, strings.Fields(args)...)...)
		assert.Equal(t, want, strings.TrimSpace(result.Stdout), args)
		result = g.east.Kubectl(t, auditor, "", append([]string{"auth", "can-i", "--as", g.stranger}, strings.Fields(args)...)...)
		assert.Equal(t, "no", strings.TrimSpace(result.Stdout), "%s, as another ServiceAccount", args)
	}
	// A pair in each of three namespaces and one for the cluster, and one by which Entente may be
	// the consumer (H2).
	assert.Equal(t, 10, strings.Count(g.east.MustKubectl(t, auditor, "", "get", "clusterrole,clusterrolebinding,role,rolebinding", "-A",
		"-l", "peering.entente.dev/peer=west", "-o", "name"), "entente-"))
	assert.Contains(t, g.east.MustKubectl(t, auditor, "", "get", "rolebinding", "-n", "b1", "-l", "app.kubernetes.io/managed-by=entente", "-o", "wide"), g.consumer)
}
