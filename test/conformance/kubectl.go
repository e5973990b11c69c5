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

package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/process"
)

// Keyholder is a user whom Kubectl adds: it may see the value of one object, and of
// no other. The others that it adds may see none.
const Keyholder = "kubectl-keyholder"

const (
	lister = "kubectl-lister" // may list, and nothing else
	writer = "kubectl-writer" // may write values through /sensitive, and see none
)

// held is the object whose value Keyholder may see.
const held = "held"

// kubectlSuite is one server for all that a person types. Each test has objects
// of its own, and cleans up none of them.
type kubectlSuite struct {
	Target
	Users
}

// Kubectl is what a person types, as the three users and as users with narrower
// permissions. After each command: no output of a user without the right holds a
// value (R1, R5), and no value is lost. No ClusterPeer is left in the end, not even
// one that was there before.
func Kubectl(t *testing.T, target Target, users Users) {
	k := &kubectlSuite{target, users}
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	k.AddUser(t, lister, Rule([]string{"list"}, []string{"clusterpeers"}))
	k.AddUser(t, Keyholder,
		Rule(all, []string{"clusterpeers", "clusterpeers/status"}),
		Rule([]string{"get", "list", "watch", "update", "patch"}, []string{"clusterpeers/sensitive"}, held))
	k.AddUser(t, writer,
		Rule([]string{"get", "list"}, []string{"clusterpeers"}),
		Rule([]string{"update", "patch"}, []string{"clusterpeers/sensitive"}))
	k.create(t, held, "set: seed")
	k.create(t, "plain", "set: seed")
	k.must(t, k.Admin, Manifest("bare", "", "set: seed"), "create", "-f", "-")

	t.Run("Each", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"Discovery":        k.testDiscovery,
			"Explain":          k.testExplain,
			"Get":              k.testGet,
			"GetOne":           k.testGetOne,
			"Selectors":        k.testSelectors,
			"Chunks":           k.testChunks,
			"Watch":            k.testWatch,
			"Describe":         k.testDescribe,
			"Create":           k.testCreate,
			"ApplyClientSide":  k.testApplyClientSide,
			"ApplyServerSide":  k.testApplyServerSide,
			"Diff":             k.testDiff,
			"Edit":             k.testEdit,
			"LabelAndAnnotate": k.testLabelAndAnnotate,
			"Patch":            k.testPatch,
			"Replace":          k.testReplace,
			"ReplaceForce":     k.testReplaceForce,
			"Wait":             k.testWait,
			"Sensitive":        k.testSensitive,
			"Status":           k.testStatus,
			"Auth":             k.testAuth,
			"Capability":       k.testCapability,
			"ProjectPeer":      k.testProjectPeer,
			"Provider":         k.testProvider,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	// These change what the others read.
	t.Run("SensitiveEdit", k.testSensitiveEdit)
	t.Run("Delete", k.testDelete)
}

// run runs kubectl, and holds its output to what the user may see.
func (k *kubectlSuite) run(t *testing.T, user, stdin string, args ...string) process.Result {
	t.Helper()
	result := k.Kubectl(t, user, stdin, args...)
	k.check(t, user, strings.Join(args, " "), result.Output())
	return result
}

func (k *kubectlSuite) check(t *testing.T, user, command, output string) {
	t.Helper()
	for _, trace := range []string{"panic:", "goroutine ", "runtime error"} {
		assert.NotContains(t, output, trace, "kubectl %s as %s", command, user)
	}
	switch user {
	case k.Admin:
		return
	case Keyholder:
		output = strings.ReplaceAll(output, Value(held), "")
	}
	assert.NotContains(t, output, Canary, "kubectl %s as %s", command, user)
}

// must is run, of a command that has to succeed.
func (k *kubectlSuite) must(t *testing.T, user, stdin string, args ...string) string {
	t.Helper()
	result := k.run(t, user, stdin, args...)
	require.Zero(t, result.Code, "kubectl %s as %s: %s", strings.Join(args, " "), user, result.Output())
	return result.Stdout
}

// refused is run, of a command that has to fail with all of these texts.
func (k *kubectlSuite) refused(t *testing.T, user, stdin string, args, texts []string) {
	t.Helper()
	result := k.run(t, user, stdin, args...)
	assert.NotZero(t, result.Code, "kubectl %s as %s: %s", strings.Join(args, " "), user, result.Output())
	for _, text := range texts {
		assert.Contains(t, result.Stderr, text, "kubectl %s as %s", strings.Join(args, " "), user)
	}
}

// create makes an object with its value.
func (k *kubectlSuite) create(t *testing.T, name, labels string) {
	t.Helper()
	k.must(t, k.Admin, Manifest(name, Value(name), labels), "create", "-f", "-")
}

// peer is the stored object, with its value, once the controller has nothing left
// to write to it.
func (k *kubectlSuite) peer(t *testing.T, name string) *peeringv1alpha1.ClusterPeer {
	t.Helper()
	return Settled(t, k.Target, k.Admin, name)
}

// value is the stored value of an object.
func (k *kubectlSuite) value(t *testing.T, name string) string {
	t.Helper()
	peer := k.peer(t, name)
	if peer.Spec.Join == nil {
		return ""
	}
	return peer.Spec.Join.ConnectionString
}

func (k *kubectlSuite) names(t *testing.T, selector string) []string {
	t.Helper()
	list, err := k.Client(t, k.Admin).PeeringV1alpha1().ClusterPeers().List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	require.NoError(t, err)
	var names []string
	for _, peer := range list.Items {
		names = append(names, peer.Name)
	}
	return names
}

// Whoever serves, reviews of rights are answered.
func (k *kubectlSuite) testAuth(t *testing.T) {
	tests := []struct {
		user string
		args []string
		want string
	}{
		{k.Admin, []string{"get", "clusterpeers", "--subresource=sensitive"}, "yes"},
		{k.Operator, []string{"create", "cpeer"}, "yes"},
		{k.Operator, []string{"deletecollection", "clusterpeers.peering.entente.dev"}, "yes"},
		{k.Operator, []string{"patch", "clusterpeers", "--subresource=status"}, "yes"},
		{k.Operator, []string{"get", "clusterpeers", "--subresource=sensitive"}, "no"},
		{k.Operator, []string{"patch", "clusterpeers", "--subresource=sensitive"}, "no"},
		{k.Operator, []string{"*", "clusterpeers"}, "no"},
		{k.Operator, []string{"get", "/metrics"}, "no"},
		{k.Viewer, []string{"watch", "cpeer"}, "yes"},
		{k.Viewer, []string{"delete", "cpeer"}, "no"},
		{k.Viewer, []string{"get", "cpeer/held", "--subresource=sensitive"}, "no"},
		{lister, []string{"list", "cpeer"}, "yes"},
		{lister, []string{"get", "cpeer"}, "no"},
		{Keyholder, []string{"get", "cpeer/held", "--subresource=sensitive"}, "yes"},
		{Keyholder, []string{"get", "cpeer/plain", "--subresource=sensitive"}, "no"},
		{Keyholder, []string{"get", "cpeer", "--subresource=sensitive"}, "no"},
		{writer, []string{"patch", "cpeer", "--subresource=sensitive"}, "yes"},
		{k.Operator, []string{"create", "peercap"}, "yes"},
		{k.Operator, []string{"deletecollection", "projectpeers"}, "yes"},
		{k.Operator, []string{"patch", "projectpeers", "--subresource=status"}, "yes"},
		{k.Operator, []string{"delete", "tokenexchangeproviders"}, "yes"},
		{k.Viewer, []string{"list", "tokenexchangeproviders"}, "yes"},
		{k.Viewer, []string{"delete", "tokenexchangeproviders"}, "no"},
		// G8: nor are they by it somebody in another cluster.
		{k.Operator, []string{"get", "cpeer", "--subresource=proxy"}, "no"},
		{k.Viewer, []string{"get", "cpeer", "--subresource=proxy"}, "no"},
		{k.Viewer, []string{"watch", "peercap"}, "yes"},
		{k.Viewer, []string{"list", "projectpeers", "-n", "default"}, "yes"},
		{k.Viewer, []string{"update", "peercap"}, "no"},
		// G2, G4: these grant to another cluster more than one may do oneself.
		{k.Operator, []string{"escalate", "peercap"}, "no"},
		{k.Operator, []string{"bind", "peercap"}, "no"},
		{k.Operator, []string{"pair", "projectpeers"}, "no"},
	}
	for _, test := range tests {
		result := k.run(t, test.user, "", append([]string{"auth", "can-i"}, test.args...)...)
		assert.Equal(t, test.want, strings.TrimSpace(result.Stdout), "%s: can-i %v: %s", test.user, test.args, result.Stderr)
		assert.Equal(t, test.want == "no", result.Code == 1, "%s: can-i %v", test.user, test.args)
	}
	list := k.must(t, k.Operator, "", "auth", "can-i", "--list")
	assert.Regexp(t, `(?m)^clusterpeers\.peering\.entente\.dev +\[\] +\[\] +\[get list watch create update patch delete deletecollection\]`, list)
	assert.NotContains(t, list, "sensitive")
	assert.NotContains(t, list, "proxy")
	assert.Regexp(t, `(?m)^clusterpeers\.peering\.entente\.dev/sensitive +\[\] +\[held\] +\[get list watch update patch\]`, k.must(t, Keyholder, "", "auth", "can-i", "--list"))
}
