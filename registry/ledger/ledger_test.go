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

package ledger

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// S1: the ledger in etcd does what every ledger does.
func TestS1Conforms(t *testing.T) {
	shared := newEnvironment(t)
	count := 0
	recordtest.Conform(t, func(t *testing.T) record.Ledger {
		count++
		e := *shared
		e.raw, e.epoch = nil, &epochs{}
		e.prefix = fmt.Sprintf("/registry/%d", count)
		return e.started(t)
	})
}

// P6: what wins, wins whichever replica was asked.
func TestP6OneOfManyReplicas(t *testing.T) {
	e := newEnvironment(t)
	var replicas []*Ledger
	for range 3 {
		replicas = append(replicas, e.started(t))
	}
	require.NoError(t, replicas[0].Update(t.Context(), putting(inviting("u", "t"))))
	var mu sync.Mutex
	var won []string
	var group sync.WaitGroup
	for i := range 30 {
		cluster := fmt.Sprintf("cluster-%d", i)
		group.Go(func() {
			err := replicas[i%len(replicas)].Update(t.Context(), func(tx record.Tx) error {
				peer, err := tx.PeerOfToken("t")
				if err != nil {
					return err
				}
				if peer.Invite.Use != nil {
					return &record.Refusal{Reason: record.TokenRejected}
				}
				peer.Invite.Use = &record.Use{ClusterUUID: cluster}
				return moving(putting(peer))(tx)
			})
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				won = append(won, cluster)
			}
		})
	}
	group.Wait()
	require.Len(t, won, 1)
	for _, l := range replicas {
		eventually(t, func() bool { p := l.Peer("u"); return p != nil && p.Invite.Use != nil }, "every replica knows")
		assert.Equal(t, won[0], l.Peer("u").Invite.Use.ClusterUUID)
	}
}

// R17: nothing can be read in the store, not in an index either.
func TestR17Encrypted(t *testing.T) {
	e := newEnvironment(t)
	l := e.started(t)
	const canary = "CANARY-c8d1"
	hash := record.Hash("uid-1", []byte(canary))
	peer := inviting("uid-1", "token-1")
	peer.Invite.Hash = hash
	peer.Name = canary
	peer.Remote = &record.Remote{ClusterUUID: "cluster-1", Ours: record.Credential{Key: record.NewSecret([]byte(canary))}}
	require.NoError(t, l.Update(t.Context(), func(tx record.Tx) error {
		for _, err := range []error{
			tx.PutPeer(peer), tx.MoveEpoch(),
			tx.PutAuthority(&record.Authority{Current: record.CA{Key: record.NewSecret([]byte(canary))}}),
			tx.PutIdentity(&record.Identity{ClusterUUID: canary}),
			tx.PutTombstone(&record.Tombstone{Key: record.Digest{1}, ClusterUUID: canary}),
			tx.PutGrant(&record.Grant{PeerUID: "uid-1", Capability: "logs", Objects: []record.GrantedObject{{Name: canary}}}),
			tx.PutGrantKey(&record.GrantKey{Key: record.NewSecret([]byte(canary))}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	}))
	dump := e.dump(t)
	for _, key := range []string{"peers/uid-1", "tokens/token-1", "clusters/cluster-1", "tombstones/" + record.Digest{1}.String(), "grants/uid-1:logs", "grantkey", "authority", "identity", "epoch"} {
		assert.Contains(t, dump, e.key(key))
	}
	assert.Len(t, dump, 9)
	for key, data := range dump {
		assert.True(t, strings.HasPrefix(data, "k8s:enc:"), key)
		for _, secret := range []string{canary, hash.String(), string(hash[:]), "Q0FOQVJZLWM4ZD", "uid-1", "record"} {
			assert.NotContains(t, data, secret, key)
		}
	}
}

// R17: `storage rewrite` encrypts the ledger anew, and a replica goes on to read it.
func TestR17Rewrite(t *testing.T) {
	e := newEnvironment(t)
	l := e.replica(t)
	require.NoError(t, l.Update(t.Context(), moving(putting(inviting("u", "t"), paired("v", "c")))))
	before := e.dump(t)
	result, err := encryption.Rewrite(t.Context(), e.encryption(t), e.client(t), encryption.RewriteOptions{NewKey: true})
	require.NoError(t, err)
	assert.Equal(t, len(before), result.Rewritten)
	for key, data := range e.dump(t) {
		assert.NotEqual(t, before[key], data)
	}
	after := e.started(t)
	assert.NotNil(t, after.Peer("u"))
	require.NoError(t, after.Update(t.Context(), func(tx record.Tx) error {
		peer, err := tx.PeerOfToken("t")
		assert.NotNil(t, peer)
		return err
	}))
}

// R17: what cannot be decrypted is an error, and never as if it were not there; and a
// value of one key says nothing under another.
func TestR17WhatCannotBeDecrypted(t *testing.T) {
	for _, damage := range []struct {
		what string
		do   func(t *testing.T, e *environment) string
	}{
		{"damaged", func(t *testing.T, e *environment) string { return e.dump(t)[e.key("peers/u")][:40] }},
		{"in the clear", func(*testing.T, *environment) string { return `{"record":{"uid":"u"}}` }},
		{"empty", func(*testing.T, *environment) string { return "" }},
		{"of another key", func(t *testing.T, e *environment) string { return e.dump(t)[e.key("peers/v")] }},
	} {
		t.Run(damage.what, func(t *testing.T) {
			e := newEnvironment(t)
			e.clock = clocktesting.NewFakeClock(time.Now()) // it does not become stale by itself
			l := e.started(t)
			require.NoError(t, l.Update(t.Context(), putting(inviting("u", "t"), inviting("v", "w"))))
			_, err := e.client(t).Put(t.Context(), e.key("peers/u"), damage.do(t, e))
			require.NoError(t, err)
			for what, change := range map[string]func(record.Tx) error{
				"peer":     func(tx record.Tx) error { _, err := tx.Peer("u"); return err },
				"of token": func(tx record.Tx) error { _, err := tx.PeerOfToken("t"); return err },
				"put":      putting(inviting("u", "t2")),
				"delete":   func(tx record.Tx) error { return tx.DeletePeer("u") },
			} {
				assert.ErrorContains(t, l.Update(t.Context(), change), e.key("peers/u"), what)
			}
			eventually(t, func() bool { return l.Fresh() != nil }, "S3: a view that cannot be kept is not fresh")
			assert.ErrorIs(t, l.Fresh(), record.ErrStale)

			_, err = e.client(t).Delete(t.Context(), e.key("peers/u"))
			require.NoError(t, err)
			eventually(t, func() bool { return l.Fresh() == nil && l.Peer("u") == nil }, "it heals")
			assert.NotNil(t, l.Peer("v"))
			err = l.Update(t.Context(), func(tx record.Tx) error { _, err := tx.PeerOfToken("t"); return err })
			assert.ErrorIs(t, err, errDamaged, "an index that leads nowhere is no answer")
		})
	}
}

// R17: nor is a grant that of another key.
func TestR17AGrantOfAnotherKey(t *testing.T) {
	e := newEnvironment(t)
	l := e.replica(t)
	key := e.key("grants/u:logs")
	plain, err := record.Encode(&record.Grant{PeerUID: "u", Capability: "backup", Objects: []record.GrantedObject{{Name: "n"}}})
	require.NoError(t, err)
	sealed, err := l.sealer.seal(t.Context(), key, plain)
	require.NoError(t, err)
	_, err = e.client(t).Put(t.Context(), key, sealed)
	require.NoError(t, err)
	require.ErrorIs(t, l.Update(t.Context(), func(tx record.Tx) error { _, err := tx.Grant("u", "logs"); return err }), errDamaged)
}

// R17: nor does an index lead to a record that does not bear it out.
func TestR17AnIndexThatIsWrong(t *testing.T) {
	e := newEnvironment(t)
	l := e.replica(t)
	require.NoError(t, l.Update(t.Context(), putting(inviting("u", "t"), paired("v", "c"))))
	for _, key := range []string{e.key("tokens/t2"), e.key("clusters/c2")} {
		sealed, err := l.sealer.seal(t.Context(), key, []byte("u"))
		require.NoError(t, err)
		_, err = e.client(t).Put(t.Context(), key, sealed)
		require.NoError(t, err)
	}
	require.ErrorIs(t, l.Update(t.Context(), func(tx record.Tx) error { _, err := tx.PeerOfToken("t2"); return err }), errDamaged)
	require.ErrorIs(t, l.Update(t.Context(), func(tx record.Tx) error { _, err := tx.PeerOfCluster("c2"); return err }), errDamaged)
}

// Update reads its own write: who returns from it sees it in the reader.
func TestUpdateIsSeenByTheReader(t *testing.T) {
	l := newEnvironment(t).started(t)
	for i := range 50 {
		token := fmt.Sprintf("token-%d", i)
		require.NoError(t, l.Update(t.Context(), putting(inviting("u", token))))
		require.Equal(t, token, l.Peer("u").Invite.TokenID)
	}
}

// What is written again as it is, is not written.
func TestUpdateWritesNothingNew(t *testing.T) {
	e := newEnvironment(t)
	l := e.started(t)
	peer := inviting("u", "t")
	require.NoError(t, l.Update(t.Context(), putting(peer)))
	before := e.dump(t)
	require.NoError(t, l.Update(t.Context(), putting(peer)))
	assert.Equal(t, before, e.dump(t))
}

// A panic of a change is one of whoever called Update, not the end of the process.
func TestUpdatePanics(t *testing.T) {
	e := newEnvironment(t)
	l := e.started(t)
	assert.PanicsWithValue(t, "ouch", func() {
		_ = l.Update(t.Context(), func(tx record.Tx) error {
			_ = tx.PutPeer(inviting("u", "t"))
			panic("ouch")
		})
	})
	assert.Empty(t, e.dump(t))
	require.NoError(t, l.Update(t.Context(), putting(inviting("u", "t"))))
}

func TestRunLeavesNothingBehind(t *testing.T) {
	e := newEnvironment(t)
	transformers := e.transformers(t)
	life := func() {
		l, err := New(Config{Client: connect(t, e.endpoint), Prefix: e.prefix, Transformers: transformers, Epoch: e.epoch})
		require.NoError(t, err)
		stop := run(t, l)
		<-l.Synced()
		require.NoError(t, l.Update(t.Context(), moving(putting(inviting("u", "t")))))
		stop()
		assert.ErrorIs(t, l.Fresh(), record.ErrStale, "S3")
		require.NoError(t, l.client.Close())
	}
	life() // what etcd starts when it first serves stays
	before := goleak.IgnoreCurrent()
	life()
	goleak.VerifyNone(t, before)
}

func TestNewWantsAll(t *testing.T) {
	_, err := New(Config{Prefix: "/registry"})
	require.Error(t, err)
}
