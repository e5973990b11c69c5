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
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// C4: a Release that is deleted is done with what it has as its policy says; nothing is said of
// what is as it should be.
func TestC4DeletionPolicy(t *testing.T) {
	for policy, want := range map[corev1alpha1.ReleaseDeletionPolicy][]string{
		corev1alpha1.ReleaseDeletionPolicyDelete: {},
		"":                                       {},
		corev1alpha1.ReleaseDeletionPolicyOrphan: {"a", "b"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"), configMap("b"))
			f.edit("shop", func(r *corev1alpha1.Release) { r.Spec.DeletionPolicy = policy })
			f.applies("shop")
			f.far.asked()
			f.events()
			f.deletes("shop")
			f.goes("shop")
			assert.Equal(t, want, f.far.names())
			assert.Nil(t, f.ledger.Release("uid-shop"))
			if policy == corev1alpha1.ReleaseDeletionPolicyOrphan {
				assert.Empty(t, f.far.asked(), "it is not even asked")
			}
			for _, event := range f.events() {
				assert.NotContains(t, event, ReasonObjectsLeft)
			}
		})
	}
}

// C4: a Release that never was applied goes at once, whatever its Cluster is.
func TestC4DeletionOfWhatNeverWas(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.edit("shop", func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "none" })
	require.Equal(t, "False ClusterNotReady", f.says("shop"))
	f.deletes("shop")
	_, err := f.once("shop")
	require.NoError(t, err)
	assert.Nil(t, f.release("shop"))
}

// C4: the finalizers of others stay, and keep the Release; it is done with once.
func TestC4OtherFinalizers(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.edit("shop", func(r *corev1alpha1.Release) {
		r.Finalizers = []string{"x.io/first", corev1alpha1.FinalizerRelease, "x.io/last"}
	})
	f.applies("shop")
	f.deletes("shop")
	for range 2 {
		_, err := f.once("shop")
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"x.io/first", "x.io/last"}, f.release("shop").Finalizers)
	f.far.asked()
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Zero(t, again)
	assert.Empty(t, f.writes())
	assert.Empty(t, f.far.asked())
}

// C4: a finalizer that does not come off is tried again, and nothing is forgotten twice.
func TestC4AFinalizerThatDoesNotComeOff(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.deletes("shop")
	refuse := true
	f.client.PrependReactor("patch", releases.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		return refuse && action.GetSubresource() == "", nil, errStore
	})
	_, err := f.once("shop")
	require.ErrorIs(t, err, errStore)
	refuse = false
	_, err = f.once("shop")
	require.NoError(t, err)
	assert.Nil(t, f.release("shop"))
	assert.Empty(t, f.far.names())
}

// C4: a Release waits for what its objects wait for.
func TestC4DeletionWaits(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b", `,"finalizers":["x.io/wait"]`))
	f.applies("shop")
	f.events()
	f.deletes("shop")
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, goingAgain, again)
	assert.Equal(t, "False Deleting", f.shows("shop"))
	assert.Equal(t, "1 objects are being deleted.", f.condition("shop").Message)
	for range 3 {
		again, err = f.once("shop")
		require.NoError(t, err)
		assert.Equal(t, goingAgain, again)
	}
	assert.Equal(t, "1 objects are being deleted.", f.condition("shop").Message)
	f.lists("shop", "b")
	assert.Equal(t, []string{"DELETE a", "DELETE b"}, f.far.writes()[2:], "what is going is not deleted again")
	assert.Equal(t, []string{"Normal Deleting 1 objects are being deleted."}, f.events())
	f.far.changes(func(to *far) { delete(to.objects, configMapAt("b")) })
	f.goes("shop")
}

// C5: what keeps a Release from being deleted keeps it for as long as is said, and no longer.
// Then one Event lists what is left, and it is forgotten.
func TestC5GivesUp(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fixture)
		why    string
		left   []string // in the target
	}{
		"no Cluster":    {func(f *fixture) { f.removes("east") }, "there is no such Cluster in the namespace.", []string{"a", "b"}},
		"not reachable": {func(f *fixture) { f.far.answers(func(call) http.HandlerFunc { return fail(500) }); f.probes("east") }, "The Cluster is not reachable.", []string{"a", "b"}},
		"it went away":  {func(f *fixture) { f.far.answers(func(call) http.HandlerFunc { return broken }) }, "The cluster did not answer as it should: no connection, or it broke.", []string{"a", "b"}},
		"not implemented": {func(f *fixture) {
			f.clusters("east", func(c *corev1alpha1.Cluster) { c.Spec.ConnectionMode = corev1alpha1.ConnectionModeAgent })
			f.probes("east")
		}, "The Cluster is of a kind that is not implemented.", []string{"a", "b"}},
		"another cluster": {func(f *fixture) {
			f.far.changes(func(to *far) { to.uid = "another" })
			f.probes("east")
		}, another, []string{"a", "b"}},
		"no UID": {func(f *fixture) {
			f.far.changes(func(to *far) { to.uid = "" })
			f.probes("east")
		}, "The UID of the namespace kube-system cannot be read", []string{"a", "b"}},
		"forbidden": {func(f *fixture) { f.far.answers(on(http.MethodDelete, "b", fail(403))) }, "ConfigMap shops/b: the cluster forbids it.", []string{"b"}},
		"it never goes": {func(f *fixture) {
			f.far.changes(func(to *far) { to.objects[configMapAt("b")].SetFinalizers([]string{"x.io/wait"}) })
		}, "1 objects are being deleted.", []string{"b"}},
		"its server is down": {func(f *fixture) { f.far.answers(on(http.MethodGet, "b", fail(503))) }, "ConfigMap shops/b: the cluster cannot do it now.", []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"), configMap("b"))
			f.applies("shop")
			f.events()
			test.change(f)
			f.far.asked()
			f.deletes("shop")
			_, err := f.once("shop")
			require.NoError(t, err)
			assert.Equal(t, "False Deleting", f.shows("shop"))
			f.clock.Step(deleteTimeout - time.Second)
			again, err := f.once("shop")
			require.NoError(t, err)
			assert.Equal(t, time.Second, again)
			require.NotNil(t, f.release("shop"))
			assert.Contains(t, f.condition("shop").Message, test.why)
			for _, event := range f.events() {
				assert.Contains(t, event, "Normal Deleting")
			}
			f.clock.Step(time.Second)
			_, err = f.once("shop")
			require.NoError(t, err)
			require.Nil(t, f.release("shop"))
			assert.Nil(t, f.ledger.Release("uid-shop"))
			assert.Equal(t, test.left, f.far.names())
			if name == "another cluster" {
				assert.Empty(t, f.far.asked())
			}
			events := f.events()
			require.Len(t, events, 1)
			assert.Contains(t, events[0], "Warning ObjectsLeft The Release goes after 10m0s; these are left in the cluster: ")
			assert.Contains(t, events[0], test.why)
			for _, left := range test.left {
				assert.Contains(t, events[0], "ConfigMap shops/"+left)
			}
			assert.NotContains(t, events[0], canary)
			f.requireSilent()
			_, err = f.once("shop")
			require.NoError(t, err)
			assert.Empty(t, f.events())
		})
	}
}

// C5: the Event has room for so much only.
func TestC5TheEventIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		name  func(i int) string
		named int
	}{
		"short names": {func(i int) string { return fmt.Sprintf("n%03d", i) }, maxLeft},
		"long names":  {func(i int) string { return fmt.Sprintf("n%03d", i) + strings.Repeat("x", 240) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			var objects []string
			for i := range 30 {
				objects = append(objects, configMap(test.name(i)))
			}
			f.wants("shop", objects...)
			f.applies("shop")
			f.events()
			f.removes("east")
			f.deletes("shop")
			f.clock.Step(deleteTimeout)
			_, err := f.once("shop")
			require.NoError(t, err)
			events := f.events()
			require.Len(t, events, 1)
			note := strings.TrimPrefix(events[0], "Warning ObjectsLeft ")
			assert.LessOrEqual(t, len(note), 1024)
			assert.Equal(t, test.named, strings.Count(note, "ConfigMap shops/n0")-strings.Count(note, "ConfigMap shops/n0...")-strings.Count(note, "x..."))
			if name == "short names" {
				assert.Contains(t, note, ", and 10 more. spec.clusterRef: there is no such Cluster")
			}
		})
	}
}

// C5: that a Cluster was not probed yet, as after a restart, is no reason to give up at once,
// and none to wait for ever.
func TestC5NotKnownYet(t *testing.T) {
	for _, comes := range []bool{true, false} {
		t.Run(fmt.Sprint(comes), func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"))
			f.applies("shop")
			f.deletes("shop")
			f.clock.Step(2 * deleteTimeout)
			f.start()
			again, err := f.once("shop")
			require.NoError(t, err)
			assert.Equal(t, goingAgain, again)
			require.NotNil(t, f.release("shop"))
			f.clock.Step(unknownPatience - time.Second)
			again, err = f.once("shop")
			require.NoError(t, err)
			assert.Equal(t, time.Second, again)
			f.events()
			if comes {
				f.probes("east")
				_, err = f.once("shop") // it takes one look to delete it, and one to see it gone
				require.NoError(t, err)
				assert.Empty(t, f.far.names())
				return
			}
			f.clock.Step(time.Second)
			_, err = f.once("shop")
			require.NoError(t, err)
			assert.Nil(t, f.release("shop"))
			assert.Len(t, f.events(), 1)
		})
	}
}

// C5: others that hold a target keep a Release, which could be carried out, but not for ever.
func TestC5ABusyTarget(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	ready, _, _ := f.pool.Ready("uid-east")
	for range perTarget {
		_, free := f.memory.enter(f.release("shop"), ready.Client)
		require.True(t, free)
	}
	f.deletes("shop")
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, unknownAgain, again)
	f.clock.Step(deleteTimeout)
	f.events()
	_, err = f.once("shop")
	require.NoError(t, err)
	assert.NotNil(t, f.release("shop"))
	f.clock.Step(deleteTimeout)
	_, err = f.once("shop")
	require.NoError(t, err)
	assert.Nil(t, f.release("shop"))
	events := f.events()
	require.Len(t, events, 1)
	assert.Contains(t, events[0], "The Cluster is busy with other Releases.")
}

// C4: what an object was applied as may have gone from the target. It is gone only if its kind
// is, in all versions.
func TestC4KindsThatGo(t *testing.T) {
	const widget = `{"apiVersion":"x.io/v1beta1","kind":"Widget","metadata":{"name":"w"}}`
	of := func(broken bool, versions ...string) kind {
		return kind{"x.io", versions, "Widget", "widgets", true, broken}
	}
	at := id{"x.io", "widgets", "", "w"}
	for name, test := range map[string]struct {
		kinds []kind // in place of the first; none: it is gone
		gone  bool   // from the target
		kept  bool   // the Release waits
	}{
		"the version":            {[]kind{of(false, "v1")}, true, false},
		"the version came back":  {[]kind{of(false, "v1", "v1beta1")}, true, false},
		"the kind":               {nil, false, false},
		"another of its group":   {[]kind{{"x.io", []string{"v1beta1"}, "Other", "others", true, false}}, false, false},
		"the server of its kind": {[]kind{of(true, "v1beta1")}, false, true},
	} {
		for _, restarted := range []bool{false, true} {
			for _, way := range []string{"pruned", "deleted"} {
				t.Run(fmt.Sprintf("%s, restarted %t, %s", name, restarted, way), func(t *testing.T) {
					f := newFixture(t)
					others := f.far.kinds
					has := func(kinds ...kind) {
						f.far.changes(func(to *far) { to.kinds = slices.Concat(others, kinds) })
					}
					has(of(false, "v1beta1"))
					f.wants("shop", configMap("a"), widget)
					f.applies("shop")
					has(test.kinds...)
					if restarted {
						f.start()
						f.probes("east")
					}
					look := func() {
						_, err := f.once("shop")
						require.NoError(t, err)
						f.clock.Step(goingAgain)
						if f.release("shop") != nil {
							_, err = f.once("shop")
							require.NoError(t, err)
						}
					}
					if way == "deleted" {
						f.deletes("shop")
						look()
						assert.Equal(t, test.kept, f.release("shop") != nil)
					} else {
						f.resources("shop", configMap("a"))
						look()
						assert.Equal(t, test.kept, f.shows("shop") != "True Applied")
					}
					assert.Equal(t, test.gone, f.far.object(at) == nil)
					if !test.kept {
						return
					}
					has(of(false, "v1beta1"))
					f.clock.Step(goingAgain)
					look()
					assert.Nil(t, f.far.object(at), "it was not forgotten")
				})
			}
		}
	}
}
