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

package target

import (
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func bits(count uint) *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), count), big.NewInt(1))
}

// C2: what would grow, or take for ever, does neither.
func TestC2Bombs(t *testing.T) {
	laughs := "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for _, i := range "123456789" {
		laughs += strings.NewReplacer("N", string(i), "M", string(i-1)).Replace("aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n")
	}
	most := maxMarks - 64
	for name, text := range map[string]string{
		"billion laughs":     laughs,
		"long string, often": "a: &a " + strings.Repeat("a", 500_000) + "\nb: [" + strings.Repeat("*a,", most/3) + "]",
		"merges":             "a: &a {b: c}\nd: {" + strings.Repeat("<<: *a,", most/5) + "}",
		"open brackets":      strings.Repeat("[", most),
		"open braces":        strings.Repeat("{", most),
		"open keys":          strings.Repeat("{a: ", most/3),
		"nested lists":       strings.Repeat("- ", most),
		"nested keys":        strings.Repeat("? ", most),
		"lists":              strings.Repeat("- \n", most/2),
		"keys":               strings.Repeat("a:\n", most/2),
		"indentation":        indented(1000),
		"comments":           strings.Repeat("#\n", most/2) + "a: b",
		"comments of items":  strings.Repeat("- #\n", most/3),
		"quotes":             strings.Repeat(`""`, most/2),
		"escapes":            `"` + strings.Repeat(`\n`, most/2) + `"`,
		"tags":               strings.Repeat("!a ", most/2),
		"anchors":            strings.Repeat("&a ", most/2),
		"anchored":           "a: [" + strings.Repeat("&a b,", most/3) + "]",
		"documents":          strings.Repeat("---\n", most/4),
		"directives":         strings.Repeat("%TAG ! a\n", most/5),
		"one word":           strings.Repeat("a", maxKubeconfig),
		"many words":         strings.Repeat("a ", maxKubeconfig/2),
		"white space":        "a: b" + strings.Repeat(" ", maxKubeconfig-10),
		"folded":             "a: >\n" + strings.Repeat(" a\n", most/2),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			started := time.Now()
			_, err := ParseKubeconfig([]byte(text), Allowances{})
			took := time.Since(started)
			runtime.ReadMemStats(&after)
			var fault *Fault
			require.ErrorAs(t, err, &fault)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
			// Generous: what is to be seen is minutes.
			assert.Less(t, took, 30*time.Second)
			t.Log(took, (after.TotalAlloc-before.TotalAlloc)>>20, "MiB", fault)
		})
	}
}

// indented is as deep as it has lines.
func indented(lines int) string {
	var text strings.Builder
	for i := range lines {
		text.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return text.String()
}
