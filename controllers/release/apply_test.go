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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// C4: all objects are applied, in their order, server-side, as entente, without force, with the
// UID of the Release in a label; and what was done is shown.
func TestC4AppliesAll(t *testing.T) {
	f := newFixture(t)
	f.wants("shop",
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b"}}`,
		configMap("z", `,"labels":{"app":"shop"}`),
		configMap("a", `,"namespace":"b"`),
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2}}`,
	)
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, resync, again)

	applied := f.far.asked(http.MethodPatch)
	require.Len(t, applied, 4)
	for i, path := range []string{
		"/api/v1/namespaces/b", "/api/v1/namespaces/shops/configmaps/z", "/api/v1/namespaces/b/configmaps/a", "/apis/apps/v1/namespaces/shops/deployments/web",
	} {
		c := applied[i]
		assert.Equal(t, path, c.path)
		assert.Equal(t, []string{"entente"}, c.query["fieldManager"])
		assert.NotEqual(t, "true", c.query.Get("force"))
		label, _, _ := unstructured.NestedString(c.body, "metadata", "labels", corev1alpha1.LabelRelease)
		assert.Equal(t, "uid-shop", label)
	}
	assert.Equal(t, map[string]string{"app": "shop", corev1alpha1.LabelRelease: "uid-shop"}, f.far.object(configMapAt("z")).GetLabels())

	status := f.release("shop").Status
	assert.Equal(t, []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Applied", Message: "All 4 objects are applied.", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(noon),
	}}, normal(status.Conditions))
	assert.Equal(t, &corev1alpha1.ReleaseAttempt{Generation: 1, ResolvedCluster: f.far.URL}, status.LastAttempted)
	assert.EqualValues(t, 1, status.ObservedGeneration)
	assert.ElementsMatch(t, []corev1alpha1.ReleaseObject{
		{Version: "v1", Kind: "Namespace", Name: "b"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "shops", Name: "z"},
		{Version: "v1", Kind: "ConfigMap", Namespace: "b", Name: "a"},
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shops", Name: "web"},
	}, status.Objects)
	assert.Equal(t, kubeSystem, f.ledger.Release("uid-shop").Target)
	assert.Equal(t, []string{"Normal Applied All 4 objects are applied."}, f.events())

	// It is not said, nor done, twice.
	f.applies("shop")
	assert.Empty(t, f.writes())
	assert.Empty(t, f.far.asked())
	assert.Empty(t, f.events())
}

// normal has the times of conditions in UTC.
func normal(conditions []metav1.Condition) (all []metav1.Condition) {
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.UTC())
		all = append(all, c)
	}
	return all
}

// C4: a Release of nothing is applied.
func TestC4NothingIsWanted(t *testing.T) {
	f := newFixture(t)
	f.wants("shop")
	f.applies("shop")
	f.lists("shop")
	assert.Nil(t, f.ledger.Release("uid-shop"))
	f.deletes("shop")
	f.goes("shop")
	assert.Empty(t, f.far.asked())
}

// C4, R15: what keeps one object from being applied keeps no other from it; it is said in words
// of ours, and nothing is pruned meanwhile.
func TestC4WhatCannotBeApplied(t *testing.T) {
	const object = "ConfigMap shops/b: "
	for name, test := range map[string]struct {
		object  string
		differs http.HandlerFunc // for its PATCH
		want    string
	}{
		"a namespace that its kind has not": {`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b","namespace":"c"}}`, nil, "Namespace c/b: its kind has no namespaces"},
		"an unknown kind":                   {`{"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"b"}}`, nil, "Widget.x.io b: the cluster has no such kind"},
		"an unknown version":                {`{"apiVersion":"apps/v9","kind":"Deployment","metadata":{"name":"b"}}`, nil, "Deployment.apps b: the cluster has no such kind"},
		"twice, told by discovery":          {configMap("a", `,"namespace":"shops"`), nil, "ConfigMap shops/a: it is there twice"},
		"bad request":                       {"", fail(400), object + "the cluster takes it for invalid"},
		"forbidden":                         {"", fail(403), object + "the cluster forbids it"},
		"no namespace":                      {"", fail(404), object + "its namespace or its kind is not there"},
		"not allowed":                       {"", fail(405), object + "objects of its kind cannot be applied"},
		"conflict":                          {"", fail(409), object + "others manage fields that the Release sets, or it was changed meanwhile"},
		"too large":                         {"", fail(413), object + "it is too large"},
		"no apply":                          {"", fail(415), object + "the cluster does not know server-side apply"},
		"invalid":                           {"", fail(422), object + "the cluster takes it for invalid"},
		"too many requests":                 {"", fail(429), object + "the cluster cannot do it now"},
		"internal error":                    {"", fail(500), object + "the cluster refused it"},
		"unavailable":                       {"", fail(503), object + "the cluster cannot do it now"},
		"timeout":                           {"", fail(504), object + "the cluster cannot do it now"},
		"a code of its own":                 {"", fail(418), object + "the cluster refused it"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("old"))
			f.applies("shop")
			f.events()
			if test.object == "" {
				test.object = configMap("b")
				f.far.answers(on(http.MethodPatch, "b", test.differs))
			}
			f.far.asked()
			f.resources("shop", configMap("a"), test.object, configMap("c"))
			require.Equal(t, "False ApplyFailed", f.says("shop"))
			assert.Equal(t, test.want+".", f.condition("shop").Message)
			writes := f.far.writes()
			assert.Contains(t, writes, "PATCH a")
			assert.Contains(t, writes, "PATCH c")
			assert.NotContains(t, writes, "DELETE old", "nothing is pruned before all is applied")
			assert.Equal(t, []string{"Warning ApplyFailed " + test.want + "."}, f.events())
			assert.EqualValues(t, 2, f.release("shop").Status.LastAttempted.Generation)
			f.requireSilent()
		})
	}
}

// C4: the status lists what the Release has applied, and not what it has tried to.
func TestC4WhatWasRefusedIsNotListed(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b"))
	for _, code := range []int{400, 403, 404, 409, 422} {
		f.far.answers(on(http.MethodPatch, "b", fail(code)))
		f.clock.Step(lastRetry)
		require.Equal(t, "False ApplyFailed", f.says("shop"))
		f.lists("shop", "a")
	}
	// Whether it was applied none can tell: it is not forgotten.
	f.far.answers(on(http.MethodPatch, "b", fail(504)))
	f.clock.Step(lastRetry)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	f.lists("shop", "a", "b")
	f.far.answers(on(http.MethodPatch, "b", fail(403)))
	f.clock.Step(lastRetry)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	f.lists("shop", "a", "b")
}

// C4: a target that stops to answer is asked no more. What it was not asked for is not listed,
// and what it may have done is.
func TestC4ATargetThatGoesAway(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("z"))
	f.applies("shop")
	f.far.answers(on(http.MethodPatch, "c", broken))
	f.far.asked()
	f.resources("shop", configMap("b"), configMap("c"), configMap("d"), configMap("z"))
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Equal(t, "The cluster did not answer as it should: no connection, or it broke.", f.condition("shop").Message)
	assert.Equal(t, []string{"PATCH b", "PATCH c"}, f.far.writes())
	f.lists("shop", "a", "b", "c", "z")
	f.requireSilent()
}

// C4: a kind that comes later is found.
func TestC4AKindThatComes(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), `{"apiVersion":"x.io/v1","kind":"Widget","metadata":{"name":"w"}}`)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	f.far.changes(func(far *far) {
		far.kinds = append(far.kinds, kind{"x.io", []string{"v1"}, "Widget", "widgets", true, false})
	})
	f.clock.Step(firstRetry)
	f.applies("shop")
	assert.Equal(t, "uid-shop", f.far.object(id{"x.io", "widgets", "", "w"}).GetLabels()[corev1alpha1.LabelRelease])
}

// C4: a cluster is asked for its kinds once an attempt, however many it does not have.
func TestC4ManyUnknownKinds(t *testing.T) {
	f := newFixture(t)
	var objects []string
	for i := range 100 {
		objects = append(objects, fmt.Sprintf(`{"apiVersion":"x.io/v1","kind":"Widget%d","metadata":{"name":"w"}}`, i))
	}
	f.wants("shop", objects...)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	asked := 0
	f.far.changes(func(far *far) {
		for _, c := range far.calls {
			if c.path == "/apis" {
				asked++
			}
		}
	})
	assert.LessOrEqual(t, asked, 3)
	assert.Contains(t, f.condition("shop").Message, "Widget4.x.io w: the cluster has no such kind; and 95 more.")
}

// C4: mutations know the metadata of the Cluster, and its name, which wins; changed metadata
// has the Release applied again.
func TestC4Mutations(t *testing.T) {
	f := newFixture(t)
	f.clusters("east", func(c *corev1alpha1.Cluster) {
		c.Spec.Metadata = map[string]string{"region": "eu", "name": "planted"}
		c.Labels = map[string]string{"secret": canary}
	})
	f.wants("shop", configMap("a"))
	f.edit("shop", func(r *corev1alpha1.Release) {
		r.Spec.Mutations = []corev1alpha1.ReleaseMutation{
			{Target: corev1alpha1.ReleaseMutationTarget{Kind: "ConfigMap"}, Path: "/data/where", Expression: `cluster.region + "/" + cluster.name`},
			{Target: corev1alpha1.ReleaseMutationTarget{Kind: "ConfigMap"}, Path: "/data/all", Expression: `string(size(cluster))`},
		}
	})
	f.applies("shop")
	data, _, _ := unstructured.NestedStringMap(f.far.object(configMapAt("a")).Object, "data")
	assert.Equal(t, map[string]string{"key": "value", "where": "eu/east", "all": "2"}, data)

	f.clusters("east", func(c *corev1alpha1.Cluster) { c.Spec.Metadata["region"] = "us" })
	f.applies("shop")
	data, _, _ = unstructured.NestedStringMap(f.far.object(configMapAt("a")).Object, "data")
	assert.Equal(t, "us/east", data["where"])
}

// C4, S1: no mutation takes an object out of the Release, or into another one.
func TestC4MutationsDoNotSetTheLabel(t *testing.T) {
	for _, path := range []string{"/metadata/labels/core.convoy.kumodo.io~1release", "/metadata/labels", "/metadata", "/metadata/uid", "/metadata/name"} {
		f := newFixture(t)
		f.wants("shop", configMap("a", `,"labels":{"x":"y"}`))
		f.edit("shop", func(r *corev1alpha1.Release) {
			r.Spec.Mutations = []corev1alpha1.ReleaseMutation{{Target: corev1alpha1.ReleaseMutationTarget{Kind: "ConfigMap"}, Path: path, Expression: `"uid-other"`}}
		})
		_, err := f.once("shop")
		require.NoError(t, err)
		if object := f.far.object(configMapAt("a")); object != nil {
			assert.Equal(t, "uid-shop", object.GetLabels()[corev1alpha1.LabelRelease], path)
		}
		for _, c := range f.far.asked(http.MethodPatch) {
			label, _, _ := unstructured.NestedString(c.body, "metadata", "labels", corev1alpha1.LabelRelease)
			assert.Equal(t, "uid-shop", label, path)
		}
	}
}

// C4: if a mutation cannot be carried out nothing is applied, and nothing pruned.
func TestC4MutationFailed(t *testing.T) {
	for name, test := range map[string]struct{ kind, expression, want string }{
		"no CEL":        {"ConfigMap", "cluster.", "spec.mutations[0].expression: is no CEL, at line 1, column 9"},
		"no such key":   {"ConfigMap", "cluster.canary", "spec.mutations[0].expression: reads a key that is not there"},
		"no such thing": {"Secret", "cluster.name", "spec.mutations[0].target: selects no object"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"), configMap("old"))
			f.applies("shop")
			f.far.asked()
			updates := f.ledger.updates
			f.edit("shop", func(r *corev1alpha1.Release) {
				r.Spec.Resources = raw([]string{configMap("a"), configMap("b")})
				r.Spec.Mutations = []corev1alpha1.ReleaseMutation{{Target: corev1alpha1.ReleaseMutationTarget{Kind: test.kind}, Path: "/data/x", Expression: test.expression}}
			})
			assert.Equal(t, "False MutationFailed", f.says("shop"))
			assert.Contains(t, f.condition("shop").Message, test.want)
			assert.Empty(t, f.far.asked(), "not even asked")
			assert.Equal(t, updates, f.ledger.updates)
			assert.EqualValues(t, 2, f.release("shop").Status.ObservedGeneration)
			assert.EqualValues(t, 1, f.release("shop").Status.LastAttempted.Generation, "nothing was tried")
			f.lists("shop", "a", "old")
			f.requireSilent()
		})
	}
}

// C4: mutations are compiled once for each generation, also if they cannot be.
func TestC4MutationsAreCompiledOnce(t *testing.T) {
	f := newFixture(t)
	release := f.wants("shop", configMap("a"))
	for _, expression := range []string{"cluster.name", "cluster."} {
		release.Generation++
		release.Spec.Mutations = []corev1alpha1.ReleaseMutation{{Target: corev1alpha1.ReleaseMutationTarget{Kind: "ConfigMap"}, Path: "/data/x", Expression: expression}}
		first, fault := f.memory.compiled(t.Context(), release)
		second, other := f.memory.compiled(t.Context(), release)
		assert.Same(t, first, second)
		assert.Equal(t, fault, other)
		assert.Equal(t, expression == "cluster.", fault != nil)
	}
	// Another one of that name has others.
	other := release.DeepCopy()
	other.UID, other.Spec.Mutations = "another", nil
	plan, fault := f.memory.compiled(t.Context(), other)
	require.NoError(t, fault)
	assert.NotNil(t, plan)
}

// C4: fields that others manage are not taken from them.
func TestC4Conflict(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.far.changed(configMapAt("a"), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"key": "theirs"} })
	f.clock.Step(resync)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Equal(t, "ConfigMap shops/a: others manage fields that the Release sets, or it was changed meanwhile.", f.condition("shop").Message)
	data, _, _ := unstructured.NestedStringMap(f.far.object(configMapAt("a")).Object, "data")
	assert.Equal(t, "theirs", data["key"])
	f.lists("shop", "a")
	f.requireSilent()
}

// C4: an object of others is not touched, not listed, and not deleted later.
func TestC4ForeignObject(t *testing.T) {
	for name, labels := range map[string]map[string]string{"no label": nil, "another Release's": mine("other"), "an empty one": {corev1alpha1.LabelRelease: ""}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.far.has(configMapAt("b"), "v1", "ConfigMap", labels)
			before := f.far.object(configMapAt("b"))
			f.wants("shop", configMap("a"), configMap("b"), configMap("c"))
			require.Equal(t, "False ApplyFailed", f.says("shop"))
			assert.Equal(t, "ConfigMap shops/b: it is there already, and not of this Release.", f.condition("shop").Message)
			assert.Equal(t, []string{"PATCH a", "PATCH c"}, f.far.writes())
			f.lists("shop", "a", "c")
			f.resources("shop", configMap("a"))
			f.applies("shop")
			assert.Equal(t, []string{"PATCH a", "DELETE c"}, f.far.writes())
			f.deletes("shop")
			f.goes("shop")
			assert.Equal(t, before, f.far.object(configMapAt("b")))
			assert.Equal(t, []string{"b"}, f.far.names())
		})
	}
}

// C4: an object that was made anew by others between the look and the write is not taken over.
func TestC4AnObjectMadeAnew(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.far.answers(func(c call) http.HandlerFunc {
		if c.verb == http.MethodPatch {
			f.far.has(configMapAt("a"), "v1", "ConfigMap", nil)
		}
		return nil
	})
	f.clock.Step(resync)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	data, _, _ := unstructured.NestedStringMap(f.far.object(configMapAt("a")).Object, "data")
	assert.Equal(t, map[string]string{"whose": "theirs"}, data)
}

// C4: what drifts is put right once the period is over, and nothing is written to the Release
// for that.
func TestC4Drift(t *testing.T) {
	for name, drift := range map[string]func(*far){
		"it was deleted": func(other *far) { other.changes(func(f *far) { delete(f.objects, configMapAt("a")) }) },
		"a field was taken away": func(other *far) {
			other.changed(configMapAt("a"), func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "data", "key") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.wants("shop", configMap("a"))
			f.applies("shop")
			drift(f.far)
			f.clock.Step(resync - time.Second)
			again, err := f.once("shop")
			require.NoError(t, err)
			assert.Equal(t, time.Second, again)
			f.clock.Step(time.Second)
			again, err = f.once("shop")
			require.NoError(t, err)
			assert.Equal(t, resync, again)
			assert.Empty(t, f.writes(), "nothing changed for the Release")
			data, _, _ := unstructured.NestedStringMap(f.far.object(configMapAt("a")).Object, "data")
			assert.Equal(t, "value", data["key"])
		})
	}
}

// C4: an object that is going is not one that is applied.
func TestC4AnObjectThatIsGoing(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"), configMap("b", `,"finalizers":["x.io/wait"]`))
	f.applies("shop")
	f.resources("shop", configMap("a"))
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, goingAgain, again)
	assert.Equal(t, "All 1 objects are applied; 1 that are not wanted any more are being deleted.", f.condition("shop").Message)
	f.lists("shop", "a", "b")

	f.resources("shop", configMap("a"), configMap("b"))
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.Equal(t, "ConfigMap shops/b: it is being deleted.", f.condition("shop").Message)
	f.far.changes(func(far *far) { delete(far.objects, configMapAt("b")) })
	f.clock.Step(firstRetry)
	f.applies("shop")
	assert.Equal(t, []string{"a", "b"}, f.far.names())
	f.lists("shop", "a", "b")
}

// C4: a Release that cannot be applied is tried again later, the more often it failed; what
// changes has it tried at once.
func TestC4Backoff(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.far.answers(on(http.MethodPatch, "a", fail(403)))
	for _, seconds := range []int{2, 4, 8, 16, 32, 64, 120, 120} {
		again, err := f.once("shop")
		require.NoError(t, err)
		assert.Equal(t, time.Duration(seconds)*time.Second, again)
		assert.Len(t, f.far.asked(http.MethodPatch), 1)
		// Before that it is not.
		f.clock.Step(again - time.Millisecond)
		again, err = f.once("shop")
		require.NoError(t, err)
		assert.Equal(t, time.Millisecond, again)
		assert.Empty(t, f.far.asked())
		assert.Empty(t, f.writes())
		f.clock.Step(time.Millisecond)
	}
	again, err := f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, lastRetry, again)
	f.resources("shop", configMap("a"), configMap("b"))
	again, err = f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, firstRetry, again, "it begins anew")
	f.far.answers(nil)
	f.clock.Step(firstRetry)
	f.applies("shop")
	f.far.answers(on(http.MethodPatch, "a", fail(403)))
	f.clock.Step(resync)
	again, err = f.once("shop")
	require.NoError(t, err)
	assert.Equal(t, firstRetry, again, "success is not a failure")
}

// K2: the time of the last transition stays while the status does; the generation is that which
// was looked at.
func TestK2Condition(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.applies("shop")
	f.clock.Step(time.Minute)
	f.resources("shop", configMap("a"), configMap("b"))
	f.applies("shop")
	ready := f.condition("shop")
	assert.EqualValues(t, 2, ready.ObservedGeneration)
	assert.True(t, ready.LastTransitionTime.Time.Equal(noon))
	f.far.answers(on(http.MethodPatch, "a", fail(403)))
	f.clock.Step(resync)
	require.Equal(t, "False ApplyFailed", f.says("shop"))
	assert.True(t, f.condition("shop").LastTransitionTime.Time.Equal(noon.Add(time.Minute+resync)))
}

// K2: a condition of others stays, and so does the status of a Release that was made anew.
func TestK2OthersWrites(t *testing.T) {
	f := newFixture(t)
	f.wants("shop", configMap("a"))
	f.edit("shop", func(r *corev1alpha1.Release) {
		r.Status.Conditions = []metav1.Condition{{Type: "Theirs", Status: metav1.ConditionTrue}}
	})
	f.applies("shop")
	assert.Len(t, f.release("shop").Status.Conditions, 2)
	f.applies("shop")
	assert.Empty(t, f.writes())
}
