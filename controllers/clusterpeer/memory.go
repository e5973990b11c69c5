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

package clusterpeer

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

const (
	// deniedFor is how long it takes until a connection string that could not be
	// read for lack of permission is asked for again: rights change without a
	// change of the object.
	deniedFor = time.Minute
	// arrival is how long our own write may take to reach the informer. After that
	// it is not waited for any longer: a store that was restored never shows it.
	arrival = 10 * time.Second
)

// memory is what the controller knows of each ClusterPeer beside the object: it
// spares reading a connection string twice, and acting on an object as it was
// before our own last write. Statuses are no place for that: others may write
// them (S1). Losing it costs one request an object.
type memory struct {
	lock  sync.Mutex
	peers map[string]remembered // by name
}

type remembered struct {
	uid types.UID

	inspected   inspection
	inspectedAt time.Time // zero: never

	version   string // resource version of our last write
	writtenAt time.Time
}

// findingOf returns what was found on this generation of this object, and for how
// long that counts; 0 is as long as the generation does.
func (m *memory) findingOf(peer *peeringv1alpha1.ClusterPeer, now time.Time) (found finding, remaining time.Duration, known bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	entry := m.peers[peer.Name]
	seen := entry.inspected
	if entry.inspectedAt.IsZero() || seen.uid != peer.UID || seen.generation != peer.Generation {
		return finding{}, 0, false
	}
	if !seen.found.denied {
		return seen.found, 0, true
	}
	remaining = deniedFor - now.Sub(entry.inspectedAt)
	return seen.found, remaining, remaining > 0
}

// inspected remembers what was found.
func (m *memory) inspected(name string, seen inspection, now time.Time) {
	m.change(name, seen.uid, func(entry *remembered) {
		entry.inspected, entry.inspectedAt = seen, now
	})
}

// wrote remembers the resource version that our write gave the object.
func (m *memory) wrote(peer *peeringv1alpha1.ClusterPeer, now time.Time) {
	m.change(peer.Name, peer.UID, func(entry *remembered) {
		entry.version, entry.writtenAt = peer.ResourceVersion, now
	})
}

// awaits returns for how long to wait until the object shows our last write; 0 if
// it does, or should have by now.
func (m *memory) awaits(peer *peeringv1alpha1.ClusterPeer, now time.Time) time.Duration {
	m.lock.Lock()
	defer m.lock.Unlock()
	entry := m.peers[peer.Name]
	if entry.uid != peer.UID || entry.version == "" {
		return 0
	}
	order, err := resourceversion.CompareResourceVersion(peer.ResourceVersion, entry.version)
	if err != nil || order >= 0 {
		return 0
	}
	return max(0, arrival-now.Sub(entry.writtenAt))
}

// forget drops what is remembered of an object that is gone.
func (m *memory) forget(name string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.peers, name)
}

// change changes what is remembered of an object; nothing is left of another that
// had its name.
func (m *memory) change(name string, uid types.UID, change func(*remembered)) {
	m.lock.Lock()
	defer m.lock.Unlock()
	entry := m.peers[name]
	if entry.uid != uid {
		entry = remembered{uid: uid}
	}
	change(&entry)
	m.peers[name] = entry
}
