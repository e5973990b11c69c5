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

package peersync

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

// heard is when a gateway heard its peers last.
type heard map[string]time.Time

func (h heard) Contact(uid string) time.Time { return h[uid] }

// inviting is a fixture with a peer that joined this cluster, and is confirmed.
func inviting(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.update(func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: uid, Name: "east", Invite: &record.Invite{TokenID: "0001020304050607"}, Remote: &record.Remote{
			ClusterUUID: east, PairedAt: noon, ConfirmedAt: noon,
			Keys: []record.Key{{Hash: record.Digest{1}, Role: record.RoleControl, NotAfter: noon.Add(record.KeyLife)}},
		}})
	})
	return f
}

// P9: a peer that dials is out of reach when no replica has heard it for long enough.
func TestP9Silent(t *testing.T) {
	now := noon.Add(time.Hour)
	long := now.Add(-lostAfter)
	for name, test := range map[string]struct {
		started  time.Time
		contact  time.Time // in the record
		heard    time.Time // by this replica's gateway
		change   func(*record.Peer)
		unheard  bool // there is no gateway
		expected bool
	}{
		"silent":                       {started: long, expected: true},
		"this one just began":          {started: long.Add(time.Second)},
		"heard here":                   {started: noon, heard: long.Add(time.Second)},
		"heard here, long ago":         {started: noon, heard: long, expected: true},
		"heard elsewhere":              {started: noon, contact: long.Add(-record.ContactStep).Add(time.Second)},
		"heard elsewhere, long ago":    {started: noon, contact: long.Add(-record.ContactStep), expected: true},
		"no gateway":                   {started: noon, unheard: true, expected: true},
		"just paired":                  {started: noon, change: func(p *record.Peer) { p.Remote.PairedAt = long.Add(time.Second) }},
		"not confirmed":                {started: noon, change: func(p *record.Peer) { p.Remote.ConfirmedAt = time.Time{} }},
		"this one dials":               {started: noon, change: func(p *record.Peer) { p.Join = &record.Join{ClusterUUID: east} }},
		"suspended":                    {started: noon, change: func(p *record.Peer) { p.Remote.Fault = record.PeerSuspended }},
		"another one than is expected": {started: noon, change: func(p *record.Peer) { p.Remote.Fault = record.UUIDMismatch }, expected: true},
		"no peer":                      {started: noon, change: func(p *record.Peer) { p.Remote = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			f := inviting(t)
			f.edit(func(peer *record.Peer) {
				peer.Remote.Contact = test.contact
				if test.change != nil {
					test.change(peer)
				}
			})
			f.contacts = heard{uid: test.heard}
			if test.unheard {
				f.contacts = nil
			}
			f.clock.SetTime(now)
			f.look(t.Context(), test.started)
			remote := f.ledger.Peer(uid).Remote
			if remote == nil {
				remote = &record.Remote{}
			}
			assert.Equal(t, test.expected, remote.Unreachable.Equal(now))
			assert.Equal(t, !test.expected, remote.Unreachable.IsZero())

			written := f.ledger.written()
			f.look(t.Context(), test.started)
			assert.Equal(t, written, f.ledger.written(), "it is said once")
		})
	}
}

// A peer that was in touch between the look and the transaction is not missed.
func TestP9SilentReadsAgain(t *testing.T) {
	f := inviting(t)
	f.clock.SetTime(noon.Add(time.Hour))
	stale := f.ledger.Peer(uid)
	f.edit(func(peer *record.Peer) { peer.Remote.Contact = f.clock.Now() })
	require.NoError(t, f.lookAt(t.Context(), stale, noon, f.clock.Now()))
	assert.Zero(t, f.remote().Unreachable)
}

// P2: who dials us may come back for as long as its key can be renewed; what certificate
// it gave us does not matter for that.
func TestP2TheirsExpires(t *testing.T) {
	f := inviting(t)
	f.edit(func(peer *record.Peer) {
		peer.Remote.Ours = record.Credential{Certificate: []byte("ended"), NotBefore: noon, NotAfter: noon.Add(time.Second)}
	})
	end := noon.Add(record.KeyLife + record.KeyGrace)
	f.clock.SetTime(end.Add(-time.Second))
	f.look(t.Context(), noon)
	require.Empty(t, f.remote().Fault)
	require.NotNil(t, f.remote().Next, "a new key of ours is on its way to be certified")
	f.clock.Step(time.Second)
	f.look(t.Context(), noon)
	assert.Equal(t, record.TrustExpired, f.remote().Fault)
}

// S3: nothing follows from a ledger that is out of sight.
func TestS3WatchStale(t *testing.T) {
	f := inviting(t)
	f.ledger.SetFresh(record.ErrStale)
	f.clock.SetTime(noon.Add(time.Hour))
	f.look(t.Context(), noon)
	assert.Zero(t, f.remote().Unreachable)
}

// It looks every ten seconds.
func TestWatch(t *testing.T) {
	f := inviting(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.watch(ctx) }()
	f.eventually(f.clock.HasWaiters, "it waits")
	took := f.passes(time.Second, func() bool { return !f.remote().Unreachable.IsZero() }, "it is missed")
	assert.GreaterOrEqual(t, took, lostAfter)
	cancel()
	<-ended
}
