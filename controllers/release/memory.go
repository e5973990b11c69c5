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

package release

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/mutation"
	"entente.dev/entente/controllers/target"
)

const (
	// firstRetry is the time until a Release is applied again that could not be, which doubles
	// with each failure up to lastRetry.
	firstRetry = 2 * time.Second
	lastRetry  = 2 * time.Minute
	// unknownPatience is for how long a Release that is being deleted waits at least for what
	// the first probe of its Cluster says.
	unknownPatience = time.Minute
)

// circumstances are what an attempt is made under. With others it is made anew at once.
type circumstances struct {
	release, cluster int64 // generations
	clusterUID       types.UID
	client           *target.Client
	target           string
}

// attempt is the last one that was made for a Release.
type attempt struct {
	under circumstances
	found finding
	// due is when it is made again.
	due time.Time
	// failures is how many have failed in a row.
	failures int
}

// state is what is known of one Release.
type state struct {
	uid  types.UID
	last *attempt
	// quick says that the last attempt took little time.
	quick bool
	// unknown is since when it has been waited for the first probe of its Cluster.
	unknown time.Time
	// plan are its mutations, compiled, of a generation; fault is why they cannot be.
	generation int64
	plan       *mutation.Plan
	fault      error
}

// memory is what is known of all Releases.
type memory struct {
	lock   sync.Mutex
	states map[cache.ObjectName]*state
	// busy and crowded count the Releases that are worked on, by client and by namespace; slow
	// and slowIn those of them that count as slow.
	busy    map[*target.Client]int
	crowded map[string]int
	slow    int
	slowIn  map[string]int
	// places are those of objects that are being applied.
	places map[place]struct{}
}

// place is where an object is, as the Releases of one namespace know it.
type place struct{ namespace, target, object string }

func newMemory() *memory {
	return &memory{states: map[cache.ObjectName]*state{}, busy: map[*target.Client]int{}, crowded: map[string]int{}, slowIn: map[string]int{}, places: map[place]struct{}{}}
}

// of returns the state of a Release. The lock is held.
func (m *memory) of(release *corev1alpha1.Release) *state {
	name := cache.MetaObjectToName(release)
	s := m.states[name]
	if s == nil || s.uid != release.UID {
		s = &state{uid: release.UID}
		m.states[name] = s
	}
	return s
}

// forget forgets the Release of a name if it has another UID.
func (m *memory) forget(object cache.ObjectName, kept types.UID) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if s := m.states[object]; s != nil && s.uid != kept {
		delete(m.states, object)
	}
}

// knows tells whether a Release was looked at before.
func (m *memory) knows(release *corev1alpha1.Release) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.states[cache.MetaObjectToName(release)]
	return s != nil && s.uid == release.UID
}

// meets takes down that a Release is looked at.
func (m *memory) meets(release *corev1alpha1.Release) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.of(release)
}

// last returns the last attempt, if it was made under these circumstances.
func (m *memory) last(release *corev1alpha1.Release, under circumstances) *attempt {
	m.lock.Lock()
	defer m.lock.Unlock()
	last := m.of(release).last
	if last == nil || last.under != under {
		return nil
	}
	return last
}

// note takes down an attempt, and returns after what time the next one is due: soon after one
// that failed, later the more have, and else after the period.
func (m *memory) note(release *corev1alpha1.Release, under circumstances, found finding, now time.Time, period time.Duration) time.Duration {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.of(release)
	made := &attempt{under: under, found: found}
	again := period
	switch {
	case found.going:
		again = goingAgain
	case found.reason == corev1alpha1.ReasonMutationFailed:
		// Nothing but another Release or Cluster changes that.
	case found.reason != corev1alpha1.ReasonApplied:
		if s.last != nil && s.last.under == under {
			made.failures = s.last.failures
		}
		made.failures++
		again = min(lastRetry, firstRetry<<min(made.failures-1, 10))
	}
	made.due = now.Add(again)
	s.last = made
	return again
}

// waits returns for how long it has been waited for the first probe of the Cluster of a Release.
func (m *memory) waits(release *corev1alpha1.Release, now time.Time) time.Duration {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.of(release)
	if s.unknown.IsZero() {
		s.unknown = now
	}
	return now.Sub(s.unknown)
}

// compiled returns the mutations of a Release, which are compiled once for each generation. What
// was broken off is not kept.
func (m *memory) compiled(ctx context.Context, release *corev1alpha1.Release) (*mutation.Plan, error) {
	m.lock.Lock()
	s := m.of(release)
	if s.generation == release.Generation && (s.plan != nil || s.fault != nil) {
		defer m.lock.Unlock()
		return s.plan, s.fault
	}
	m.lock.Unlock()
	plan, err := mutation.Compile(ctx, release.Spec.Mutations)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("could not compile the mutations: %w", context.Cause(ctx))
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	s.generation, s.plan, s.fault = release.Generation, plan, err
	return plan, err
}

// within calls a function, unless too many Releases are worked on now, of this kind, by the
// client or of the namespace. How long it takes says whether the Release counts as slow.
func (m *memory) within(release *corev1alpha1.Release, client *target.Client, clk clock.PassiveClock, work func()) bool {
	leave, ok := m.enter(release, client)
	if !ok {
		return false
	}
	began := clk.Now()
	defer func() { leave(clk.Since(began) >= slowAfter) }() // also after a panic
	work()
	return true
}

// enter says whether a Release may be worked on by a client, until leave is called.
func (m *memory) enter(release *corev1alpha1.Release, client *target.Client) (leave func(slow bool), ok bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	namespace, quick := release.Namespace, m.of(release).quick
	if m.busy[client] >= perTarget || m.crowded[namespace] >= perNamespace ||
		!quick && (m.slow >= slowWorkers || m.slowIn[namespace] >= slowPerNamespace) {
		return nil, false
	}
	m.busy[client]++
	m.crowded[namespace]++
	if !quick {
		m.slow++
		m.slowIn[namespace]++
	}
	return func(slow bool) {
		m.lock.Lock()
		defer m.lock.Unlock()
		down(m.busy, client)
		down(m.crowded, namespace)
		if !quick {
			m.slow--
			down(m.slowIn, namespace)
		}
		if s := m.states[cache.MetaObjectToName(release)]; s != nil && s.uid == release.UID {
			s.quick = !slow
		}
	}, true
}

// down counts one down, and forgets it at none.
func down[K comparable](counts map[K]int, key K) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
}

// occupy takes a place, unless somebody has it, until leave is called.
func (m *memory) occupy(p place) (leave func(), ok bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if _, taken := m.places[p]; taken {
		return nil, false
	}
	m.places[p] = struct{}{}
	return func() {
		m.lock.Lock()
		defer m.lock.Unlock()
		delete(m.places, p)
	}, true
}
