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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/harness"
)

// Issue 2, item 6, and R11: what conformance.GitOps says.
func TestGitOps(t *testing.T) {
	conformance.GitOps(t, harness.Start(t), standaloneUsers())
}

func TestGitOpsOwners(t *testing.T) {
	conformance.GitOpsOwners(t, harness.Start(t), standaloneUsers())
}

// A client-side apply by somebody without the right looks like a change of the
// value to field management (R10), which notes the time. The store must still see
// that nothing changed, though the managers are in another order by their times
// than by their names.
func TestGitOpsOrderOfOwners(t *testing.T) {
	s := harness.Start(t)
	value := conformance.Value("ordered")
	peers := s.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"a":"b"}},"spec":{"join":{"connectionString":%q}}}`, value)
	for i := 0; ; i++ {
		name := fmt.Sprintf("ordered-%d", i)
		peer := lifecycleJoin(name)
		peer.Spec.Join.ConnectionString = value
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
