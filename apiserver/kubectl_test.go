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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/harness"
)

// standaloneUsers are those that every standalone server has.
func standaloneUsers() conformance.Users {
	return conformance.Users{Admin: harness.Admin, Operator: harness.Operator, Viewer: harness.Viewer}
}

// Issue 2, item 6: what a person types, with real kubectl.
func TestKubectl(t *testing.T) {
	s := harness.Start(t, harness.WithGateway(t))
	conformance.Kubectl(t, s, standaloneUsers())
	t.Run("Events", func(t *testing.T) { testKubectlEvents(t, s) })
	t.Run("Auth", func(t *testing.T) { testKubectlAuth(t, s) })
}

// Issue 8: what a person types about Clusters and Releases.
func TestKubectlClusters(t *testing.T) {
	s := harness.Start(t, harness.WithClusters())
	conformance.Clusters(t, s, standaloneUsers())
}

// Without a host cluster there is no core group: what would be Events are log
// lines (design, section 3). kubectl says that there are none, or why it cannot
// show any.
func testKubectlEvents(t *testing.T, s *harness.Server) {
	for _, args := range [][]string{{"events"}, {"events", "--for", "clusterpeer.peering.entente.dev/held"}, {"get", "events"}} {
		for user, text := range map[string]string{
			harness.Admin:  `could not find the requested resource|doesn't have a resource type "events"`,
			harness.Viewer: `cannot list resource "events"|doesn't have a resource type "events"`,
		} {
			result := s.Kubectl(t, user, "", args...)
			assert.NotZero(t, result.Code, result.Output())
			assert.Regexp(t, text, result.Stderr)
		}
	}
}

// Standalone mode answers reviews itself, by the local manifests.
func testKubectlAuth(t *testing.T, s *harness.Server) {
	for _, args := range [][]string{{"*", "*"}, {"get", "/metrics"}} {
		assert.Equal(t, "yes", strings.TrimSpace(s.Kubectl(t, harness.Admin, "", append([]string{"auth", "can-i"}, args...)...).Stdout), args)
	}
	for user, group := range map[string]string{harness.Admin: "entente:admins", harness.Operator: "entente:operators", harness.Viewer: "entente:viewers"} {
		output := s.MustKubectl(t, user, "", "auth", "whoami")
		assert.Regexp(t, `Username +`+user+"\n", output)
		assert.Contains(t, output, group)
	}
}
