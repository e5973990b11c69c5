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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/apis/core/install"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/registry/strategy"
	"entente.dev/entente/registry/strategy/strategytest"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	metav1.AddToGroupVersion(scheme, corev1alpha1.SchemeGroupVersion)
	return scheme
}

func requestContext(subresource string) context.Context {
	name := strings.TrimSuffix(resource+"/"+subresource, "/")
	return strategytest.Request("default", corev1alpha1.SchemeGroupVersion.WithResource(name))
}

// config is an object as it is stored.
func config(name string) runtime.RawExtension {
	return runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","data":{"big":9007199254740993,"text":"\u003ca\u003e"},"kind":"ConfigMap","metadata":{"name":"` + name + `"}}`)}
}

// stored is a Release with everything in it.
func stored() *core.Release {
	now := metav1.Unix(1700000000, 0)
	return &core.Release{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "a.release", UID: "uid", ResourceVersion: "5", Generation: 3, CreationTimestamp: now,
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{corev1alpha1.FinalizerRelease},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}},
		},
		Spec: core.ReleaseSpec{
			ClusterRef: core.ClusterReference{Name: "a.cluster"}, Resources: []runtime.RawExtension{config("a"), config("b")}, DeletionPolicy: core.ReleaseDeletionPolicyDelete,
			Mutations: []core.ReleaseMutation{{Target: core.ReleaseMutationTarget{Kind: "ConfigMap"}, Path: "/data/region", Expression: "cluster.region"}},
		},
		Status: core.ReleaseStatus{
			Conditions:    []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Applied", LastTransitionTime: now, ObservedGeneration: 2}},
			LastAttempted: &core.ReleaseAttempt{Generation: 2, ResolvedCluster: "https://a:6443"}, ObservedGeneration: 2,
			Objects: []core.ReleaseObject{{Version: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}, {Version: "v1", Kind: "ConfigMap", Namespace: "default", Name: "b"}},
		},
	}
}

func changed(base *core.Release, change func(*core.Release)) *core.Release {
	out := base.DeepCopy()
	change(out)
	return out
}

// K2, S1: what can be written through which endpoint, and when the generation moves: not when
// an object is written in another way.
func TestK2S1Endpoints(t *testing.T) {
	s := newStrategy(newScheme(t))
	strategytest.Kind[core.Release, *core.Release]{
		Main: s, Status: statusStrategy{s}, Stored: stored,
		Specs: map[string]func(*core.Release){
			"an object less":       func(r *core.Release) { r.Spec.Resources = r.Spec.Resources[:1] },
			"another object":       func(r *core.Release) { r.Spec.Resources[0] = config("c") },
			"the order of objects": func(r *core.Release) { slices.Reverse(r.Spec.Resources) },
			"no mutations":         func(r *core.Release) { r.Spec.Mutations = nil },
			"an expression":        func(r *core.Release) { r.Spec.Mutations[0].Expression = "cluster.name" },
			"the deletion policy":  func(r *core.Release) { r.Spec.DeletionPolicy = core.ReleaseDeletionPolicyOrphan },
		},
		CopyStatus: func(to, from *core.Release) { to.Status = from.Status },
		Other:      func() *core.Release { return &core.Release{Status: core.ReleaseStatus{ObservedGeneration: 3}} },
	}.Test(t)
}

// K2: objects are stored in one form, whichever way they were written; what is no object stays
// for the validation.
func TestK2Canonical(t *testing.T) {
	s := newStrategy(newScheme(t))
	const want = `{"apiVersion":"v1","data":{"big":9007199254740993,"text":"\u003ca\u003e"},"kind":"ConfigMap","metadata":{"name":"a"}}`
	for name, test := range map[string]struct{ given, want string }{
		"as it is":            {want, want},
		"another order":       {`{ "metadata":{"name":"a"}, "kind":"ConfigMap",` + "\n" + `"data":{"text":"<a>","big":9007199254740993},"apiVersion":"v1"}`, want},
		"a key twice":         {`{"apiVersion":"v1","kind":"Secret","data":{"big":9007199254740993,"text":"<a>"},"kind":"ConfigMap","metadata":{"name":"a"}}`, want},
		"no JSON":             {`{"kind"`, `{"kind"`},
		"null":                {`null`, `null`},
		"nothing":             {``, ``},
		"an odd first letter": {`xyz`, `xyz`},
	} {
		t.Run(name, func(t *testing.T) {
			release := changed(stored(), func(r *core.Release) { r.Spec.Resources = []runtime.RawExtension{{Raw: []byte(test.given)}} })
			created := release.DeepCopy()
			s.PrepareForCreate(t.Context(), created)
			assert.Equal(t, test.want, string(created.Spec.Resources[0].Raw))
			old := changed(stored(), func(r *core.Release) { r.Spec.Resources = []runtime.RawExtension{{Raw: []byte(test.want)}} })
			s.PrepareForUpdate(t.Context(), release, old)
			assert.Equal(t, old, release, "nothing has changed, the generation neither")
		})
	}
	// CBOR, as a client may send it.
	encoded, err := cbor.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}})
	require.NoError(t, err)
	var raw runtime.RawExtension
	require.NoError(t, raw.UnmarshalCBOR(encoded))
	release := changed(stored(), func(r *core.Release) { r.Spec.Resources = []runtime.RawExtension{raw} })
	s.PrepareForCreate(t.Context(), release)
	assert.Equal(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, string(release.Spec.Resources[0].Raw))
	assert.Empty(t, s.Validate(t.Context(), release))
}

// C4: every Release has the finalizer from its creation on, once, beside others; whoever takes
// it away later does so on purpose.
func TestC4FinalizerOnCreate(t *testing.T) {
	const ours = "release.core.convoy.kumodo.io/prune-objects"
	s := newStrategy(newScheme(t))
	for name, test := range map[string]struct{ given, want []string }{
		"none":          {nil, []string{ours}},
		"others":        {[]string{"a.b/c"}, []string{"a.b/c", ours}},
		"given by hand": {[]string{ours, "a.b/c"}, []string{ours, "a.b/c"}},
	} {
		release := changed(stored(), func(r *core.Release) { r.Finalizers = test.given })
		s.PrepareForCreate(t.Context(), release)
		assert.Equal(t, test.want, release.Finalizers, name)
		assert.Empty(t, s.Validate(t.Context(), release), name)
	}
	release := changed(stored(), func(r *core.Release) { r.Finalizers = nil })
	s.PrepareForUpdate(t.Context(), release, stored())
	assert.Empty(t, release.Finalizers, "it is not forced upon who takes it away")
}

// C4, R15: every fault is told at once, by its path, whichever validation finds it, on create
// and on update; no text of an object is repeated.
func TestC4EveryFault(t *testing.T) {
	main := newStrategy(newScheme(t))
	strategies := map[string]rest.RESTUpdateStrategy{"": main, "status": statusStrategy{main}}
	secret := runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"CANARY/","uid":"CANARY"},"stringData":{"a":"CANARY"}}`)}
	faulty := func(r *core.Release) {
		r.Spec.Resources[1], r.Spec.Mutations[0] = secret, core.ReleaseMutation{Path: "CANARY", Expression: "1"}
	}
	want := []string{"FieldValueForbidden spec.resources[1].metadata.uid", "FieldValueInvalid spec.mutations[0].path", "FieldValueInvalid spec.resources[1].metadata.name", "FieldValueRequired spec.mutations[0].target.kind"}
	created := changed(stored(), faulty)
	created.ResourceVersion = ""
	rest.FillObjectMetaSystemFields(created)
	err := rest.BeforeCreate(main, requestContext(""), created)
	assert.Equal(t, want, strategytest.Faults(t, err))
	assert.NotContains(t, err.Error(), "CANARY")
	for name, test := range map[string]struct {
		endpoint string
		change   func(*core.Release)
		want     []string
	}{
		"nothing, main":   {"", func(*core.Release) {}, nil},
		"nothing, status": {"status", func(*core.Release) {}, nil},
		"faults":          {"", faulty, want},
		"another Cluster": {"", func(r *core.Release) { r.Spec.ClusterRef.Name = "b" }, []string{"FieldValueInvalid spec.clusterRef.name"}},
		"no reason":       {"status", func(r *core.Release) { r.Status.Conditions[0].Reason = "" }, []string{"FieldValueRequired status.conditions[0].reason"}},
		"no name":         {"status", func(r *core.Release) { r.Status.Objects[0].Name = "" }, []string{"FieldValueRequired status.objects[0].name"}},
		"a fault of the spec, written to the status": {"status", faulty, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := rest.BeforeUpdate(strategies[test.endpoint], requestContext(test.endpoint), changed(stored(), test.change), stored())
			assert.Equal(t, test.want, strategytest.Faults(t, err))
			assert.NotContains(t, fmt.Sprint(err), "CANARY")
		})
	}
}

// S1: who manages which fields is bounded, whichever way it is written.
func TestS1ManagedFields(t *testing.T) {
	s := newStrategy(newScheme(t))
	much := metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", strategy.MaxManagedFieldsBytes) + `":{}}`)
	for name, prepare := range map[string]func(obj, old *core.Release){
		"create": func(obj, _ *core.Release) { s.PrepareForCreate(t.Context(), obj) },
		"update": func(obj, old *core.Release) { s.PrepareForUpdate(t.Context(), obj, old) },
		"status": func(obj, old *core.Release) { statusStrategy{s}.PrepareForUpdate(t.Context(), obj, old) },
	} {
		now, before := metav1.Unix(1700000001, 0), metav1.Unix(1700000000, 0)
		last := metav1.ManagedFieldsEntry{Manager: "last", Time: &now}
		obj := changed(stored(), func(r *core.Release) {
			r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "first", Time: &before, FieldsV1: much}, last}
		})
		prepare(obj, stored())
		assert.Equal(t, []metav1.ManagedFieldsEntry{last}, obj.ManagedFields, name)
	}
}

// The rest of what a strategy says.
func TestStrategy(t *testing.T) {
	s := newStrategy(newScheme(t))
	assert.True(t, s.NamespaceScoped())
	assert.False(t, s.AllowCreateOnUpdate(t.Context()), "a PUT does not create")
}
