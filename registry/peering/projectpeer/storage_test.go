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

package projectpeer

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

func (s *Storage) create(t *testing.T, namespace, name string) *peering.ProjectPeer {
	t.Helper()
	peer := &peering.ProjectPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{"entente.dev/test"}}, Status: stored().Status}
	out, err := s.Main.Create(requestContext(namespace, ""), peer, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	require.NoError(t, err)
	return out.(*peering.ProjectPeer)
}

type updater interface {
	Update(context.Context, string, rest.UpdatedObjectInfo, rest.ValidateObjectFunc, rest.ValidateObjectUpdateFunc, bool, *metav1.UpdateOptions) (runtime.Object, bool, error)
}

// write changes an object of the namespace default through an endpoint, as an apply does:
// it would create one.
func write(endpoint updater, subresource, name string, change func(*peering.ProjectPeer)) (*peering.ProjectPeer, error) {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		obj := changed(old.(*peering.ProjectPeer), change)
		obj.Namespace, obj.Name = "default", name
		return obj, nil
	})
	out, _, err := endpoint.Update(requestContext("default", subresource), name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return out.(*peering.ProjectPeer), nil
}

// K2, S1: a ProjectPeer through its life, on both endpoints. Its generation moves when
// deletion starts and at no other time.
func TestLife(t *testing.T) {
	s := newTestStorage(t)
	created := s.create(t, "default", "a")
	assert.EqualValues(t, 1, created.Generation)
	assert.Empty(t, created.Status, "K2: the status is not written on create")

	paired, err := write(s.Status, "status", "a", func(p *peering.ProjectPeer) {
		p.Status, p.Finalizers = stored().Status, nil
	})
	require.NoError(t, err)
	assert.Equal(t, stored().Status, paired.Status)
	assert.Equal(t, created.Finalizers, paired.Finalizers)

	labelled, err := write(s.Main, "", "a", func(p *peering.ProjectPeer) {
		p.Labels, p.Status = map[string]string{"a": "b"}, peering.ProjectPeerStatus{}
	})
	require.NoError(t, err)
	assert.Equal(t, stored().Status, labelled.Status)
	assert.EqualValues(t, 1, labelled.Generation)

	out, deleted, err := s.Main.Delete(requestContext("default", ""), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.False(t, deleted)
	assert.EqualValues(t, 2, out.(*peering.ProjectPeer).Generation)
	_, err = write(s.Main, "", "a", func(p *peering.ProjectPeer) { p.Finalizers = nil })
	require.NoError(t, err)
	_, err = s.Status.Get(requestContext("default", "status"), "a", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))

	// The status never creates an object, and the main resource by an apply only.
	_, err = write(s.Status, "status", "b", func(*peering.ProjectPeer) {})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = write(s.Main, "", "b", func(*peering.ProjectPeer) {})
	assert.NoError(t, err)
}

// K2: objects are those of a namespace; metadata.name and metadata.namespace select.
func TestK2Selectors(t *testing.T) {
	s := newTestStorage(t)
	for _, at := range [][2]string{{"one", "a"}, {"one", "b"}, {"two", "a"}} {
		s.create(t, at[0], at[1])
	}
	for _, test := range []struct {
		namespace, selector string
		want                []string
	}{
		{"", "", []string{"one/a", "one/b", "two/a"}},
		{"one", "", []string{"one/a", "one/b"}},
		{"three", "", []string{}},
		{"", "metadata.name=a", []string{"one/a", "two/a"}},
		{"", "metadata.namespace=two", []string{"two/a"}},
		{"", "metadata.namespace!=two,metadata.name!=a", []string{"one/b"}},
		{"one", "metadata.name=a", []string{"one/a"}},
		{"one", "metadata.namespace=two", []string{}},
		{"", "status.state=Paired", []string{}},
	} {
		parsed, err := fields.ParseSelector(test.selector)
		require.NoError(t, err)
		list, err := s.Main.List(requestContext(test.namespace, ""), &metainternalversion.ListOptions{FieldSelector: parsed, LabelSelector: labels.Everything()})
		require.NoError(t, err)
		got := []string{}
		for _, peer := range list.(*peering.ProjectPeerList).Items {
			got = append(got, peer.Namespace+"/"+peer.Name)
		}
		assert.Equal(t, test.want, got, "%q in %q", test.selector, test.namespace)
	}
}

// K1, K2: how the kind is called, and what a write of each endpoint may own.
func TestNames(t *testing.T) {
	s := newTestStorage(t)
	assert.Empty(t, s.Main.ShortNames())
	assert.Equal(t, []string{"entente"}, s.Main.Categories())
	assert.Equal(t, "projectpeer", s.Main.GetSingularName())
	assert.True(t, s.Main.NamespaceScoped())
	assert.IsType(t, &peering.ProjectPeerList{}, s.Main.NewList())
	assert.IsType(t, &peering.ProjectPeer{}, s.Status.New())

	all := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", "a"), fieldpath.MakePathOrDie("status", "state"))
	const version = "peering.entente.dev/v1alpha1"
	assert.Equal(t, fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", "a")).String(), all.RecursiveDifference(s.Main.GetResetFields()[version]).String())
	assert.Equal(t, fieldpath.NewSet(fieldpath.MakePathOrDie("status", "state")).String(), s.Status.GetResetFieldsFilter()[version].Filter(all).String())
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
