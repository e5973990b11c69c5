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
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kernel, its example and their tests need nothing of this module but the kernel,
// so that another server can take it.
func TestDependsOnNothingOfOurs(t *testing.T) {
	list := func(args ...string) []string {
		output, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
		require.NoError(t, err)
		return strings.Fields(string(output))
	}
	module := list("-m")[0]
	own := module + "/registry/sensitive"
	packages := list("-deps", "-test", "-f", "{{.ImportPath}}", "./...")
	require.Contains(t, packages, own)
	require.Contains(t, packages, own+"/example")
	for _, path := range packages {
		// Between brackets and before .test stand packages of the test itself.
		if path = strings.Trim(path, "[]"); path == module || strings.HasPrefix(path, module+"/") {
			assert.True(t, path == own || strings.HasPrefix(path, own+"/") || strings.HasPrefix(path, own+"."), "the kernel depends on %s", path)
		}
	}
}
