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
	"bytes"
	"errors"

	"entente.dev/entente/peering/record"
)

// tx changes a copy of the content.
type tx struct {
	content content
	// touched are the UIDs of ClusterPeers whose records or grants were written, and an
	// empty one if something else was.
	touched map[string]bool
	// peers are the UIDs of records that were written.
	peers map[string]bool
	// authority says that the peering CA was written.
	authority bool
}

var errID = errors.New("could not keep a record: what it is known by is not of the form that is kept")

func (t *tx) Peer(uid string) (*record.Peer, error) { return t.content.peer(uid) }

func (t *tx) PutPeer(peer *record.Peer) error {
	token, cluster := peer.Token(), peer.Cluster()
	for _, id := range []string{peer.UID, token, cluster} {
		if id != "" && !record.ValidID(id) {
			return errID
		}
	}
	if peer.UID == "" {
		return errID
	}
	other := func(leads func(*record.Peer) bool) (*record.Peer, error) {
		return t.content.find(func(p *record.Peer) bool { return p.UID != peer.UID && leads(p) })
	}
	holder, err := other(func(p *record.Peer) bool { return cluster != "" && p.Cluster() == cluster })
	if err != nil {
		return err
	}
	if holder != nil {
		return &record.Refusal{Reason: record.DuplicatePeer, UID: peer.UID}
	}
	issuer, err := other(func(p *record.Peer) bool { return token != "" && p.Token() == token })
	if err != nil {
		return err
	}
	if issuer != nil {
		return errors.New("could not keep an invite: another one has its token ID")
	}
	data, err := record.Encode(peer)
	if err != nil {
		return err
	}
	t.content.peers[peer.UID] = data
	t.touched[peer.UID], t.peers[peer.UID] = true, true
	return nil
}

func (t *tx) DeletePeer(uid string) error {
	if t.content.peers[uid] != nil {
		delete(t.content.peers, uid)
		t.touched[uid], t.peers[uid] = true, true
	}
	return nil
}

func (t *tx) PeerOfToken(tokenID string) (*record.Peer, error) {
	return t.content.find(func(p *record.Peer) bool { return tokenID != "" && p.Token() == tokenID })
}

func (t *tx) PeerOfCluster(clusterUUID string) (*record.Peer, error) {
	return t.content.find(func(p *record.Peer) bool { return clusterUUID != "" && p.Cluster() == clusterUUID })
}

func (t *tx) Tombstone(key record.Digest) (*record.Tombstone, error) {
	return decode[record.Tombstone](t.content.tombstones[key])
}

func (t *tx) PutTombstone(tombstone *record.Tombstone) error {
	if tombstone.Key.IsZero() {
		return errID
	}
	data, err := record.Encode(tombstone)
	if err != nil {
		return err
	}
	t.content.tombstones[tombstone.Key] = data
	t.touched[""] = true
	return nil
}

func (t *tx) DeleteTombstone(key record.Digest) error {
	if t.content.tombstones[key] != nil {
		delete(t.content.tombstones, key)
		t.touched[""] = true
	}
	return nil
}

func (t *tx) Authority() (*record.Authority, error) {
	return decode[record.Authority](t.content.authority)
}

func (t *tx) PutAuthority(authority *record.Authority) (err error) {
	t.touched[""], t.authority = true, true
	t.content.authority, err = record.Encode(authority)
	return err
}

func (t *tx) Identity() (*record.Identity, error) {
	return decode[record.Identity](t.content.identity)
}

func (t *tx) PutIdentity(identity *record.Identity) (err error) {
	t.touched[""] = true
	t.content.identity, err = record.Encode(identity)
	return err
}

func (t *tx) Grant(peerUID, capability string) (*record.Grant, error) {
	return decode[record.Grant](t.content.grants[record.GrantID(peerUID, capability)])
}

func (t *tx) PutGrant(grant *record.Grant) error {
	id := record.GrantID(grant.PeerUID, grant.Capability)
	if !record.ValidID(id) {
		return errID
	}
	data, err := record.Encode(grant)
	if err != nil {
		return err
	}
	if len(grant.Objects) == 0 {
		data = nil
	}
	if bytes.Equal(data, t.content.grants[id]) {
		return nil
	}
	t.touched[grant.PeerUID] = true
	if data == nil {
		delete(t.content.grants, id)
		return nil
	}
	t.content.grants[id] = data
	return nil
}

func (t *tx) GrantKey() (*record.GrantKey, error) {
	return decode[record.GrantKey](t.content.grantKey)
}

func (t *tx) PutGrantKey(key *record.GrantKey) (err error) {
	t.touched[""] = true
	t.content.grantKey, err = record.Encode(key)
	return err
}

func (t *tx) Release(uid string) (*record.Release, error) {
	return decode[record.Release](t.content.releases[uid])
}

func (t *tx) PutRelease(release *record.Release) (err error) {
	if !record.ValidID(release.UID) {
		return errID
	}
	t.content.releases[release.UID], err = record.Encode(release)
	return err
}

func (t *tx) DeleteRelease(uid string) error {
	delete(t.content.releases, uid)
	return nil
}

func (t *tx) Epoch() (uint64, error) { return t.content.epoch, nil }

func (t *tx) MoveEpoch() error {
	t.content.epoch++
	return nil
}
