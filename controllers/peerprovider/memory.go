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

package peerprovider

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// memory is what was found of each ClusterPeer, and what Events have told. Losing it costs
// an Event.
type memory struct {
	lock        sync.Mutex
	peers       map[string]remembered // by name
	subscribers map[*func(cache.ObjectName)]struct{}
}

type remembered struct {
	uid types.UID
	// looked says that the ClusterPeer was looked at, and fault what makes it not ready.
	looked bool
	fault  finding
	// told is the reason that was told last of those that last; empty: none.
	told string
}

// of returns what is remembered of a ClusterPeer. The lock is held.
func (m *memory) of(peer *peeringv1alpha1.ClusterPeer) remembered {
	if entry, known := m.peers[peer.Name]; known && entry.uid == peer.UID {
		return entry
	}
	return remembered{uid: peer.UID, told: shownBefore(peer).reason}
}

// keep remembers it. The lock is held.
func (m *memory) keep(name string, entry remembered) {
	if m.peers == nil {
		m.peers = map[string]remembered{}
	}
	m.peers[name] = entry
}

// finds remembers what was found, and has those who subscribed told if the fault is another.
func (m *memory) finds(peer *peeringv1alpha1.ClusterPeer, found finding) {
	if !found.isFault() {
		found = finding{}
	}
	m.lock.Lock()
	entry := m.of(peer)
	changed := !entry.looked || entry.fault != found
	entry.looked, entry.fault = true, found
	m.keep(peer.Name, entry)
	var all []func(cache.ObjectName)
	for enqueue := range m.subscribers {
		all = append(all, *enqueue)
	}
	m.lock.Unlock()
	if !changed {
		return
	}
	for _, enqueue := range all {
		enqueue(cache.ObjectName{Name: peer.Name})
	}
}

// tells remembers that something was said, and tells whether it is news that is worth an
// Event. Faults are not: the controller of ClusterPeers tells them, with its Ready.
func (m *memory) tells(peer *peeringv1alpha1.ClusterPeer, said finding) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	entry := m.of(peer)
	if said.reason != "" && said.passes() {
		return false
	}
	news := entry.told != said.reason
	entry.told = said.reason
	m.keep(peer.Name, entry)
	return news && said.reason != "" && !said.isFault()
}

// forget drops what is remembered of a ClusterPeer that is gone.
func (m *memory) forget(name string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.peers, name)
}

// faultOf returns the fault of a ClusterPeer; known: it was looked at.
func (m *memory) faultOf(name, uid string) (fault finding, known bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	entry := m.peers[name]
	return entry.fault, entry.looked && string(entry.uid) == uid
}

// shownBefore returns what the status of a ClusterPeer says of its provider.
func shownBefore(peer *peeringv1alpha1.ClusterPeer) finding {
	shown := meta.FindStatusCondition(peer.Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady)
	if shown == nil {
		return finding{}
	}
	return finding{shown.Reason, bounded(shown.Message, shown.Reason)}
}

// Fault returns reason and message of what makes the ClusterPeer with a UID not ready,
// ProviderRejected or ForeignProvider; empty: nothing does. Until it was looked at that is
// what its status says, so that it does not seem well for a moment after each start. (This
// decides nothing but what another status says.)
func (c *Controller) Fault(peerUID string) (reason, message string) {
	rec := c.ledger.Peer(peerUID)
	if rec == nil || !c.serves {
		return "", ""
	}
	if fault, known := c.memory.faultOf(rec.Name, peerUID); known {
		return fault.reason, fault.message
	}
	peer, err := c.clusterPeers.Get(rec.Name)
	if err != nil || string(peer.UID) != peerUID {
		return "", ""
	}
	if shown := shownBefore(peer); shown.isFault() {
		return shown.reason, shown.message
	}
	return "", ""
}

// Subscribe has enqueue called with the name of each ClusterPeer whose fault may have
// changed. It returns how to end that.
func (c *Controller) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	m := &c.memory
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.subscribers == nil {
		m.subscribers = map[*func(cache.ObjectName)]struct{}{}
	}
	m.subscribers[&enqueue] = struct{}{}
	return func() {
		m.lock.Lock()
		defer m.lock.Unlock()
		delete(m.subscribers, &enqueue)
	}
}
