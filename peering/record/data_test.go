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

// dialledBook is a book with a peer that can be dialled.
func dialledBook(t *testing.T) *book {
	b := joinedBook(t)
	b.edit(func(r *record.Remote) {
		r.Endpoints, r.Trust, r.ConfirmedAt = []string{"https://east.example.com"}, [][]byte{{1}}, noon
	})
	return b
}

func (b *book) edit(change func(*record.Remote)) {
	b.t.Helper()
	b.must(func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		change(peer.Remote)
		return tx.PutPeer(peer)
	})
}

func (b *book) startData(certificate, key string) {
	b.t.Helper()
	b.must(func(tx record.Tx) error {
		return record.StartData(tx, uid, []byte(certificate), record.NewSecret([]byte(key)))
	})
}

func (b *book) keepData(key, certificate string) (kept bool) {
	b.t.Helper()
	b.must(func(tx record.Tx) (err error) {
		kept, err = record.KeepData(tx, uid, record.NewSecret([]byte(key)), []byte(certificate), noon, noon.Add(record.DataKeyLife))
		return err
	})
	return kept
}

// data returns the data keys of a peer: in use, and on its way.
func (b *book) data() (current, next string) {
	remote := b.Peer(uid).Remote
	if remote.Data != nil {
		current = string(remote.Data.Key.Reveal())
	}
	if remote.DataNext != nil {
		next = string(remote.DataNext.Key.Reveal())
	}
	return current, next
}

// P2: a data key is kept before anybody is asked to certify it, one at a time, and takes
// the place of the one before it when it was.
func TestP2DataKey(t *testing.T) {
	b := dialledBook(t)
	epoch := b.Epoch()
	b.startData("one before", "a")
	current, next := b.data()
	assert.Empty(t, current+next, "that one is not in use")
	b.startData("", "b")
	b.startData("", "c")
	current, next = b.data()
	assert.Equal(t, []string{"", "b"}, []string{current, next}, "one at a time")
	assert.False(t, b.keepData("c", "certificate"))
	assert.True(t, b.keepData("b", "certificate"))
	assert.False(t, b.keepData("b", "another"), "once")
	data := b.Peer(uid).Remote.Data
	assert.Equal(t, "b", string(data.Key.Reveal()))
	assert.Equal(t, "certificate", string(data.Certificate))
	assert.Equal(t, noon.Add(24*time.Hour), data.NotAfter)
	assert.WithinRange(t, data.RenewAt(), noon.Add(14*time.Hour), noon.Add(17*time.Hour))

	b.startData("", "d")
	b.startData("certificate", "e")
	current, next = b.data()
	assert.Equal(t, []string{"b", "e"}, []string{current, next}, "the one in use stays meanwhile")
	b.must(func(tx record.Tx) error { return record.AbandonData(tx, uid, record.NewSecret([]byte("d"))) })
	_, next = b.data()
	assert.Equal(t, "e", next)
	b.must(func(tx record.Tx) error { return record.AbandonData(tx, uid, record.NewSecret([]byte("e"))) })
	current, next = b.data()
	assert.Equal(t, []string{"b", ""}, []string{current, next})
	b.startData("certificate", "f")
	assert.True(t, b.Peer(uid).HoldsData())
	b.must(func(tx record.Tx) error { return record.DropData(tx, uid) })
	current, next = b.data()
	assert.Empty(t, current+next)
	assert.False(t, b.Peer(uid).HoldsData())
	assert.Equal(t, epoch, b.Epoch(), "none of that is to be told from a copy of the store")
}

// P2, G8: there are none where there is no gateway to be let in at, or no access.
func TestP2NoDataKey(t *testing.T) {
	for name, change := range map[string]func(*record.Remote){
		"no endpoint":       func(r *record.Remote) { r.Endpoints = nil },
		"no trust":          func(r *record.Remote) { r.Trust = nil },
		"not certified yet": func(r *record.Remote) { r.Ours.Certificate = nil },
		"not confirmed":     func(r *record.Remote) { r.ConfirmedAt = time.Time{} },
		"at fault":          func(r *record.Remote) { r.Fault = record.TrustExpired },
	} {
		t.Run(name, func(t *testing.T) {
			b := dialledBook(t)
			require.True(t, b.Peer(uid).DialsForData())
			b.startData("", "a")
			b.edit(change)
			assert.False(t, b.Peer(uid).DialsForData())
			assert.False(t, b.keepData("a", "certificate"))
			b.must(func(tx record.Tx) error { return record.DropData(tx, uid) })
			b.startData("", "b")
			current, next := b.data()
			assert.Empty(t, current+next)
		})
	}
	b := newBook(t)
	assert.False(t, b.Peer(uid).DialsForData())
	assert.False(t, b.Peer(uid).HoldsData())
	b.startData("", "a")
	assert.False(t, b.keepData("a", "certificate"))
	b.must(func(tx record.Tx) error { return record.AbandonData(tx, uid, record.NewSecret([]byte("a"))) })
	b.must(func(tx record.Tx) error { return record.DropData(tx, uid) })
}

// P12: who left certifies nothing any more, and nothing that it certified is of use.
func TestP12LeaveForgetsData(t *testing.T) {
	b := dialledBook(t)
	b.startData("", "a")
	require.True(t, b.keepData("a", "certificate"))
	b.startData("certificate", "b")
	b.must(func(tx record.Tx) error { return record.Leave(tx, uid, noon) })
	assert.False(t, b.Peer(uid).HoldsData())
}
