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

package peering

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// P6–P9, P13: two clusters become peers, and what each of them shows. How long that took
// is printed.
func TestP6TwoClustersPeer(t *testing.T) {
	t.Parallel()
	east, west := start(t), start(t)
	text := east.invite("west", nil)
	before := time.Now()
	west.join("east", text)
	w := west.says("east", "Active")
	e := east.says("west", "Active")
	t.Logf("both active after %v", time.Since(before))

	for _, peer := range []*peeringv1alpha1.ClusterPeer{e, w} {
		assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseActive, peer.Status.Phase)
		assert.Equal(t, peer.Generation, peer.Status.ObservedGeneration)
		for _, condition := range peer.Status.Conditions {
			assert.Equal(t, peer.Generation, condition.ObservedGeneration, condition.Type)
		}
	}
	east.until("west", "told of the offer", func(p *peeringv1alpha1.ClusterPeer) bool {
		return p.Status.Peer != nil && p.Status.Peer.PeeringVersion != "" && p.Status.Peer.LastSyncTime != nil
	})
	west.until("east", "told of the offer", func(p *peeringv1alpha1.ClusterPeer) bool {
		return p.Status.Peer != nil && p.Status.Peer.PeeringVersion != "" && p.Status.Offer != nil
	})
	assert.NotEqual(t, uuid(e), uuid(w))
	e = east.until("west", "used up", func(p *peeringv1alpha1.ClusterPeer) bool { return p.Status.Invite.Used })
	assert.Empty(t, e.Status.Invite.ConnectionString, "P5: erased when used")
	for _, c := range []struct {
		*cluster
		name string
	}{{east, "west"}, {west, "east"}} {
		c.until(c.name, "looked at from outside", func(p *peeringv1alpha1.ClusterPeer) bool {
			return meta.IsStatusConditionTrue(p.Status.Conditions, "ClientCertEnforced") && meta.IsStatusConditionTrue(p.Status.Conditions, "ServerCertOurs")
		})
	}
}

// P5, P6: a string is used once; what came before a renewal is dead; a string of a
// ClusterPeer that was deleted and made anew is dead too. Each is terminal, and its owner
// can read why.
func TestP5DeadStrings(t *testing.T) {
	t.Parallel()
	east, west, north := start(t), start(t), start(t)
	used := east.invite("west", nil)
	west.join("east", used)
	west.says("east", "Active")
	north.join("used", used)
	rejected := north.says("used", "TokenRejected")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, rejected.Status.Phase)
	east.until("west", "told of the second use", func(p *peeringv1alpha1.ClusterPeer) bool {
		ready := meta.FindStatusCondition(p.Status.Conditions, "Ready")
		return ready.Status == metav1.ConditionTrue && ready.Message != "" && strings.Contains(ready.Message, "refused")
	})

	renewed := east.invite("renewed", nil)
	fresh := east.renew("renewed")
	require.NotEqual(t, renewed, fresh)
	north.join("renewed", renewed)
	north.says("renewed", "TokenRejected")

	deleted := east.invite("deleted", nil)
	east.delete("deleted")
	east.gone("deleted")
	again := east.invite("deleted", nil)
	north.join("deleted", deleted)
	north.says("deleted", "TokenRejected")
	for _, name := range []string{"renewed", "deleted"} {
		assert.False(t, east.get(name).Status.Invite.Used)
	}

	// P8: another string in the same object is tried, of the same ClusterPeer.
	north.patch(harness.Operator, "deleted", `{"spec":{"join":{"connectionString":"`+again+`"}}}`)
	north.says("deleted", "Active")
	// P8: removing a used string changes nothing.
	north.patch(harness.Operator, "deleted", `{"spec":{"join":{"connectionString":null}}}`)
	north.until("deleted", "looked at again", func(p *peeringv1alpha1.ClusterPeer) bool { return p.Status.ObservedGeneration == p.Generation })
	north.says("deleted", "Active")
	assert.Len(t, renewed, len(fresh))
}

// P5: what mints is a creation and a renewal, and nothing else.
func TestP5NothingElseMints(t *testing.T) {
	t.Parallel()
	east := start(t)
	text := east.invite("west", nil)
	before := east.get("west").Status.Invite
	east.patch(harness.Operator, "west", `{"metadata":{"annotations":{"a":"b","peering.entente.dev/renew":"ffffffffffffffff"}}}`)
	east.patch(harness.Operator, "west", `{"spec":{"invite":{"tokenTTL":"2h"}}}`)
	east.patch(harness.Operator, "west", `{"spec":{"invite":{"expectedClusterUUID":"dddddddd-0000-4000-8000-000000000004"}}}`)
	_, err := east.peersAs(harness.Operator).Create(t.Context(), &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "dry"}, Spec: peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	east.until("west", "looked at again", func(p *peeringv1alpha1.ClusterPeer) bool { return p.Status.ObservedGeneration == p.Generation })
	assert.Equal(t, before, east.get("west").Status.Invite)
	assert.Equal(t, text, east.issued("west", ""))
}

// P6: who is not who was expected, oneself and a second ClusterPeer for one cluster are
// refused, and none of that uses the token up.
func TestP6WrongClusters(t *testing.T) {
	t.Parallel()
	const nobody = "dddddddd-0000-4000-8000-000000000004"
	east, west := peered(t)
	westUUID := uuid(east.get("west"))

	text := east.invite("nobody", &peeringv1alpha1.InviteSpec{ExpectedClusterUUID: nobody})
	west.delete("east")
	west.gone("east")
	east.says("west", "PeerLeft")
	west.join("other", text)
	west.says("other", "UUIDMismatch")
	east.says("nobody", "UUIDMismatch")
	assert.False(t, east.get("nobody").Status.Invite.Used)
	west.delete("other")

	spec := joining(text)
	spec.Join.ExpectedClusterUUID = nobody
	west.create("expects", spec)
	west.says("expects", "UUIDMismatch")

	east.join("self", east.renew("nobody"))
	east.says("self", "SelfPeering")

	// The ClusterPeer west still holds that cluster, though it left.
	second := east.invite("second", &peeringv1alpha1.InviteSpec{ExpectedClusterUUID: westUUID})
	west.join("second", second)
	west.says("second", "DuplicatePeer")
	east.says("second", "DuplicatePeer")
	assert.False(t, east.get("second").Status.Invite.Used)
	east.delete("west")
	east.gone("west")
	west.delete("second")
	west.gone("second")
	west.join("second", second)
	west.says("second", "Active")
	east.says("second", "Active")

	// Two Joins of one cluster.
	west.join("third", east.renew("nobody"))
	west.says("third", "DuplicatePeer")
}

// P4: a string that is damaged, of another format, no string at all or expired is said
// at once.
func TestP4BadStrings(t *testing.T) {
	t.Parallel()
	east, west := start(t), start(t)
	text := east.invite("west", &peeringv1alpha1.InviteSpec{TokenTTL: "1m"})
	for name, bad := range map[string]string{
		"mistyped": text[:40] + "x" + text[41:], "cut": text[:len(text)-3], "foreign": "eyJhbGciOiJIUzI1NiJ9.e30.x", "newer": "entente2" + text[8:],
	} {
		west.join(name, bad)
		west.says(name, "InvalidConnectionString")
	}
	west.create("none", peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin})
	west.says("none", "WaitingForConnectionString")
	assert.False(t, east.get("west").Status.Invite.Used)
}

// P5: an invite expires, says so, and its string is erased.
func TestP5Expiry(t *testing.T) {
	t.Parallel()
	clock := harness.NewClock(t, time.Now())
	east, west := start(t, harness.WithClock(clock)), start(t, harness.WithClock(clock))
	text := east.invite("west", &peeringv1alpha1.InviteSpec{TokenTTL: "10m"})
	clock.Step(10 * time.Minute)
	peer := east.says("west", "InviteExpired")
	assert.Empty(t, peer.Status.Invite.ConnectionString)
	assert.False(t, peer.Status.Invite.Used)
	west.join("east", text)
	west.says("east", "InviteExpired")
	west.patch(harness.Operator, "east", `{"spec":{"join":{"connectionString":"`+east.renew("west")+`"}}}`)
	west.says("east", "Active")
}

// A cluster that cannot be dialled can join, and says why it cannot invite.
func TestNoGatewayEndpoint(t *testing.T) {
	t.Parallel()
	east, west := start(t), &cluster{t: t, Server: harness.Start(t)}
	west.create("invite", peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite})
	west.says("invite", "NoGatewayEndpoint")
	west.join("east", east.invite("west", nil))
	peer := west.says("east", "Active")
	assert.Nil(t, meta.FindStatusCondition(peer.Status.Conditions, "ClientCertEnforced"), "P14")
	assert.Empty(t, east.says("west", "Active").Status.Peer.Endpoint)
}

// P12: one side leaves and the other says so; both may peer again.
func TestP12Leave(t *testing.T) {
	t.Parallel()
	east, west := peered(t)
	west.delete("east")
	west.gone("east")
	left := east.says("west", "PeerLeft")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, left.Status.Phase)
	west.join("east", east.renew("west"))
	west.says("east", "Active")
	east.says("west", "Active")

	// The other way round: the joiner hears of it at its next beat.
	east.delete("west")
	east.gone("west")
	west.says("east", "PeerLeft")
	west.patch(harness.Operator, "east", `{"spec":{"join":{"connectionString":"`+east.invite("west", nil)+`"}}}`)
	west.says("east", "Active")
	east.says("west", "Active")
}

// P13: clocks ten minutes apart peer, and both sides say so; a day apart they do not, and
// the token is not used up.
func TestP13Clocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	east := start(t, harness.WithClock(harness.NewClock(t, now)))
	for name, apart := range map[string]time.Duration{"ahead": 10 * time.Minute, "behind": -10 * time.Minute} {
		west := start(t, harness.WithClock(harness.NewClock(t, now.Add(apart))))
		west.join("east", east.invite(name, nil))
		for _, peer := range []*peeringv1alpha1.ClusterPeer{west.says("east", "Active"), east.says(name, "Active")} {
			assert.True(t, meta.IsStatusConditionTrue(peer.Status.Conditions, "ClockSkew"), "%s: %s", name, describe(peer))
		}
	}
	text := east.invite("day", &peeringv1alpha1.InviteSpec{TokenTTL: "24h"})
	for name, apart := range map[string]time.Duration{"ahead": 23 * time.Hour, "behind": -24 * time.Hour} {
		west := start(t, harness.WithClock(harness.NewClock(t, now.Add(apart))))
		west.join("east", text)
		peer := west.until("east", "refused", func(p *peeringv1alpha1.ClusterPeer) bool {
			return p.Status.Phase == peeringv1alpha1.ClusterPeerPhaseError
		})
		t.Logf("%s: %s", name, describe(peer))
		assert.False(t, east.get("day").Status.Invite.Used)
	}
	west := start(t)
	west.join("east", text)
	west.says("east", "Active")
}

// S1: who may write the whole status of a ClusterPeer, and nothing sensitive, gains
// nothing: what is written is put right, no token dies or lives by it, and a string that
// was planted is not kept.
func TestS1StatusDecidesNothing(t *testing.T) {
	t.Parallel()
	east, west := start(t), start(t)
	text := east.invite("west", nil)
	planted := west.invite("planted", nil)
	east.patch(harness.Operator, "west", `{"status":{"phase":"Active","invite":{"connectionString":"`+planted+`","tokenID":"ffffffffffffffff","tokenHash":"`+
		"0000000000000000000000000000000000000000000000000000000000000000"+`","used":false,"expiresAt":"2099-01-01T00:00:00Z"},
		"peer":{"clusterUUID":"dddddddd-0000-4000-8000-000000000004","endpoint":"https://evil.example.com","capabilities":[{"name":"a","version":"1","scope":["cluster"]}]},
		"conditions":[{"type":"Ready","status":"True","reason":"Active","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, "status")
	// Not for a moment is the string another one: whoever carries that over would be led to
	// whom it names.
	now, err := east.sensitive("west")
	require.NoError(t, err)
	assert.Equal(t, text, now.Status.Invite.ConnectionString)
	assert.NotEqual(t, "ffffffffffffffff", now.Status.Invite.TokenID)
	east.until("west", "put right", func(p *peeringv1alpha1.ClusterPeer) bool {
		ready := meta.FindStatusCondition(p.Status.Conditions, "Ready")
		return p.Status.Invite.TokenID != "ffffffffffffffff" && ready.Reason != "Active" && p.Status.Phase == peeringv1alpha1.ClusterPeerPhasePending
	})
	// The token that was issued is as good as before.
	west.join("east", text)
	west.says("east", "Active")
	e := east.says("west", "Active")
	assert.NotEqual(t, "dddddddd-0000-4000-8000-000000000004", uuid(e))

	// And a peering does not end by it.
	west.patch(harness.Operator, "east", `{"status":null}`, "status")
	west.says("east", "Active")
}
