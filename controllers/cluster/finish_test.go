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
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/targets/targetstest"
)

// held is a Release that goes when what is in its target has, as all do.
func held(name, cluster string) *corev1alpha1.Release {
	release := newRelease(name, cluster)
	release.Finalizers = []string{corev1alpha1.FinalizerRelease}
	return release
}

// goes lets a Release go that is being deleted.
func (f *fixture) goes(name string) {
	f.t.Helper()
	object, err := f.client.Tracker().Get(releases, team, name)
	require.NoError(f.t, err)
	require.NotNil(f.t, object.(*corev1alpha1.Release).DeletionTimestamp, name)
	require.NoError(f.t, f.client.Tracker().Delete(releases, team, name))
}

// verbs counts what was asked of a resource since the last call.
func (f *fixture) verbs(verb, resource string) (count int) {
	for _, action := range f.client.Actions() {
		if action.Matches(verb, resource) {
			count++
		}
	}
	f.client.ClearActions()
	return count
}

// C1: without pruning the Cluster is deleted, and its Releases stay.
func TestC1DeletedWithoutPruning(t *testing.T) {
	for name, policy := range map[string]*corev1alpha1.ClusterDeletionPolicy{
		"no policy": nil, "not said": {}, "not to be pruned": {PruneReleases: ptr.To(false)},
	} {
		f, server := newFixture(t), targetstest.Serve(t, "1")
		f.joins("east", server, func(c *corev1alpha1.Cluster) { c.Spec.DeletionPolicy = policy })
		f.hasReleases(held("a", "east"), newRelease("b", "east"))
		f.once("east")
		f.isDeleted("east")
		f.once("east")
		assert.Equal(t, "gone", f.says("east"), name)
		assert.Equal(t, []string{"a", "b"}, f.leftReleases(), name)
		assert.Zero(t, f.verbs("delete", "releases"), name)
		f.once("east")
		f.requireNothingKnown(server)
	}
}

// C1: with pruning each Release of the namespace that refers to the Cluster is deleted, and
// the Cluster after all of them. Until then it is probed, and serves.
func TestC1DeletedWithPruning(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server, prunes)
	elsewhere := held("d", "east")
	elsewhere.Namespace = "other"
	going := held("e", "east")
	going.DeletionTimestamp = &metav1.Time{Time: noon}
	f.hasReleases(held("a", "east"), held("b", "east"), held("c", "west"), elsewhere, going)
	f.once("east")
	f.isDeleted("east")
	f.client.ClearActions()
	again := f.once("east")
	assert.Equal(t, deletionAgain, again)
	assert.ElementsMatch(t, []string{"a!", "b!", "c", "d", "e!"}, f.leftReleases())
	assert.Equal(t, 2, f.verbs("delete", "releases"), "what is going already is left alone")
	f.once("east")
	assert.Zero(t, f.verbs("delete", "releases"))

	// Its Secrets went before it.
	f.credentials.Clear()
	for range 2 * patience {
		f.next("east")
		assert.True(t, f.usable("east"))
	}
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.Equal(t, 1, server.Opened())
	assert.Equal(t, 2+2*patience, server.Probes(""))
	assert.EqualValues(t, 2, f.stored("east").Status.ObservedGeneration)

	f.goes("a")
	f.goes("b")
	f.once("east")
	assert.EqualValues(t, 1, f.stored("east").Status.ReleaseCount)
	f.goes("e")
	f.once("east")
	assert.Equal(t, "gone", f.says("east"))
	assert.ElementsMatch(t, []string{"c", "d"}, f.leftReleases())
	f.once("east")
	f.requireNothingKnown(server)
}

// C1: a Cluster that nobody can reach waits for its Releases, too, and is probed for them.
func TestC1DeletedWhileUnreachable(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	server.Fails(http.StatusServiceUnavailable)
	f.joins("east", server, prunes)
	f.hasReleases(held("a", "east"))
	f.once("east")
	f.isDeleted("east")
	f.once("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	server.Fails(0)
	f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.True(t, f.usable("east"))
	f.has(newCluster("agent", unsupportedSpecs()["agent"], func(c *corev1alpha1.Cluster) { c.Spec.DeletionPolicy = prune() }))
	f.hasReleases(held("b", "agent"))
	f.isDeleted("agent")
	assert.Equal(t, deletionAgain, f.once("agent"))
	assert.Equal(t, "False Unsupported", f.says("agent"))
	f.goes("b")
	f.once("agent")
	assert.Equal(t, "gone", f.says("agent"))
}

// C1: a Release that was made a moment ago is found, of which the informer has not heard.
func TestC1DeletedFindsNewReleases(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"), prunes)
	f.once("east")
	f.isDeleted("east")
	f.shows()
	other := held("b", "west")
	f.hasReleases(held("a", "east"), other)
	_, err := f.sync(f.context(), f.object("east"))
	require.NoError(t, err)
	assert.NotEqual(t, "gone", f.says("east"))
	assert.ElementsMatch(t, []string{"a!", "b"}, f.leftReleases())
	_, err = f.sync(f.context(), f.object("east"))
	require.NoError(t, err)
	assert.NotEqual(t, "gone", f.says("east"), "it still is not shown")
	assert.Equal(t, 1, f.verbs("delete", "releases"))
	f.goes("a")
	_, err = f.sync(f.context(), f.object("east"))
	require.NoError(t, err)
	assert.Equal(t, "gone", f.says("east"))
}

// C1: a Release is deleted that refers to the Cluster, not another one that has its name now.
func TestC1DeletedMindsUID(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"), prunes)
	f.hasReleases(held("a", "east"), held("b", "east"))
	f.once("east")
	f.isDeleted("east")
	f.shows()
	require.NoError(t, f.client.Tracker().Delete(releases, team, "a"))
	recreated := held("a", "west")
	recreated.UID = "another"
	f.hasReleases(recreated)
	_, err := f.sync(f.context(), f.object("east"))
	require.NoError(t, err, "the informer is about to tell")
	assert.ElementsMatch(t, []string{"a", "b!"}, f.leftReleases())
}

// C1: one Release that cannot be deleted holds up no other one, nor the probes that those need.
func TestC1DeletedInPart(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server, prunes)
	f.hasReleases(held("a", "east"), held("b", "east"), held("c", "east"))
	f.once("east")
	refused := "" // whichever comes first
	f.client.PrependReactor("delete", "releases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.DeleteActionImpl).Name
		if refused == "" {
			refused = name
		}
		return name == refused, nil, apierrors.NewForbidden(releases.GroupResource(), "", errors.New("a webhook says so"))
	})
	f.isDeleted("east")
	f.restarts() // so that nothing is known of its target
	for range 2 {
		f.shows()
		_, err := f.sync(f.context(), f.object("east"))
		require.ErrorContains(t, err, "could not delete Release")
		// At once: the order is another one the next time.
		for _, left := range f.leftReleases() {
			assert.Equal(t, left != refused, strings.HasSuffix(left, "!"), left)
		}
		f.probes()
	}
	assert.True(t, f.usable("east"))
	assert.EqualValues(t, 2, f.stored("east").Status.ObservedGeneration)
}

// C1: while it is not known that no Release is left, the Cluster stays.
func TestC1DeletedWithoutAnswer(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"), prunes)
	f.once("east")
	f.isDeleted("east")
	failing := true
	f.client.PrependReactor("list", "releases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return failing, nil, apierrors.NewServiceUnavailable("not now")
	})
	f.shows()
	_, err := f.sync(f.context(), f.object("east"))
	require.ErrorContains(t, err, "could not list the Releases")
	f.probes()
	assert.True(t, f.usable("east"))
	assert.NotEqual(t, "gone", f.says("east"))
	failing = false
	f.once("east")
	assert.Equal(t, "gone", f.says("east"))
}

// C1: in a namespace that is being deleted the Releases go by themselves, and need the Cluster
// until they have.
func TestC1NamespaceTerminates(t *testing.T) {
	for name, policy := range map[string]*corev1alpha1.ClusterDeletionPolicy{"pruned": prune(), "not pruned": nil} {
		f, server := newFixture(t), targetstest.Serve(t, "1")
		f.joins("east", server, func(c *corev1alpha1.Cluster) { c.Spec.DeletionPolicy = policy })
		f.hasReleases(held("a", "east"))
		f.once("east")
		f.terminates[team] = true
		f.isDeleted("east")
		f.credentials.Clear()
		f.client.ClearActions()
		f.once("east")
		f.next("east")
		assert.True(t, f.usable("east"), name)
		assert.Equal(t, policy != nil, f.verbs("delete", "releases") > 0, name)
		f.hasReleases(held("b", "east"))
		require.NoError(t, f.client.Tracker().Delete(releases, team, "a"))
		for _, object := range f.factory.Core().V1alpha1().Releases().Informer().GetStore().List() {
			require.NoError(t, f.factory.Core().V1alpha1().Releases().Informer().GetStore().Delete(object))
		}
		_, err := f.sync(f.context(), f.object("east"))
		require.NoError(t, err)
		assert.NotEqual(t, "gone", f.says("east"), "the store is asked: %s", name)
		require.NoError(t, f.client.Tracker().Delete(releases, team, "b"))
		f.once("east")
		assert.Equal(t, "gone", f.says("east"), name)
	}
}

func prune() *corev1alpha1.ClusterDeletionPolicy {
	return &corev1alpha1.ClusterDeletionPolicy{PruneReleases: ptr.To(true)}
}

// C5: a Release that somebody else holds, after it was carried out, does not keep its Cluster.
func TestC5ReleaseThatIsHeld(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"), prunes)
	f.once("east")
	release := held("a", "east")
	release.Finalizers = append(release.Finalizers, "example.com/never")
	f.hasReleases(release)
	f.isDeleted("east")
	f.once("east")
	assert.Contains(t, f.stored("east").Finalizers, corev1alpha1.FinalizerPruneReleases, "its deletion policy is not carried out yet")
	now := metav1.NewTime(noon)
	release = release.DeepCopy()
	release.DeletionTimestamp, release.Finalizers = &now, []string{"example.com/never"}
	require.NoError(t, f.client.Tracker().Update(releases, release, team))
	require.Eventually(t, func() bool {
		f.once("east")
		return f.stored("east") == nil
	}, enough, time.Millisecond)
}

// C1: only the finalizer of this controller is taken off, whatever others there are.
func TestC1OtherFinalizers(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"), func(c *corev1alpha1.Cluster) {
		c.Finalizers = []string{"example.com/before", corev1alpha1.FinalizerPruneReleases, "example.com/after"}
	})
	f.once("east")
	f.isDeleted("east")
	f.once("east")
	assert.Equal(t, []string{"example.com/before", "example.com/after"}, f.stored("east").Finalizers)
	f.once("east")
	assert.Equal(t, []string{"example.com/before", "example.com/after"}, f.stored("east").Finalizers)
	// While others hold it, it is served.
	probed := f.stored("east").Status.LastSeen
	f.clock.Step(seenEvery)
	f.once("east")
	assert.True(t, probed.Before(f.stored("east").Status.LastSeen))
}

// C1: what cannot be let go is tried again; what is gone meanwhile is gone.
func TestC1FinalizerFails(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		failed bool
	}{
		"gone":        {apierrors.NewNotFound(clusters.GroupResource(), "east"), false},
		"changed":     {apierrors.NewInvalid(clusters.GroupVersion().WithKind("Cluster").GroupKind(), "east", nil), true},
		"unavailable": {apierrors.NewServiceUnavailable("x"), true},
	} {
		f := newFixture(t)
		f.joins("east", targetstest.Serve(t, "1"))
		f.once("east")
		f.isDeleted("east")
		f.client.PrependReactor("patch", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
		f.shows()
		_, err := f.sync(f.context(), f.object("east"))
		assert.Equal(t, test.failed, err != nil, "%s: %v", name, err)
	}
}

// What changed meanwhile is not written over; what cannot be written is tried again.
func TestC3WriteFails(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		failed bool
	}{
		"conflict":    {apierrors.NewConflict(clusters.GroupResource(), "east", errors.New("x")), false},
		"gone":        {apierrors.NewNotFound(clusters.GroupResource(), "east"), false},
		"unavailable": {apierrors.NewServiceUnavailable("x"), true},
		"no answer":   {context.DeadlineExceeded, true},
	} {
		f := newFixture(t)
		f.joins("east", targetstest.Serve(t, "1"))
		f.client.PrependReactor("patch", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
		f.look("east")
		f.probes()
		f.shows()
		_, err := f.sync(f.context(), f.object("east"))
		assert.Equal(t, test.failed, err != nil, "%s: %v", name, err)
		assert.Empty(t, f.events(), "of what nobody was told there is no Event")
	}
}

func objectIn(namespace, name string) cache.ObjectName { return cache.NewObjectName(namespace, name) }
