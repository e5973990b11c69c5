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

package targets_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/targets"
)

// C1: which modes and auth types are implemented.
func TestC1Unsupported(t *testing.T) {
	auth := func(kind corev1alpha1.AuthType) corev1alpha1.ClusterSpec {
		return corev1alpha1.ClusterSpec{
			ConnectionMode: corev1alpha1.ConnectionModeAgentless,
			Agentless:      &corev1alpha1.ClusterAgentlessModeSpec{Auth: corev1alpha1.ClusterAuthSpec{Type: kind}},
		}
	}
	const mode, kind = "spec.connectionMode: ", "spec.agentless.auth.type: "
	for name, test := range map[string]struct {
		spec corev1alpha1.ClusterSpec
		// off and on are why it is not, with the gate off and on.
		off, on string
	}{
		"inCluster":  {corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeInCluster}, "", ""},
		"kubeconfig": {auth(corev1alpha1.AuthTypeKubeconfig), "", ""},
		"agent":      {corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeAgent, Agent: &corev1alpha1.ClusterAgentModeSpec{}}, mode, mode},
		"agent with a block of agentless": {
			corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeAgent, Agentless: auth(corev1alpha1.AuthTypeKubeconfig).Agentless}, mode, mode,
		},
		"no mode":         {corev1alpha1.ClusterSpec{}, mode, mode},
		"an unknown mode": {corev1alpha1.ClusterSpec{ConnectionMode: "canary"}, mode, mode},
		"token":           {auth(corev1alpha1.AuthTypeToken), kind, ""},
		"clientCert":      {auth(corev1alpha1.AuthTypeClientCert), kind, ""},
		"execPlugin":      {auth(corev1alpha1.AuthTypeExecPlugin), kind, kind},
		"oidc":            {auth(corev1alpha1.AuthTypeOIDC), kind, kind},
		"no type":         {auth(""), kind, kind},
		"an unknown type": {auth("canary"), kind, kind},
	} {
		for on, want := range map[bool]string{false: test.off, true: test.on} {
			problem := targets.Unsupported(&test.spec, on)
			if want == "" {
				assert.Nil(t, problem, "%s %t", name, on)
				continue
			}
			require.NotNil(t, problem, "%s %t", name, on)
			assert.True(t, problem.Unsupported, name)
			assert.Contains(t, problem.Message, want, name)
			requireSilent(t, problem.Message)
		}
	}
	problem := targets.Unsupported(&corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeAgentless}, true)
	require.NotNil(t, problem)
	assert.False(t, problem.Unsupported, "agentless is implemented")
	assert.Contains(t, problem.Message, "spec.agentless: ")
}

// C1: a Cluster of a kind that is not implemented has nothing read, and loses its connection.
func TestC1UnsupportedIsNotConnected(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	made, _ := connect(t, pool, cluster)
	reads := credentials.Reads()
	for name, change := range map[string]func(*corev1alpha1.Cluster){
		"mode": func(c *corev1alpha1.Cluster) { c.Spec.ConnectionMode = corev1alpha1.ConnectionModeAgent },
		"type": func(c *corev1alpha1.Cluster) { c.Spec.Agentless.Auth = byToken() },
	} {
		changed := cluster.DeepCopy()
		change(changed)
		assert.True(t, refused(t, pool, changed).Unsupported, name)
		_, usable, known := pool.Ready(cluster.UID)
		assert.False(t, usable || known, name)
	}
	requireClosed(t, made)
	requireConnections(t, server, 0)
	assert.Equal(t, reads, credentials.Reads())
}

func TestNewPoolNeedsCredentials(t *testing.T) {
	_, err := targets.NewPool(targets.Config{})
	require.Error(t, err)
}
