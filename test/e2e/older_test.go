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
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// A host that lacks APIs which Entente can do without is recognised: one line for
// each, no error after it, and everything else works, admission among it.
func TestHostThatLacksAPIs(t *testing.T) {
	cluster := kube.Start(t, kube.WithFeatureGate("MutatingAdmissionPolicy", false), kube.WithAPIServerFlags(
		"--enable-priority-and-fairness=false",
		"--runtime-config=flowcontrol.apiserver.k8s.io/v1=false,"+
			"admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false,admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings=false"))
	entente := install.Start(t, cluster)
	entente.WaitReady(t)
	cluster.AddUser(t, operator)
	cluster.Bind(t, operator, "entente-operator")
	cluster.MustKubectl(t, operator, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: one}\nspec: {type: Invite}\n", "create", "-f", "-")
	eventually(t, "the controller runs", func(context.Context) error {
		return contains(cluster.MustKubectl(t, operator, "", "get", "cpeer", "one"), "WaitingForPeer")
	})
	// The policies that the host does have count.
	cluster.MustKubectl(t, kube.Admin, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: unlabelled}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [peering.entente.dev], apiVersions: ["*"], operations: [UPDATE], resources: [clusterpeers]}]
  validations: [{expression: "!has(object.metadata.labels) || !('unwanted' in object.metadata.labels)", message: no such label}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: unlabelled}
spec: {policyName: unlabelled, validationActions: [Deny]}
`, "create", "-f", "-")
	eventually(t, "a policy of the host refuses", func(context.Context) error {
		result := cluster.Kubectl(t, operator, "", "label", "--dry-run=server", "cpeer", "one", "unwanted=yes")
		if result.Code == 0 {
			return errors.New("it does not")
		}
		return contains(result.Stderr, "no such label")
	})
	cluster.MustKubectl(t, operator, "", "label", "cpeer", "one", "wanted=yes")
	cluster.MustKubectl(t, operator, "", "delete", "cpeer", "one")

	content, err := os.ReadFile(entente.Log)
	require.NoError(t, err)
	log := string(content)
	assert.Regexp(t, `"The host cluster lacks an API: requests are limited by --max-requests-inflight, not by priority and fairness" lacks="flowcontrol.apiserver.k8s.io/v1"`, log)
	assert.Regexp(t, `"The host cluster lacks an API: an admission plugin is left out" plugin="MutatingAdmissionPolicy" lacks=\["mutatingadmissionpolicies","mutatingadmissionpolicybindings"\]`, log)
	for _, lacks := range []string{"flowcontrol.apiserver.k8s.io", "mutatingadmissionpolic"} {
		lines := 0
		for line := range strings.Lines(log) {
			if strings.Contains(strings.ToLower(line), lacks) {
				lines++
			}
		}
		assert.Equal(t, 1, lines, "lines about %s in the log of Entente", lacks)
	}
	assertNoComplaint(t, entente)
	assert.Empty(t, entente.Rights(t).Refused)
}
