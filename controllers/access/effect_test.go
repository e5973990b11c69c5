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

package access

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// G3: a capability is in effect while it is named, both clusters offer it in versions that
// go together, and there is a peering that gives access.
func TestG3InEffect(t *testing.T) {
	offer := func(name, version string) protocol.Offer {
		return protocol.Offer{Capabilities: []protocol.Capability{{Name: "another", Version: "9"}, {Name: name, Version: version}}}
	}
	for name, test := range map[string]struct {
		change func(peer *record.Peer, spec *record.Spec)
		want   bool
	}{
		"in effect":                   {func(*record.Peer, *record.Spec) {}, true},
		"another minor version":       {func(p *record.Peer, _ *record.Spec) { p.Remote.Offer.Body = offer("logs", "1.7.0") }, true},
		"the expected cluster":        {func(_ *record.Peer, s *record.Spec) { s.ExpectedClusterUUID = other }, true},
		"P12: out of reach":           {func(p *record.Peer, _ *record.Spec) { p.Remote.Unreachable = noon }, true},
		"an offer broke the rules":    {func(p *record.Peer, _ *record.Spec) { p.Remote.Fault = record.InvalidOffer }, true},
		"not named any more":          {func(_ *record.Peer, s *record.Spec) { s.Capabilities = []string{"another"} }, false},
		"S3: being deleted":           {func(_ *record.Peer, s *record.Spec) { s.Deleting = true }, false},
		"another cluster is expected": {func(_ *record.Peer, s *record.Spec) { s.ExpectedClusterUUID = uid }, false},
		"not offered by us":           {func(p *record.Peer, _ *record.Spec) { p.Offer.Body = offer("backup", "1.0.0") }, false},
		"nothing offered by us":       {func(p *record.Peer, _ *record.Spec) { p.Offer.Body = protocol.Offer{} }, false},
		"not offered by the peer":     {func(p *record.Peer, _ *record.Spec) { p.Remote.Offer.Body = offer("backup", "1.0.0") }, false},
		"another major version":       {func(p *record.Peer, _ *record.Spec) { p.Remote.Offer.Body = offer("logs", "2.0.0") }, false},
		"P12: the peer left":          {func(p *record.Peer, _ *record.Spec) { p.Remote.Fault = record.PeerLeft }, false},
		"trust expired":               {func(p *record.Peer, _ *record.Spec) { p.Remote.Fault = record.TrustExpired }, false},
		"another cluster answered":    {func(p *record.Peer, _ *record.Spec) { p.Remote.Fault = record.UUIDMismatch }, false},
		"not confirmed":               {func(p *record.Peer, _ *record.Spec) { p.Remote.ConfirmedAt = time.Time{} }, false},
		"no peer":                     {func(p *record.Peer, _ *record.Spec) { p.Remote = nil }, false},
	} {
		peer := &record.Peer{UID: uid, Remote: &record.Remote{ClusterUUID: other, ConfirmedAt: noon}}
		peer.Offer.Body, peer.Remote.Offer.Body = offer("logs", "1.0.0"), offer("logs", "1.2.0")
		spec := record.Spec{Capabilities: []string{"backup", "logs"}}
		test.change(peer, &spec)
		assert.Equal(t, test.want, InEffect(peer, spec, "logs"), name)
		assert.False(t, InEffect(peer, spec, ""), name)
	}
	assert.False(t, InEffect(nil, record.Spec{Capabilities: []string{"logs"}}, "logs"), "no record")
}

// G3: what a plan has in effect is in effect by the ledger alone.
func TestG3InEffectAgreesWithPlan(t *testing.T) {
	names := []string{"both", "ours", "newer", "theirs"}
	f := newFixture(t, capability("both", "1.2.0", "configmaps"), capability("ours", "1.0.0", "nodes"), capability("newer", "2.0.0"))
	f.paired(protocol.Offer{Capabilities: []protocol.Capability{{Name: "both", Version: "1.0.0"}, {Name: "newer", Version: "1.0.0"}, {Name: "theirs", Version: "1"}}})
	plan := f.plan(named(names...))
	var effective []string
	for _, name := range names {
		if InEffect(f.ledger.Peer(uid), record.Spec{Capabilities: names}, name) {
			effective = append(effective, name)
		}
	}
	assert.Equal(t, []string{"both"}, effective)
	assert.Len(t, plan.Effective, 1)
}
