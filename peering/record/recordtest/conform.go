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

package recordtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

// patience is how long a reader may take to see what was written.
const patience = 30 * time.Second

var errNo = errors.New("no")

// Conform checks that a ledger does what record.Ledger says. Each call of open returns
// an empty one that is, or soon will be, fresh.
func Conform(t *testing.T, open func(t *testing.T) record.Ledger) {
	for name, test := range map[string]func(*testing.T, ledger){
		"an empty ledger":                  testEmpty,
		"records come back whole":          testRoundTrip,
		"what is read is a copy":           testCopies,
		"a transaction sees its writes":    testOwnWrites,
		"an error writes nothing":          testErrors,
		"tokens lead to records":           testTokens,
		"clusters lead to records":         testClusters,
		"a cluster has one record":         testDuplicatePeer,
		"a token has one record":           testTokenCollision,
		"what is deleted is gone":          testDelete,
		"other records":                    testOtherRecords,
		"odd names":                        testOddNames,
		"grants":                           testGrants,
		"names of grants":                  testGrantNames,
		"the key of grants":                testGrantKey,
		"grants are told to subscribers":   testGrantsAreTold,
		"releases":                         testReleases,
		"the epoch":                        testEpoch,
		"changes are told":                 testChanged,
		"changes are told to subscribers":  testSubscribe,
		"nothing is lost to another write": testLostUpdate,
		"one of many takes an invite":      testOneUse,
		"one of many reserves a cluster":   testOneReservation,
		"a context that is over":           testContext,
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger{open(t)}
			require.Eventually(t, func() bool { return l.Fresh() == nil }, patience, time.Millisecond)
			test(t, l)
		})
	}
}

// ledger has what makes the tests short.
type ledger struct{ record.Ledger }

func (l ledger) update(t *testing.T, change func(record.Tx) error) {
	t.Helper()
	require.NoError(t, l.Update(t.Context(), change))
}

func (l ledger) put(t *testing.T, peers ...*record.Peer) {
	t.Helper()
	l.update(t, func(tx record.Tx) error {
		for _, peer := range peers {
			if err := tx.PutPeer(peer); err != nil {
				return err
			}
		}
		return nil
	})
}

// eventually waits until a reader sees what was written.
func eventually(t *testing.T, seen func() bool, what string) {
	t.Helper()
	require.Eventually(t, seen, patience, time.Millisecond, what)
}

// peerOfToken reads in a transaction, as all below.
func (l ledger) peerOfToken(t *testing.T, tokenID string) (peer *record.Peer) {
	t.Helper()
	l.update(t, func(tx record.Tx) (err error) {
		peer, err = tx.PeerOfToken(tokenID)
		return err
	})
	return peer
}

func (l ledger) peerOfCluster(t *testing.T, clusterUUID string) (peer *record.Peer) {
	t.Helper()
	l.update(t, func(tx record.Tx) (err error) {
		peer, err = tx.PeerOfCluster(clusterUUID)
		return err
	})
	return peer
}

func (l ledger) peer(t *testing.T, uid string) (peer *record.Peer) {
	t.Helper()
	l.update(t, func(tx record.Tx) (err error) {
		peer, err = tx.Peer(uid)
		return err
	})
	return peer
}

func (l ledger) epoch(t *testing.T) (epoch uint64) {
	t.Helper()
	l.update(t, func(tx record.Tx) (err error) {
		epoch, err = tx.Epoch()
		return err
	})
	return epoch
}

func inviting(uid, tokenID string) *record.Peer {
	return &record.Peer{UID: uid, Name: "peer-" + uid, Invite: &record.Invite{TokenID: tokenID, Hash: record.Hash(uid, []byte("token"))}}
}

func joining(uid, clusterUUID string) *record.Peer {
	return &record.Peer{UID: uid, Join: &record.Join{ClusterUUID: clusterUUID, Key: record.NewSecret([]byte("key"))}}
}

func paired(uid, clusterUUID string) *record.Peer {
	return &record.Peer{UID: uid, Remote: &record.Remote{ClusterUUID: clusterUUID}}
}

func uidOf(peer *record.Peer) string {
	if peer == nil {
		return ""
	}
	return peer.UID
}

func testEmpty(t *testing.T, l ledger) {
	assert.Nil(t, l.Peer("u"))
	assert.Nil(t, l.PeerOfCluster("c"))
	assert.Nil(t, l.PeerOfCluster(""))
	assert.Empty(t, l.Peers())
	assert.Nil(t, l.Tombstone(record.Digest{1}))
	assert.Empty(t, l.Tombstones())
	assert.Nil(t, l.Authority())
	assert.Nil(t, l.Identity())
	assert.Nil(t, l.peer(t, "u"))
	assert.Nil(t, l.peerOfToken(t, "t"))
	assert.Nil(t, l.peerOfCluster(t, "c"))
	l.update(t, func(tx record.Tx) error {
		tombstone, err := tx.Tombstone(record.Digest{1})
		assert.NoError(t, err)
		assert.Nil(t, tombstone)
		authority, err := tx.Authority()
		assert.NoError(t, err)
		assert.Nil(t, authority)
		identity, err := tx.Identity()
		assert.NoError(t, err)
		assert.Nil(t, identity)
		return errors.Join(tx.DeletePeer("u"), tx.DeleteTombstone(record.Digest{1}))
	})
	assert.Zero(t, l.epoch(t))
}

func testRoundTrip(t *testing.T, l ledger) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	peer := inviting("u", "t")
	peer.Join = &record.Join{ClusterUUID: "c", Key: record.NewSecret([]byte("join")), Done: true}
	peer.Remote = &record.Remote{
		ClusterUUID: "c", PairedAt: at, Trust: [][]byte{{1}, {2}},
		Keys: []record.Key{{Hash: record.Digest{7}, Role: record.RoleControl, Serial: []byte{9}}},
		Ours: record.Credential{Key: record.NewSecret([]byte("ours")), Certificate: []byte{3}},
		Next: &record.Credential{Key: record.NewSecret([]byte("next"))},
	}
	l.put(t, peer)
	check := func(read *record.Peer) {
		t.Helper()
		require.NotNil(t, read)
		assert.Equal(t, "peer-u", read.Name)
		assert.Equal(t, peer.Invite.Hash, read.Invite.Hash)
		assert.Equal(t, "join", string(read.Join.Key.Reveal()))
		assert.Equal(t, "ours", string(read.Remote.Ours.Key.Reveal()))
		assert.Equal(t, "next", string(read.Remote.Next.Key.Reveal()))
		assert.Equal(t, peer.Remote.Keys, read.Remote.Keys)
		assert.Equal(t, peer.Remote.Trust, read.Remote.Trust)
		assert.True(t, at.Equal(read.Remote.PairedAt))
	}
	check(l.peer(t, "u"))
	check(l.peerOfToken(t, "t"))
	check(l.peerOfCluster(t, "c"))
	eventually(t, func() bool { return l.Peer("u") != nil }, "the record")
	check(l.Peer("u"))
	check(l.PeerOfCluster("c"))
	require.Len(t, l.Peers(), 1)
	check(l.Peers()[0])
}

func testCopies(t *testing.T, l ledger) {
	mine := inviting("u", "t")
	l.update(t, func(tx record.Tx) error {
		if err := tx.PutPeer(mine); err != nil {
			return err
		}
		mine.Name = "changed after it was put"
		defer func() { mine.Name = "peer-u" }()
		read, err := tx.Peer("u")
		if err != nil {
			return err
		}
		read.Name = "changed after it was read"
		read.Invite.TokenID = "other"
		return nil
	})
	for range 2 {
		read := l.peer(t, "u")
		assert.Equal(t, "peer-u", read.Name)
		assert.Equal(t, "t", read.Invite.TokenID)
		read.Invite.TokenID = "changed after the transaction"
	}
	l.update(t, func(tx record.Tx) error {
		first, err := tx.Peer("u")
		if err != nil {
			return err
		}
		first.Name = "changed"
		second, err := tx.Peer("u")
		if err == nil && second.Name == "changed" {
			return errors.New("what was read twice is shared")
		}
		return err
	})
}

func testOwnWrites(t *testing.T, l ledger) {
	l.put(t, inviting("old", "old-token"))
	l.update(t, func(tx record.Tx) error {
		peer := inviting("u", "t")
		peer.Remote = &record.Remote{ClusterUUID: "c"}
		err := errors.Join(tx.PutPeer(peer), tx.DeletePeer("old"),
			tx.PutTombstone(&record.Tombstone{Key: record.Digest{1}, ClusterUUID: "c"}),
			tx.PutAuthority(&record.Authority{Forced: true}),
			tx.PutIdentity(&record.Identity{ClusterUUID: "us"}))
		if err != nil {
			return err
		}
		read, err := tx.Peer("u")
		assert.NoError(t, err)
		assert.Equal(t, "u", uidOf(read))
		read, err = tx.PeerOfToken("t")
		assert.NoError(t, err)
		assert.Equal(t, "u", uidOf(read))
		read, err = tx.PeerOfCluster("c")
		assert.NoError(t, err)
		assert.Equal(t, "u", uidOf(read))
		read, err = tx.Peer("old")
		assert.NoError(t, err)
		assert.Nil(t, read)
		read, err = tx.PeerOfToken("old-token")
		assert.NoError(t, err)
		assert.Nil(t, read)
		tombstone, err := tx.Tombstone(record.Digest{1})
		assert.NoError(t, err)
		assert.NotNil(t, tombstone)
		authority, err := tx.Authority()
		assert.NoError(t, err)
		assert.True(t, authority != nil && authority.Forced)
		identity, err := tx.Identity()
		assert.NoError(t, err)
		assert.True(t, identity != nil && identity.ClusterUUID == "us")
		if err := tx.DeleteTombstone(record.Digest{1}); err != nil {
			return err
		}
		tombstone, err = tx.Tombstone(record.Digest{1})
		assert.NoError(t, err)
		assert.Nil(t, tombstone)
		return nil
	})
	assert.Nil(t, l.peer(t, "old"))
	eventually(t, func() bool { return l.Peer("u") != nil && l.Peer("old") == nil && l.Identity() != nil }, "the writes")
	assert.Empty(t, l.Tombstones())
}

func testErrors(t *testing.T, l ledger) {
	l.put(t, inviting("u", "t"))
	err := l.Update(t.Context(), func(tx record.Tx) error {
		return errors.Join(tx.PutPeer(inviting("v", "w")), tx.DeletePeer("u"), tx.PutIdentity(&record.Identity{ClusterUUID: "us"}), tx.MoveEpoch(), errNo)
	})
	require.ErrorIs(t, err, errNo)
	assert.NotNil(t, l.peer(t, "u"))
	assert.Nil(t, l.peer(t, "v"))
	assert.Nil(t, l.peerOfToken(t, "w"))
	assert.Zero(t, l.epoch(t))
	refusal := &record.Refusal{Reason: record.ClockSkew}
	err = l.Update(t.Context(), func(record.Tx) error { return refusal })
	assert.Equal(t, error(refusal), err, "it is returned as it is")
}

func testTokens(t *testing.T, l ledger) {
	l.put(t, inviting("u", "one"), inviting("v", "other"))
	assert.Equal(t, "u", uidOf(l.peerOfToken(t, "one")))
	l.put(t, inviting("u", "two"))
	assert.Equal(t, "u", uidOf(l.peerOfToken(t, "two")))
	assert.Nil(t, l.peerOfToken(t, "one"), "P5: an earlier token dies at once")
	used := inviting("u", "two")
	used.Invite.Use, used.Invite.Void = &record.Use{ClusterUUID: "c"}, true
	l.put(t, used)
	assert.Equal(t, "u", uidOf(l.peerOfToken(t, "two")), "who knows a dead token is told so")
	l.put(t, &record.Peer{UID: "u"})
	assert.Nil(t, l.peerOfToken(t, "two"))
	assert.Equal(t, "v", uidOf(l.peerOfToken(t, "other")))
	l.put(t, inviting("v", "two"))
	assert.Equal(t, "v", uidOf(l.peerOfToken(t, "two")))
}

func testClusters(t *testing.T, l ledger) {
	holds := func(cluster, uid string) {
		t.Helper()
		assert.Equal(t, uid, uidOf(l.peerOfCluster(t, cluster)))
		eventually(t, func() bool { return uidOf(l.PeerOfCluster(cluster)) == uid }, "who holds "+cluster)
	}
	l.put(t, joining("u", "c"))
	holds("c", "u")
	refused := joining("u", "c")
	refused.Join.Refused = &record.Refused{Reason: record.TokenRejected}
	l.put(t, refused)
	holds("c", "")
	both := joining("u", "other")
	both.Remote = &record.Remote{ClusterUUID: "c", Fault: record.PeerSuspended}
	l.put(t, both)
	holds("c", "u")
	holds("other", "")
	l.put(t, paired("u", "d"))
	holds("c", "")
	holds("d", "u")
	l.put(t, paired("u", ""))
	holds("d", "")
	holds("", "")

	// From one to another in one transaction, in both orders.
	l.put(t, paired("u", "x"))
	l.put(t, paired("u", "y"), paired("v", "x"))
	holds("x", "v")
	holds("y", "u")
	l.update(t, func(tx record.Tx) error { return errors.Join(tx.DeletePeer("v"), tx.PutPeer(paired("u", "x"))) })
	holds("x", "u")
	holds("y", "")
}

func testDuplicatePeer(t *testing.T, l ledger) {
	l.put(t, paired("u", "c"))
	for _, second := range []*record.Peer{paired("v", "c"), joining("v", "c")} {
		err := l.Update(t.Context(), func(tx record.Tx) error {
			if err := tx.PutIdentity(&record.Identity{ClusterUUID: "us"}); err != nil {
				return err
			}
			return tx.PutPeer(second)
		})
		var refusal *record.Refusal
		require.ErrorAs(t, err, &refusal, "P6: DuplicatePeer")
		assert.Equal(t, record.DuplicatePeer, refusal.Reason)
		assert.Equal(t, "v", refusal.UID)
		assert.Nil(t, l.peer(t, "v"))
	}
	assert.Equal(t, "u", uidOf(l.peerOfCluster(t, "c")))
	assert.Nil(t, l.Identity())

	// What was refused and handled leaves nothing, and what led to the record still does.
	l.put(t, inviting("v", "t"))
	l.update(t, func(tx record.Tx) error {
		second := inviting("v", "t2")
		second.Remote = &record.Remote{ClusterUUID: "c"}
		assert.Error(t, tx.PutPeer(second))
		return tx.MoveEpoch()
	})
	assert.Equal(t, "v", uidOf(l.peerOfToken(t, "t")))
	assert.Nil(t, l.peerOfToken(t, "t2"))
	l.put(t, paired("u", "c"))
	assert.Equal(t, "u", uidOf(l.peerOfCluster(t, "c")), "the same record may hold it again")
}

func testTokenCollision(t *testing.T, l ledger) {
	l.put(t, inviting("u", "t"))
	require.Error(t, l.Update(t.Context(), func(tx record.Tx) error { return tx.PutPeer(inviting("v", "t")) }))
	assert.Equal(t, "u", uidOf(l.peerOfToken(t, "t")))
}

func testDelete(t *testing.T, l ledger) {
	peer := inviting("u", "t")
	peer.Remote = &record.Remote{ClusterUUID: "c"}
	l.put(t, peer, paired("v", "d"))
	l.update(t, func(tx record.Tx) error { return tx.DeletePeer("u") })
	assert.Nil(t, l.peer(t, "u"))
	assert.Nil(t, l.peerOfToken(t, "t"))
	assert.Nil(t, l.peerOfCluster(t, "c"))
	eventually(t, func() bool { return l.Peer("u") == nil && l.PeerOfCluster("c") == nil && len(l.Peers()) == 1 }, "the deletion")
	l.put(t, paired("v", "c"))
	assert.Equal(t, "v", uidOf(l.peerOfCluster(t, "c")))
}

func testOtherRecords(t *testing.T, l ledger) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key := record.Digest{1, 2, 3}
	l.update(t, func(tx record.Tx) error {
		return errors.Join(
			tx.PutTombstone(&record.Tombstone{Key: key, ClusterUUID: "c", Until: until}),
			tx.PutTombstone(&record.Tombstone{Key: record.Digest{9}}),
			tx.PutIdentity(&record.Identity{ClusterUUID: "us"}),
			tx.PutAuthority(&record.Authority{
				Current: record.CA{Certificate: []byte{1}, Key: record.NewSecret([]byte("current"))},
				Next:    &record.CA{Certificate: []byte{2}, Key: record.NewSecret([]byte("next"))},
			}))
	})
	eventually(t, func() bool {
		return l.Tombstone(key) != nil && l.Authority() != nil && l.Identity() != nil && len(l.Tombstones()) == 2
	}, "the records")
	assert.Equal(t, "c", l.Tombstone(key).ClusterUUID)
	assert.True(t, until.Equal(l.Tombstone(key).Until))
	assert.Equal(t, "us", l.Identity().ClusterUUID)
	assert.Equal(t, "current", string(l.Authority().Current.Key.Reveal()))
	assert.Equal(t, "next", string(l.Authority().Next.Key.Reveal()))
	l.update(t, func(tx record.Tx) error {
		authority, err := tx.Authority()
		if err != nil {
			return err
		}
		authority.Forced = true
		return errors.Join(tx.PutAuthority(authority), tx.DeleteTombstone(key))
	})
	eventually(t, func() bool { return l.Tombstone(key) == nil && l.Authority().Forced }, "the change")
	assert.Equal(t, "current", string(l.Authority().Current.Key.Reveal()))
	assert.Len(t, l.Tombstones(), 1)
}

func testOddNames(t *testing.T, l ledger) {
	// P11: names come from other clusters.
	long := string(slices.Repeat([]byte("x"), 1<<16))
	for _, odd := range []string{"", "../authority", "a/b", "\x00", "ü", " ", long} {
		assert.Nil(t, l.Peer(odd))
		assert.Nil(t, l.PeerOfCluster(odd))
		assert.Nil(t, l.peer(t, odd))
		assert.Nil(t, l.peerOfToken(t, odd))
		assert.Nil(t, l.peerOfCluster(t, odd))
		put := func(peer *record.Peer) error {
			return l.Update(t.Context(), func(tx record.Tx) error { return tx.PutPeer(peer) })
		}
		assert.Error(t, put(&record.Peer{UID: odd}))
		if odd != "" {
			assert.Error(t, put(inviting("u", odd)))
			assert.Error(t, put(paired("u", odd)))
		}
		l.update(t, func(tx record.Tx) error { return tx.DeletePeer(odd) })
	}
	assert.Error(t, l.Update(t.Context(), func(tx record.Tx) error { return tx.PutTombstone(&record.Tombstone{}) }))
	assert.Nil(t, l.peer(t, "u"))
}

func testEpoch(t *testing.T, l ledger) {
	assert.Zero(t, l.epoch(t))
	var moved uint64
	l.update(t, func(tx record.Tx) error {
		before, err := tx.Epoch()
		if err != nil {
			return err
		}
		if err := tx.MoveEpoch(); err != nil {
			return err
		}
		moved, err = tx.Epoch()
		assert.Greater(t, moved, before, "a transaction sees that it moved")
		return err
	})
	assert.Equal(t, moved, l.epoch(t))
	l.put(t, inviting("u", "t"))
	assert.Equal(t, moved, l.epoch(t), "it moves when it is told to only")
	l.update(t, record.Tx.MoveEpoch)
	assert.Greater(t, l.epoch(t), moved)
}

func testChanged(t *testing.T, l ledger) {
	l.put(t, inviting("u", "t"), inviting("v", "w"))
	eventually(t, func() bool { return l.Peer("u") != nil && l.Peer("v") != nil }, "the records")
	closed := func(changed <-chan struct{}) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatal("a change was not told")
		}
	}
	u, again, v, none := l.Changed("u"), l.Changed("u"), l.Changed("v"), l.Changed("none")
	open := func(changed <-chan struct{}) {
		t.Helper()
		select {
		case <-changed:
			t.Error("a change was told that was none")
		default:
		}
	}
	open(u)
	l.put(t, inviting("u", "t2"))
	closed(u)
	closed(again)
	assert.Equal(t, "t2", l.Peer("u").Invite.TokenID, "who is told sees it")
	open(v)
	u = l.Changed("u")
	open(u)
	l.update(t, func(tx record.Tx) error { return tx.PutTombstone(&record.Tombstone{Key: record.Digest{1}}) })
	eventually(t, func() bool { return l.Tombstone(record.Digest{1}) != nil }, "the tombstone")
	open(u)
	l.update(t, func(tx record.Tx) error { return tx.DeletePeer("u") })
	closed(u)
	assert.Nil(t, l.Peer("u"))
	open(none)
	l.put(t, inviting("none", "x"))
	closed(none)
	open(v)
	u, none = l.Changed("u"), l.Changed("none")
	l.update(t, func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{Forced: true}) })
	closed(u)
	closed(v)
	closed(none)
	assert.True(t, l.Authority().Forced)
}

func testSubscribe(t *testing.T, l ledger) {
	var mu sync.Mutex
	told := map[string]int{}
	cancel := l.Subscribe(func(uid string) {
		// Who is told may read.
		if uid != "" && l.Peer(uid) == nil {
			uid = "-" + uid
		}
		mu.Lock()
		defer mu.Unlock()
		told[uid]++
	})
	count := func(uid string) int {
		mu.Lock()
		defer mu.Unlock()
		return told[uid]
	}
	l.put(t, inviting("u", "t"), inviting("v", "w"))
	eventually(t, func() bool { return count("u") > 0 && count("v") > 0 }, "two records")
	before := count("")
	l.update(t, func(tx record.Tx) error { return tx.PutTombstone(&record.Tombstone{Key: record.Digest{1}}) })
	eventually(t, func() bool { return count("") > before }, "a tombstone")
	before = count("")
	l.update(t, func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{}) })
	eventually(t, func() bool { return count("") > before }, "an authority")
	l.update(t, func(tx record.Tx) error { return tx.DeletePeer("u") })
	eventually(t, func() bool { return count("-u") > 0 }, "a deletion")

	cancel()
	seen := count("v")
	other := make(chan string, 100)
	defer l.Subscribe(func(uid string) { other <- uid })()
	l.put(t, inviting("v", "w2"))
	eventually(t, func() bool { return len(other) > 0 }, "another subscriber")
	assert.Equal(t, "v", <-other)
	assert.Equal(t, seen, count("v"), "it goes on after it was cancelled")
	cancel()
}

func testLostUpdate(t *testing.T, l ledger) {
	const writers, each = 8, 5
	l.put(t, &record.Peer{UID: "u"})
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				assert.NoError(t, l.Update(t.Context(), func(tx record.Tx) error {
					peer, err := tx.Peer("u")
					if err != nil {
						return err
					}
					peer.Offer.Generation++
					return errors.Join(tx.PutPeer(peer), tx.MoveEpoch())
				}))
			}
		})
	}
	group.Wait()
	assert.Equal(t, uint64(writers*each), l.peer(t, "u").Offer.Generation)
	assert.Equal(t, uint64(writers*each), l.epoch(t))
}

func testOneUse(t *testing.T, l ledger) {
	// P6: of any number of parallel redeems one wins.
	l.put(t, inviting("u", "t"))
	var mu sync.Mutex
	var won []string
	var group sync.WaitGroup
	for i := range 50 {
		cluster := fmt.Sprintf("cluster-%d", i)
		group.Go(func() {
			err := l.Update(t.Context(), func(tx record.Tx) error {
				peer, err := tx.PeerOfToken("t")
				if err != nil {
					return err
				}
				if peer.Invite.Use != nil {
					return errNo
				}
				peer.Invite.Use = &record.Use{ClusterUUID: cluster}
				peer.Remote = &record.Remote{ClusterUUID: cluster}
				return errors.Join(tx.PutPeer(peer), tx.MoveEpoch())
			})
			if err != nil {
				assert.ErrorIs(t, err, errNo)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			won = append(won, cluster)
		})
	}
	group.Wait()
	require.Len(t, won, 1)
	assert.Equal(t, won[0], l.peer(t, "u").Remote.ClusterUUID)
	assert.Equal(t, "u", uidOf(l.peerOfCluster(t, won[0])))
}

func testOneReservation(t *testing.T, l ledger) {
	// P6: of two ClusterPeers one holds a cluster.
	for i := range 10 {
		cluster := fmt.Sprintf("cluster-%d", i)
		var mu sync.Mutex
		var won []string
		var group sync.WaitGroup
		for _, uid := range []string{"u", "v"} {
			group.Go(func() {
				err := l.Update(t.Context(), func(tx record.Tx) error { return tx.PutPeer(paired(uid, cluster)) })
				var refusal *record.Refusal
				if err != nil {
					assert.ErrorAs(t, err, &refusal)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				won = append(won, uid)
			})
		}
		group.Wait()
		require.Len(t, won, 1)
		assert.Equal(t, won[0], uidOf(l.peerOfCluster(t, cluster)))
	}
}

func testContext(t *testing.T, l ledger) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Update(ctx, func(tx record.Tx) error { return tx.PutPeer(inviting("u", "t")) }), context.Canceled)
	assert.Nil(t, l.peer(t, "u"))
}
