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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

func inCluster(namespace string) *corev1alpha1.Cluster {
	return &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "here", UID: types.UID("uid-" + namespace)},
		Spec:       corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeInCluster},
	}
}

// hosted returns a host cluster, and a pool of an Entente that runs in it.
func hosted(t *testing.T, change ...func(*rest.Config)) (*targetstest.Server, *targets.Pool, *targetstest.Credentials) {
	t.Helper()
	server, credentials := east(t)
	host := &rest.Config{Host: server.URL, BearerToken: targetstest.Token, TLSClientConfig: rest.TLSClientConfig{CAData: server.CA}}
	for _, c := range change {
		c(host)
	}
	return server, newPool(t, credentials, func(c *targets.Config) {
		c.Host = host
		c.Policy.AllowLocal = false // of targets of others
	}), credentials
}

// C1, C4: the cluster that Entente runs in is probed as Entente, and Releases are applied to it
// as the ServiceAccount of their namespace, never as Entente.
func TestC4InClusterImpersonates(t *testing.T) {
	server, pool, credentials := hosted(t)
	for _, namespace := range []string{"team", "other", "entente"} {
		cluster := inCluster(namespace)
		before := len(server.Requests())
		made, found := connect(t, pool, cluster)
		for _, request := range server.Requests()[before:] {
			assert.Empty(t, request.Impersonate)
			assert.Equal(t, targetstest.Token, request.Token)
		}
		pool.Note(cluster.UID, made, found, true)
		ready, usable, _ := pool.Ready(cluster.UID)
		require.True(t, usable)
		assert.NotSame(t, made, ready.Client)
		assert.Equal(t, "1", ready.UID)

		before = len(server.Requests())
		_, err := ready.Client.Objects(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "any").Get(t.Context(), "it")
		require.True(t, apierrors.IsNotFound(err), err)
		_, err = ready.Client.Probe(t.Context())
		require.NoError(t, err)
		_, err = ready.Client.Mapper().KindFor(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
		require.Error(t, err)
		asked := server.Requests()[before:]
		assert.Greater(t, len(asked), 5)
		for _, request := range asked {
			assert.Equal(t, "system:serviceaccount:"+namespace+":entente-release", request.Impersonate, request.Path)
		}

		same, _ := connect(t, pool, cluster)
		assert.Same(t, made, same)
		pool.Forget(cluster.UID)
		requireClosed(t, made)
		requireClosed(t, ready.Client)
	}
	requireConnections(t, server, 0)
	assert.Zero(t, credentials.Reads())
}

// C1: without a host cluster there is none that Entente runs in: no reason to be not
// implemented, and none to panic.
func TestC1InClusterWithoutHost(t *testing.T) {
	_, credentials := east(t)
	pool := newPool(t, credentials)
	problem := refused(t, pool, inCluster("team"))
	assert.Equal(t, "spec.connectionMode: Entente runs in no cluster.", problem.Message)
	assert.False(t, problem.Unsupported)
}

// R15: a host config that cannot be used is not quoted.
func TestR15InClusterOddHost(t *testing.T) {
	for name, change := range map[string]func(*rest.Config){
		"host":      func(c *rest.Config) { c.Host = "https://canary:canary:canary" },
		"authority": func(c *rest.Config) { c.CAData = []byte("canary") },
	} {
		_, pool, _ := hosted(t, change)
		assert.Equal(t, "The connection cannot be set up.", refused(t, pool, inCluster("team")).Message, name)
	}
}

// C1: a Cluster that moves from one mode to another loses its connections.
func TestC1InClusterChanges(t *testing.T) {
	server, pool, credentials := hosted(t)
	cluster := inCluster("team")
	made, found := connect(t, pool, cluster)
	pool.Note(cluster.UID, made, found, true)
	ready, _, _ := pool.Ready(cluster.UID)
	cluster.Spec = agentless("", server.URL, byKubeconfig()).Spec
	other, err := pool.Connect(t.Context(), cluster)
	require.NoError(t, err)
	assert.NotSame(t, made, other)
	assert.Positive(t, credentials.Reads())
	requireClosed(t, made)
	requireClosed(t, ready.Client)
	_, _, known := pool.Ready(cluster.UID)
	assert.False(t, known)
}
