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
	"bytes"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/client/v3/concurrency"

	"entente.dev/entente/peering/record"
)

var errID = errors.New("could not keep a record: what it is known by is not of the form that is kept")

// tx is one attempt at a transaction. What it reads is compared at the end; what it
// wrote is then written.
type tx struct {
	ctx    context.Context
	stm    concurrency.STM
	keys   keys
	sealer sealer

	// plain is what was read and written so far, nil for what is not there.
	plain map[string][]byte
	wrote bool
	// inStore is set while the store is asked: it panics with errors of its own.
	inStore bool
}

var _ record.Tx = &tx{}

// get returns nil for what is not there. A value that cannot be decrypted is there.
func (t *tx) get(key string) ([]byte, error) {
	if plain, known := t.plain[key]; known || key == "" {
		return plain, nil
	}
	t.inStore = true
	sealed, revision := t.stm.Get(key), t.stm.Rev(key)
	t.inStore = false
	if revision == 0 {
		t.plain[key] = nil
		return nil, nil
	}
	plain, err := t.sealer.open(t.ctx, key, []byte(sealed))
	if err != nil {
		return nil, err
	}
	t.plain[key] = plain
	return plain, nil
}

// put writes what differs from what is there.
func (t *tx) put(key string, plain []byte) error {
	if key == "" {
		return errID
	}
	existing, err := t.get(key)
	if err != nil || (existing != nil && bytes.Equal(existing, plain)) {
		return err
	}
	sealed, err := t.sealer.seal(t.ctx, key, plain)
	if err != nil {
		return err
	}
	t.stm.Put(key, sealed)
	t.plain[key], t.wrote = plain, true
	return nil
}

func (t *tx) putRecord(key string, r any) error {
	plain, err := record.Encode(r)
	if err != nil {
		return err
	}
	return t.put(key, plain)
}

func (t *tx) delete(key string) error {
	existing, err := t.get(key)
	if err != nil || existing == nil {
		return err
	}
	t.stm.Del(key)
	t.plain[key], t.wrote = nil, true
	return nil
}

func (t *tx) Peer(uid string) (*record.Peer, error) {
	key := t.keys.of(kindPeer, uid)
	plain, err := t.get(key)
	if err != nil {
		return nil, err
	}
	return decodePeer(key, uid, plain)
}

func (t *tx) PutPeer(peer *record.Peer) error {
	old, err := t.Peer(peer.UID)
	if err != nil {
		return err
	}
	token, cluster := t.keys.of(kindToken, peer.Token()), t.keys.of(kindCluster, peer.Cluster())
	if (token == "" && peer.Token() != "") || (cluster == "" && peer.Cluster() != "") {
		return errID
	}
	// All that may be refused comes before anything is written: the change may go on.
	holder, err := t.get(cluster)
	if err != nil {
		return err
	}
	if holder != nil && string(holder) != peer.UID {
		return &record.Refusal{Reason: record.DuplicatePeer, UID: peer.UID}
	}
	issuer, err := t.get(token)
	if err != nil {
		return err
	}
	if issuer != nil && string(issuer) != peer.UID {
		return errors.New("could not keep an invite: another one has its token ID")
	}
	if err := t.putRecord(t.keys.of(kindPeer, peer.UID), peer); err != nil {
		return err
	}
	if err := t.forget(old, token, cluster); err != nil {
		return err
	}
	for _, key := range []string{token, cluster} {
		if key == "" {
			continue
		}
		if err := t.put(key, []byte(peer.UID)); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes what leads to a record, but for what is kept.
func (t *tx) forget(old *record.Peer, kept ...string) error {
	if old == nil {
		return nil
	}
next:
	for _, key := range []string{t.keys.of(kindToken, old.Token()), t.keys.of(kindCluster, old.Cluster())} {
		for _, k := range kept {
			if key == k {
				continue next
			}
		}
		if err := t.delete(key); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DeletePeer(uid string) error {
	old, err := t.Peer(uid)
	if err != nil || old == nil {
		return err
	}
	if err := t.forget(old); err != nil {
		return err
	}
	return t.delete(t.keys.of(kindPeer, uid))
}

func (t *tx) PeerOfToken(tokenID string) (*record.Peer, error) {
	return t.follow(t.keys.of(kindToken, tokenID), func(p *record.Peer) bool { return p.Token() == tokenID })
}

func (t *tx) PeerOfCluster(clusterUUID string) (*record.Peer, error) {
	return t.follow(t.keys.of(kindCluster, clusterUUID), func(p *record.Peer) bool { return p.Cluster() == clusterUUID })
}

// follow returns the record that a key leads to, which must bear that out.
func (t *tx) follow(key string, led func(*record.Peer) bool) (*record.Peer, error) {
	uid, err := t.get(key)
	if err != nil || uid == nil {
		return nil, err
	}
	peer, err := t.Peer(string(uid))
	if err == nil && (peer == nil || !led(peer)) {
		return nil, fmt.Errorf("could not find the record of %s: %w", key, errDamaged)
	}
	return peer, err
}

func (t *tx) Tombstone(key record.Digest) (*record.Tombstone, error) {
	return read[record.Tombstone](t, t.keys.of(kindTombstone, key.String()))
}

func (t *tx) PutTombstone(tombstone *record.Tombstone) error {
	return t.putRecord(t.keys.of(kindTombstone, tombstone.Key.String()), tombstone)
}

func (t *tx) DeleteTombstone(key record.Digest) error {
	return t.delete(t.keys.of(kindTombstone, key.String()))
}

func (t *tx) Authority() (*record.Authority, error) {
	return read[record.Authority](t, t.keys.one(kindAuthority))
}

func (t *tx) PutAuthority(a *record.Authority) error {
	return t.putRecord(t.keys.one(kindAuthority), a)
}

func (t *tx) Identity() (*record.Identity, error) {
	return read[record.Identity](t, t.keys.one(kindIdentity))
}

func (t *tx) PutIdentity(i *record.Identity) error { return t.putRecord(t.keys.one(kindIdentity), i) }

func (t *tx) Grant(peerUID, capability string) (*record.Grant, error) {
	id := record.GrantID(peerUID, capability)
	key := t.keys.of(kindGrant, id)
	plain, err := t.get(key)
	if err != nil {
		return nil, err
	}
	return decodeGrant(key, id, plain)
}

func (t *tx) PutGrant(grant *record.Grant) error {
	key := t.keys.of(kindGrant, record.GrantID(grant.PeerUID, grant.Capability))
	if key != "" && len(grant.Objects) == 0 {
		return t.delete(key)
	}
	return t.putRecord(key, grant)
}

func (t *tx) GrantKey() (*record.GrantKey, error) {
	return read[record.GrantKey](t, t.keys.one(kindGrantKey))
}

func (t *tx) PutGrantKey(k *record.GrantKey) error { return t.putRecord(t.keys.one(kindGrantKey), k) }

func (t *tx) Release(uid string) (*record.Release, error) {
	key := t.keys.of(kindRelease, uid)
	plain, err := t.get(key)
	if err != nil {
		return nil, err
	}
	return decodeRelease(key, uid, plain)
}

func (t *tx) PutRelease(r *record.Release) error {
	return t.putRecord(t.keys.of(kindRelease, r.UID), r)
}

func (t *tx) DeleteRelease(uid string) error { return t.delete(t.keys.of(kindRelease, uid)) }

func (t *tx) Epoch() (uint64, error) {
	key := t.keys.one(kindEpoch)
	plain, err := t.get(key)
	if err != nil {
		return 0, err
	}
	return decodeEpoch(key, plain)
}

func (t *tx) MoveEpoch() error {
	number, err := t.Epoch()
	if err != nil {
		return err
	}
	return t.putEpoch(number + 1)
}

func (t *tx) putEpoch(number uint64) error { return t.put(t.keys.one(kindEpoch), encodeEpoch(number)) }

func read[T any](t *tx, key string) (*T, error) {
	plain, err := t.get(key)
	if err != nil {
		return nil, err
	}
	return decode[T](key, plain)
}
