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
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// capabilityManifest is a PeeringCapability with a rule that everybody may grant who may
// ask for a version, as everybody may (G2).
func capabilityManifest(name, version, labels string) string {
	return fmt.Sprintf(`---
apiVersion: peering.entente.dev/v1alpha1
kind: PeeringCapability
metadata:
  name: %s
  labels: {%s}
spec:
  version: %q
  consumers:
  - kind: ServiceAccount
    name: controller
    namespace: module
  rules:
  - nonResourceURLs: ["/version"]
    verbs: ["get"]
`, name, labels, version)
}

func (k *kubectlSuite) capability(t *testing.T, name string) *peeringv1alpha1.PeeringCapability {
	t.Helper()
	capability, err := k.Client(t, k.Admin).PeeringV1alpha1().PeeringCapabilities().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return capability
}

// K1–K3: what people do with PeeringCapabilities.
func (k *kubectlSuite) testCapability(t *testing.T) {
	const name = "capability"
	tierOne := capabilityManifest(name, "1.0.0", "tier: one")
	is := func(what, version string, generation int64) {
		t.Helper()
		got := k.capability(t, name)
		assert.Equal(t, version, got.Spec.Version, what)
		assert.Equal(t, generation, got.Generation, what)
	}
	k.must(t, k.Operator, tierOne, "apply", "-f", "-", "--dry-run=server")
	k.refused(t, k.Viewer, tierOne, []string{"create", "-f", "-"}, []string{"Forbidden", "cannot create resource"})
	k.refused(t, k.Operator, tierOne+"  bogus: 1\n", []string{"create", "-f", "-"}, []string{"strict decoding error", `unknown field "spec.bogus"`})
	k.refused(t, k.Operator, capabilityManifest(name, "one two", ""), []string{"create", "-f", "-"}, []string{"Invalid", "spec.version"})
	k.refused(t, k.Viewer, "", []string{"get", "peercap", name}, []string{"NotFound"})

	assert.Contains(t, k.must(t, k.Operator, tierOne, "apply", "-f", "-"), "created")
	assert.Contains(t, k.must(t, k.Operator, tierOne, "apply", "-f", "-"), "unchanged")
	is("applied twice", "1.0.0", 1)
	for args, texts := range map[string][]string{
		"get peercap " + name + " -o wide": {"VERSION", "VALID", "REASON", "RULES", "AGE", "CONSUMERS", "1.0.0"},
		"get entente -o name":              {"peeringcapability.peering.entente.dev/" + name + "\n"},
		"describe peercap " + name:         {"Version:", "1.0.0", "Non Resource UR", "/version", "Events:"},
		"get peercap -l tier=one -o yaml":  {"kind: ServiceAccount", "- /version"},
		"get peercap -o jsonpath={.items[*].spec.version} --field-selector=metadata.name=" + name: {"1.0.0"},
		"get peercap " + name + " --subresource=status":                                           {name},
		"wait --for=jsonpath={.spec.version}=1.0.0 peercap/" + name:                               {"condition met"},
	} {
		output := k.must(t, k.Viewer, "", strings.Fields(args)...)
		for _, text := range texts {
			assert.Contains(t, output, text, args)
		}
	}

	result := k.run(t, k.Operator, capabilityManifest(name, "1.1.0", "tier: one"), "diff", "-f", "-")
	assert.Equal(t, 1, result.Code, result.Output())
	assert.Contains(t, result.Stdout, "+  version: 1.1.0")
	k.must(t, k.Operator, capabilityManifest(name, "1.1.0", "tier: two"), "apply", "-f", "-")
	is("applied", "1.1.0", 2)
	k.refused(t, k.Operator, capabilityManifest(name, "1.2.0", "tier: two"), []string{"apply", "--server-side", "--field-manager=other", "-f", "-"}, []string{"conflict", ".spec.version"})
	k.must(t, k.Operator, capabilityManifest(name, "1.2.0", "tier: two"), "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
	is("applied by another", "1.2.0", 3)

	k.must(t, k.Operator, "", "label", "peercap", name, "tier=three", "--overwrite")
	k.must(t, k.Operator, "", "annotate", "peercap", name, "note=x")
	is("labelled", "1.2.0", 3)
	for i, patch := range [][2]string{
		{"merge", `{"spec":{"version":"1.3.0"}}`},
		{"strategic", `{"spec":{"version":"1.4.0"}}`},
		{"json", `[{"op":"replace","path":"/spec/version","value":"1.5.0"}]`},
	} {
		k.must(t, k.Operator, "", "patch", "peercap", name, "--type="+patch[0], "-p", patch[1], "--dry-run=server")
		k.must(t, k.Operator, "", "patch", "peercap", name, "--type="+patch[0], "-p", patch[1])
		is(patch[0], fmt.Sprintf("1.%d.0", i+3), int64(i+4))
	}
	edited, shown := k.edit(t, k.Operator, "s/version: 1.5.0/version: 1.6.0/", "peercap", name)
	require.Zero(t, edited.Code, edited.Output())
	assert.Contains(t, shown, "nonResourceURLs:")
	is("edited", "1.6.0", 7)

	stale := k.must(t, k.Operator, "", "get", "peercap", name, "-o", "yaml")
	k.must(t, k.Operator, capabilityManifest(name, "2.0.0", ""), "replace", "-f", "-")
	is("replaced", "2.0.0", 8)
	k.refused(t, k.Operator, stale, []string{"replace", "-f", "-"}, []string{"Conflict"})
	k.refused(t, k.Viewer, "", []string{"patch", "peercap", name, "--subresource=status", "--type=merge", "-p", `{"status":{"observedGeneration":1}}`}, []string{`cannot patch resource "peeringcapabilities/status"`})

	k.must(t, k.Operator, "", "delete", "peercap", name, "--dry-run=server")
	k.refused(t, k.Viewer, "", []string{"delete", "peercap", name}, []string{"cannot delete resource"})
	is("not deleted", "2.0.0", 8)
	k.must(t, k.Operator, "", "delete", "peercap", name)
	k.must(t, k.Operator, capabilityManifest(name, "1.0.0", "set: collected")+capabilityManifest(name+"-2", "1.0.0", "set: collected"), "create", "-f", "-")
	k.must(t, k.Operator, "", "delete", "--raw", "/apis/peering.entente.dev/v1alpha1/peeringcapabilities?labelSelector=set%3Dcollected")
	assert.Empty(t, k.must(t, k.Viewer, "", "get", "peercap", "-l", "set=collected", "-o", "name"))
}

// K1–K3: what people see of ProjectPeers. Those that they make do not stay (G4), so that
// none is made here.
func (k *kubectlSuite) testProjectPeer(t *testing.T) {
	const manifest = "apiVersion: peering.entente.dev/v1alpha1\nkind: ProjectPeer\nmetadata: {name: someone, namespace: default}\n"
	k.must(t, k.Viewer, "", "get", "projectpeers", "--all-namespaces", "-o", "wide")
	made := k.must(t, k.Operator, manifest+"status: {state: Paired}\n", "create", "-f", "-", "--dry-run=server", "-o", "yaml")
	assert.Contains(t, made, "kind: ProjectPeer")
	assert.NotContains(t, made, "state:", "the status is not written on create")
	k.must(t, k.Operator, manifest, "apply", "--server-side", "-f", "-", "--dry-run=server")
	k.refused(t, k.Viewer, "", []string{"get", "projectpeer", "someone", "-n", "default"}, []string{"NotFound"})
	k.refused(t, k.Viewer, manifest, []string{"create", "-f", "-"}, []string{"Forbidden", `cannot create resource "projectpeers"`})
	k.refused(t, k.Viewer, "", []string{"delete", "--raw", "/apis/peering.entente.dev/v1alpha1/namespaces/default/projectpeers"}, []string{"cannot deletecollection resource"})
	k.refused(t, k.Operator, strings.Replace(manifest, "someone", "a.b", 1), []string{"create", "-f", "-"}, []string{"Invalid", "metadata.name"})
}

// K1–K3, G6: what people see of TokenExchangeProviders. None is made here: those that
// Entente makes are of peers.
func (k *kubectlSuite) testProvider(t *testing.T) {
	const manifest = "apiVersion: peering.entente.dev/v1alpha1\nkind: TokenExchangeProvider\nmetadata: {name: peer-someone.else}\n" +
		"spec: {issuer: {url: \"https://issuer.example\"}, audiences: [a], usernamePrefix: \"peer:\"}\n"
	k.must(t, k.Viewer, "", "get", "tokenexchangeproviders", "-o", "wide")
	made := k.must(t, k.Operator, manifest+"status: {observedGeneration: 7}\n", "create", "-f", "-", "--dry-run=server", "-o", "yaml")
	assert.Contains(t, made, "kind: TokenExchangeProvider")
	assert.NotContains(t, made, "observedGeneration:", "the status is not written on create")
	k.must(t, k.Operator, manifest, "apply", "--server-side", "-f", "-", "--dry-run=server")
	k.refused(t, k.Viewer, "", []string{"get", "tokenexchangeprovider", "peer-someone.else"}, []string{"NotFound"})
	k.refused(t, k.Viewer, manifest, []string{"create", "-f", "-"}, []string{"Forbidden", `cannot create resource "tokenexchangeproviders"`})
	k.refused(t, k.Operator, strings.Replace(manifest, "someone", "a b", 1), []string{"create", "-f", "-"}, []string{"Invalid", "metadata.name"})
}
