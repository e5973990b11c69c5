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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/process"
)

// R1: the command in docs/threat-model.md lists who can reveal values, and nobody else:
// it agrees with what kube-apiserver says of the same people.
func (s *suite) revealers(t *testing.T) {
	const asks = "reveal-lists"
	s.AddUser(t, asks, rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles", "clusterrolebindings"}, Verbs: []string{"list"}})
	held := map[string]rbacv1.PolicyRule{
		"reveal-one":                conformance.Rule([]string{"get"}, []string{"clusterpeers/sensitive"}, "east"),
		"reveal-watches":            conformance.Rule([]string{"patch", "watch"}, []string{"clusterpeers", "clusterpeers/sensitive"}),
		"reveal-every-resource":     conformance.Rule([]string{"list"}, []string{"*"}),
		"reveal-every-group":        {APIGroups: []string{"apps", "*"}, Resources: []string{"pods", "*"}, Verbs: []string{"get"}},
		"reveal-every-verb":         conformance.Rule([]string{"*"}, []string{"*/sensitive"}),
		"reveal-not-writes":         conformance.Rule([]string{"update", "patch"}, []string{"clusterpeers/sensitive"}),
		"reveal-not-main":           conformance.Rule([]string{"*"}, []string{"clusterpeers", "clusterpeers/status"}),
		"reveal-not-other-group":    {APIGroups: []string{"", "apps"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		"reveal-not-other-resource": conformance.Rule([]string{"get"}, []string{"projectpeers/sensitive", "*/status"}),
	}
	for user, rule := range held {
		s.AddUser(t, user, rule)
	}
	// What a namespace gives is nothing on what is in none.
	s.Cluster.AddUser(t, "reveal-not-in-namespace")
	s.BindIn(t, "default", "reveal-not-in-namespace", "entente-sensitive-reader")
	held["reveal-not-in-namespace"] = rbacv1.PolicyRule{}

	cmd := exec.CommandContext(t.Context(), "sh", "-c", documented(t, "threat-model.md", "sh", "go-template"))
	kubectl := s.KubectlCommand(t.Context(), t, asks)
	cmd.Env = kubectl.Env
	cmd.Env = append(cmd.Env, "KUBECONFIG="+s.Kubeconfig(asks), "HOME="+t.TempDir(),
		"PATH="+filepath.Dir(kubectl.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	result, err := process.Run(cmd)
	require.NoError(t, err)
	require.Empty(t, result.Stderr)
	listed := map[string]bool{}
	for line := range strings.Lines(result.Stdout) {
		_, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		listed[subject] = true
	}

	for user := range held {
		client := s.Clientset(t, user).AuthorizationV1().SelfSubjectAccessReviews()
		may := false
		for _, verb := range []string{"get", "list", "watch"} {
			review, err := client.Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: peeringv1alpha1.SchemeGroupVersion.Group, Resource: "clusterpeers", Subresource: "sensitive", Verb: verb, Name: "east"},
			}}, metav1.CreateOptions{})
			require.NoError(t, err)
			may = may || review.Status.Allowed
		}
		assert.Equal(t, !strings.HasPrefix(user, "reveal-not-"), may, "kube-apiserver, of %s", user)
		assert.Equal(t, may, listed["User "+user], "the command, of %s", user)
	}
	for _, line := range []string{
		"entente-sensitive-reader: User " + keeper,
		"cluster-admin: Group system:masters",
		"system:controller:generic-garbage-collector: ServiceAccount kube-system/generic-garbage-collector",
	} {
		assert.Contains(t, result.Stdout, line+"\n")
	}
	assert.NotContains(t, listed, "User "+operator)
	assert.NotContains(t, listed, "User "+viewer)
}
