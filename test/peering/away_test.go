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
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// hasten sets a clock forward by little strides, so that what is tried again in between
// is, until a ClusterPeer is as it should be.
func (c *cluster) hasten(clock *harness.Clock, name, what string, is func(*peeringv1alpha1.ClusterPeer) bool) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	const (
		stride = 5 * time.Second
		every  = 200 * time.Millisecond
	)
	last := time.Now()
	return c.until(name, what, func(p *peeringv1alpha1.ClusterPeer) bool {
		if is(p) {
			return true
		}
		if time.Since(last) >= every {
			clock.Step(stride)
			last = time.Now()
		}
		return false
	})
}

// comesTo is hasten until that is the reason of the condition Ready.
func (c *cluster) comesTo(clock *harness.Clock, name, reason string) {
	c.t.Helper()
	c.hasten(clock, name, reason, func(p *peeringv1alpha1.ClusterPeer) bool { return isReason(p, reason) })
}

// P9: a peer that is away for long shows as unreachable, after 45 seconds and with all
// that is known of it, on both sides. When it is back both are active, without help.
func TestP9AwayAndBack(t *testing.T) {
	t.Parallel()
	clock := harness.NewClock(t, time.Now())
	w := newWire(t)
	east, west := startBehind(t, w, harness.WithClock(clock)), start(t, harness.WithClock(clock))
	west.join("east", east.invite("west", nil))
	west.says("east", "Active")
	known := east.until("west", "told of the offer", func(p *peeringv1alpha1.ClusterPeer) bool {
		return isReason(p, "Active") && p.Status.Peer.PeeringVersion != ""
	})

	w.cut()
	clock.Step(20 * time.Second) // and the last beat may have been 15 seconds before
	assert.True(t, isReason(east.get("west"), "Active"))
	assert.True(t, isReason(west.get("east"), "Active"))
	east.comesTo(clock, "west", "PeerUnreachable")
	west.comesTo(clock, "east", "PeerUnreachable")
	for _, away := range []time.Duration{time.Hour, 7 * 24 * time.Hour} {
		clock.Step(away)
	}
	peer := east.get("west")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, peer.Status.Phase)
	assert.Equal(t, known.Status.Peer.ClusterUUID, peer.Status.Peer.ClusterUUID)
	assert.Equal(t, known.Status.Peer.PeeringVersion, peer.Status.Peer.PeeringVersion)
	assert.Equal(t, known.Status.Peer.Endpoint, peer.Status.Peer.Endpoint)
	assert.Equal(t, known.Status.Peer.LastSyncTime, peer.Status.Peer.LastSyncTime)

	w.to(east.Server.Server.GatewayAddress())
	west.comesTo(clock, "east", "Active")
	east.says("west", "Active")
}

// P9: the gateway moves while the two are peers. The new address is told while the old
// one is still there, and then the old one goes.
func TestP9GatewayMoves(t *testing.T) {
	t.Parallel()
	clock := harness.NewClock(t, time.Now())
	old, moved := newWire(t), newWire(t)
	east, west := startBehind(t, old, harness.WithClock(clock)), start(t, harness.WithClock(clock))
	west.join("east", east.invite("west", nil))
	west.says("east", "Active")
	east.says("west", "Active")
	require.NoError(t, east.Stop())

	restart := func(behind ...*wire) {
		t.Helper()
		var endpoints []string
		for _, w := range behind {
			endpoints = append(endpoints, w.endpoint())
		}
		east = &cluster{t: t, Server: harness.Start(t, harness.InDir(east.Dir), harness.WithClock(clock), harness.WithGatewayAt(t, "127.0.0.1:0", endpoints...))}
		for _, w := range []*wire{old, moved} {
			w.cut()
		}
		for _, w := range behind {
			w.to(east.Server.Server.GatewayAddress())
		}
	}
	restart(moved, old)
	west.hasten(clock, "east", "told of the new address", func(p *peeringv1alpha1.ClusterPeer) bool {
		return isReason(p, "Active") && p.Status.Peer.Endpoint == moved.endpoint()
	})
	east.says("west", "Active")
	require.NoError(t, east.Stop())

	restart(moved)
	before := clock.Now()
	clock.Step(time.Hour)
	again := func(p *peeringv1alpha1.ClusterPeer) bool {
		return isReason(p, "Active") && heardSince(p, before.Add(time.Minute))
	}
	west.hasten(clock, "east", "in touch again", again)
	east.until("west", "in touch again", again)
}

// inTouch waits until the other cluster was heard since then, and the peering is active.
func (c *cluster) inTouch(name string, then time.Time) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	return c.until(name, "in touch and active", func(p *peeringv1alpha1.ClusterPeer) bool {
		return isReason(p, "Active") && heardSince(p, then)
	})
}

// P4: gateways may have IPv6 addresses.
func TestP4IPv6(t *testing.T) {
	t.Parallel()
	probe, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no ::1: %v", err)
	}
	require.NoError(t, probe.Close())
	at := func() *cluster { return &cluster{t: t, Server: harness.Start(t, harness.WithGatewayAt(t, "[::1]:0"))} }
	east, west := at(), at()
	west.join("east", east.invite("west", nil))
	peer := west.says("east", "Active")
	assert.Equal(t, "https://"+east.Server.Server.GatewayAddress(), peer.Status.Peer.Endpoint)
	assert.Contains(t, peer.Status.Peer.Endpoint, "[::1]:")
	peer = east.says("west", "Active")
	assert.Equal(t, "https://"+west.Server.Server.GatewayAddress(), peer.Status.Peer.Endpoint)
}

// P12: a ClusterPeer whose peer is down is deleted at once. When the peer is back it says
// that the other one left, and may be invited anew.
func TestP12DeletedWhilePeerIsDown(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	east, west := startBehind(t, w), start(t)
	west.join("east", east.invite("west", nil))
	west.says("east", "Active")
	east.says("west", "Active")
	again := func(opts ...harness.Option) *cluster {
		t.Helper()
		return start(t, append(opts, harness.InDir(west.Dir))...)
	}

	// The inviter leaves.
	require.NoError(t, west.Stop())
	before := time.Now()
	east.delete("west")
	east.gone("west")
	assert.Less(t, time.Since(before), 20*time.Second)
	west = again()
	left := west.says("east", "PeerLeft")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, left.Status.Phase)
	west.patch(harness.Operator, "east", `{"spec":{"join":{"connectionString":"`+east.invite("west", nil)+`"}}}`)
	west.says("east", "Active")
	east.says("west", "Active")

	// The joiner leaves, and nobody tells the inviter.
	w.cut()
	before = time.Now()
	west.delete("east")
	west.gone("east")
	assert.Less(t, time.Since(before), 20*time.Second)
	w.to(east.Server.Server.GatewayAddress())
	text := east.renew("west")
	west.join("east", text)
	west.says("east", "Active")
	east.until("west", "used anew", usedAndActive)
}

func usedAndActive(p *peeringv1alpha1.ClusterPeer) bool {
	return isReason(p, "Active") && p.Status.Invite.Used
}
