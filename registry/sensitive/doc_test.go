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
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who adopts the kernel finds every part of it in the documentation of the package.
func TestDocNamesEveryPart(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	constructor := regexp.MustCompile(`(?m)^func (New\w+)\(`)
	found := 0
	for _, file := range files {
		if file == "doc.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		listed := regexp.MustCompile(`(?m)^//   - .*\b` + regexp.QuoteMeta(file) + `\b.*: `)
		assert.True(t, listed.Match(doc), "%s is not in the list of files", file)
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range constructor.FindAllStringSubmatch(string(content), -1) {
			assert.True(t, strings.Contains(string(doc), "["+match[1]+"]"), "%s is not named", match[1])
			found++
		}
	}
	assert.Greater(t, found, 5)
}
