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

package projects

import (
	"slices"
	"strings"

	"entente.dev/entente/controllers/access"
)

// Snapshot is the projects of this cluster at one moment. It never changes, and what it
// returns is shared and not to be changed.
type Snapshot struct {
	labelled []access.Project
	all      map[string]access.Project
}

var _ access.ProjectSet = &Snapshot{}

// Labelled returns the projects that have labelled namespaces, and of each those only, in
// order of their names.
func (s *Snapshot) Labelled() []access.Project { return s.labelled }

// Get returns a project with all its namespaces, be they labelled or named by a Project
// object. found is false if it has none.
func (s *Snapshot) Get(name string) (project access.Project, found bool) {
	project, found = s.all[name]
	return project, found
}

// members are the namespaces of each project, by its name.
type members map[string][]string

func (m members) add(project, namespace string) { m[project] = append(m[project], namespace) }

// projects returns them by name, with their namespaces in order.
func (m members) projects() map[string]access.Project {
	projects := make(map[string]access.Project, len(m))
	for name, namespaces := range m {
		slices.Sort(namespaces)
		projects[name] = access.Project{Name: name, Namespaces: namespaces}
	}
	return projects
}

// inOrder returns them in order of their names.
func (m members) inOrder() []access.Project {
	var projects []access.Project
	for _, project := range m.projects() {
		projects = append(projects, project)
	}
	slices.SortFunc(projects, func(a, b access.Project) int { return strings.Compare(a.Name, b.Name) })
	return projects
}
