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

package discovery

import "entente.dev/entente/controllers/rules"

// snapshot is what resources the host cluster has. It never changes.
type snapshot struct {
	// groups are the API groups, by name; the core group has none.
	groups map[string]group
}

var _ rules.Resources = &snapshot{}

// group is an API group.
type group struct {
	// versions are in the order in which the host prefers them. Those that were never
	// read are at the end.
	versions []version
}

// version is one version of an API group.
type version struct {
	name string
	// resources tells which there are, by name, and whether they are namespaced. It is
	// nil if that was never read.
	resources map[string]bool
}

// Scope implements rules.Resources. Rules hold for all versions of a group, so one is
// enough to have a resource. If versions disagree about its scope it counts as namespaced,
// which grants less.
func (s *snapshot) Scope(groupName, resource string) (namespaced, found bool) {
	for _, version := range s.groups[groupName].versions {
		if is, there := version.resources[resource]; there {
			namespaced, found = namespaced || is, true
		}
	}
	return namespaced, found
}

// Failed implements rules.Resources.
func (s *snapshot) Failed(groupName string) bool {
	for _, version := range s.groups[groupName].versions {
		if version.resources == nil {
			return true
		}
	}
	return false
}

// complete tells whether all that there is was read.
func (s *snapshot) complete() bool {
	for name := range s.groups {
		if s.Failed(name) {
			return false
		}
	}
	return true
}

// preferred returns the version of a resource that the host prefers.
func (s *snapshot) preferred(groupName, resource string) (name string, found bool) {
	for _, version := range s.groups[groupName].versions {
		if _, there := version.resources[resource]; there {
			return version.name, true
		}
	}
	return "", false
}
