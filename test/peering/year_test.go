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
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"

	"entente.dev/entente/peering/record"
	"entente.dev/entente/test/harness"
)

const week = 7 * 24 * time.Hour

// side is one of two peers, and what of its ledger has been seen.
type side struct {
	*cluster
	name  string // of the ClusterPeer
	books *books
	// ours, theirs and trust are hashes of certificates and keys: those of ours that the
	// other cluster issued, those of the other cluster's that it may use here, and those
	// by which its gateway is recognised.
	ours, theirs, trust sets.Set[record.Digest]
}

func newSide(name string) *side {
	return &side{name: name, books: &books{}, ours: sets.New[record.Digest](), theirs: sets.New[record.Digest](), trust: sets.New[record.Digest]()}
}

// look notes what is in the ledger now, and returns it.
func (s *side) look(t *testing.T) *record.Peer {
	t.Helper()
	peers := s.books.read(t, s.cluster).Peers()
	require.Len(t, peers, 1)
	remote := peers[0].Remote
	s.ours.Insert(sha256.Sum256(remote.Ours.Certificate))
	for _, key := range remote.Keys {
		s.theirs.Insert(key.Hash)
	}
	for _, certificate := range remote.Trust {
		s.trust.Insert(sha256.Sum256(certificate))
	}
	return peers[0]
}

// P2, P3: two peers live for more than a year, a week at a time. All of their keys are
// renewed again and again, on both sides in the same week too, and both peering CAs are
// replaced. Each side is away for weeks: east while keys are to be renewed, west while
// east publishes its next CA. Nobody has to pair anew.
func TestP3AYear(t *testing.T) {
	t.Parallel()
	const (
		weeks              = 54
		eastGone, eastBack = 19, 22
		westGone, westBack = 31, 34
	)
	clock := harness.NewClock(t, time.Now())
	w := newWire(t)
	east, west := newSide("west"), newSide("east")
	startEast := func(opts ...harness.Option) {
		east.cluster = startBehind(t, w, append(opts, harness.WithClock(clock), east.books.option())...)
	}
	startWest := func(opts ...harness.Option) {
		west.cluster = start(t, append(opts, harness.WithClock(clock), west.books.option())...)
	}
	startEast()
	startWest()
	west.join(west.name, east.invite(east.name, nil))
	inTouch := func(since time.Time) {
		t.Helper()
		west.inTouch(west.name, since)
		east.inTouch(east.name, since)
	}
	inTouch(clock.Now().Add(-time.Hour))
	firstEast, firstWest := west.look(t).Remote.Trust[0], east.look(t).Remote.Trust[0]

	for i := range weeks {
		switch i {
		case eastGone:
			require.NoError(t, east.Stop())
		case eastBack:
			startEast(harness.InDir(east.Dir))
		case westGone:
			require.NoError(t, west.Stop())
		case westBack:
			startWest(harness.InDir(west.Dir))
		}
		before := clock.Now()
		clock.Step(week)
		if i >= eastGone && i < eastBack || i >= westGone && i < westBack {
			continue
		}
		inTouch(before.Add(week / 2))
		if i%3 == 0 || i == weeks-1 {
			west.look(t)
			east.look(t)
		}
	}
	for _, s := range []*side{east, west} {
		// In 54 weeks at least 12 certificates of 30 days, of which two in three are seen,
		// less the weeks in which somebody was away.
		assert.GreaterOrEqual(t, s.ours.Len(), 8, "our certificates in the other cluster")
		assert.GreaterOrEqual(t, s.theirs.Len(), 8, "keys of the other cluster")
		assert.GreaterOrEqual(t, s.trust.Len(), 2, "CAs of the other cluster")
	}
	assert.NotContains(t, west.look(t).Remote.Trust, firstEast)
	assert.NotContains(t, east.look(t).Remote.Trust, firstWest)
}
