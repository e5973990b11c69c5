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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets/targetstest"
)

// reachable returns a fixture with the Cluster east, which is.
func reachable(t *testing.T) (*fixture, *targetstest.Server) {
	t.Helper()
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server)
	f.once("east")
	require.Equal(t, "True Reachable", f.says("east"))
	require.Len(t, f.events(), 1)
	f.writes()
	return f, server
}

// C3: Ready turns False after three failures in a row, and True after one success.
func TestC3Patience(t *testing.T) {
	f, server := reachable(t)
	before := f.stored("east").Status
	server.Fails(http.StatusServiceUnavailable)
	for range patience - 1 {
		f.next("east")
		assert.Equal(t, "True Reachable", f.says("east"))
		assert.True(t, f.usable("east"))
	}
	server.Fails(0)
	f.next("east")
	server.Fails(http.StatusServiceUnavailable)
	for range patience - 1 {
		f.next("east")
		assert.Equal(t, "True Reachable", f.says("east"), "they were not in a row")
	}
	assert.Zero(t, f.attempts(), "nothing changed")
	f.next("east")
	status := f.stored("east").Status
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	assert.False(t, *status.Reachable)
	assert.False(t, f.usable("east"))
	assert.Equal(t, before.DiscoveredVersion, status.DiscoveredVersion, "last discovered values stay")
	assert.Equal(t, before.DiscoveredAPIVersions, status.DiscoveredAPIVersions)
	assert.Equal(t, before.LastSeen, status.LastSeen)
	assert.Equal(t, f.clock.Now().Truncate(time.Second), status.Conditions[0].LastTransitionTime.UTC())
	assert.Equal(t, 1, f.writes())
	assert.Equal(t, []string{"Warning ProbeFailed the cluster: " + string(target.ReasonUnavailable)}, f.events())
	for range 5 {
		f.next("east")
	}
	assert.Zero(t, f.attempts())
	server.Fails(0)
	f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.True(t, f.usable("east"))
	assert.Equal(t, []string{"Normal Reachable The cluster was connected to, and its version read."}, f.events())
}

// C3: why it is not reachable is kept up to date, which is no transition.
func TestC3ReasonOfFailure(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	server.Fails(http.StatusServiceUnavailable)
	f.joins("east", server)
	f.once("east")
	since := f.stored("east").Status.Conditions[0].LastTransitionTime
	server.Fails(http.StatusForbidden)
	f.next("east")
	assert.Contains(t, f.message("east"), string(target.ReasonForbidden))
	f.credentials.Clear()
	f.next("east")
	assert.Contains(t, f.message("east"), "spec.agentless.auth.kubeconfig.secretRef: ")
	assert.Equal(t, since, f.stored("east").Status.Conditions[0].LastTransitionTime)
	assert.Equal(t, 3, f.writes())
	assert.Len(t, f.events(), 1)
}

// C3: a restart is no reason to be impatient; but S1: what a status says lets nobody use the
// cluster.
func TestC3PatienceAfterRestart(t *testing.T) {
	f, server := reachable(t)
	f.restarts()
	server.Fails(http.StatusServiceUnavailable)
	f.once("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.False(t, f.usable("east"))
	_, _, known := f.pool.Ready("uid-east")
	assert.True(t, known)
	f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.Zero(t, f.attempts())
	f.next("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	f.restarts()
	f.once("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	assert.Equal(t, 1, f.attempts())
	assert.Empty(t, f.events())
	f.restarts()
	server.Fails(0)
	f.once("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	f.restarts()
	f.once("east")
	assert.Equal(t, 1, f.writes(), "a restart changes nothing")
	assert.Empty(t, f.events())
	assert.True(t, f.usable("east"))
}

// C3: lastSeen is written at most once a minute, and nothing else is while nothing changes.
func TestC3LastSeen(t *testing.T) {
	f, server := reachable(t)
	last := f.stored("east").Status.LastSeen.Time
	assert.Equal(t, noon, last.UTC())
	writes := 0
	for f.clock.Since(noon) < 10*time.Minute {
		f.next("east")
		now := f.stored("east").Status.LastSeen.Time
		if wrote := f.attempts(); wrote > 0 {
			assert.Equal(t, 1, wrote)
			assert.GreaterOrEqual(t, now.Sub(last), seenEvery)
			assert.Less(t, f.clock.Now().Sub(now), time.Second)
			writes++
		} else {
			assert.True(t, now.Equal(last))
		}
		last = now
	}
	assert.GreaterOrEqual(t, server.Probes(""), 50)
	assert.InDelta(t, 9, writes, 1)
	assert.Empty(t, f.events())

	// Not even after a restart in between.
	f.clock.Step(period)
	f.once("east")
	f.writes()
	last = f.stored("east").Status.LastSeen.Time
	f.clock.SetTime(last.Add(seenEvery - time.Second))
	f.restarts()
	f.once("east")
	assert.Zero(t, f.attempts())
	f.next("east")
	assert.Equal(t, 1, f.attempts())
}

// C3: what one look has not heard of yet, that of before, is not written over: no second
// transition, and no second Event.
func TestC3LookBeforeInformer(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"))
	f.look("east")
	f.probes()
	f.look("east")
	written := f.stored("east").Status.DeepCopy()
	f.clock.Step(time.Second)
	for range 3 {
		// The informer still shows what it was before the first write.
		_, err := f.sync(f.context(), f.object("east"))
		require.NoError(t, err)
	}
	assert.Equal(t, written, &f.stored("east").Status)
	assert.Equal(t, 1, f.writes())
	assert.Len(t, f.events(), 1)
}

// K2: a status is about the generation that was probed, until the next one was.
func TestK2ObservedGeneration(t *testing.T) {
	f, server := reachable(t)
	f.changes("east", func(c *corev1alpha1.Cluster) { c.Generation, c.Spec.Metadata = 2, map[string]string{"tier": "1"} })
	f.look("east")
	status := f.stored("east").Status
	assert.EqualValues(t, 1, status.ObservedGeneration, "that one was not probed yet")
	assert.EqualValues(t, 1, status.Conditions[0].ObservedGeneration)
	assert.Equal(t, 1, f.probes(), "it is probed at once, though it is not its time")
	f.look("east")
	status = f.stored("east").Status
	assert.EqualValues(t, 2, status.ObservedGeneration)
	assert.EqualValues(t, 2, status.Conditions[0].ObservedGeneration)
	assert.Equal(t, noon, status.Conditions[0].LastTransitionTime.UTC())
	assert.Equal(t, 2, server.Probes(""))
	assert.Equal(t, 1, server.Opened(), "it is the same connection")
	assert.Empty(t, f.events())
	f.look("east")
	assert.Zero(t, f.probes())
}

// K2: what changes while it is probed is probed again, at once.
func TestK2ChangeWhileProbed(t *testing.T) {
	f, server := reachable(t)
	f.clock.Step(f.due("east"))
	f.look("east")
	f.credentials.Before(func(context.Context, string, string) {
		f.credentials.Before(nil)
		f.changes("east", func(c *corev1alpha1.Cluster) { c.Generation = 2 })
		f.look("east")
	})
	assert.Equal(t, 1, f.probes())
	f.look("east")
	assert.Equal(t, 1, f.probes())
	f.look("east")
	assert.Equal(t, 3, server.Probes(""))
	assert.EqualValues(t, 2, f.stored("east").Status.ObservedGeneration)
}

// K2: the time of the last transition stays while the status does.
func TestK2TransitionTime(t *testing.T) {
	f, server := reachable(t)
	since := func() time.Time { return f.stored("east").Status.Conditions[0].LastTransitionTime.UTC() }
	for range 20 {
		f.next("east")
	}
	assert.Equal(t, noon, since())
	server.Answers("/version", `{"gitVersion":"v1.38.0"}`)
	f.next("east")
	assert.Equal(t, noon, since())
	f.changes("east", func(c *corev1alpha1.Cluster) { unsupportedSpecs()["agent"](c) })
	f.once("east")
	changed := f.clock.Now().Truncate(time.Second)
	assert.Equal(t, changed, since())
	f.clock.Step(time.Hour)
	f.once("east")
	assert.Equal(t, changed, since())
}

// S1, C3: what somebody else wrote into a status is put right at the next look, once.
func TestS1StatusIsPutRight(t *testing.T) {
	forged := func(c *corev1alpha1.Cluster) {
		c.Status = corev1alpha1.ClusterStatus{
			Reachable: ptr.To(true), DiscoveredVersion: "forged", DiscoveredAPIVersions: []string{"forged"}, ReleaseCount: 99, ObservedGeneration: 99,
			LastSeen: &metav1.Time{Time: noon.Add(1000 * time.Hour)},
			Conditions: []metav1.Condition{
				{Type: "Ready", Status: "True", Reason: "Reachable", Message: "forged", ObservedGeneration: 99, LastTransitionTime: metav1.NewTime(noon)},
				{Type: "Other", Status: "True", Reason: "Theirs", LastTransitionTime: metav1.NewTime(noon)},
			},
		}
	}
	cleared := func(c *corev1alpha1.Cluster) { c.Status = corev1alpha1.ClusterStatus{} }
	for name, test := range map[string]struct {
		prepare func(*fixture, *targetstest.Server)
		forge   func(*corev1alpha1.Cluster)
	}{
		"reachable":          {func(*fixture, *targetstest.Server) {}, forged},
		"reachable, cleared": {func(*fixture, *targetstest.Server) {}, cleared},
		"not reachable": {func(f *fixture, s *targetstest.Server) {
			s.Fails(http.StatusServiceUnavailable)
			for range patience {
				f.next("east")
			}
		}, forged},
		"not reachable, cleared": {func(f *fixture, s *targetstest.Server) {
			s.Fails(http.StatusServiceUnavailable)
			for range patience {
				f.next("east")
			}
		}, cleared},
	} {
		t.Run(name, func(t *testing.T) {
			f, server := reachable(t)
			test.prepare(f, server)
			right := f.stored("east").Status.DeepCopy()
			f.writes()
			f.changes("east", test.forge)
			f.look("east")
			status := f.stored("east").Status
			assert.Equal(t, right.Conditions[0].Status, status.Conditions[0].Status)
			assert.Equal(t, right.Conditions[0].Message, status.Conditions[0].Message)
			assert.Equal(t, right.Reachable, status.Reachable)
			assert.Equal(t, right.DiscoveredVersion, status.DiscoveredVersion)
			assert.Equal(t, right.DiscoveredAPIVersions, status.DiscoveredAPIVersions)
			assert.True(t, right.LastSeen.Equal(status.LastSeen), "%s, not %s", right.LastSeen, status.LastSeen)
			assert.EqualValues(t, 0, status.ReleaseCount)
			assert.EqualValues(t, 1, status.ObservedGeneration)
			for range 5 {
				f.look("east")
			}
			assert.Equal(t, 1, f.attempts())
			if len(status.Conditions) > 1 {
				assert.Equal(t, "Theirs", status.Conditions[1].Reason, "what is not ours stays")
			}
		})
	}
}

// S1: a status that was forged while nobody was there does no harm for long.
func TestS1ForgedBeforeRestart(t *testing.T) {
	f, _ := reachable(t)
	f.changes("east", func(c *corev1alpha1.Cluster) {
		c.Status.LastSeen = &metav1.Time{Time: noon.Add(1000 * time.Hour)}
		c.Status.DiscoveredVersion = "forged"
	})
	f.restarts()
	f.once("east")
	assert.Equal(t, "v1.37.2", f.stored("east").Status.DiscoveredVersion)
	assert.Equal(t, noon, f.stored("east").Status.LastSeen.UTC())
	assert.Equal(t, 1, f.writes())
}
