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
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

func TestNewNeedsAll(t *testing.T) {
	whole := Config{
		Ledger:  recordtest.New(),
		Connect: func(client.Target) (Conn, error) { return nil, nil },
		Self:    exchange.Self{ClusterUUID: west},
		Specs:   func(string) (record.Spec, bool) { return record.Spec{}, true },
		Clock:   clocktesting.NewFakeClock(noon),
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"ledger":  func(c *Config) { c.Ledger = nil },
		"connect": func(c *Config) { c.Connect = nil },
		"UUID":    func(c *Config) { c.Self.ClusterUUID = "" },
		"specs":   func(c *Config) { c.Specs = nil },
		"clock":   func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.Error(t, err, name)
	}
}

// A dialer that fails returns no connection, rather than one that is nil.
func TestDialing(t *testing.T) {
	dialer, err := client.New(client.Config{})
	require.NoError(t, err)
	conn, err := Dialing(dialer)(client.Target{})
	require.Error(t, err)
	assert.True(t, conn == nil)
}

// A session begins with the pairing and ends with it, and another pairing has another.
func TestSessions(t *testing.T) {
	f := newFixture(t)
	f.runs()
	f.join(uid, "string")
	f.eventually(f.isQuiet, "it begins")
	first := f.remote().Ours.Certificate

	f.clock.Step(time.Second)
	f.join(uid, "another string")
	f.passes(time.Second, func() bool { return f.isQuiet() && f.open() == 1 }, "it is paired anew")
	assert.NotEqual(t, first, f.lastCertificate())
	f.update(func(tx record.Tx) error { return record.Remove(tx, uid, noon) })
	f.eventually(func() bool { return f.open() == 0 && f.far.held() == 0 }, "it ends")

	f.join(uid, "a third string")
	f.passes(time.Second, f.isQuiet, "and begins again")
	f.stop()
	assert.Zero(t, f.open())
	f.runs()
	f.passes(time.Second, f.isQuiet, "as often as it is run")
}

func (f *fixture) lastCertificate() []byte { return f.far.lastTarget().Certificate.Certificate[0] }

// A connection string that was refused, or is being tried, leaves the peering before it
// as it is (P8).
func TestP8AnotherStringFails(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.update(func(tx record.Tx) error {
		_, err := record.StartJoin(tx, record.Joining{UID: uid, Name: "east", String: record.Digest{9}, ClusterUUID: east, Ours: west})
		return err
	})
	asked := f.far.count()
	f.passes(time.Second, func() bool { return f.far.count() > asked }, "it goes on")
	assert.Equal(t, 1, f.open())
}

// S3: from its deletion timestamp on nothing is said for a ClusterPeer; nor without one,
// nor on a ledger that is out of sight.
func TestS3Silent(t *testing.T) {
	for name, silence := range map[string]func(*fixture){
		"deleting": func(f *fixture) { f.setSpec(record.Spec{Deleting: true}) },
		"gone":     func(f *fixture) { f.lock.Lock(); defer f.lock.Unlock(); delete(f.specs, uid) },
		"stale":    func(f *fixture) { f.ledger.SetFresh(record.ErrStale) },
		"restored": func(f *fixture) { f.ledger.SetFresh(record.ErrRestored) },
	} {
		t.Run(name, func(t *testing.T) {
			f := joined(t)
			silence(f)
			f.runs()
			began := f.clock.Now()
			f.passes(time.Second, func() bool { return f.clock.Since(began) > time.Minute }, "time")
			assert.Zero(t, f.far.count())
			f.ledger.SetFresh(nil)
			f.setSpec(record.Spec{})
			f.passes(time.Second, f.isQuiet, "it begins")
		})
	}
}

// Who invited dials nobody, nor does who has not joined yet.
func TestNobodyToDial(t *testing.T) {
	for name, peer := range map[string]*record.Peer{
		"none":            nil,
		"invite":          {UID: uid, Invite: &record.Invite{}},
		"invited":         {UID: uid, Invite: &record.Invite{}, Remote: &record.Remote{Ours: record.Credential{Certificate: []byte("c")}}},
		"joining":         {UID: uid, Join: &record.Join{}},
		"not certified":   {UID: uid, Join: &record.Join{Done: true}, Remote: &record.Remote{}},
		"it left":         {UID: uid, Join: &record.Join{Done: true}, Remote: &record.Remote{Ours: record.Credential{Certificate: []byte("c")}, Fault: record.PeerLeft}},
		"it is suspended": {UID: uid, Join: &record.Join{Done: true}, Remote: &record.Remote{Ours: record.Credential{Certificate: []byte("c")}, Fault: record.PeerSuspended}},
		"it is cloned":    {UID: uid, Join: &record.Join{Done: true}, Remote: &record.Remote{Ours: record.Credential{Certificate: []byte("c")}, Fault: record.ClonedPeer}},
	} {
		assert.False(t, dials(peer), name)
	}
	for _, fault := range []record.Reason{"", record.UUIDMismatch, record.TrustExpired, record.InvalidOffer} {
		assert.True(t, dials(&record.Peer{UID: uid, Join: &record.Join{}, Remote: &record.Remote{Ours: record.Credential{Certificate: []byte("c")}, Fault: fault}}))
	}
}

// A thousand peers cost a goroutine each, and end at once.
func TestManyPeers(t *testing.T) {
	const many = 1000
	f := joined(t)
	all := crowd{Memory: f.ledger.Memory, peers: map[string]*record.Peer{}}
	for i := range many {
		peer, err := f.ledger.Peer(uid).Clone()
		require.NoError(t, err)
		peer.UID = fmt.Sprintf("%s-%d", uid, i)
		all.peers[peer.UID] = peer
	}
	f.Controller.ledger = all
	asking := make(chan struct{}, many)
	f.connect = func(client.Target) (Conn, error) { return silentConn{asking: asking}, nil }
	f.Controller.specs = func(string) (record.Spec, bool) { return record.Spec{}, true }
	before := runtime.NumGoroutine()
	f.runs()
	for range many {
		<-asking
	}
	assert.LessOrEqual(t, runtime.NumGoroutine()-before, many+20)
	began := time.Now()
	f.stop()
	assert.Less(t, time.Since(began), 5*time.Second)
}

// crowd is a ledger with many peers. (The one in memory takes long to write many.)
type crowd struct {
	*recordtest.Memory
	peers map[string]*record.Peer
}

func (c crowd) Peers() []*record.Peer        { return slices.Collect(maps.Values(c.peers)) }
func (c crowd) Peer(uid string) *record.Peer { return c.peers[uid] }

// silentConn never gets an answer.
type silentConn struct {
	Conn
	asking chan<- struct{}
}

func (s silentConn) Close() {}

func (s silentConn) Sync(ctx context.Context, _ protocol.SyncRequest) (protocol.SyncResponse, error) {
	s.asking <- struct{}{}
	<-ctx.Done()
	return protocol.SyncResponse{}, ctx.Err()
}
