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

package search

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Piece is how much of a canary may not be seen anywhere, in bytes of the text that
// was searched. Where a spelling takes more than two bytes for one of the canary's, it
// is as much as six of those take.
const Piece = 12

// minLength is the length in bytes that a canary has at the least; a shorter one could
// be met by accident.
const minLength = 24

// Canary is a value that is looked for.
type Canary struct {
	name  string
	value string
	// public is how much of the beginning of value anybody may know, in bytes.
	public int
}

// NewCanary makes a canary of a value; name says in findings which one it is.
func NewCanary(name, value string) (Canary, error) {
	if len(value) < minLength {
		return Canary{}, fmt.Errorf("could not look for %s: it has less than %d bytes", name, minLength)
	}
	return Canary{name: name, value: value}, nil
}

// RandomCanary makes a canary that nothing else looks like. It holds characters that
// encoders treat in special ways, and long stretches without any.
func RandomCanary(name string) Canary {
	letters := rand.Text() + rand.Text()
	var value strings.Builder
	value.WriteString(letters[:16])
	letters = letters[16:]
	for _, special := range `"\<&/+%'~ü` {
		value.WriteRune(special)
		value.WriteString(letters[:2])
		letters = letters[2:]
	}
	value.WriteString(letters)
	return Canary{name: name, value: value.String()}
}

// BeginsWith is the canary with a beginning that many values have in common, and that
// is not looked for.
func (c Canary) BeginsWith(public string) Canary {
	if strings.HasPrefix(c.value, public) {
		c.public = len(public)
	}
	return c
}

// Name says which canary it is.
func (c Canary) Name() string { return c.name }

// Value is what is looked for, with its beginning.
func (c Canary) Value() string { return c.value }

// spelling is one way to write a canary.
type spelling struct {
	canary Canary
	how    string
	text   string
	// least is how many bytes of text must be met in a row.
	least int
}

// spellings are all ways to write a canary that are looked for.
func (c Canary) spellings() []spelling {
	var all []spelling
	value := c.value[c.public:]
	known := map[string]bool{}
	add := func(how, text string) {
		if known[text] {
			return
		}
		known[text] = true
		least := max(Piece, 6*len(text)/len(value))
		all = append(all, spelling{canary: c, how: how, text: text, least: least})
	}
	// What is met first names the finding.
	add("verbatim", value)
	if utf8.ValidString(value) { // JSON has no way to write what is no text
		for _, html := range []bool{false, true} {
			once := jsonText(value, html)
			add("JSON", once)
			add("JSON in JSON", jsonText(once, html))
		}
	}
	quoted := fmt.Sprintf("%q", value)
	add("Go", quoted[1:len(quoted)-1])
	quoted = fmt.Sprintf("%+q", value)
	add("Go, ASCII", quoted[1:len(quoted)-1])
	add("URL query", url.QueryEscape(value))
	add("URL path", url.PathEscape(value))
	add("HTML", html.EscapeString(value))
	digits := hex.EncodeToString([]byte(value))
	add("hex", digits)
	add("HEX", strings.ToUpper(digits))
	for _, each := range []struct{ how, format, between string }{
		{"URL, all escaped", "%%%02X", ""},
		{"url, all escaped", "%%%02x", ""},
		{"JSON, all escaped", `\u%04x`, ""},
		{"hex escapes", `\x%02x`, ""},
		{"hex dump", "%02x", " "},
		{"numbers", "%d", " "},
		{"JSON numbers", "%d", ","},
		{"Go bytes", "0x%x", ", "},
	} {
		var parts []string
		for i := range len(value) {
			parts = append(parts, fmt.Sprintf(each.format, value[i]))
		}
		add(each.how, strings.Join(parts, each.between))
	}
	// Base64 writes three bytes in four characters: there are three ways that it can
	// look, by what goes before. Characters that also depend on the neighbours are cut off.
	for skipped := range 3 {
		whole := value[skipped:]
		whole = whole[:len(whole)/3*3]
		add("base64", base64.StdEncoding.EncodeToString([]byte(whole)))
		add("base64url", base64.URLEncoding.EncodeToString([]byte(whole)))
	}
	return all
}

// jsonText is a value as it stands between the quotes of a JSON string.
func jsonText(value string, html bool) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(value); err != nil {
		return value
	}
	return strings.Trim(strings.TrimSpace(out.String()), `"`)
}
