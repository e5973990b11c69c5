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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// gitopsRounds is how often a tool syncs what has not changed.
const gitopsRounds = 10

func gitopsManifest(name, value string) string {
	return Manifest(name, value, "tier: one") + "    expectedClusterUUID: 8c0e1a57-3a4e-4d5a-9d0c-6f6a1d0b7f11\n  projects: [one, two]\n"
}

// GitOps is R11: whoever syncs the same thing again and again changes
// nothing (redpanda-operator#194, terraform-provider-grafana#880: redaction makes
// endless drift; Deckhouse: whoever echoes the placeholder becomes its owner).
func GitOps(t *testing.T, target Target, users Users) {
	gitopsValue := Value("gitops")
	// A tool is one round of a sync, by a user without the right to the value.
	clientSide := func(value string) func(*testing.T, string, string) {
		return func(t *testing.T, user, name string) {
			must(t, target, user, gitopsManifest(name, value), "apply", "-f", "-")
		}
	}
	serverSideAs := func(manager, value string) func(*testing.T, string, string) {
		return func(t *testing.T, user, name string) {
			// Where a person made the object, the first round takes it over.
			must(t, target, user, gitopsManifest(name, value), "apply", "--server-side", "--field-manager="+manager, "--force-conflicts", "-f", "-")
		}
	}
	serverSide := func(value string) func(*testing.T, string, string) { return serverSideAs("gitops", value) }
	backup := func(t *testing.T, user, name string) {
		must(t, target, user, must(t, target, user, "", "get", "cpeer", name, "-o", "yaml", "--show-managed-fields"), "replace", "-f", "-")
	}
	// A tool that reads and writes back by the API; kubectl replace would note the
	// resourceVersion in the annotation of kubectl apply, and so never come to rest.
	writeBack := func(t *testing.T, user, name string) {
		peers := target.Client(t, user).PeeringV1alpha1().ClusterPeers()
		peer, err := peers.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		peer.ManagedFields = nil
		_, err = peers.Update(t.Context(), peer, metav1.UpdateOptions{FieldManager: "writeback"})
		require.NoError(t, err)
	}
	tests := []struct {
		name string
		user string
		// own says that the tool also made the object; else a person did.
		own   bool
		tools []func(*testing.T, string, string)
	}{
		{"client-side apply of its own object", users.Operator, true, []func(*testing.T, string, string){clientSide(gitopsValue)}},
		{"client-side apply of another's object", users.Operator, false, []func(*testing.T, string, string){clientSide(gitopsValue)}},
		{"client-side apply of the placeholder", users.Operator, false, []func(*testing.T, string, string){clientSide("<omitted>")}},
		{"server-side apply of its own object", users.Operator, true, []func(*testing.T, string, string){serverSide(gitopsValue)}},
		{"server-side apply of another's object", users.Operator, false, []func(*testing.T, string, string){serverSide(gitopsValue)}},
		{"server-side apply of the placeholder", users.Operator, false, []func(*testing.T, string, string){serverSide("<omitted>")}},
		{"server-side apply by a holder of the right", users.Admin, false, []func(*testing.T, string, string){serverSide(gitopsValue)}},
		{"backup", users.Operator, false, []func(*testing.T, string, string){backup}},
		{"backup by a holder of the right", users.Admin, false, []func(*testing.T, string, string){backup}},
		{"client-side apply beside a backup", users.Operator, true, []func(*testing.T, string, string){clientSide(gitopsValue), writeBack}},
		// kubectl's server-side apply takes away the annotation of its client-side
		// apply, so that those two never come to rest together, secrets or not.
		{"two server-side appliers beside a backup", users.Operator, true, []func(*testing.T, string, string){serverSide(gitopsValue), serverSideAs("other", "<omitted>"), writeBack}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("gitops-%d", i)
			if test.own {
				test.tools[0](t, test.user, name)
			} else {
				must(t, target, users.Admin, gitopsManifest(name, gitopsValue), "create", "-f", "-")
			}
			made := Settled(t, target, users.Admin, name)
			require.Equal(t, gitopsValue, made.Spec.Join.ConnectionString)

			var first *peeringv1alpha1.ClusterPeer
			versions := []string{made.ResourceVersion}
			for round := range gitopsRounds {
				for _, tool := range test.tools {
					tool(t, test.user, name)
					got := Settled(t, target, users.Admin, name)
					assert.Equal(t, gitopsValue, got.Spec.Join.ConnectionString, "round %d", round)
					assert.Equal(t, made.Generation, got.Generation, "round %d", round)
					if !slices.Contains(versions, got.ResourceVersion) {
						versions = append(versions, got.ResourceVersion)
					}
				}
				got := Settled(t, target, users.Admin, name)
				if round == 0 {
					first = got
				}
				require.Equal(t, first.ResourceVersion, got.ResourceVersion, "round %d moved the resourceVersion", round)
				require.Equal(t, gitopsOwners(first), gitopsOwners(got), "owners after round %d", round)
			}
			assert.LessOrEqual(t, len(versions)-1, len(test.tools), "each tool writes once at most: %v", versions)
			for _, value := range first.Annotations {
				assert.NotContains(t, value, Canary, "R14")
			}
			if test.own && len(test.tools) == 1 {
				assert.Len(t, versions, 1, "the very first sync after the creation changes nothing")
			}
		})
	}
}

// gitopsOwners are the field managers, each with whether it owns the value.
func gitopsOwners(peer *peeringv1alpha1.ClusterPeer) []string {
	var owners []string
	for _, entry := range peer.ManagedFields {
		owners = append(owners, fmt.Sprint(entry.Manager, " ", entry.Operation, " ", entry.Subresource, " ",
			strings.Contains(entry.FieldsV1.String(), `"f:connectionString"`)))
	}
	slices.Sort(owners)
	return owners
}

// GitOpsOwners is R11: who echoes the placeholder does not become an owner of the
// value, and the owner does not lose it.
func GitOpsOwners(t *testing.T, target Target, users Users) {
	const name = "owned"
	gitopsValue := Value(name)
	must(t, target, users.Admin, gitopsManifest(name, gitopsValue), "apply", "--server-side", "--field-manager=owner", "-f", "-")
	owner := "owner Apply  true"
	require.Contains(t, gitopsOwners(Settled(t, target, users.Admin, name)), owner)
	for step, args := range map[string][]string{
		"server-side apply": {"apply", "--server-side", "--field-manager=echo", "--force-conflicts", "-f", "-"},
		"client-side apply": {"apply", "--field-manager=echo", "-f", "-"},
		"replace":           {"replace", "--field-manager=echo", "-f", "-"},
	} {
		must(t, target, users.Operator, strings.Replace(gitopsManifest(name, "<omitted>"), "tier: one", "tier: "+strings.Fields(step)[0], 1), args...)
		owners := gitopsOwners(Settled(t, target, users.Admin, name))
		assert.Contains(t, owners, owner, step)
		for _, other := range owners {
			assert.False(t, other != owner && strings.HasSuffix(other, "true"), "%s: %s owns the value", step, other)
		}
	}
}
