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
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// The StatefulSet, which has no node to run on here, is one that a host takes: its
// pods are admitted to a namespace with Pod Security "restricted", as the manifests
// make it.
func (s *suite) manifests(t *testing.T) {
	shipped := s.Cluster.MustKubectl(t, kube.Admin, "", "kustomize", "../../artifacts/deploy")
	result := s.Cluster.Kubectl(t, kube.Admin, shipped, "apply", "--dry-run=server", "-l", "app.kubernetes.io/name=entente", "-f", "-")
	require.Zerof(t, result.Code, "%s", result.Output())
	assert.NotContains(t, result.Stderr, "would violate PodSecurity")
	assert.Contains(t, result.Stdout, "statefulset.apps/entente-apiserver")

	set := statefulSet(t, shipped)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "entente-apiserver-0", Labels: set.Spec.Template.Labels}, Spec: set.Spec.Template.Spec}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-entente-apiserver-0"},
		}})
	}
	pods := s.Clientset(t, kube.Admin).CoreV1().Pods(install.Namespace)
	_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	// And Pod Security is on.
	pod.Spec.Containers[0].SecurityContext.Capabilities = nil
	_, err = pods.Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.ErrorContains(t, err, "PodSecurity")
}
