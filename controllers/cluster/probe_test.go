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
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

// C1: convoy connected to the cluster and read its Kubernetes version.
func TestC1Reachable(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"))
	again := f.once("east")
	cluster := f.stored("east")
	assert.Equal(t, "True Reachable", saidOf(cluster))
	assert.True(t, *cluster.Status.Reachable)
	assert.Equal(t, "v1.37.2", cluster.Status.DiscoveredVersion)
	assert.Equal(t, []string{"apps/v1", "batch/v1", "batch/v1beta1", "v1"}, cluster.Status.DiscoveredAPIVersions)
	assert.EqualValues(t, 1, cluster.Status.ObservedGeneration)
	assert.EqualValues(t, 1, cluster.Status.Conditions[0].ObservedGeneration)
	assert.Equal(t, noon, cluster.Status.LastSeen.UTC())
	assert.Equal(t, noon, cluster.Status.Conditions[0].LastTransitionTime.UTC())
	assert.Nil(t, cluster.Status.AgentStatus)
	assert.Zero(t, cluster.Status.ReleaseCount)
	assert.Equal(t, 1, f.writes())
	assert.InDelta(t, period, again, float64(period)/10)
	assert.True(t, f.usable("east"))
}

// C3: what was discovered is sorted and complete, also of a cluster with many API groups.
func TestC3DiscoveredIsComplete(t *testing.T) {
	f := newFixture(t)
	server := targetstest.Serve(t, "1")
	var groups, want []string
	for i := range 3000 {
		groups = append(groups, fmt.Sprintf(`{"name":"g%d.example.com","versions":[{"version":"v1"}]}`, i))
		want = append(want, fmt.Sprintf("g%d.example.com/v1", i))
	}
	server.Answers("/apis", `{"kind":"APIGroupList","groups":[`+strings.Join(groups, ",")+`]}`)
	f.joins("east", server)
	f.once("east")
	want = append(want, "v1")
	slices.Sort(want)
	assert.Equal(t, want, f.stored("east").Status.DiscoveredAPIVersions)

	server.Answers("/apis", `{"kind":"APIGroupList","groups":[]}`)
	server.Answers("/version", `{"gitVersion":"v1.38.0"}`)
	f.clock.Step(seenEvery)
	f.once("east")
	assert.Equal(t, []string{"v1"}, f.stored("east").Status.DiscoveredAPIVersions, "what it has no more is gone")
	assert.Equal(t, "v1.38.0", f.stored("east").Status.DiscoveredVersion)
	assert.Equal(t, 2, f.writes())
	assert.Len(t, f.events(), 1, "it is no transition")
}

// C3: a cluster that is another one at every probe has its status written once a minute.
func TestC3DiscoveredThatFlaps(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("east", server)
	f.once("east")
	f.writes()
	start, version := f.clock.Now(), 0
	for f.clock.Since(start) < 10*seenEvery {
		version++
		server.Answers("/version", fmt.Sprintf(`{"gitVersion":"v1.%d.0"}`, version))
		f.next("east")
	}
	assert.Greater(t, version, 50)
	writes := f.writes()
	assert.LessOrEqual(t, writes, 22, "besides, when it was seen is written once a minute")
	assert.GreaterOrEqual(t, writes, 8)
	f.clock.Step(seenEvery)
	f.once("east")
	assert.Equal(t, fmt.Sprintf("v1.%d.0", version), f.stored("east").Status.DiscoveredVersion, "in the end it is the one that there is")
}

// unsupportedSpecs has what is not implemented, with the gate off.
func unsupportedSpecs() map[string]func(*corev1alpha1.Cluster) {
	auth := func(auth corev1alpha1.ClusterAuthSpec) func(*corev1alpha1.Cluster) {
		return func(c *corev1alpha1.Cluster) { c.Spec.Agentless.Auth = auth }
	}
	selector := corev1alpha1.SecretKeySelector{Name: "east", Key: "token"}
	return map[string]func(*corev1alpha1.Cluster){
		"agent": func(c *corev1alpha1.Cluster) {
			c.Spec = corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeAgent, Agent: &corev1alpha1.ClusterAgentModeSpec{}}
		},
		"execPlugin": auth(corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeExecPlugin, ExecPlugin: &corev1alpha1.ExecPluginAuthSpec{Command: "canary"}}),
		"oidc":       auth(corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeOIDC, OIDC: &corev1alpha1.OIDAuthSpec{IssuerURL: "https://canary"}}),
		"token":      auth(corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeToken, Token: &corev1alpha1.TokenAuthSpec{TokenRef: selector}}),
		"clientCert": auth(corev1alpha1.ClusterAuthSpec{
			Type: corev1alpha1.AuthTypeClientCert, ClientCert: &corev1alpha1.ClientCertAuthSpec{CertRef: selector, KeyRef: selector},
		}),
	}
}

// C1: what is not implemented is said, and looked at again at the resync only.
func TestC1Unsupported(t *testing.T) {
	for name, change := range unsupportedSpecs() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.joins("east", targetstest.Serve(t, "1"), change)
			for range 5 {
				assert.Equal(t, resync, f.once("east"))
				f.clock.Step(resync)
			}
			cluster := f.stored("east")
			assert.Equal(t, "False Unsupported", saidOf(cluster))
			assert.Contains(t, f.message("east"), "implemented")
			assert.False(t, *cluster.Status.Reachable)
			assert.EqualValues(t, 1, cluster.Status.ObservedGeneration)
			assert.Nil(t, cluster.Status.LastSeen)
			assert.Empty(t, cluster.Status.DiscoveredVersion)
			assert.Equal(t, 1, f.attempts(), "nothing changed")
			assert.Zero(t, f.credentials.Reads())
			if assert.Len(t, f.events(), 1) {
				f.changes("east", func(c *corev1alpha1.Cluster) { c.Generation = 2 })
				f.once("east")
				assert.EqualValues(t, 2, f.stored("east").Status.ObservedGeneration)
				assert.Empty(t, f.events())
			}
		})
	}
}

// C1: the controller that runs by itself does not look at it in between.
func TestC1UnsupportedWithoutBackoff(t *testing.T) {
	f := newFixture(t)
	f.has(newCluster("east", unsupportedSpecs()["agent"]))
	f.runs()
	f.until("unsupported", func() bool { return f.says("east") == "False Unsupported" })
	server := targetstest.Serve(t, "1")
	f.joins("west", server)
	f.until("reachable", func() bool { return f.says("west") == "True Reachable" })
	// It is looked at once more for its own status.
	f.until("shown", func() bool { return f.looked("east") >= 2 })
	before, since := f.looked("east"), f.clock.Since(noon)
	// The probes of the other one tell that the controller had its chance.
	for probed := server.Probes(""); f.clock.Since(noon) < resync-since-2*period; probed++ {
		f.until("probed", func() bool { return server.Probes("") > probed })
	}
	assert.Equal(t, before, f.looked("east"), "it is not time yet")
	f.until("looked at again", func() bool { return f.looked("east") > before })
	assert.Equal(t, before+1, f.looked("east"))
	assert.Equal(t, "False Unsupported", f.says("east"))
}

// C1: the alpha auth types work behind their gate.
func TestC1TokenAndCertBehindGate(t *testing.T) {
	f := newFixture(t, func(c *targets.Config) { c.TokenAndCert = true })
	server := targetstest.Serve(t, "1")
	specs := unsupportedSpecs()
	for _, kind := range []string{"token", "clientCert"} {
		f.has(newCluster(kind, specs[kind], func(c *corev1alpha1.Cluster) {
			c.Spec.Agentless.Server = server.URL
			c.Spec.Agentless.CAPublicCertRef = &corev1alpha1.ConfigMapKeySelector{Name: "ca", Key: "ca.crt"}
			if c.Spec.Agentless.Auth.ClientCert != nil {
				c.Spec.Agentless.Auth.ClientCert.CertRef.Key = "cert"
				c.Spec.Agentless.Auth.ClientCert.KeyRef.Key = "key"
			}
		}))
	}
	f.credentials.PutMap(team, "ca", "ca.crt", server.CA)
	f.credentials.Put(team, "east", "token", []byte(targetstest.Token))
	cert, key := targetstest.Certificate(t, "me")
	f.credentials.Put(team, "east", "cert", cert)
	f.credentials.Put(team, "east", "key", key)
	for _, kind := range []string{"token", "clientCert"} {
		f.once(kind)
		assert.Equal(t, "True Reachable", f.says(kind), kind)
	}
	f.targets.TokenAndCert = false
	f.restarts()
	f.once("token")
	assert.Equal(t, "False Unsupported", f.says("token"), "the gate was closed")
	assert.Contains(t, f.message("token"), "alpha")
}

// C1: a Cluster that becomes one of a kind that is not implemented loses its connection at
// once, and is as good as new when it comes back.
func TestC1BecomesUnsupported(t *testing.T) {
	f := newFixture(t)
	server := targetstest.Serve(t, "1")
	f.joins("east", server)
	f.once("east")
	supported := f.stored("east").Spec
	f.clock.Step(time.Second)
	f.changes("east", func(c *corev1alpha1.Cluster) {
		unsupportedSpecs()["agent"](c)
		c.Generation = 2
	})
	assert.Equal(t, resync, f.once("east"))
	cluster := f.stored("east")
	assert.Equal(t, "False Unsupported", saidOf(cluster))
	assert.False(t, *cluster.Status.Reachable)
	assert.Equal(t, "v1.37.2", cluster.Status.DiscoveredVersion, "last discovered values stay")
	assert.Equal(t, noon, cluster.Status.LastSeen.UTC())
	assert.Equal(t, noon.Add(time.Second), cluster.Status.Conditions[0].LastTransitionTime.UTC())
	assert.False(t, f.usable("east"))
	require.Eventually(t, func() bool { return server.Open() == 0 }, enough, time.Millisecond)

	server.Fails(http.StatusServiceUnavailable)
	f.changes("east", func(c *corev1alpha1.Cluster) { c.Spec, c.Generation = supported, 3 })
	f.once("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"), "it was not reachable, so there is no patience")
	server.Fails(0)
	f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.EqualValues(t, 3, f.stored("east").Status.ObservedGeneration)
	assert.Len(t, f.events(), 4)
}

// C1: why a cluster could not be connected to, or its version not be read.
func TestC1ProbeFailed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fixture, *targetstest.Server)
		want   string
	}{
		"unauthorized": {func(_ *fixture, s *targetstest.Server) { s.Asks("another") }, "the cluster: " + string(target.ReasonUnauthorized)},
		"forbidden":    {func(_ *fixture, s *targetstest.Server) { s.Fails(http.StatusForbidden) }, "the cluster: " + string(target.ReasonForbidden)},
		"unavailable":  {func(_ *fixture, s *targetstest.Server) { s.Fails(http.StatusServiceUnavailable) }, "the cluster: " + string(target.ReasonUnavailable)},
		"redirected":   {func(_ *fixture, s *targetstest.Server) { s.Fails(http.StatusFound) }, "the cluster: " + string(target.ReasonRedirected)},
		"no version":   {func(_ *fixture, s *targetstest.Server) { s.Answers("/version", `{"canary":"canary"}`) }, "the cluster: " + string(target.ReasonNotKubernetes)},
		"no JSON":      {func(_ *fixture, s *targetstest.Server) { s.Answers("/version", "canary") }, "the cluster: " + string(target.ReasonNotKubernetes)},
		"no API":       {func(_ *fixture, s *targetstest.Server) { s.Answers("/api", ""); s.Answers("/apis", "") }, "the cluster: " + string(target.ReasonNotKubernetes)},
		"too large": {func(_ *fixture, s *targetstest.Server) {
			s.Answers("/version", `{"gitVersion":"`+strings.Repeat("canary", 1<<20)+`"}`)
		}, "the cluster: " + string(target.ReasonTooLarge)},
		"another authority": {func(f *fixture, s *targetstest.Server) {
			f.credentials.Put(team, "east", "kubeconfig", targetstest.Kubeconfig(s.URL, nil, "{token: canary}"))
		}, "the cluster: " + string(target.ReasonUntrusted)},

		"no Secret": {func(f *fixture, _ *targetstest.Server) { f.credentials.Clear() }, "spec.agentless.auth.kubeconfig.secretRef: the Secret cannot be used: it does not exist."},
		"no key": {func(f *fixture, _ *targetstest.Server) {
			f.credentials.Clear()
			f.credentials.Put(team, "east", "other", nil)
		}, "spec.agentless.auth.kubeconfig.secretRef: the Secret cannot be used: it has no such key."},
		"may not": {func(f *fixture, _ *targetstest.Server) { f.credentials.Fails(targets.ErrForbidden) }, "spec.agentless.auth.kubeconfig.secretRef: the Secret cannot be used: it may not be read by Entente."},
		"garbage": {func(f *fixture, _ *targetstest.Server) {
			f.credentials.Put(team, "east", "kubeconfig", []byte("canary"))
		}, "In the kubeconfig of spec.agentless.auth.kubeconfig.secretRef: "},
		"exec": {func(f *fixture, s *targetstest.Server) {
			f.credentials.Put(team, "east", "kubeconfig", targetstest.Kubeconfig(s.URL, s.CA, "{exec: {apiVersion: v1, command: canary, args: [canary]}}"))
		}, "users[].user.exec: "},
		"a file": {func(f *fixture, s *targetstest.Server) {
			f.credentials.Put(team, "east", "kubeconfig", targetstest.Kubeconfig(s.URL, s.CA, "{tokenFile: /var/run/canary}"))
		}, "users[].user.tokenFile: "},
		"impersonation": {func(f *fixture, s *targetstest.Server) {
			f.credentials.Put(team, "east", "kubeconfig", targetstest.Kubeconfig(s.URL, s.CA, "{token: canary, as: canary}"))
		}, "users[].user.as: "},
		"its server": {func(f *fixture, _ *targetstest.Server) {
			f.credentials.Put(team, "east", "kubeconfig", targetstest.Kubeconfig("http://canary.example.com", nil, "{token: canary}"))
		}, "clusters[].cluster.server: "},
		"a panic": {func(f *fixture, _ *targetstest.Server) {
			f.credentials.Before(func(context.Context, string, string) { panic("odd") })
		}, "a fault of Entente"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			server := targetstest.Serve(t, "1")
			f.joins("east", server)
			test.change(f, server)
			f.once("east")
			assert.Equal(t, "False ProbeFailed", f.says("east"), "never seen, so at once")
			assert.Contains(t, f.message("east"), test.want)
			assert.False(t, *f.stored("east").Status.Reachable)
			assert.EqualValues(t, 1, f.stored("east").Status.ObservedGeneration)
			assert.Nil(t, f.stored("east").Status.LastSeen)
			assert.False(t, f.usable("east"))
			f.silent()
		})
	}
}

// C1: a block that is missing, which validation does not let in, is a failure and no panic.
func TestC1NoBlock(t *testing.T) {
	f := newFixture(t)
	f.has(newCluster("east", func(c *corev1alpha1.Cluster) { c.Spec.Agentless = nil }))
	f.once("east")
	assert.Equal(t, "False ProbeFailed", f.says("east"))
	assert.Equal(t, "spec.agentless: it is missing.", f.message("east"))
}

// C3: what failed is tried again, each time later, up to a minute.
func TestC3Retry(t *testing.T) {
	f := newFixture(t)
	server := targetstest.Serve(t, "1")
	server.Fails(http.StatusServiceUnavailable)
	f.joins("east", server)
	again := f.once("east")
	for _, want := range []time.Duration{
		2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute, time.Minute,
	} {
		assert.InDelta(t, want, again, float64(want)/10)
		again = f.next("east")
	}
	assert.Equal(t, 9, server.Probes(""))
	assert.Equal(t, 1, f.attempts(), "nothing changed")
	assert.Len(t, f.events(), 1)
	for range 1000 { // no overflow
		f.memory.note(f.object("east"), "uid-east", &outcome{generation: 1}, f.clock.Now())
	}
	assert.InDelta(t, lastRetry, f.due("east"), float64(lastRetry)/10)
	server.Fails(0)
	again = f.next("east")
	assert.Equal(t, "True Reachable", f.says("east"))
	assert.InDelta(t, period, again, float64(period)/10)
	server.Fails(http.StatusServiceUnavailable)
	assert.InDelta(t, period, f.next("east"), float64(period)/10, "patience")
}

// C1: the mode for the cluster where Entente runs.
func TestC1InCluster(t *testing.T) {
	here := func(c *corev1alpha1.Cluster) {
		c.Spec = corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeInCluster}
	}
	f := newFixture(t)
	f.has(newCluster("here", here))
	f.once("here")
	assert.Equal(t, "False ProbeFailed", f.says("here"), "it is implemented, but there is none")
	assert.Equal(t, "spec.connectionMode: Entente runs in no cluster.", f.message("here"))

	server := targetstest.Serve(t, "1")
	f = newFixture(t, func(c *targets.Config) {
		c.Host = hostConfig(server)
		c.Policy.AllowLocal = false
	})
	f.has(newCluster("here", here))
	f.once("here")
	assert.Equal(t, "True Reachable", f.says("here"))
	assert.Zero(t, f.credentials.Reads())
	for _, request := range server.Requests() {
		assert.Empty(t, request.Impersonate)
	}
}

// C1: releaseCount is kept, of what refers to it in its namespace (a deviation).
func TestC1ReleaseCount(t *testing.T) {
	f := newFixture(t)
	f.joins("east", targetstest.Serve(t, "1"))
	f.hasReleases(newRelease("a", "east"), newRelease("b", "east"), newRelease("c", "west"))
	elsewhere := newRelease("d", "east")
	elsewhere.Namespace = "other"
	f.hasReleases(elsewhere)
	f.once("east")
	assert.EqualValues(t, 2, f.stored("east").Status.ReleaseCount)
	require.NoError(t, f.client.Tracker().Delete(releases, team, "a"))
	f.once("east")
	assert.EqualValues(t, 1, f.stored("east").Status.ReleaseCount)
	require.NoError(t, f.client.Tracker().Delete(releases, team, "b"))
	f.once("east")
	assert.Zero(t, f.stored("east").Status.ReleaseCount)
	assert.Len(t, f.events(), 1)

	f.has(newCluster("agent", unsupportedSpecs()["agent"]))
	f.hasReleases(newRelease("e", "agent"))
	f.once("agent")
	assert.EqualValues(t, 1, f.stored("agent").Status.ReleaseCount)
	assert.Equal(t, "False Unsupported", f.says("agent"))
	assert.True(t, ptr.Deref(f.stored("east").Status.Reachable, false))
}
