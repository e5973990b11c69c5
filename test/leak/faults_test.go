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

package leak_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/leak/search"
	"entente.dev/entente/test/process"
)

// fault is a mistake that somebody could make. It is planted by changing the sources
// that the server under test is compiled from; nothing is in them otherwise.
type fault struct {
	// name is how the server is told to make the mistake.
	name string
	// file is where the mistake is made, right what stands there, once, and wrong what does
	// so with the mistake, which is to be made only if planted(name).
	file, right, wrong string
	// plan is the part of the suite that is to find it, unless it is that about peers.
	plan  plan
	peers bool
	// where is how the source of a finding begins.
	where string
}

func faults() []fault {
	only := func(action, subresource string) func(*operation) bool {
		return func(o *operation) bool {
			return o.kind != nil && o.action == action && o.subresource == subresource
		}
	}
	return []fault{
		{
			name: "an endpoint that forgets", where: "answer: GET ",
			file:  "registry/sensitive/subresource.go",
			right: `return r.decider.answer(ctx, "get", name, out)`,
			wrong: `if planted("an endpoint that forgets") { return out, nil }; return r.decider.answer(ctx, "get", name, out)`,
			plan:  plan{parts: []part{requests}, callers: []string{"viewer"}, operations: only("get", "status")},
		},
		{
			name: "a verb that forgets", where: "answer: DELETE ",
			file:  "registry/sensitive/rest.go",
			right: `return r.decider.answer(ctx, "list", listedName(listOptions), out)`,
			wrong: `if planted("a verb that forgets") { return out, nil }; return r.decider.answer(ctx, "list", listedName(listOptions), out)`,
			plan:  plan{parts: []part{requests}, callers: []string{"operator"}, operations: only("deletecollection", "")},
		},
		{
			name: "a write that answers in full", where: "answer: PATCH ",
			file:  "registry/sensitive/write.go",
			right: `if !allowed {`,
			wrong: `if !allowed && !planted("a write that answers in full") {`,
			plan:  plan{parts: []part{requests}, callers: []string{"patch-only"}, operations: only("patch", "sensitive")},
		},
		{
			name: "an error that quotes", where: "answer: POST ",
			file:  "registry/sensitive/decoder.go",
			right: `return obj, gvk, rewriteDecodingError(err)`,
			wrong: `if planted("an error that quotes") { return obj, gvk, err }; return obj, gvk, rewriteDecodingError(err)`,
			plan:  plan{parts: []part{requests}, callers: []string{"admin"}, operations: only("post", "")},
		},
		{
			name: "a warning that quotes", where: "header: PATCH ",
			file:  "registry/sensitive/errors.go",
			right: `if decoderWarning.MatchString(text) {`,
			wrong: `if !planted("a warning that quotes") && decoderWarning.MatchString(text) {`,
			plan:  plan{parts: []part{requests}, callers: []string{"operator"}, operations: only("patch", "")},
		},
		{
			name: "a log line", where: "stdout and stderr",
			file:  "registry/sensitive/write.go",
			right: `w.submitted, w.written = submittedValues(obj), submittedPaths(obj)`,
			wrong: `w.submitted, w.written = submittedValues(obj), submittedPaths(obj); if planted("a log line") { klog.FromContext(ctx).V(10).Info("A write was computed", "values", w.submitted) }`,
			plan:  plan{parts: []part{requests}, callers: []string{"operator"}, operations: only("put", "sensitive")},
		},
		{
			name: "an audit hole", where: "audit ",
			file:  "registry/sensitive/audit.go",
			right: `root = m.operations(operations)`,
			wrong: `if !planted("an audit hole") { root = m.operations(operations) }`,
			plan:  plan{parts: []part{requests}, callers: []string{"operator"}, operations: only("patch", "status")},
		},
		{
			name: "a copy in an annotation", where: "answer: ",
			file:  "registry/sensitive/write.go",
			right: `scrubAnnotations(ctx, obj, w.submitted)`,
			wrong: `if !planted("a copy in an annotation") { scrubAnnotations(ctx, obj, w.submitted) }`,
			plan:  plan{parts: []part{requests}, callers: []string{"operator"}, operations: only("put", "")},
		},
		{
			name: "a proxy that answers itself", where: "answer: GET ",
			file:  "registry/peering/clusterpeer/proxy.go",
			right: `if p.carrier == nil {`,
			wrong: `if planted("a proxy that answers itself") { responder.Object(http.StatusOK, obj); return http.NotFoundHandler(), nil }; if p.carrier == nil {`,
			plan:  plan{parts: []part{requests}, callers: []string{"get-only"}, operations: only(connect, "proxy")},
		},
		{
			name: "an encoding shared across the line", where: "watch: ",
			file:  "registry/sensitive/watch.go",
			right: `"redacted/"+id`,
			wrong: `map[bool]runtime.Identifier{false: "redacted/" + id, true: id}[planted("an encoding shared across the line")]`,
			plan:  plan{parts: []part{watches}, callers: []string{"admin", "viewer"}},
		},
		{
			name: "a watch that is never asked again", where: "watch: ",
			file:  "registry/sensitive/renewal.go",
			right: `d.clock.NewTicker(renewInterval)`,
			wrong: `d.clock.NewTicker(map[bool]time.Duration{false: renewInterval, true: time.Hour}[planted("a watch that is never asked again")])`,
			plan:  plan{parts: []part{rights}, callers: []string{"admin"}, turning: 6 * time.Second},
		},
		{
			name: "a store in the clear", where: "store: ",
			// The ledger does not start without; so it is what the API stores.
			file:  "apiserver/generic.go",
			right: `if err := etcdOptions.ApplyTo(generic); err != nil {`,
			wrong: `if planted("a store in the clear") { kept := generic.ResourceTransformers; generic.ResourceTransformers = nil; defer func() { generic.ResourceTransformers = kept }() }; if err := etcdOptions.ApplyTo(generic); err != nil {`,
			plan:  plan{parts: []part{requests}, callers: []string{"viewer"}, operations: only("get", "")},
		},
		{
			name: "a refusal that quotes", where: "answer: gateway: ", peers: true,
			file:  "peering/gateway/join.go",
			right: `denied.kind = InviteRefused`,
			wrong: `denied.kind = InviteRefused; if planted("a refusal that quotes") { denied.failure = protocol.FailureReason(fmt.Sprintf("%x", request.Token)) }`,
		},
		{
			name: "a string that is logged", where: "stdout and stderr", peers: true,
			file:  "controllers/clusterpeer/invite.go",
			right: `text, err := said.Encode()`,
			wrong: `text, err := said.Encode(); if planted("a string that is logged") { klog.FromContext(ctx).V(10).Info("Wrote a connection string", "text", text) }`,
		},
	}
}

// plantedFile tells the changed sources which fault to have.
const plantedFile = `package %s

import "os"

func planted(name string) bool { return os.Getenv("ENTENTE_LEAK_FAULT") == name }
`

// buildFaulty compiles the server with all faults, of which it has the one that it is
// told of.
func buildFaulty(t *testing.T) string {
	root, err := process.ModuleRoot()
	require.NoError(t, err)
	sources, packages := map[string]string{}, map[string]bool{}
	for _, f := range faults() {
		path := filepath.Join(root, f.file)
		if sources[path] == "" {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			sources[path] = string(content)
		}
		require.Equalf(t, 1, strings.Count(sources[path], f.right), "%q, in the place of which a fault is planted, has to stand once in %s", f.right, f.file)
		sources[path] = strings.Replace(sources[path], f.right, f.wrong, 1)
		packages[filepath.Dir(path)] = true
	}
	for dir := range packages {
		sources[filepath.Join(dir, "planted.go")] = fmt.Sprintf(plantedFile, filepath.Base(dir))
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	for path, content := range sources {
		overlay.Replace[path] = write(fmt.Sprintf("%d.go", len(overlay.Replace)), []byte(content))
	}
	content, err := json.Marshal(overlay)
	require.NoError(t, err)
	binary, err := process.Build("leak-server-faulty", "./test/leak/server", "-overlay", write("overlay.json", content))
	require.NoError(t, err)
	return binary
}

// The suite finds what it is there to find: each of these faults makes it fail, and
// where the fault is.
func TestFaults(t *testing.T) {
	binary := buildFaulty(t)
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		s, findings := run(t, plan{binary: binary, parts: []part{requests}, callers: []string{"operator"}})
		assert.Empty(t, findings)
		assert.Empty(t, s.complaints)
	})
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.plan.binary, f.plan.env = binary, []string{"ENTENTE_LEAK_FAULT=" + f.name}
			var findings []search.Finding
			if f.peers {
				_, findings = peers(t, f.plan)
			} else {
				_, findings = run(t, f.plan)
			}
			var elsewhere []string
			for _, finding := range findings {
				if strings.HasPrefix(finding.Source, f.where) {
					t.Logf("found: %s", finding)
					return
				}
				elsewhere = append(elsewhere, finding.String())
			}
			assert.Failf(t, "the suite has not found it", "only: %s", strings.Join(elsewhere, "\n"))
		})
	}
}
