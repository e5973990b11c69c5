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

package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/harness"
)

// bad is a write that must be refused, and its refusal must not quote it.
type bad struct{ what, body string }

// around are bodies of one object with faults at and around a sensitive field.
// CANARY stands for a secret in quotes, NAME for the object's name.
var around = []bad{
	{what: "the field is a number", body: `{"spec":{"type":"Join","join":{"connectionString":1234567890123456789}}}`},
	{what: "the field is a bool", body: `{"spec":{"type":"Join","join":{"connectionString":true,"expectedClusterUUID":CANARY}}}`},
	{what: "the field is an object", body: `{"spec":{"type":"Join","join":{"connectionString":{"value":CANARY}}}}`},
	{what: "the field is a list", body: `{"spec":{"type":"Join","join":{"connectionString":[CANARY]}}}`},
	{what: "the field is a list of objects", body: `{"spec":{"type":"Join","join":{"connectionString":[{"a":CANARY},1,null]}}}`},
	{what: "the parent is the value", body: `{"spec":{"type":"Join","join":CANARY}}`},
	{what: "the parent is a list", body: `{"spec":{"type":"Join","join":[{"connectionString":CANARY}]}}`},
	{what: "the spec is the value", body: `{"spec":CANARY}`},
	{what: "the spec is a list", body: `{"spec":[CANARY]}`},
	{what: "the type is the value", body: `{"spec":{"type":CANARY,"join":{"connectionString":CANARY}}}`},
	{what: "the type is a list", body: `{"spec":{"type":[CANARY],"join":{"connectionString":CANARY}}}`},
	{what: "a neighbour is the value", body: `{"spec":{"type":"Join","join":{"connectionString":CANARY,"expectedClusterUUID":CANARY}}}`},
	{what: "a neighbour has the wrong type", body: `{"spec":{"type":"Join","capabilities":7,"join":{"connectionString":CANARY}}}`},
	{what: "a neighbour in the parent has the wrong type", body: `{"spec":{"type":"Join","join":{"expectedClusterUUID":{},"connectionString":CANARY}}}`},
	{what: "a capability is the value", body: `{"spec":{"type":"Join","capabilities":[CANARY],"join":{"connectionString":CANARY}}}`},
	{what: "capabilities twice", body: `{"spec":{"type":"Join","capabilities":[CANARY,CANARY],"join":{"connectionString":CANARY}}}`},
	{what: "capabilities are the value", body: `{"spec":{"type":"Join","capabilities":CANARY,"join":{"connectionString":CANARY}}}`},
	{what: "a project is the value", body: `{"spec":{"type":"Join","projects":[CANARY],"join":{"connectionString":CANARY}}}`},
	{what: "too long", body: `{"spec":{"type":"Join","join":{"connectionString":LONG}}}`},
	{what: "in an invite", body: `{"spec":{"type":"Invite","join":{"connectionString":CANARY}}}`},
	{what: "both kinds", body: `{"spec":{"type":"Join","invite":{"tokenTTL":CANARY},"join":{"connectionString":CANARY}}}`},
	{what: "labels are the value", body: `{"metadata":{"name":"NAME","labels":CANARY},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "a label is a list", body: `{"metadata":{"name":"NAME","labels":{"a":[CANARY]}},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "a label is the value and more", body: `{"metadata":{"name":"NAME","labels":{"a":SPACED}},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "a label key is the value and more", body: `{"metadata":{"name":"NAME","labels":{SPACED:"a"}},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "an annotation key is the value and more", body: `{"metadata":{"name":"NAME","annotations":{SPACED:"a"}},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "an annotation is a list", body: `{"metadata":{"name":"NAME","annotations":{"a":[CANARY]}},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "a finalizer is the value", body: `{"metadata":{"name":"NAME","finalizers":[SPACED]},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "an owner is the value", body: `{"metadata":{"name":"NAME","ownerReferences":[{"apiVersion":CANARY,"kind":"","name":CANARY,"uid":""}]},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "a time is the value", body: `{"metadata":{"name":"NAME","creationTimestamp":CANARY},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "managedFields are the value", body: `{"metadata":{"name":"NAME","managedFields":CANARY},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "a generation is the value", body: `{"metadata":{"name":"NAME","generation":CANARY},"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "metadata is the value", body: `{"metadata":CANARY,"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "the kind is the value", body: `{"kind":CANARY,"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "the version is the value", body: `{"apiVersion":CANARY,"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "the kind is a list", body: `{"kind":[CANARY],"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
}

// broken are texts that are no document at all.
var broken = []bad{
	{what: "cut off after the value", body: `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"name":"NAME"},"spec":{"type":"Join","join":{"connectionString":CANARY`},
	{what: "cut off in the value", body: `{"spec":{"type":"Join","join":{"connectionString":"BARE`},
	{what: "no quotes", body: `{"spec":{"type":"Join","join":{"connectionString":BARE}}}`},
	{what: "one quote", body: `{"spec":{"type":"Join","join":{"connectionString":"BARE}}}`},
	{what: "a bad escape in the value", body: `{"spec":{"type":"Join","join":{"connectionString":"BARE\x"}}}`},
	{what: "a line break in the value", body: "{\"spec\":{\"type\":\"Join\",\"join\":{\"connectionString\":\"BARE\nBARE\"}}}"},
	{what: "a trailing comma", body: `{"spec":{"type":"Join","join":{"connectionString":CANARY,}}}`},
	{what: "a missing comma", body: `{"spec":{"type":"Join","join":{"connectionString":CANARY "x":1}}}`},
	{what: "a missing colon", body: `{"spec":{"type":"Join","join":{"connectionString" CANARY}}}`},
	{what: "a key that is the value", body: `{"spec":{"type":"Join","join":{CANARY}}}`},
	{what: "two documents", body: `{"spec":{"type":"Join"}} {"x":CANARY}`},
	{what: "garbage before", body: `x{"spec":{"type":"Join","join":{"connectionString":CANARY}}}`},
	{what: "the value alone", body: `CANARY`},
	{what: "the value without quotes alone", body: `BARE`},
	{what: "a list", body: `[CANARY]`},
	{what: "a tab in YAML", body: "spec:\n\tjoin:\n\t\tconnectionString: BARE\n"},
	{what: "bad indentation in YAML", body: "spec:\n  join:\n    connectionString: BARE\n   type: Join\n"},
	{what: "an open quote in YAML", body: "spec:\n  join:\n    connectionString: \"BARE\n"},
	{what: "a colon in YAML", body: "spec:\n  join:\n    connectionString: BARE: BARE\n"},
	{what: "an unknown alias in YAML", body: "spec:\n  join:\n    connectionString: *BARE\n"},
	{what: "an unknown tag in YAML", body: "spec:\n  join:\n    connectionString: !!BARE BARE\n"},
	{what: "an integer tag in YAML", body: "spec:\n  join:\n    connectionString: !!int BARE\n"},
	{what: "a key twice in YAML", body: "spec:\n  join:\n    connectionString: BARE\n  join:\n    connectionString: BARE\n  BARE: 1\n  BARE: 2\nx: [BARE\n"},
	{what: "a bad character", body: "{\"spec\":{\"join\":{\"connectionString\":\"BARE\x00\x01\xff\"}}}"},
}

func (b bad) fill(name, secret string) string {
	return strings.NewReplacer(
		"CANARY", quote(secret), "BARE", secret, "NAME", name,
		"LONG", quote(strings.Repeat(secret, 80)), "SPACED", quote(secret+" and more/"+secret+"/!"),
	).Replace(b.body)
}

// complete adds what every object needs, unless the body has it.
func complete(body, name string) string {
	for _, part := range []struct{ key, value string }{
		{"metadata", `{"name":"` + name + `"}`}, {"kind", `"ClusterPeer"`}, {"apiVersion", `"peering.entente.dev/v1alpha1"`},
	} {
		if !strings.Contains(body, `"`+part.key+`":`) || (part.key == "apiVersion" && strings.Contains(body, `"ownerReferences"`)) {
			body = `{"` + part.key + `":` + part.value + `,` + strings.TrimPrefix(body, "{")
		}
	}
	return body
}

// refused requires a client's error that is a proper Status; that it does not
// quote a secret was searched already.
func refused(t testing.TB, what string, a answer) {
	t.Helper()
	assert.True(t, a.code >= 400 && a.code < 500, "%s: %s: %d %s", what, a.request, a.code, a.body)
	if a.code >= 400 {
		assert.Equal(t, "Failure", a.status(t).Status)
		assert.NotContains(t, string(a.body), "goroutine ")
	}
}

// R15: errors name the path and never the value, whichever way a bad object comes.
func TestR15WrongTypes(t *testing.T) {
	s := startAlone(t)
	n := "r15"
	spec, status := s.secret(), s.secret()
	s.seed(t, n, spec, status)
	t.Run("every fault", func(t *testing.T) {
		for _, b := range around {
			t.Run(b.what, func(t *testing.T) {
				t.Parallel()
				secret := s.secret()
				body := complete(b.fill("r15-new", secret), "r15-new")
				mine := complete(b.fill(n, secret), n)
				for _, user := range []string{harness.Operator, harness.Admin} {
					refused(t, b.what, s.do(t, user, http.MethodPost, "", body))
					refused(t, b.what, s.do(t, user, http.MethodPut, n, mine))
					if user == harness.Admin {
						continue
					}
					refused(t, b.what, s.do(t, user, http.MethodPost, "?fieldValidation=Ignore&dryRun=All", body))
					refused(t, b.what, s.do(t, user, http.MethodPost, "", body, as(yamlType)))
					refused(t, b.what, s.do(t, user, http.MethodPatch, "r15-new?fieldManager=x", body, as(applyPat)))
					refused(t, b.what, s.do(t, user, http.MethodPatch, n+"?fieldManager=x&force=true", mine, as(applyPat)))
					if kindFault(b) {
						continue
					}
					// As patches: of the spec only, since metadata that is ignored is no fault.
					refusedUnlessIgnored(t, b, s.do(t, user, http.MethodPatch, n, mine, as(mergePat), revealing(spec, status)))
					refusedUnlessIgnored(t, b, s.do(t, user, http.MethodPatch, n, mine, as(smPatch), revealing(spec, status)))
				}
				// On the subresources other fields are ignored; whatever comes back, nothing is quoted.
				for _, path := range []string{n + "/status", n + "/sensitive"} {
					opts := []with{revealing(spec, status, secret)}
					a := s.do(t, harness.Admin, http.MethodPut, path+"?dryRun=All", mine, opts...)
					if a.code >= 400 {
						s.search(t, a.request, a.header, a.body, call{})
					}
					for _, contentType := range []string{mergePat, smPatch, applyPat} {
						a := s.do(t, harness.Admin, http.MethodPatch, path+"?dryRun=All"+map[bool]string{true: "&fieldManager=x&force=true"}[contentType == applyPat], mine, append(opts, as(contentType))...)
						assert.Less(t, a.code, 500, "%s: %s: %s", b.what, a.request, a.body)
						if a.code >= 400 {
							s.search(t, a.request, a.header, a.body, call{})
						}
					}
				}
			})
		}
	})
	gotSpec, gotStatus := s.stored(t, n)
	assert.Equal(t, []string{spec, status}, []string{gotSpec, gotStatus}, "nothing was lost")
	s.do(t, harness.Viewer, http.MethodGet, "r15-new", "").want(t, http.StatusNotFound)
}

func kindFault(b bad) bool {
	return strings.Contains(b.what, "kind is") || strings.Contains(b.what, "version is")
}

func refusedUnlessIgnored(t testing.TB, b bad, a answer) {
	t.Helper()
	// Server-set metadata in a patch is put back, a merge with an empty list of
	// something unset is none.
	if a.code == http.StatusOK && (strings.Contains(b.what, "generation") || strings.Contains(b.what, "managedFields") || strings.Contains(b.what, "in an invite")) {
		return
	}
	refused(t, b.what, a)
}

// R15: texts that do not parse, as every kind of body.
func TestR15BrokenBodies(t *testing.T) {
	s := startAlone(t)
	n := "r15"
	spec, status := s.secret(), s.secret()
	s.seed(t, n, spec, status)
	t.Run("every fault", func(t *testing.T) {
		for _, b := range broken {
			t.Run(b.what, func(t *testing.T) {
				t.Parallel()
				body := b.fill(n, s.secret())
				yaml := strings.Contains(b.what, "YAML")
				for _, r := range [][3]string{
					{http.MethodPost, "", jsonType},
					{http.MethodPost, "", yamlType},
					{http.MethodPost, "?fieldValidation=Strict", jsonType},
					{http.MethodPost, "?fieldValidation=Ignore", yamlType},
					{http.MethodPut, n, jsonType},
					{http.MethodPut, n, yamlType},
					{http.MethodPut, n + "/status", jsonType},
					{http.MethodPut, n + "/sensitive", yamlType},
					{http.MethodPatch, n, jsonPatch},
					{http.MethodPatch, n, mergePat},
					{http.MethodPatch, n, smPatch},
					{http.MethodPatch, n + "?fieldManager=x", applyPat},
					{http.MethodPatch, "r15-new?fieldManager=x", applyPat},
					{http.MethodPatch, n + "/status?fieldManager=x", applyPat},
					{http.MethodPatch, n + "/sensitive", jsonPatch},
					{http.MethodPatch, n + "/sensitive", mergePat},
					{http.MethodPatch, n + "/sensitive?fieldManager=x", applyPat},
					{http.MethodDelete, "r15-absent", jsonType},
					{http.MethodDelete, "r15-absent", yamlType},
				} {
					if yaml && r[2] == applyPat && strings.Contains(b.what, "integer") {
						continue
					}
					refused(t, b.what, s.do(t, harness.Admin, r[0], r[1], body, as(r[2])))
				}
			})
		}
		t.Run("json patches", func(t *testing.T) {
			t.Parallel()
			for _, ops := range []string{
				`[{"op":CANARY,"path":"/spec/join/connectionString","value":CANARY}]`,
				`[{"op":"add","path":CANARY,"value":CANARY}]`,
				`[{"op":"add","path":"/spec/BARE/x","value":CANARY}]`,
				`[{"op":"test","path":"/spec/join/connectionString","value":CANARY}]`,
				`[{"op":"test","path":"/spec/join","value":{"connectionString":CANARY}}]`,
				`[{"op":"test","path":"/spec/join/connectionString","value":[CANARY]}]`,
				`[{"op":"remove","path":"/spec/BARE"}]`,
				`[{"op":"replace","path":"/spec/join/BARE","value":CANARY}]`,
				`[{"op":"copy","from":"/BARE","path":"/metadata/annotations/BARE"}]`,
				`[{"op":"move","from":"BARE","path":"BARE"}]`,
				`[{"op":"add","path":"/spec/capabilities/BARE","value":CANARY}]`,
				`[{"op":"replace","path":"/spec/join/connectionString","value":{"x":CANARY}}]`,
				`[{"op":"replace","path":"/spec/join","value":CANARY}]`,
				`[{"op":"replace","path":"/spec","value":[CANARY]}]`,
				`[{"op":"replace","path":"","value":CANARY}]`,
				`[{"op":"add","path":"/metadata/labels","value":{"a":SPACED}},{"op":"add","path":"/spec/join/connectionString","value":CANARY}]`,
				`[{"op":"add","path":"/spec/join/connectionString"}]`,
				`{"op":"add","path":"/spec/join/connectionString","value":CANARY}`,
				`[CANARY]`,
				`[[CANARY]]`,
				`[{"op":"add","path":{"x":CANARY},"value":CANARY}]`,
			} {
				for _, path := range []string{n, n + "/status", n + "/sensitive"} {
					a := s.do(t, harness.Operator, http.MethodPatch, path+"?dryRun=All", bad{body: ops}.fill(n, s.secret()), as(jsonPatch))
					// On status the spec is put back, and the library lets some faults pass.
					lenient := strings.Contains(ops, "/join/BARE") || ops == `[{"op":"add","path":"/spec/join/connectionString"}]`
					if path != n+"/status" && !lenient {
						refused(t, ops[:min(120, len(ops))], a)
					}
					assert.Less(t, a.code, 500, "%s: %s", a.request, a.body)
				}
			}
		})
		t.Run("too many operations", func(t *testing.T) {
			t.Parallel()
			ops := `[` + strings.Repeat(`{"op":"add","path":"/spec/join/connectionString","value":`+quote(s.secret())+`},`, 10001) + `{"op":"remove","path":"/spec"}]`
			assert.Equal(t, http.StatusRequestEntityTooLarge, s.do(t, harness.Operator, http.MethodPatch, n, ops, as(jsonPatch)).code)
		})
		t.Run("strategic merge directives", func(t *testing.T) {
			t.Parallel()
			for _, patch := range []string{
				`{"$patch":CANARY,"spec":{"join":{"connectionString":CANARY}}}`,
				`{"spec":{"$patch":CANARY,"join":{"connectionString":CANARY}}}`,
				`{"spec":{"join":{"$patch":CANARY,"connectionString":CANARY}}}`,
				`{"spec":{"join":{"$patch":["BARE"],"connectionString":CANARY}}}`,
				`{"spec":{"$setElementOrder/capabilities":CANARY,"capabilities":[CANARY]}}`,
				`{"spec":{"$setElementOrder/capabilities":[CANARY],"capabilities":["a","b"],"join":{"connectionString":CANARY}}}`,
				`{"spec":{"$retainKeys":CANARY,"join":{"connectionString":CANARY}}}`,
				`{"spec":{"$retainKeys":["type"],"join":{"connectionString":CANARY}}}`,
				`{"spec":{"join":{"$retainKeys":[CANARY],"connectionString":CANARY}}}`,
				`{"spec":{"join":[{"$patch":"replace"},CANARY]}}`,
			} {
				a := s.do(t, harness.Operator, http.MethodPatch, n, bad{body: patch}.fill(n, s.secret()), as(smPatch))
				refused(t, patch, a)
			}
			for _, patch := range []string{ // which the library takes
				`{"spec":{"$deleteFromPrimitiveList/capabilities":CANARY,"join":{"connectionString":CANARY}}}`,
				`{"spec":{"$deleteFromPrimitiveList/capabilities":{"x":CANARY}}}`,
				`{"spec":{"capabilities":[{"$patch":CANARY}]}}`,
				`{"spec":{"join":{"connectionString":{"$patch":"replace","x":CANARY}}}}`,
			} {
				a := s.do(t, harness.Operator, http.MethodPatch, n+"?dryRun=All", bad{body: patch}.fill(n, s.secret()), as(smPatch))
				assert.Less(t, a.code, 500, "%s: %s", patch, a.body)
			}
			for _, conditions := range []string{`[{"type":CANARY,"$patch":CANARY}]`, `[{"$patch":"delete","message":CANARY}]`, `[CANARY]`, `CANARY`, `[{"message":CANARY}]`} {
				a := s.do(t, harness.Operator, http.MethodPatch, n+"/status", bad{body: `{"status":{"conditions":` + conditions + `,"invite":{"connectionString":CANARY}}}`}.fill(n, s.secret()), as(smPatch))
				refused(t, conditions, a)
			}
		})
		t.Run("a merge key that cannot be compared", func(t *testing.T) {
			t.Parallel()
			for _, key := range []string{`["x"]`, `{"x":"y"}`, `[CANARY]`, `null`, `7`} {
				a := s.do(t, harness.Operator, http.MethodPatch, n+"/status", bad{body: `{"status":{"conditions":[{"type":` + key + `,"message":CANARY}]}}`}.fill(n, s.secret()), as(smPatch))
				refused(t, key, a)
			}
		})
		t.Run("status of the wrong type", func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{
				`CANARY`, `[CANARY]`, `{"invite":CANARY}`, `{"invite":[CANARY]}`, `{"invite":{"connectionString":[CANARY]}}`, `{"invite":{"connectionString":{"x":CANARY}}}`, `{"invite":{"connectionString":LONG}}`,
				`{"invite":{"connectionString":CANARY,"expiresAt":CANARY}}`, `{"invite":{"connectionString":CANARY,"used":CANARY}}`, `{"invite":{"connectionString":CANARY,"tokenID":CANARY}}`,
				`{"phase":CANARY,"invite":{"connectionString":CANARY}}`, `{"observedGeneration":CANARY}`, `{"conditions":CANARY}`, `{"conditions":[{"type":"Ready","status":CANARY,"lastTransitionTime":CANARY}]}`,
				`{"conditions":[{"type":"Ready","status":CANARY,"reason":CANARY,"message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}],"invite":{"connectionString":CANARY}}`,
				`{"effectiveCapabilities":[CANARY,CANARY],"invite":{"connectionString":CANARY}}`, `{"grants":[{"capability":CANARY},{"capability":CANARY}],"invite":{"connectionString":CANARY}}`,
			} {
				secret := s.secret()
				filled := bad{body: `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"name":"NAME"},"status":` + body + `}`}.fill(n, secret)
				for _, r := range [][3]string{{http.MethodPut, n + "/status", jsonType}, {http.MethodPatch, n + "/status", mergePat}, {http.MethodPatch, n + "/status", smPatch}, {http.MethodPatch, n + "/status?fieldManager=x&force=true", applyPat}} {
					refused(t, body, s.do(t, harness.Admin, r[0], r[1], filled, as(r[2])))
				}
			}
		})
		t.Run("content types", func(t *testing.T) {
			t.Parallel()
			body := manifest(t, "r15-type", s.secret())
			for _, contentType := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded", "application/cbor", "application/vnd.kubernetes.protobuf", "nonsense", ";;;", jsonPatch, s.secret()} {
				refused(t, contentType, s.do(t, harness.Admin, http.MethodPost, "", body, as(contentType)))
				refused(t, contentType, s.do(t, harness.Admin, http.MethodPut, n, body, as(contentType)))
			}
			for _, contentType := range []string{jsonType, "text/plain", "application/apply-patch+cbor", "nonsense", "application/vnd.kubernetes.protobuf"} {
				refused(t, contentType, s.do(t, harness.Admin, http.MethodPatch, n+"?fieldManager=x", body, as(contentType)))
			}
		})
		t.Run("too large", func(t *testing.T) {
			t.Parallel()
			secret := s.secret()
			large := strings.Repeat(secret, (4<<20)/len(secret))
			for _, r := range [][3]string{{http.MethodPost, "", jsonType}, {http.MethodPost, "", yamlType}, {http.MethodPut, n, jsonType}, {http.MethodPatch, n, mergePat}, {http.MethodPatch, n, smPatch}, {http.MethodPatch, n, jsonPatch}, {http.MethodPatch, n + "?fieldManager=x", applyPat}, {http.MethodPatch, n + "/sensitive", mergePat}} {
				a := s.do(t, harness.Admin, r[0], r[1], manifest(t, n, large), as(r[2]))
				assert.Equal(t, http.StatusRequestEntityTooLarge, a.code, "%s: %s", a.request, a.body)
				refused(t, "too large", a)
			}
			refused(t, "deep", s.do(t, harness.Admin, http.MethodPost, "", `{"x":`+strings.Repeat("[", 20000)+quote(secret)+strings.Repeat("]", 20000)+`}`))
		})
		t.Run("parameters", func(t *testing.T) {
			t.Parallel()
			body := manifest(t, n, s.secret())
			for _, q := range []string{"?dryRun=nonsense", "?fieldValidation=nonsense", "?fieldManager=" + strings.Repeat("x", 200), "?dryRun=All&dryRun=x"} {
				refused(t, q, s.do(t, harness.Admin, http.MethodPost, q, body))
				refused(t, q, s.do(t, harness.Admin, http.MethodPatch, n+q, body, as(applyPat)))
			}
			refused(t, "apply without a manager", s.do(t, harness.Admin, http.MethodPatch, n, body, as(applyPat)))
			refused(t, "force without apply", s.do(t, harness.Admin, http.MethodPatch, n+"?force=true", body, as(mergePat)))
		})
		t.Run("conflicts and preconditions", func(t *testing.T) {
			t.Parallel()
			s.seed(t, "r15-c", s.secret(), s.secret())
			secret := s.secret()
			stale := set(t, joinPeer("r15-c", secret), "1", "metadata", "resourceVersion")
			assert.Equal(t, 409, s.do(t, harness.Admin, http.MethodPut, "r15-c", encode(t, stale)).code)
			assert.Equal(t, 409, s.do(t, harness.Admin, http.MethodPatch, "r15-c", encode(t, stale), as(mergePat)).code)
			foreign := set(t, joinPeer("r15-c", secret), "00000000-0000-0000-0000-000000000000", "metadata", "uid")
			assert.Equal(t, 409, s.do(t, harness.Admin, http.MethodPut, "r15-c", encode(t, foreign)).code)
			assert.Equal(t, 409, s.do(t, harness.Admin, http.MethodPost, "", manifest(t, "r15-c", secret)).code)
			assert.Equal(t, 409, s.do(t, harness.Operator, http.MethodPatch, "r15-c?fieldManager=other", manifest(t, "r15-c", secret), as(applyPat)).code)
			refused(t, "another name", s.do(t, harness.Admin, http.MethodPut, "r15-c", manifest(t, "r15-d", secret)))
			refused(t, "another name", s.do(t, harness.Admin, http.MethodPatch, "r15-c", manifest(t, "r15-d", secret), as(mergePat)))
			refused(t, "another type", s.do(t, harness.Admin, http.MethodPatch, "r15-c", `{"spec":{"type":"Invite","invite":{},"join":null}}`, as(mergePat)))
			refused(t, "another type", s.do(t, harness.Admin, http.MethodPatch, "r15-c", `{"spec":{"type":"Invite"}}`, as(mergePat)))
		})
	})
	gotSpec, gotStatus := s.stored(t, n)
	assert.Equal(t, []string{spec, status}, []string{gotSpec, gotStatus}, "nothing was lost")
}

// R15, K2: unknown and repeated fields, in the three ways of field validation;
// warnings do not quote values either.
func TestR15FieldValidation(t *testing.T) {
	s := startAlone(t)
	i := 0
	for _, tt := range []struct{ what, body string }{
		{"unknown in the parent", `{"spec":{"type":"Join","join":{"connectionString":CANARY,"unknown":CANARY}}}`},
		{"another case", `{"spec":{"type":"Join","join":{"ConnectionString":CANARY}}}`},
		{"unknown in the spec", `{"spec":{"type":"Join","unknown":CANARY,"connectionString":CANARY}}`},
		{"unknown at the root", `{"unknown":{"connectionString":CANARY},"spec":{"type":"Join"}}`},
		{"twice", `{"spec":{"type":"Join","join":{"connectionString":CANARY,"connectionString":CANARY}}}`},
		{"the parent twice", `{"spec":{"type":"Join","join":{"connectionString":CANARY},"join":{"connectionString":CANARY}}}`},
	} {
		for _, mode := range []string{"Strict", "Warn", "Ignore", ""} {
			for _, contentType := range []string{jsonType, yamlType} {
				i++
				n := fmt.Sprintf("fv-%d", i)
				t.Run(tt.what+" "+mode+" "+contentType, func(t *testing.T) {
					t.Parallel()
					secret := s.secret()
					query := "?fieldValidation=" + mode
					if mode == "" {
						query = ""
					}
					body := complete(bad{body: tt.body}.fill(n, secret), n)
					a := s.do(t, harness.Operator, http.MethodPost, query, body, as(contentType))
					s.do(t, harness.Operator, http.MethodPost, "", manifest(t, n, "")) // unless it is there
					b := s.do(t, harness.Operator, http.MethodPut, n+query, body, as(contentType))
					c := s.do(t, harness.Operator, http.MethodPatch, n+query, body, as(mergePat))
					d := s.do(t, harness.Operator, http.MethodPatch, n+query, body, as(smPatch))
					e := s.do(t, harness.Operator, http.MethodPatch, n+query, `[{"op":"add","path":"/spec/join","value":{"connectionString":`+quote(secret)+`,"unknown":`+quote(secret)+`}}]`, as(jsonPatch))
					f := s.do(t, harness.Operator, http.MethodPatch, n+strings.Replace(query+"&fieldManager=x&force=true", "&", map[bool]string{true: "?", false: "&"}[query == ""], 1), body, as(applyPat))
					// A body that YAML refuses for itself (a key twice) is an error in every mode.
					twice := strings.Contains(tt.what, "twice")
					for _, a := range []answer{a, b, c, d, e} {
						switch mode {
						case "Strict":
							refused(t, tt.what, a)
						case "Ignore":
							assert.True(t, a.code < 300 || twice && a.code < 500, "%s: %s", a.request, a.body)
							assert.Empty(t, a.warnings())
						default:
							if a.code < 300 {
								assert.NotEmpty(t, a.warnings(), a.request)
							} else {
								assert.True(t, twice && a.code < 500, "%s: %s", a.request, a.body)
							}
						}
					}
					require.Less(t, f.code, 500, "%s: %s", f.request, f.body)
				})
			}
		}
	}
	t.Run("strict errors name the field", func(t *testing.T) {
		a := s.do(t, harness.Operator, http.MethodPost, "?fieldValidation=Strict", complete(`{"spec":{"type":"Join","join":{"connectionString":`+quote(s.secret())+`,"unknown":1}}}`, "fv-named"))
		refused(t, "strict", a)
		assert.Contains(t, string(a.body), "spec.join.unknown")
		a = s.do(t, harness.Operator, http.MethodPost, "", complete(`{"spec":{"type":"Join","join":{"connectionString":[`+quote(s.secret())+`]}}}`, "fv-named"))
		refused(t, "wrong type", a)
		assert.Contains(t, string(a.body), "spec.join.connectionString")
		a = s.do(t, harness.Operator, http.MethodPost, "", manifest(t, "fv-long", strings.Repeat(s.secret(), 100)))
		a.want(t, http.StatusUnprocessableEntity)
		assert.Equal(t, []string{"spec.join.connectionString"}, a.causes(t))
	})
}

// R15: who may compute with a value on /sensitive copies it to where the store would
// quote and log it. The answer names the path, and is the client's fault.
func TestR15CopyToResourceVersion(t *testing.T) {
	const canary = "canary-of-the-version-4be1"
	s := harness.Start(t)
	s.MustKubectl(t, harness.Admin, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: east}\nspec: {type: Join, join: {connectionString: "+canary+"}}\n", "create", "-f", "-")
	for _, op := range []string{"copy", "move"} {
		result := s.Kubectl(t, harness.Admin, "", "patch", "cpeer", "east", "--subresource=sensitive", "--type=json", "-p",
			`[{"op":"`+op+`","from":"/spec/join/connectionString","path":"/metadata/resourceVersion"}]`)
		assert.NotZero(t, result.Code)
		assert.Contains(t, result.Stderr, "metadata.resourceVersion")
		assert.NotContains(t, result.Output(), canary)
	}
	// A UID is compared before the write is computed.
	for field, says := range map[string]string{"uid": "Precondition failed: the UID is not that of the object", "resourceVersion": "must be as the server gave it"} {
		for _, user := range []string{harness.Admin, harness.Operator} {
			result := s.Kubectl(t, user, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: east, "+field+": "+canary+"}\nspec: {type: Join, join: {connectionString: "+canary+"}}\n", "replace", "-f", "-")
			assert.NotZero(t, result.Code)
			assert.Contains(t, result.Stderr, says)
			assert.NotContains(t, result.Output(), canary)
		}
	}
}
