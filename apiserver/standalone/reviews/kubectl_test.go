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

package reviews_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/harness"
)

// The commands that people type, on a whole server with the default rights.
func TestKubectlAuth(t *testing.T) {
	s := harness.Start(t)
	for _, tc := range []struct {
		user string
		args []string
		may  bool
	}{
		{harness.Viewer, []string{"get", "clusterpeers"}, true},
		{harness.Viewer, []string{"get", "clusterpeers", "--subresource=status"}, true},
		{harness.Viewer, []string{"get", "clusterpeers", "--subresource=sensitive"}, false},
		{harness.Viewer, []string{"create", "clusterpeers"}, false},
		{harness.Viewer, []string{"get", "/apis"}, true},
		{harness.Viewer, []string{"get", "/metrics"}, false},
		{harness.Operator, []string{"delete", "clusterpeers/east"}, true},
		{harness.Operator, []string{"get", "clusterpeers/east", "--subresource=sensitive"}, false},
		{harness.Admin, []string{"get", "clusterpeers", "--subresource=sensitive"}, true},
		{harness.Admin, []string{"*", "*"}, true},
	} {
		result := s.Kubectl(t, tc.user, "", append([]string{"auth", "can-i"}, tc.args...)...)
		if tc.may {
			assert.Equal(t, "yes\n", result.Stdout, "%s: %v", tc.user, tc.args)
			assert.Zero(t, result.Code, "%s: %v: %s", tc.user, tc.args, result.Output())
			continue
		}
		assert.Equal(t, "no\n", result.Stdout, "%s: %v", tc.user, tc.args)
		assert.Equal(t, 1, result.Code, "%s: %v: %s", tc.user, tc.args, result.Output())
	}

	list := s.MustKubectl(t, harness.Viewer, "", "auth", "can-i", "--list")
	assert.Regexp(t, `(?m)^clusterpeers\.peering\.entente\.dev +\[\] +\[\] +\[get list watch\]$`, list)
	assert.NotContains(t, list, "sensitive")

	who := s.MustKubectl(t, harness.Viewer, "", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
	require.Equal(t, `viewer ["entente:viewers","system:authenticated"]`, who)
}
