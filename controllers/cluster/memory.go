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

package cluster

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
)

const (
	// period is the time between two probes of a cluster that is well (C3).
	period = 10 * time.Second
	// firstRetry is the time until a cluster that is not reachable is probed again, which
	// doubles up to lastRetry.
	firstRetry = 2 * time.Second
	lastRetry  = time.Minute
	// patience is how many probes in a row have to fail until a cluster that was reachable
	// counts as one that is not (C3).
	patience = 3
)

// state is what is known of one Cluster.
type state struct {
	uid types.UID
	// outcome is that of the last probe; nil: there was none.
	outcome *outcome
	// client is what was asked with last, nil if there was nothing yet.
	client *target.Client
	// found is what is shown of what was found, nil if there was nothing yet; foundAt, since
	// when. A cluster that is another one at every probe does not have a status written every
	// time.
	found   *target.Found
	foundAt time.Time
	// failures is how many probes have failed in a row, reachable whether it counts as such.
	failures  int
	reachable bool
	// seen is when a probe went well last.
	seen time.Time
	// due is when it is to be probed again, running whether it is being probed, overtaken
	// whether that probe is of what is not asked for any more.
	due                time.Time
	running, overtaken bool
	// written is the time of the last status that says when it was seen.
	written time.Time
	// target is the UID of the namespace kube-system of the cluster, empty if not known.
	target string
}

// memory is what is known of all Clusters.
type memory struct {
	lock    sync.Mutex
	states  map[cache.ObjectName]*state
	enqueue func(cache.ObjectName)
	// twins are the Clusters that have the same target.
	twins twins
}

func newMemory() *memory { return &memory{states: map[cache.ObjectName]*state{}, twins: twins{}} }

// begin has all Clusters probed, those too of which a probe was broken off.
func (m *memory) begin() {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, s := range m.states {
		s.running, s.overtaken, s.due = false, false, time.Time{}
	}
}

func (m *memory) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.enqueue = enqueue
	return func() {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.enqueue = nil
	}
}

// look returns what is known of a Cluster, and whether it is to be probed now: then it counts
// as being probed. What was reachable according to its status is given the same patience
// after a restart.
func (m *memory) look(object cache.ObjectName, cluster *corev1alpha1.Cluster, now time.Time) (_ state, start bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.states[object]
	if s == nil {
		s = &state{uid: cluster.UID, reachable: cluster.Status.Reachable != nil && *cluster.Status.Reachable, due: now}
		// What is yet to come was not written by us.
		if cluster.Status.LastSeen != nil && !cluster.Status.LastSeen.After(now) {
			s.seen, s.written = cluster.Status.LastSeen.Time, cluster.Status.LastSeen.Time
		}
		m.states[object] = s
	}
	changed := s.outcome != nil && s.outcome.generation != cluster.Generation
	if !s.running && (changed || !now.Before(s.due)) {
		s.running, start = true, true
	}
	return *s, start
}

// reset forgets what probes of a Cluster have said, which is of a kind that is not probed. One
// that is under way counts for nothing, and none begins until it has ended.
func (m *memory) reset(object cache.ObjectName, cluster *corev1alpha1.Cluster) {
	m.lock.Lock()
	defer m.lock.Unlock()
	running := false
	if s := m.states[object]; s != nil {
		m.move(object, s, "")
		running = s.running
	}
	m.states[object] = &state{uid: cluster.UID, running: running, overtaken: running}
}

// forget forgets the Cluster of a name if it has another UID, and returns that.
func (m *memory) forget(object cache.ObjectName, kept types.UID) []types.UID {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.states[object]
	if s == nil || s.uid == kept {
		return nil
	}
	m.move(object, s, "")
	delete(m.states, object)
	return []types.UID{s.uid}
}

// knows tells whether a Cluster is one that is known.
func (m *memory) knows(object cache.ObjectName, uid types.UID) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.states[object]
	return s != nil && s.uid == uid
}

// note takes down how a probe went, and returns whether the cluster counts as reachable; and
// whether the probe counts, which it does not if it was overtaken.
func (m *memory) note(object cache.ObjectName, uid types.UID, result *outcome, now time.Time) (reachable, counts bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.states[object]
	if s == nil || s.uid != uid {
		return false, false
	}
	s.running = false
	if s.overtaken {
		s.overtaken = false
		return false, false
	}
	other := s.isOther(result)
	if other {
		s.reachable, s.failures, s.foundAt = false, 0, time.Time{}
	}
	s.outcome = result
	if result.client != nil {
		s.client = result.client
	}
	if result.found == nil {
		s.failures++
		if s.reachable = s.reachable && s.failures < patience; !s.reachable {
			s.due = now.Add(jitter(retry(s.failures)))
			return false, true
		}
		s.due = now.Add(jitter(period))
		return true, true
	}
	s.failures, s.reachable, s.seen = 0, true, now
	if s.found == nil || now.Sub(s.foundAt) >= seenEvery && !showsTheSame(s.found, result.found) {
		s.found, s.foundAt = result.found, now
	}
	s.due = now.Add(jitter(period))
	// That it could not be read which one it is says nothing, while the connection is the same.
	if other || result.found.UID != "" {
		m.move(object, s, result.found.UID)
	}
	return true, true
}

// isOther tells whether a probe was one of another connection than those before: what went
// well with these says nothing of this one.
func (s *state) isOther(result *outcome) bool {
	if result.client == nil || s.client == nil {
		return s.outcome != nil && s.outcome.generation != result.generation
	}
	return s.client != result.client
}

// showsTheSame tells whether a status says the same of what was found twice.
func showsTheSame(a, b *target.Found) bool {
	return a.Version == b.Version && slices.Equal(a.APIVersions, b.APIVersions)
}

// retry is the time until a cluster is probed again of which that many probes have failed.
func retry(failures int) time.Duration {
	return min(lastRetry, firstRetry<<min(failures-1, 10))
}

// jitter moves a time by up to a tenth, so that not all clusters are probed at once.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + time.Duration(rand.Int64N(int64(d/5)+1)) //nolint:gosec // nothing is secret here
}

// tell has a Cluster looked at.
func (m *memory) tell(object cache.ObjectName, uid types.UID) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if s := m.states[object]; s != nil && s.uid == uid {
		m.wake(object.Namespace, object.Name)
	}
}

// wake has Clusters looked at. The lock is held.
func (m *memory) wake(namespace string, names ...string) {
	if m.enqueue == nil {
		return
	}
	for _, name := range names {
		m.enqueue(cache.NewObjectName(namespace, name))
	}
}

// wrote takes down that a status says when a cluster was seen.
func (m *memory) wrote(object cache.ObjectName, at time.Time) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if s := m.states[object]; s != nil {
		s.written = at
	}
}
