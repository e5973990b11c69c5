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

package install_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// The shipped manifests make an Entente that ordinary users reach through
// kube-apiserver, and what it asks for is held against what it was given.
func TestInstall(t *testing.T) {
	cluster := kube.Start(t)
	entente := install.Start(t, cluster)
	cluster.AddUser(t, "olga")
	cluster.Bind(t, "olga", "entente-operator")
	cluster.AddUser(t, "vera")
	cluster.Bind(t, "vera", "entente-viewer")

	const manifest = `
apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata: {name: kept}
spec: {type: Invite}
`
	cluster.MustKubectl(t, "olga", manifest, "apply", "-f", "-")
	_, err := entente.Client(t, "vera").PeeringV1alpha1().ClusterPeers().Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotZero(t, cluster.Kubectl(t, "vera", manifest, "delete", "-f", "-").Code)

	// It stops by itself, comes back with its data, and takes another token.
	require.NoError(t, entente.RenewToken(t.Context()))
	entente.Restart(t)
	_, err = entente.Client(t, "vera").PeeringV1alpha1().ClusterPeers().Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)

	eventually(t, "rights show as used", func() bool {
		used := entente.Rights(t).Used
		return len(used) > 0
	})
	rights := entente.Rights(t)
	assert.Empty(t, rights.Refused)
	assert.Contains(t, rights.Used, "ClusterRoleBinding entente-apiserver-auth-delegator of ClusterRole system:auth-delegator")
	t.Logf("not used so far: %q", rights.Unused)

	// Without its rights, what it asks for is refused, and that shows.
	cluster.MustKubectl(t, kube.Admin, "", "delete", "clusterrolebinding", "entente-apiserver")
	require.NoError(t, entente.Stop())
	entente.Run(t)
	eventually(t, "refusals show", func() bool { return len(entente.Rights(t).Refused) > 0 })
	t.Logf("%q", entente.Rights(t).Refused)
}

// A process that cannot start is said to have ended, and why.
func TestInstallFails(t *testing.T) {
	cluster := kube.Start(t)
	_, err := install.Install(t.Context(), cluster.ControlPlane, install.Options{Flags: []string{"--no-such-flag"}})
	require.ErrorContains(t, err, "unknown flag: --no-such-flag")
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	require.NoError(t, err, "did not happen in a minute: %s", what)
}
