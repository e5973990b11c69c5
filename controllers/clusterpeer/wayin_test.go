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
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// G8: the status tells workloads that dial the peer themselves where and how; it follows
// the ledger, and tells nothing while nobody could get in.
func TestG8StatusTellsTheWayIn(t *testing.T) {
	f := newPaired(t)
	theirs := newAuthority(t, "next", noon)
	f.planned.plan = access.Plan{ClusterUUID: otherUUID, Effective: []access.Capability{{Name: "backup"}, {Name: "logs"}}}
	f.record("u", func(p *record.Peer) {
		p.Remote.Endpoints = []string{"https://one.example.com:9443", "https://two.example.com:9443"}
		p.Remote.Trust = append(p.Remote.Trust, theirs.Certificate)
	})
	peer, _ := f.settle("p")
	shown := peer.Status.Access
	require.NotNil(t, shown)
	assert.Equal(t, "https://one.example.com:9443", shown.Endpoint)
	assert.Equal(t, []peeringv1alpha1.CapabilityAudience{
		{Capability: "backup", Audience: "peering.entente.dev:" + otherUUID + ":backup"},
		{Capability: "logs", Audience: "peering.entente.dev:" + otherUUID + ":logs"},
	}, shown.Audiences)
	rest := []byte(shown.CABundle)
	for _, der := range f.ledger.Peer("u").Remote.Trust {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		require.NotNil(t, block)
		assert.Equal(t, der, block.Bytes)
		_, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
	}
	assert.Empty(t, rest)

	// S1: what somebody else writes there is put right, also while the plan is not known.
	f.planned.err = access.ErrUnknown
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
		p.Status.Access.Endpoint, p.Status.Access.CABundle = "https://evil.example.com", "evil"
	})
	peer, _ = f.settle("p")
	assert.Equal(t, shown, peer.Status.Access)
	f.planned.err = nil

	for name, change := range map[string]struct{ there, back func(p *record.Peer) }{
		"no endpoint": {
			func(p *record.Peer) { p.Remote.Endpoints = nil },
			func(p *record.Peer) { p.Remote.Endpoints = []string{"https://one.example.com:9443"} },
		},
		"P12: the peer left": {
			func(p *record.Peer) { p.Remote.Fault = record.PeerLeft },
			func(p *record.Peer) { p.Remote.Fault = "" },
		},
	} {
		f.record("u", change.there)
		peer, _ = f.settle("p")
		assert.Nil(t, peer.Status.Access, name)
		f.record("u", change.back)
		peer, _ = f.settle("p")
		assert.Equal(t, shown, peer.Status.Access, name)
	}

	f.record("u", func(p *record.Peer) { p.Remote.Fault = record.InvalidOffer })
	peer, _ = f.settle("p")
	assert.Equal(t, shown, peer.Status.Access, "the offer before it stands")
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = thirdUUID })
	peer, _ = f.settle("p")
	assert.Nil(t, peer.Status.Access, "another cluster is expected")
}

// G6: what keeps the provider from being made makes a peering that works not ready, with
// one Event.
func TestG6ProviderMakesNotReady(t *testing.T) {
	f := newPaired(t)
	var enqueued []string
	cancel := f.subscribe(func(name cache.ObjectName) { enqueued = append(enqueued, name.Name) })
	enqueued = nil
	f.provider.reason, f.provider.message = peeringv1alpha1.ReasonForeignProvider, "It is foreign."
	f.provider.enqueue(cache.ObjectName{Name: "p"})
	assert.Equal(t, []string{"p"}, enqueued)
	cancel()
	assert.Nil(t, f.provider.enqueue)

	peer, _ := f.settle("p")
	assert.Equal(t, ReasonForeignProvider, readyOf(t, peer).Reason)
	assert.Equal(t, failed, peer.Status.Phase)
	assert.Equal(t, []string{"Warning ForeignProvider Paired with cluster " + otherUUID + ". It is foreign."}, f.recorded())
	f.settle("p")
	assert.Empty(t, f.recorded())

	f.provider.reason, f.provider.message = "", ""
	peer, _ = f.settle("p")
	assert.Equal(t, ReasonActive, readyOf(t, peer).Reason)
}
