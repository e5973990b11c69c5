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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// S2, R17: the pod in docs/operations.md that restores a store is one that a host takes, and
// fits the StatefulSet; what it runs makes a store that Entente goes on with, by the key in
// the Secret.
func (s *suite) restored(t *testing.T) {
	pod := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(documented(t, "operations.md", "yaml", "entente-restore")), pod))
	pods := s.Clientset(t, kube.Admin).CoreV1().Pods(install.Namespace)
	_, err := pods.Create(t.Context(), pod.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.Len(t, pod.Spec.Containers, 1)
	restore := pod.Spec.Containers[0]
	set := statefulSet(t, s.Cluster.MustKubectl(t, kube.Admin, "", "kustomize", "../../artifacts/deploy"))
	server := set.Spec.Template.Spec.Containers[0]
	assert.Equal(t, server.Image, restore.Image)
	assert.Equal(t, server.VolumeMounts, restore.VolumeMounts)
	assert.Equal(t, server.VolumeMounts, pod.Spec.InitContainers[0].VolumeMounts)
	assert.Equal(t, set.Spec.VolumeClaimTemplates[0].Name+"-"+set.Name+"-0", pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	// What one writes the other may read.
	assert.Equal(t, set.Spec.Template.Spec.SecurityContext.RunAsUser, pod.Spec.SecurityContext.RunAsUser)
	assert.Equal(t, set.Spec.Template.Spec.SecurityContext.FSGroup, pod.Spec.SecurityContext.FSGroup)
	const dataDir = "--data-dir=/data/entente"
	assert.Contains(t, server.Args, dataDir)
	require.Contains(t, restore.Args, dataDir)

	const name = "restored"
	s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
	require.NoError(t, s.entente.Stop())
	binary, err := process.Entente()
	require.NoError(t, err)
	storage := func(args ...string) process.Result {
		result, err := process.Run(exec.CommandContext(t.Context(), binary, args...))
		require.NoError(t, err)
		return result
	}
	saved := storage("storage", "snapshot", "--data-dir", s.entente.DataDir, "--output", "-")
	require.Zero(t, saved.Code, saved.Stderr)

	volume := t.TempDir()
	args := slices.Clone(restore.Args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "=/data/", "="+volume+"/")
	}
	snapshot := filepath.Join(volume, "snapshot")
	require.NoError(t, os.WriteFile(snapshot, []byte(saved.Stdout[:len(saved.Stdout)/2]), 0o600))
	assert.NotZero(t, storage(args...).Code, "of half a file")
	require.NoDirExists(t, filepath.Join(volume, "entente", "etcd"))
	require.NoError(t, os.WriteFile(snapshot, []byte(saved.Stdout), 0o600))
	result := storage(args...)
	require.Zero(t, result.Code, result.Output())

	s.entente.Run(t, "--data-dir="+filepath.Join(volume, "entente"), "--accept-restored-store")
	s.entente.WaitServed(t)
	s.entente.WaitReady(t)
	value := s.MustKubectl(t, keeper, "", "get", "cpeer", name, "--subresource=sensitive", "-o", "jsonpath={.spec.join.connectionString}")
	assert.Equal(t, conformance.Value(name), value)
	require.NoError(t, s.entente.Stop())
}

// statefulSet is the one among the shipped manifests.
func statefulSet(t *testing.T, shipped string) *appsv1.StatefulSet {
	t.Helper()
	for _, document := range strings.Split(shipped, "\n---\n") {
		set := &appsv1.StatefulSet{}
		require.NoError(t, yaml.Unmarshal([]byte(document), set))
		if set.Kind == "StatefulSet" {
			return set
		}
	}
	require.Fail(t, "there is no StatefulSet")
	return nil
}
