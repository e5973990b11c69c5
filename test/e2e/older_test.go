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
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// A host that lacks APIs which Entente can do without is recognised: one line for
// each, no error after it, and everything else works.
func TestHostThatLacksAPIs(t *testing.T) {
	cluster := kube.Start(t, kube.WithAPIServerFlags("--enable-priority-and-fairness=false", "--runtime-config=flowcontrol.apiserver.k8s.io/v1=false"))
	entente := install.Start(t, cluster)
	cluster.AddUser(t, operator)
	cluster.Bind(t, operator, "entente-operator")
	cluster.MustKubectl(t, operator, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: one}\nspec: {type: Invite}\n", "create", "-f", "-")
	eventually(t, "the controller runs", func(context.Context) error {
		return contains(cluster.MustKubectl(t, operator, "", "get", "cpeer", "one"), "WaitingForPeer")
	})
	content, err := os.ReadFile(entente.Log)
	require.NoError(t, err)
	assert.Regexp(t, `"The host cluster lacks an API: requests are limited by --max-requests-inflight, not by priority and fairness" lacks="flowcontrol.apiserver.k8s.io/v1"`, string(content))
	assertNoComplaint(t, entente)
	assert.Empty(t, entente.Rights(t).Refused)
}
