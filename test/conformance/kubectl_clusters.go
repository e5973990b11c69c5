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

package conformance

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/test/process"
)

// fleet is the namespace of the examples.
const fleet = "fleet"

// Clusters is what a person types about Clusters and Releases. The operator may do everything
// with both, use every Cluster, and name every Secret of the namespace fleet, which must be
// there, without any Cluster in it; the viewer may read both. The Clusters are not reached, or
// nothing of what is asked here depends on it. None is left in the end.
func Clusters(t *testing.T, target Target, users Users) {
	k := &kubectlSuite{target, users}
	t.Run("Discovery", k.testClusterDiscovery)
	t.Run("Explain", k.testClusterExplain)
	t.Run("Examples", k.testClusterExamples)
	t.Run("Life", k.testClusterLife)
}

// K2, K3: the category, every verb of an ordinary kind; no short names.
func (k *kubectlSuite) testClusterDiscovery(t *testing.T) {
	const verbs = "create,delete,deletecollection,get,list,patch,update,watch"
	for _, user := range []string{k.Admin, k.Operator, k.Viewer} {
		var got [][]string
		for line := range strings.Lines(k.must(t, user, "", "api-resources", "--api-group=core.convoy.kumodo.io", "--no-headers", "-o", "wide", "--sort-by=name")) {
			got = append(got, strings.Fields(line))
		}
		assert.Equal(t, [][]string{
			{"clusters", "core.convoy.kumodo.io/v1alpha1", "true", "Cluster", verbs, "entente"},
			{"releases", "core.convoy.kumodo.io/v1alpha1", "true", "Release", verbs, "entente"},
		}, got, user)
	}
	assert.Contains(t, k.must(t, k.Viewer, "", "api-versions"), "core.convoy.kumodo.io/v1alpha1\n")
}

// K1: every field is in kubectl explain, once, with its enum where it has one.
func (k *kubectlSuite) testClusterExplain(t *testing.T) {
	k.explains(t, "clusters.core.convoy.kumodo.io", reflect.TypeFor[corev1alpha1.Cluster]())
	k.explains(t, "releases.core.convoy.kumodo.io", reflect.TypeFor[corev1alpha1.Release]())
	for field, texts := range map[string][]string{
		"cluster":                     {"GROUP:      core.convoy.kumodo.io", "KIND:       Cluster", "VERSION:    v1alpha1"},
		"cluster.spec":                {"<ClusterSpec>", "connectionMode\t<string> -required-"},
		"cluster.spec.connectionMode": {"<string>", "ENUM:\n    agent\n    agentless\n    inCluster\n", "There is no default"},
		"cluster.spec.agentless":      {"<ClusterAgentlessModeSpec>", "server\t<string> -required-"},
		"cluster.spec.agentless.auth.type": {
			"<string>", "ENUM:\n    clientCert\n    execPlugin\n    kubeconfig\n    oidc\n    token\n", "ClusterAuthTokenAndCert",
		},
		"cluster.spec.agentless.auth.kubeconfig.secretRef": {"<SecretKeySelector>", "key\t<string> -required-", "name\t<string> -required-"},
		"cluster.spec.agentless.connectionParameters":      {"burst\t<integer> -required-", "qps\t<integer> -required-", "timeout\t<string> -required-"},
		"cluster.spec.deletionPolicy.pruneReleases":        {"<boolean>"},
		"cluster.spec.metadata":                            {"<map[string]string>", "At most 256 entries"},
		"cluster.status.conditions":                        {"<[]Condition>", "ProbeFailed"},
		"cluster.status.discoveredAPIVersions":             {"<[]string>", "sorted"},
		"release.spec.clusterRef.name":                     {"<string>"},
		"release.spec.resources":                           {"<[]RawExtension>", "at most 256"},
		"release.spec.mutations.expression":                {"<string>", "at most 4,096 characters"},
		"release.spec.deletionPolicy":                      {"<string>", "ENUM:\n    Delete\n    Orphan\n"},
		"release.status.lastAttempted.resolvedCluster":     {"<string>"},
	} {
		output := k.must(t, k.Viewer, "", "explain", field, "--api-version=core.convoy.kumodo.io/v1alpha1")
		for _, text := range texts {
			assert.Contains(t, output, text, "explain %s", field)
		}
		assert.NotContains(t, output, "<empty>", "explain %s: no description", field)
	}
}

// K1: the examples apply as they stand, in both ways, and again.
func (k *kubectlSuite) testClusterExamples(t *testing.T) {
	root, err := process.ModuleRoot()
	require.NoError(t, err)
	for _, name := range []string{"agentless.yaml", "in-cluster.yaml", "release.yaml"} {
		file := filepath.Join(root, "artifacts", "examples", "clusters", name)
		require.FileExists(t, file)
		assert.Contains(t, k.must(t, k.Operator, "", "apply", "--validate=strict", "-f", file, "--dry-run=server"), "created (server dry run)")
		assert.Contains(t, k.must(t, k.Operator, "", "apply", "--validate=strict", "-f", file), "created")
		assert.Contains(t, k.must(t, k.Operator, "", "apply", "-f", file), "unchanged")
		k.must(t, k.Operator, "", "apply", "--server-side", "--force-conflicts", "-f", file)
		result := k.run(t, k.Operator, "", "diff", "-f", file)
		assert.Zero(t, result.Code, result.Output())
		k.refused(t, k.Viewer, "", []string{"apply", "-f", file, "--server-side"}, []string{"Forbidden"})
	}
	for args, texts := range map[string][]string{
		"get clusters":             {"NAME", "MODE", "READY", "REASON", "VERSION", "RELEASES", "LAST SEEN", "AGE", "convoy-managed", "agentless", "here", "inCluster"},
		"get clusters -o wide":     {"SERVER", "AUTH", "API VERSIONS", "https://convoy-managed-control-plane:6443", "kubeconfig"},
		"get releases -o wide":     {"NAME", "CLUSTER", "READY", "REASON", "OBJECTS", "AGE", "ADDRESS", "greeting", "here"},
		"get entente -o name":      {"cluster.core.convoy.kumodo.io/here\n", "release.core.convoy.kumodo.io/greeting\n"},
		"describe cluster here":    {"Connection Mode:", "inCluster", "Prune Releases:", "true"},
		"describe release":         {"Expression:", "cluster.region", "Deletion Policy:", "Delete"},
		"get release -o yaml":      {"text: hello", "path: /data/region"},
		"get cluster here -o json": {`"cluster.core.convoy.kumodo.io/prune-releases"`},
		"wait --for=condition=Ready=false cluster/convoy-managed --timeout=60s":             {"condition met"},
		"wait --for=jsonpath={.status.observedGeneration}=1 release/greeting --timeout=60s": {"condition met"},
	} {
		output := k.must(t, k.Viewer, "", append(strings.Fields(args), "-n", fleet)...)
		for _, text := range texts {
			assert.Contains(t, output, text, args)
		}
	}
}

// K2, C1: what people do with a Cluster, from its creation to the end of all there are.
func (k *kubectlSuite) testClusterLife(t *testing.T) {
	const manifest = "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: lived, namespace: fleet}\nspec:\n  connectionMode: inCluster\n"
	in := func(args ...string) []string { return append(args, "-n", fleet) }
	generation := func() string {
		return k.must(t, k.Viewer, "", in("get", "cluster", "lived", "-o", "jsonpath={.metadata.generation}")...)
	}
	k.refused(t, k.Operator, manifest+"  bogus: 1\n", []string{"create", "-f", "-"}, []string{"strict decoding error", `unknown field "spec.bogus"`})
	k.refused(t, k.Operator, strings.Replace(manifest, "inCluster", "agentless", 1), []string{"create", "-f", "-"}, []string{"is invalid", "spec.agentless: Required value"})
	k.refused(t, k.Operator, manifest+"  agent: {}\n", []string{"create", "-f", "-"}, []string{"is invalid", "spec.agent: Forbidden"})
	k.refused(t, k.Viewer, manifest, []string{"create", "-f", "-"}, []string{"Forbidden", "cannot create resource"})
	k.must(t, k.Operator, manifest, "create", "-f", "-")
	for i, patch := range [][2]string{
		{"merge", `{"spec":{"metadata":{"region":"one"}}}`},
		{"strategic", `{"spec":{"metadata":{"region":"two"}}}`},
		{"json", `[{"op":"replace","path":"/spec/metadata/region","value":"three"}]`},
	} {
		k.must(t, k.Operator, "", in("patch", "cluster", "lived", "--type="+patch[0], "-p", patch[1], "--dry-run=server")...)
		k.must(t, k.Operator, "", in("patch", "cluster", "lived", "--type="+patch[0], "-p", patch[1])...)
		assert.Equal(t, string(rune('2'+i)), generation(), patch[0])
	}
	edited, shown := k.edit(t, k.Operator, "s/region: three/region: four/", in("cluster", "lived")...)
	require.Zero(t, edited.Code, edited.Output())
	assert.Contains(t, shown, "connectionMode: inCluster")
	assert.Equal(t, "5", generation())
	k.must(t, k.Operator, "", in("label", "cluster", "lived", "tier=one")...)
	assert.Equal(t, "5", generation(), "labelled")
	k.refused(t, k.Viewer, "", in("patch", "cluster", "lived", "--subresource=status", "--type=merge", "-p", `{"status":{"releaseCount":7}}`), []string{`cannot patch resource "clusters/status"`})
	k.refused(t, k.Viewer, "", in("delete", "cluster", "lived"), []string{"cannot delete resource"})
	// kubectl waits until its finalizer is seen to.
	k.must(t, k.Operator, "", in("delete", "cluster", "lived", "--timeout=60s")...)
	k.must(t, k.Operator, "", in("delete", "releases,clusters", "--all", "--timeout=60s")...)
	assert.Empty(t, k.must(t, k.Viewer, "", in("get", "clusters,releases", "-o", "name")...))
}
