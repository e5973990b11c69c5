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
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

const lastApplied = corev1.LastAppliedConfigAnnotation

// scrub scrubs an annotation, and returns it and what the caller is warned of.
// The map that it was in stays as it is: it may be that of the stored object.
func scrub(t *testing.T, obj *Vault, key, value string) (scrubbed string, there bool, warned []string) {
	t.Helper()
	annotations := map[string]string{key: value, "other": "as it is"}
	obj.Annotations = annotations
	ctx, w := recordWarnings(t.Context())
	scrubAnnotations(ctx, obj, submittedValues(obj))
	assert.Equal(t, map[string]string{key: value, "other": "as it is"}, annotations, "R14: the map of the stored object")
	assert.Equal(t, "as it is", obj.Annotations["other"])
	scrubbed, there = obj.Annotations[key]
	return scrubbed, there, w.all()
}

// R14: what client-side apply keeps of a manifest has the placeholder at every
// sensitive path; all else in it is what it was.
func TestR14LastApplied(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"every value": {
			`{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"count":3,"key":{"secret":"SECRET","hint":"h"},"door":{"lock":{"code":"SECRET"}}},"status":{"note":{"token":"SECRET"}}}`,
			`{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"count":3,"key":{"secret":"<omitted>","hint":"h"},"door":{"lock":{"code":"<omitted>"}}},"status":{"note":{"token":"<omitted>"}}}`,
		},
		"the placeholder":       {`{"spec":{"key":{"secret":"<omitted>"}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"an escaped key":        {`{"sp\u0065c":{"key":{"\u0073ecret":"SECRET"}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"a number":              {`{"spec":{"key":{"secret":123456789012}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"a fraction":            {`{"spec":{"key":{"secret":1.5e3}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"a boolean":             {`{"spec":{"key":{"secret":true}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"false":                 {`{"spec":{"key":{"secret":false}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"an object":             {`{"spec":{"key":{"secret":{"a":"SECRET"}}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"a list":                {`{"spec":{"key":{"secret":["SECRET"]}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"an empty list":         {`{"spec":{"key":{"secret":[]}}}`, `{"spec":{"key":{"secret":"<omitted>"}}}`},
		"no value":              {`{"spec":{"key":{"secret":""}}}`, `{"spec":{"key":{"secret":""}}}`},
		"null":                  {`{"spec":{"key":{"secret":null}}}`, `{"spec":{"key":{"secret":null}}}`},
		"null on the way":       {`{"spec":{"key":null,"door":null},"status":null}`, `{"spec":{"key":null,"door":null},"status":null}`},
		"a string on the way":   {`{"spec":{"key":"SECRET"}}`, `{"spec":{"key":"<omitted>"}}`},
		"a list on the way":     {`{"spec":{"key":[{"secret":"SECRET"}]}}`, `{"spec":{"key":"<omitted>"}}`},
		"a list at the start":   {`{"spec":["SECRET"]}`, `{"spec":"<omitted>"}`},
		"a string at the start": {`{"spec":"SECRET","status":"SECRET"}`, `{"spec":"<omitted>","status":"<omitted>"}`},
		"a number on the way":   {`{"spec":{"door":{"lock":42}}}`, `{"spec":{"door":{"lock":"<omitted>"}}}`},
		"nothing":               {`{}`, `{}`},
		"no field of ours":      {`{"data":{"secret":"x"},"key":{"secret":"y"}}`, `{"data":{"secret":"x"},"key":{"secret":"y"}}`},
		"a trailing newline":    {`{"spec":{"key":{"secret":"SECRET"}}}` + "\n", `{"spec":{"key":{"secret":"<omitted>"}}}` + "\n"},
		"white space":           {" {\n\t\"spec\" : { \"key\" : { \"secret\" : \"SECRET\" } } }\n", `{"spec":{"key":{"secret":"<omitted>"}}}` + "\n"},
		// JSON keys have a case, for the server's decoder as for this one.
		"another case": {`{"Spec":{"key":{"secret":"x"}}}`, `{"Spec":{"key":{"secret":"x"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			in := strings.ReplaceAll(test.in, "SECRET", keyCanary)
			got, there, warned := scrub(t, &Vault{}, lastApplied, in)
			require.True(t, there)
			assert.JSONEq(t, test.want, got)
			assert.Equal(t, strings.HasSuffix(in, "\n"), strings.HasSuffix(got, "\n"))
			assert.Empty(t, warned)
			assertNoCanary(t, got)
			if unescaped(got) == in {
				assert.Equal(t, in, got, "what need not change does not")
			}
			// Again, as at the next apply: nothing changes any more.
			again, _, _ := scrub(t, &Vault{}, lastApplied, got)
			assert.Equal(t, got, again)
		})
	}
}

// R14: what does not parse as a manifest, and could hide a value from a parser
// that reads it otherwise, is dropped, with a warning that quotes nothing.
func TestR14LastAppliedThatDoesNotParse(t *testing.T) {
	for name, in := range map[string]string{
		"empty":                         ``,
		"null":                          `null`,
		"a string":                      `"SECRET"`,
		"a list":                        `[{"spec":{"key":{"secret":"SECRET"}}}]`,
		"a number":                      `12345678`,
		"not JSON":                      `secret: SECRET`,
		"cut off":                       `{"spec":{"key":{"secret":"SECRET`,
		"two documents":                 `{"spec":{"key":{"secret":"<omitted>"}}}{"spec":{"key":{"secret":"SECRET"}}}`,
		"two documents, by lines":       `{}` + "\n" + `{"spec":{"key":{"secret":"SECRET"}}}`,
		"something after it":            `{} SECRET`,
		"something before it":           "\ufeff" + `{"spec":{"key":{"secret":"SECRET"}}}`,
		"a comment":                     `{/* SECRET */}`,
		"a key twice":                   `{"spec":{"key":{"secret":"SECRET","secret":"<omitted>"}}}`,
		"a key twice, empty then":       `{"spec":{"key":{"secret":"SECRET","secret":""}}}`,
		"a parent twice":                `{"spec":{"key":{"secret":"SECRET"}},"spec":{}}`,
		"a parent twice, null then":     `{"spec":{"key":{"secret":"SECRET"},"key":null}}`,
		"a key twice, escaped once":     `{"spec":{"key":{"s\u0065cret":"SECRET","secret":"<omitted>"}}}`,
		"a key twice, elsewhere":        `{"metadata":{"a":"SECRET","a":""}}`,
		"a key twice, within a list":    `{"a":[{"b":"SECRET","b":1}]}`,
		"a number that is out of range": `{"a":1e999,"spec":{"key":{"secret":"SECRET"}}}`,
		"too deep":                      strings.Repeat(`{"spec":`, 20000) + `"SECRET"` + strings.Repeat(`}`, 20000),
	} {
		t.Run(name, func(t *testing.T) {
			in = strings.ReplaceAll(in, "SECRET", keyCanary)
			got, there, warned := scrub(t, &Vault{}, lastApplied, in)
			assert.False(t, there, got)
			require.Len(t, warned, 1)
			assert.Contains(t, warned[0], lastApplied)
			assertNoCanary(t, warned[0])
		})
	}
}

// spellings are the ways to write a text in a JSON string.
func spellings(t *testing.T, text string) map[string]string {
	t.Helper()
	marshalled, err := json.Marshal(text)
	require.NoError(t, err)
	var plain bytes.Buffer
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(text))
	var ascii strings.Builder // as encoders of other languages do
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			ascii.WriteString(`\` + string(r))
		case r == '\n':
			ascii.WriteString(`\n`)
		case r == '\t':
			ascii.WriteString(`\t`)
		case r > 0x7e:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			ascii.WriteRune(r)
		}
	}
	quoted := func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`) }
	return map[string]string{
		"verbatim":                      text,
		"in JSON of Go":                 quoted(string(marshalled)),
		"in JSON without HTML escaping": quoted(strings.TrimSuffix(plain.String(), "\n")),
		"in JSON of ASCII":              ascii.String(),
	}
}

// R14: a sensitive value that was submitted is replaced wherever an annotation
// repeats it, as it is or as it stands in a JSON string.
func TestR14OtherAnnotations(t *testing.T) {
	for name, secret := range map[string]string{
		"a word":         keyCanary,
		"quotes":         `aa"7Kx2"Lq9Zp"bb`,
		"a leading one":  `"7Kx2Lq9ZpWv4`,
		"a trailing one": `7Kx2Lq9ZpWv4"`,
		"a backslash":    `7Kx2\Lq9Zp\Wv4`,
		"HTML":           `7Kx2<Lq9Zp>&Wv4`,
		"unicode":        "7Kx2Lq9Zpäöü✓Wv4",
		"line ends":      "7Kx2Lq9Zp\nWv4\tabc",
		"quotes in HTML": `7Kx2<"Lq9Zp">&Wv4`,
		"all of it":      "7Kx2\"<Lq9Zp>&\nWv4✓\\",
		"a pattern":      `7Kx2.*$1[a]Lq9Zp`,
	} {
		for spelling, text := range spellings(t, secret) {
			t.Run(name+" "+spelling, func(t *testing.T) {
				got, there, warned := scrub(t, &Vault{Spec: VaultSpec{Key: &VaultKey{Secret: secret}}}, "tool", `{"copy":"`+text+`","again":["x`+text+`y"]}`)
				require.True(t, there)
				assert.Equal(t, `{"copy":"<omitted>","again":["x<omitted>y"]}`, got)
				assert.Empty(t, warned)
			})
		}
	}
}

// R14: several values are found beside each other, the longest first, so that
// nothing is left of one that begins like another.
func TestR14SeveralValues(t *testing.T) {
	v := newVault("one")
	v.Spec.Key.Secret, v.Spec.Door.Lock.Code, v.Status.Note.Token = "7Kx2Lq9ZpWv4", "7Kx2Lq9ZpWv4-and-the-rest-4Wj", "Lq9ZpWv4"
	got, _, _ := scrub(t, v, "tool", "7Kx2Lq9ZpWv4-and-the-rest-4Wj 7Kx2Lq9ZpWv4 Lq9ZpWv4")
	assert.Equal(t, "<omitted> <omitted> <omitted>", got)
}

// R14: nothing but what was submitted is looked for: neither the placeholder nor
// what is not set; and nothing else is touched.
func TestR14WhatIsNotLookedFor(t *testing.T) {
	for name, v := range map[string]*Vault{"nothing was submitted": {}, "the placeholder was": redactedVault("one")} {
		t.Run(name, func(t *testing.T) {
			text := "the value is " + keyCanary + " or <omitted>"
			got, _, warned := scrub(t, v, "tool", text)
			assert.Equal(t, text, got)
			assert.Empty(t, warned)
		})
	}
	v := newVault("one")
	scrubAnnotations(t.Context(), v, submittedValues(v))
	assert.Nil(t, v.Annotations, "none are made")
	assert.Equal(t, newVault("one"), v)
}

// R14: last-applied is scrubbed of submitted values in other places as well.
func TestR14LastAppliedElsewhere(t *testing.T) {
	got, there, _ := scrub(t, newVault("one"), lastApplied, `{"metadata":{"annotations":{"a":"`+keyCanary+`"}},"spec":{"key":{"secret":"an older value"},"label":"`+codeCanary+`"}}`)
	require.True(t, there)
	assert.JSONEq(t, `{"metadata":{"annotations":{"a":"<omitted>"}},"spec":{"key":{"secret":"<omitted>"},"label":"<omitted>"}}`, got)
}

// Scrubbing takes time in proportion to the object: it comes before validation
// limits what annotations hold, and everybody who may write can send many.
func TestScrubbingManyAnnotations(t *testing.T) {
	allocated := func(annotations int) uint64 {
		v := &Vault{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}, Spec: VaultSpec{Key: &VaultKey{Secret: "s3cret"}}}
		for i := range annotations {
			v.Annotations[fmt.Sprint(i)] = "s3cret"
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		scrubAnnotations(t.Context(), v, submittedValues(v))
		runtime.ReadMemStats(&after)
		require.Len(t, v.Annotations, annotations)
		for _, value := range v.Annotations {
			require.Equal(t, Placeholder, value)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(10) // once, for what is made once
	few, many := allocated(500), allocated(5000)
	assert.Less(t, many, 40*few, "bytes allocated for 10 times as many annotations, %d and %d", few, many)
}

// FuzzScrubManifest looks for a manifest that is let pass and in which the server's
// decoder, or one that reads it otherwise, finds a value at a sensitive path.
func FuzzScrubManifest(f *testing.F) {
	for _, manifest := range []string{
		`{"spec":{"key":{"secret":"x"},"door":{"lock":{"code":"y"}}},"status":{"note":{"token":"z"}}}`,
		`{"spec":{"key":{"secret":"x","secret":"<omitted>"}}}`, `{"spec":{"key":{"s\u0065cret":"x"}}}`, `{"sp\u0065c":{"key":{"secret":"x"}},"spec":{}}`,
		`{"spec":{"key":[{"secret":"x"}]}}`, `{"spec":null,"status":{"note":"z"}}`, `{"spec":{"key":{"secret":1e400}}}`, `{}{"spec":{"key":{"secret":"x"}}}`,
		"\ufeff{}", `{"spec":{"key":{"secret":"\ud800"}}}`, "{\"spec\xff\":{\"key\":{\"secret\":\"x\"}}}", `{"spec":{"key":{"secret":{"a":["x"]}}}} `,
	} {
		f.Add(manifest)
	}
	f.Fuzz(func(t *testing.T, manifest string) {
		clean, ok := scrubManifest(&Vault{}, manifest)
		if !ok {
			return
		}
		for name, decode := range map[string]func([]byte, any) error{"the server's": kjson.UnmarshalCaseSensitivePreserveInts, "another": json.Unmarshal} {
			var root map[string]any
			if err := decode([]byte(clean), &root); err != nil {
				t.Fatalf("%s decoder: %v in %q of %q", name, err, clean, manifest)
			}
			for _, path := range Fields(&Vault{}) {
				var at any = root
				for _, segment := range strings.Split(path, ".") {
					node, _ := at.(map[string]any)
					if at != nil && node == nil && at != "" && at != Placeholder {
						t.Fatalf("%s decoder finds %v on the way to %s in %q of %q", name, at, path, clean, manifest)
					}
					at = node[segment]
				}
				if at != nil && at != "" && at != Placeholder {
					t.Fatalf("%s decoder finds %v at %s in %q of %q", name, at, path, clean, manifest)
				}
			}
		}
		if again, ok := scrubManifest(&Vault{}, clean); !ok || again != clean {
			t.Fatalf("%q becomes %q, and that %q", manifest, clean, again)
		}
	})
}
