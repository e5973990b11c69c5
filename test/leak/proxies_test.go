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
	"bytes"
	"net/http"
	"slices"
	"strings"

	"entente.dev/entente/test/harness"
)

const (
	// connect is the action of proxies.
	connect = "connect"
	// proxied is a path below a proxy.
	proxied = "some/api/v1/namespaces/default/pods"
)

// proxiedTypes are those of the bodies that are sent to a proxy: those that the server
// would read, if they were about an object of its own.
func proxiedTypes() []string {
	return []string{jsonType, yamlType, protobufType, cborType, jsonPatchType, mergePatchType, smPatchType, applyYAMLType}
}

// connects sends requests to the proxy of an object, each in all forms: whatever is in them
// is for somebody else, whom a server without a host cluster does not reach. No answer may
// hold a value, nor may what is written down about the requests, whoever sends them.
func (x *task) connects() {
	bodies := map[string][]body{"": {{}}}
	for _, contentType := range x.operation.contentTypes {
		bodies[contentType] = []body{{what: "the values", text: jsonOf(x.operation.kind.object(x.canaries.written.Value()))}, {what: "the bare value", text: x.canaries.astray.Value()}}
	}
	path := strings.NewReplacer("{name}", x.object, "{path}", proxied).Replace(x.operation.path)
	for contentType, bodies := range bodies {
		for _, b := range bodies {
			for _, form := range x.forms() {
				for _, query := range []string{"", "?watch=1", "?includeObject=Object&dryRun=All"} {
					x.connect(request{caller: x.caller, method: x.operation.method, path: path + query, accept: form, contentType: contentType, body: b.text, what: b.what})
				}
			}
		}
	}
}

// connect sends one request, and sees to it that the proxy is what answers whoever may use
// it.
func (x *task) connect(r request) {
	a := x.do(x.t, r)
	want := http.StatusServiceUnavailable
	switch {
	case r.caller.name == "anonymous":
		want = http.StatusUnauthorized
	case slices.Contains([]string{harness.Operator, harness.Viewer, "impersonated"}, r.caller.name):
		want = http.StatusForbidden
	}
	if a.code != want || bytes.Contains(a.body, []byte(placeholder)) {
		x.complain("%s: %d, not %d: %s", r, a.code, want, a.body)
	}
}
