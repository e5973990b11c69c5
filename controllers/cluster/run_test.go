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
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/tools/events"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	group := f.factory.Core().V1alpha1()
	whole := Config{
		Client: f.client, Clusters: group.Clusters(), Releases: group.Releases(), Pool: f.pool, Resync: resync, Recorder: f.recorder, Clock: f.clock,
	}
	c, err := New(whole)
	require.NoError(t, err)
	assert.False(t, c.terminating(team), "without anybody to ask none is")
	for name, take := range map[string]func(*Config){
		"client": func(c *Config) { c.Client = nil }, "clusters": func(c *Config) { c.Clusters = nil }, "releases": func(c *Config) { c.Releases = nil },
		"pool": func(c *Config) { c.Pool = nil }, "resync": func(c *Config) { c.Resync = 0 }, "recorder": func(c *Config) { c.Recorder = nil },
		"clock": func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}

// Informers that were started before would not tell which Releases refer to a Cluster.
func TestNewNeedsInformersThatAreNotStarted(t *testing.T) {
	f := newFixture(t)
	client := fake.NewSimpleClientset()
	factory := externalversions.NewSharedInformerFactory(client, 0)
	group := factory.Core().V1alpha1()
	group.Releases().Informer()
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	cancel()
	factory.Shutdown()
	_, err := New(Config{
		Client: client, Clusters: group.Clusters(), Releases: group.Releases(), Pool: f.pool, Resync: resync, Recorder: events.NewFakeRecorder(1), Clock: f.clock,
	})
	require.Error(t, err)
}

// C1, C3: the controller by itself: from the first probe until the Cluster has gone, with the
// Releases that go with it.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server, prunes)
	stop := f.runs()
	says := func(name, wanted string) {
		t.Helper()
		f.until(name+" "+wanted, func() bool { return f.says(name) == wanted })
	}
	says("east", "True Reachable")
	assert.True(t, f.usable("east"))

	// Releases come and go between two probes.
	f.hasReleases(held("a", "east"), newRelease("b", "east"))
	counts := func(count int64) {
		t.Helper()
		require.Eventually(t, func() bool { return f.stored("east").Status.ReleaseCount == count }, enough, time.Millisecond)
	}
	counts(2)
	require.NoError(t, f.client.Tracker().Delete(releases, team, "b"))
	counts(1)

	// A twin is told of, when it comes.
	f.joins("west", server)
	f.until("twins", func() bool {
		return strings.HasSuffix(f.message("east"), "of: west.") && f.says("west") != "" && strings.HasSuffix(f.message("west"), "of: east.")
	})

	server.Fails(http.StatusServiceUnavailable)
	says("east", "False ProbeFailed")
	server.Fails(0)
	says("east", "True Reachable")
	f.isDeleted("east")
	f.until("deleting", func() bool { return assert.ObjectsAreEqual([]string{"a!"}, f.leftReleases()) })
	probed := server.Probes("")
	f.until("still probed", func() bool { return server.Probes("") > probed+5 })
	f.goes("a")
	says("east", "gone")
	f.until("withdrawn", func() bool { return f.message("west") == alone })
	f.until("one connection", func() bool { return server.Open() <= 1 })

	stop()
	require.Eventually(t, func() bool { return server.Open() == 0 }, enough, time.Millisecond)
	_, err := f.pool.Connect(t.Context(), newCluster("west"))
	require.ErrorContains(t, err, "stopping")
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"))
}

// A controller that has ended runs again: the catalog starts it anew, when it has panicked too.
func TestRunAgain(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server)
	f.factory.StartWithContext(f.context())
	for range 3 {
		end := f.runsOnce()
		probed := server.Probes("")
		f.until("probed", func() bool { return server.Probes("") > probed+1 && f.usable("east") })
		end()
		assert.False(t, f.usable("east"))
	}
}

// C3: while nothing changes nothing is written, however often a controller probes by itself,
// but for when the cluster was seen; and there is no Event.
func TestC3RunWritesNothing(t *testing.T) {
	f := newFixture(t)
	servers := map[string]*targetstest.Server{}
	for i := range 3 {
		name := "c" + strconv.Itoa(i)
		servers[name] = targetstest.Serve(t, name)
		f.joins(name, servers[name])
	}
	dead := targetstest.Serve(t, "dead")
	dead.Fails(http.StatusServiceUnavailable)
	f.joins("dead", dead)
	f.runs()
	var told []string
	f.until("known", func() bool {
		told = append(told, f.events()...)
		return len(told) >= 4
	})
	assert.Len(t, told, 4)
	f.writes()
	since, probed := f.clock.Now(), servers["c0"].Probes("")
	f.until("probed often", func() bool { return servers["c0"].Probes("") >= probed+30 && dead.Probes("") >= 5 })
	minutes := int(f.clock.Since(since)/time.Minute) + 1
	assert.LessOrEqual(t, f.writes(), 3*minutes)
	assert.Empty(t, f.events())
}

// C3: the end of the controller is no fault of a cluster.
func TestC3RunEndsWhileProbing(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server)
	stop := f.runs()
	f.until("reachable", func() bool { return f.says("east") == "True Reachable" })
	server.Freezes(true)
	probed := server.Probes("")
	f.until("it is being probed", func() bool { return server.Probes("") > probed })
	stop()
	assert.Equal(t, "True Reachable", f.says("east"))
	f.memory.lock.Lock()
	defer f.memory.lock.Unlock()
	assert.Zero(t, f.memory.states[f.object("east")].failures)
}

// Run fails when an informer has been stopped, and does not wait for ever.
func TestRunWithStoppedInformer(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.factory.StartWithContext(ctx)
	f.factory.WaitForCacheSyncWithContext(ctx)
	cancel()
	f.factory.Shutdown()
	ended := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { ended <- f.Run(t.Context()) })
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(enough):
		require.Fail(t, "It did not end")
	}
	running.Wait()
}

// Run ends with its context, also when the informers never get to know anything.
func TestRunWithoutInformers(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.Run(ctx))
	_, err := f.pool.Connect(t.Context(), newCluster("east"))
	var problem *targets.Problem
	require.ErrorAs(t, err, &problem)
	assert.Zero(t, server.Opened())
}
