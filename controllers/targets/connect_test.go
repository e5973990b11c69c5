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
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

// C3: one connection serves all probes of a Cluster, while nothing changes.
func TestC3ConnectReuses(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	made, _ := connect(t, pool, cluster)
	for range 20 {
		cluster.Generation++
		cluster.ResourceVersion += "1"
		same, _ := connect(t, pool, cluster)
		assert.Same(t, made, same)
	}
	assert.Equal(t, 1, server.Opened())
	assert.Equal(t, 21, credentials.Reads(), "what Secrets say is asked each time")
}

// C3: a changed Secret is used at the next probe, and nothing of the connection before stays.
func TestC3ConnectReplaces(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	made, _ := connect(t, pool, cluster)
	for _, token := range []string{"canary-2", "canary-3", "canary-4"} {
		server.Asks(token)
		credentials.Put("team", "east", "kubeconfig", server.Kubeconfig(token))
		other, _ := connect(t, pool, cluster)
		assert.NotSame(t, made, other)
		assert.Equal(t, 1, server.Probes(token))
		requireClosed(t, made)
		requireConnections(t, server, 1)
		made = other
	}
	// Written anew, and the same: no reason for another connection.
	credentials.Put("team", "east", "kubeconfig", append(server.Kubeconfig("canary-4"), "# a comment\n"...))
	same, _ := connect(t, pool, cluster)
	assert.Same(t, made, same)
}

// C3: what cannot be used any more does not end the connection that there is: Releases that
// are being deleted may need it.
func TestC3ConnectKeepsWhatItHas(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	made, found := connect(t, pool, cluster)
	pool.Note(cluster.UID, made, found, true)
	credentials.Clear()
	_ = refused(t, pool, cluster)
	pool.Note(cluster.UID, nil, nil, true)
	ready, usable, known := pool.Ready(cluster.UID)
	require.True(t, usable && known)
	assert.Same(t, made, ready.Client)

	deleted := cluster.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{}
	same, _ := connect(t, pool, deleted)
	assert.Same(t, made, same, "its Secrets went before it")
	credentials.Put("team", "east", "other", nil)
	same, _ = connect(t, pool, deleted)
	assert.Same(t, made, same, "its key went before it")

	credentials.Fails(targets.ErrForbidden)
	same, _ = connect(t, pool, deleted)
	assert.Same(t, made, same, "what let Entente read them went before it")
	_ = refused(t, pool, cluster)
	credentials.Fails(errors.New("away"))
	_ = refused(t, pool, deleted)
	credentials.Fails(nil)
	credentials.Put("team", "east", "kubeconfig", []byte("{}"))
	_ = refused(t, pool, deleted)

	unknown := deleted.DeepCopy()
	unknown.UID = "unknown"
	credentials.Clear()
	_ = refused(t, pool, unknown)
}

// C3: each Cluster has a connection of its own, and the one of a name that was given again
// another one.
func TestC3ConnectionsAreApart(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	made := map[*target.Client]bool{}
	for _, name := range []string{"a", "b"} {
		client, _ := connect(t, pool, agentless(name, server.URL, byKubeconfig()))
		made[client] = true
	}
	again := agentless("a", server.URL, byKubeconfig())
	again.UID = "another"
	client, _ := connect(t, pool, again)
	made[client] = true
	assert.Len(t, made, 3)
	assert.Equal(t, 3, server.Open())

	pool.Forget("uid-a")
	pool.Forget("uid-a")
	pool.Forget("unknown")
	requireConnections(t, server, 2)
	pool.Close()
	requireConnections(t, server, 0)
	for client := range made {
		requireClosed(t, client)
	}
}

// C3: after Close nothing is connected to any more.
func TestC3Close(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	made, found := connect(t, pool, cluster)
	pool.Note(cluster.UID, made, found, true)
	pool.Close()
	pool.Close()
	_, err := pool.Connect(t.Context(), cluster)
	var problem *targets.Problem
	require.ErrorAs(t, err, &problem)
	assert.Contains(t, problem.Message, "stopping")
	credentials.Clear()
	_, err = pool.Connect(t.Context(), cluster)
	require.ErrorAs(t, err, &problem)
	_, usable, known := pool.Ready(cluster.UID)
	assert.False(t, usable || known)
	pool.Note(cluster.UID, made, found, true)
	requireConnections(t, server, 0)

	pool.Open()
	_, _, known = pool.Ready(cluster.UID)
	assert.False(t, known)
	_, err = pool.Connect(t.Context(), cluster)
	require.ErrorAs(t, err, &problem)
	assert.NotContains(t, problem.Message, "stopping")
}

// C3: a Pool is safe for concurrent use: no connection is left behind, and who connects at
// the same time with the same access gets the same connection.
func TestC3ConnectAtOnce(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	const many = 16
	var all sync.WaitGroup
	var read sync.WaitGroup
	read.Add(many)
	credentials.Before(func(context.Context, string, string) {
		read.Done()
		read.Wait() // all are about to make one
	})
	made := make([]*target.Client, many)
	for i := range many {
		all.Go(func() { made[i], _ = pool.Connect(t.Context(), cluster) })
	}
	all.Wait()
	for _, client := range made {
		require.Same(t, made[0], client)
		_, err := client.Probe(t.Context())
		require.NoError(t, err)
	}
	requireConnections(t, server, 1)
}

// C3: everything at once, for the race detector; nothing is left of it.
func TestC3PoolRaces(t *testing.T) {
	server, credentials := east(t)
	server.Asks(targetstest.Token, "canary-0", "canary-1")
	pool := newPool(t, credentials)
	var all sync.WaitGroup
	for i := range 8 {
		cluster := agentless([]string{"a", "b"}[i%2], server.URL, byKubeconfig())
		all.Go(func() {
			cancel := pool.Subscribe(func(name cache.ObjectName) { pool.Ready("uid-" + types.UID(name.Name)) })
			defer cancel()
			for j := range 30 {
				switch (i + j) % 6 {
				case 0:
					credentials.Put("team", "east", "kubeconfig", server.Kubeconfig([]string{"canary-0", "canary-1"}[j%2]))
				case 1:
					pool.Forget(cluster.UID)
				case 2:
					pool.Ready(cluster.UID)
				default:
					made, err := pool.Connect(t.Context(), cluster)
					if assert.NoError(t, err) {
						found, err := made.Probe(t.Context())
						if err == nil {
							pool.Note(cluster.UID, made, &found, true)
						} else {
							pool.Note(cluster.UID, made, nil, false)
						}
					}
				}
			}
		})
	}
	all.Wait()
	pool.Close()
	requireConnections(t, server, 0)
}
