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
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
)

// C4: a target that cannot be used is said, and left alone: nothing is applied, and nothing
// pruned. It is looked at again when something changes.
func TestC4ClusterNotReady(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fixture)
		want   string
		back   func(*fixture)
	}{
		"no Cluster": {
			func(f *fixture) { f.removes("east") }, "spec.clusterRef: there is no such Cluster in the namespace.",
			func(f *fixture) { f.connects("east", f.far) },
		},
		"not reachable": {
			func(f *fixture) { f.far.answers(func(call) http.HandlerFunc { return fail(500) }) }, "The Cluster is not reachable.",
			func(f *fixture) { f.far.answers(nil) },
		},
		"wrong credentials": {
			func(f *fixture) { f.credentials.set("east/token", []byte("other")) }, "The Cluster is not reachable.",
			func(f *fixture) { f.credentials.set("east/token", []byte(f.far.token)) },
		},
		"not implemented": {
			func(f *fixture) {
				f.clusters("east", func(c *corev1alpha1.Cluster) { c.Spec.ConnectionMode = corev1alpha1.ConnectionModeAgent })
			}, "The Cluster is of a kind that is not implemented.",
			func(f *fixture) { f.connects("east", f.far) },
		},
		"no UID": {
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = "" }) },
			"The UID of the namespace kube-system cannot be read, by which a cluster is known from another: the credentials need the verb get for it.",
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = kubeSystem }) },
		},
		"another cluster": {
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = "another" }) }, another,
			func(f *fixture) { f.far.changes(func(to *far) { to.uid = kubeSystem }) },
		},
		"another address, of another cluster": {
			func(f *fixture) {
				other := newFar(f.t)
				other.uid = "another"
				f.connects("east", other)
			}, another,
			func(f *fixture) { f.connects("east", f.far) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"), configMap("b"))
			f.applies("shop")
			f.events()
			test.change(f)
			if name != "no Cluster" {
				f.probes("east")
			}
			f.far.asked()
			f.resources("shop", configMap("a"), configMap("c"))
			again, err := f.once("shop")
			require.NoError(t, err)
			assert.Zero(t, again, "what changes tells")
			assert.Equal(t, "False ClusterNotReady", f.shows("shop"))
			assert.Equal(t, test.want, f.condition("shop").Message)
			assert.Empty(t, f.far.asked())
			f.lists("shop", "a", "b")
			status := f.release("shop").Status
			assert.EqualValues(t, 2, status.ObservedGeneration)
			assert.Equal(t, &corev1alpha1.ReleaseAttempt{Generation: 1, ResolvedCluster: f.far.URL}, status.LastAttempted, "nothing was tried")
			_, err = f.once("shop")
			require.NoError(t, err)
			assert.Empty(t, f.writes(), "it is said once")
			f.requireSilent()

			test.back(f)
			f.probes("east")
			f.applies("shop")
			f.clock.Step(goingAgain)
			f.applies("shop")
			assert.Equal(t, []string{"a", "c"}, f.far.names())
		})
	}
}

// C4: of a Cluster that was not probed yet nothing is said: after a restart no Release flaps.
func TestC4NotKnownYet(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.events()
	f.far.asked()
	f.start()
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Empty(t, f.writes())
	assert.Empty(t, f.far.asked())
	f.probes("east")
	f.applies("shop")
	assert.Empty(t, f.writes(), "all is as it was")
	assert.Equal(t, []string{"PATCH a"}, f.far.writes())
	assert.Empty(t, f.events())
}

// C4: a Release whose objects are all gone may go to another target.
func TestC4NothingIsElsewhere(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.resources("shop")
	f.applies("shop")
	f.clock.Step(goingAgain)
	f.applies("shop")
	f.far.changes(func(to *far) { to.uid = "another" })
	f.probes("east")
	f.resources("shop", configMap("a"))
	f.applies("shop")
	assert.Equal(t, "another", f.ledger.Release("uid-shop").Target)
}

// C4: after its credentials changed a Cluster is applied to anew, with those.
func TestC4Rotation(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.far.asked()
	f.far.changes(func(to *far) { to.token = "rotated" })
	f.credentials.set("east/token", []byte("rotated"))
	f.probes("east")
	f.applies("shop")
	writes := f.far.asked(http.MethodPatch)
	require.Len(t, writes, 1)
	assert.Equal(t, "rotated", writes[0].token)
	assert.Empty(t, f.writes())
}

// C4: credentials that are not accepted any more are a target that does not answer.
func TestC4Unauthorized(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	f.far.changes(func(to *far) { to.token = "rotated" })
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Equal(t, "The cluster did not answer as it should: it does not accept the credentials (401).", f.condition("shop").Message)
	f.lists("shop")
	f.requireSilent()
}

// C4: in the cluster that Entente runs in a Release is applied as the ServiceAccount
// entente-release of its namespace, in all that is asked, and never as Entente.
func TestC4InCluster(t *testing.T) {
	f := newFixture(t)
	f.clusters("east", func(c *corev1alpha1.Cluster) {
		c.Spec.ConnectionMode, c.Spec.Agentless = corev1alpha1.ConnectionModeInCluster, nil
	})
	f.probes("east")
	f.far.changes(func(to *far) { to.calls = nil })
	f.wants("shop", configMap("a"), configMap("b"), `{"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"}}`)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	f.resources("shop", configMap("a"))
	f.applies("shop")
	assert.Equal(t, &corev1alpha1.ReleaseAttempt{Generation: 2}, f.release("shop").Status.LastAttempted, "it has no address")
	f.deletes("shop")
	f.goes("shop")
	assert.Empty(t, f.far.names())
	f.far.changes(func(to *far) {
		assert.NotEmpty(t, to.calls)
		for _, c := range to.calls {
			if c.id.name == "kube-system" { // which cluster it is, Entente asks itself
				assert.Equal(t, "GET ", c.verb+" "+c.user)
				continue
			}
			assert.Equal(t, "system:serviceaccount:shops:entente-release", c.user, c)
		}
	})
	f.probes("east")
	f.far.changes(func(to *far) { assert.Empty(t, to.calls[len(to.calls)-1].user, "a probe is Entente's own") })
}

// C4: what the ServiceAccount may not do is not done.
func TestC4InClusterForbidden(t *testing.T) {
	f := newFixture(t)
	f.clusters("east", func(c *corev1alpha1.Cluster) {
		c.Spec.ConnectionMode, c.Spec.Agentless = corev1alpha1.ConnectionModeInCluster, nil
	})
	f.probes("east")
	f.far.answers(func(c call) http.HandlerFunc {
		if c.id.name != "" && c.user != "" {
			return fail(403)
		}
		return nil
	})
	f.wants("shop", configMap("a"))
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Equal(t, "ConfigMap shops/a: the cluster forbids it.", f.condition("shop").Message)
	assert.Empty(t, f.far.names())
	f.lists("shop")
}

// C4: a Cluster that names another target shows that one.
func TestC4ResolvedCluster(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	// The same cluster, by another address.
	same := newFar(t)
	f.connects("east", same)
	f.probes("east")
	f.applies("shop")
	assert.Equal(t, same.URL, f.release("shop").Status.LastAttempted.ResolvedCluster)
	assert.Equal(t, []string{"a"}, same.names())
}

// C4: a Release of one namespace never gets at the Cluster of another one.
func TestC4OtherNamespaces(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	release := f.release("shop")
	release.Namespace = "theirs"
	_, ready, obstacle, err := f.reach(release, nil)
	require.NoError(t, err)
	assert.Nil(t, ready.Client)
	require.NotNil(t, obstacle)
	assert.Equal(t, "spec.clusterRef: there is no such Cluster in the namespace.", obstacle.message)
}

// C4: what came of an attempt that Entente's own end broke off is not shown.
func TestC4Stopping(t *testing.T) {
	for _, way := range []string{"applied", "deleted"} {
		t.Run(way, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"))
			f.applies("shop")
			f.events()
			f.clock.Step(deleteTimeout + resync)
			if way == "deleted" {
				f.deletes("shop")
				f.clock.Step(deleteTimeout)
			}
			arrived := make(chan struct{}, 10)
			f.far.answers(func(c call) http.HandlerFunc {
				if c.id.name != "a" {
					return nil
				}
				return func(w http.ResponseWriter, r *http.Request) {
					arrived <- struct{}{}
					hang(w, r)
				}
			})
			f.sees("shop")
			f.client.ClearActions()
			stop := f.run()
			<-arrived
			stop()
			assert.Empty(t, f.writes())
			assert.Empty(t, f.events())
			f.knows("shop", "a")
			require.NotNil(t, f.release("shop"))
			assert.Equal(t, "True Applied", f.shows("shop"))
		})
	}
}

// P11, R15: whatever a target answers, no byte of it comes out, and what hangs, or never ends,
// ends.
func TestP11AHostileTarget(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"it hangs":        hang,
		"it never ends":   endless,
		"it is no answer": broken,
		"it ends at once": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"it redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://canary.example/", http.StatusFound)
		},
		"unauthorized": fail(401),
		"no status":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, canary, http.StatusBadGateway) },
		"a status that is none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"canary","message":"canary\ncanary","reason":"canary","code":"canary"}`))
		},
	} {
		for _, verb := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
			t.Run(name+", "+verb, func(t *testing.T) {
				f := newFixture(t)
				f.clusters("east", func(c *corev1alpha1.Cluster) {
					c.Spec.Agentless.ConnectionParameters.Timeout.Duration = 300 * time.Millisecond
				})
				f.probes("east")
				f.wants("shop", configMap("a"), configMap("z"))
				f.applies("shop")
				f.far.answers(on(verb, "z", handler))
				f.resources("shop", configMap("a"), configMap("b"))
				if verb != http.MethodDelete {
					f.resources("shop", configMap("a"), configMap("z"))
				}
				_, err := f.once("shop")
				require.NoError(t, err)
				if name != "it is no answer" || verb != http.MethodDelete { // it may have been done: that is looked at again
					assert.Equal(t, "False ApplyFailed", f.shows("shop"))
				}
				f.lists("shop", append([]string{"a"}, map[bool][]string{true: {"b", "z"}, false: {"z"}}[verb == http.MethodDelete]...)...)
				f.deletes("shop")
				_, err = f.once("shop")
				require.NoError(t, err)
				if verb != http.MethodPatch {
					assert.Equal(t, "False Deleting", f.shows("shop"))
					f.clock.Step(deleteTimeout)
					_, err = f.once("shop")
					require.NoError(t, err)
					assert.Nil(t, f.release("shop"))
				}
				assert.Contains(t, f.log.text(), "Wrote status", "it is seen what is logged")
				f.requireSilent()
			})
		}
	}
}

// P11: a target that asks for patience gets as much of it as there is.
func TestP11ATargetThatAsksForPatience(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.far.answers(on(http.MethodGet, "a", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		fail(http.StatusTooManyRequests)(w, r)
	}))
	f.clock.Step(resync)
	f.sees("shop")
	ctx, cancel := context.WithTimeout(f.context(), 500*time.Millisecond)
	defer cancel()
	again, err := f.sync(ctx, cache.NewObjectName(namespace, "shop"))
	require.NoError(t, err)
	assert.Equal(t, firstRetry, again)
	assert.Equal(t, "False ApplyFailed", f.shows("shop"), "it is written all the same")
	assert.Equal(t, "The cluster did not answer as it should: no answer in time.", f.condition("shop").Message)
	f.lists("shop", "a")
	f.requireSilent()
}

// P11: an answer may be about anything; it goes back to who gave it, at the most.
func TestP11AHostileAnswer(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	f.far.answers(on(http.MethodGet, "a", func(w http.ResponseWriter, _ *http.Request) {
		f.far.say(w, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "canary/v1", "kind": canary, "metadata": map[string]any{
				"name": canary, "namespace": canary, "uid": canary, "resourceVersion": canary,
				"labels": map[string]any{corev1alpha1.LabelRelease: "uid-shop"}, "finalizers": []any{canary},
			},
		}}, nil)
	}))
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	for _, c := range f.far.asked(http.MethodPatch) {
		assert.Contains(t, []string{"a", "b"}, c.id.name)
		assert.NotContains(t, c.path, canary)
	}
	f.requireSilent()
}

// C4: one target that hangs has not all workers.
func TestC4ATargetThatHangs(t *testing.T) {
	f := newFixture(t)
	well := newFar(t)
	well.uid = "well"
	f.connects("west", well)
	f.probes("west")
	for i := range 3 * workers {
		name := fmt.Sprintf("shop-%d", i)
		f.wants(name, configMap(name))
	}
	f.far.answers(func(c call) http.HandlerFunc {
		if c.id.name != "" {
			return hang
		}
		return nil
	})
	f.run()
	require.Eventually(t, func() bool {
		f.far.lock.Lock()
		defer f.far.lock.Unlock()
		return f.far.running == perTarget
	}, patience, time.Millisecond)
	f.wants("bank", configMap("b"))
	f.edit("bank", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "west" })
	require.Eventually(t, func() bool { return f.shows("bank") == "True Applied" }, patience, time.Millisecond)
	f.far.changes(func(to *far) { assert.Equal(t, perTarget, to.most) })
	f.far.changes(func(to *far) { assert.Empty(t, to.objects) })
	assert.NotNil(t, well.object(configMapAt("b")))
}

// C4: nor does a namespace hold all workers, however many clusters it has; and who is slow, or
// was not tried yet, keeps those waiting that are the same.
func TestC4SharesOfWorkers(t *testing.T) {
	m, all := newMemory(), 0
	in := func(namespace string) *corev1alpha1.Release {
		all++
		return &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strconv.Itoa(all), UID: types.UID(strconv.Itoa(all))}}
	}
	enters := func(release *corev1alpha1.Release) func(slow bool) {
		leave, free := m.enter(release, &target.Client{})
		if !free {
			return nil
		}
		return leave
	}
	quick := func(namespace string) *corev1alpha1.Release {
		release := in(namespace)
		enters(release)(false)
		return release
	}
	fast := make([]*corev1alpha1.Release, perNamespace+1)
	for i := range fast {
		fast[i] = quick("fast")
	}
	var leaves []func(bool)
	for range slowPerNamespace {
		leaves = append(leaves, enters(in("slow")))
	}
	assert.Nil(t, enters(in("slow")), "of one namespace")
	for range slowWorkers - slowPerNamespace {
		leaves = append(leaves, enters(in("other")))
	}
	assert.Nil(t, enters(in("third")), "of all")
	for _, release := range fast[:perNamespace] {
		leave := enters(release)
		require.NotNil(t, leave, "those that are quick have their share")
		leaves = append(leaves, leave)
	}
	assert.Nil(t, enters(fast[perNamespace]), "and no namespace more than that")
	for _, leave := range leaves {
		leave(true)
	}
	assert.Empty(t, m.busy)
	assert.Empty(t, m.crowded)
	assert.Empty(t, m.slowIn)
	assert.Zero(t, m.slow)
	for range slowWorkers / slowPerNamespace {
		for range slowPerNamespace {
			require.NotNil(t, enters(in(strconv.Itoa(m.slow/slowPerNamespace))))
		}
	}
	assert.Nil(t, enters(fast[0]), "one that took long is slow")
}
