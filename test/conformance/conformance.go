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

// Package conformance is what holds for every Entente, wherever it serves: what
// people and their tools do with real kubectl. The tests of a standalone server and
// those behind a host cluster run the same.
package conformance

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"entente.dev/entente/apis/generated/clientset/versioned"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/process"
)

// Target is an API server that serves Entente's kinds.
type Target interface {
	// Kubectl runs kubectl as a user, with stdin, and returns whatever came of it.
	Kubectl(t testing.TB, user, stdin string, args ...string) process.Result
	// KubectlCommand is kubectl as a user, not started yet.
	KubectlCommand(ctx context.Context, t testing.TB, user string, args ...string) *exec.Cmd
	// StartKubectl runs kubectl as a user until it is stopped, or the test ends.
	StartKubectl(t testing.TB, user string, args ...string) *process.Stream
	// Client returns the generated client for a user.
	Client(t testing.TB, user string) versioned.Interface
	// AddUser makes a user who may do what the rules say and nothing else, and waits
	// until that counts.
	AddUser(t testing.TB, name string, rules ...rbacv1.PolicyRule)
}

// Users are the names of those who must be there already.
type Users struct {
	// Admin may do everything with ClusterPeers, and see their values.
	Admin string
	// Operator may do everything with ClusterPeers but see their values.
	Operator string
	// Viewer may read ClusterPeers, and not see their values.
	Viewer string
}

// Canary is in every sensitive value of these tests, and nowhere else.
const Canary = "canary-b37f0c51a9e24d68"

// Value is the sensitive value of an object: a connection string in form only.
func Value(name string) string { return "entente1." + Canary + "-" + name + ".x" }

// Manifest is a ClusterPeer of type Join, with a value unless it is empty. Labels
// are YAML, for instance `tier: one`. More fields of the spec can be appended.
func Manifest(name, value, labels string) string {
	manifest := fmt.Sprintf("---\napiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata:\n  name: %s\n  labels: {%s}\nspec:\n  type: Join\n", name, labels)
	if value != "" {
		manifest += fmt.Sprintf("  join:\n    connectionString: %q\n", value)
	}
	return manifest
}

// Rule is a rule on resources of the group peering.entente.dev; names may be empty.
func Rule(verbs, resources []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{peeringv1alpha1.SchemeGroupVersion.Group}, Resources: resources, Verbs: verbs, ResourceNames: names}
}

// Settled is a stored object as user sees it, once the controller has nothing left
// to write to it.
func Settled(t testing.TB, target Target, user, name string) (peer *peeringv1alpha1.ClusterPeer) {
	t.Helper()
	peers := target.Client(t, user).PeeringV1alpha1().ClusterPeers()
	eventually(t, "the status of "+name+" is up to date", func() bool {
		var err error
		peer, err = peers.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		return peer.Status.ObservedGeneration == peer.Generation
	})
	return peer
}

// must runs kubectl, which has to succeed.
func must(t testing.TB, target Target, user, stdin string, args ...string) string {
	t.Helper()
	result := target.Kubectl(t, user, stdin, args...)
	require.Zero(t, result.Code, "kubectl %s as %s: %s", strings.Join(args, " "), user, result.Output())
	return result.Stdout
}

// patience limits how long a test waits for something that should come at once.
const patience = time.Minute

func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	require.NoError(t, err, "did not happen in %v: %s", patience, what)
}
