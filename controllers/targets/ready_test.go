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
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

// noted is a pool with one Cluster, of which is written down what subscribers are told.
type noted struct {
	*targets.Pool
	t           *testing.T
	server      *targetstest.Server
	credentials *targetstest.Credentials
	cluster     *corev1alpha1.Cluster
	told        []cache.ObjectName
	cancel      func()
}

func newNoted(t *testing.T) *noted {
	t.Helper()
	n := &noted{t: t}
	n.server, n.credentials = east(t)
	n.Pool = newPool(t, n.credentials)
	n.cluster = agentless("east", n.server.URL, byKubeconfig())
	n.cancel = n.Subscribe(func(name cache.ObjectName) { n.told = append(n.told, name) })
	return n
}

// requireTold requires that subscribers were told that often since the last call.
func (n *noted) requireTold(count int, why string) {
	n.t.Helper()
	require.Len(n.t, n.told, count, why)
	for _, name := range n.told {
		assert.Equal(n.t, cache.NewObjectName("team", "east"), name)
	}
	n.told = nil
}

// is returns what Ready says: unknown, unusable, or the UID of the cluster.
func (n *noted) is() string {
	n.t.Helper()
	ready, usable, known := n.Ready(n.cluster.UID)
	switch {
	case !known:
		assert.False(n.t, usable)
		return "unknown"
	case !usable:
		assert.Nil(n.t, ready.Client)
		return "unusable"
	}
	assert.NotNil(n.t, ready.Client)
	return ready.UID
}

// C3, C4: whether a cluster may be used is known once it was probed, and who asked to is told
// once a change.
func TestC3Ready(t *testing.T) {
	n := newNoted(t)
	assert.Equal(t, "unknown", n.is())
	made, found := connect(t, n.Pool, n.cluster)
	assert.Equal(t, "unknown", n.is(), "it is connected to, and not probed yet")
	n.requireTold(0, "nothing is known")
	n.Note(n.cluster.UID, made, found, true)
	assert.Equal(t, "1", n.is())
	n.requireTold(1, "usable")
	for range 5 {
		n.Note(n.cluster.UID, made, found, true)
	}
	n.Note(n.cluster.UID, made, nil, true)
	assert.Equal(t, "1", n.is(), "one failure changes nothing")
	n.requireTold(0, "nothing changed")
	n.Note(n.cluster.UID, made, nil, false)
	assert.Equal(t, "unusable", n.is())
	n.requireTold(1, "unusable")
	n.Note(n.cluster.UID, made, nil, false)
	n.requireTold(0, "nothing changed")
	n.Note(n.cluster.UID, made, found, true)
	n.requireTold(1, "usable again")

	n.Note(n.cluster.UID, made, &target.Found{UID: "2"}, true)
	assert.Equal(t, "2", n.is())
	n.requireTold(1, "another cluster")
	n.Note(n.cluster.UID, made, &target.Found{}, true)
	assert.Empty(t, n.is(), "C4: nobody can tell whether it still is that cluster")
	n.requireTold(1, "an unknown cluster")

	n.Forget(n.cluster.UID)
	assert.Equal(t, "unknown", n.is())
	n.Note(n.cluster.UID, made, found, true)
	n.Note(n.cluster.UID, nil, nil, false)
	assert.Equal(t, "unknown", n.is(), "it has been forgotten")
	n.requireTold(0, "nobody is left to be told of")
}

// C3: a connection that has been replaced says nothing of the one after it.
func TestC3ReadyIsOfOneConnection(t *testing.T) {
	n := newNoted(t)
	made, found := connect(t, n.Pool, n.cluster)
	n.Note(n.cluster.UID, made, found, true)
	n.requireTold(1, "usable")
	n.server.Asks("canary-2")
	n.credentials.Put("team", "east", "kubeconfig", n.server.Kubeconfig("canary-2"))
	other, found := connect(t, n.Pool, n.cluster)
	assert.Equal(t, "unknown", n.is())
	n.Note(n.cluster.UID, made, found, true)
	assert.Equal(t, "unknown", n.is(), "that was the one before")
	n.requireTold(0, "nothing is known of it")
	n.Note(n.cluster.UID, other, nil, true)
	assert.Equal(t, "unusable", n.is(), "nothing was ever found by it")
	n.requireTold(1, "unusable")
	n.Note(n.cluster.UID, other, found, true)
	assert.Equal(t, "1", n.is())
	ready, _, _ := n.Ready(n.cluster.UID)
	assert.Same(t, other, ready.Client)
	n.requireTold(1, "usable")
}

// C3: that there is no connection is known, too.
func TestC3ReadyWithoutConnection(t *testing.T) {
	n := newNoted(t)
	n.credentials.Clear()
	_ = refused(t, n.Pool, n.cluster)
	assert.Equal(t, "unknown", n.is())
	n.Note(n.cluster.UID, nil, nil, true)
	assert.Equal(t, "unusable", n.is(), "S1: whatever a status says")
	n.requireTold(1, "unusable")
	n.credentials.Put("team", "east", "kubeconfig", n.server.Kubeconfig(targetstest.Token))
	made, found := connect(t, n.Pool, n.cluster)
	n.Note(n.cluster.UID, made, found, true)
	assert.Equal(t, "1", n.is())
	n.requireTold(1, "usable")
}

func TestSubscribe(t *testing.T) {
	n := newNoted(t)
	var other int
	cancel := n.Subscribe(func(cache.ObjectName) { other++ })
	defer cancel()
	made, found := connect(t, n.Pool, n.cluster)
	n.Note(n.cluster.UID, made, found, true)
	n.requireTold(1, "usable")
	n.cancel()
	n.cancel()
	n.Note(n.cluster.UID, made, (*target.Found)(nil), false)
	n.requireTold(0, "it does not want to hear more")
	assert.Equal(t, 2, other)
}
