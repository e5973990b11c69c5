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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
)

// logs are the process's logs.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take returns what was logged since it was called last.
func (l *logs) take() string {
	klog.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

var (
	processLogs = &logs{}
	klogFlags   = flag.NewFlagSet("klog", flag.PanicOnError)
)

// TestMain keeps the logs, for the whole process and once: the goroutines of a
// test's server may log after it.
func TestMain(m *testing.M) {
	klog.InitFlags(klogFlags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := klogFlags.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(processLogs)
	os.Exit(m.Run())
}

// captureLogs turns logging up to the highest verbosity.
func captureLogs(t *testing.T) *logs {
	t.Helper()
	require.NoError(t, klogFlags.Set("v", "10"))
	t.Cleanup(func() { require.NoError(t, klogFlags.Set("v", "0")) })
	processLogs.take()
	return processLogs
}

// badBody is a body that cannot become an object. CANARY in it stands for a
// secret, KEY for a secret in the place of a field's name, DIGITS for a number.
type badBody struct {
	name, body string
	// says is what the answer tells: the path, or what is wrong. Where it is empty
	// the library tells nothing.
	says string
	// valid is set where the server takes the body but in strict validation, fine
	// where it takes it even then.
	valid, fine bool
}

// A secret that is a field's name is longer than a name may be.
var keySecret = strings.Repeat("kEy9qZx7CANARYwV5u", 5)

const digits = "73915068241795"

func (b badBody) filled() string {
	return strings.NewReplacer("CANARY", keyCanary, "KEY", keySecret, "DIGITS", digits).Replace(b.body)
}

func assertNothingQuoted(t *testing.T, text string) bool {
	t.Helper()
	return assertNoCanary(t, text, keySecret, digits)
}

// badObjects are wrong for every way of writing a whole object or a merge patch.
var badObjects = []badBody{
	{name: "a string for an object", body: `{META,"spec":{"key":"CANARY"}}`, says: "spec.key"},
	{name: "a string for an object deep inside", body: `{META,"spec":{"door":{"lock":"CANARY"}}}`, says: "spec.door.lock"},
	{name: "a list for an object", body: `{META,"spec":{"key":["CANARY"]}}`, says: "spec.key"},
	{name: "a list for a string", body: `{META,"spec":{"key":{"secret":["CANARY"]}}}`, says: keyPath},
	{name: "an object for a string", body: `{META,"spec":{"key":{"secret":{"a":"CANARY"}}}}`, says: keyPath},
	{name: "an object for a string, with a secret key", body: `{META,"spec":{"key":{"secret":{"KEY":1}}}}`, says: keyPath},
	{name: "a number for a string", body: `{META,"spec":{"key":{"secret":DIGITS}}}`, says: keyPath},
	{name: "a fraction for a string", body: `{META,"spec":{"key":{"secret":0.DIGITS}}}`, says: keyPath},
	{name: "a string for a number", body: `{META,"spec":{"count":"CANARY"}}`, says: "spec.count"},
	{name: "a number that is too large", body: `{META,"spec":{"small":DIGITS}}`, says: "spec.small"},
	{name: "a number out of any range", body: `{META,"spec":{"count":DIGITSDIGITS}}`, says: "spec.count"},
	{name: "a fraction for a number", body: `{META,"spec":{"count":0.DIGITS}}`, says: "spec.count"},
	{name: "a string for a boolean", body: `{META,"spec":{"open":"CANARY"}}`, says: "spec.open"},
	{name: "a time", body: `{META,"spec":{"since":"CANARY"}}`},
	{name: "a number for a time", body: `{META,"spec":{"since":DIGITS}}`},
	{name: "a string for a list", body: `{META,"spec":{"owners":"CANARY"}}`, says: "spec.owners"},
	{name: "an object in a list of strings", body: `{META,"spec":{"owners":[{"KEY":"CANARY"}]}}`, says: "spec.owners"},
	{name: "a string for the spec", body: `{META,"spec":"CANARY"}`, says: "spec"},
	{name: "a label that is an object", body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"one","labels":{"a":{"b":"CANARY"}}},"spec":{}}`},
	{name: "a label that is a number", body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"one","labels":{"a":DIGITS}}}`},
	{name: "a creation time", body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"one","creationTimestamp":"CANARY"}}`},
	{name: "metadata of a string", body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":"CANARY"}`},
	{name: "an unknown field", body: `{META,"spec":{"wrong":"CANARY"}}`, says: "spec.wrong", valid: true},
	{name: "an unknown field with a secret for a name", body: `{META,"spec":{"KEY":"CANARY"}}`, valid: true},
	{name: "a field twice", body: `{META,"spec":{"key":{"secret":"CANARY","secret":"x"}}}`, valid: true},
	{name: "unknown, twice and of a wrong type", body: `{META,"spec":{"wrong":"CANARY","label":"CANARY","label":"x","count":"CANARY"}}`, says: "spec."},
}

// badJSON is not JSON at all.
var badJSON = []badBody{
	{name: "no JSON", body: `CANARY`},
	{name: "cut off in a string", body: `{META,"spec":{"key":{"secret":"CANARY`},
	{name: "cut off after a string", body: `{META,"spec":{"key":{"secret":"CANARY"`},
	{name: "a value without quotes", body: `{META,"spec":{"key":{"secret":CANARY}}}`},
	{name: "a key without quotes", body: `{META,"spec":{"key":{CANARY:1}}}`},
	{name: "an unknown escape", body: `{META,"spec":{"key":{"secret":"CANARY\q"}}}`},
	{name: "a bad unicode escape", body: `{META,"spec":{"key":{"secret":"CANARY\uZZZZ"}}}`},
	{name: "a control character", body: "{META,\"spec\":{\"key\":{\"secret\":\"CANARY\x01\"}}}"},
	{name: "something after it", body: `{META,"spec":{}} CANARY`},
	{name: "a string", body: `"CANARY"`},
	{name: "a list", body: `["CANARY"]`},
	{name: "a number", body: `DIGITS`},
}

// badYAML is what the YAML parsers stumble over.
var badYAML = []badBody{
	{name: "an unknown anchor", body: "MANIFEST\nspec:\n  key: *CANARY\n"},
	{name: "an anchor in itself", body: "MANIFEST\nspec: &CANARY\n  key: *CANARY\n"},
	{name: "cut off", body: "MANIFEST\nspec: {key: {secret: CANARY\n"},
	{name: "a quote that is not closed", body: "MANIFEST\nspec:\n  key: {secret: \"CANARY\n"},
	{name: "a tab", body: "MANIFEST\nspec:\n\tkey: CANARY\n"},
	{name: "two values", body: "MANIFEST\nspec: CANARY: CANARY\n"},
	{name: "a bad indent", body: "MANIFEST\nspec:\n   key: CANARY\n  door: CANARY\n"},
	{name: "an object as a key", body: "MANIFEST\nspec:\n  ? {KEY: CANARY}\n  : CANARY\n"},
	{name: "a list as a key", body: "MANIFEST\nspec:\n  ? [CANARY, KEY]\n  : CANARY\n"},
	{name: "a number that is none", body: "MANIFEST\nspec:\n  count: !!int CANARY\n"},
	{name: "binary that is none", body: "MANIFEST\nspec:\n  key: {secret: !!binary \"CANARY!\"}\n"},
	{name: "a time that is none", body: "MANIFEST\nspec:\n  key: {secret: !!timestamp CANARY}\n"},
	{name: "a merge of a string", body: "MANIFEST\nspec:\n  <<: CANARY\n"},
	{name: "a directive", body: "%CANARY 1\n---\nMANIFEST\n"},
	{name: "a string", body: "CANARY\n"},
	{name: "a list", body: "- CANARY\n"},
	{name: "a block", body: "MANIFEST\nspec:\n  key: |CANARY\n    CANARY\n"},
	{name: "a key twice", body: "MANIFEST\nspec:\n  key: {secret: CANARY, secret: x}\n", valid: true},
	{name: "a key twice that is a secret", body: "MANIFEST\nspec:\n  label: {KEY: CANARY, KEY: x}\n"},
	{name: "infinity", body: "MANIFEST\nspec:\n  key: {secret: CANARY}\n  count: .inf\n"},
	{name: "a control character", body: "MANIFEST\nspec:\n  key: {secret: CANARY\x01}\n"},
	{name: "bytes that are no text", body: "MANIFEST\nspec:\n  key: {secret: CANARY\xff\xfe}\n"},
}

var badKinds = []badBody{
	{name: "another kind", body: `{"apiVersion":"vault.test/v1","kind":"Other","metadata":{"name":"one"},"spec":{"key":{"secret":"CANARY"}}}`},
	{name: "a kind that is none", body: `{"apiVersion":"vault.test/v1","kind":"KEY CANARY","spec":{"key":{"secret":"CANARY"}}}`},
	{name: "another version", body: `{"apiVersion":"vault.test/v9","kind":"Vault","metadata":{"name":"one"},"spec":{"key":{"secret":"CANARY"}}}`},
	{name: "a version that is none", body: `{"apiVersion":"vault.test/CANARY","kind":"Vault","spec":{"key":{"secret":"CANARY"}}}`},
	{name: "a group that is none", body: `{"apiVersion":"CANARY/v1","kind":"Vault","spec":{"key":{"secret":"CANARY"}}}`},
	{name: "an apiVersion of too many parts", body: `{"apiVersion":"CANARY/v1/v1","kind":"Vault","spec":{"key":{"secret":"CANARY"}}}`},
	{name: "an apiVersion that is an object", body: `{"apiVersion":{"KEY":"CANARY"},"kind":"Vault","spec":{"key":{"secret":"CANARY"}}}`},
	{name: "a kind that is a list", body: `{"apiVersion":"vault.test/v1","kind":["CANARY"],"spec":{"key":{"secret":"CANARY"}}}`},
}

var badApplies = []badBody{
	{name: "no kind", body: `{"apiVersion":"vault.test/v1","spec":{"key":{"secret":"CANARY"}}}`, says: "kind"},
	{name: "no apiVersion", body: `{"kind":"Vault","spec":{"key":{"secret":"CANARY"}}}`},
	{name: "managedFields", body: `{META,"spec":{"key":{"secret":"CANARY"}},"metadata":{"managedFields":[{"manager":"CANARY"}]}}`},
	{name: "another name", body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"other"},"spec":{"key":{"secret":"CANARY"}}}`, says: "name"},
	{name: "a set with an entry twice", body: `{META,"spec":{"owners":["CANARY","CANARY"]}}`, says: "owners"},
	{name: "a set of objects", body: `{META,"spec":{"owners":[{"a":"CANARY"}]}}`, says: "owners"},
}

var badStrategics = []badBody{
	{name: "an unknown directive", body: `{"spec":{"$patch":"CANARY","key":{"secret":"CANARY"}}}`},
	{name: "a directive of a wrong type", body: `{"spec":{"key":{"$patch":["CANARY"]}}}`},
	{name: "keys to retain", body: `{"spec":{"$retainKeys":"CANARY"}}`},
	{name: "keys to retain, with others", body: `{"spec":{"$retainKeys":["label"],"key":{"secret":"CANARY"}}}`},
	{name: "an order of a wrong type", body: `{"spec":{"$setElementOrder/owners":"CANARY"}}`},
	{name: "an order of what is not there", body: `{"spec":{"$setElementOrder/KEY":["CANARY"]}}`},
	{name: "a deletion from a list", body: `{"spec":{"$deleteFromPrimitiveList/owners":"CANARY"}}`},
}

var badPatches = []badBody{
	{name: "no operations", body: `{"op":"add","path":"/spec/label","value":"CANARY"}`},
	{name: "an unknown operation", body: `[{"op":"CANARY","path":"/spec/label"}]`},
	{name: "no operation", body: `[{"path":"/spec/label","value":"CANARY"}]`},
	{name: "an operation of a wrong type", body: `[{"op":["CANARY"],"path":"/spec/label"}]`},
	{name: "a path of a wrong type", body: `[{"op":"add","path":{"KEY":"CANARY"},"value":1}]`},
	{name: "no path", body: `[{"op":"add","value":"CANARY"}]`},
	{name: "a path without a slash", body: `[{"op":"add","path":"CANARY","value":1}]`},
	{name: "operations of strings", body: `["CANARY"]`},
	{name: "add where there is no parent", body: `[{"op":"add","path":"/spec/KEY/x","value":"CANARY"}]`},
	{name: "add past a list", body: `[{"op":"add","path":"/spec/owners/DIGITS","value":"CANARY"}]`},
	{name: "add at no index", body: `[{"op":"add","path":"/spec/owners/KEY","value":"CANARY"}]`},
	{name: "add below a string", body: `[{"op":"add","path":"/spec/label/x","value":"CANARY"}]`},
	{name: "add of an unknown field", body: `[{"op":"add","path":"/spec/wrong","value":"CANARY"}]`, says: "spec.wrong", valid: true},
	{name: "add of a wrong type", body: `[{"op":"add","path":"/spec/count","value":"CANARY"}]`, says: "spec.count"},
	{name: "add of an object", body: `[{"op":"add","path":"/spec/key/secret","value":{"KEY":"CANARY"}}]`, says: keyPath},
	{name: "remove of what is not there", body: `[{"op":"remove","path":"/spec/KEY"}]`},
	{name: "remove of no index", body: `[{"op":"remove","path":"/spec/owners/KEY"}]`},
	{name: "replace of what is not there", body: `[{"op":"replace","path":"/spec/KEY","value":"CANARY"}]`, valid: true},
	{name: "move of what is not there", body: `[{"op":"move","from":"/spec/KEY","path":"/spec/label"}]`},
	{name: "move to nowhere", body: `[{"op":"move","from":"/spec/label","path":"/spec/KEY/x"}]`},
	{name: "copy of what is not there", body: `[{"op":"copy","from":"/spec/KEY","path":"/spec/label"}]`, fine: true},
	{name: "copy to a wrong type", body: `[{"op":"copy","from":"/spec/label","path":"/spec/count"}]`, says: "spec.count"},
	{name: "copy of an object to a string", body: `[{"op":"copy","from":"/spec/door","path":"/spec/label"}]`, says: "spec.label"},
	{name: "test that fails", body: `[{"op":"test","path":"/spec/label","value":"CANARY"}]`},
	{name: "test of what is not there", body: `[{"op":"test","path":"/spec/KEY","value":"CANARY"}]`},
	{name: "test of an object", body: `[{"op":"test","path":"/spec/door","value":{"KEY":"CANARY"}}]`},
	{name: "a field of an operation twice", body: `[{"op":"add","path":"/spec/key/secret","value":"CANARY","value":"x"}]`, valid: true},
	{name: "an unknown field of an operation", body: `[{"op":"add","path":"/spec/label","value":"x","wrong":"CANARY"}]`, valid: true},
}

// badBodies are the bad bodies of every way to write.
func badBodies() map[string]struct {
	call   call
	bodies []badBody
} {
	type bad = struct {
		call   call
		bodies []badBody
	}
	all := func(lists ...[]badBody) (out []badBody) {
		for _, list := range lists {
			out = append(out, list...)
		}
		return out
	}
	post := call{method: http.MethodPost, contentType: "application/json"}
	put := call{method: http.MethodPut, path: "/one", contentType: "application/json"}
	patch := func(path, kind string) call { return call{method: http.MethodPatch, path: path, contentType: kind} }
	yaml := func(c call) call { c.contentType = "application/yaml"; return c }
	return map[string]bad{
		"create":                    {post, all(badObjects, badJSON, badKinds)},
		"create in YAML":            {yaml(post), all(badObjects, badYAML, badKinds)},
		"update":                    {put, all(badObjects, badJSON, badKinds)},
		"update in YAML":            {yaml(put), all(badObjects, badYAML, badKinds)},
		"update of status":          {call{method: http.MethodPut, path: "/one/status", contentType: "application/json"}, all(badObjects, badJSON, badKinds)},
		"merge patch":               {patch("/one", mergePatch), all(badObjects, badJSON, badKinds)},
		"strategic patch":           {patch("/one", strategicPatch), all(badObjects, badJSON, badKinds, badStrategics)},
		"apply":                     {patch("/one?fieldManager=me&force=true", applyPatch), all(badObjects, badYAML, badKinds, badApplies)},
		"apply that creates":        {patch("/two?fieldManager=me", applyPatch), all(badObjects, badYAML, badKinds, badApplies)},
		"JSON patch":                {patch("/one", jsonPatch), all(badPatches, badJSON)},
		"JSON patch of sensitive":   {patch("/one/sensitive", jsonPatch), all(badPatches, badJSON)},
		"strategic patch of status": {patch("/one/status", strategicPatch), all(badObjects, badJSON, badStrategics)},
		"apply on sensitive":        {patch("/one/sensitive?fieldManager=me&force=true", applyPatch), all(badObjects, badYAML, badApplies)},
	}
}

// send sends a bad body.
func (b badBody) send(t *testing.T, a *api, c call, user, validation string) reply {
	t.Helper()
	object := "one"
	if c.method == http.MethodPost || strings.HasPrefix(c.path, "/two") {
		object = "two"
		if _, _, err := a.store.Delete(requestContext(reader, ""), object, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
			require.True(t, apierrors.IsNotFound(err))
		}
	}
	c.user = user
	c.body = strings.NewReplacer(
		"META", `"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"NAME"}`,
		"MANIFEST", "apiVersion: vault.test/v1\nkind: Vault\nmetadata:\n  name: NAME",
	).Replace(b.filled())
	c.body = strings.ReplaceAll(c.body, "NAME", object)
	if validation != "" {
		separator := "?"
		if strings.Contains(c.path, "?") {
			separator = "&"
		}
		c.path += separator + "fieldValidation=" + validation
	}
	return a.do(t, c)
}

// R10, R15: whatever is wrong with a body, nothing that answers it, warns of it or
// is logged about it, at any verbosity, quotes a piece of it; and the answer says
// that it is the client's fault.
func TestR15NothingQuotesABody(t *testing.T) {
	a := newAPI(t)
	version := a.create(t, "creator", newVault("one")).ResourceVersion
	log := captureLogs(t)
	for name, test := range badBodies() {
		for _, bad := range test.bodies {
			// Warn is what the server does without a wish. What goes wrong does so alike
			// for every caller, but on /sensitive.
			for _, validation := range []string{"", "Ignore", "Strict"} {
				for _, caller := range []string{writer, reader} {
					if caller == reader && (validation != "" || !strings.Contains(test.call.path, "sensitive")) {
						continue
					}
					t.Run(strings.Join([]string{name, bad.name, validation, caller}, "/"), func(t *testing.T) {
						if a.stored(t, "one").ResourceVersion != version {
							a.clear(t)
							version = a.create(t, "creator", newVault("one")).ResourceVersion
						}
						log.take() // what this preparation says is no matter
						got := bad.send(t, a, test.call, caller, validation)
						if caller == writer || got.code >= 300 {
							assertNothingQuoted(t, got.text(t))
						}
						assertNothingQuoted(t, log.take())
						if got.code < 300 {
							// The library cuts a number off that is too large, in some patches.
							lax := test.call.contentType == strategicPatch || test.call.contentType == applyPatch
							require.True(t, bad.fine || bad.valid && validation != "Strict" || lax, got.body)
							return
						}
						assert.Less(t, got.code, 500, "a fault of the client: %s", got.body)
					})
				}
			}
		}
	}
}

// R10: the answer says what is wrong by its path, in every way of writing where
// the library tells it.
func TestR10ErrorsNameThePath(t *testing.T) {
	a := newAPI(t)
	a.create(t, "creator", newVault("one"))
	for name, test := range badBodies() {
		for _, bad := range test.bodies {
			if bad.says == "" {
				continue
			}
			if test.call.contentType == strategicPatch && !bad.valid || test.call.contentType == applyPatch && strings.Contains(bad.name, "fraction for a number") {
				continue // there the library says no path
			}
			t.Run(name+"/"+bad.name, func(t *testing.T) {
				got := bad.send(t, a, test.call, writer, "Strict")
				if test.call.contentType == applyPatch && got.code < 300 {
					return // a number cut off
				}
				require.GreaterOrEqual(t, got.code, 400, got.body)
				assert.Contains(t, got.body, bad.says)
			})
		}
	}
}

// R10: what was rewritten once is kept when it is rewritten again: a decoding
// error of a patch is, by the decoder and by what computes the write.
func TestR10CausesAreKept(t *testing.T) {
	for _, text := range []string{
		`json: cannot unmarshal string into Go struct field VaultSpec.spec.count of type int64`,
		`json: cannot unmarshal string into Go value of type v1.Vault`,
		`unknown field "spec.wrong"`, `strict decoding error: unknown field "a", duplicate field "b"`,
		`.spec.wrong: field not declared in schema`,
		`unrecognized type: string`, `cannot convert float64 to int64`,
		`parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`,
		"error converting YAML to JSON: yaml: line 3: did not find expected node content",
		"yaml: unmarshal errors:\n  line 4: key \"secret\" already set in map",
		`yaml: control characters are not allowed`, `invalid character 'k' looking for beginning of value`,
		`replace operation does not apply: doc is missing path: /spec/x: missing value`,
		`no kind "Other" is registered for version "vault.test/v1"`, `Object 'Kind' is missing in '{}'`,
		`metadata.managedFields must be nil`, `Incorrect version specified in apply patch. Specified patch version: a, expected: b`,
		`nobody knows this`,
	} {
		once := causes(text)
		assert.Equal(t, once, causes(once), "of %s", text)
	}
}

// R15: a secret in the place of a field's name may have dots and slashes in it, as
// tokens do, and quotes; a space that is missing after a colon is enough to put it there.
func TestR15SecretInThePlaceOfAName(t *testing.T) {
	a := newAPI(t)
	a.create(t, "creator", newVault("one"))
	log := captureLogs(t)
	for kind, secret := range map[string]string{
		"separators": "eyJhbGciOi9.kQ7zWvUt3yXa.LmNoPqRsTuVw/Ab7Cd9Ef1Gh",
		"quotes":     `kQ7zWvUt3yXaLmNo"PqRsTuVwAb7Cd9Ef1Gh\"9kQ7zWvUt`,
	} {
		key, err := json.Marshal("secret:" + secret)
		require.NoError(t, err)
		if kind == "quotes" {
			key, err = json.Marshal(secret)
			require.NoError(t, err)
		}
		body := `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"one"},"spec":{"key":{` + string(key) + `:"x"}}}`
		for name, c := range map[string]call{
			"create":          {method: http.MethodPost, contentType: "application/json"},
			"create in YAML":  {method: http.MethodPost, contentType: "application/yaml"},
			"update":          {method: http.MethodPut, path: "/one", contentType: "application/json"},
			"merge patch":     {method: http.MethodPatch, path: "/one", contentType: mergePatch},
			"strategic patch": {method: http.MethodPatch, path: "/one", contentType: strategicPatch},
			"apply":           {method: http.MethodPatch, path: "/one", contentType: applyPatch},
		} {
			for _, validation := range []string{"Strict", "Warn"} {
				t.Run(kind+" "+name+" "+validation, func(t *testing.T) {
					log.take()
					c.user, c.body = writer, body
					c.path = strings.Split(c.path, "?")[0] + "?fieldManager=me&fieldValidation=" + validation
					got := a.do(t, c)
					assertNoCanary(t, got.text(t), secret)
					assertNoCanary(t, log.take(), secret)
				})
			}
		}
	}
}

// A body may hold as many faults as fit into it, which everybody who may write can
// send: what is said of them is bounded, and so is the time that it takes.
func TestManyFaults(t *testing.T) {
	var unknown strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&unknown, "unknown field \"spec.x%d\", ", i)
	}
	assert.Less(t, len(causes(unknown.String())), 32*1024)
	var status apierrors.APIStatus
	require.ErrorAs(t, rewriteError(errors.New(strings.Repeat(".spec.owners: duplicate entries for key [\"x\"]\n", 5000)), vaultKind, "one"), &status)
	assert.NotEmpty(t, status.Status().Details.Causes)
	assert.LessOrEqual(t, len(status.Status().Details.Causes), 100)
}

// R10: what rewriteError makes of an error, by its kind.
func TestR10RewriteError(t *testing.T) {
	invalid := func(path, value, detail string) error {
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath(path), value, detail)})
	}
	quoted := fmt.Sprintf(`{"spec":{"key":{"secret":%q}}}`, keyCanary)
	for name, test := range map[string]struct {
		in   error
		code int32
		says []string
	}{
		"a patch of a wrong type":          {invalid("patch", quoted, `json: cannot unmarshal string into Go struct field VaultSpec.spec.count of type int64`), 422, []string{"spec.count", "string"}},
		"a patch that strict says is bad":  {invalid("patch", quoted, `strict decoding error: unknown field "spec.a", duplicate field "spec.b"`), 422, []string{"spec.a", "spec.b", "unknown", "duplicate"}},
		"a patch with quotes in the quote": {invalid("patch", `"\" : detail`+keyCanary, `unknown field "spec.a"`), 422, []string{"spec.a"}},
		"a patch without detail":           {invalid("patch", quoted, ""), 422, []string{"patch"}},
		"a patch that nobody knows":        {invalid("patch", quoted, "because of "+keyCanary), 422, []string{"patch"}},
		"a bad request":                    {apierrors.NewBadRequest("error decoding patch: invalid character 'k' after " + keyCanary), 400, []string{"JSON"}},
		"an internal error":                {apierrors.NewInternalError(errors.New("boom " + keyCanary)), 500, nil},
		"a typed mismatch":                 {errors.New("errors:\n  .spec.count: expected numeric (int or float), got " + keyCanary + "\n  .spec.key.secret: expected string, got &value.valueUnstructured{Value:" + keyCanary + "}"), 422, []string{"spec.count", keyPath}},
		"an error of no type":              {errors.New(keyCanary), 422, []string{"patch"}},
		"a wrapped one of no type":         {fmt.Errorf("failed: %w", errors.New(keyCanary)), 422, []string{"patch"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rewriteError(test.in, vaultKind, "one")
			var status apierrors.APIStatus
			require.ErrorAs(t, got, &status)
			assert.Equal(t, test.code, status.Status().Code)
			text := fmt.Sprintf("%v %+v", got, status.Status())
			assertNoCanary(t, text)
			for _, s := range test.says {
				assert.Contains(t, text, s)
			}
		})
	}
	// What says nothing of the body passes as it is, with its type and details.
	for name, err := range map[string]error{
		"forbidden":         apierrors.NewForbidden(vaultResource.GroupResource(), "one", errors.New("by policy")),
		"a conflict":        apierrors.NewConflict(vaultResource.GroupResource(), "one", errors.New("changed")),
		"an apply conflict": apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "a"`, Field: ".spec.key.secret"}}, "Apply failed"),
		"not found":         apierrors.NewNotFound(vaultResource.GroupResource(), "one"),
		"too large":         apierrors.NewRequestEntityTooLargeError("limit is 1"),
		"too many":          apierrors.NewTooManyRequests("later", 1),
		"of no detail":      apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", "a message that the library drops", 0, false),
		"cancelled":         context.Canceled,
		"past the time":     fmt.Errorf("waited: %w", context.DeadlineExceeded),
		"another field":     apierrors.NewInvalid(vaultKind, "one", field.ErrorList{field.Required(field.NewPath("spec", "label"), "")}),
		"a gateway":         apierrors.NewTimeoutError("slow", 1),
		"not acceptable":    apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "", schema.GroupResource{}, "", "", 0, false),
	} {
		assert.Equal(t, err, rewriteError(err, vaultKind, "one"), name)
	}
}

// R15: names of fields are told; a path ends where something stands that cannot be
// the name of one.
func TestR15SafePath(t *testing.T) {
	long, name := strings.Repeat("x", maxSegment+1), strings.Repeat("x", maxSegment)
	for in, want := range map[string]string{
		"spec.key.secret":        "spec.key.secret",
		"spec." + long + ".a":    "spec.…",
		long:                     "…",
		name:                     name,
		"spec." + name + ".b":    "spec." + name + ".b",
		"spec.owners[0].a":       "spec.owners[0].a",
		"spec.a[0][12]":          "spec.a[0][12]",
		"spec.owners[" + long:    "spec.…",
		"spec.owners[a=\"b\"].c": "spec.…",
		"/spec/" + long + "/x":   "/spec/…",
		"/spec/owners/0":         "/spec/owners/0",
		"spec.a:b.c":             "spec.…",
		"spec.a b.c":             "spec.…",
		"spec.a\nb":              "spec.…",
		"spec.ä":                 "spec.…",
		"":                       "",
		".":                      ".",
	} {
		assert.Equal(t, want, safePath(in))
	}
}

// R15: what a caller submitted is taken out of every part of an error.
func TestR15ScrubError(t *testing.T) {
	status := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: "got " + keyCanary,
		Details: &metav1.StatusDetails{Name: keyCanary, Kind: "Vault", UID: "uid", Causes: []metav1.StatusCause{{Type: "x", Message: "got " + keyCanary + " twice " + keyCanary, Field: "spec." + keyCanary}}},
	}}
	before := status.ErrStatus.DeepCopy()
	got := scrubError(fmt.Errorf("wrapped: %w", status), []string{keyCanary})
	var scrubbed *apierrors.StatusError
	require.ErrorAs(t, got, &scrubbed)
	assertNoCanary(t, fmt.Sprintf("%v %+v", got, scrubbed.ErrStatus))
	assert.Equal(t, before, &status.ErrStatus, "an error may be shared")
	assert.Equal(t, metav1.StatusReasonInvalid, scrubbed.ErrStatus.Reason)
	assert.EqualValues(t, 422, scrubbed.ErrStatus.Code)
	assert.Equal(t, "Vault", scrubbed.ErrStatus.Details.Kind)

	assert.Same(t, status, scrubError(status, nil), "nothing was submitted")
	assert.NoError(t, scrubError(nil, []string{keyCanary}))
	noDetails := &apierrors.StatusError{ErrStatus: metav1.Status{Message: keyCanary}}
	assertNoCanary(t, scrubError(noDetails, []string{keyCanary}).Error())
}

// FuzzCauses looks for a text of a library that would be said again with a piece
// of a body in it. The secret stands where bodies are quoted: between quotes,
// after what the libraries say, alone.
func FuzzCauses(f *testing.F) {
	for _, text := range []string{
		`json: cannot unmarshal string into Go struct field VaultSpec.spec.count of type int64`,
		`json: cannot unmarshal number % into Go struct field VaultSpec.spec.small of type int32`,
		`invalid character 'k' looking for beginning of value`,
		`couldn't get version/kind; json parse error: invalid character '%'`,
		"error converting YAML to JSON: yaml: line 3: did not find expected node content near %",
		"yaml: unmarshal errors:\n  line 4: cannot decode !!str `%` as a !!int",
		`yaml: unknown anchor '%' referenced`,
		`parsing time "%" as "2006-01-02T15:04:05Z07:00": cannot parse "%" as "2006"`,
		`replace operation does not apply: doc is missing path: /spec/%: missing value`,
		`testing value /spec/label failed: test failed`,
		`.spec.owners: duplicate entries for key ["%"]`,
		`.spec.key.secret: expected string, got &value.valueUnstructured{Value:"%"}`,
		`unrecognized type: string %`, `no kind "%" is registered for version "v1"`, `strict decoding error: unknown field "spec.a"`,
		`json: cannot unmarshal %`, `unrecognized type: %`,
		`must be specified for apply: %`, `%`, `"%"`, `{"spec":{"key":{"secret":"%"}}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ReplaceAll(text, "%", ""), "omitted") || leaked(text, keySecret) != "" {
			t.Skip("holds the secret itself")
		}
		said := causes(strings.ReplaceAll(text, "%", keySecret))
		if piece := leaked(said, keySecret); piece != "" {
			t.Errorf("%q leads to %q, which holds %q", text, said, piece)
		}
		if said == "" {
			t.Errorf("%q leads to nothing", text)
		}
	})
}
