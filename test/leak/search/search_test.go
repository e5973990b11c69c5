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

package search_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"

	"entente.dev/entente/test/leak/search"
)

// noise is text in which nothing is.
func noise(n int) []byte {
	out := make([]byte, 0, n+8)
	for len(out) < n {
		out = binary.LittleEndian.AppendUint64(out, rand.Uint64())
	}
	return out[:n]
}

func searchIn(t *testing.T, text []byte, canary search.Canary, allowed ...search.Canary) []search.Finding {
	t.Helper()
	recorder := &search.Recorder{}
	recorder.Add("text", text, allowed...)
	findings, err := recorder.Search(canary)
	require.NoError(t, err)
	return findings
}

// A canary is found at whatever place, however it is written.
func TestSpellings(t *testing.T) {
	canary := search.RandomCanary("canary")
	value := canary.Value()
	marshal := func(of any) string {
		content, err := json.Marshal(of)
		require.NoError(t, err)
		return string(content)
	}
	asYAML, err := yaml.Marshal(map[string]any{"spec": map[string]any{"value": value}})
	require.NoError(t, err)
	asCBOR, err := direct.Marshal(map[string]any{"value": value})
	require.NoError(t, err)
	for how, text := range map[string]string{
		"verbatim":                 value,
		"JSON":                     marshal(map[string]string{"value": value}),
		"a patch in JSON":          marshal(map[string]string{"patch": marshal(map[string]string{"value": value})}),
		"bytes in JSON":            marshal(map[string][]byte{"value": []byte(value)}),
		"an object's bytes, JSON":  marshal(map[string][]byte{"value": []byte(`{"a":` + marshal(value) + `}`)}),
		"YAML":                     string(asYAML),
		"CBOR":                     string(asCBOR),
		"Go":                       fmt.Sprintf("%#v", value),
		"Go, a struct":             fmt.Sprintf("%#v", struct{ Raw []byte }{[]byte(value)}),
		"Go, bytes":                fmt.Sprintf("%v", []byte(value)),
		"Go, hexadecimal":          fmt.Sprintf("%x", value),
		"Go, HEXADECIMAL":          fmt.Sprintf("%X", value),
		"Go, hexadecimal, apart":   fmt.Sprintf("% x", value),
		"a dump":                   hex.Dump([]byte(value)),
		"a query":                  url.Values{"fieldSelector": {"a=" + value}}.Encode(),
		"a path":                   (&url.URL{Path: "/x/" + value}).String(),
		"HTML":                     html.EscapeString(value),
		"base64":                   base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 of more":           base64.StdEncoding.EncodeToString([]byte("x" + value + "y")),
		"base64url of more":        base64.RawURLEncoding.EncodeToString([]byte("xy" + value)),
		"basic authentication":     base64.StdEncoding.EncodeToString([]byte("admin:" + value)),
		"JSON numbers":             strings.Join(strings.Fields(fmt.Sprintf("%d", []byte(value))), ","),
		"escaped to the last byte": escaped(value),
	} {
		t.Run(how, func(t *testing.T) {
			for at := range 16 {
				findings := searchIn(t, append(append(noise(1000+at), text...), noise(300)...), canary)
				require.NotEmpty(t, findings, "at %d", at)
				assert.Equal(t, "canary", findings[0].Canary)
				assert.Equal(t, "text", findings[0].Source)
				assert.InDelta(t, 1000+at, findings[0].Offset, float64(len(text)))
			}
		})
	}
}

func escaped(value string) string {
	var out strings.Builder
	for _, b := range []byte(value) {
		fmt.Fprintf(&out, `\u%04x`, b)
	}
	return out.String()
}

// Twelve bytes are enough, from wherever in the canary, and eleven are not.
func TestPieces(t *testing.T) {
	canary, err := search.NewCanary("canary", "abcdefghijklmnopqrstuvwxyz0123456789")
	require.NoError(t, err)
	value := canary.Value()
	for from := 0; from+search.Piece <= len(value); from++ {
		for at := range 12 {
			before := append(noise(200+at), '#')
			piece := value[from : from+search.Piece]
			findings := searchIn(t, fmt.Appendf(before, "%s# and more", piece), canary)
			require.Len(t, findings, 1, "from %d at %d", from, at)
			assert.Equal(t, search.Piece, findings[0].Length)
			assert.Equal(t, 201+at, findings[0].Offset)
			assert.Empty(t, searchIn(t, fmt.Appendf(before, "%s# and more", piece[1:]), canary), "from %d at %d", from, at)
			assert.Empty(t, searchIn(t, fmt.Appendf(before, "%s#%s", piece[:6], piece[6:]), canary), "from %d at %d", from, at)
		}
	}
	assert.NotEmpty(t, searchIn(t, []byte(value[:search.Piece]), canary), "the text ends with it")
	assert.Empty(t, searchIn(t, nil, canary))
	assert.Empty(t, searchIn(t, []byte("short"), canary))
}

func TestFindings(t *testing.T) {
	one, two := search.RandomCanary("one"), search.RandomCanary("two")
	both := []byte("x " + one.Value() + " y " + two.Value() + " z " + one.Value())
	recorder := &search.Recorder{}
	recorder.Add("a: nobody may", both)
	recorder.Add("b: one may", both, one)
	recorder.Add("c: both may", both, one, two)
	recorder.Add("d: nothing", noise(100000))
	findings, err := recorder.Search(one, two)
	require.NoError(t, err)
	var said []string
	for _, finding := range findings {
		said = append(said, fmt.Sprintf("%s, at %d: %s", finding.Source, finding.Offset, finding.Canary))
		assert.Contains(t, finding.String(), finding.Around)
	}
	n := len(one.Value())
	assert.Equal(t, []string{
		"a: nobody may, at 2: one",
		fmt.Sprintf("a: nobody may, at %d: two", n+5),
		fmt.Sprintf("a: nobody may, at %d: one", n+len(two.Value())+8),
		fmt.Sprintf("b: one may, at %d: two", n+5),
	}, said)
	sizes, err := recorder.Sizes()
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"a": len(both), "b": len(both), "c": len(both), "d": 100000}, sizes)
}

func TestFolder(t *testing.T) {
	canary, err := search.NewCanary("canary", "abcdefghijklmnopqrstuvwxyz0123456789")
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"keys/key", "etcd/db", "etcd/" + canary.Value()[:20], "lock"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, append(noise(5000), canary.Value()...), 0o600))
	}
	recorder := &search.Recorder{}
	require.NoError(t, recorder.AddFolder("store", dir, "keys", "lock"))
	findings, err := recorder.Search(canary)
	require.NoError(t, err)
	var sources []string
	for _, finding := range findings {
		sources = append(sources, finding.Source)
	}
	assert.ElementsMatch(t, []string{"store: a name", "store: etcd/db", "store: etcd/" + canary.Value()[:20]}, sources)

	recorder.AddFile("gone", filepath.Join(dir, "absent"))
	_, err = recorder.Search(canary)
	require.Error(t, err, "what cannot be read was not searched")
	assert.Contains(t, err.Error(), "gone")
	require.Error(t, recorder.AddFolder("gone", filepath.Join(dir, "absent")))
}

func TestCanary(t *testing.T) {
	_, err := search.NewCanary("short", "0123456789")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "0123456789")
	assert.NotEqual(t, search.RandomCanary("a").Value(), search.RandomCanary("a").Value())
	canary, err := search.NewCanary("with a public beginning", "a-public-beginning.abcdefghijklmnopqrstuvwxyz")
	require.NoError(t, err)
	assert.Empty(t, searchIn(t, []byte("a-public-beginning.abcdefghijk!"), canary.BeginsWith("a-public-beginning.")))
	assert.NotEmpty(t, searchIn(t, []byte("a-public-beginning.abcdefghijkl"), canary.BeginsWith("a-public-beginning.")))
	assert.NotEmpty(t, searchIn(t, []byte("a-public-beginning.abcdefghijk!"), canary.BeginsWith("another")))
}

func BenchmarkSearch(b *testing.B) {
	recorder := &search.Recorder{}
	recorder.Add("noise", noise(64<<20))
	var canaries []search.Canary
	for i := range 8 {
		canaries = append(canaries, search.RandomCanary(fmt.Sprint(i)))
	}
	b.SetBytes(64 << 20)
	for b.Loop() {
		findings, err := recorder.Search(canaries...)
		require.NoError(b, err)
		require.Empty(b, findings)
	}
}
