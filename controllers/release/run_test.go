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

package release

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/peering/record"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	whole := f.config(f.pool)
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"client": func(c *Config) { c.Client = nil }, "clusters": func(c *Config) { c.Clusters = nil }, "releases": func(c *Config) { c.Releases = nil },
		"pool": func(c *Config) { c.Pool = nil }, "ledger": func(c *Config) { c.Ledger = nil }, "resync": func(c *Config) { c.Resync = 0 },
		"timeout": func(c *Config) { c.DeleteTimeout = -1 }, "recorder": func(c *Config) { c.Recorder = nil }, "clock": func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}

// eventually requires that a Release shows something soon.
func (f *fixture) eventually(name, want string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.shows(name) == want }, patience, time.Millisecond, want)
}

// C4: a Release is looked at when it changes, and again when it is time, until Run is ended.
func TestC4Run(t *testing.T) {
	f := newFixture(t)
	stop := f.run()
	f.wants("shop", configMap("a"))
	f.eventually("shop", "True Applied")
	f.resources("shop", configMap("a"), configMap("b"))
	require.Eventually(t, func() bool { return f.release("shop").Status.ObservedGeneration == 2 }, patience, time.Millisecond)
	f.far.changes(func(to *far) { delete(to.objects, configMapAt("a")) })
	require.Eventually(t, func() bool {
		f.clock.Step(resync)
		return f.far.object(configMapAt("a")) != nil
	}, patience, 10*time.Millisecond)
	f.deletes("shop")
	require.Eventually(t, func() bool {
		f.clock.Step(time.Second)
		return f.release("shop") == nil
	}, patience, 10*time.Millisecond)
	assert.Empty(t, f.far.names())
	stop()
	f.wants("bank", configMap("c"))
	f.sees("bank")
	assert.Empty(t, f.far.names())
}

// C4: a Release goes on as soon as its Cluster can be used, without waiting for its time.
func TestC4RunIsToldOfClusters(t *testing.T) {
	f := newFixture(t)
	f.removes("east")
	f.run()
	f.wants("shop", configMap("a"))
	f.eventually("shop", "False ClusterNotReady")
	f.connects("east", f.far)
	f.probes("east")
	f.eventually("shop", "True Applied")
	f.far.answers(func(call) http.HandlerFunc { return fail(500) })
	f.probes("east")
	f.eventually("shop", "False ClusterNotReady")
	f.far.answers(nil)
	f.probes("east")
	f.eventually("shop", "True Applied")
	f.far.changes(func(to *far) { to.uid = "another" })
	f.probes("east")
	f.eventually("shop", "False ClusterNotReady")
	f.far.changes(func(to *far) { to.uid = kubeSystem })
	f.probes("east")
	f.eventually("shop", "True Applied")
	f.clusters("east", func(c *corev1alpha1.Cluster) { c.Spec.Agentless.Auth.Type = corev1alpha1.AuthTypeOIDC })
	f.eventually("shop", "False ClusterNotReady")
	f.removes("east")
	require.Eventually(t, func() bool {
		return f.condition("shop").Message == "spec.clusterRef: there is no such Cluster in the namespace."
	}, patience, time.Millisecond)
}

// C4: a change of the status of a Cluster alone has nothing looked at.
func TestC4RunIgnoresStatuses(t *testing.T) {
	f := newFixture(t)
	f.connects("west", f.far)
	f.wants("shop")
	f.wants("bank")
	f.edit("bank", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "west" })
	f.sees("shop")
	f.sees("bank")
	looked := make(chan cache.ObjectName, 10)
	cancel := f.subscribe(func(name cache.ObjectName) { looked <- name })
	defer cancel()
	require.Eventually(t, func() bool { return len(looked) == 3 }, patience, time.Millisecond, "at the start each is told once")
	assert.ElementsMatch(t, []cache.ObjectName{nothing, cache.NewObjectName(namespace, "shop"), cache.NewObjectName(namespace, "bank")}, []cache.ObjectName{<-looked, <-looked, <-looked})
	f.clusters("east", func(c *corev1alpha1.Cluster) {
		c.Generation--
		c.Status.ReleaseCount++
	})
	f.clusters("west", func(c *corev1alpha1.Cluster) { c.Spec.Metadata = map[string]string{"a": "b"} })
	assert.Equal(t, cache.NewObjectName(namespace, "bank"), <-looked, "the first that is told")
}

// C4: what the ledger knows of Releases that went while nobody looked is forgotten, once the
// ledger was read, and whether there are other Releases or not.
func TestC4RunSweeps(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		for _, others := range []bool{true, false} {
			t.Run(fmt.Sprintf("fresh %t, others %t", fresh, others), func(t *testing.T) {
				f := newFixture(t)
				f.wants("shop", configMap("a"))
				f.applies("shop")
				if others {
					f.wants("bank", configMap("b"))
					f.applies("bank")
				}
				f.loses("shop")
				if !fresh {
					f.ledger.SetFresh(record.ErrStale)
				}
				f.start()
				f.run()
				require.Eventually(t, f.clock.HasWaiters, patience, time.Millisecond)
				f.ledger.SetFresh(nil)
				require.Eventually(t, func() bool {
					f.clock.Step(unknownAgain)
					return f.ledger.Release("uid-shop") == nil
				}, patience, 10*time.Millisecond)
				assert.NotNil(t, f.far.object(configMapAt("a")), "its objects stay")
				if others {
					f.lists("bank", "b")
				}
			})
		}
	}
}

// C4: of those that are gone each is forgotten, also when another one cannot be.
func TestC4SweepAll(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		f.wants(name, configMap(name))
		f.applies(name)
	}
	f.loses("a")
	f.loses("b")
	f.sees("a")
	f.sees("b")
	f.ledger.failing(func(before int) error {
		if before == 0 {
			return errStore
		}
		return nil
	})
	_, err := f.sync(f.context(), nothing)
	require.ErrorIs(t, err, errStore)
	assert.Len(t, f.ledger.Releases(), 2)
	again, err := f.sync(f.context(), nothing)
	require.NoError(t, err)
	assert.Equal(t, resync, again)
	f.lists("c", "c")
	assert.Len(t, f.ledger.Releases(), 1)
}

// A status that could not be written is written at the next look, and nothing is applied again
// for that.
func TestAStatusThatCannotBeWritten(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	fault := errStore
	f.client.PrependReactor("patch", releases.Resource, func(clienttesting.Action) (bool, runtime.Object, error) { return fault != nil, nil, fault })
	_, err := f.once("shop")
	require.ErrorIs(t, err, errStore)
	assert.Empty(t, f.events(), "nothing was said")
	for _, fault = range []error{apierrors.NewNotFound(releases.GroupResource(), "shop"), apierrors.NewConflict(releases.GroupResource(), "shop", errStore)} {
		_, err = f.once("shop")
		require.NoError(t, err, "the informer is about to tell")
	}
	fault = nil
	f.applies("shop")
	assert.Equal(t, []string{"PATCH a"}, f.far.writes())
	assert.Len(t, f.events(), 1)
}

// Run ends when its context does, also before there is anything.
func TestRunEnds(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(f.context())
	cancel()
	require.NoError(t, f.Run(ctx))
}
