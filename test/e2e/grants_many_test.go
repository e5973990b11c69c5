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
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/kube"
)

// many namespaces of one project, which is granted in all of them in one go; then again,
// while the process is killed in the middle of it: less is granted then, never more, and
// the rest is when it is back.
func (g *granting) many(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("big-%03d", i))
	}
	g.east.project(t, platform, "big", names...)
	g.west.project(t, platform, "big", "big9")
	few := in("b1", "b2", "c1")
	all := in(slices.Concat(few.namespaces[:2], names, few.namespaces[2:])...)
	g.east.until(t, "west", "the other cluster has the project", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return peer.Status.Peer != nil && slices.ContainsFunc(peer.Status.Peer.Projects, func(project peeringv1alpha1.PeerProject) bool { return project.Name == "big" })
	})
	pair, withdraw := `{"projects":["b","big","c"]}`, `{"projects":["b","c"]}`
	g.east.spec(t, platform, "cpeer", "west", pair)
	g.await(t, "granted in 200 namespaces", later, all)
	g.contents(t, "configmaps", g.consumer)
	g.east.spec(t, platform, "cpeer", "west", withdraw)
	g.await(t, "withdrawn from 200 namespaces", later, few)

	for _, change := range []struct {
		what, spec string
		want       grants
		begun      func(roles int) bool
	}{
		{"granting", pair, all, func(roles int) bool { return roles > 3 }},
		{"withdrawing", withdraw, few, func(roles int) bool { return roles < 203 }},
	} {
		g.east.spec(t, platform, "cpeer", "west", change.spec)
		eventuallyWithin(t, later, change.what+" has begun", func(ctx context.Context) error {
			if roles := len(g.objects(ctx, t, logs).roles); !change.begun(roles) {
				return fmt.Errorf("there are %d Roles", roles)
			}
			return nil
		})
		g.east.entente.Kill(t)
		left := g.objects(t.Context(), t, logs)
		t.Logf("killed while %s: %d Roles and %d RoleBindings", change.what, len(left.roles), len(left.bindings))
		for _, binding := range left.bindings {
			assert.True(t, slices.ContainsFunc(left.roles, func(role rbacv1.Role) bool {
				return role.Namespace == binding.Namespace && role.Name == binding.RoleRef.Name
			}), "a RoleBinding without its Role in %s", binding.Namespace)
		}
		g.east.entente.Run(t)
		g.east.entente.WaitServed(t)
		g.await(t, change.what+" is finished by its successor", patience, change.want)
		g.contents(t, "configmaps", g.consumer)
	}
	g.east.until(t, "west", "all is as it should be", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return condition(peer, "GrantsApplied").Reason == "Applied"
	})
	g.east.says(t, "west", "Active")
	g.west.label(t, writer, "big9", "")
}

// H3, H4: for all that Entente has asked of the host for nothing that it has no right to,
// and needed all that it has to grant by; what it makes it never changes.
func (g *granting) rights(t *testing.T) {
	eventually(t, "all rights to grant by are used", func(context.Context) error {
		var unused []string
		for _, right := range g.east.entente.Rights(t).Unused {
			if forGrants(right) {
				unused = append(unused, right)
			}
		}
		if len(unused) > 0 {
			return fmt.Errorf("unused:\n%s", strings.Join(unused, "\n"))
		}
		return nil
	})
	for _, s := range g.sides() {
		assert.Empty(t, s.entente.Rights(t).Refused, s.Name)
		assertNoComplaint(t, s.entente)
		for _, event := range s.Audit(t) {
			if event.User.Username == s.entente.User && event.ObjectRef != nil && event.ObjectRef.APIGroup == "rbac.authorization.k8s.io" {
				assert.Contains(t, []string{"get", "list", "watch", "create", "delete"}, event.Verb)
			}
		}
	}
}

// The manifests in docs/access.md are taken as they are.
func (g *granting) documented(t *testing.T) {
	content, err := os.ReadFile("../../docs/access.md")
	require.NoError(t, err)
	blocks := strings.Split(string(content), "```yaml\n")[1:]
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		manifest, _, closed := strings.Cut(block, "```")
		require.True(t, closed)
		g.east.MustKubectl(t, kube.Admin, manifest, "apply", "--dry-run=server", "-f", "-")
	}
}

// What docs/install.md has people delete once Entente has gone before its ClusterPeers.
func (g *granting) uninstalled(t *testing.T) {
	require.NoError(t, g.east.entente.Stop())
	const selector = "app.kubernetes.io/managed-by=entente"
	args := []string{"clusterrole,clusterrolebinding,role,rolebinding", "-A", "-l", selector}
	before := g.east.MustKubectl(t, auditor, "", append([]string{"get", "-o", "name"}, args...)...)
	assert.Equal(t, 12, strings.Count(before, "entente-"), before)
	g.east.MustKubectl(t, kube.Admin, "", append([]string{"delete"}, args...)...)
	left := g.objects(t.Context(), t, selector)
	assert.Zero(t, left.count())
	content, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	assert.Contains(t, string(content), "\nkubectl delete "+strings.Join(args, " ")+"\n")
}
