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

package policies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"entente.dev/entente/test/kube"
)

// projectLabel says to which project a namespace belongs, unless a flag says otherwise.
const projectLabel = "peering.entente.dev/project"

const takesPair = "takes verb pair on projectpeers.peering.entente.dev in it (G4)"

// TestG4PairLabel is who may put a namespace into a project.
func TestG4PairLabel(t *testing.T) {
	t.Parallel()
	p := start(t)
	t.Run("pair", p.pairing)
	t.Run("by subresources", p.pairingBySubresource)
	t.Run("another key", p.anotherKey) // changes the policy
}

// relabel changes the project label of a namespace, or takes it away, as a user.
func relabel(ctx context.Context, client kubernetes.Interface, namespace, project string, subresources ...string) error {
	value := "null"
	if project != "" {
		value = `"` + project + `"`
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, projectLabel, value)
	_, err := client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	return err
}

// G4: whoever may write namespaces may take one out of a project, and change all else of
// it; to put it into one takes the verb pair, in that namespace or in all.
func (p *policed) pairing(t *testing.T) {
	const (
		plain   = "writes-namespaces"
		partner = "pairs-one"
		all     = "pairs-all"
	)
	clients := map[string]kubernetes.Interface{}
	for _, user := range []string{plain, partner, all} {
		p.AddUser(t, user)
		p.Grant(t, user, rule("", "namespaces", "get", "create", "update", "patch"))
		clients[user] = p.Clientset(t, user)
	}
	p.MustKubectl(t, kube.Admin, "", "create", "namespace", "one")
	p.MustKubectl(t, kube.Admin, "", "create", "namespace", "two")
	// By the role that is shipped as an example.
	p.MustKubectl(t, kube.Admin, "", "apply", "-f", "../../../artifacts/examples/roles/pairing.yaml")
	p.BindIn(t, "one", partner, "peering-pairing")
	p.Bind(t, all, "peering-pairing")

	for _, step := range []struct{ user, namespace, project, refusal string }{
		{plain, "one", "a", takesPair},
		{partner, "one", "a", ""},
		{partner, "two", "a", takesPair},
		{all, "two", "a", ""},
		{plain, "one", "a", ""}, // it is so already
		{plain, "one", "b", takesPair},
		{partner, "one", "b", ""},
		{plain, "one", "", ""},
		{plain, "one", "b", takesPair}, // nor may it be put back
		{plain, "one", "", ""},
		{kube.Admin, "one", "a", ""},
	} {
		client, found := clients[step.user]
		if !found {
			client = p.admin
		}
		judged(t, step.refusal, relabel(t.Context(), client, step.namespace, step.project), fmt.Sprintf("%+v", step))
	}
	// What else there is to write stays free, in a project and out of it.
	for _, name := range []string{"one", namespace} {
		patch := []byte(`{"metadata":{"labels":{"other":"label","peering.entente.dev/other":"label"}}}`)
		_, err := clients[plain].CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	made := func(name, project string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{projectLabel: project}}}
	}
	for user, refusal := range map[string]string{plain: takesPair, partner: takesPair, all: ""} {
		_, err := clients[user].CoreV1().Namespaces().Create(t.Context(), made("new-by-"+user, "a"), metav1.CreateOptions{})
		judged(t, refusal, err, user)
		generated := made("", "a")
		generated.GenerateName = "new-"
		_, err = clients[user].CoreV1().Namespaces().Create(t.Context(), generated, dry)
		judged(t, refusal, err, user)
		_, err = clients[user].CoreV1().Namespaces().Create(t.Context(), made("blank-"+user, ""), dry)
		judged(t, "", err, user)
	}
	// The name of a namespace that is yet to be made can be in a role, too.
	p.Grant(t, plain, named(rule("peering.entente.dev", "projectpeers", "pair"), "x"))
	judged(t, takesPair, relabel(t.Context(), clients[plain], namespace, "a"), "a right to one name")
}

// G4: labels are written by the subresources of a namespace as well.
func (p *policed) pairingBySubresource(t *testing.T) {
	const user = "writes-statuses"
	p.AddUser(t, user)
	p.Grant(t, user, rule("", "namespaces", "get"), rule("", "namespaces/status", "patch", "update"), rule("", "namespaces/finalize", "update"))
	client := p.Clientset(t, user)
	p.MustKubectl(t, kube.Admin, "", "create", "namespace", "sub")
	judged(t, "(G4)", relabel(t.Context(), client, "sub", "a", "status"), "by status")
	found, err := client.CoreV1().Namespaces().Get(t.Context(), "sub", metav1.GetOptions{})
	require.NoError(t, err)
	found.Labels[projectLabel] = "a"
	_, err = client.CoreV1().Namespaces().Finalize(t.Context(), found, metav1.UpdateOptions{})
	judged(t, "(G4)", err, "by finalize")
	_, err = client.CoreV1().Namespaces().UpdateStatus(t.Context(), found, metav1.UpdateOptions{})
	judged(t, "(G4)", err, "by an update of the status")
	// A namespace of a project goes as any other does.
	require.NoError(t, relabel(t.Context(), p.admin, "sub", "a"))
	p.MustKubectl(t, kube.Admin, "", "delete", "namespace", "sub", "--timeout=1m")
}

// G4: with the flag --project-label the policy is changed as docs/install.md says.
func (p *policed) anotherKey(t *testing.T) {
	content, err := os.ReadFile("../../../docs/install.md")
	require.NoError(t, err)
	patch := regexp.MustCompile("(?s)```yaml\n(patches:\n.*?)```").FindSubmatch(content)
	require.NotNil(t, patch, "docs/install.md has no patch for kustomize")
	dir := t.TempDir()
	policies, err := filepath.Abs("../../../artifacts/deploy/policies.yaml")
	require.NoError(t, err)
	text, err := os.ReadFile(policies)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "policies.yaml"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), append([]byte("resources: [policies.yaml]\n"), patch[1]...), 0o600))
	p.MustKubectl(t, kube.Admin, p.MustKubectl(t, kube.Admin, "", "kustomize", dir), "apply", "-f", "-")

	const user = "writes-other-labels"
	p.AddUser(t, user)
	p.Grant(t, user, rule("", "namespaces", "create"))
	client := p.Clientset(t, user)
	made := func(key string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{key: "a"}}}
	}
	eventually(t, "the other key is guarded", func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Create(ctx, made("example.com/project"), dry)
		return refusedByPolicy(err, "by label example.com/project, takes verb pair")
	})
	_, err = client.CoreV1().Namespaces().Create(t.Context(), made(projectLabel), dry)
	judged(t, "", err, "the usual key")
}
