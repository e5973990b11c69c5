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

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

// C3: a changed Secret is used at the next probe, and the connections of the one before end.
func TestC3ChangedSecret(t *testing.T) {
	f, server := reachable(t)
	for _, token := range []string{"canary-2", "canary-3"} {
		server.Asks(token)
		f.credentials.Put(team, "east", "kubeconfig", server.Kubeconfig(token))
		f.next("east")
		assert.Equal(t, "True Reachable", f.says("east"))
		assert.True(t, f.usable("east"))
		assert.Equal(t, 1, server.Probes(token))
		require.Eventually(t, func() bool { return server.Open() == 1 }, enough, time.Millisecond)
	}
	assert.Equal(t, 3, server.Opened())
	assert.Zero(t, f.attempts())
}

// C3: what went well with one connection says nothing of another one.
func TestC3ChangedSecretThatIsRefused(t *testing.T) {
	f, server := reachable(t)
	f.credentials.Put(team, "east", "kubeconfig", server.Kubeconfig("canary-unknown"))
	f.next("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	assert.False(t, f.usable("east"))

	// Nor if its Secret could not be read in between.
	f, server = reachable(t)
	f.credentials.Fails(targets.ErrForbidden)
	f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"), "patience")
	assert.True(t, f.usable("east"))
	f.credentials.Fails(nil)
	f.credentials.Put(team, "east", "kubeconfig", server.Kubeconfig("canary-unknown"))
	f.next("east")
	assert.False(t, f.usable("east"))
	assert.Equal(t, "False ProbeFailed", f.says("east"), "the status says what the Pool does")
}

// C3: a Secret that is gone, or says nothing any more, is a failed probe, with patience.
func TestC3SecretGoes(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"gone":    func(f *fixture) { f.credentials.Clear() },
		"garbage": func(f *fixture) { f.credentials.Put(team, "east", "kubeconfig", []byte("canary")) },
	} {
		f, server := reachable(t)
		change(f)
		f.next("east")
		f.next("east")
		assert.Equal(t, "True Reachable", f.says("east"), name)
		assert.True(t, f.usable("east"), name)
		f.next("east")
		assert.Equal(t, "False ProbeFailed", f.says("east"), name)
		assert.Contains(t, f.message("east"), "spec.agentless.auth.kubeconfig.secretRef", name)
		assert.False(t, f.usable("east"), name)
		assert.Equal(t, 1, server.Probes(""))
		f.credentials.Put(team, "east", "kubeconfig", server.Kubeconfig(targetstest.Token))
		f.next("east")
		assert.Equal(t, "True Reachable", f.says("east"), name)
		assert.Equal(t, 1, server.Opened(), "what it says is the same again, and the connection is still there")
	}
}

// C3: a changed spec is another cluster until it was reached: no patience, and its connection
// is another one.
func TestC3ChangedSpec(t *testing.T) {
	f, server := reachable(t)
	other := targetstest.Serve(t, "2")
	other.Answers("/version", `{"gitVersion":"v1.36.0"}`)
	other.Fails(http.StatusServiceUnavailable)
	f.credentials.Put(team, "other", "kubeconfig", other.Kubeconfig(targetstest.Token))
	f.changes("east", func(c *corev1alpha1.Cluster) {
		c.Generation = 2
		c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Name = "other"
	})
	f.once("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	assert.False(t, f.usable("east"))
	assert.Equal(t, "v1.37.2", f.stored("east").Status.DiscoveredVersion, "last discovered values stay")
	require.Eventually(t, func() bool { return server.Open() == 0 }, enough, time.Millisecond)
	other.Fails(0)
	f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.Equal(t, "v1.36.0", f.stored("east").Status.DiscoveredVersion)
	ready, _, _ := f.pool.Ready("uid-east")
	assert.Equal(t, "2", ready.UID)
	assert.Equal(t, 1, server.Probes(""))

	f.changes("east", func(c *corev1alpha1.Cluster) {
		c.Generation = 3
		c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Key = "nothing"
	})
	f.once("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"), "what it named before is not what it names now")
	assert.False(t, f.usable("east"))
}

// C3: what a probe of what is no longer asked for says is not taken down, and nothing that is
// probed at the same time is closed by it.
func TestC3OvertakenProbe(t *testing.T) {
	f, server := reachable(t)
	supported := f.stored("east").Spec
	f.clock.Step(f.due("east"))
	f.look("east")
	f.credentials.Before(func(context.Context, string, string) {
		f.credentials.Before(nil)
		// While it is probed it becomes what is not implemented, and comes back.
		f.changes("east", func(c *corev1alpha1.Cluster) {
			unsupportedSpecs()["agent"](c)
			c.Generation = 2
		})
		f.look("east")
		f.changes("east", func(c *corev1alpha1.Cluster) { c.Spec, c.Generation = supported, 3 })
		f.look("east")
		server.Fails(http.StatusServiceUnavailable) // for the probe of before
	})
	object, _ := f.well.queue.Get()
	f.probe(f.context(), object)
	f.well.queue.Done(object)
	server.Fails(0)
	f.look("east")
	assert.Equal(t, "False Unsupported", f.says("east"), "nothing else is known yet")
	f.probes()
	f.look("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.EqualValues(t, 3, f.stored("east").Status.ObservedGeneration)
	assert.True(t, f.usable("east"))
	for _, event := range f.events() {
		assert.NotContains(t, event, string(target.ReasonUnavailable))
		assert.NotContains(t, event, string(target.ReasonClosed))
	}
	require.Eventually(t, func() bool { return server.Open() == 1 }, enough, time.Millisecond)
}
