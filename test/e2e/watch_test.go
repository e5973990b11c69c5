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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/conformance"
)

// R3: through the host's RBAC and every cache between, a right that is gained or lost
// tells on the events of a watch that is open already.
func (s *suite) openWatch(t *testing.T) {
	const user, name = "watcher", "watched"
	s.Cluster.AddUser(t, user)
	s.Bind(t, user, "entente-viewer")
	admin, client := s.entente.Client(t, operator).PeeringV1alpha1().ClusterPeers(), s.entente.Client(t, user).PeeringV1alpha1().ClusterPeers()
	made := &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin, Join: &peeringv1alpha1.JoinSpec{ConnectionString: conformance.Canary}},
	}
	_, err := admin.Create(t.Context(), made, metav1.CreateOptions{})
	require.NoError(t, err)
	open, err := client.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	require.NoError(t, err)
	defer open.Stop()

	// touched changes the object and returns what the watch says of that change.
	count := 0
	touched := func(ctx context.Context) (string, error) {
		count++
		label := fmt.Sprint("n", count)
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":%q}}}`, label)
		if _, err := admin.Patch(ctx, name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
			return "", err
		}
		for {
			select {
			case event, ok := <-open.ResultChan():
				if !ok || event.Type == watch.Error {
					return "", fmt.Errorf("the watch ended: %v", event)
				}
				peer, ok := event.Object.(*peeringv1alpha1.ClusterPeer)
				if ok && peer.Labels["touched"] == label {
					return peer.Spec.Join.ConnectionString, nil
				}
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
	// What R3 promises. It is a rule, and no limit of a test's patience: it holds on a slow
	// machine too, and is not to be raised for one.
	const promised = 15 * time.Second
	// becomes is called when the host's own RBAC counts already. Events are told apart by
	// when they were made: R3 is about later ones.
	becomes := func(wanted string) {
		turned := time.Now()
		var after time.Duration
		eventually(t, "the open watch shows "+wanted, func(ctx context.Context) error {
			after = time.Since(turned)
			seen, err := touched(ctx)
			require.NoError(t, err)
			if seen != wanted {
				return fmt.Errorf("it shows %s", seen)
			}
			return nil
		})
		assert.LessOrEqual(t, after, promised, "R3: the open watch shows %s", wanted)
		t.Logf("after %v (promised: %v)", after.Round(100*time.Millisecond), promised)
	}
	seen, err := touched(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "<omitted>", seen)
	s.Bind(t, user, "entente-sensitive-reader")
	becomes(conformance.Canary)
	s.Revoke(t, user)
	becomes("<omitted>")
}
