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
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/registry/strategy/strategytest"
)

func reader() *strategytest.Rights {
	return &strategytest.Rights{Held: []string{"use core.convoy.kumodo.io:clusters default/a.cluster"}}
}

// served are the endpoints over a real etcd, with the watch cache.
func served(t *testing.T) strategytest.Served[core.Release, *core.Release] {
	t.Helper()
	scheme, rights, gvr := newScheme(t), reader(), corev1alpha1.SchemeGroupVersion.WithResource(resource)
	storage, err := NewStorage(scheme, strategytest.Options(t, scheme, gvr), rights)
	require.NoError(t, err)
	strategytest.Ready(t, storage.Main)
	return strategytest.Served[core.Release, *core.Release]{
		Main: storage.Main, Status: storage.Status, Resource: gvr, Rights: rights,
		Fill:    func(r *core.Release) { r.Spec, r.Status = stored().Spec, stored().Status },
		Guarded: func(r *core.Release) { r.Spec.DeletionPolicy = core.ReleaseDeletionPolicyOrphan },
	}
}

// K2, S1, C4: a Release through its life, on both endpoints.
func TestLife(t *testing.T) {
	s := served(t)
	created, err := s.Create("a")
	require.NoError(t, err)
	assert.EqualValues(t, 1, created.Generation)
	assert.Empty(t, created.Status, "K2: the status is not written on create")
	assert.Equal(t, stored().Finalizers, created.Finalizers)
	assert.Equal(t, stored().Spec, created.Spec)

	applied, err := s.WriteStatus("a", func(r *core.Release) {
		r.Status, r.Labels, r.Spec, r.Finalizers = stored().Status, nil, core.ReleaseSpec{}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, stored().Status.Objects, applied.Status.Objects)
	assert.Equal(t, created.Spec, applied.Spec)
	assert.Equal(t, created.Labels, applied.Labels)
	assert.Equal(t, created.Finalizers, applied.Finalizers)
	assert.EqualValues(t, 1, applied.Generation)

	moved, err := s.Write("a", func(r *core.Release) { r.Spec.Resources, r.Status = nil, core.ReleaseStatus{} })
	require.NoError(t, err)
	assert.EqualValues(t, 2, moved.Generation)
	assert.Equal(t, applied.Status, moved.Status)
	_, err = s.Write("a", func(r *core.Release) { r.Spec.ClusterRef.Name = "other" })
	assert.True(t, apierrors.IsInvalid(err), "%v", err)

	out, deleted, err := s.Main.Delete(requestContext(""), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.False(t, deleted)
	assert.EqualValues(t, 3, out.(*core.Release).Generation)
	_, err = s.Write("a", func(r *core.Release) { r.Finalizers = nil })
	require.NoError(t, err)
	_, err = s.Status.Get(requestContext("status"), "a", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

// K2: an object that is written in another way is the same: white space, the order of keys, and
// what JSON lets one write in two ways, in a store that has written it once.
func TestK2SameObjects(t *testing.T) {
	s := served(t)
	_, err := s.Create("a")
	require.NoError(t, err)
	before, err := s.Main.Get(requestContext(""), "a", &metav1.GetOptions{})
	require.NoError(t, err)
	same, err := s.Write("a", func(r *core.Release) {
		for i, raw := range r.Spec.Resources {
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, raw.Raw, "", "  "))
			r.Spec.Resources[i].Raw = bytes.ReplaceAll(pretty.Bytes(), []byte(`\u003c`), []byte("<"))
		}
	})
	require.NoError(t, err)
	assert.Equal(t, before, same)
}

// S1, C4: what fills a Release, its metadata and its status to their limits, each of whoever may
// write it, leaves an object that can be written and deleted.
func TestS1FullRelease(t *testing.T) {
	s := served(t)
	fill := strings.Repeat
	managers := func(r *core.Release) {
		at := metav1.Now()
		for i := range 40 {
			r.ManagedFields = append(r.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: fmt.Sprint("m", i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: "core.convoy.kumodo.io/v1alpha1", Time: &at, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + fill("x", 5000) + `":{}}}}`),
			})
		}
	}
	_, err := s.Create("a")
	require.NoError(t, err)
	_, err = s.Write("a", func(r *core.Release) {
		r.Annotations = map[string]string{"a": fill("<", 47<<10)} // each of which takes six bytes
		for range 4 {
			r.Spec.Mutations = append(r.Spec.Mutations, core.ReleaseMutation{Target: core.ReleaseMutationTarget{Kind: "A"}, Path: "/a", Expression: fill("<", 4000)})
		}
		for range 160 {
			r.Spec.Mutations = append(r.Spec.Mutations, core.ReleaseMutation{Target: core.ReleaseMutationTarget{Kind: "A"}, Path: "/a", Expression: fill("x", 4096)})
		}
		object := `{"apiVersion":"v1","data":{"a":"` + fill("x", 10<<10) + `"},"kind":"ConfigMap","metadata":{"name":"a"}}`
		r.Spec.Resources = []runtime.RawExtension{{Raw: []byte(object)}}
		managers(r)
	})
	require.NoError(t, err)
	full, err := s.WriteStatus("a", func(r *core.Release) {
		r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "R", LastTransitionTime: metav1.Now(), Message: fill("m", 32<<10)}, {Type: "Other", Status: "True", Reason: "R", LastTransitionTime: metav1.Now(), Message: fill("m", 31<<10)}}
		for range 340 {
			r.Status.Objects = append(r.Status.Objects, core.ReleaseObject{Group: fill("g", 253), Version: fill("v", 63), Kind: fill("K", 63), Namespace: fill("n", 63), Name: fill("a", 253)})
		}
		r.Status.LastAttempted = &core.ReleaseAttempt{ResolvedCluster: fill("<", 2048)}
		managers(r)
	})
	require.NoError(t, err)
	var stored corev1alpha1.Release
	require.NoError(t, corev1alpha1.Convert_core_Release_To_v1alpha1_Release(full, &stored, nil))
	encoded, err := json.Marshal(stored)
	require.NoError(t, err)
	assert.Greater(t, len(encoded), 1460<<10, "it is full")
	assert.Less(t, len(encoded), 1512<<10)

	_, err = s.WriteStatus("a", func(r *core.Release) { r.Status.ObservedGeneration++ })
	assert.NoError(t, err)
	policy := metav1.DeletePropagationForeground
	_, _, err = s.Main.Delete(requestContext(""), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{PropagationPolicy: &policy})
	require.NoError(t, err)
	_, err = s.Write("a", func(r *core.Release) { r.Finalizers = nil; managers(r) })
	require.NoError(t, err)
	_, err = s.Status.Get(requestContext("status"), "a", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

// K2: the status never creates an object, and the main resource by an apply only.
func TestK2Creates(t *testing.T) { served(t).TestCreates(t) }

// C4: the guard stands before each write of the main resource, and not before the status.
func TestC4Guarded(t *testing.T) { served(t).TestGuarded(t) }

// K2: metadata.name and metadata.namespace select, and no other field.
func TestK2Selectors(t *testing.T) { served(t).TestSelectors(t, "spec.clusterRef.name=a.cluster") }

// K2: how the kind is called, and what a write of each endpoint may own.
func TestNames(t *testing.T) { served(t).TestNames(t, "release") }

// A server without a store, or without who is asked (C4), is not started.
func TestNewStorageFails(t *testing.T) {
	_, err := NewStorage(newScheme(t), strategytest.NoOptions{}, reader())
	assert.ErrorIs(t, err, assert.AnError)
	_, err = NewStorage(newScheme(t), strategytest.NoOptions{}, nil)
	require.Error(t, err)
	assert.NotErrorIs(t, err, assert.AnError)
}
