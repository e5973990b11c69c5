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

package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/targets/targetstest"
)

// requireNothingKnown requires that nothing is known of any Cluster, and no connection open.
func (f *fixture) requireNothingKnown(servers ...*targetstest.Server) {
	f.t.Helper()
	f.memory.lock.Lock()
	defer f.memory.lock.Unlock()
	assert.Empty(f.t, f.memory.states)
	assert.Empty(f.t, f.memory.twins)
	for _, server := range servers {
		require.Eventually(f.t, func() bool { return server.Open() == 0 }, enough, time.Millisecond)
	}
}

// C3: nothing is left of a Cluster that is gone, in whatever way it went.
func TestC3Forget(t *testing.T) {
	for name, goes := range map[string]func(*fixture){
		"deleted": func(f *fixture) {
			f.isDeleted("east")
			f.once("east")
		},
		"with its finalizer forced off": func(f *fixture) {
			require.NoError(f.t, f.client.Tracker().Delete(clusters, team, "east"))
		},
		"unsupported before": func(f *fixture) {
			f.changes("east", unsupportedSpecs()["agent"])
			f.once("east")
			f.isDeleted("east")
			f.once("east")
		},
		"while it is probed": func(f *fixture) {
			f.clock.Step(f.due("east"))
			f.look("east")
			f.credentials.Before(func(context.Context, string, string) {
				f.credentials.Before(nil)
				require.NoError(f.t, f.client.Tracker().Delete(clusters, team, "east"))
				f.look("east")
			})
			assert.Equal(f.t, 1, f.probes())
		},
		"before it is probed": func(f *fixture) {
			f.clock.Step(f.due("east"))
			f.look("east")
			require.NoError(f.t, f.client.Tracker().Delete(clusters, team, "east"))
			f.look("east")
			assert.Equal(f.t, 1, f.probes())
		},
		"while its Secret is gone": func(f *fixture) {
			f.credentials.Clear()
			f.next("east")
			require.NoError(f.t, f.client.Tracker().Delete(clusters, team, "east"))
		},
		"while its first probe is under way": func(f *fixture) {
			f.joins("east2", targetstest.Serve(f.t, "2"))
			f.look("east2")
			f.credentials.Before(func(context.Context, string, string) {
				f.credentials.Before(nil)
				require.NoError(f.t, f.client.Tracker().Delete(clusters, team, "east2"))
				f.look("east2")
			})
			assert.Equal(f.t, 1, f.probes())
			require.NoError(f.t, f.client.Tracker().Delete(clusters, team, "east"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, server := reachable(t)
			goes(f)
			require.Equal(t, "gone", f.says("east"))
			f.writes()
			f.once("east")
			f.requireNothingKnown(server)
			_, _, known := f.pool.Ready("uid-east")
			assert.False(t, known)
			assert.Zero(t, f.attempts())
			assert.Zero(t, f.probes())
		})
	}
}

// C3: what has the name of another one knows nothing of that.
func TestC3Recreated(t *testing.T) {
	for name, during := range map[string]bool{"between probes": false, "while it is probed": true} {
		t.Run(name, func(t *testing.T) {
			f, server := reachable(t)
			other := targetstest.Serve(t, "2")
			recreate := func() {
				require.NoError(t, f.client.Tracker().Delete(clusters, team, "east"))
				f.joins("east", other, func(c *corev1alpha1.Cluster) { c.UID = "another" })
				f.look("east")
			}
			if during {
				f.clock.Step(f.due("east"))
				f.look("east")
				f.credentials.Before(func(context.Context, string, string) {
					f.credentials.Before(nil)
					recreate()
				})
				// Its lane is not done with the name yet.
				object, _ := f.well.queue.Get()
				f.probe(f.context(), object)
				f.well.queue.Done(object)
			} else {
				recreate()
			}
			assert.Empty(t, f.says("east"), "it was not probed yet")
			f.probes()
			f.look("east")
			assert.Equal(t, "True Reachable", f.says("east"))
			assert.Equal(t, alone, f.message("east"))
			ready, usable, _ := f.pool.Ready("another")
			assert.True(t, usable)
			assert.Equal(t, "2", ready.UID)
			_, _, known := f.pool.Ready("uid-east")
			assert.False(t, known)
			require.Eventually(t, func() bool { return server.Open() == 0 }, enough, time.Millisecond)
			assert.Len(t, f.events(), 1)
			assert.Len(t, f.memory.states, 1)
		})
	}
}

// C3: Clusters that come and go, many of them, leave nothing behind.
func TestC3ForgetMany(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	for range 200 {
		f.joins("east", server)
		f.once("east")
		f.isDeleted("east")
		f.once("east")
		f.events()
	}
	f.once("east")
	f.requireNothingKnown(server)
	assert.Zero(t, f.well.queue.Len()+f.other.queue.Len())
	_, err := f.sync(f.context(), cache.NewObjectName("absent", "absent"))
	assert.NoError(t, err)
}
