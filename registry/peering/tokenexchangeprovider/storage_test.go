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

package tokenexchangeprovider

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
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// newTestStorage makes the endpoints over a real etcd, with the watch cache.
func newTestStorage(t *testing.T) *Storage {
	t.Helper()
	scheme := newScheme(t)
	_, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	config.Codec = serializer.NewCodecFactory(scheme).LegacyCodec(peeringv1alpha1.SchemeGroupVersion)
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	options := generic.RESTOptions{
		StorageConfig: config.ForResource(peering.Resource(resource)), Decorator: genericregistry.StorageWithCacher(),
		ResourcePrefix: resource, DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
	}
	storage, err := NewStorage(scheme, options)
	require.NoError(t, err)
	t.Cleanup(storage.Main.Destroy)
	require.Eventually(t, func() bool { return storage.Main.ReadinessCheck() == nil }, time.Minute, time.Millisecond)
	return storage
}

func given(name string) *peering.TokenExchangeProvider {
	return &peering.TokenExchangeProvider{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": name}}, Spec: stored().Spec, Status: stored().Status}
}

func (s *Storage) create(name string) (*peering.TokenExchangeProvider, error) {
	out, err := s.Main.Create(requestContext(""), given(name), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return out.(*peering.TokenExchangeProvider), nil
}

type updater interface {
	Update(context.Context, string, rest.UpdatedObjectInfo, rest.ValidateObjectFunc, rest.ValidateObjectUpdateFunc, bool, *metav1.UpdateOptions) (runtime.Object, bool, error)
}

// write changes an object through an endpoint, as an apply does: it would create one.
func write(endpoint updater, subresource, name string, change func(*peering.TokenExchangeProvider)) (*peering.TokenExchangeProvider, error) {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		obj := changed(old.(*peering.TokenExchangeProvider), change)
		obj.Name = name
		return obj, nil
	})
	out, _, err := endpoint.Update(requestContext(subresource), name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return out.(*peering.TokenExchangeProvider), nil
}

// K2, S1: a TokenExchangeProvider through its life, on both endpoints.
func TestLife(t *testing.T) {
	s := newTestStorage(t)
	created, err := s.create("a")
	require.NoError(t, err)
	assert.EqualValues(t, 1, created.Generation)
	assert.Empty(t, created.Status, "K2: the status is not written on create")
	assert.Equal(t, stored().Spec, created.Spec)

	judged, err := write(s.Status, "status", "a", func(p *peering.TokenExchangeProvider) {
		p.Status, p.Labels, p.Spec.UsernamePrefix = stored().Status, nil, "taken-over"
	})
	require.NoError(t, err)
	assert.Equal(t, stored().Status.Conditions[0].Reason, judged.Status.Conditions[0].Reason)
	assert.Equal(t, created.Spec, judged.Spec)
	assert.Equal(t, created.Labels, judged.Labels)
	assert.EqualValues(t, 1, judged.Generation)

	moved, err := write(s.Main, "", "a", func(p *peering.TokenExchangeProvider) {
		p.Spec.UsernamePrefix, p.Status = "other", peering.TokenExchangeProviderStatus{}
	})
	require.NoError(t, err)
	assert.EqualValues(t, 2, moved.Generation)
	assert.Equal(t, judged.Status, moved.Status)

	out, deleted, err := s.Main.Delete(requestContext(""), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.True(t, deleted)
	assert.Equal(t, moved.Spec, out.(*peering.TokenExchangeProvider).Spec, "a delete answers with the object")
	_, err = s.Status.Get(requestContext("status"), "a", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

// K2: the status never creates an object, and the main resource by an apply only.
func TestK2Creates(t *testing.T) {
	s := newTestStorage(t)
	fill := func(p *peering.TokenExchangeProvider) { p.Spec = stored().Spec }
	_, err := write(s.Status, "status", "a", fill)
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = write(s.Main, "", "a", fill)
	assert.NoError(t, err)
}

// K2: selectors of labels and of metadata.name; no other field of the object.
func TestK2Selectors(t *testing.T) {
	s := newTestStorage(t)
	for _, name := range []string{"a", "b"} {
		_, err := s.create(name)
		require.NoError(t, err)
	}
	for selector, want := range map[string][]string{
		"": {"a", "b"}, "metadata.name=a": {"a"}, "metadata.name!=a": {"b"}, "metadata.name=absent": {}, "spec.usernamePrefix=x": {},
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
	for _, provider := range list.(*peering.TokenExchangeProviderList).Items {
		out = append(out, provider.Name)
	}
	return out
}

// K1, K2: how the kind is called, and what a write of each endpoint may own.
func TestNames(t *testing.T) {
	s := newTestStorage(t)
	assert.Empty(t, s.Main.ShortNames())
	assert.Equal(t, []string{"entente"}, s.Main.Categories())
	assert.Equal(t, "tokenexchangeprovider", s.Main.GetSingularName())
	assert.False(t, s.Main.NamespaceScoped())
	assert.IsType(t, &peering.TokenExchangeProviderList{}, s.Main.NewList())
	assert.IsType(t, &peering.TokenExchangeProvider{}, s.Status.New())

	all := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "audiences"), fieldpath.MakePathOrDie("metadata", "labels", "a"), fieldpath.MakePathOrDie("status", "conditions"))
	const version = "peering.entente.dev/v1alpha1"
	assert.Equal(t, fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "audiences"), fieldpath.MakePathOrDie("metadata", "labels", "a")).String(), all.RecursiveDifference(s.Main.GetResetFields()[version]).String())
	assert.Equal(t, fieldpath.NewSet(fieldpath.MakePathOrDie("status", "conditions")).String(), s.Status.GetResetFieldsFilter()[version].Filter(all).String())
}

// noOptions fails as a server does whose store cannot be made.
type noOptions struct{}

func (noOptions) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{}, assert.AnError
}

// A server without a store is not started.
func TestNewStorageFails(t *testing.T) {
	_, err := NewStorage(newScheme(t), noOptions{})
	assert.ErrorIs(t, err, assert.AnError)
}
