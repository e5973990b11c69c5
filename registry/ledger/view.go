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
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"entente.dev/entente/peering/record"
)

// content is the ledger in memory. The records in it are not changed, but replaced.
type content struct {
	peers map[string]*record.Peer
	// clusters are the UIDs of the records that hold them.
	clusters   map[string]string
	tombstones map[record.Digest]*record.Tombstone
	grants     grants
	releases   map[string]*record.Release
	authority  *record.Authority
	identity   *record.Identity
	grantKey   *record.GrantKey
	// epoch is the one in the store.
	epoch uint64
	// revisions are those of all of the above, by key.
	revisions map[string]int64
}

func newContent() *content {
	return &content{
		peers:      map[string]*record.Peer{},
		clusters:   map[string]string{},
		tombstones: map[record.Digest]*record.Tombstone{},
		grants:     grants{},
		releases:   map[string]*record.Release{},
		revisions:  map[string]int64{},
	}
}

// set takes what is at a key now; nil: nothing is.
func (c *content) set(key, kind, id string, plain []byte) (err error) {
	switch kind {
	case kindPeer:
		var peer *record.Peer
		if peer, err = decodePeer(key, id, plain); err == nil {
			c.setPeer(id, peer)
		}
	case kindTombstone:
		var hash record.Digest
		if hash.UnmarshalText([]byte(id)) != nil {
			return nil //nolint:nilerr // It is none of ours.
		}
		var tombstone *record.Tombstone
		if tombstone, err = decode[record.Tombstone](key, plain); tombstone != nil {
			c.tombstones[hash] = tombstone
		} else if err == nil {
			delete(c.tombstones, hash)
		}
	case kindGrant:
		var grant *record.Grant
		if grant, err = decodeGrant(key, id, plain); err == nil {
			c.grants.set(id, grant)
		}
	case kindRelease:
		var release *record.Release
		if release, err = decodeRelease(key, id, plain); release != nil {
			c.releases[id] = release
		} else if err == nil {
			delete(c.releases, id)
		}
	case kindAuthority:
		c.authority, err = decode[record.Authority](key, plain)
	case kindIdentity:
		c.identity, err = decode[record.Identity](key, plain)
	case kindGrantKey:
		c.grantKey, err = decode[record.GrantKey](key, plain)
	case kindEpoch:
		c.epoch, err = decodeEpoch(key, plain)
	}
	return err
}

func (c *content) setPeer(uid string, peer *record.Peer) {
	if old := c.peers[uid]; old != nil && c.clusters[old.Cluster()] == uid {
		delete(c.clusters, old.Cluster())
	}
	if peer == nil {
		delete(c.peers, uid)
		return
	}
	c.peers[uid] = peer
	if cluster := peer.Cluster(); cluster != "" {
		c.clusters[cluster] = uid
	}
}

// view is the content as this replica knows it, and how well.
type view struct {
	// synced is closed once the content was read.
	synced chan struct{}
	sync   func()

	mu      sync.RWMutex
	content *content
	// revision is that of the store up to which everything is known.
	revision int64
	// heard is from when that is; zero: it is not known.
	heard time.Time
	// advanced is closed when one of both changes.
	advanced chan struct{}
}

func newView() *view {
	synced := make(chan struct{})
	return &view{
		synced:   synced,
		sync:     sync.OnceFunc(func() { close(synced) }),
		content:  newContent(),
		advanced: make(chan struct{}),
	}
}

// change changes the view under its lock, and wakes who waits for that.
func (v *view) change(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
	close(v.advanced)
	v.advanced = make(chan struct{})
}

func (v *view) heardAt() time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.heard
}

func (v *view) peerUIDs() []string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.Collect(maps.Keys(v.content.peers))
}

// await returns when the reader sees a revision, or may never do.
func (l *Ledger) await(ctx context.Context, revision int64) {
	timer := l.clock.NewTimer(staleAfter)
	defer timer.Stop()
	for l.Fresh() == nil {
		l.view.mu.RLock()
		reached, advanced := l.view.revision >= revision, l.view.advanced
		l.view.mu.RUnlock()
		if reached {
			return
		}
		select {
		case <-advanced:
		case <-timer.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

// Peer implements record.Reader.
func (l *Ledger) Peer(uid string) *record.Peer {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.peers[uid]
}

// PeerOfCluster implements record.Reader.
func (l *Ledger) PeerOfCluster(clusterUUID string) *record.Peer {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.peers[l.view.content.clusters[clusterUUID]]
}

// Peers implements record.Reader.
func (l *Ledger) Peers() []*record.Peer {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return slices.Collect(maps.Values(l.view.content.peers))
}

// Tombstone implements record.Reader.
func (l *Ledger) Tombstone(key record.Digest) *record.Tombstone {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.tombstones[key]
}

// Tombstones implements record.Reader.
func (l *Ledger) Tombstones() []*record.Tombstone {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return slices.Collect(maps.Values(l.view.content.tombstones))
}

// Release implements record.Reader.
func (l *Ledger) Release(uid string) *record.Release {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.releases[uid]
}

// Releases implements record.Reader.
func (l *Ledger) Releases() []*record.Release {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return slices.Collect(maps.Values(l.view.content.releases))
}

// Authority implements record.Reader.
func (l *Ledger) Authority() *record.Authority {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.authority
}

// Identity implements record.Reader.
func (l *Ledger) Identity() *record.Identity {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.identity
}
