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
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/peering/record"
)

var errStore = errors.New("the store is away")

// C4: what leaves a Release is deleted after all else was applied, as the very object that was
// looked at.
func TestC4Prune(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("old"), `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`)
	f.applies("shop")
	old := f.far.object(configMapAt("old"))
	f.far.asked()
	f.resources("shop", configMap("b"), configMap("c"), configMap("a"))
	f.applies("shop")
	writes := f.far.asked(http.MethodPatch, http.MethodDelete)
	var order []string
	for _, c := range writes {
		order = append(order, c.verb+" "+c.id.name)
		if c.id.name == "old" {
			preconditions, _, _ := unstructured.NestedStringMap(c.body, "preconditions")
			assert.Equal(t, map[string]string{"uid": string(old.GetUID()), "resourceVersion": old.GetResourceVersion()}, preconditions)
			assert.Equal(t, "Background", c.body["propagationPolicy"])
		}
	}
	assert.Equal(t, []string{"PATCH b", "PATCH c", "PATCH a", "DELETE old", "DELETE web"}, order)
	f.clock.Step(goingAgain)
	f.applies("shop")
	f.lists("shop", "a", "b", "c")
	assert.Equal(t, "All 3 objects are applied.", f.condition("shop").Message)
	assert.Equal(t, []string{"a", "b", "c"}, f.far.names())
}

// C4: another version of the same object is not another object.
func TestC4AnotherVersion(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", `{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"web"}}`)
	f.applies("shop")
	f.far.asked()
	f.resources("shop", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`)
	f.applies("shop")
	assert.Equal(t, []string{"PATCH web"}, f.far.writes())
	assert.Equal(t, "v1", f.release("shop").Status.Objects[0].Version)
}

// C4: only what bears the UID of the Release is deleted, and as it was when that was seen.
func TestC4OnlyWhatIsOurs(t *testing.T) {
	relabel := func(labels map[string]string) func(*far) {
		return func(to *far) {
			to.changed(configMapAt("b"), func(o *unstructured.Unstructured) { o.SetLabels(labels) })
		}
	}
	for name, test := range map[string]struct {
		change func(*far)
		calls  []string
	}{
		"the label was taken off": {relabel(nil), []string{"PATCH a"}},
		"another Release's":       {relabel(mine("other")), []string{"PATCH a"}},
		"it was made anew": {func(to *far) {
			to.changes(func(f *far) { delete(f.objects, configMapAt("b")) })
			to.has(configMapAt("b"), "v1", "ConfigMap", nil)
		}, []string{"PATCH a"}},
		"it changes in between": {func(to *far) {
			to.answers(func(c call) http.HandlerFunc {
				if c.verb == http.MethodDelete {
					to.changed(configMapAt("b"), func(o *unstructured.Unstructured) { o.SetLabels(nil) })
				}
				return nil
			})
		}, []string{"PATCH a", "DELETE b"}},
		"it is made anew in between": {func(to *far) {
			to.answers(func(c call) http.HandlerFunc {
				if c.verb == http.MethodDelete {
					to.has(configMapAt("b"), "v1", "ConfigMap", nil)
				}
				return nil
			})
		}, []string{"PATCH a", "DELETE b"}},
	} {
		for _, way := range []string{"pruned", "deleted"} {
			t.Run(name+", "+way, func(t *testing.T) {
				f := newFixture(t)
				f.wants("shop", configMap("a"), configMap("b"))
				f.applies("shop")
				f.far.asked()
				test.change(f.far)
				if way == "deleted" {
					f.deletes("shop")
					f.goes("shop")
					assert.Equal(t, []string{"b"}, f.far.names())
					return
				}
				f.resources("shop", configMap("a"))
				f.applies("shop")
				assert.Equal(t, test.calls, f.far.writes())
				f.clock.Step(goingAgain)
				f.applies("shop")
				assert.NotNil(t, f.far.object(configMapAt("b")))
				f.lists("shop", "a")
			})
		}
	}
}

// C4: what cannot be deleted is said, tried again, and not forgotten.
func TestC4WhatCannotBeDeleted(t *testing.T) {
	for code, want := range map[int]string{403: "the cluster forbids it", 422: "the cluster takes it for invalid", 429: "the cluster cannot do it now", 500: "the cluster refused it"} {
		f := newFixture(t)
		f.wants("shop", configMap("a"), configMap("b"), configMap("c"))
		f.applies("shop")
		f.far.answers(on(http.MethodDelete, "b", fail(code)))
		f.resources("shop", configMap("a"))
		require.Equal(t, "False ApplyFailed", f.says("shop"))
		assert.Equal(t, "What is not wanted any more could not be deleted: ConfigMap shops/b: "+want+".", f.condition("shop").Message)
		assert.Equal(t, []string{"a", "b"}, f.far.names())
		f.far.answers(nil)
		f.clock.Step(firstRetry)
		f.applies("shop")
		f.clock.Step(goingAgain)
		f.applies("shop")
		f.lists("shop", "a")
		f.requireSilent()
	}
}

// S1: whoever writes a status gains nothing: nothing is deleted by it, and nothing kept.
func TestS1AForgedStatus(t *testing.T) {
	theirs := corev1alpha1.ReleaseObject{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "theirs"}
	for name, status := range map[string]corev1alpha1.ReleaseStatus{
		"more":    {Objects: []corev1alpha1.ReleaseObject{theirs}},
		"nothing": {},
		"applied": {
			Objects: []corev1alpha1.ReleaseObject{theirs}, ObservedGeneration: 2, LastAttempted: &corev1alpha1.ReleaseAttempt{Generation: 2, ResolvedCluster: "https://planted.example"},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: 2}},
		},
	} {
		for _, way := range []string{"pruned", "deleted"} {
			t.Run(name+", "+way, func(t *testing.T) {
				f := newFixture(t)
				// It even has the label: but the Release has not applied it.
				f.far.has(configMapAt("theirs"), "v1", "ConfigMap", mine("shop"))
				f.wants("shop", configMap("a"), configMap("b"))
				f.applies("shop")
				forge := func() { f.edit("shop", func(r *corev1alpha1.Release) { r.Status = *status.DeepCopy() }) }
				forge()
				if way == "deleted" {
					f.deletes("shop")
					f.goes("shop")
					assert.Equal(t, []string{"theirs"}, f.far.names())
					return
				}
				f.applies("shop")
				assert.Equal(t, []string{"patch status"}, f.writes(), "it is put right")
				f.lists("shop", "a", "b")
				assert.Equal(t, f.far.URL, f.release("shop").Status.LastAttempted.ResolvedCluster)
				f.resources("shop", configMap("a"))
				forge()
				f.applies("shop")
				f.clock.Step(goingAgain)
				f.applies("shop")
				assert.Equal(t, []string{"a", "theirs"}, f.far.names())
				f.lists("shop", "a")
			})
		}
	}
}

// S1: a status of a Cluster says nothing of whether it can be used.
func TestS1AForgedStatusOfACluster(t *testing.T) {
	f := newFixture(t)
	no, yes := false, true
	f.clusters("east", func(c *corev1alpha1.Cluster) { c.Status.Reachable = &no })
	f.clusters("west", func(c *corev1alpha1.Cluster) {
		c.Spec.ConnectionMode = corev1alpha1.ConnectionModeInCluster
		c.Status = corev1alpha1.ClusterStatus{Reachable: &yes, Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reachable"}}}
	})
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.wants("bank", configMap("b"))
	f.edit("bank", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "west" })
	assert.Equal(t, " ", f.says("bank"), "not known yet")
	assert.Equal(t, []string{"a"}, f.far.names())
}

// C4: an object is taken down before it is applied: if that fails nothing is applied.
func TestC4TheLedgerComesFirst(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.ledger.failing(func(int) error { return errStore })
	_, err := f.once("shop")
	require.ErrorIs(t, err, errStore)
	assert.Empty(t, f.far.writes())
	assert.Empty(t, f.far.names())

	f.ledger.failing(nil)
	f.far.answers(func(c call) http.HandlerFunc {
		if c.verb == http.MethodPatch {
			assert.NotNil(t, f.ledger.Release("uid-shop"), "it is known by now")
		}
		return nil
	})
	f.applies("shop")
}

// C4: a crash at any point leaves nothing behind that is not known, and forgets nothing.
func TestC4Crash(t *testing.T) {
	for name, test := range map[string]struct {
		crash func(*fixture)
		left  []string // in the ledger
	}{
		"before it is applied": {func(f *fixture) {
			f.far.answers(on(http.MethodPatch, "b", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		}, []string{"a", "b"}},
		"after it is applied": {func(f *fixture) {
			f.far.answers(func(c call) http.HandlerFunc {
				if c.verb != http.MethodPatch || c.id.name != "b" {
					return nil
				}
				return func(http.ResponseWriter, *http.Request) {
					_, err := f.far.do(c, f.far.kinds[0], "v1")
					assert.NoError(f.t, err)
					panic(http.ErrAbortHandler)
				}
			})
		}, []string{"a", "b"}},
		"with what is others' still to be struck": {func(f *fixture) {
			f.far.has(configMapAt("b"), "v1", "ConfigMap", nil)
			f.ledger.failing(func(before int) error {
				if before == 0 {
					return nil
				}
				return errStore
			})
		}, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"), configMap("b"), configMap("c"))
			test.crash(f)
			_, _ = f.once("shop")
			_, known := f.listed("shop")
			assert.Equal(t, test.left, known)
			theirs := f.far.object(configMapAt("b"))
			// A replica that knows nothing takes over; the author wants nothing any more.
			f.far.answers(nil)
			f.ledger.failing(nil)
			f.start()
			f.probes("east")
			f.resources("shop")
			f.applies("shop")
			f.clock.Step(goingAgain)
			f.applies("shop")
			f.lists("shop")
			if theirs != nil && theirs.GetLabels() == nil {
				assert.Equal(t, []string{"b"}, f.far.names())
			} else {
				assert.Empty(t, f.far.names())
			}
		})
	}
}

// C4: an object that was deleted stays known until it is gone, also when that cannot be written.
func TestC4CrashWhilePruning(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	f.applies("shop")
	f.resources("shop", configMap("a"))
	f.ledger.failing(func(before int) error {
		if before == 0 {
			return nil
		}
		return errStore
	})
	_, err := f.once("shop")
	require.ErrorIs(t, err, errStore)
	_, known := f.listed("shop")
	assert.Equal(t, []string{"a", "b"}, known)
	f.ledger.failing(nil)
	f.applies("shop")
	f.lists("shop", "a")
}

// C4: a panic holds nothing: what it was about can be worked on again.
func TestC4APanic(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	for range perTarget + 1 {
		f.ledger.failing(func(int) error { panic("odd") })
		assert.Panics(t, func() { _, _ = f.once("shop") })
	}
	f.ledger.failing(nil)
	f.applies("shop")
	f.deletes("shop")
	for range perTarget + 1 {
		f.ledger.failing(func(before int) error {
			if before > 0 {
				panic("odd")
			}
			return nil
		})
		assert.Panics(t, func() { _, _ = f.once("shop") })
	}
	f.ledger.failing(nil)
	f.goes("shop")
	assert.Empty(t, f.memory.busy)
}

// S2, S3: while it is not certain what is in the ledger nothing is done.
func TestS2TheLedgerIsNotFresh(t *testing.T) {
	for _, fault := range []error{record.ErrStale, record.ErrRestored} {
		f := newFixture(t)
		f.wants("shop", configMap("a"))
		f.wants("bank", configMap("b"))
		f.applies("bank")
		f.deletes("bank")
		f.far.asked()
		f.ledger.SetFresh(fault)
		for _, name := range []string{"shop", "bank"} {
			again, err := f.once(name)
			require.NoError(t, err)
			assert.Equal(t, unknownAgain, again)
			assert.Empty(t, f.writes())
		}
		assert.Empty(t, f.far.asked())
		f.ledger.SetFresh(nil)
		f.applies("shop")
		f.goes("bank")
	}
}

// C4: a Release that is gone although its finalizer did not come off is forgotten. Its objects
// stay: nobody says any more what is to become of them.
func TestC4AReleaseThatIsLost(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.far.asked()
	f.loses("shop")
	_, err := f.once("shop")
	require.NoError(t, err)
	assert.Nil(t, f.ledger.Release("uid-shop"))
	assert.Empty(t, f.far.asked())
	assert.Equal(t, []string{"a"}, f.far.names())
	assert.Empty(t, f.memory.states)
}

// C4: a Release of the same name is another one: it has nothing of what the one before had.
func TestC4ARecreatedRelease(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	f.applies("shop")
	f.loses("shop")
	f.wants("shop", configMap("b"), configMap("c"))
	f.edit("shop", func(r *corev1alpha1.Release) { r.UID = "uid-anew" })
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Equal(t, "ConfigMap shops/b: it is there already, and not of this Release.", f.condition("shop").Message)
	assert.Nil(t, f.ledger.Release("uid-shop"))
	require.NotNil(t, f.ledger.Release("uid-anew"))
	assert.Equal(t, []string{"a", "b", "c"}, f.far.names())
	f.deletes("shop")
	f.goes("shop")
	assert.Equal(t, []string{"a", "b"}, f.far.names())
}

// C4: a Release of which this replica has not heard is not one that is gone.
func TestC4AReleaseThatTheInformerDoesNotKnow(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	name := cache.NewObjectName(namespace, "shop")
	require.NoError(t, f.sweep(t.Context(), name, ""))
	f.lists("shop", "a")
	require.NoError(t, f.sweep(t.Context(), name, "uid-before"))
	f.lists("shop", "a")
	f.loses("shop")
	require.NoError(t, f.sweep(t.Context(), name, ""))
	f.lists("shop")
}

// C4: what a replica has not heard of yet in the ledger is neither overwritten nor forgotten.
func TestC4ALedgerThatLagsBehind(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	f.applies("shop")
	f.ledger.forgets("uid-shop", true)
	f.deletes("shop")
	f.goes("shop")
	f.ledger.forgets("uid-shop", false)
	assert.Empty(t, f.far.names())
	assert.Nil(t, f.ledger.Release("uid-shop"))

	// Nor is another cluster taken for the one that the objects are in.
	f.wants("bank", configMap("c"))
	f.applies("bank")
	f.far.asked()
	f.far.changes(func(to *far) { to.uid = "another" })
	f.probes("east")
	f.ledger.forgets("uid-bank", true)
	f.resources("bank", configMap("d"))
	assert.Equal(t, "False ClusterNotReady", f.says("bank"))
	assert.Empty(t, f.far.writes())
	f.ledger.forgets("uid-bank", false)
	assert.Equal(t, kubeSystem, f.ledger.Release("uid-bank").Target)
	f.knows("bank", "c")
}

// knows requires what the ledger alone lists.
func (f *fixture) knows(name string, want ...string) {
	f.t.Helper()
	_, known := f.listed(name)
	assert.Equal(f.t, want, known)
}

// C4: what two Releases have in one target is apart.
func TestC4TwoReleases(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("both"))
	f.wants("bank", configMap("b"), configMap("both"))
	f.applies("shop")
	require.Equal(t, "False ApplyFailed", f.says("bank"))
	f.deletes("bank")
	f.goes("bank")
	assert.Equal(t, []string{"a", "both"}, f.far.names())
	f.lists("shop", "a", "both")
}

// P11: what a cluster calls its kinds goes to the ledger, and into paths.
func TestP11AHostileNameOfAKind(t *testing.T) {
	for _, name := range []string{"../../api/v1/secrets", "a b", "A", strings.Repeat("a", 254), ""} {
		f := newFixture(t)
		f.far.changes(func(to *far) {
			to.kinds = append(to.kinds, kind{"x.io", []string{"v1"}, "Widget", name, true, false})
		})
		f.wants("shop", `{"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"}}`)
		require.Equal(t, "False ApplyFailed", f.says("shop"))
		assert.Equal(t, "Widget.x.io w: the cluster has no such kind.", f.condition("shop").Message)
		f.lists("shop")
		assert.Empty(t, f.far.asked())
	}
}

// C4: another Cluster of the same name that leads to the same target goes on where the first
// one was.
func TestC4ARecreatedCluster(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.removes("east")
	require.Equal(t, "False ClusterNotReady", f.says("shop"))
	f.connects("east", f.far)
	f.clusters("east", func(c *corev1alpha1.Cluster) { c.UID = types.UID("uid-anew") })
	f.probes("east")
	f.clock.Step(time.Second)
	f.applies("shop")
	f.lists("shop", "a")
}
