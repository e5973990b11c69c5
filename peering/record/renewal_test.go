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
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// joinedBook is a book with a peer that was joined.
func joinedBook(t *testing.T) *book {
	b := newBook(t)
	_, err := b.join(joining(key(1), east))
	require.NoError(t, err)
	j := joined(key(1))
	j.Key.NotBefore, j.Key.NotAfter, j.Key.Issuer = noon, noon.Add(record.KeyLife), key(90)
	b.must(func(tx record.Tx) error { return record.CompleteJoin(tx, j) })
	return b
}

// P2: a certificate is renewed at 60 to 70 % of its life; not all at the same point, and
// one always at the same.
func TestP2RenewAt(t *testing.T) {
	points := map[time.Time]bool{}
	for i := range 200 {
		c := record.Credential{Certificate: fmt.Append(nil, i), NotBefore: noon, NotAfter: noon.Add(record.KeyLife)}
		at := c.RenewAt()
		part := float64(at.Sub(noon)) / float64(record.KeyLife)
		assert.GreaterOrEqual(t, part, 0.6)
		assert.Less(t, part, 0.7)
		assert.Equal(t, at, c.RenewAt())
		points[at] = true
	}
	assert.Greater(t, len(points), 190)
	assert.Zero(t, record.Credential{NotAfter: noon}.RenewAt(), "nothing to renew")
}

// P2, S2: one key is made to take the place of ours, whoever asks for it, and a copy of
// the store from before that is recognised.
func TestP2StartRenewal(t *testing.T) {
	b := joinedBook(t)
	epoch := b.Epoch()
	start := func(certificate, key string) {
		b.must(func(tx record.Tx) error {
			return record.StartRenewal(tx, uid, []byte(certificate), record.NewSecret([]byte(key)))
		})
	}
	start("one before", "a")
	require.Nil(t, b.Peer(uid).Remote.Next, "that one is not in use")
	start("certificate", "b")
	start("certificate", "c")
	assert.Equal(t, "b", string(b.Peer(uid).Remote.Next.Key.Reveal()))
	assert.Equal(t, epoch+1, b.Epoch())

	b = paired(t)
	start("", "d")
	assert.Nil(t, b.Peer(uid).Remote.Next, "ours was never certified")
	b.must(func(tx record.Tx) error { return record.StartRenewal(tx, other, nil, record.Secret{}) })
}

func (b *book) asked(hash record.Digest, issuer record.Digest, now time.Time) (k *record.Key, err error) {
	b.t.Helper()
	err = b.do(func(tx record.Tx) (err error) {
		k, err = record.Asked(tx, uid, record.Key{
			Hash: hash, Role: record.RoleControl, Serial: []byte{7}, Issuer: issuer, NotBefore: now, NotAfter: now.Add(record.KeyLife),
		}, now)
		return err
	})
	return k, err
}

// P2, P7: the key that is known is certified again as it was, and another one takes its
// place when that is about due.
func TestP2Asked(t *testing.T) {
	b := joinedBook(t)
	k, err := b.asked(key(5), key(90), noon)
	require.NoError(t, err)
	assert.Equal(t, b.Peer(uid).Remote.Keys[0], *k, "the same certificate")
	epoch := b.Epoch()

	k, err = b.asked(key(5), key(91), noon)
	require.NoError(t, err)
	assert.Equal(t, key(91), k.Issuer, "the authority that signed does not any more")
	assert.Equal(t, []byte{7}, b.Peer(uid).Remote.Keys[0].Serial)
	assert.Greater(t, b.Epoch(), epoch, "S2")

	_, err = b.asked(key(6), key(91), noon.Add(record.KeyLife/2-time.Second))
	b.refused(err, record.TokenRejected, false)
	assert.Len(t, b.Peer(uid).Remote.Keys, 1, "P11: a peer cannot have keys certified without end")

	k, err = b.asked(key(6), key(91), noon.Add(record.KeyLife/2))
	require.NoError(t, err)
	assert.Equal(t, key(6), k.Hash)
	assert.Equal(t, key(6), b.Peer(uid).Remote.Key(key(5)).Successor)
	again, err := b.asked(key(6), key(91), noon.Add(record.KeyLife/2+time.Minute))
	require.NoError(t, err)
	assert.Equal(t, k, again)

	b.must(func(tx record.Tx) error { return record.Confirm(tx, uid, key(6), noon) })
	_, err = b.asked(key(5), key(91), noon)
	b.refused(err, record.TokenRejected, false)

	ended := noon.Add(2 * record.KeyLife)
	k, err = b.asked(key(6), key(91), ended)
	require.NoError(t, err)
	assert.Equal(t, ended.Add(record.KeyLife), k.NotAfter, "it never got the certificate of its key")

	b.must(func(tx record.Tx) error { return record.Suspend(tx, uid, record.PeerSuspended) })
	_, err = b.asked(key(6), key(91), noon)
	b.refused(err, record.TokenRejected, false)
}

// P2, P11: a peer that renews without end is refused at some point.
func TestP11ControlKeys(t *testing.T) {
	b := paired(t)
	for i := byte(2); i <= record.MaxControlKeys; i++ {
		_, err := b.renew(key(i-1), key(i), record.RoleControl, noon)
		require.NoError(t, err)
	}
	_, err := b.renew(key(record.MaxControlKeys), key(100), record.RoleControl, noon)
	b.refused(err, record.TokenRejected, true)
	assert.Len(t, b.Peer(uid).Remote.Keys, record.MaxControlKeys)
	_, err = b.renew(key(record.MaxControlKeys-1), key(record.MaxControlKeys), record.RoleControl, noon)
	require.NoError(t, err, "the same once more is the same")

	k, err := b.renew(key(record.MaxControlKeys), key(100), record.RoleControl, noon.Add(record.KeyLife+record.KeyGrace))
	require.NoError(t, err, "the old ones are forgotten")
	assert.NotNil(t, k)
}

// P7: the joiner's side of a pairing is confirmed once.
func TestP7Confirmed(t *testing.T) {
	b := joinedBook(t)
	for _, now := range []time.Time{noon, noon.Add(time.Hour)} {
		b.must(func(tx record.Tx) error { return record.Confirmed(tx, uid, now) })
		assert.Equal(t, noon, b.Peer(uid).Remote.ConfirmedAt)
	}
	b.must(func(tx record.Tx) error { return record.Confirmed(tx, other, noon) })
	assert.Nil(t, b.Peer(other))
}

// P9: since when a peer is out of reach does not move.
func TestP9LoseSight(t *testing.T) {
	b := paired(t)
	for _, now := range []time.Time{noon, noon.Add(time.Hour)} {
		b.must(func(tx record.Tx) error { return record.LoseSight(tx, uid, now) })
		assert.Equal(t, noon, b.Peer(uid).Remote.Unreachable)
	}
	b.must(func(tx record.Tx) error { return record.LoseSight(tx, other, noon) })
}

// A fault that may heal gives way to another one; one that is final stays.
func TestFaults(t *testing.T) {
	b := paired(t)
	suspend := func(reason record.Reason) record.Reason {
		b.must(func(tx record.Tx) error { return record.Suspend(tx, uid, reason) })
		return b.Peer(uid).Remote.Fault
	}
	assert.Equal(t, record.UUIDMismatch, suspend(record.UUIDMismatch))
	assert.Equal(t, record.TrustExpired, suspend(record.TrustExpired))
	epoch := b.Epoch()
	assert.Equal(t, record.TrustExpired, suspend(record.TrustExpired))
	assert.Equal(t, epoch, b.Epoch(), "nothing changed")
	assert.Equal(t, record.PeerSuspended, suspend(record.PeerSuspended))
	assert.Equal(t, record.PeerSuspended, suspend(record.TrustExpired))
	for _, reason := range []record.Reason{record.PeerSuspended, record.PeerLeft, record.ClonedPeer} {
		assert.True(t, reason.Final())
		assert.False(t, reason.Heals())
	}
	assert.False(t, record.Reason("").Final() || record.Reason("").Heals())
}

// P10: an offer is counted when it is another one, and in the epoch of its pairing. S2:
// each change moves the epoch of the store, so that a copy from before is recognisable.
func TestP10SetOffer(t *testing.T) {
	b := newBook(t)
	set := func(body protocol.Offer) (changed bool) {
		b.must(func(tx record.Tx) (err error) { changed, err = record.SetOffer(tx, uid, body); return err })
		return changed
	}
	require.False(t, set(protocol.Offer{Alias: "east"}))
	require.Nil(t, b.Peer(uid), "who has no record is offered nothing")

	assert.Zero(t, b.Epoch())

	b = minted(t)
	epoch := b.Epoch()
	require.True(t, set(protocol.Offer{}), "an offer of nothing is one, too")
	first := b.Peer(uid).Offer
	assert.Equal(t, protocol.OfferHeader{Epoch: epoch, Generation: 1, Digest: protocol.Offer{}.Digest()}, first.OfferHeader)
	assert.Equal(t, epoch+1, b.Epoch())
	require.False(t, set(protocol.Offer{}))
	assert.Equal(t, epoch+1, b.Epoch(), "nothing changed")
	require.True(t, set(protocol.Offer{Alias: "east"}))
	assert.Equal(t, epoch+2, b.Epoch())
	second := b.Peer(uid).Offer
	assert.Equal(t, first.Epoch, second.Epoch)
	assert.Equal(t, uint64(2), second.Generation)
	assert.Equal(t, "east", second.Body.Alias)

	_, _, err := b.redeem(redemption(noon))
	require.NoError(t, err)
	require.False(t, set(protocol.Offer{Alias: "east"}))
	assert.Greater(t, b.Peer(uid).Offer.Epoch, second.Epoch, "it counts anew with a pairing")
}

// S2: what was heard is written, and moves the epoch if it ended the peering.
func TestS2Heard(t *testing.T) {
	for fault, ends := range map[record.Reason]bool{
		"": false, record.InvalidOffer: false, record.UUIDMismatch: false,
		record.ClonedPeer: true, record.PeerSuspended: true, record.PeerLeft: true,
	} {
		b := paired(t)
		epoch := b.Epoch()
		b.must(func(tx record.Tx) error {
			peer, err := tx.Peer(uid)
			if err != nil {
				return err
			}
			peer.Remote.Fault, peer.Remote.Skew = fault, time.Minute
			return record.Heard(tx, peer)
		})
		assert.Equal(t, fault, b.Peer(uid).Remote.Fault)
		assert.Equal(t, time.Minute, b.Peer(uid).Remote.Skew)
		assert.Equal(t, ends, b.Epoch() > epoch, fault)
	}
}
