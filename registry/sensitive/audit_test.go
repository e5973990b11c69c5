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

package sensitive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// recorder is an audit backend that keeps the events as they would be written.
type recorder struct {
	mu     sync.Mutex
	events []*auditinternal.Event
	stops  int
}

func (r *recorder) ProcessEvents(events ...*auditinternal.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range events {
		r.events = append(r.events, event.DeepCopy())
		if event.Annotations != nil {
			event.Annotations["written"] = "by a backend" // as the library's truncation does
		}
	}
	return len(events) != 3
}

func (r *recorder) Run(<-chan struct{}) error { return errors.New("ran") }
func (r *recorder) Shutdown()                 { r.stops++ }
func (r *recorder) String() string            { return "recorder" }

// take returns the events since the last time.
func (r *recorder) take() []*auditinternal.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	return events
}

func written(t testing.TB, events ...*auditinternal.Event) string {
	t.Helper()
	var out strings.Builder
	for _, event := range events {
		text, err := runtime.Encode(audit.Codecs.LegacyCodec(auditv1.SchemeGroupVersion), event)
		require.NoError(t, err)
		out.Write(text)
	}
	return out.String()
}

func newMask(t testing.TB) (audit.Backend, *recorder) {
	t.Helper()
	r := &recorder{}
	backend, err := NewAuditBackend(r, vaultScheme, AuditedResource{vaultResource, "Vault"})
	require.NoError(t, err)
	return backend, r
}

func body(text string) *runtime.Unknown {
	if text == "" {
		return nil
	}
	return &runtime.Unknown{Raw: []byte(text), ContentType: runtime.ContentTypeJSON}
}

func vaultEvent(verb, request, response string) *auditinternal.Event {
	return &auditinternal.Event{
		Level: auditinternal.LevelRequestResponse, Stage: auditinternal.StageResponseComplete, AuditID: "id", Verb: verb,
		RequestURI:     "/apis/vault.test/v1/vaults/one",
		ObjectRef:      &auditinternal.ObjectReference{APIGroup: "vault.test", APIVersion: "v1", Resource: "vaults", Name: "one"},
		ResponseStatus: &metav1.Status{Code: 200},
		RequestObject:  body(request), ResponseObject: body(response),
		Annotations: map[string]string{"authorization.k8s.io/decision": "allow"},
	}
}

// masked sends an event through the mask and checks what holds for all: no value
// comes out, it can be written and read, and the event itself is as it was.
func masked(t testing.TB, event *auditinternal.Event) *auditinternal.Event {
	t.Helper()
	backend, r := newMask(t)
	before := event.DeepCopy()
	assert.True(t, backend.ProcessEvents(event))
	assert.Equal(t, before, event, "the event belongs to its maker")
	out := r.take()
	require.Len(t, out, 1)
	text := written(t, out...)
	assert.Empty(t, leaked(text, keyCanary, codeCanary, noteCanary), "a piece of a secret is in: %s", text)
	for _, body := range []*runtime.Unknown{out[0].RequestObject, out[0].ResponseObject} {
		if body != nil {
			assert.True(t, json.Valid(body.Raw), "%s", body.Raw)
			assert.Equal(t, runtime.ContentTypeJSON, body.ContentType)
		}
	}
	return out[0]
}

// fill puts the secrets into a text: K, C and N stand for them, with a dollar sign.
func fill(text string) string {
	return strings.NewReplacer("$K", keyCanary, "$C", codeCanary, "$N", noteCanary, "$O", Placeholder).Replace(text)
}

const wholeVault = `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"one","creationTimestamp":null,"labels":{"a":"b"},"managedFields":[{"manager":"m","operation":"Update","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:key":{"f:secret":{}}}}}]},` +
	`"spec":{"label":"x","count":12345678901234567890,"open":true,"since":"2026-01-01T00:00:00Z","owners":["ann"],"key":{"secret":"$K","hint":"h"},"door":{"color":"red","lock":{"code":"$C","make":"acme"}}},"status":{"phase":"Open","note":{"token":"$N","id":"i"}}}`

// maskedBodies are bodies with secrets and what is left of them in audit. Where the
// verb is "answer" the body is the answer's.
var maskedBodies = map[string]struct{ verb, body, want string }{
	"create":         {"create", wholeVault, strings.NewReplacer("$K", "$O", "$C", "$O", "$N", "$O").Replace(wholeVault)},
	"update":         {"update", wholeVault, strings.NewReplacer("$K", "$O", "$C", "$O", "$N", "$O").Replace(wholeVault)},
	"an answer":      {"answer", wholeVault, strings.NewReplacer("$K", "$O", "$C", "$O", "$N", "$O").Replace(wholeVault)},
	"nothing is set": {"create", `{"spec":{"key":{"secret":""},"door":{"lock":null}},"status":{}}`, `{"spec":{"key":{"secret":""},"door":{"lock":null}},"status":{}}`},
	"placeholder":    {"update", `{"spec":{"key":{"secret":"$O"}}}`, `{"spec":{"key":{"secret":"$O"}}}`},

	// What stands at a sensitive path, or on the way to one, and is no text.
	"a list at the path":         {"update", `{"spec":{"key":{"secret":["$K"],"hint":"h"}}}`, `{"spec":{"key":{"secret":"$O","hint":"h"}}}`},
	"an object at the path":      {"update", `{"spec":{"key":{"secret":{"x":{"$K":1}}}}}`, `{"spec":{"key":{"secret":"$O"}}}`},
	"a number at the path":       {"update", `{"spec":{"key":{"secret":12345678}}}`, `{"spec":{"key":{"secret":"$O"}}}`},
	"a text for its parent":      {"update", `{"spec":{"key":"$K","label":"x"}}`, `{"spec":{"key":"$O","label":"x"}}`},
	"a list for its parent":      {"update", `{"spec":{"door":[{"lock":{"code":"$C"}}]}}`, `{"spec":{"door":"$O"}}`},
	"a text for the spec":        {"update", `{"spec":"$K"}`, `{"spec":"$O"}`},
	"a list for the spec":        {"update", `{"spec":[{"key":{"secret":"$K"}}]}`, `{"spec":"$O"}`},
	"a text":                     {"update", `"$K"`, `"$O"`},
	"a list":                     {"update", `["$K",{"spec":{"key":{"secret":"$K"}}}]`, `"$O"`},
	"a list of lists":            {"update", `[["$K"]]`, `"$O"`},
	"other types where they fit": {"update", `{"spec":{"count":"$K","owners":"$K","label":["$K"],"open":"$K","since":["$K"]},"metadata":["$K"]}`, `{"spec":{"count":"$O","owners":"$O","label":"$O","open":"$O","since":"$O"},"metadata":"$O"}`},

	// Names that the type does not have.
	"another case":                {"patch", `{"spec":{"key":{"Secret":"$K"},"Door":{"lock":{"code":"$C"}}},"STATUS":{"note":{"token":"$N"}}}`, `{"spec":{"key":{"Secret":"$O"},"Door":"$O"},"STATUS":"$O"}`},
	"spelt wrong":                 {"patch", `{"spec":{"key":{"secert":"$K"},"dor":{"lock":{"code":"$C"}}}}`, `{"spec":{"key":{"secert":"$O"},"dor":"$O"}}`},
	"at another level":            {"patch", `{"key":{"secret":"$K"},"secret":"$K","spec":{"secret":"$K","spec":{"key":{"secret":"$K"}}}}`, `{"key":"$O","secret":"$O","spec":{"secret":"$O","spec":"$O"}}`},
	"a value for a name":          {"patch", `{"spec":{"key":{"$K is a secret":1}}}`, `{"spec":{"key":{"$O":"$O"}}}`},
	"a path for a name":           {"patch", `{"spec.key.secret":"$K","spec/key/secret":"$K"}`, `{"$O":"$O"}`},
	"twice, the last one counts":  {"patch", `{"spec":{"key":{"secret":"$K"}},"spec":{"label":"x"}}`, `{"spec":{"label":"x"}}`},
	"twice, the first one counts": {"patch", `{"spec":{"label":"x"},"spec":{"key":{"secret":"$K"}}}`, `{"spec":{"key":{"secret":"$O"}}}`},
	"escaped":                     {"patch", `{"sp\u0065c":{"k\u0065y":{"secre\u0074":"$K"}}}`, `{"spec":{"key":{"secret":"$O"}}}`},

	// Patches.
	"merge patch":           {"patch", `{"spec":{"key":{"secret":"$K"},"label":null}}`, `{"spec":{"key":{"secret":"$O"},"label":null}}`},
	"merge patch, removing": {"patch", `{"spec":{"key":null}}`, `{"spec":{"key":null}}`},
	"strategic merge patch": {
		"patch", `{"$setElementOrder/spec":["$K"],"metadata":{"$deleteFromPrimitiveList/finalizers":["f"],"$setElementOrder/finalizers":["f","g"],"$retainKeys":["name"]},"spec":{"$patch":"replace","$retainKeys":["key","label"],"key":{"secret":"$K"}}}`,
		`{"$setElementOrder/spec":"$O","metadata":{"$deleteFromPrimitiveList/finalizers":["f"],"$setElementOrder/finalizers":["f","g"],"$retainKeys":["name"]},"spec":{"$patch":"replace","$retainKeys":["key","label"],"key":{"secret":"$O"}}}`,
	},
	"strategic merge patch, odd": {
		"patch", `{"spec":{"$patch":"$K","key":{"$retainKeys":["$K"],"$setElementOrder/secret":["$K"],"$deleteFromPrimitiveList/nothing":["$K"],"$other":"$K","$patch":["$K"]}}}`,
		`{"spec":{"$O":"$O","key":{"$setElementOrder/secret":"$O","$O":"$O"}}}`,
	},
	"JSON patch on the path":            {"patch", `[{"op":"add","path":"/spec/key/secret","value":"$K"},{"op":"replace","path":"/spec/door/lock/code","value":"$C"},{"op":"test","path":"/status/note/token","value":"$N"}]`, `[{"op":"add","path":"/spec/key/secret","value":"$O"},{"op":"replace","path":"/spec/door/lock/code","value":"$O"},{"op":"test","path":"/status/note/token","value":"$O"}]`},
	"JSON patch on a parent":            {"patch", `[{"op":"add","path":"/spec/key","value":{"secret":"$K","hint":"h"}},{"op":"add","path":"/spec/door","value":{"lock":{"code":"$C"}}},{"op":"add","path":"/status","value":{"note":{"token":"$N"},"phase":"x"}}]`, `[{"op":"add","path":"/spec/key","value":{"secret":"$O","hint":"h"}},{"op":"add","path":"/spec/door","value":{"lock":{"code":"$O"}}},{"op":"add","path":"/status","value":{"note":{"token":"$O"},"phase":"x"}}]`},
	"JSON patch on the root":            {"patch", `[{"op":"replace","path":"","value":` + wholeVault + `}]`, `[{"op":"replace","path":"","value":` + strings.NewReplacer("$K", "$O", "$C", "$O", "$N", "$O").Replace(wholeVault) + `}]`},
	"JSON patch, wrong types":           {"patch", `[{"op":"add","path":"/spec","value":"$K"},{"op":"add","path":"","value":["$K"]},{"op":"add","path":"/spec/key","value":["$K"]},{"op":"add","path":"/spec/key/secret","value":{"a":["$K"]}}]`, `[{"op":"add","path":"/spec","value":"$O"},{"op":"add","path":"","value":"$O"},{"op":"add","path":"/spec/key","value":"$O"},{"op":"add","path":"/spec/key/secret","value":"$O"}]`},
	"JSON patch below the path":         {"patch", `[{"op":"add","path":"/spec/key/secret/$K","value":"$K"},{"op":"add","path":"/spec/key/secret/","value":"$K"}]`, `[{"op":"add","path":"/spec/key/secret/…","value":"$O"},{"op":"add","path":"/spec/key/secret/…","value":"$O"}]`},
	"JSON patch beside the path":        {"patch", `[{"op":"add","path":"/spec/key/","value":"$K"},{"op":"add","path":"/spec/key/secre~1t","value":"$K"},{"op":"add","path":"/spec/key/Secret","value":"$K"},{"op":"add","path":"/spec//key/secret","value":"$K"},{"op":"add","path":"/","value":"$K"}]`, `[{"op":"add","path":"/spec/key/…","value":"$O"},{"op":"add","path":"/spec/key/…","value":"$O"},{"op":"add","path":"/spec/key/…","value":"$O"},{"op":"add","path":"/spec/…","value":"$O"},{"op":"add","path":"/…","value":"$O"}]`},
	"JSON patch, no pointers":           {"patch", `[{"op":"add","path":"spec/key/secret","value":"$K"},{"op":"add","path":["$K"],"value":"$K"},{"op":"add","value":"$K"},{"op":"move","from":"$K","path":null}]`, `[{"op":"add","path":"$O","value":"$O"},{"op":"add","path":"$O","value":"$O"},{"op":"add","value":"$O"},{"op":"move","from":"$O","path":null}]`},
	"JSON patch, lists and maps":        {"patch", `[{"op":"add","path":"/spec/owners/-","value":"bob"},{"op":"test","path":"/spec/owners/0","value":"ann"},{"op":"add","path":"/spec/owners/x","value":"$K"},{"op":"add","path":"/metadata/labels/a~1b","value":"c"},{"op":"add","path":"/metadata/managedFields/0/fieldsV1/f:spec","value":{}}]`, `[{"op":"add","path":"/spec/owners/-","value":"bob"},{"op":"test","path":"/spec/owners/0","value":"ann"},{"op":"add","path":"/spec/owners/…","value":"$O"},{"op":"add","path":"/metadata/labels/a~1b","value":"c"},{"op":"add","path":"/metadata/managedFields/0/fieldsV1/f:spec","value":{}}]`},
	"JSON patch, copies":                {"patch", `[{"op":"copy","from":"/spec/key/secret","path":"/metadata/annotations/x"},{"op":"move","from":"/spec/key/$K/x","path":"/spec/label"},{"op":"remove","path":"/spec/key"}]`, `[{"op":"copy","from":"/spec/key/secret","path":"/metadata/annotations/x"},{"op":"move","from":"/spec/key/…","path":"/spec/label"},{"op":"remove","path":"/spec/key"}]`},
	"JSON patch, moved into place":      {"patch", `[{"op":"add","path":"/spec/owners","value":["$K"]},{"op":"move","from":"/spec/owners/0","path":"/spec/key/secret"}]`, `[{"op":"add","path":"/spec/owners","value":"$O"},{"op":"move","from":"/spec/owners/0","path":"/spec/key/secret"}]`},
	"JSON patch, copied in stages":      {"patch", `[{"op":"add","path":"/metadata/annotations","value":{"x":"$K"}},{"op":"copy","from":"/metadata/annotations/x","path":"/spec/label"},{"op":"copy","from":"/spec/label","path":"/spec/key/secret"}]`, `[{"op":"add","path":"/metadata/annotations","value":"$O"},{"op":"copy","from":"/metadata/annotations/x","path":"/spec/label"},{"op":"copy","from":"/spec/label","path":"/spec/key/secret"}]`},
	"JSON patch, moved above and below": {"patch", `[{"op":"add","path":"/metadata/labels","value":{"secret":"$K"}},{"op":"move","from":"/metadata/labels","path":"/spec/key"},{"op":"move","from":"/x","path":""}]`, `[{"op":"add","path":"/metadata/labels","value":"$O"},{"op":"move","from":"/metadata/labels","path":"/spec/key"},{"op":"move","from":"/…","path":""}]`},
	"JSON patch, moved elsewhere":       {"patch", `[{"op":"add","path":"/spec/owners","value":["ann"]},{"op":"move","from":"/spec/owners/0","path":"/spec/label"}]`, `[{"op":"add","path":"/spec/owners","value":["ann"]},{"op":"move","from":"/spec/owners/0","path":"/spec/label"}]`},
	"JSON patch, odd operations":        {"patch", `[{"op":"$K","path":"/spec/label","value":"x"},"$K",["$K"],null,{"spec":{"key":{"secret":"$K"}}},{"$K is a key":"$K"}]`, `[{"op":"$O","path":"/spec/label","value":"x"},"$O","$O",null,{"spec":"$O"},{"$O":"$O"}]`},
	"JSON patch, on a scalar":           {"patch", `[{"op":"add","path":"/spec/label/x","value":"$K"},{"op":"add","path":"/spec/since/x","value":"$K"}]`, `[{"op":"add","path":"/spec/label/…","value":"$O"},{"op":"add","path":"/spec/since/…","value":"$O"}]`},

	// Annotations.
	"manifest in an annotation": {
		"update", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$K\"},\"label\":\"x\"}}\n","copy":"it is $C!","other":"o"}},"spec":{"door":{"lock":{"code":"$C"}}}}`,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$O\"},\"label\":\"x\"}}","copy":"it is $O!","other":"o"}},"spec":{"door":{"lock":{"code":"$O"}}}}`,
	},
	"manifest that is none":       {"update", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$K\""}}}`, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"$O"}}}`},
	"manifest that is a list":     {"update", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"[\"$K\"]"}}}`, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"$O"}}}`},
	"manifest of the wrong type":  {"update", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":{"spec":{"key":{"secret":"$K"}}}}}}`, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"$O"}}}`},
	"a value of the manifest":     {"update", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$K\"}}}","copy":"$K"}}}`, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$O\"}}}","copy":"$O"}}}`},
	"annotations in a JSON patch": {"patch", `[{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"{\"spec\":{\"key\":{\"secret\":\"$K\"}}}"},{"op":"add","path":"/metadata/annotations/copy","value":"is $C"},{"op":"add","path":"/metadata/annotations","value":{"copy":"is $C"}},{"op":"add","path":"/metadata","value":{"annotations":{"copy":"is $C"}}},{"op":"add","path":"","value":{"metadata":{"annotations":{"copy":"is $C"}}}},{"op":"add","path":"/spec/door/lock/code","value":"$C"}]`, `[{"op":"add","path":"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration","value":"{\"spec\":{\"key\":{\"secret\":\"$O\"}}}"},{"op":"add","path":"/metadata/annotations/copy","value":"is $O"},{"op":"add","path":"/metadata/annotations","value":{"copy":"is $O"}},{"op":"add","path":"/metadata","value":{"annotations":{"copy":"is $O"}}},{"op":"add","path":"","value":{"metadata":{"annotations":{"copy":"is $O"}}}},{"op":"add","path":"/spec/door/lock/code","value":"$O"}]`},

	"a short word in a JSON patch": {"patch", `[{"op":"add","path":"/metadata/annotations/copy","value":"is door"},{"op":"add","path":"/metadata/annotations","value":{"copy":"is door"}},{"op":"add","path":"/metadata","value":{"annotations":{"copy":"is door"},"name":"door"}},{"op":"add","path":"","value":{"metadata":{"annotations":{"copy":"is door"}}}},{"op":"add","path":"/spec/door/lock/code","value":"door"}]`, `[{"op":"add","path":"/metadata/annotations/copy","value":"is $O"},{"op":"add","path":"/metadata/annotations","value":{"copy":"is $O"}},{"op":"add","path":"/metadata","value":{"annotations":{"copy":"is $O"},"name":"door"}},{"op":"add","path":"","value":{"metadata":{"annotations":{"copy":"is $O"}}}},{"op":"add","path":"/spec/door/lock/code","value":"$O"}]`},
	"copies in other places":       {"update", `{"metadata":{"name":"a-$K","labels":{"$K":"is $C"},"finalizers":["x/$K"]},"spec":{"label":"$K","key":{"secret":"$K"},"door":{"lock":{"code":"$C"}}}}`, `{"metadata":{"name":"a-$O","labels":{"$O":"is $O"},"finalizers":["x/$O"]},"spec":{"label":"$O","key":{"secret":"$O"},"door":{"lock":{"code":"$O"}}}}`},
	"copies of a short word":       {"update", `{"metadata":{"labels":{"update":"update"},"annotations":{"a":"update it"}},"spec":{"label":"update","key":{"secret":"update"}}}`, `{"metadata":{"labels":{"update":"update"},"annotations":{"a":"$O it"}},"spec":{"label":"update","key":{"secret":"$O"}}}`},
	"copies of a number":           {"update", `{"spec":{"count":12345678901234567890,"key":{"secret":"12345678901234567890"}}}`, `{"spec":{"count":12345678901234567890,"key":{"secret":"$O"}}}`},
	"copies in a JSON patch":       {"patch", `[{"op":"add","path":"/metadata/labels/$K","value":"$C"},{"op":"add","path":"/spec","value":{"key":{"secret":"$K"},"door":{"lock":{"code":"$C"}}}}]`, `[{"op":"add","path":"/metadata/labels/$O","value":"$O"},{"op":"add","path":"/spec","value":{"key":{"secret":"$O"},"door":{"lock":{"code":"$O"}}}}]`},

	// Answers.
	"list": {
		"answer", `{"apiVersion":"vault.test/v1","kind":"VaultList","metadata":{"resourceVersion":"1","continue":"c"},"items":[{"metadata":{"name":"one","annotations":{"c":"is $K"}},"spec":{"key":{"secret":"$K"}}},{"spec":{"door":{"lock":{"code":"$C"}}},"status":{"note":{"token":"$N"}}},null,"$K"]}`,
		`{"apiVersion":"vault.test/v1","kind":"VaultList","metadata":{"resourceVersion":"1","continue":"c"},"items":[{"metadata":{"name":"one","annotations":{"c":"is $O"}},"spec":{"key":{"secret":"$O"}}},{"spec":{"door":{"lock":{"code":"$O"}}},"status":{"note":{"token":"$O"}}},null,"$O"]}`,
	},
	"list of another kind": {"answer", `{"apiVersion":"v1","kind":"List","items":[{"spec":{"key":{"secret":"$K"}}}]}`, `{"apiVersion":"v1","kind":"List","items":"$O"}`},
	"table": {
		"answer", `{"apiVersion":"meta.k8s.io/v1","kind":"Table","metadata":{},"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"d","priority":0}],"rows":[{"cells":["one",1,null,true],"object":` + wholeVault + `},{"cells":["two"],"object":{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"two"}}},{"cells":[],"object":null},{"cells":[],"object":"$K"},"$K"]}`,
		`{"apiVersion":"meta.k8s.io/v1","kind":"Table","metadata":{},"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"d","priority":0}],"rows":[{"cells":["one",1,null,true],"object":` + strings.NewReplacer("$K", "$O", "$C", "$O", "$N", "$O").Replace(wholeVault) + `},{"cells":["two"],"object":{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"two"}}},{"cells":[]},{"cells":[],"object":"$O"},"$O"]}`,
	},
	"metadata": {
		"answer", `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{},"items":[{"metadata":{"name":"one","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$K\"}}}"}},"spec":"$O"}]}`,
		`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{},"items":[{"metadata":{"name":"one","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$O\"}}}"}},"spec":"$O"}]}`,
	},
	"something else":             {"answer", `{"apiVersion":"x/v1","kind":"WatchEvent","type":"ADDED","object":{"spec":{"key":{"secret":"$K"}}}}`, `{"apiVersion":"x/v1","kind":"WatchEvent","type":"$O","object":"$O"}`},
	"a text as an answer":        {"answer", `"$K"`, `"$O"`},
	"no version":                 {"answer", `{"apiVersion":"a/b/c","kind":"$K"}`, `"$O"`},
	"a status of success":        {"answer", `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Success","details":{"name":"one","group":"vault.test","kind":"vaults","uid":"u"}}`, `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Success","details":{"name":"one","group":"vault.test","kind":"vaults","uid":"u"}}`},
	"a status of a failure":      {"answer", `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"$K is bad","reason":"Invalid","details":{"name":"one","kind":"Vault","causes":[{"reason":"FieldValueInvalid","message":"$K is bad","field":"spec.key.secret"},{"message":"x","field":"$K is bad"}]},"code":422}`, `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"Invalid: $O","reason":"Invalid","details":{"name":"one","kind":"Vault","causes":[{"reason":"FieldValueInvalid","message":"$O","field":"spec.key.secret"},{"message":"$O","field":"…"}]},"code":422}`},
	"a status that is none":      {"answer", `{"apiVersion":"v1","kind":"Status","status":{"note":{"token":"$N"}}}`, `"$O"`},
	"a status, said by a client": {"update", `{"apiVersion":"v1","kind":"Status","spec":{"key":{"secret":"$K"}},"message":"$K"}`, `{"apiVersion":"v1","kind":"Status","spec":{"key":{"secret":"$O"}},"message":"$O"}`},
	"options of a delete":        {"delete", `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Foreground","spec":{"key":{"secret":"$K"}}}`, `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Foreground","spec":"$O"}`},
	"options of a delete of all": {"deletecollection", `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`, `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`},
	"a body of another verb":     {"get", wholeVault, `"$O"`},

	// What does not parse.
	"no JSON":        {"update", `{"spec":{"key":{"secret":"$K"`, `"$O"`},
	"YAML":           {"patch", "spec:\n  key:\n    secret: $K", `"$O"`},
	"two values":     {"update", `{"spec":{}} {"spec":{"key":{"secret":"$K"}}}`, `"$O"`},
	"something more": {"update", `{"spec":{}}$K`, `"$O"`},
	"too deep":       {"update", strings.Repeat(`{"spec":`, 20000) + `"$K"` + strings.Repeat("}", 20000), `"$O"`},
	"deep":           {"update", `{"spec":{"key":{"secret":` + strings.Repeat("[", 5000) + `"$K"` + strings.Repeat("]", 5000) + `}}}`, `{"spec":{"key":{"secret":"$O"}}}`},
	"no answer JSON": {"answer", `{"kind":"Vault","spec":{"key":{"secret":"$K"`, `"$O"`},
}

// R16: what is left of bodies.
func TestR16Bodies(t *testing.T) {
	for name, test := range maskedBodies {
		t.Run(name, func(t *testing.T) {
			event := vaultEvent(test.verb, fill(test.body), "")
			if test.verb == "answer" {
				event = vaultEvent("get", "", fill(test.body))
			}
			out := masked(t, event)
			got := out.RequestObject
			if test.verb == "answer" {
				got = out.ResponseObject
				assert.Nil(t, out.RequestObject)
			} else {
				assert.Nil(t, out.ResponseObject)
			}
			require.NotNil(t, got)
			assert.JSONEq(t, fill(test.want), string(got.Raw))
			assert.Equal(t, event.Annotations, out.Annotations)
		})
	}
	t.Run("the search can fail", func(t *testing.T) {
		for name, test := range maskedBodies {
			if strings.Contains(test.body, "$K") {
				assert.NotEmpty(t, leaked(fill(test.body), keyCanary), name)
			}
		}
		assert.NotEmpty(t, leaked(written(t, vaultEvent("update", fill(wholeVault), "")), keyCanary))
	})
	t.Run("numbers stay as they are", func(t *testing.T) {
		out := masked(t, vaultEvent("update", fill(wholeVault), ""))
		assert.Contains(t, string(out.RequestObject.Raw), "12345678901234567890")
		assert.Contains(t, string(out.RequestObject.Raw), `"<omitted>"`)
	})
	t.Run("another encoding", func(t *testing.T) {
		for _, unknown := range []runtime.Unknown{
			{Raw: []byte(fill(wholeVault)), ContentType: runtime.ContentTypeYAML},
			{Raw: []byte(fill(wholeVault)), ContentType: runtime.ContentTypeJSON, ContentEncoding: "gzip"},
			{Raw: []byte(fill(wholeVault))},
			{},
		} {
			event := vaultEvent("update", "", "")
			event.RequestObject, event.ResponseObject = &unknown, &unknown
			out := masked(t, event)
			assert.Equal(t, `"<omitted>"`, string(out.RequestObject.Raw))
			assert.Equal(t, `"<omitted>"`, string(out.ResponseObject.Raw))
		}
	})
	t.Run("more values than are looked for", func(t *testing.T) {
		var operations []string
		for i := range maxValues + 1 {
			operations = append(operations, fmt.Sprintf(`{"op":"add","path":"/spec/key/secret","value":"%s %d"},{"op":"add","path":"/metadata/annotations/a%d","value":"%s %d"}`, keyCanary, i, i, keyCanary, i))
		}
		out := masked(t, vaultEvent("patch", "["+strings.Join(operations, ",")+"]", ""))
		assert.Equal(t, `"<omitted>"`, string(out.RequestObject.Raw))
	})
}

// R16: whose bodies they are decides, and what is not known is left out.
func TestR16Resources(t *testing.T) {
	whole := fill(wholeVault)
	for name, test := range map[string]struct {
		change func(*auditinternal.Event)
		left   bool // the body is left as it is, and has no secret
		whole  bool // it is replaced as a whole
	}{
		"the resource":        {func(*auditinternal.Event) {}, false, false},
		"status":              {func(e *auditinternal.Event) { e.ObjectRef.Subresource = "status" }, false, false},
		"sensitive":           {func(e *auditinternal.Event) { e.ObjectRef.Subresource = "sensitive" }, false, false},
		"another subresource": {func(e *auditinternal.Event) { e.ObjectRef.Subresource = "proxy" }, false, true},
		"another resource":    {func(e *auditinternal.Event) { e.ObjectRef.Resource = "doors" }, false, true},
		"another version":     {func(e *auditinternal.Event) { e.ObjectRef.APIVersion = "v2" }, false, true},
		"no version":          {func(e *auditinternal.Event) { e.ObjectRef.APIVersion = "" }, false, true},
		"another group": {func(e *auditinternal.Event) {
			e.ObjectRef.APIGroup = "other.test"
			e.RequestObject, e.ResponseObject = body(`{"spec":{"key":{"secret":"theirs"}}}`), body(`["theirs"]`)
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			event := vaultEvent("update", whole, whole)
			event.ResponseStatus = &metav1.Status{Status: metav1.StatusFailure, Code: 400, Reason: metav1.StatusReasonBadRequest, Message: "it says " + keyCanary}
			if test.left {
				event.ResponseStatus.Message = "theirs"
			}
			test.change(event)
			out := masked(t, event)
			switch {
			case test.left:
				assert.Equal(t, event, out)
			case test.whole:
				assert.Equal(t, `"<omitted>"`, string(out.RequestObject.Raw))
				assert.Equal(t, `"<omitted>"`, string(out.ResponseObject.Raw))
			default:
				assert.Contains(t, string(out.RequestObject.Raw), `"label":"x"`)
				assert.Contains(t, string(out.ResponseObject.Raw), `"label":"x"`)
			}
		})
	}
	t.Run("no resource", func(t *testing.T) {
		event := vaultEvent("get", whole, `{"kind":"APIResourceList"}`)
		event.ObjectRef = nil
		out := masked(t, event)
		assert.Equal(t, `"<omitted>"`, string(out.RequestObject.Raw))
		assert.Equal(t, event.ResponseObject, out.ResponseObject, "discovery")
	})
	t.Run("nothing in it", func(t *testing.T) {
		for _, event := range []*auditinternal.Event{{}, {ObjectRef: &auditinternal.ObjectReference{}}, {Stage: auditinternal.StagePanic}, vaultEvent("get", "", "")} {
			assert.Equal(t, event, masked(t, event))
		}
	})
	t.Run("a kind without sensitive fields", func(t *testing.T) {
		scheme := newVaultScheme()
		scheme.AddKnownTypeWithName(vaultGV.WithKind("Plain"), &Plain{})
		scheme.AddKnownTypeWithName(vaultGV.WithKind("PlainList"), &PlainList{})
		r := &recorder{}
		backend, err := NewAuditBackend(r, scheme, AuditedResource{vaultResource, "Vault"}, AuditedResource{vaultGV.WithResource("plains"), "Plain"})
		require.NoError(t, err)
		event := vaultEvent("update", `{"value":"v","odd":1}`, `{"kind":"Plain","value":"v"}`)
		event.ObjectRef.Resource = "plains"
		event.ResponseStatus = &metav1.Status{Code: 400, Reason: metav1.StatusReasonBadRequest, Message: "it says v"}
		before := event.DeepCopy()
		backend.ProcessEvents(event)
		assert.Equal(t, []*auditinternal.Event{before}, r.take())
	})
}

// R16: what is left of a status, at levels without bodies too.
func TestR16Status(t *testing.T) {
	request := fill(`{"spec":{"key":{"secret":"$K"}}}`)
	for name, test := range map[string]struct {
		request  string
		in, want metav1.Status
	}{
		"a code only":    {"", metav1.Status{Code: 500}, metav1.Status{Code: 500}},
		"success":        {request, metav1.Status{Code: 200, Status: "Success", Message: "deleted $K"}, metav1.Status{Code: 200, Status: "Success", Message: "deleted $O"}},
		"invalid":        {request, metav1.Status{Code: 422, Reason: "Invalid", Message: "Vault is invalid: $K"}, metav1.Status{Code: 422, Reason: "Invalid", Message: "Invalid: $O"}},
		"without bodies": {"", metav1.Status{Code: 422, Reason: "Invalid", Message: "Vault is invalid: $K"}, metav1.Status{Code: 422, Reason: "Invalid", Message: "Invalid: $O"}},
		"a piece of it":  {"", metav1.Status{Code: 400, Reason: "BadRequest", Message: "near " + keyCanary[:12]}, metav1.Status{Code: 400, Reason: "BadRequest", Message: "BadRequest: $O"}},
		"inside":         {"", metav1.Status{Code: 500, Reason: "InternalError", Message: "$K"}, metav1.Status{Code: 500, Reason: "InternalError", Message: "InternalError: $O"}},
		"no reason":      {"", metav1.Status{Code: 422, Message: "$K"}, metav1.Status{Code: 422, Message: "$O"}},
		"by its word":    {"", metav1.Status{Status: "Failure", Message: "$K"}, metav1.Status{Status: "Failure", Message: "$O"}},
		"a new reason":   {"", metav1.Status{Code: 499, Reason: "Odd", Message: "$K"}, metav1.Status{Code: 499, Reason: "Odd", Message: "Odd: $O"}},
		"forbidden":      {"", metav1.Status{Code: 403, Reason: "Forbidden", Message: `User "x" cannot get vaults`}, metav1.Status{Code: 403, Reason: "Forbidden", Message: `User "x" cannot get vaults`}},
		"conflict": {
			request,
			metav1.Status{Code: 409, Reason: "Conflict", Message: "with $K", Details: &metav1.StatusDetails{Name: "$K", Causes: []metav1.StatusCause{{Type: "FieldManagerConflict", Message: "conflict with $K", Field: ".spec.key.secret"}}}},
			metav1.Status{Code: 409, Reason: "Conflict", Message: "with $O", Details: &metav1.StatusDetails{Name: "$O", Causes: []metav1.StatusCause{{Type: "FieldManagerConflict", Message: "conflict with $O", Field: ".spec.key.secret"}}}},
		},
		"causes": {
			"",
			metav1.Status{Code: 422, Reason: "Invalid", Details: &metav1.StatusDetails{Name: "one", Causes: []metav1.StatusCause{{Type: "FieldValueInvalid", Message: "$K", Field: "spec.key.secret"}, {Message: "$K", Field: `spec.owners[v="$K"]`}}}},
			metav1.Status{Code: 422, Reason: "Invalid", Details: &metav1.StatusDetails{Name: "one", Causes: []metav1.StatusCause{{Type: "FieldValueInvalid", Message: "$O", Field: "spec.key.secret"}, {Message: "$O", Field: "spec.…"}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			filled := func(s metav1.Status) *metav1.Status {
				out := &metav1.Status{}
				require.NoError(t, json.Unmarshal([]byte(fill(mustJSON(t, s))), out))
				return out
			}
			event := vaultEvent("update", test.request, "")
			event.ResponseStatus = filled(test.in)
			if test.request == "" {
				event.Level = auditinternal.LevelMetadata
			}
			assert.Equal(t, filled(test.want), masked(t, event).ResponseStatus)
		})
	}
	t.Run("a panic, of whatever group", func(t *testing.T) {
		for _, ref := range []*auditinternal.ObjectReference{nil, {APIGroup: "other.test"}, {APIGroup: "vault.test"}} {
			event := &auditinternal.Event{Stage: auditinternal.StagePanic, ObjectRef: ref, ResponseStatus: &metav1.Status{
				Code: 500, Status: "Failure", Reason: "InternalError", Message: "APIServer panic'd: " + keyCanary,
			}}
			assert.Equal(t, "InternalError: <omitted>", masked(t, event).ResponseStatus.Message)
		}
	})
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := encodeJSON(value)
	require.NoError(t, err)
	return string(text)
}

// R16: annotations of the event are searched for values, but not for short words.
func TestR16EventAnnotations(t *testing.T) {
	event := vaultEvent("update", fill(`{"spec":{"key":{"secret":"$K"},"door":{"lock":{"code":"allow"}}}}`), "")
	event.Annotations["webhook"] = "it said " + keyCanary
	out := masked(t, event)
	assert.Equal(t, map[string]string{"authorization.k8s.io/decision": "allow", "webhook": "it said <omitted>"}, out.Annotations)
}

// R16: an answer is searched for what the request submitted, too.
func TestR16AnswersHoldWhatWasSubmitted(t *testing.T) {
	out := masked(t, vaultEvent("update", fill(`{"spec":{"key":{"secret":"$K"}}}`), fill(`{"kind":"Vault","apiVersion":"vault.test/v1","metadata":{"labels":{"x":"$K"}},"spec":{"key":{"secret":"$O"}}}`)))
	assert.JSONEq(t, fill(`{"kind":"Vault","apiVersion":"vault.test/v1","metadata":{"labels":{"x":"$O"}},"spec":{"key":{"secret":"$O"}}}`), string(out.ResponseObject.Raw))
}

// R16: where masking itself breaks, the bodies are left out, and the request goes on.
func TestR16MaskThatPanics(t *testing.T) {
	backend, r := newMask(t)
	b := backend.(*auditBackend)
	b.kinds[vaultResource] = &auditedKind{layout: layout{sensitive: map[string]bool{keyPath: true}}} // it has no type
	event := vaultEvent("update", fill(wholeVault), fill(wholeVault))
	event.ResponseStatus = &metav1.Status{Code: 400, Message: keyCanary}
	before := event.DeepCopy()
	assert.True(t, backend.ProcessEvents(event))
	assert.Equal(t, before, event)
	out := r.take()
	require.Len(t, out, 1)
	assert.Equal(t, `"<omitted>"`, string(out[0].RequestObject.Raw))
	assert.Equal(t, `"<omitted>"`, string(out[0].ResponseObject.Raw))
	assertNoCanary(t, written(t, out...))
}

// R16: the backend behind is run, stopped and heard.
func TestR16Backend(t *testing.T) {
	backend, r := newMask(t)
	assert.EqualError(t, backend.Run(nil), "ran")
	backend.Shutdown()
	assert.Equal(t, 1, r.stops)
	assert.Equal(t, "sensitive<recorder>", backend.String())
	events := []*auditinternal.Event{vaultEvent("get", "", fill(wholeVault)), vaultEvent("update", fill(wholeVault), "")}
	assert.True(t, backend.ProcessEvents(events...))
	assert.Len(t, r.take(), 2)
	assert.False(t, backend.ProcessEvents(append(events, events[0])...), "the answer is that of the backend behind")
	assertNoCanary(t, written(t, r.take()...))

	var group sync.WaitGroup
	for range 8 { // many requests at once
		group.Go(func() {
			for range 50 {
				backend.ProcessEvents(vaultEvent("update", fill(wholeVault), fill(wholeVault)))
			}
		})
	}
	group.Wait()
	out := r.take()
	assert.Len(t, out, 400)
	assertNoCanary(t, written(t, out...))
}

// lying names a sensitive field that its type has not.
type lying struct{ Vault }

func (*lying) SensitiveField(i int, _ bool) (string, *string) {
	return []string{"spec.key.sceret", ""}[i], nil
}
func (l *lying) DeepCopyObject() runtime.Object { return l }

// structured names a sensitive field that is no text.
type structured struct{ Vault }

func (*structured) SensitiveField(i int, _ bool) (string, *string) {
	return []string{"spec.key", ""}[i], nil
}
func (s *structured) DeepCopyObject() runtime.Object { return s }

// R16: a mask that would not mask is not made.
func TestR16NoBackend(t *testing.T) {
	_, err := NewAuditBackend(nil, vaultScheme)
	assert.Error(t, err)
	_, err = NewAuditBackend(&recorder{}, vaultScheme, AuditedResource{vaultResource, "Door"})
	assert.ErrorContains(t, err, "vaults.vault.test")
	for _, internal := range []runtime.Object{&lying{}, &structured{}} {
		scheme := runtime.NewScheme()
		scheme.AddKnownTypeWithName(vaultInternal.WithKind("Vault"), internal)
		scheme.AddKnownTypeWithName(vaultGV.WithKind("Vault"), &VaultV1{})
		_, err = NewAuditBackend(&recorder{}, scheme, AuditedResource{vaultResource, "Vault"})
		assert.Error(t, err, "no list")
		scheme.AddKnownTypeWithName(vaultGV.WithKind("VaultList"), &VaultV1List{})
		_, err = NewAuditBackend(&recorder{}, scheme, AuditedResource{vaultResource, "Vault"})
		assert.ErrorContains(t, err, "spec.key")
	}
}

// FuzzR16Bodies plants a secret at a sensitive path, or on the way to one, of whatever
// body, and searches what comes out.
func FuzzR16Bodies(f *testing.F) {
	for _, test := range maskedBodies {
		for how := range 8 {
			f.Add(strings.NewReplacer("$K", "x", "$C", "y", "$N", "z", "$O", Placeholder).Replace(test.body), how, test.verb)
		}
	}
	verbs := []string{"create", "update", "patch", "delete", "answer"}
	f.Fuzz(func(t *testing.T, text string, how int, verb string) {
		if leaked(text, keyCanary, codeCanary, noteCanary) != "" || len(text) > 1<<16 {
			return
		}
		if !slices.Contains(verbs, verb) {
			verb = "patch"
		}
		planted := plant(text, uint(how))
		event := vaultEvent(verb, planted, "")
		if verb == "answer" {
			event = vaultEvent("get", "", planted)
		}
		masked(t, event)
	})
}

// plant puts secrets into a body in one of many ways.
func plant(text string, how uint) string {
	var root any
	if json.Unmarshal([]byte(text), &root) != nil {
		return text + keyCanary // it does not parse, and must go as a whole
	}
	var secret any = keyCanary
	switch how / 8 % 4 {
	case 1:
		secret = []any{map[string]any{"x": keyCanary}}
	case 2:
		secret = map[string]any{"secret": map[string]any{"y": keyCanary}}
	case 3:
		secret = map[string]any{"$patch": keyCanary, keyCanary + " is long enough to be no name": true}
	}
	at := func(object map[string]any, path ...string) {
		for _, segment := range path[:len(path)-1] {
			inner, ok := object[segment].(map[string]any)
			if !ok {
				inner = map[string]any{}
				object[segment] = inner
			}
			object = inner
		}
		object[path[len(path)-1]] = secret
	}
	switch typed := root.(type) {
	case map[string]any:
		targets := []map[string]any{typed}
		for _, list := range []string{"items", "rows"} {
			entries, _ := typed[list].([]any)
			for _, entry := range entries {
				if object, ok := entry.(map[string]any); ok {
					if row, ok := object["object"].(map[string]any); ok {
						object = row
					}
					targets = append(targets, object)
				}
			}
		}
		for _, target := range targets {
			at(target, [][]string{{"spec", "key", "secret"}, {"spec", "key"}, {"status", "note", "token"}, {"spec", "door", "lock", "code"}, {"spec", "door", "lock"}, {"spec", "Key", "secret"}, {"status", "note", "tokne"}, {"secret"}}[how%8]...)
			if kind, _ := typed["kind"].(string); kind == "Status" {
				maps.DeleteFunc(target, func(key string, _ any) bool { return key == "spec" })
			}
		}
	case []any:
		path := []string{"/spec/key/secret", "/spec/key", "/status/note/token", "/spec/door/lock/code", "/spec/door/lock", "/spec/Key/secret", "/status/note/tokne", "/spec/key/secret/0"}[how%8]
		for i, entry := range typed {
			if operation, ok := entry.(map[string]any); ok && i%2 == 0 {
				operation["path"], operation["value"] = path, secret
			}
		}
		root = slices.Concat(typed, []any{map[string]any{"op": "add", "path": path, "value": secret}})
	default:
		root = secret
	}
	out, err := json.Marshal(root)
	if err != nil {
		return text
	}
	return string(out)
}

// audited is the real handlers of the library with audit around them. What they log
// is kept as it came, and as it left the mask.
type audited struct {
	*api
	raw, masked *recorder
}

type tee struct {
	raw  *recorder
	mask audit.Backend
}

func (s tee) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		s.raw.ProcessEvents(event.DeepCopy())
	}
	return s.mask.ProcessEvents(events...)
}

type everythingAudited struct{ level auditinternal.Level }

func (p everythingAudited) EvaluatePolicyRule(authorizer.Attributes) audit.RequestAuditConfig {
	return audit.RequestAuditConfig{Level: p.level}
}

func newAudited(t *testing.T, level auditinternal.Level) *audited {
	t.Helper()
	a := &audited{api: newAPI(t), raw: &recorder{}}
	mask, masked := newMask(t)
	a.masked = masked
	handler := genericapifilters.WithAudit(a.server.Config.Handler, tee{a.raw, mask}, everythingAudited{level}, nil)
	handler = withUser(handler)
	handler = genericapifilters.WithAuditInit(handler)
	resolver := &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}
	server := httptest.NewServer(genericapifilters.WithRequestInfo(handler, resolver))
	t.Cleanup(server.Close)
	a.server = server
	return a
}

// R16: nothing of what the library's handlers log about requests of every kind gets
// past the mask, though it was there before; at every level.
func TestR16WhatTheHandlersLog(t *testing.T) {
	full := strings.ReplaceAll(fill(wholeVault), "12345678901234567890", "3")
	full = strings.Replace(full, `"creationTimestamp":null,"labels":{"a":"b"},"managedFields":[{"manager":"m","operation":"Update","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:key":{"f:secret":{}}}}}]`, `"labels":{"a":"b"}`, 1)
	yaml := fill("apiVersion: vault.test/v1\nkind: Vault\nmetadata: {name: one}\nspec: {key: {secret: $K}}\n")
	calls := map[string]struct {
		call
		code             int
		request, answers bool // at level RequestResponse a secret is there before
	}{
		"create":                   {call{method: "POST", body: strings.Replace(full, `"one"`, `"two"`, 1)}, 201, true, true},
		"create of what is there":  {call{method: "POST", body: full}, 409, true, false},
		"create as YAML":           {call{method: "POST", contentType: "application/yaml", body: strings.Replace(yaml, "one", "three", 1)}, 201, true, true},
		"create that is refused":   {call{method: "POST", body: strings.Replace(strings.Replace(full, `"one"`, `"five"`, 1), keyCanary, "refuse me "+keyCanary, 1)}, 422, true, false},
		"create without a parser":  {call{method: "POST", body: full + "}"}, 400, false, false},
		"get":                      {call{path: "/one"}, 200, false, true},
		"get sensitive":            {call{path: "/one/sensitive"}, 200, false, true},
		"get as table":             {call{path: "/one?includeObject=Object", accept: "application/json;as=Table;v=v1;g=meta.k8s.io"}, 200, false, true},
		"get metadata":             {call{path: "/one", accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}, 200, false, false},
		"get as YAML":              {call{path: "/one", accept: "application/yaml"}, 200, false, true},
		"list":                     {call{path: ""}, 200, false, true},
		"list as table":            {call{path: "?includeObject=Object", accept: "application/json;as=Table;v=v1;g=meta.k8s.io"}, 200, false, true},
		"list metadata":            {call{path: "", accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}, 200, false, false},
		"update":                   {call{method: "PUT", path: "/one", body: full}, 200, true, true},
		"update status":            {call{method: "PUT", path: "/one/status", body: full}, 200, true, true},
		"update sensitive":         {call{method: "PUT", path: "/one/sensitive", body: full}, 200, true, true},
		"update of another":        {call{method: "PUT", path: "/other", body: full}, 400, true, false},
		"update that conflicts":    {call{method: "PUT", path: "/one", body: strings.Replace(full, `"name":"one"`, `"name":"one","resourceVersion":"1"`, 1)}, 409, true, false},
		"merge patch":              {call{method: "PATCH", path: "/one", contentType: mergePatch, body: fill(`{"spec":{"key":{"secret":"$K"}}}`)}, 200, true, true},
		"merge patch of a type":    {call{method: "PATCH", path: "/one", contentType: mergePatch, body: fill(`{"spec":{"key":{"secret":["$K"]}}}`)}, 422, true, false},
		"merge patch, misspelt":    {call{method: "PATCH", path: "/one?fieldValidation=Strict", contentType: mergePatch, body: fill(`{"spec":{"key":{"secert":"$K"}}}`)}, 422, true, false},
		"merge patch as a text":    {call{method: "PATCH", path: "/one", contentType: mergePatch, body: fill(`"$K"`)}, 400, true, false},
		"strategic merge patch":    {call{method: "PATCH", path: "/one", contentType: strategicPatch, body: fill(`{"metadata":{"$retainKeys":["name"]},"spec":{"key":{"secret":"$K"}}}`)}, 200, true, true},
		"JSON patch":               {call{method: "PATCH", path: "/one", contentType: jsonPatch, body: fill(`[{"op":"add","path":"/spec/key/secret","value":"$K"}]`)}, 200, true, true},
		"JSON patch on a parent":   {call{method: "PATCH", path: "/one", contentType: jsonPatch, body: fill(`[{"op":"replace","path":"/spec/key","value":{"secret":"$K"}}]`)}, 200, true, true},
		"JSON patch on the root":   {call{method: "PATCH", path: "/one", contentType: jsonPatch, body: `[{"op":"replace","path":"","value":` + full + `}]`}, 200, true, true},
		"JSON patch, copied":       {call{method: "PATCH", path: "/one", contentType: jsonPatch, body: `[{"op":"copy","from":"/spec/key/secret","path":"/metadata/labels/x"}]`}, 422, false, false},
		"JSON patch, tested":       {call{method: "PATCH", path: "/one", contentType: jsonPatch, body: fill(`[{"op":"test","path":"/spec/key/secret","value":"$K"}]`)}, 422, true, false},
		"JSON patch, no pointer":   {call{method: "PATCH", path: "/one", contentType: jsonPatch, body: fill(`[{"op":"add","path":"x/spec/key/secret","value":"$K"}]`)}, 200, true, true},
		"apply":                    {call{method: "PATCH", path: "/one?fieldManager=m&force=true", contentType: applyPatch, body: yaml}, 200, true, true},
		"apply as JSON":            {call{method: "PATCH", path: "/one?fieldManager=m&force=true", contentType: applyPatch, body: fill(`{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"key":{"secret":"$K"}}}`)}, 200, true, true},
		"apply that conflicts":     {call{method: "PATCH", path: "/one?fieldManager=n", contentType: applyPatch, body: strings.Replace(yaml, keyCanary, "new "+codeCanary, 1)}, 409, true, false},
		"apply that does not fit":  {call{method: "PATCH", path: "/one?fieldManager=m", contentType: applyPatch, body: fill(`{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"key":["$K"]}}`)}, 422, true, false},
		"apply that is no YAML":    {call{method: "PATCH", path: "/one?fieldManager=m", contentType: applyPatch, body: yaml + "\t: : ["}, 400, false, false},
		"a patch of no type":       {call{method: "PATCH", path: "/one", contentType: "text/plain", body: full}, 415, false, false},
		"dry run":                  {call{method: "PATCH", path: "/one?dryRun=All", contentType: mergePatch, body: fill(`{"spec":{"key":{"secret":"$K"}}}`)}, 200, true, true},
		"delete":                   {call{method: "DELETE", path: "/gone", body: `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`}, 200, false, true},
		"delete, odd options":      {call{method: "DELETE", path: "/gone", body: `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Odd"}`}, 422, false, false},
		"delete of none":           {call{method: "DELETE", path: "/never"}, 404, false, false},
		"delete of many":           {call{method: "DELETE", path: "?fieldSelector=metadata.name%3Dgone"}, 200, false, true},
		"with annotations":         {call{method: "PATCH", path: "/one", contentType: mergePatch, body: fill(`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"key\":{\"secret\":\"$K\"}}}","copy":"$C"}},"spec":{"door":{"lock":{"code":"$C"}}}}`)}, 200, true, true},
		"a verb that is not there": {call{method: "PUT", path: "", body: full}, 405, false, false},
	}
	for _, level := range []auditinternal.Level{auditinternal.LevelMetadata, auditinternal.LevelRequest, auditinternal.LevelRequestResponse} {
		t.Run(string(level), func(t *testing.T) {
			a := newAudited(t, level)
			for _, name := range slices.Sorted(maps.Keys(calls)) {
				test := calls[name]
				t.Run(name, func(t *testing.T) {
					for _, vault := range []string{"one", "gone"} {
						if _, err := a.store.Get(requestContext(reader, ""), vault, getOptions()); err != nil {
							a.add(t, newVault(vault))
						}
					}
					a.raw.take()
					a.masked.take()
					test.user = reader
					reply := a.do(t, test.call)
					assert.Equal(t, test.code, reply.code, reply.body)
					raw, out := a.raw.take(), a.masked.take()
					require.Len(t, out, 2, "received, complete")
					assertNoCanary(t, written(t, out...))
					last := out[1]
					assert.EqualValues(t, test.code, last.ResponseStatus.Code)
					requests, answers := level != auditinternal.LevelMetadata, level == auditinternal.LevelRequestResponse
					has := func(body *runtime.Unknown) bool {
						return body != nil && leaked(string(body.Raw), keyCanary, codeCanary, noteCanary) != ""
					}
					assert.Equal(t, test.request && requests, has(raw[1].RequestObject), "the search can fail: %s", written(t, raw[1]))
					assert.Equal(t, test.answers && answers, has(raw[1].ResponseObject), "the search can fail: %s", written(t, raw[1]))
					for i, body := range []*runtime.Unknown{raw[1].RequestObject, raw[1].ResponseObject} {
						shown := []*runtime.Unknown{last.RequestObject, last.ResponseObject}[i]
						assert.Equal(t, body != nil, shown != nil)
						if body != nil && !has(body) && last.ResponseStatus.Code < http.StatusBadRequest {
							assert.JSONEq(t, string(body.Raw), string(shown.Raw), "what holds no secret is left")
						}
						if has(body) {
							assert.Contains(t, string(shown.Raw), Placeholder)
							assert.Equal(t, name == "merge patch as a text", string(shown.Raw) == `"<omitted>"`, "what is understood is not replaced as a whole")
						}
					}
				})
			}
		})
	}
}
