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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
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

// memory is what the controller knows of each ClusterPeer beside the object and its
// record: it spares reading a connection string twice, dialling all the time, and
// acting on an object as it was before our own last write. Statuses are no place for
// that: others may write them (S1). Losing it costs a request or two an object.
type memory struct {
	lock  sync.Mutex
	peers map[string]remembered // by name
}

type remembered struct {
	uid types.UID

	swept bool // nothing is left in the ledger of others that had its name

	checked checked

	// attempt is the join that failed last.
	attempt attempt

	inspected   inspection
	inspectedAt time.Time // zero: never

	// told is why capabilities do not take effect, as Events have said it.
	told map[string]access.Why

	version   string // resource version of our last write
	writtenAt time.Time
}

// checked is what an issued connection string was found to be when the status was
// looked at.
type checked struct {
	version string // resource version of the object; empty: it was not looked at
	hash    record.Digest
	is      issued
}

// attempt is an attempt to use a connection string that failed.
type attempt struct {
	text     record.Digest // of which string
	failures int           // in a row
	next     time.Time     // when to try again
	trouble  string        // a sentence
}

// findingOf returns what was found on this generation of this object, and for how
// long that counts; 0 is as long as the generation does.
func (m *memory) findingOf(peer *peeringv1alpha1.ClusterPeer, now time.Time) (found finding, remaining time.Duration, known bool) {
	entry := m.of(peer)
	seen := entry.inspected
	if entry.inspectedAt.IsZero() || seen.generation != peer.Generation {
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

// swept tells whether sweeps was called for this object.
func (m *memory) swept(peer *peeringv1alpha1.ClusterPeer) bool { return m.of(peer).swept }

// sweeps remembers that nothing is left of others that had this object's name.
func (m *memory) sweeps(peer *peeringv1alpha1.ClusterPeer) {
	m.change(peer.Name, peer.UID, func(entry *remembered) { entry.swept = true })
}

// issuedOf returns what became of the issued connection string with that hash, if that
// is known for this version of the object: it was looked at at this one or a later one.
func (m *memory) issuedOf(peer *peeringv1alpha1.ClusterPeer, hash record.Digest) (is issued, known bool) {
	last := m.of(peer).checked
	if last.version == "" || last.hash != hash {
		return "", false
	}
	order, err := resourceversion.CompareResourceVersion(peer.ResourceVersion, last.version)
	return last.is, err == nil && order <= 0
}

// checks remembers what became of the issued connection string with that hash, at that
// version of the object.
func (m *memory) checks(object *metav1.ObjectMeta, hash record.Digest, is issued) {
	m.change(object.Name, object.UID, func(entry *remembered) {
		entry.checked = checked{version: object.ResourceVersion, hash: hash, is: is}
	})
}

// attemptOf returns the attempt to use that connection string that failed last, or none.
func (m *memory) attemptOf(peer *peeringv1alpha1.ClusterPeer, text record.Digest) attempt {
	if last := m.of(peer).attempt; last.text == text {
		return last
	}
	return attempt{text: text}
}

// attempted remembers an attempt that failed.
func (m *memory) attempted(peer *peeringv1alpha1.ClusterPeer, last attempt) {
	m.change(peer.Name, peer.UID, func(entry *remembered) { entry.attempt = last })
}

// untold remembers why capabilities do not take effect, and returns what is new of it.
func (m *memory) untold(peer *peeringv1alpha1.ClusterPeer, now []access.Ineffective) (fresh []access.Ineffective) {
	m.change(peer.Name, peer.UID, func(entry *remembered) {
		told := make(map[string]access.Why, len(now))
		for _, each := range now {
			if told[each.Name] = each.Why; entry.told[each.Name] != each.Why {
				fresh = append(fresh, each)
			}
		}
		entry.told = told
	})
	return fresh
}

// awaits returns for how long to wait until the object shows our last write; 0 if
// it does, or should have by now.
func (m *memory) awaits(peer *peeringv1alpha1.ClusterPeer, now time.Time) time.Duration {
	entry := m.of(peer)
	if entry.version == "" {
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

// of returns what is remembered of an object.
func (m *memory) of(peer *peeringv1alpha1.ClusterPeer) remembered {
	m.lock.Lock()
	defer m.lock.Unlock()
	if entry := m.peers[peer.Name]; entry.uid == peer.UID {
		return entry
	}
	return remembered{}
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
