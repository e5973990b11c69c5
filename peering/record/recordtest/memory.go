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
	"maps"
	"slices"
	"sync"

	"entente.dev/entente/peering/record"
)

// Memory is a ledger in memory. It is always fresh, until SetFresh says otherwise.
//
// It runs each change twice and takes what the second run wrote: a real ledger may do
// that at any time, and a change that cannot bear it is wrong.
type Memory struct {
	// writing is held by the one Update under way.
	writing sync.Mutex

	mu          sync.RWMutex
	fresh       error
	content     content
	waiting     map[string]chan struct{}
	subscribers []*func(uid string)
}

var _ record.Ledger = &Memory{}

// New returns an empty ledger.
func New() *Memory {
	return &Memory{content: newContent(), waiting: map[string]chan struct{}{}}
}

// SetFresh sets what Fresh returns. With record.ErrRestored, Update fails as well.
func (m *Memory) SetFresh(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh = err
}

// Epoch returns the epoch, to see whether it was moved.
func (m *Memory) Epoch() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.content.epoch
}

// Fresh implements record.Reader.
func (m *Memory) Fresh() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.fresh
}

// Peer implements record.Reader.
func (m *Memory) Peer(uid string) *record.Peer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	peer, _ := m.content.peer(uid)
	return peer
}

// PeerOfCluster implements record.Reader.
func (m *Memory) PeerOfCluster(clusterUUID string) *record.Peer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	peer, _ := m.content.find(func(p *record.Peer) bool { return clusterUUID != "" && p.Cluster() == clusterUUID })
	return peer
}

// Peers implements record.Reader.
func (m *Memory) Peers() []*record.Peer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []*record.Peer
	for uid := range m.content.peers {
		if peer, err := m.content.peer(uid); err == nil {
			all = append(all, peer)
		}
	}
	return all
}

// Tombstone implements record.Reader.
func (m *Memory) Tombstone(key record.Digest) *record.Tombstone {
	m.mu.RLock()
	defer m.mu.RUnlock()
	tombstone, _ := decode[record.Tombstone](m.content.tombstones[key])
	return tombstone
}

// Tombstones implements record.Reader.
func (m *Memory) Tombstones() []*record.Tombstone {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []*record.Tombstone
	for _, data := range m.content.tombstones {
		if tombstone, err := decode[record.Tombstone](data); err == nil {
			all = append(all, tombstone)
		}
	}
	return all
}

// Authority implements record.Reader.
func (m *Memory) Authority() *record.Authority {
	m.mu.RLock()
	defer m.mu.RUnlock()
	authority, _ := decode[record.Authority](m.content.authority)
	return authority
}

// Identity implements record.Reader.
func (m *Memory) Identity() *record.Identity {
	m.mu.RLock()
	defer m.mu.RUnlock()
	identity, _ := decode[record.Identity](m.content.identity)
	return identity
}

// Grants implements record.Reader.
func (m *Memory) Grants(peerUID string) []*record.Grant {
	return m.grants(func(g *record.Grant) bool { return g.PeerUID == peerUID })
}

// Grant implements record.Reader.
func (m *Memory) Grant(peerUID, capability string) *record.Grant {
	m.mu.RLock()
	defer m.mu.RUnlock()
	grant, _ := decode[record.Grant](m.content.grants[record.GrantID(peerUID, capability)])
	return grant
}

// AllGrants implements record.Reader.
func (m *Memory) AllGrants() []*record.Grant {
	return m.grants(func(*record.Grant) bool { return true })
}

func (m *Memory) grants(wanted func(*record.Grant) bool) []*record.Grant {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []*record.Grant
	for _, id := range slices.Sorted(maps.Keys(m.content.grants)) {
		if grant, err := decode[record.Grant](m.content.grants[id]); err == nil && wanted(grant) {
			all = append(all, grant)
		}
	}
	return all
}

// Release implements record.Reader.
func (m *Memory) Release(uid string) *record.Release {
	m.mu.RLock()
	defer m.mu.RUnlock()
	release, _ := decode[record.Release](m.content.releases[uid])
	return release
}

// Releases implements record.Reader.
func (m *Memory) Releases() []*record.Release {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []*record.Release
	for _, data := range m.content.releases {
		if release, err := decode[record.Release](data); err == nil {
			all = append(all, release)
		}
	}
	return all
}

// GrantKey implements record.Reader.
func (m *Memory) GrantKey() *record.GrantKey {
	m.mu.RLock()
	defer m.mu.RUnlock()
	key, _ := decode[record.GrantKey](m.content.grantKey)
	return key
}

// Changed implements record.Reader.
func (m *Memory) Changed(uid string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting[uid] == nil {
		m.waiting[uid] = make(chan struct{})
	}
	return m.waiting[uid]
}

// Subscribe implements record.Reader.
func (m *Memory) Subscribe(changed func(uid string)) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribers = append(m.subscribers, &changed)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.subscribers = slices.DeleteFunc(slices.Clone(m.subscribers), func(s *func(string)) bool { return s == &changed })
	}
}

// Update implements record.Ledger. One change runs at a time, so nothing has to be
// tried again; that a change bears it is seen by running it twice.
func (m *Memory) Update(ctx context.Context, change func(record.Tx) error) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.Fresh(); errors.Is(err, record.ErrRestored) {
		return err
	}
	var last *tx
	for range 2 {
		last = m.begin()
		if err := change(last); err != nil {
			return err
		}
	}
	m.commit(last)
	return nil
}

func (m *Memory) begin() *tx {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &tx{content: m.content.copy(), touched: map[string]bool{}, peers: map[string]bool{}}
}

func (m *Memory) commit(t *tx) {
	m.mu.Lock()
	m.content = t.content
	for uid, waiting := range m.waiting {
		if t.peers[uid] || t.authority {
			close(waiting)
			delete(m.waiting, uid)
		}
	}
	subscribers := m.subscribers
	m.mu.Unlock()
	for _, changed := range subscribers {
		for uid := range t.touched {
			(*changed)(uid)
		}
	}
}

// content is what the ledger holds, encoded, so that nothing of it is shared.
type content struct {
	peers               map[string][]byte
	tombstones          map[record.Digest][]byte
	grants              map[string][]byte // by record.GrantID
	releases            map[string][]byte
	authority, identity []byte
	grantKey            []byte
	epoch               uint64
}

func newContent() content {
	return content{peers: map[string][]byte{}, tombstones: map[record.Digest][]byte{}, grants: map[string][]byte{}, releases: map[string][]byte{}}
}

// copy shares the encoded records, which are never changed in place.
func (c content) copy() content {
	c.peers, c.tombstones, c.grants, c.releases = maps.Clone(c.peers), maps.Clone(c.tombstones), maps.Clone(c.grants), maps.Clone(c.releases)
	return c
}

func (c content) peer(uid string) (*record.Peer, error) { return decode[record.Peer](c.peers[uid]) }

// find looks at all records: no index can be wrong.
func (c content) find(wanted func(*record.Peer) bool) (*record.Peer, error) {
	for uid := range c.peers {
		peer, err := c.peer(uid)
		if err != nil {
			return nil, err
		}
		if wanted(peer) {
			return peer, nil
		}
	}
	return nil, nil
}

func decode[T any](data []byte) (*T, error) {
	if data == nil {
		return nil, nil
	}
	into := new(T)
	if err := record.Decode(data, into); err != nil {
		return nil, err
	}
	return into, nil
}
