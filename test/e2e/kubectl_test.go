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

package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"entente.dev/entente/test/kube"
)

// available is docs/install.md: what one types after the installation.
func (s *suite) available(t *testing.T) {
	s.MustKubectl(t, kube.Admin, "", "wait", "apiservice/"+apiService, "--for=condition=Available", "--timeout=2m")
	for _, user := range []string{keeper, operator, viewer} {
		assert.Empty(t, s.MustKubectl(t, user, "", "get", "cpeer"))
		assert.Contains(t, s.MustKubectl(t, user, "", "explain", "cpeer.spec.join"), "connectionString")
		assert.Regexp(t, `(?m)^clusterpeers +cpeer +peering\.entente\.dev/v1alpha1 +false +ClusterPeer$`, s.MustKubectl(t, user, "", "api-resources"))
	}
	// Without a right there is nothing, not even the knowledge of what is there.
	const stranger = "stranger"
	s.Cluster.AddUser(t, stranger)
	s.refused(t, `User "stranger" cannot list resource "clusterpeers"`, stranger, "get", "cpeer")

	s.MustKubectl(t, operator, "", "apply", "-f", "../../artifacts/examples")
	assert.Contains(t, s.MustKubectl(t, viewer, "", "wait", "cpeer/west", "--for=jsonpath={.status.phase}=Pending", "--timeout=1m"), "condition met")
	assert.Contains(t, s.MustKubectl(t, viewer, "", "get", "cpeer", "east"), "WaitingForConnectionString")
	s.MustKubectl(t, operator, "", "delete", "-f", "../../artifacts/examples")
}
