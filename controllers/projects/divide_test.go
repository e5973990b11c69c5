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
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"entente.dev/entente/controllers/access"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

var usual = division{label: DefaultLabel, own: []string{"entente-system", "entente-access"}}

// namespace has a project as its label, "" for none.
func namespace(name, project string) *corev1.Namespace {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)}}
	if project != "" {
		object.Labels = map[string]string{DefaultLabel: project}
	}
	return object
}

// written are projects as "name: namespace namespace; name: …".
func written(projects []access.Project) string {
	var all []string
	for _, project := range projects {
		all = append(all, project.Name+": "+strings.Join(project.Namespaces, " "))
	}
	return strings.Join(all, "; ")
}

func got(snapshot access.ProjectSet, name string) string {
	project, found := snapshot.Get(name)
	if !found {
		return ""
	}
	return written([]access.Project{project})
}

// G4: a label makes projects, in order; a name that is none makes none.
func TestG4Labels(t *testing.T) {
	snapshot, conflicts := usual.divide([]*corev1.Namespace{
		namespace("b-2", "b"), namespace("a-1", "a"), namespace("b-1", "b"), namespace("none", ""),
		namespace("capitals", "A"), namespace("dotted", "a.b"), namespace("underscore", "a_b"), namespace("long", strings.Repeat("a", 64)),
	}, nil)
	assert.Equal(t, "a: a-1; b: b-1 b-2", written(snapshot.Labelled()))
	assert.Equal(t, "b: b-1 b-2", got(snapshot, "b"))
	for _, none := range []string{"c", "A", "a.b", "a_b", ""} {
		assert.Empty(t, got(snapshot, none))
	}
	assert.Empty(t, conflicts)

	snapshot, _ = division{label: "example.com/team", own: []string{"entente-system", "entente-access"}}.divide([]*corev1.Namespace{
		namespace("a-1", "a"),
		{ObjectMeta: metav1.ObjectMeta{Name: "c-1", Labels: map[string]string{"example.com/team": "c"}}},
	}, nil)
	assert.Equal(t, "c: c-1", written(snapshot.Labelled()), "another key")
}

// G4: namespaces of the system, Entente's own and those that go never belong, neither by a
// label nor to a Project object.
func TestG4NeverBelong(t *testing.T) {
	leaving, terminating := namespace("leaving", "a"), namespace("terminating", "a")
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	terminating.Status.Phase = corev1.NamespaceTerminating
	namespaces := []*corev1.Namespace{namespace("kube-system", "a"), namespace("kube-x", "a"), namespace("entente-system", "a"), namespace("entente-access", "a"), leaving, terminating}
	var names []string
	for _, namespace := range namespaces {
		names = append(names, namespace.Name)
	}
	for _, claims := range [][]claim{nil, {{project: "a", namespaces: names}}, {{project: "a", namespaces: names}, {project: "b", namespaces: names}}} {
		snapshot, conflicts := usual.divide(append(namespaces, namespace("kubernetes", "k")), claims)
		assert.Equal(t, "k: kubernetes", written(snapshot.Labelled()))
		assert.Empty(t, got(snapshot, "a"))
		assert.Empty(t, conflicts, "nobody loses anything")
	}
}

// G4: what Project objects claim counts when they are listed, and beats a label.
func TestG4ProjectObjects(t *testing.T) {
	for name, test := range map[string]struct {
		claims         []claim
		labelled, a, b string
		conflicts      []string
	}{
		"none":                         {nil, "a: one", "a: one", "", nil},
		"claims what is there":         {[]claim{{project: "b", namespaces: []string{"two", "gone"}}}, "a: one", "a: one", "b: two", nil},
		"beats a label":                {[]claim{{project: "b", namespaces: []string{"two", "one"}}}, "", "", "b: one two", nil},
		"agrees with a label":          {[]claim{{project: "a", namespaces: []string{"one", "two"}}}, "a: one", "a: one two", "", nil},
		"adds to a label":              {[]claim{{project: "a", namespaces: []string{"two"}}}, "a: one", "a: one two", "", nil},
		"claims it twice":              {[]claim{{project: "b", namespaces: []string{"two", "two"}}}, "a: one", "a: one", "b: two", nil},
		"two claims":                   {[]claim{{project: "b", namespaces: []string{"two"}}, {project: "a", namespaces: []string{"two"}}}, "a: one", "a: one", "", []string{"two: a b"}},
		"two claims to a labelled one": {[]claim{{project: "b", namespaces: []string{"one"}}, {project: "a", namespaces: []string{"one", "two"}}}, "", "a: two", "", []string{"one: a b"}},
		"three claims":                 {[]claim{{project: "c", namespaces: []string{"one"}}, {project: "b", namespaces: []string{"one"}}, {project: "a", namespaces: []string{"one"}}}, "", "", "", []string{"one: a b"}},
		"what goes keeps others out":   {[]claim{{project: "b", namespaces: []string{"one"}, void: true}}, "", "", "", nil},
		"what goes is in a conflict":   {[]claim{{project: "b", namespaces: []string{"one"}, void: true}, {project: "a", namespaces: []string{"one"}}}, "", "", "", []string{"one: a b"}},
		"has no namespaces":            {[]claim{{project: "b"}}, "a: one", "a: one", "", nil},
		"two claims to what is gone":   {[]claim{{project: "b", namespaces: []string{"gone"}}, {project: "a", namespaces: []string{"gone"}}}, "a: one", "a: one", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot, conflicts := usual.divide([]*corev1.Namespace{namespace("one", "a"), namespace("two", "")}, test.claims)
			assert.Equal(t, test.labelled, written(snapshot.Labelled()))
			assert.Equal(t, test.a, got(snapshot, "a"))
			assert.Equal(t, test.b, got(snapshot, "b"))
			var told []string
			for _, c := range conflicts {
				told = append(told, fmt.Sprintf("%s: %s %s", c.namespace.Name, c.a, c.b))
			}
			assert.Equal(t, test.conflicts, told)
		})
	}
}

func projectObject(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(manifest), &object.Object))
	return object
}

// G4: both shapes of status.namespaces, and what else a Project object may hold.
func TestG4ShapesOfProjects(t *testing.T) {
	for name, test := range map[string]struct {
		manifest string
		want     claim
		none     bool
	}{
		"names":            {manifest: "metadata: {name: a}\nstatus: {namespaces: [a, a-1]}", want: claim{project: "a", namespaces: []string{"a", "a-1"}}},
		"objects":          {manifest: "metadata: {name: a}\nstatus: {namespaces: [{name: a, kind: Main}, {name: a-1, kind: Additional}, {name: a-2}, {name: a-3, kind: Namespace}]}", want: claim{project: "a", namespaces: []string{"a", "a-1", "a-2", "a-3"}}},
		"of another kind":  {manifest: "metadata: {name: a}\nstatus: {namespaces: [{name: a, kind: Secret}, {kind: Main}, {name: 7}]}", want: claim{project: "a"}},
		"both":             {manifest: "metadata: {name: a}\nstatus: {namespaces: [a, {name: a-1, kind: Main}]}", want: claim{project: "a", namespaces: []string{"a", "a-1"}}},
		"anything":         {manifest: "metadata: {name: a}\nstatus: {namespaces: [7, null, [a], true, '']}", want: claim{project: "a"}},
		"no list":          {manifest: "metadata: {name: a}\nstatus: {namespaces: a}", want: claim{project: "a"}},
		"no status":        {manifest: "metadata: {name: a}", want: claim{project: "a"}},
		"a status of text": {manifest: "metadata: {name: a}\nstatus: a", want: claim{project: "a"}},
		"going":            {manifest: "metadata: {name: a, deletionTimestamp: '2026-11-01T12:00:00Z'}\nstatus: {namespaces: [a]}", want: claim{project: "a", void: true, namespaces: []string{"a"}}},
		"of an odd name":   {manifest: "metadata: {name: a.b}\nstatus: {namespaces: [a]}", want: claim{project: "a.b", void: true, namespaces: []string{"a"}}},
		"virtual":          {manifest: "metadata: {name: default, labels: {projects.deckhouse.io/virtual-project: 'true'}}\nstatus: {namespaces: [a]}", none: true},
	} {
		t.Run(name, func(t *testing.T) {
			read, has := claimOf(projectObject(t, test.manifest))
			assert.Equal(t, !test.none, has)
			assert.Equal(t, test.want, read)
		})
	}
}

// G4: nothing costs more than there is of it, with as many namespaces as there may be.
func TestG4Many(t *testing.T) {
	var namespaces []*corev1.Namespace
	claims := make([]claim, 100)
	for i := range 5000 {
		name := fmt.Sprintf("n-%04d", i)
		namespaces = append(namespaces, namespace(name, fmt.Sprintf("p-%d", i%500)))
		if i%5 == 0 {
			c := &claims[i%100]
			c.project, c.namespaces = fmt.Sprintf("claimed-%d", i%100), append(c.namespaces, name)
		}
	}
	start := time.Now()
	snapshot, conflicts := usual.divide(namespaces, claims)
	assert.Less(t, time.Since(start), 2*time.Second)
	assert.Empty(t, conflicts)
	total := 0
	for _, project := range snapshot.Labelled() {
		total += len(project.Namespaces)
	}
	assert.Equal(t, 4000, total)
	assert.Len(t, snapshot.all["claimed-5"].Namespaces, 50)
}
