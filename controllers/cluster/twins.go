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
	"slices"
	"strings"

	"k8s.io/client-go/tools/cache"
)

// maxNamed is how many other Clusters a message names at the most. Where there are more, each
// names the next one only: so one that comes or goes changes few messages, however many there
// are.
const maxNamed = 4

// place is one target as the Clusters of one namespace know it.
type place struct{ namespace, target string }

// twins are the names of the Clusters that have the same target, in order.
type twins map[place][]string

// leave takes a Cluster out, and returns those of which the message changes.
func (t twins) leave(where place, name string) (changed []string) {
	group := t[where]
	i, found := slices.BinarySearch(group, name)
	if !found {
		return nil
	}
	group = slices.Delete(group, i, i+1)
	if len(group) == 0 {
		delete(t, where)
		return nil
	}
	t[where] = group
	if len(group) <= maxNamed+1 {
		return slices.Clone(group)
	}
	return []string{before(group, i)}
}

// join takes a Cluster in, and returns the others of which the message changes.
func (t twins) join(where place, name string) (changed []string) {
	group := t[where]
	i, found := slices.BinarySearch(group, name)
	if found {
		return nil
	}
	if len(group) <= maxNamed+1 {
		changed = slices.Clone(group)
	} else {
		changed = []string{before(group, i)}
	}
	t[where] = slices.Insert(group, i, name)
	return changed
}

// before returns the one before a place of a group, in a circle.
func before(group []string, i int) string { return group[(i+len(group)-1)%len(group)] }

// of says in a sentence which other Clusters have the target of one; empty: there is none.
func (t twins) of(where place, name string) string {
	group := t[where]
	i, found := slices.BinarySearch(group, name)
	switch {
	case !found || len(group) == 1:
		return ""
	case len(group) <= maxNamed+1:
		others := slices.Delete(slices.Clone(group), i, i+1)
		return " The same cluster is the target of: " + strings.Join(others, ", ") + "."
	}
	return " The same cluster is the target of: " + group[(i+1)%len(group)] + " and others."
}

// move takes down which target a Cluster has now, empty for none, and has those looked at of
// which the message changes. The lock is held.
func (m *memory) move(object cache.ObjectName, s *state, target string) {
	if s.target == target {
		return
	}
	m.wake(object.Namespace, m.twins.leave(place{object.Namespace, s.target}, object.Name)...)
	s.target = target
	if target != "" {
		m.wake(object.Namespace, m.twins.join(place{object.Namespace, target}, object.Name)...)
	}
}

// same says in a sentence which other Clusters of the namespace have the same target.
func (m *memory) same(object cache.ObjectName) string {
	m.lock.Lock()
	defer m.lock.Unlock()
	s := m.states[object]
	if s == nil || s.target == "" {
		return ""
	}
	return m.twins.of(place{object.Namespace, s.target}, object.Name)
}
