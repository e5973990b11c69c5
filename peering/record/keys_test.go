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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

// P2: a key is good for one role, in its time, and may be renewed for 30 days longer.
func TestP2Authorize(t *testing.T) {
	b := paired(t)
	peer := b.Peer(uid)
	end := noon.Add(30 * 24 * time.Hour)
	tests := []struct {
		name     string
		cluster  string
		key      record.Digest
		role     record.Role
		renewing bool
		now      time.Time
		reason   record.Reason
	}{
		{"good", west, key(1), record.RoleControl, false, noon, ""},
		{"five minutes back", west, key(1), record.RoleControl, false, noon.Add(-5 * time.Minute), ""},
		{"before its time", west, key(1), record.RoleControl, false, noon.Add(-6 * time.Minute), record.TrustExpired},
		{"to its end", west, key(1), record.RoleControl, false, end.Add(-time.Second), ""},
		{"expired", west, key(1), record.RoleControl, false, end, record.TrustExpired},
		{"expired, renewing", west, key(1), record.RoleControl, true, end.Add(30*24*time.Hour - time.Second), ""},
		{"grace is over", west, key(1), record.RoleControl, true, end.Add(30 * 24 * time.Hour), record.TrustExpired},
		{"another cluster", north, key(1), record.RoleControl, false, noon, record.TokenRejected},
		{"another key", west, key(2), record.RoleControl, false, noon, record.TokenRejected},
		{"another role", west, key(1), record.RoleData, false, noon, record.TokenRejected},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := peer.Authorize(test.cluster, test.key, test.role, test.renewing, test.now)
			if test.reason == "" {
				require.NoError(t, err)
				return
			}
			var refusal *record.Refusal
			require.ErrorAs(t, err, &refusal)
			assert.Equal(t, test.reason, refusal.Reason)
		})
	}
	pending, err := peer.Clone()
	require.NoError(t, err)
	pending.Remote.ConfirmedAt = time.Time{}
	err = pending.Authorize(west, key(1), record.RoleControl, false, noon.Add(15*time.Minute-time.Second))
	require.NoError(t, err)
	err = pending.Authorize(west, key(1), record.RoleControl, false, noon.Add(15*time.Minute))
	b.refused(err, record.TokenRejected, false) // P7, also while nobody is there to undo it
	for _, fault := range []record.Reason{record.PeerSuspended, record.PeerLeft, record.ClonedPeer} {
		suspended, err := peer.Clone()
		require.NoError(t, err)
		suspended.Remote.Fault = fault
		err = suspended.Authorize(west, key(1), record.RoleControl, true, noon)
		b.refused(err, fault, true)
	}
	err = (*record.Peer)(nil).Authorize(west, key(1), record.RoleControl, false, noon)
	b.refused(err, record.TokenRejected, false)
}

func (b *book) renew(from, to record.Digest, role record.Role, now time.Time) (k *record.Key, err error) {
	b.t.Helper()
	err = b.do(func(tx record.Tx) (err error) {
		k, err = record.Renew(tx, record.Renewal{UID: uid, From: from, Now: now, Key: record.Key{
			Hash: to, Role: role, NotBefore: now.Add(-record.KeyBackdate), NotAfter: now.Add(record.KeyLife), Serial: []byte{3},
		}})
		return err
	})
	return k, err
}

// P2: a key is renewed to one other; the same again is the same; a second other one
// suspends the peer. The old key ends when the new one is used.
func TestP2Renew(t *testing.T) {
	b := paired(t)
	k, err := b.renew(key(1), key(2), record.RoleControl, noon)
	require.NoError(t, err)
	require.Equal(t, key(2), k.Hash)
	epoch := b.Epoch()
	again, err := b.renew(key(1), key(2), record.RoleControl, noon.Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, k, again, "the answer was lost")
	assert.Equal(t, epoch, b.Epoch())
	authorize := func(hash record.Digest, renewing bool) error {
		return b.Peer(uid).Authorize(west, hash, record.RoleControl, renewing, noon)
	}
	require.NoError(t, authorize(key(1), false), "the new key has not been used yet")
	assert.True(t, b.Peer(uid).Unconfirmed(key(2)))
	b.must(func(tx record.Tx) error { return record.Confirm(tx, uid, key(2), noon) })
	assert.False(t, b.Peer(uid).Unconfirmed(key(2)))
	b.refused(authorize(key(1), false), record.TokenRejected, false)
	require.NoError(t, authorize(key(1), true), "it is let in to be recognised")
	require.NoError(t, authorize(key(2), false))
	assert.Equal(t, key(2), b.Peer(uid).Remote.Control().Hash)

	stolen, err := b.renew(key(1), key(7), record.RoleControl, noon)
	require.NoError(t, err)
	assert.Nil(t, stolen, "nothing is certified")
	assert.Equal(t, record.PeerSuspended, b.Peer(uid).Remote.Fault)
	assert.Greater(t, b.Epoch(), epoch, "S2")
	b.refused(authorize(key(2), false), record.PeerSuspended, true)
	_, err = b.renew(key(2), key(8), record.RoleControl, noon)
	b.refused(err, record.TokenRejected, false)
}

// P2: a peering that is over for good certifies nothing, and stays what it is.
func TestP2RenewAfterTheEnd(t *testing.T) {
	for _, fault := range []record.Reason{record.PeerSuspended, record.PeerLeft, record.ClonedPeer} {
		b := paired(t)
		b.must(func(tx record.Tx) error {
			peer, err := tx.Peer(uid)
			if err != nil {
				return err
			}
			peer.Remote.Fault, peer.Remote.Keys[0].Successor = fault, key(2)
			return tx.PutPeer(peer)
		})
		for _, to := range []record.Digest{key(2), key(3)} {
			_, err := b.renew(key(1), to, record.RoleControl, noon)
			b.refused(err, record.TokenRejected, false)
		}
		assert.Equal(t, fault, b.Peer(uid).Remote.Fault)
		assert.Len(t, b.Peer(uid).Remote.Keys, 1)
	}
}

// P2: the key that asked is the one that was renewed, wherever it stands among keys that
// are over.
func TestP2RenewBesideExpiredKeys(t *testing.T) {
	b := paired(t)
	expired := record.Key{Hash: key(50), Role: record.RoleData, NotAfter: noon}
	b.must(func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		asks := peer.Remote.Keys[0]
		after := record.Key{Hash: key(51), Role: record.RoleControl, NotAfter: noon.Add(record.KeyLife)}
		peer.Remote.Keys = []record.Key{expired, asks, after}
		return tx.PutPeer(peer)
	})
	k, err := b.renew(key(1), key(2), record.RoleControl, noon.Add(time.Second))
	require.NoError(t, err)
	assert.Equal(t, key(2), k.Hash)
	successors := map[record.Digest]record.Digest{}
	for _, k := range b.Peer(uid).Remote.Keys {
		successors[k.Hash] = k.Successor
	}
	assert.Equal(t, map[record.Digest]record.Digest{key(1): key(2), key(51): {}, key(2): {}}, successors)

	stolen, err := b.renew(key(1), key(7), record.RoleControl, noon.Add(2*time.Second))
	require.NoError(t, err)
	assert.Nil(t, stolen)
	assert.Equal(t, record.PeerSuspended, b.Peer(uid).Remote.Fault)
}

// P2: a control key takes no data key's place.
func TestP2ControlKeyBesideDataKeys(t *testing.T) {
	b := paired(t)
	for i := range byte(record.MaxDataKeys) {
		_, err := b.renew(key(1), key(10+i), record.RoleData, noon)
		require.NoError(t, err)
	}
	_, err := b.renew(key(1), key(2), record.RoleControl, noon)
	require.NoError(t, err)
	for i := range byte(record.MaxDataKeys) {
		assert.NotNil(t, b.Peer(uid).Remote.Key(key(10+i)), i)
	}
}

// P2: data keys stand beside the control key, and there are never more than four.
func TestP2DataKeys(t *testing.T) {
	b := paired(t)
	for i := byte(10); i < 20; i++ {
		_, err := b.renew(key(1), key(i), record.RoleData, noon.Add(time.Duration(i)*16*time.Minute))
		require.NoError(t, err)
	}
	data := 0
	for _, k := range b.Peer(uid).Remote.Keys {
		if k.Role == record.RoleData {
			data++
			assert.GreaterOrEqual(t, k.Hash[0], byte(16), "the oldest go")
		}
	}
	assert.Equal(t, record.MaxDataKeys, data)
	_, err := b.renew(key(1), key(40), record.RoleData, noon.Add(19*16*time.Minute+time.Minute))
	b.refused(err, record.TokenRejected, true)
	_, err = b.renew(key(1), key(19), record.RoleControl, noon)
	b.refused(err, record.TokenRejected, true)
	_, err = b.renew(key(19), key(30), record.RoleControl, noon)
	b.refused(err, record.TokenRejected, false)
	assert.NotNil(t, b.Peer(uid).Remote.Key(key(1)))
}
