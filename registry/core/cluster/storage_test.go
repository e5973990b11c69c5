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
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/registry/strategy/strategytest"
)

func reader() *strategytest.Rights {
	r := &strategytest.Rights{Held: []string{"get secrets default/a"}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		r.Held = append(r.Held, "use core.convoy.kumodo.io:clusters default/"+name)
	}
	return r
}

// served are the endpoints over a real etcd, with the watch cache.
func served(t *testing.T) strategytest.Served[core.Cluster, *core.Cluster] {
	t.Helper()
	scheme, rights, gvr := newScheme(t), reader(), corev1alpha1.SchemeGroupVersion.WithResource(resource)
	storage, err := NewStorage(scheme, strategytest.Options(t, scheme, gvr), rights, nil)
	require.NoError(t, err)
	strategytest.Ready(t, storage.Main)
	return strategytest.Served[core.Cluster, *core.Cluster]{
		Main: storage.Main, Status: storage.Status, Resource: gvr, Rights: rights,
		Fill:    func(c *core.Cluster) { c.Spec, c.Status = stored().Spec, stored().Status },
		Guarded: func(c *core.Cluster) { c.Spec.Agentless.Server = "https://b" },
	}
}

// K2, S1, C1: a Cluster through its life, on both endpoints. The finalizers of the garbage
// collector work beside that of its Releases.
func TestLife(t *testing.T) {
	s := served(t)
	created, err := s.Create("a")
	require.NoError(t, err)
	assert.EqualValues(t, 1, created.Generation)
	assert.Equal(t, core.ClusterStatus{Reachable: new(bool)}, created.Status, "K2: the status is not written on create")
	assert.Equal(t, stored().Finalizers, created.Finalizers)
	assert.Equal(t, stored().Spec, created.Spec)

	seen, err := s.WriteStatus("a", func(c *core.Cluster) {
		c.Status, c.Labels, c.Spec, c.Finalizers = stored().Status, nil, core.ClusterSpec{}, nil
	})
	require.NoError(t, err)
	assert.Equal(t, "v1.37.2", seen.Status.DiscoveredVersion)
	assert.Equal(t, created.Spec, seen.Spec)
	assert.Equal(t, created.Labels, seen.Labels)
	assert.Equal(t, created.Finalizers, seen.Finalizers)
	assert.EqualValues(t, 1, seen.Generation)

	moved, err := s.Write("a", func(c *core.Cluster) { c.Spec.Metadata, c.Status = nil, core.ClusterStatus{} })
	require.NoError(t, err)
	assert.EqualValues(t, 2, moved.Generation)
	assert.Equal(t, seen.Status, moved.Status)

	for policy, finalizer := range map[metav1.DeletionPropagation]string{metav1.DeletePropagationOrphan: "orphan", metav1.DeletePropagationForeground: "foregroundDeletion", metav1.DeletePropagationBackground: ""} {
		_, err := s.Create("b")
		require.NoError(t, err)
		out, deleted, err := s.Main.Delete(requestContext(""), "b", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{PropagationPolicy: &policy})
		require.NoError(t, err)
		assert.False(t, deleted)
		want := stored().Finalizers
		if finalizer != "" {
			want = append(want, finalizer)
		}
		assert.ElementsMatch(t, want, out.(*core.Cluster).Finalizers)
		assert.EqualValues(t, 2, out.(*core.Cluster).Generation)
		for _, last := range want {
			left, err := s.Write("b", func(c *core.Cluster) {
				c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == last })
			})
			require.NoError(t, err)
			assert.NotContains(t, left.Finalizers, last)
		}
		_, err = s.Status.Get(requestContext("status"), "b", &metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
	}
}

// K2: the status never creates an object, and the main resource by an apply only.
func TestK2Creates(t *testing.T) { served(t).TestCreates(t) }

// C1, C2, C4: the guard stands before each write of the main resource, and not before the status.
func TestC2Guarded(t *testing.T) { served(t).TestGuarded(t) }

// K2: metadata.name and metadata.namespace select, and no other field.
func TestK2Selectors(t *testing.T) { served(t).TestSelectors(t, "spec.connectionMode=agentless") }

// K2: how the kind is called, and what a write of each endpoint may own.
func TestNames(t *testing.T) { served(t).TestNames(t, "cluster") }

// A server without a store, or without who is asked (C2), is not started.
func TestNewStorageFails(t *testing.T) {
	_, err := NewStorage(newScheme(t), strategytest.NoOptions{}, reader(), nil)
	assert.ErrorIs(t, err, assert.AnError)
	_, err = NewStorage(newScheme(t), strategytest.NoOptions{}, nil, nil)
	require.Error(t, err)
	assert.NotErrorIs(t, err, assert.AnError)
}
