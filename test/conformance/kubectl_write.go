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

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/process"
)

// R12, R5: who may not read a value may write it; the answer is redacted.
// R11: the placeholder is no value to begin with.
func (k *kubectlSuite) testCreate(t *testing.T) {
	manifest := Manifest("created", Value("created"), "")
	dry := k.must(t, k.Operator, manifest, "create", "-f", "-", "--dry-run=server", "-o", "yaml")
	assert.Contains(t, dry, "connectionString: <omitted>")
	assert.NotContains(t, k.names(t, ""), "created", "a dry run creates nothing")
	answer := k.must(t, k.Operator, manifest, "create", "-f", "-", "-o", "json", "--show-managed-fields", "--save-config")
	assert.Contains(t, answer, `"connectionString": "\u003comitted\u003e"`)
	assert.Equal(t, Value("created"), k.value(t, "created"))
	assert.NotContains(t, fmt.Sprint(k.peer(t, "created").Annotations), Canary, "R14")

	k.refused(t, k.Operator, Manifest("created", Value("other"), ""), []string{"create", "-f", "-"}, []string{"AlreadyExists"})
	assert.Equal(t, Value("created"), k.value(t, "created"))
	k.refused(t, k.Viewer, Manifest("created-2", Value("x"), ""), []string{"create", "-f", "-"}, []string{"Forbidden", "cannot create resource"})
	for _, user := range []string{k.Admin, k.Operator} {
		k.refused(t, user, Manifest("created-3", "<omitted>", ""), []string{"create", "-f", "-"}, []string{"Invalid", "spec.join.connectionString"})
	}
	k.refused(t, k.Operator, Manifest("created-4", Value("x"), "")+"  bogus: 1\n", []string{"create", "-f", "-"}, []string{"strict decoding error", `unknown field "spec.bogus"`})
	assert.NotContains(t, k.names(t, ""), "created-3")
	assert.NotContains(t, k.names(t, ""), "created-4")
}

// unchanged holds that something changes nothing of an object. The controllers write at
// their own times, but not for ever.
func (k *kubectlSuite) unchanged(t *testing.T, name, what string, by func()) {
	t.Helper()
	eventually(t, what+" changes nothing", func() bool {
		before := k.peer(t, name).ResourceVersion
		by()
		return k.peer(t, name).ResourceVersion == before
	})
}

// intact holds that an object is as it was, but for what the controllers write.
func (k *kubectlSuite) intact(t *testing.T, before *peeringv1alpha1.ClusterPeer) {
	t.Helper()
	got := k.peer(t, before.Name)
	assert.Equal(t, before.Spec, got.Spec)
	assert.Equal(t, before.Generation, got.Generation)
	assert.Equal(t, before.Labels, got.Labels)
	assert.Equal(t, before.Annotations, got.Annotations)
}

// R11, R12, R14 under client-side apply; k/k#23564: it keeps a copy of the whole
// manifest in an annotation.
func (k *kubectlSuite) testApplyClientSide(t *testing.T) {
	const name = "applied"
	manifest := Manifest(name, Value(name), "tier: one")
	apply := func(user, manifest string, args ...string) string {
		t.Helper()
		return k.must(t, user, manifest, append([]string{"apply", "-f", "-"}, args...)...)
	}
	apply(k.Operator, manifest, "--dry-run=server")
	assert.NotContains(t, k.names(t, ""), name, "a dry run creates nothing")
	assert.Contains(t, apply(k.Operator, manifest), "created")
	stored := k.peer(t, name)
	assert.Equal(t, Value(name), stored.Spec.Join.ConnectionString)
	assert.NotContains(t, fmt.Sprint(stored.Annotations), Canary)

	for _, step := range []struct{ name, user, manifest string }{
		{"the value again", k.Operator, manifest},
		{"the value, by a holder of the right", k.Admin, manifest},
		{"the placeholder", k.Operator, Manifest(name, "<omitted>", "tier: one")},
		{"the placeholder, by a holder of the right", k.Admin, Manifest(name, "<omitted>", "tier: one")},
	} {
		k.unchanged(t, name, step.name, func() { apply(step.user, step.manifest) })
		got := k.peer(t, name)
		assert.Equal(t, Value(name), got.Spec.Join.ConnectionString, step.name)
		assert.Equal(t, stored.Generation, got.Generation, step.name)
	}

	k.unchanged(t, name, "a dry run", func() {
		apply(k.Operator, Manifest(name, Value("dry"), "tier: two"), "--dry-run=server", "-o", "yaml")
	})

	apply(k.Operator, Manifest(name, Value(name), "tier: two")+"  projects: [one, two]\n")
	apply(k.Operator, Manifest(name, Value(name), "")+"  projects: [two]\n")
	got := k.peer(t, name)
	assert.Empty(t, got.Labels, "what left the manifest leaves the object")
	assert.Equal(t, []string{"two"}, got.Spec.Projects)
	assert.Equal(t, Value(name), got.Spec.Join.ConnectionString)

	assert.NotContains(t, apply(k.Operator, Manifest(name, Value("rotated"), ""), "-o", "json"), Canary)
	assert.Equal(t, Value("rotated"), k.value(t, name), "R12: a new value is stored")
	apply(k.Operator, Manifest(name, "", ""))
	assert.Empty(t, k.value(t, name), "R12: a field left out is removed")
	// kubectl prints the patch that was refused: the manifest, not what is stored.
	k.refused(t, k.Viewer, Manifest(name, "entente1.guess.x", ""), []string{"apply", "-f", "-"}, []string{"Forbidden", "cannot patch resource"})
	k.refused(t, k.Operator, Manifest("applied-2", "<omitted>", ""), []string{"apply", "-f", "-"}, []string{"spec.join.connectionString"})
	k.refused(t, k.Operator, Manifest(name, "<omitted>", ""), []string{"apply", "-f", "-"}, []string{"spec.join.connectionString"})
}

// R10–R12 under server-side apply.
func (k *kubectlSuite) testApplyServerSide(t *testing.T) {
	const name = "ssapplied"
	apply := []string{"apply", "--server-side", "-f", "-", "--field-manager"}
	by := func(manager string, args ...string) []string {
		return append(append(slices.Clone(apply), manager), args...)
	}
	manifest := Manifest(name, Value(name), "tier: one")

	k.must(t, k.Operator, manifest, by("one", "--dry-run=server")...)
	assert.NotContains(t, k.names(t, ""), name, "a dry run creates nothing")
	k.must(t, k.Operator, manifest, by("one")...)
	stored := k.peer(t, name)
	assert.Equal(t, Value(name), stored.Spec.Join.ConnectionString)

	k.unchanged(t, name, "a conflict", func() {
		k.refused(t, k.Operator, Manifest(name, Value("other"), "tier: two"), by("two"),
			[]string{"conflict", ".spec.join.connectionString", ".metadata.labels.tier", `"one"`})
	})
	k.unchanged(t, name, "a dry run", func() {
		dry := k.must(t, k.Operator, Manifest(name, Value("other"), "tier: two"), by("two", "--force-conflicts", "--dry-run=server", "-o", "yaml", "--show-managed-fields")...)
		assert.Contains(t, dry, "tier: two")
	})

	k.must(t, k.Operator, Manifest(name, Value("other"), "tier: two"), by("two", "--force-conflicts")...)
	got := k.peer(t, name)
	assert.Equal(t, Value("other"), got.Spec.Join.ConnectionString)
	assert.Equal(t, "two", got.Labels["tier"])

	// The placeholder claims nothing and takes nothing.
	k.must(t, k.Operator, Manifest(name, "<omitted>", ""), by("three")...)
	assert.Equal(t, Value("other"), k.value(t, name))
	k.refused(t, k.Operator, Manifest("ssapplied-2", "<omitted>", ""), by("one"), []string{"spec.join.connectionString"})
	k.refused(t, k.Operator, manifest+"  bogus: 1\n", by("one"), []string{"spec.bogus"})
	k.refused(t, k.Viewer, manifest, by("one"), []string{"Forbidden"})
	assert.NotContains(t, k.names(t, ""), "ssapplied-2")

	// R9: through /sensitive too, where apply changes the value and nothing else.
	k.must(t, k.Admin, Manifest(name, Value("third"), "tier: three"), by("four", "--force-conflicts", "--subresource=sensitive")...)
	got = k.peer(t, name)
	assert.Equal(t, Value("third"), got.Spec.Join.ConnectionString)
	assert.Equal(t, "two", got.Labels["tier"])
}

// R10: kubectl diff compares what the server would answer, so that it shows a
// value to nobody who may not see it, and no drift where there is none
// (redpanda-operator#194).
func (k *kubectlSuite) testDiff(t *testing.T) {
	const name = "diffed"
	manifest := Manifest(name, Value(name), "tier: one")
	k.must(t, k.Operator, manifest, "apply", "-f", "-")
	before := k.peer(t, name)
	for _, mode := range [][]string{nil, {"--server-side", "--force-conflicts"}} {
		diff := func(user, manifest string) process.Result {
			t.Helper()
			return k.run(t, user, manifest, append([]string{"diff", "-f", "-"}, mode...)...)
		}
		if mode == nil {
			for _, value := range []string{Value(name), "<omitted>"} {
				result := diff(k.Operator, Manifest(name, value, "tier: one"))
				assert.Zero(t, result.Code, "no drift: %s", result.Output())
			}
		}
		result := diff(k.Operator, Manifest(name, Value(name), "tier: two"))
		assert.Equal(t, 1, result.Code, result.Output())
		assert.Contains(t, result.Stdout, "+    tier: two")
		result = diff(k.Operator, Manifest(name, Value("new"), "tier: one"))
		assert.LessOrEqual(t, result.Code, 1, result.Output())
		result = diff(k.Admin, Manifest(name, Value("new"), "tier: one"))
		assert.Equal(t, 1, result.Code, result.Output())
		assert.Contains(t, result.Stdout, "-    connectionString: "+Value(name))
		result = diff(k.Operator, Manifest("diffed-new", Value("x"), ""))
		assert.Equal(t, 1, result.Code, result.Output())
		assert.Contains(t, result.Stdout, "+    connectionString: <omitted>")
		result = diff(k.Viewer, Manifest(name, Value(name), "tier: two"))
		assert.Greater(t, result.Code, 1, "a viewer may not try a patch: %s", result.Output())
	}
	k.intact(t, before)
	assert.NotContains(t, k.names(t, ""), "diffed-new")
}

// edit runs kubectl edit with an editor that is a sed script, and returns also
// what the editor was shown.
func (k *kubectlSuite) edit(t *testing.T, user, script string, args ...string) (result process.Result, shown string) {
	t.Helper()
	dir := t.TempDir()
	editor := filepath.Join(dir, "editor")
	require.NoError(t, os.WriteFile(editor, fmt.Appendf(nil, "#!/bin/sh\ncp \"$1\" %[1]s/shown\nsed '%[2]s' \"$1\" > %[1]s/edited && cat %[1]s/edited > \"$1\"\n", dir, script), 0o700))
	cmd := k.KubectlCommand(t.Context(), t, user, append([]string{"edit"}, args...)...)
	cmd.Env = append(cmd.Env, "KUBE_EDITOR="+editor, "TMPDIR="+dir)
	result, err := process.Run(cmd)
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(dir, "shown"))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	k.check(t, user, "edit "+strings.Join(args, " "), result.Output()+string(content))
	return result, string(content)
}

// R11, R12: whoever edits what was shown to him loses nothing.
func (k *kubectlSuite) testEdit(t *testing.T) {
	const name = "edited"
	k.create(t, name, "tier: one")
	before := k.peer(t, name)

	result, shown := k.edit(t, k.Operator, "s/tier: one/tier: two/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, "connectionString: <omitted>")
	got := k.peer(t, name)
	assert.Equal(t, "two", got.Labels["tier"])
	assert.Equal(t, Value(name), got.Spec.Join.ConnectionString)
	assert.Equal(t, before.Generation, got.Generation)

	result, _ = k.edit(t, k.Operator, "s/nothing/nothing/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Output(), "no changes made")

	result, _ = k.edit(t, k.Operator, "s/connectionString: .*/connectionString: "+Value("edited-2")+"/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Equal(t, Value("edited-2"), k.value(t, name))

	// What is not valid is said, in the editor's second round, and changes nothing.
	before = k.peer(t, name)
	result, shown = k.edit(t, k.Operator, "s/type: Join/type: Invite/", "cpeer", name)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Output(), "is invalid")
	assert.Contains(t, shown, "spec.type")
	result, shown = k.edit(t, k.Operator, "s/^  type: Join/  type: Join\\n  bogus: 1/", "cpeer", name)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Output()+shown, "spec.bogus")
	result, _ = k.edit(t, k.Viewer, "s/tier: two/tier: three/", "cpeer", name)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Output(), "cannot patch resource")
	k.intact(t, before)

	result, shown = k.edit(t, k.Admin, "s/tier: two/tier: three/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, Value("edited-2"))
	assert.Equal(t, Value("edited-2"), k.value(t, name))
}

// R11, K2: metadata moves without the generation; R14: an annotation keeps no value.
func (k *kubectlSuite) testLabelAndAnnotate(t *testing.T) {
	const name = "marked"
	k.create(t, name, "")
	before := k.peer(t, name)
	for _, args := range [][]string{
		{"label", "cpeer", name, "tier=one"},
		{"label", "cpeer", name, "tier=two", "--overwrite"},
		{"label", "cpeer", name, "dry=run", "--dry-run=server"},
		{"annotate", "cpeer", name, "note=one", "other=<omitted>"},
		{"annotate", "cpeer", name, "note=two", "--overwrite", "-o", "yaml"},
		{"annotate", "cpeer", name, "gone=soon"},
		{"annotate", "cpeer", name, "gone-"},
	} {
		k.must(t, k.Operator, "", args...)
	}
	got := k.peer(t, name)
	assert.Equal(t, map[string]string{"tier": "two"}, got.Labels)
	assert.Equal(t, map[string]string{"note": "two", "other": "<omitted>"}, got.Annotations, "the placeholder is data elsewhere")
	assert.Equal(t, before.Generation, got.Generation)
	assert.Equal(t, Value(name), got.Spec.Join.ConnectionString)
	k.refused(t, k.Operator, "", []string{"label", "cpeer", name, "tier=three"}, []string{"already has a value"})
	k.refused(t, k.Viewer, "", []string{"label", "cpeer", name, "tier=three", "--overwrite"}, []string{"cannot patch resource"})
	k.refused(t, k.Operator, "", []string{"label", "cpeer", name, "bad=not/a/label"}, []string{"invalid label value"})
}

// R10, R11: patches of the three kinds that kubectl makes.
func (k *kubectlSuite) testPatch(t *testing.T) {
	const name = "patched"
	k.create(t, name, "")
	tests := []struct {
		kind, patch, label string
		value              string
	}{
		{"merge", `{"metadata":{"labels":{"by":"merge"}}}`, "merge", name},
		{"strategic", `{"metadata":{"labels":{"by":"strategic"}}}`, "strategic", name},
		{"json", `[{"op":"replace","path":"/metadata/labels/by","value":"json"}]`, "json", name},
		{"merge", `{"spec":{"join":{"connectionString":"<omitted>"}},"metadata":{"labels":{"by":"2"}}}`, "2", name},
		{"strategic", `{"spec":{"join":{"connectionString":"<omitted>"}},"metadata":{"labels":{"by":"3"}}}`, "3", name},
		{"json", `[{"op":"test","path":"/spec/join/connectionString","value":"<omitted>"},{"op":"replace","path":"/metadata/labels/by","value":"4"}]`, "4", name},
		{"json", `[{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/annotations"}]`, "4", name},
		{"merge", `{"spec":{"join":{"connectionString":"` + Value("merge") + `"}}}`, "4", "merge"},
		{"strategic", `{"spec":{"join":{"connectionString":"` + Value("strategic") + `"}}}`, "4", "strategic"},
		{"json", `[{"op":"replace","path":"/spec/join/connectionString","value":"` + Value("json") + `"}]`, "4", "json"},
		{"json", `[{"op":"test","path":"/spec/join/connectionString","value":"` + Value("json") + `"},{"op":"replace","path":"/metadata/labels/by","value":"guessed"}]`, "4", "json"},
	}
	for _, test := range tests {
		dry := k.run(t, k.Operator, "", "patch", "cpeer", name, "--type="+test.kind, "-p", test.patch, "--dry-run=server", "-o", "yaml")
		answer := k.run(t, k.Operator, "", "patch", "cpeer", name, "--type="+test.kind, "-p", test.patch, "-o", "json", "--show-managed-fields")
		assert.Equal(t, dry.Code, answer.Code, test.patch)
		got := k.peer(t, name)
		assert.Equal(t, test.label, got.Labels["by"], "%s: %s", test.patch, answer.Output())
		assert.Equal(t, Value(test.value), got.Spec.Join.ConnectionString, test.patch)
		assert.NotContains(t, fmt.Sprint(got.Annotations), Canary, test.patch)
	}
	before := k.peer(t, name)
	for kind, patch := range map[string]string{"merge": `{"spec":{"type":7}}`, "strategic": `{"spec":{"capabilities":"x"}}`, "json": `[{"op":"remove","path":"/spec/none"}]`} {
		k.refused(t, k.Operator, "", []string{"patch", "cpeer", name, "--type=" + kind, "-p", patch}, []string{"invalid"})
	}
	// kubectl patch has no strict validation to ask for.
	warned := k.run(t, k.Operator, "", "patch", "cpeer", name, "--type=merge", "-p", `{"spec":{"bogus":1}}`)
	assert.Contains(t, warned.Stderr, `Warning: unknown field "spec.bogus"`)
	k.refused(t, k.Viewer, "", []string{"patch", "cpeer", name, "--type=merge", "-p", `{}`}, []string{"cannot patch resource"})
	k.intact(t, before)
}

// R11: what was read can be put back.
func (k *kubectlSuite) testReplace(t *testing.T) {
	const name = "replaced"
	k.create(t, name, "tier: one")
	before := k.peer(t, name)
	for _, user := range []string{k.Operator, k.Admin, Keyholder} {
		k.unchanged(t, name, "what was read by "+user, func() {
			read := k.must(t, user, "", "get", "cpeer", name, "-o", "yaml")
			answer := k.run(t, user, read, "replace", "-f", "-", "-o", "yaml")
			if answer.Code != 0 {
				require.Contains(t, answer.Stderr, "Conflict", user)
			} else if user != k.Admin {
				assert.Contains(t, answer.Stdout, "connectionString: <omitted>", user)
			}
		})
		assert.Equal(t, Value(name), k.value(t, name), user)
	}
	read := k.must(t, k.Operator, "", "get", "cpeer", name, "-o", "json")
	k.must(t, k.Operator, strings.Replace(read, `"one"`, `"two"`, 1), "replace", "-f", "-")
	got := k.peer(t, name)
	assert.Equal(t, "two", got.Labels["tier"])
	assert.Equal(t, Value(name), got.Spec.Join.ConnectionString)
	assert.Equal(t, before.Generation, got.Generation)

	k.refused(t, k.Operator, read, []string{"replace", "-f", "-"}, []string{"Conflict"})
	k.refused(t, k.Operator, Manifest("replaced-2", Value("x"), ""), []string{"replace", "-f", "-"}, []string{"NotFound"})
	k.refused(t, k.Viewer, k.must(t, k.Viewer, "", "get", "cpeer", name, "-o", "yaml"), []string{"replace", "-f", "-"}, []string{"cannot update resource"})
	// A manifest that never had a resourceVersion replaces whatever is there.
	k.must(t, k.Operator, Manifest(name, "<omitted>", "tier: three"), "replace", "-f", "-")
	assert.Equal(t, Value(name), k.value(t, name))
	k.must(t, k.Operator, Manifest(name, Value("new"), ""), "replace", "-f", "-")
	assert.Equal(t, Value("new"), k.value(t, name))
}

// kubectl replace --force deletes and then creates, in two requests, and the
// server sees no more than that: from what was read without the right there is
// nothing to create with. The server names the field (R11); that the object is
// gone by then is kubectl's doing, and written down in docs/redaction.md.
func (k *kubectlSuite) testReplaceForce(t *testing.T) {
	const name = "forced"
	k.create(t, name, "")
	uid := k.peer(t, name).UID
	k.must(t, k.Operator, Manifest(name, Value("forced-2"), ""), "replace", "--force", "-f", "-")
	got := k.peer(t, name)
	assert.NotEqual(t, uid, got.UID)
	assert.Equal(t, Value("forced-2"), got.Spec.Join.ConnectionString)

	whole := k.must(t, k.Admin, "", "get", "cpeer", name, "-o", "yaml")
	k.refused(t, k.Operator, k.must(t, k.Operator, "", "get", "cpeer", name, "-o", "yaml"), []string{"replace", "--force", "-f", "-"}, []string{"Invalid", "spec.join.connectionString"})
	assert.NotContains(t, k.names(t, ""), name)
	k.must(t, k.Admin, whole, "replace", "--force", "-f", "-")
	assert.Equal(t, Value("forced-2"), k.value(t, name), "what was read with the right can be put back")
}

// R5: what a delete returns; K2: dry run. It is the last of these tests: nothing
// is left after it.
func (k *kubectlSuite) testDelete(t *testing.T) {
	before := k.names(t, "")
	k.must(t, k.Operator, "", "delete", "cpeer", "plain", "--dry-run=server")
	k.must(t, k.Operator, "", "delete", "cpeer", "--all", "--dry-run=server", "-v=9")
	k.refused(t, k.Viewer, "", []string{"delete", "cpeer", "plain"}, []string{"cannot delete resource"})
	k.refused(t, lister, "", []string{"delete", "cpeer", "--all"}, []string{"cannot delete resource"})
	k.refused(t, k.Operator, "", []string{"delete", "cpeer", "nobody"}, []string{"NotFound"})
	assert.Equal(t, before, k.names(t, ""), "nothing is deleted so far")

	// -v=9 prints the answer, which holds the object.
	result := k.run(t, k.Operator, "", "delete", "cpeer", "plain", "-v=9")
	require.Zero(t, result.Code, result.Stderr)
	assert.Contains(t, result.Stderr, `omitted`)
	assert.Equal(t, slices.DeleteFunc(slices.Clone(before), func(name string) bool { return name == "plain" }), k.names(t, ""))

	k.must(t, k.Operator, Manifest("doomed", Value("doomed"), ""), "delete", "-f", "-", "--ignore-not-found")
	output := k.must(t, k.Operator, "", "delete", "cpeer", "--all", "-o", "name")
	assert.Len(t, strings.Fields(output), len(before)-1)
	assert.Empty(t, k.names(t, ""))
	assert.Contains(t, k.run(t, lister, "", "get", "cpeer").Stderr, "No resources found")

	// deletecollection, which kubectl reaches by path only, answers with a list.
	k.create(t, "collected", "set: collected")
	require.Equal(t, []string{"collected"}, k.names(t, "set=collected"))
	result = k.run(t, k.Operator, "", "delete", "--raw", "/apis/peering.entente.dev/v1alpha1/clusterpeers?labelSelector=set%3Dcollected")
	require.Zero(t, result.Code, result.Stderr)
	assert.Contains(t, result.Stdout, "omitted")
	// That asks only; no tool waits until the finalizer is off.
	eventually(t, "nothing is left", func() bool { return len(k.names(t, "")) == 0 })
}
