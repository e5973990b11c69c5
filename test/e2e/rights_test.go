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
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// Every server with priority and fairness says of a FlowSchema that refers to
// nothing that it does, and the first one wins: kube-apiserver, or Entente.
func (s *suite) danglingFlowSchema(t *testing.T) {
	client := s.Clientset(t, kube.Admin).FlowcontrolV1().FlowSchemas()
	const attempts = 200
	for i := range attempts {
		made, err := client.Create(t.Context(), &flowcontrolv1.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("dangling-%d", i)},
			Spec: flowcontrolv1.FlowSchemaSpec{
				MatchingPrecedence:         9000,
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "missing"},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		eventually(t, "somebody says that "+made.Name+" refers to nothing", func(ctx context.Context) error {
			got, err := client.Get(ctx, made.Name, metav1.GetOptions{})
			require.NoError(t, err)
			if len(got.Status.Conditions) == 0 {
				return errors.New("nobody does")
			}
			return nil
		})
		require.NoError(t, client.Delete(t.Context(), made.Name, metav1.DeleteOptions{}))
		for _, event := range s.Audit(t) {
			if event.User.Username == s.entente.User && event.Verb == "patch" && event.ObjectRef != nil && event.ObjectRef.Subresource == "status" {
				assert.Equal(t, int32(http.StatusOK), event.ResponseStatus.Code)
				return
			}
		}
	}
	require.Failf(t, "Entente was never the first", "in %d attempts", attempts)
}

// deckhouseProject is a kind that Entente follows where there is one.
const deckhouseProject = "testdata/deckhouse-project.yaml"

// A host that lacks watch-list, as those before v1.34 do: informers list and watch.
func (s *suite) hostWithoutWatchList(t *testing.T) {
	cluster := kube.Start(t, kube.Named("older"), kube.WithFeatureGate("WatchList", false))
	entente := install.Start(t, cluster)
	cluster.MustKubectl(t, kube.Admin, "", "apply", "-f", deckhouseProject)
	cluster.AddUser(t, viewer)
	cluster.Bind(t, viewer, "entente-viewer")
	assert.Empty(t, cluster.MustKubectl(t, viewer, "", "get", "cpeer"))
	eventually(t, "informers list", func(context.Context) error {
		s.older = entente.Rights(t)
		return contains(strings.Join(s.older.Used, "\n"), "list namespaces", "list flowschemas", "list prioritylevelconfigurations",
			"list mutatingwebhookconfigurations", "list validatingwebhookconfigurations", "list mutatingadmissionpolicies", "list mutatingadmissionpolicybindings",
			"list validatingadmissionpolicies", "list validatingadmissionpolicybindings", "list projects.deckhouse.io",
			"list roles", "list rolebindings", "list clusterroles", "list clusterrolebindings")
	})
	assertNoComplaint(t, entente)
}

// Entente asked for nothing that the shipped roles do not grant, and they grant
// nothing that it did not ask for.
func (s *suite) rights(t *testing.T) {
	var found install.Rights
	// The audit log lags behind.
	eventually(t, "all rights are used", func(context.Context) error {
		found = s.entente.Rights(t).Merge(s.older)
		found.Unused = slices.DeleteFunc(found.Unused, func(right string) bool { return forGrants(right) || forAccess(right) })
		if len(found.Unused) > 0 {
			return fmt.Errorf("unused:\n%s", strings.Join(found.Unused, "\n"))
		}
		return nil
	})
	assert.NotEmpty(t, found.Used)
	assert.Empty(t, found.Refused)
}

// forGrants tells whether a right is used only where something is granted to a peer:
// TestGrants has those.
func forGrants(right string) bool {
	role, what, found := strings.Cut(right, ": ")
	return found && role == "ClusterRoleBinding entente-apiserver-grants of ClusterRole entente-apiserver-grants" &&
		!strings.HasPrefix(what, "list ") && !strings.HasPrefix(what, "watch ")
}

// forAccess tells whether a right is used only where workloads may use a peer: TestWorkloads
// has those.
func forAccess(right string) bool {
	return strings.HasPrefix(right, "RoleBinding entente-apiserver-access/") && !strings.Contains(right, ": list ")
}

// known are the complaints in Entente's log that mean nothing is wrong with it.
var known = []*regexp.Regexp{
	// Direct and DirectTokens show certificates and tokens that are no good.
	regexp.MustCompile(`"Unable to authenticate the request"`),
	// Tests stop their watches while events are on the way.
	regexp.MustCompile(`"Failed to encode watch event" err="http2: stream closed"`),
	// Mutating policies wait for kube-apiserver to have aggregated our OpenAPI.
	regexp.MustCompile(`"Unhandled Error" err="no schema for peering.entente.dev/`),
	// A controller that is stopped may have a status on the way: nobody takes the answer.
	regexp.MustCompile(`"Unhandled Error" err="apiserver was unable to write a (fallback )?JSON response: http: Handler timeout"`),
	regexp.MustCompile(`"Post-timeout activity" .*path="/apis/[^"]+/status"`),
	// A client of an etcd of its own is not connected at once.
	regexp.MustCompile(`"Not ready: waiting for etcd" err="etcd client connection not yet established"`),
	// That a kind is gone shows when it is next looked for.
	regexp.MustCompile(`"Failed to watch" err="(failed to list [^"]*: )?the server could not find the requested resource" .* controller="projects" `),
	// A new etcd looks for the version of its data before there are any, and again later.
	regexp.MustCompile(`"failed to update storage version" logger="etcd" .* error="cannot detect storage schema version: missing term information"`),
}

// R15: no log holds a value, and Entente has nothing to complain about.
func (s *suite) logs(t *testing.T) {
	for _, log := range []string{
		s.entente.Log,
		filepath.Join(s.Dir, "logs", "kube-apiserver.log"),
		filepath.Join(s.Dir, "logs", "kube-controller-manager.log"),
	} {
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		require.NotEmpty(t, content)
		assert.False(t, bytes.Contains(content, []byte(conformance.Canary)), "%s holds a value", log)
	}
	assertNoComplaint(t, s.entente)
}

func assertNoComplaint(t *testing.T, entente *install.Installed) {
	t.Helper()
	content, err := os.ReadFile(entente.Log)
	require.NoError(t, err)
	const token = "eyJhbGci" // as every token begins
	complaint := regexp.MustCompile(`^[EF]\d{4} |(?i)forbidden|panic|goroutine `)
	for line := range strings.Lines(string(content)) {
		assert.NotContains(t, line, token)
		if !slices.ContainsFunc(known, func(known *regexp.Regexp) bool { return known.MatchString(line) }) {
			assert.False(t, complaint.MatchString(line), "the log of Entente has %s", line)
		}
	}
}

// R17: no value is in any file of the data folder, database and log of etcd included;
// the key is in the host cluster, in a Secret of Entente's namespace, and not there.
func (s *suite) atRest(t *testing.T) {
	key := s.MustKubectl(t, kube.Admin, "", "get", "secret", "-n", install.Namespace, "entente-encryption-key", "-o", "jsonpath={.data}")
	assert.NotEmpty(t, key)
	require.NoError(t, s.entente.Stop())
	files := 0
	require.NoError(t, filepath.WalkDir(s.entente.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		assert.False(t, bytes.Contains(content, []byte(conformance.Canary)), path)
		assert.NotContains(t, path, "encryption", "the key is beside the data")
		return nil
	}))
	assert.NotZero(t, files)
}

// R17: the generated key is replaced while no server runs, with the rights that the
// shipped manifests give and no others.
func (s *suite) newKey(t *testing.T) {
	const name = "rewritten"
	s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
	require.NoError(t, s.entente.Stop())
	database := func() string {
		content, err := os.ReadFile(filepath.Join(s.entente.DataDir, "etcd", "member", "snap", "db"))
		require.NoError(t, err)
		return string(content)
	}
	before := s.generatedKeys(t)
	require.Len(t, before, 1)
	require.Contains(t, database(), before[0].prefix())

	binary, err := process.Entente()
	require.NoError(t, err)
	result, err := process.Run(exec.CommandContext(t.Context(), binary, "storage", "rewrite", "--new-key",
		"--data-dir", s.entente.DataDir, "--kubeconfig", s.Kubeconfig(s.entente.User)))
	require.NoError(t, err)
	require.Zero(t, result.Code, result.Output())
	assert.Regexp(t, `(?m)^rewritten: [1-9]\d* \(0 were in the clear\)\ncurrent: 0$`, result.Stdout)
	after := s.generatedKeys(t)
	require.Len(t, after, 1, "the old key is still there")
	assert.NotEqual(t, before[0].Name, after[0].Name)
	assert.NotEqual(t, before[0].Seed, after[0].Seed)
	for _, key := range []generatedKey{before[0], after[0]} {
		assert.NotContains(t, result.Output(), base64.StdEncoding.EncodeToString(key.Seed))
	}
	assert.NotContains(t, database(), before[0].prefix(), "the store still needs the old key")
	assert.Contains(t, database(), after[0].prefix())

	s.entente.Run(t)
	s.entente.WaitServed(t)
	value := s.MustKubectl(t, keeper, "", "get", "cpeer", name, "--subresource=sensitive", "-o", "jsonpath={.spec.join.connectionString}")
	assert.Equal(t, conformance.Value(name), value)
	assert.Equal(t, after, s.generatedKeys(t))
	assert.NotContains(t, database(), before[0].prefix())
	assert.Empty(t, s.entente.Rights(t).Refused)
}

// generatedKey is a key in Secret entente-encryption-key.
type generatedKey struct {
	Name string
	Seed []byte
}

// prefix begins what it has encrypted.
func (k generatedKey) prefix() string { return "k8s:enc:entente:v1:" + k.Name + ":" }

func (s *suite) generatedKeys(t *testing.T) []generatedKey {
	t.Helper()
	secret, err := s.Clientset(t, kube.Admin).CoreV1().Secrets(install.Namespace).Get(t.Context(), "entente-encryption-key", metav1.GetOptions{})
	require.NoError(t, err)
	var kept struct{ Keys []generatedKey }
	require.NoError(t, json.Unmarshal(secret.Data["encryption.json"], &kept))
	return kept.Keys
}
