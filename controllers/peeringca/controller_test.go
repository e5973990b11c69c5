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

package peeringca

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	east = "aaaaaaaa-0000-4000-8000-000000000001"
	west = "bbbbbbbb-0000-4000-8000-000000000002"
	day  = 24 * time.Hour
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

type fixture struct {
	t      *testing.T
	ledger *recordtest.Memory
	clock  *clocktesting.FakeClock
	*Controller
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, ledger: recordtest.New(), clock: clocktesting.NewFakeClock(noon)}
	controller, err := New(Config{Ledger: f.ledger, ClusterUUID: east, Clock: f.clock})
	require.NoError(t, err)
	f.Controller = controller
	return f
}

func (f *fixture) update(change func(record.Tx) error) {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(f.t.Context(), change))
}

// at looks at a time after noon, and returns the peering CA then.
func (f *fixture) at(after time.Duration) *record.Authority {
	f.t.Helper()
	f.clock.SetTime(noon.Add(after))
	require.NoError(f.t, f.look(f.t.Context()))
	return f.ledger.Authority()
}

// pairs puts a live peer into the ledger, with a key that the current CA signed.
func (f *fixture) pairs(uid string) {
	f.t.Helper()
	issuer := f.hashOf(f.ledger.Authority().Current)
	f.update(func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: uid, Name: "west", Remote: &record.Remote{
			ClusterUUID: west, PairedAt: noon, ConfirmedAt: noon,
			Keys: []record.Key{{Hash: record.Digest{1}, Role: record.RoleControl, Issuer: issuer, NotAfter: f.clock.Now().Add(record.KeyLife)}},
		}})
	})
}

func (f *fixture) hashOf(ca record.CA) record.Digest {
	f.t.Helper()
	certificate, err := pki.ParseAuthority(ca.Certificate)
	require.NoError(f.t, err)
	return pki.HashOfCertificate(certificate)
}

func (f *fixture) acknowledges(uid string) {
	f.t.Helper()
	f.update(func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		peer.Remote.Acked.Trust = pki.BundleDigest(f.ledger.Authority().Trust())
		return tx.PutPeer(peer)
	})
}

func TestNewNeedsAll(t *testing.T) {
	whole := Config{Ledger: recordtest.New(), ClusterUUID: east, Clock: clocktesting.NewFakeClock(noon)}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"ledger": func(c *Config) { c.Ledger = nil },
		"UUID":   func(c *Config) { c.ClusterUUID = "" },
		"clock":  func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.Error(t, err, name)
	}
}

// P1: there is a CA from the start, for a year, that a peer with a slow clock takes, too.
func TestP1Create(t *testing.T) {
	f := newFixture(t)
	first := f.at(0)
	certificate, err := pki.ParseAuthority(first.Current.Certificate)
	require.NoError(t, err)
	assert.Equal(t, "entente peering CA "+east, certificate.Subject.CommonName)
	assert.Equal(t, noon.Add(-record.MaxSkew), first.Current.NotBefore)
	assert.Equal(t, noon.Add(365*day), first.Current.NotAfter)
	key, err := pki.ParseKey(first.Current.Key.Reveal())
	require.NoError(t, err)
	assert.True(t, key.Fits(certificate))
	assert.Nil(t, f.ledger.Identity(), "nobody is a peer yet")

	assert.Equal(t, first.Current.Certificate, f.at(time.Minute).Current.Certificate)
}

// P3: the next CA is published, signs when every peer knows it, and the old one goes when
// nothing hangs on it.
func TestP3Rotate(t *testing.T) {
	f := newFixture(t)
	first := f.at(0).Current
	assert.Nil(t, f.at(215*day).Next)
	published := f.at(220 * day)
	require.NotNil(t, published.Next, "at 60 %")
	f.at(290 * day)
	f.pairs("west")
	waiting := f.at(295 * day)
	assert.Equal(t, first.Certificate, waiting.Current.Certificate, "at 80 %, but a peer does not know the next one")
	assert.Equal(t, published.Next.Certificate, waiting.Next.Certificate)
	f.acknowledges("west")
	switched := f.at(296 * day)
	assert.Equal(t, published.Next.Certificate, switched.Current.Certificate)
	assert.False(t, switched.Current.Key.IsZero())
	require.Len(t, switched.Previous, 1)
	assert.True(t, switched.Previous[0].Key.IsZero(), "it signs nothing any more")
	assert.Len(t, f.at((290+59)*day).Previous, 1, "a key may still be renewed")
	assert.Empty(t, f.at((290+61)*day).Previous)
}

// P3: a peer that is not heard of holds a rotation up for so long.
func TestP3Forced(t *testing.T) {
	f := newFixture(t)
	f.at(0)
	f.at(220 * day)
	f.at(290 * day)
	f.pairs("west")
	assert.Empty(t, f.at(345*day).Previous)
	forced := f.at(348 * day)
	assert.Len(t, forced.Previous, 1)
	assert.True(t, forced.Forced)
}

// Two leaders for a moment: what counts is what the transaction reads, and a step that
// another one made is not made again.
func TestRotateReadsAgain(t *testing.T) {
	f := newFixture(t)
	f.at(0)
	rival := newFixture(t)
	rival.ledger, rival.Controller.ledger = f.ledger, f.ledger
	f.clock.SetTime(noon.Add(220 * day))
	var theirs []byte
	f.Controller.ledger = meanwhile{Memory: f.ledger, before: func() { theirs = rival.at(220 * day).Next.Certificate }}
	require.NoError(t, f.look(t.Context()))
	assert.Equal(t, theirs, f.ledger.Authority().Next.Certificate)
}

// S1: who this cluster was at its first peering is recorded once.
func TestIdentity(t *testing.T) {
	f := newFixture(t)
	f.at(0)
	f.update(func(tx record.Tx) error { return tx.PutPeer(&record.Peer{UID: "invite", Name: "invite"}) })
	f.at(time.Minute)
	require.Nil(t, f.ledger.Identity(), "an invite is no peering")
	f.pairs("west")
	f.at(2 * time.Minute)
	require.Equal(t, &record.Identity{ClusterUUID: east}, f.ledger.Identity())

	renamed, err := New(Config{Ledger: f.ledger, ClusterUUID: west, Clock: f.clock})
	require.NoError(t, err)
	require.NoError(t, renamed.look(t.Context()))
	assert.Equal(t, east, f.ledger.Identity().ClusterUUID)
}

// P12: a tombstone stays for as long as it says, and not longer, however many there are.
func TestP12Sweep(t *testing.T) {
	f := newFixture(t)
	f.at(0)
	f.update(func(tx record.Tx) error {
		for i := range 3 * batch {
			key := record.Digest{1, byte(i), byte(i >> 8)}
			if err := tx.PutTombstone(&record.Tombstone{Key: key, ClusterUUID: west, Until: noon.Add(time.Hour)}); err != nil {
				return err
			}
		}
		return tx.PutTombstone(&record.Tombstone{Key: record.Digest{2}, ClusterUUID: west, Until: noon.Add(2 * time.Hour)})
	})
	f.at(time.Hour - time.Second)
	assert.Len(t, f.ledger.Tombstones(), 3*batch+1)
	f.at(time.Hour)
	assert.Len(t, f.ledger.Tombstones(), 1)
	f.at(2 * time.Hour)
	assert.Empty(t, f.ledger.Tombstones())
}

// S2, S3: nothing is decided on a ledger that is out of sight.
func TestS3Stale(t *testing.T) {
	for _, unfit := range []error{record.ErrStale, record.ErrRestored} {
		f := newFixture(t)
		f.ledger.SetFresh(unfit)
		require.ErrorIs(t, f.look(t.Context()), unfit)
		assert.Nil(t, f.ledger.Authority())
	}
}

// It looks at the start, when the ledger changes, and when time passes; errors do not end
// it.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t)
	f.ledger.SetFresh(record.ErrStale)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	require.Eventually(t, f.clock.HasWaiters, 20*time.Second, time.Millisecond)
	f.ledger.SetFresh(nil)
	require.Eventually(t, func() bool {
		f.clock.Step(time.Second)
		return f.ledger.Authority() != nil
	}, 20*time.Second, time.Millisecond)
	f.pairs("west")
	require.Eventually(t, func() bool { return f.ledger.Identity() != nil }, 20*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	goleak.VerifyNone(t, before)
}

// meanwhile is a ledger that another one writes between a look and an update.
type meanwhile struct {
	*recordtest.Memory
	before func()
}

func (m meanwhile) Update(ctx context.Context, change func(record.Tx) error) error {
	m.before()
	return m.Memory.Update(ctx, change)
}

var errStore = errors.New("the store is gone")

type failing struct{ *recordtest.Memory }

func (failing) Update(context.Context, func(record.Tx) error) error { return errStore }

// What cannot be written is an error, and says at what.
func TestStoreFails(t *testing.T) {
	f := newFixture(t)
	f.Controller.ledger = failing{f.ledger}
	err := f.look(t.Context())
	require.ErrorIs(t, err, errStore)
	assert.Equal(t, "could not rotate the peering CA: "+errStore.Error(), fmt.Sprint(err))
}
