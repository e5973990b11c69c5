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

package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid     = "11111111-0000-4000-8000-000000000001"
	other   = "11111111-0000-4000-8000-000000000002"
	east    = "aaaaaaaa-0000-4000-8000-000000000001"
	west    = "bbbbbbbb-0000-4000-8000-000000000002"
	north   = "cccccccc-0000-4000-8000-000000000003"
	tokenID = "0001020304050607"
)

var (
	noon  = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	token = bytes.Repeat([]byte("t"), 32)
)

func key(name byte) record.Digest { return record.Digest{name} }

// book is a ledger, and what its ClusterPeers say.
type book struct {
	t *testing.T
	*recordtest.Memory
	specs map[string]record.Spec
}

func newBook(t *testing.T) *book {
	return &book{t: t, Memory: recordtest.New(), specs: map[string]record.Spec{uid: {}, other: {}}}
}

func (b *book) spec(uid string) (record.Spec, bool) {
	spec, ok := b.specs[uid]
	return spec, ok
}

func (b *book) do(change func(record.Tx) error) error {
	b.t.Helper()
	return b.Update(b.t.Context(), change)
}

func (b *book) must(change func(record.Tx) error) {
	b.t.Helper()
	require.NoError(b.t, b.do(change))
}

// minted is a book with an open invite.
func minted(t *testing.T) *book {
	b := newBook(t)
	b.must(func(tx record.Tx) error { return record.Mint(tx, minting(uid, tokenID, "")) })
	b.must(func(tx record.Tx) error { return record.Deliver(tx, uid, tokenID) })
	return b
}

func minting(uid, id, replaces string) record.Minting {
	return record.Minting{UID: uid, Name: "west", TokenID: id, Replaces: replaces, Hash: record.Hash(uid, token), Now: noon, Expires: noon.Add(time.Hour)}
}

func redemption(now time.Time) record.Redemption {
	return record.Redemption{
		TokenID: tokenID, Token: record.NewSecret(token), Ours: east, Now: now,
		Self:    protocol.Self{ClusterUUID: west, Time: now.Unix()},
		Control: record.NewSecret([]byte("control")),
		Key: record.Key{
			Hash: key(1), Role: record.RoleControl, Serial: []byte{1}, Issuer: key(9),
			NotBefore: now.Add(-record.KeyBackdate), NotAfter: now.Add(record.KeyLife),
		},
	}
}

func (b *book) redeem(r record.Redemption) (peer *record.Peer, k *record.Key, err error) {
	b.t.Helper()
	err = b.do(func(tx record.Tx) (err error) {
		peer, k, err = record.Redeem(tx, b.spec, r)
		return err
	})
	return peer, k, err
}

func (b *book) refused(err error, reason record.Reason, known bool) {
	b.t.Helper()
	var refusal *record.Refusal
	require.ErrorAs(b.t, err, &refusal)
	assert.Equal(b.t, reason, refusal.Reason)
	assert.Equal(b.t, known, refusal.Known, "P6: who may be told why")
}

// paired is a book with a confirmed peer.
func paired(t *testing.T) *book {
	b := minted(t)
	_, _, err := b.redeem(redemption(noon))
	require.NoError(t, err)
	b.must(func(tx record.Tx) error { return record.Confirm(tx, uid, key(1), noon) })
	return b
}

// P5: a token is minted once, replaced by its ID only, and each minting moves the epoch.
func TestP5Mint(t *testing.T) {
	b := newBook(t)
	b.must(func(tx record.Tx) error { return record.Mint(tx, minting(uid, tokenID, "")) })
	assert.EqualValues(t, 1, b.Epoch(), "S2")
	require.True(t, b.Peer(uid).Invite.Open(noon))
	assert.False(t, b.Peer(uid).Invite.Open(noon.Add(time.Hour)), "expired at its expiry")

	b.must(func(tx record.Tx) error { return record.Mint(tx, minting(uid, "aa01020304050607", "")) })
	assert.Equal(t, "aa01020304050607", b.Peer(uid).Invite.TokenID, "one that reached nobody may be replaced")
	b.must(func(tx record.Tx) error { return record.Deliver(tx, uid, tokenID) })
	assert.False(t, b.Peer(uid).Invite.Delivered, "another token was delivered")
	b.must(func(tx record.Tx) error { return record.Deliver(tx, uid, "aa01020304050607") })

	for _, replaces := range []string{"", tokenID} {
		err := b.do(func(tx record.Tx) error { return record.Mint(tx, minting(uid, "bb01020304050607", replaces)) })
		require.ErrorIs(t, err, record.ErrMinted, "replaces %q", replaces)
	}
	b.must(func(tx record.Tx) error {
		return record.Mint(tx, minting(uid, "bb01020304050607", "aa01020304050607"))
	})
	b.must(func(tx record.Tx) error { return record.Deliver(tx, uid, "bb01020304050607") })
	require.ErrorIs(t, b.do(func(tx record.Tx) error {
		return record.Mint(tx, minting(uid, "cc01020304050607", "aa01020304050607"))
	}), record.ErrMinted, "of two renewals one mints")

	r := redemption(noon)
	r.TokenID = "aa01020304050607"
	_, _, err := b.redeem(r)
	b.refused(err, record.TokenRejected, false)
}

// P5: the hash binds the token to one object, not to its name.
func TestP5Hash(t *testing.T) {
	assert.NotEqual(t, record.Hash(uid, token), record.Hash(other, token))
	assert.NotEqual(t, record.Hash("a", []byte("bc")), record.Hash("ab", []byte("c")))
}

// P6: what a redeem is refused for, who is told why, and that nothing is stored then.
func TestP6RedeemRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*book, *record.Redemption)
		reason record.Reason
		known  bool
	}{
		{"unknown ID", func(_ *book, r *record.Redemption) { r.TokenID = "ff01020304050607" }, record.TokenRejected, false},
		{"wrong token", func(_ *book, r *record.Redemption) { r.Token = record.NewSecret(bytes.Repeat([]byte("u"), 32)) }, record.TokenRejected, false},
		{"no token", func(_ *book, r *record.Redemption) { r.Token = record.Secret{} }, record.TokenRejected, false},
		{"object gone", func(b *book, _ *record.Redemption) { delete(b.specs, uid) }, record.TokenRejected, true},
		{"S3: object going", func(b *book, _ *record.Redemption) { b.specs[uid] = record.Spec{Deleting: true} }, record.TokenRejected, true},
		{"expired", func(_ *book, r *record.Redemption) { r.Now = noon.Add(time.Hour) }, record.InviteExpired, true},
		{"ourselves", func(_ *book, r *record.Redemption) { r.Self.ClusterUUID = east }, record.SelfPeering, true},
		{"another than expected", func(b *book, _ *record.Redemption) { b.specs[uid] = record.Spec{ExpectedClusterUUID: north} }, record.UUIDMismatch, true},
		{"a day ahead", func(_ *book, r *record.Redemption) { r.Self.Time = noon.Add(24 * time.Hour).Unix() }, record.ClockSkew, true},
		{"a day behind", func(_ *book, r *record.Redemption) { r.Self.Time = noon.Add(-24 * time.Hour).Unix() }, record.ClockSkew, true},
		{"held by another ClusterPeer", func(b *book, _ *record.Redemption) {
			b.must(func(tx record.Tx) error {
				return tx.PutPeer(&record.Peer{UID: other, Remote: &record.Remote{ClusterUUID: west}})
			})
		}, record.DuplicatePeer, true},
		{"void", func(b *book, _ *record.Redemption) {
			b.must(func(tx record.Tx) error {
				peer, err := tx.Peer(uid)
				if err != nil {
					return err
				}
				peer.Invite.Void = true
				return tx.PutPeer(peer)
			})
		}, record.TokenRejected, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := minted(t)
			r := redemption(noon)
			test.change(b, &r)
			before, epoch := *b.Peer(uid), b.Epoch()
			_, _, err := b.redeem(r)
			b.refused(err, test.reason, test.known)
			assert.Equal(t, before.Invite, b.Peer(uid).Invite, "the token was used up, or something was stored")
			assert.Nil(t, b.Peer(uid).Remote)
			assert.Equal(t, epoch, b.Epoch())
		})
	}
}

// P6: used once, the UUID reserved in the same transaction; the same key and UUID get
// the same answer for ten minutes, nobody else gets any.
func TestP6RedeemOnce(t *testing.T) {
	b := minted(t)
	epoch := b.Epoch()
	r := redemption(noon.Add(59 * time.Minute))
	r.Self.Endpoints = []string{"https://west.example.com"}
	peer, k, err := b.redeem(r)
	require.NoError(t, err)
	assert.Equal(t, epoch+1, b.Epoch(), "S2: a use moves the epoch")
	assert.Equal(t, b.Epoch(), peer.Offer.Epoch, "P10: a pairing begins an epoch of offers")
	assert.Equal(t, uid, b.PeerOfCluster(west).UID)
	assert.Equal(t, key(1), k.Hash)
	assert.Equal(t, record.RoleControl, k.Role)
	assert.Equal(t, r.Now.Add(30*24*time.Hour), k.NotAfter, "P2")
	assert.False(t, peer.Live(), "P7: pending")
	assert.False(t, b.Peer(uid).Invite.Open(r.Now))

	again := r
	again.Now, again.Key.Serial, again.Control = r.Now.Add(10*time.Minute), []byte{2}, record.NewSecret([]byte("other"))
	repeated, k2, err := b.redeem(again)
	require.NoError(t, err, "a lost answer")
	assert.Equal(t, k, k2)
	assert.Equal(t, peer.Remote.Ours.Key.Reveal(), repeated.Remote.Ours.Key.Reveal())
	assert.Equal(t, epoch+1, b.Epoch())

	for name, change := range map[string]func(*record.Redemption){
		"too late":        func(r *record.Redemption) { r.Now = noon.Add(59*time.Minute + 10*time.Minute + time.Second) },
		"another key":     func(r *record.Redemption) { r.Key.Hash = key(2) },
		"another cluster": func(r *record.Redemption) { r.Self.ClusterUUID = north },
	} {
		second := r
		change(&second)
		_, _, err := b.redeem(second)
		b.refused(err, record.TokenRejected, true)
		assert.Equal(t, key(1), b.Peer(uid).Invite.Use.Key, name)
	}
}

// P12: a ClusterPeer that holds a cluster takes another one only after that one left.
func TestP12OneCluster(t *testing.T) {
	b := paired(t)
	b.must(func(tx record.Tx) error { return record.Mint(tx, minting(uid, "bb01020304050607", tokenID)) })
	r := redemption(noon)
	r.TokenID, r.Self.ClusterUUID, r.Key.Hash = "bb01020304050607", north, key(3)
	_, _, err := b.redeem(r)
	b.refused(err, record.UUIDMismatch, true)

	b.must(func(tx record.Tx) error { return record.Leave(tx, uid, noon) })
	assert.Equal(t, record.PeerLeft, b.Peer(uid).Remote.Fault)
	assert.NotNil(t, b.Tombstone(key(1)))
	_, _, err = b.redeem(r)
	require.NoError(t, err, "a new invite works without manual cleaning")
	assert.Nil(t, b.PeerOfCluster(west))
	assert.Equal(t, uid, b.PeerOfCluster(north).UID)
}

// P6: the same ClusterPeer re-pairs by renewing; the keys of before are good for nothing.
func TestP6RepairByRenewing(t *testing.T) {
	b := paired(t)
	b.must(func(tx record.Tx) error { return record.Mint(tx, minting(uid, "bb01020304050607", tokenID)) })
	r := redemption(noon)
	r.TokenID, r.Key.Hash = "bb01020304050607", key(3)
	_, _, err := b.redeem(r)
	require.NoError(t, err)
	err = b.Peer(uid).Authorize(west, key(1), record.RoleControl, false, noon)
	b.refused(err, record.TokenRejected, false)
}

// P6: the owner sees who was refused; the same again within a minute writes nothing.
func TestP6RefusedIsNoted(t *testing.T) {
	b := minted(t)
	note := func(reason record.Reason, at time.Time) {
		b.must(func(tx record.Tx) error {
			return record.Refuse(tx, uid, tokenID, record.Refused{Reason: reason, ClusterUUID: west, At: at})
		})
	}
	note(record.UUIDMismatch, noon)
	note(record.UUIDMismatch, noon.Add(59*time.Second))
	assert.Equal(t, noon, b.Peer(uid).Invite.Refused.At)
	note(record.DuplicatePeer, noon.Add(59*time.Second))
	assert.Equal(t, noon, b.Peer(uid).Invite.Refused.At, "nor does another: whoever holds a token could have us write without end")
	note(record.DuplicatePeer, noon.Add(time.Minute))
	assert.Equal(t, record.DuplicatePeer, b.Peer(uid).Invite.Refused.Reason)
	_, _, err := b.redeem(redemption(noon))
	require.NoError(t, err)
	assert.Nil(t, b.Peer(uid).Invite.Refused, "it is past when the invite is used")
}

// P7: a pairing that is never confirmed is undone after 15 minutes, and not before.
func TestP7Undo(t *testing.T) {
	b := minted(t)
	_, _, err := b.redeem(redemption(noon))
	require.NoError(t, err)
	var done bool
	undo := func(now time.Time) bool {
		b.must(func(tx record.Tx) (err error) { done, err = record.Undo(tx, uid, now); return err })
		return done
	}
	assert.False(t, undo(noon.Add(15*time.Minute-time.Second)))
	epoch := b.Epoch()
	assert.True(t, undo(noon.Add(15*time.Minute)))
	assert.Greater(t, b.Epoch(), epoch)
	assert.Nil(t, b.PeerOfCluster(west))
	assert.NotNil(t, b.Peer(uid).Invite.Use, "the token stays used")

	b = paired(t)
	assert.False(t, undo(noon.Add(time.Hour)))
	assert.True(t, b.Peer(uid).Live())
}

func joining(text record.Digest, cluster string) record.Joining {
	return record.Joining{UID: uid, Name: "east", String: text, TokenID: tokenID, ClusterUUID: cluster, ExpiresAt: noon.Add(time.Hour), Ours: west, Key: record.NewSecret([]byte("key of " + text.String()))}
}

func (b *book) join(j record.Joining) (peer *record.Peer, err error) {
	b.t.Helper()
	err = b.do(func(tx record.Tx) (err error) { peer, err = record.StartJoin(tx, j); return err })
	return peer, err
}

func joined(text record.Digest) record.Joined {
	return record.Joined{UID: uid, String: text, Now: noon, Time: noon.Unix(), Certificate: []byte("certificate"), NotAfter: noon.Add(record.KeyLife), Key: record.Key{Hash: key(5), Role: record.RoleControl}}
}

// P6, P8: a join that was interrupted goes on with the key that it began with; another
// string pairs anew with the same cluster only.
func TestP8Join(t *testing.T) {
	b := newBook(t)
	first, err := b.join(joining(key(1), east))
	require.NoError(t, err)
	begun := joining(key(1), east)
	begun.Key = record.NewSecret([]byte("another"))
	again, err := b.join(begun)
	require.NoError(t, err)
	assert.Equal(t, first.Join.Key.Reveal(), again.Join.Key.Reveal())
	assert.Equal(t, uid, b.PeerOfCluster(east).UID, "the UUID is reserved before anybody is dialled")

	elsewhere := joining(key(1), east)
	elsewhere.UID = other
	_, err = b.join(elsewhere)
	b.refused(err, record.DuplicatePeer, true)
	self := joining(key(3), west)
	_, err = b.join(self)
	b.refused(err, record.SelfPeering, true)
	unexpected := joining(key(3), east)
	unexpected.Expected = north
	_, err = b.join(unexpected)
	b.refused(err, record.UUIDMismatch, true)

	b.must(func(tx record.Tx) error { return record.CompleteJoin(tx, joined(key(1))) })
	peer := b.Peer(uid)
	assert.True(t, peer.Join.Done)
	assert.Equal(t, first.Join.Key.Reveal(), peer.Remote.Ours.Key.Reveal())
	assert.Equal(t, b.Epoch(), peer.Offer.Epoch)
	epoch := b.Epoch()
	b.must(func(tx record.Tx) error { return record.CompleteJoin(tx, joined(key(1))) })
	assert.Equal(t, epoch, b.Epoch(), "once")
	b.must(func(tx record.Tx) error { return record.RefuseJoin(tx, uid, key(1), record.TokenRejected, noon) })
	assert.Nil(t, b.Peer(uid).Join.Refused, "it was not refused, it is done")

	_, err = b.join(joining(key(4), north))
	b.refused(err, record.UUIDMismatch, true)
	_, err = b.join(joining(key(4), east))
	require.NoError(t, err)
	require.NotNil(t, b.Peer(uid).Remote, "the old pairing counts until the new one is there")
	b.must(func(tx record.Tx) error { return record.RefuseJoin(tx, uid, key(4), record.TokenRejected, noon) })
	assert.Equal(t, record.TokenRejected, b.Peer(uid).Join.Refused.Reason)
	err = b.do(func(tx record.Tx) error { return record.CompleteJoin(tx, joined(key(4))) })
	b.refused(err, record.TokenRejected, false)
	kept, err := b.join(joining(key(4), east))
	require.NoError(t, err)
	assert.NotNil(t, kept.Join.Refused, "the same string is not tried again")
	assert.Equal(t, key(5), b.Peer(uid).Remote.Keys[0].Hash)
}

// P12: what is deleted lets nobody in, is remembered for 60 days, and frees the cluster.
func TestP12Remove(t *testing.T) {
	b := paired(t)
	epoch := b.Epoch()
	b.must(func(tx record.Tx) error { return record.Remove(tx, uid, noon) })
	assert.Nil(t, b.Peer(uid))
	assert.Nil(t, b.PeerOfCluster(west))
	assert.Equal(t, noon.Add(60*24*time.Hour), b.Tombstone(key(1)).Until)
	assert.Greater(t, b.Epoch(), epoch)
	b.must(func(tx record.Tx) error { return record.Remove(tx, uid, noon) })

	r := redemption(noon)
	_, _, err := b.redeem(r)
	b.refused(err, record.TokenRejected, false)
}

func TestSuspend(t *testing.T) {
	b := paired(t)
	b.must(func(tx record.Tx) error { return record.Suspend(tx, uid, record.ClonedPeer) })
	b.must(func(tx record.Tx) error { return record.Suspend(tx, uid, record.PeerSuspended) })
	assert.Equal(t, record.ClonedPeer, b.Peer(uid).Remote.Fault, "the first reason stays")
	assert.False(t, b.Peer(uid).Live())
}

// R15, S1: records print without their keys, and keep them when they are stored.
func TestR15RecordsPrintRedacted(t *testing.T) {
	const canary = "CANARYprivatekey"
	secret := record.NewSecret([]byte(canary))
	peer := &record.Peer{
		UID: uid, Join: &record.Join{Key: secret},
		Remote: &record.Remote{Ours: record.Credential{Key: secret}, Next: &record.Credential{Key: secret}},
	}
	authority := &record.Authority{Current: record.CA{Key: secret}, Next: &record.CA{Key: secret}, Previous: []record.CA{{Key: secret}}}
	for _, value := range []any{peer, *peer, authority, *authority, secret, &secret, struct{ hidden record.Secret }{secret}, map[string]any{"a": peer}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
			text := fmt.Sprintf(verb, value)
			assert.NotContains(t, text, canary, verb)
			assert.NotContains(t, text, fmt.Sprintf("%x", canary), verb)
		}
		data, err := json.Marshal(value)
		require.NoError(t, err)
		assert.NotContains(t, string(data), canary)
		assert.NotContains(t, string(data), "Q0FOQVJZ", "base64")
	}

	copied, err := peer.Clone()
	require.NoError(t, err)
	assert.Equal(t, canary, string(copied.Join.Key.Reveal()))
	assert.Equal(t, canary, string(copied.Remote.Next.Key.Reveal()))
	ca, err := authority.Clone()
	require.NoError(t, err)
	assert.Equal(t, canary, string(ca.Previous[0].Key.Reveal()))
}

func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{"", "{}", "null", `{"record":{"join":{}}}`, `{"record":{},"secrets":["YQ=="]}`, `{"record":{"invite":{"hash":"CANARY"}}}`} {
		err := record.Decode([]byte(data), &record.Peer{})
		if data == "{}" || data == "null" {
			require.Error(t, err, data)
			continue
		}
		require.Error(t, err, data)
		assert.NotContains(t, err.Error(), "CANARY")
	}
	var refusal *record.Refusal
	assert.True(t, errors.As(fmt.Errorf("could not: %w", &record.Refusal{Reason: record.PeerLeft}), &refusal))
	assert.True(t, strings.HasSuffix(refusal.Error(), "PeerLeft"))
}
