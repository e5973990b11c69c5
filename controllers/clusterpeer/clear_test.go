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

package clusterpeer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// S1: what no controller writes is not left in a status.
func TestS1LeftoversOfNobody(t *testing.T) {
	planted := peeringv1alpha1.ClusterPeerStatus{
		Access: &peeringv1alpha1.AccessStatus{Endpoint: "https://evil.example.com"}, Grants: []peeringv1alpha1.Grant{{Capability: "a"}},
		EffectiveCapabilities: []string{"a"}, PairedProjectsCount: 7,
		Offer: &peeringv1alpha1.Offer{PeeringVersion: "forged"}, Peer: &peeringv1alpha1.PeerStatus{ClusterUUID: thirdUUID},
		Invite:     &peeringv1alpha1.InviteStatus{TokenID: "0011223344556677", ConnectionString: peeringv1alpha1.Placeholder},
		Conditions: []metav1.Condition{{Type: "ClientCertEnforced"}, {Type: "GrantsApplied"}, {Type: "TokenExchangeReady"}, {Type: "Ready"}, {Type: "Theirs"}},
	}
	for name, test := range map[string]struct {
		facts facts
		kept  []string
	}{
		"with a gateway and a host": {facts{gateway: true, host: true}, []string{"ClientCertEnforced", "GrantsApplied", "TokenExchangeReady", "Theirs"}},
		"without a host":            {facts{gateway: true}, []string{"ClientCertEnforced", "TokenExchangeReady", "Theirs"}},
		"without a gateway":         {facts{host: true}, []string{"GrantsApplied", "TokenExchangeReady", "Theirs"}},
	} {
		t.Run(name, func(t *testing.T) {
			status := planted.DeepCopy()
			strip(status, &peeringv1alpha1.ClusterPeerStatus{}, test.facts)
			var kept []string
			for _, condition := range status.Conditions {
				kept = append(kept, condition.Type)
			}
			assert.Equal(t, test.kept, kept)
			status.Conditions = nil
			assert.Equal(t, &peeringv1alpha1.ClusterPeerStatus{}, status)
		})
	}
	t.Run("of a used Invite", func(t *testing.T) {
		status := planted.DeepCopy()
		strip(status, &peeringv1alpha1.ClusterPeerStatus{Invite: &peeringv1alpha1.InviteStatus{}}, facts{})
		assert.Equal(t, &peeringv1alpha1.InviteStatus{TokenID: planted.Invite.TokenID}, status.Invite)
	})
	t.Run("wanted", func(t *testing.T) {
		status := planted.DeepCopy()
		wanted := status.DeepCopy()
		strip(status, wanted, facts{})
		assert.Equal(t, wanted, status)
	})
}

// S1: what is not ours is cleared from the version that was looked at, and from no other:
// somebody else may have written between, who is heard by the informer.
func TestS1ClearLosesARace(t *testing.T) {
	r := newReal(t)
	r.create(invitePeer("p", ""))
	old := r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool { return shownText(p) != "" })
	_, err := r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType, []byte(`{"metadata":{"labels":{"between":"us"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)

	stale := &look{peer: old, record: &record.Peer{}}
	require.NoError(t, r.controller.clear(t.Context(), stale, &peeringv1alpha1.ClusterPeerStatus{}))
	assert.Same(t, old, stale.peer)
	assert.False(t, stale.gone)
	assert.Equal(t, shownText(old), shownText(r.seen("p")))
}
