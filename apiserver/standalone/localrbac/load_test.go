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

package localrbac

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver/etcd/datadir"
)

const meta = "apiVersion: rbac.authorization.k8s.io/v1\n"

// Design section 3: a file that does not parse grants nothing, that file only.
func TestBadFile(t *testing.T) {
	good := `- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [get]}`
	other := `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: others}
roleRef: {kind: ClusterRole, name: other}
subjects: [{kind: User, name: other}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: other}
rules:
- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [get]}
`
	for name, tc := range map[string]struct {
		file    string
		content string
		says    string
	}{
		"no YAML":           {content: roleYAML(good) + "\n---\n{", says: "document 3"},
		"unknown field":     {content: roleYAML(`- {apiGroups: ["*"], resources: ["*"], verbs: ["*"], resourceNamez: [a]}`), says: `unknown field "rules[0].resourceNamez"`},
		"repeated field":    {content: roleYAML(good + "\n- verbs: [get]\n  verbs: [get]"), says: `"verbs" already set`},
		"wrong type":        {content: roleYAML(`- {apiGroups: peering.entente.dev, resources: ["*"], verbs: ["*"]}`), says: "cannot unmarshal"},
		"no kind":           {content: roleYAML(good) + "\n---\n" + meta + "metadata: {name: hidden}", says: "document 3: kind is missing"},
		"no version":        {content: roleYAML(good) + "\n---\nkind: Role", says: "document 3: apiVersion is missing"},
		"another kind":      {content: roleYAML(good) + "\n---\napiVersion: v1\nkind: Secret", says: "Secret of v1 is not one of"},
		"a list":            {content: roleYAML(good) + "\n---\n" + meta + "kind: RoleList\nitems: []", says: "RoleList of rbac.authorization.k8s.io/v1 is not one of"},
		"an older version":  {content: roleYAML(good) + "\n---\napiVersion: rbac.authorization.k8s.io/v1beta1\nkind: Role", says: "Role of rbac.authorization.k8s.io/v1beta1 is not one of"},
		"no JSON":           {file: "role.json", content: roleYAML(good), says: "invalid character"},
		"half a JSON":       {file: "role.json", content: `{"apiVersion": "rbac.authorization.k8s.io/v1"`, says: "unexpected EOF"},
		"aggregation":       {content: roleYAML(good) + "\naggregationRule: {clusterRoleSelectors: []}", says: "aggregated ClusterRoles are not supported"},
		"no name":           {content: roleYAML(good) + "\n---\n" + meta + "kind: ClusterRole", says: "metadata.name: Required value"},
		"Role, cluster":     {content: roleYAML(good) + "\n---\n" + meta + "kind: Role\nmetadata: {name: a}", says: "metadata.namespace: Required value"},
		"ClusterRole in ns": {content: roleYAML(good) + "\n---\n" + meta + "kind: ClusterRole\nmetadata: {name: a, namespace: b}", says: "this kind has no namespace"},
		"no verbs":          {content: roleYAML(`- {apiGroups: ["*"], resources: ["*"]}`), says: "rules[0].verbs: Required value"},
		"no groups":         {content: roleYAML(`- {resources: ["*"], verbs: ["*"]}`), says: "rules[0].apiGroups: Required value"},
		"no resources":      {content: roleYAML(`- {apiGroups: ["*"], verbs: ["*"]}`), says: "rules[0].resources: Required value"},
		"both":              {content: roleYAML(`- {apiGroups: ["*"], resources: ["*"], nonResourceURLs: ["*"], verbs: ["*"]}`), says: "either URLs or resources"},
		"URL in a Role":     {content: roleYAML(good) + "\n---\n" + meta + "kind: Role\nmetadata: {name: a, namespace: b}\nrules: [{nonResourceURLs: [/a], verbs: [get]}]", says: "a Role is about resources"},
		"subject kind":      {content: roleYAML(good) + "\n---\n" + meta + "kind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: some}\nsubjects: [{kind: Person, name: a}]", says: "subjects[0].kind: Unsupported value"},
		"subject group":     {content: roleYAML(good) + "\n---\n" + meta + "kind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: some}\nsubjects: [{kind: User, apiGroup: x, name: a}]", says: "subjects[0].apiGroup: Unsupported value"},
		"subject namespace": {content: roleYAML(good) + "\n---\n" + meta + "kind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: some}\nsubjects: [{kind: User, name: a, namespace: b}, {kind: ServiceAccount, name: a}]", says: "subjects[1].namespace: Required value"},
		"role of a ns":      {content: roleYAML(good) + "\n---\n" + meta + "kind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: Role, name: some}", says: "roleRef.kind: Unsupported value"},
		"no role":           {content: roleYAML(good) + "\n---\n" + meta + "kind: RoleBinding\nmetadata: {name: a, namespace: b}\nroleRef: {kind: Role, apiGroup: x}", says: "roleRef.name: Required value"},
		"twice":             {content: roleYAML(good) + "\n---\n" + roleYAML(good), says: "is defined twice"},
		"defined elsewhere": {content: roleYAML(good) + "\n---\n" + strings.Replace(other, "others", "different", 1), says: `ClusterRole "other" is defined in a.yaml already`},
		"too large":         {content: roleYAML(good) + strings.Repeat("#", maxFileSize), says: "is larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			file := tc.file
			if file == "" {
				file = "role.yaml"
			}
			a := authorizerOf(t, map[string]string{file: tc.content, "a.yaml": other})
			require.Len(t, a.Problems(), 1)
			assert.Equal(t, file, a.Problems()[0].File)
			assert.Contains(t, a.Problems()[0].Message, tc.says)
			assert.Contains(t, a.Problems()[0].Message, "the whole file grants nothing")
			assert.NotContains(t, a.Problems()[0].Message, "hidden", "a problem does not quote the file")
			assert.False(t, allowed(t, a, request(person("somebody"), "get", "clusterpeers", "", "a")), "the file grants nothing")
			assert.True(t, allowed(t, a, request(person("other"), "get", "clusterpeers", "", "a")), "other files count")

			_, reason, err := a.Authorize(testContext(t), request(person("somebody"), "get", "clusterpeers", "", "a"))
			require.NoError(t, err)
			assert.Contains(t, reason, "not all RBAC manifests count", "who is refused learns that it may be a mistake")
			assert.NotContains(t, reason, file)
		})
	}
}

// A binding to a role that is not there grants nothing, and says so.
func TestDanglingBinding(t *testing.T) {
	a := authorizerOf(t, map[string]string{"b.yaml": bindingYAML, "a.yaml": rightsYAML})
	assert.Equal(t, []Problem{{File: "b.yaml", Message: `ClusterRoleBinding "some" grants nothing: there is no ClusterRole "some"`}}, a.Problems())
}

// Roles and bindings may be anywhere; comments, separators, JSON and other files
// in the folder are no problem.
func TestGoodFiles(t *testing.T) {
	role := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"some"},
"rules":[{"apiGroups":["peering.entente.dev"],"resources":["clusterpeers"],"verbs":["get"]}]}`
	wanted := request(person("somebody"), "get", "clusterpeers", "", "a")
	files := map[string]string{"binding.yaml": "# a comment\n---\n" + bindingYAML + "---\n---\n# the end\n"}
	for name, more := range map[string]map[string]string{
		"JSON":            {"role.json": role},
		"JSON in YAML":    {"role.yml": role},
		"two JSON":        {"role.json": role + "\n" + strings.Replace(role, `"some"`, `"another"`, 1)},
		"ignored files":   {"role.json": role, ".hidden.yaml": "{", "role.yaml~": "{", "notes.txt": "{", "role.yaml.bak": "{"},
		"empty files":     {"role.json": role, "empty.yaml": "", "comment.yaml": "# nothing\n", "empty.json": ""},
		"metadata of get": {"role.json": strings.Replace(role, `"name":"some"`, `"name":"some","uid":"u","resourceVersion":"1","creationTimestamp":null,"labels":{"a":"b"}`, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(files)
			maps.Copy(all, more)
			a := authorizerOf(t, all)
			assert.Empty(t, a.Problems())
			assert.True(t, allowed(t, a, wanted))
		})
	}
	t.Run("subfolder", func(t *testing.T) {
		dir := folderOf(t, files)
		require.NoError(t, os.Mkdir(filepath.Join(dir, "more"), 0o700))
		write(t, filepath.Join(dir, "more"), map[string]string{"role.json": role})
		a, err := New(testContext(t), Options{Dir: dir})
		require.NoError(t, err)
		assert.False(t, allowed(t, a, wanted), "subfolders are not read")
	})
}

// What cannot be read is a problem of that file; a pipe must not be waited for.
func TestUnreadableFile(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"folder":        func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, map[string]string{"rights.yaml": rightsYAML})
			require.NoError(t, create(filepath.Join(dir, "odd.yaml")))
			a, err := New(testContext(t), Options{Dir: dir})
			require.NoError(t, err)
			require.Len(t, a.Problems(), 1)
			assert.Equal(t, "odd.yaml", a.Problems()[0].File)
		})
	}
}

// Design section 3: a group- or world-writable folder is refused.
func TestInsecureAtStart(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"group": 0o720, "world": 0o702, "both, sticky": 0o777 | os.ModeSticky} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t, map[string]string{"rights.yaml": rightsYAML})
			require.NoError(t, os.Chmod(dir, mode))
			_, err := New(testContext(t), Options{Dir: dir})
			require.ErrorIs(t, err, datadir.ErrInsecure)
			require.ErrorContains(t, err, dir)

			require.NoError(t, os.Chmod(dir, 0o755))
			file := filepath.Join(dir, "rights.yaml")
			require.NoError(t, os.Chmod(file, mode))
			_, err = New(testContext(t), Options{Dir: dir})
			require.ErrorIs(t, err, datadir.ErrInsecure)
			require.ErrorContains(t, err, file)

			require.NoError(t, os.Chmod(file, 0o644))
			_, err = New(testContext(t), Options{Dir: dir})
			require.NoError(t, err, "others may read")
		})
	}
	t.Run("absent", func(t *testing.T) {
		_, err := New(testContext(t), Options{Dir: filepath.Join(t.TempDir(), "absent")})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}
