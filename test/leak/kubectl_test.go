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
	"fmt"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"entente.dev/entente/test/harness"
	"entente.dev/entente/test/leak/search"
)

// command is a command of kubectl; NAME in it stands for the object.
type command struct {
	args  string
	stdin string
	// submits says that kubectl is given the value to write. It logs its own requests at
	// the verbosity that it has here.
	submits bool
}

// kubectl runs kubectl's own commands, with all that it can say of what it does.
func (s *suite) kubectl(t *testing.T) {
	harness.FinishDeletions(t, s.Client(t, harness.Admin)) // kubectl waits for it
	var users sync.WaitGroup
	defer users.Wait()
	for _, k := range s.table.kinds {
		for _, user := range []string{harness.Viewer, harness.Operator} {
			object := "of-kubectl-" + user
			s.seed(t, k, object)
			users.Go(func() {
				for _, c := range s.commands(k, user) {
					s.runKubectl(t, user, object, c)
				}
				if user == harness.Viewer {
					s.remove(t, k, object)
				}
			})
		}
	}
}

func (s *suite) runKubectl(t *testing.T, user, object string, c command) {
	args := strings.Fields(strings.ReplaceAll(c.args, "NAME", object))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "_", " ")
	}
	cmd := s.KubectlCommand(t.Context(), t, user, append(args, "-v=9")...)
	cmd.Env = append(cmd.Env, "KUBE_EDITOR=sed -i -e s/"+label+":/"+label+"-edited:/")
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(c.stdin, name, object))
	result := harness.Run(t, cmd)
	var allowed []search.Canary
	if c.submits {
		allowed = []search.Canary{s.canaries.written}
	}
	what := fmt.Sprintf("kubectl: %s as %s", c.args, user)
	s.recorder.Add(what+", stdout", []byte(result.Stdout), allowed...)
	s.recorder.Add(what+", stderr", []byte(result.Stderr), allowed...)
	if strings.Contains(result.Stderr, "unknown flag") || strings.Contains(result.Stderr, "unknown command") {
		s.complain("%s: %s", what, result.Stderr)
	}
	if result.Code != 0 && strings.HasPrefix(c.args, "get ") && strings.Contains(c.args, " NAME -o") && !strings.Contains(c.args, "=sensitive") && !strings.Contains(c.args, "--watch") {
		s.complain("%s: %s", what, result.Output())
	}
}

// commands are what a user types.
func (s *suite) commands(k *kind, user string) []command {
	resource := k.collection[strings.LastIndex(k.collection, "/")+1:]
	path := strings.Join(k.fields[0].path, ".")
	manifest := func(obj map[string]any) string {
		text, err := yaml.Marshal(obj)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	with, kept, misspelt := manifest(k.object(s.canaries.written.Value())), manifest(k.object(placeholder)), manifest(k.with(k.object(s.canaries.written.Value()), append([]string{"spec"}, "x"), s.canaries.written.Value()))
	var all []command
	read := func(args ...string) {
		for _, a := range args {
			all = append(all, command{args: strings.ReplaceAll(a, "RESOURCE", resource)})
		}
	}
	write := func(args, stdin string, submits bool) {
		all = append(all, command{args: strings.ReplaceAll(args, "RESOURCE", resource), stdin: stdin, submits: submits})
	}
	shown := func() {
		read("get RESOURCE NAME", "get RESOURCE NAME -o yaml --show-managed-fields", "describe RESOURCE NAME")
	}
	read(
		"get RESOURCE -l "+label+"=NAME -o wide --show-labels", "get RESOURCE NAME -o json", "get RESOURCE NAME -o custom-columns=X:."+path,
		"get RESOURCE NAME -o jsonpath={."+path+"}", "get RESOURCE NAME -o go-template={{.}}", "get RESOURCE NAME --subresource=status -o yaml", "get RESOURCE NAME --subresource=sensitive -o yaml",
		"get "+strings.ReplaceAll(k.collection, resource, "")+" --raw", "get --raw "+k.collection+"/NAME", "get RESOURCE -l "+label+"=NAME -o name --chunk-size=1", "get RESOURCE NAME --watch --request-timeout=2s -o yaml",
		"get RESOURCE -l "+label+"=NAME --sort-by=."+path, "explain RESOURCE --recursive", "explain RESOURCE."+path, "wait RESOURCE/NAME --for=condition=Ready --timeout=1s", "wait RESOURCE/NAME --for=jsonpath={."+path+"}=x --timeout=1s",
		"events", "api-resources", "auth can-i get RESOURCE/NAME --subresource=sensitive",
	)
	shown()
	if user == harness.Viewer {
		write("apply --server-side -f -", with, true)
		write("diff -f -", with, true)
		return all
	}
	write("diff -f -", with, true)
	write("diff -f -", kept, false)
	write("diff --server-side -f -", with, true)
	write("apply --dry-run=client -o yaml -f -", with, true)
	write("apply --dry-run=server -o yaml -f -", with, true)
	write("apply -f -", with, true)
	shown()
	write("apply -f -", kept, false)
	shown()
	write("apply --server-side -f -", with, true)
	write("apply --server-side --force-conflicts -o yaml -f -", with, true)
	write("apply view-last-applied RESOURCE/NAME", "", false)
	shown()
	write("apply -f -", misspelt, true)
	write("apply -f - --validate=ignore", misspelt, true)
	write("apply -f -", with[:len(with)-3], true)
	write("create -f -", with, true)
	write("create -f - --dry-run=client -o json", with, true)
	write("create -f - --dry-run=server -o json", strings.ReplaceAll(with, name, name+another), true)
	write("replace -f -", with, true)
	write("replace -f -", kept, false)
	for _, how := range []string{"merge", "strategic"} {
		write("patch RESOURCE NAME --type="+how+" -o yaml --patch-file=/dev/stdin", jsonOf(k.with(map[string]any{}, k.fields[0].path, s.canaries.written.Value())), true)
	}
	write("patch RESOURCE NAME --type=json -o yaml --patch-file=/dev/stdin", jsonOf([]any{map[string]any{"op": "copy", "from": "/" + strings.Join(k.fields[0].path, "/"), "path": "/metadata/labels/x"}}), false)
	write("patch RESOURCE NAME --subresource=status --type=merge -o yaml --patch-file=/dev/stdin", `{"status":{"phase":"Error"}}`, false)
	read("edit RESOURCE NAME", "edit RESOURCE NAME --subresource=status", "label RESOURCE NAME x=y", "annotate RESOURCE NAME x=y -o yaml", "annotate RESOURCE NAME x- -o yaml")
	shown()
	read("delete RESOURCE NAME --dry-run=server -o name", "delete RESOURCE -l "+label+"=NAME --dry-run=server", "delete RESOURCE NAME")
	return all
}
