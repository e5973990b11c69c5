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
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// gitopsRounds is how often a tool syncs what has not changed.
const gitopsRounds = 10

const gitopsCanary = "entente1.gitops-canary-41c7d2e8.x"

func gitopsManifest(name, value string) string {
	return fmt.Sprintf(`
apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata:
  name: %s
  labels: {tier: one}
spec:
  type: Join
  capabilities: [one, two]
  join:
    connectionString: %q
    expectedClusterUUID: 8c0e1a57-3a4e-4d5a-9d0c-6f6a1d0b7f11
`, name, value)
}

// Issue 2, item 6, and R11: whoever syncs the same thing again and again changes
// nothing (redpanda-operator#194, terraform-provider-grafana#880: redaction makes
// endless drift; Deckhouse: whoever echoes the placeholder becomes its owner).
func TestGitOps(t *testing.T) {
	s := harness.Start(t)
	// A tool is one round of a sync, by a user without the right to the value.
	clientSide := func(value string) func(*testing.T, string, string) {
		return func(t *testing.T, user, name string) {
			s.MustKubectl(t, user, gitopsManifest(name, value), "apply", "-f", "-")
		}
	}
	serverSideAs := func(manager, value string) func(*testing.T, string, string) {
		return func(t *testing.T, user, name string) {
			// Where a person made the object, the first round takes it over.
			s.MustKubectl(t, user, gitopsManifest(name, value), "apply", "--server-side", "--field-manager="+manager, "--force-conflicts", "-f", "-")
		}
	}
	serverSide := func(value string) func(*testing.T, string, string) { return serverSideAs("gitops", value) }
	backup := func(t *testing.T, user, name string) {
		s.MustKubectl(t, user, s.MustKubectl(t, user, "", "get", "cpeer", name, "-o", "yaml", "--show-managed-fields"), "replace", "-f", "-")
	}
	// A tool that reads and writes back by the API; kubectl replace would note the
	// resourceVersion in the annotation of kubectl apply, and so never come to rest.
	writeBack := func(t *testing.T, user, name string) {
		peers := s.Client(t, user).PeeringV1alpha1().ClusterPeers()
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
		{"client-side apply of its own object", harness.Operator, true, []func(*testing.T, string, string){clientSide(gitopsCanary)}},
		{"client-side apply of another's object", harness.Operator, false, []func(*testing.T, string, string){clientSide(gitopsCanary)}},
		{"client-side apply of the placeholder", harness.Operator, false, []func(*testing.T, string, string){clientSide("<omitted>")}},
		{"server-side apply of its own object", harness.Operator, true, []func(*testing.T, string, string){serverSide(gitopsCanary)}},
		{"server-side apply of another's object", harness.Operator, false, []func(*testing.T, string, string){serverSide(gitopsCanary)}},
		{"server-side apply of the placeholder", harness.Operator, false, []func(*testing.T, string, string){serverSide("<omitted>")}},
		{"server-side apply by a holder of the right", harness.Admin, false, []func(*testing.T, string, string){serverSide(gitopsCanary)}},
		{"backup", harness.Operator, false, []func(*testing.T, string, string){backup}},
		{"backup by a holder of the right", harness.Admin, false, []func(*testing.T, string, string){backup}},
		{"client-side apply beside a backup", harness.Operator, true, []func(*testing.T, string, string){clientSide(gitopsCanary), writeBack}},
		// kubectl's server-side apply takes away the annotation of its client-side
		// apply, so that those two never come to rest together, secrets or not.
		{"two server-side appliers beside a backup", harness.Operator, true, []func(*testing.T, string, string){serverSide(gitopsCanary), serverSideAs("other", "<omitted>"), writeBack}},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("gitops-%d", i)
			if test.own {
				test.tools[0](t, test.user, name)
			} else {
				s.MustKubectl(t, harness.Admin, gitopsManifest(name, gitopsCanary), "create", "-f", "-")
			}
			made := lifecyclePeer(t, s, name)
			require.Equal(t, gitopsCanary, made.Spec.Join.ConnectionString)

			var first *peeringv1alpha1.ClusterPeer
			versions := []string{made.ResourceVersion}
			for round := range gitopsRounds {
				for _, tool := range test.tools {
					tool(t, test.user, name)
					got := lifecyclePeer(t, s, name)
					assert.Equal(t, gitopsCanary, got.Spec.Join.ConnectionString, "round %d", round)
					assert.Equal(t, made.Generation, got.Generation, "round %d", round)
					if !slices.Contains(versions, got.ResourceVersion) {
						versions = append(versions, got.ResourceVersion)
					}
				}
				got := lifecyclePeer(t, s, name)
				if round == 0 {
					first = got
				}
				require.Equal(t, first.ResourceVersion, got.ResourceVersion, "round %d moved the resourceVersion", round)
				require.Equal(t, gitopsOwners(first), gitopsOwners(got), "owners after round %d", round)
			}
			assert.LessOrEqual(t, len(versions)-1, len(test.tools), "each tool writes once at most: %v", versions)
			for _, value := range first.Annotations {
				assert.NotContains(t, value, gitopsCanary, "R14")
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

// A client-side apply by somebody without the right looks like a change of the
// value to field management (R10), which notes the time. The store must still see
// that nothing changed, though the managers are in another order by their times
// than by their names.
func TestGitOpsOrderOfOwners(t *testing.T) {
	s := harness.Start(t)
	peers := s.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"a":"b"}},"spec":{"join":{"connectionString":%q}}}`, gitopsCanary)
	for i := 0; ; i++ {
		name := fmt.Sprintf("ordered-%d", i)
		peer := lifecycleJoin(name)
		peer.Spec.Join.ConnectionString = gitopsCanary
		_, err := peers.Create(t.Context(), peer, metav1.CreateOptions{FieldManager: "b"})
		require.NoError(t, err)
		_, err = peers.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "a"})
		require.NoError(t, err)
		before := lifecyclePeer(t, s, name)
		times := map[string]metav1.Time{}
		for _, entry := range before.ManagedFields {
			times[entry.Manager] = *entry.Time
		}
		if a, b := times["a"], times["b"]; !a.Equal(&b) {
			continue // The second ended between the two; it is about one that did not.
		}
		harness.Eventually(t, "the next second", func(context.Context) bool { return time.Now().Unix() > times["a"].Unix() })
		_, err = peers.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "a"})
		require.NoError(t, err)
		assert.Equal(t, before.ResourceVersion, lifecyclePeer(t, s, name).ResourceVersion)
		return
	}
}

// R11: who echoes the placeholder does not become an owner of the value, and the
// owner does not lose it.
func TestGitOpsOwners(t *testing.T) {
	s := harness.Start(t)
	const name = "owned"
	s.MustKubectl(t, harness.Admin, gitopsManifest(name, gitopsCanary), "apply", "--server-side", "--field-manager=owner", "-f", "-")
	owner := "owner Apply  true"
	require.Contains(t, gitopsOwners(lifecyclePeer(t, s, name)), owner)
	for step, args := range map[string][]string{
		"server-side apply": {"apply", "--server-side", "--field-manager=echo", "--force-conflicts", "-f", "-"},
		"client-side apply": {"apply", "--field-manager=echo", "-f", "-"},
		"replace":           {"replace", "--field-manager=echo", "-f", "-"},
	} {
		s.MustKubectl(t, harness.Operator, strings.Replace(gitopsManifest(name, "<omitted>"), "tier: one", "tier: "+strings.Fields(step)[0], 1), args...)
		owners := gitopsOwners(lifecyclePeer(t, s, name))
		assert.Contains(t, owners, owner, step)
		for _, other := range owners {
			assert.False(t, other != owner && strings.HasSuffix(other, "true"), "%s: %s owns the value", step, other)
		}
	}
}
