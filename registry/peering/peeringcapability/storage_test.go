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

package peeringcapability

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/peering/escalation"
)

// rights is an authorizer that allows everything or nothing, and counts its calls.
type rights struct {
	refuse bool
	calls  int
}

func (r *rights) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	r.calls++
	if r.refuse {
		return authorizer.DecisionNoOpinion, "", nil
	}
	return authorizer.DecisionAllow, "", nil
}

// newTestStorage makes the endpoints over a real etcd, with the watch cache.
func newTestStorage(t *testing.T, r *rights) *Storage {
	t.Helper()
	scheme := newScheme(t)
	_, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	config.Codec = serializer.NewCodecFactory(scheme).LegacyCodec(peeringv1alpha1.SchemeGroupVersion)
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	options := generic.RESTOptions{
		StorageConfig: config.ForResource(peering.Resource(resource)), Decorator: genericregistry.StorageWithCacher(),
		ResourcePrefix: resource, DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
	}
	guard, err := escalation.NewCapabilityGuard(r)
	require.NoError(t, err)
	storage, err := NewStorage(scheme, options, guard)
	require.NoError(t, err)
	t.Cleanup(storage.Main.Destroy)
	require.Eventually(t, func() bool { return storage.Main.ReadinessCheck() == nil }, time.Minute, time.Millisecond)
	return storage
}

func given(name string) *peering.PeeringCapability {
	return &peering.PeeringCapability{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": name}}, Spec: stored().Spec, Status: stored().Status}
}

func (s *Storage) create(name string, dryRun ...string) (*peering.PeeringCapability, error) {
	out, err := s.Main.Create(requestContext(""), given(name), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return out.(*peering.PeeringCapability), nil
}

type updater interface {
	Update(context.Context, string, rest.UpdatedObjectInfo, rest.ValidateObjectFunc, rest.ValidateObjectUpdateFunc, bool, *metav1.UpdateOptions) (runtime.Object, bool, error)
}

// write changes an object through an endpoint, as an apply does: it would create one.
func write(endpoint updater, subresource, name string, change func(*peering.PeeringCapability)) (*peering.PeeringCapability, error) {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		obj := changed(old.(*peering.PeeringCapability), change)
		obj.Name = name
		return obj, nil
	})
	out, _, err := endpoint.Update(requestContext(subresource), name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return out.(*peering.PeeringCapability), nil
}

// K2, S1: a PeeringCapability through its life, on both endpoints.
func TestLife(t *testing.T) {
	s := newTestStorage(t, &rights{})
	created, err := s.create("a")
	require.NoError(t, err)
	assert.EqualValues(t, 1, created.Generation)
	assert.Empty(t, created.Status, "K2: the status is not written on create")
	assert.Equal(t, stored().Spec, created.Spec)

	judged, err := write(s.Status, "status", "a", func(c *peering.PeeringCapability) {
		c.Status, c.Labels, c.Spec.Version = stored().Status, nil, "taken-over"
	})
	require.NoError(t, err)
	assert.Equal(t, stored().Status.Conditions[0].Reason, judged.Status.Conditions[0].Reason)
	assert.Equal(t, created.Spec, judged.Spec)
	assert.Equal(t, created.Labels, judged.Labels)
	assert.EqualValues(t, 1, judged.Generation)

	moved, err := write(s.Main, "", "a", func(c *peering.PeeringCapability) {
		c.Spec.Version, c.Status = "2", peering.PeeringCapabilityStatus{}
	})
	require.NoError(t, err)
	assert.EqualValues(t, 2, moved.Generation)
	assert.Equal(t, judged.Status, moved.Status)

	out, deleted, err := s.Main.Delete(requestContext(""), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.True(t, deleted)
	assert.Equal(t, moved.Spec, out.(*peering.PeeringCapability).Spec, "a delete answers with the object")
	_, err = s.Status.Get(requestContext("status"), "a", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

// K2: the status never creates an object, and the main resource by an apply only.
func TestK2Creates(t *testing.T) {
	s := newTestStorage(t, &rights{})
	fill := func(c *peering.PeeringCapability) { c.Spec = stored().Spec }
	_, err := write(s.Status, "status", "a", fill)
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = write(s.Main, "", "a", fill)
	assert.NoError(t, err)
}

// G2: the guard stands before each create and update of the main resource, the one by an
// apply and a dry run too, and not before the status; what it refuses is not stored.
// What it asks for is tested where it is.
func TestG2Guarded(t *testing.T) {
	r := &rights{}
	s := newTestStorage(t, r)
	asks := func(write func() (*peering.PeeringCapability, error)) (bool, error) {
		before := r.calls
		_, err := write()
		return r.calls > before, err
	}
	writes := map[string]func() (*peering.PeeringCapability, error){
		"create":  func() (*peering.PeeringCapability, error) { return s.create("b") },
		"dry run": func() (*peering.PeeringCapability, error) { return s.create("c", metav1.DryRunAll) },
		"apply": func() (*peering.PeeringCapability, error) {
			return write(s.Main, "", "d", func(c *peering.PeeringCapability) { c.Spec = stored().Spec })
		},
		"update": func() (*peering.PeeringCapability, error) {
			return write(s.Main, "", "a", func(c *peering.PeeringCapability) { c.Spec.Version = "2" })
		},
	}
	_, err := s.create("a")
	require.NoError(t, err)
	r.refuse = true
	for name, write := range writes {
		asked, err := asks(write)
		assert.True(t, asked, name)
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
	}
	list, err := s.Main.List(requestContext(""), &metainternalversion.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, namesOf(list))
	assert.Equal(t, "1.2.3", list.(*peering.PeeringCapabilityList).Items[0].Spec.Version)
	asked, err := asks(func() (*peering.PeeringCapability, error) {
		return write(s.Status, "status", "a", func(c *peering.PeeringCapability) { c.Status = stored().Status })
	})
	require.NoError(t, err)
	assert.False(t, asked, "a status grants nothing")

	r.refuse = false
	for name, write := range writes {
		asked, err := asks(write)
		assert.True(t, asked, name)
		assert.NoError(t, err, name)
	}
}

// K2: selectors of labels and of metadata.name; no other field of the object.
func TestK2Selectors(t *testing.T) {
	s := newTestStorage(t, &rights{})
	for _, name := range []string{"a", "b"} {
		_, err := s.create(name)
		require.NoError(t, err)
	}
	for selector, want := range map[string][]string{
		"": {"a", "b"}, "metadata.name=a": {"a"}, "metadata.name!=a": {"b"}, "metadata.name=absent": {}, "spec.version=1.2.3": {},
	} {
		parsed, err := fields.ParseSelector(selector)
		require.NoError(t, err)
		list, err := s.Main.List(requestContext(""), &metainternalversion.ListOptions{FieldSelector: parsed, LabelSelector: labels.Everything()})
		require.NoError(t, err)
		assert.Equal(t, want, namesOf(list), selector)
	}
	list, err := s.Main.List(requestContext(""), &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"kind": "b"})})
	require.NoError(t, err)
	assert.Equal(t, []string{"b"}, namesOf(list))
}

func namesOf(list runtime.Object) []string {
	out := []string{}
	for _, capability := range list.(*peering.PeeringCapabilityList).Items {
		out = append(out, capability.Name)
	}
	return out
}

// K1, K2: how the kind is called, and what a write of each endpoint may own.
func TestNames(t *testing.T) {
	s := newTestStorage(t, &rights{})
	assert.Equal(t, []string{"peercap"}, s.Main.ShortNames())
	assert.Equal(t, []string{"entente"}, s.Main.Categories())
	assert.Equal(t, "peeringcapability", s.Main.GetSingularName())
	assert.False(t, s.Main.NamespaceScoped())
	assert.IsType(t, &peering.PeeringCapabilityList{}, s.Main.NewList())
	assert.IsType(t, &peering.PeeringCapability{}, s.Status.New())

	all := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "version"), fieldpath.MakePathOrDie("metadata", "labels", "a"), fieldpath.MakePathOrDie("status", "conditions"))
	const version = "peering.entente.dev/v1alpha1"
	assert.Equal(t, fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "version"), fieldpath.MakePathOrDie("metadata", "labels", "a")).String(), all.RecursiveDifference(s.Main.GetResetFields()[version]).String())
	assert.Equal(t, fieldpath.NewSet(fieldpath.MakePathOrDie("status", "conditions")).String(), s.Status.GetResetFieldsFilter()[version].Filter(all).String())
}

// noOptions fails as a server does whose store cannot be made.
type noOptions struct{}

func (noOptions) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{}, assert.AnError
}

// A server without a store, or without a guard (G2), is not started.
func TestNewStorageFails(t *testing.T) {
	guard, err := escalation.NewCapabilityGuard(&rights{})
	require.NoError(t, err)
	_, err = NewStorage(newScheme(t), noOptions{}, guard)
	assert.ErrorIs(t, err, assert.AnError)
	_, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	config.Codec = serializer.NewCodecFactory(newScheme(t)).LegacyCodec(peeringv1alpha1.SchemeGroupVersion)
	_, err = NewStorage(newScheme(t), generic.RESTOptions{
		StorageConfig: config.ForResource(peering.Resource(resource)), Decorator: generic.UndecoratedStorage, ResourcePrefix: resource,
	}, nil)
	assert.Error(t, err)
}
