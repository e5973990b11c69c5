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

package clusterpeer

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
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/guard"
	"entente.dev/entente/registry/peering/escalation"
)

// The users of these tests. holder may see sensitive fields, operator may not.
const (
	holder   = "holder"
	operator = "operator"
)

func decide(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetUser().GetName() == holder && a.GetResource() == "clusterpeers" && a.GetSubresource() == "sensitive" && a.GetAPIGroup() == peering.GroupName && a.GetAPIVersion() == "v1alpha1" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// everybody issues, where it does not matter who does.
func everybody(user.Info) bool { return true }

func as(name, subresource string) context.Context {
	return genericapirequest.WithUser(requestContext(subresource), &user.DefaultInfo{Name: name})
}

// newTestStorage makes the endpoints over a real etcd, with the watch cache. Everybody may
// name every capability.
func newTestStorage(t *testing.T) *Storage {
	t.Helper()
	return newGuardedStorage(t, func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionAllow, "", nil
	})
}

// newGuardedStorage is newTestStorage with an authorizer that says who may name which
// capabilities.
func newGuardedStorage(t *testing.T, rights authorizer.AuthorizerFunc) *Storage {
	t.Helper()
	guard, err := escalation.NewPeerGuard(rights, capabilities{})
	require.NoError(t, err)
	scheme := newScheme(t)
	_, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	config.Codec = serializer.NewCodecFactory(scheme).LegacyCodec(peeringv1alpha1.SchemeGroupVersion)
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	options := generic.RESTOptions{
		StorageConfig: config.ForResource(peering.Resource(resource)), Decorator: genericregistry.StorageWithCacher(),
		ResourcePrefix: resource, DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
	}
	storage, err := NewStorage(scheme, options, authorizer.AuthorizerFunc(decide), nil, everybody, guard, nil)
	require.NoError(t, err)
	t.Cleanup(storage.Main.Destroy)
	require.Eventually(t, func() bool { return storage.Main.ReadinessCheck() == nil }, time.Minute, time.Millisecond)
	return storage
}

func (s *Storage) create(t *testing.T, peer *peering.ClusterPeer) *peering.ClusterPeer {
	t.Helper()
	out, err := s.Main.Create(as(holder, ""), peer, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	require.NoError(t, err)
	return out.(*peering.ClusterPeer)
}

func (s *Storage) read(t *testing.T, name string) *peering.ClusterPeer {
	t.Helper()
	out, err := s.Sensitive.Get(as(holder, "sensitive"), name, &metav1.GetOptions{})
	require.NoError(t, err)
	return out.(*peering.ClusterPeer).DeepCopy()
}

// patch changes an object as it is shown, as a patch does.
func patch(change func(*peering.ClusterPeer)) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		return changed(old.(*peering.ClusterPeer), change), nil
	})
}

type updater interface {
	Update(context.Context, string, rest.UpdatedObjectInfo, rest.ValidateObjectFunc, rest.ValidateObjectUpdateFunc, bool, *metav1.UpdateOptions) (runtime.Object, bool, error)
}

func write(ctx context.Context, t *testing.T, endpoint updater, change func(*peering.ClusterPeer)) *peering.ClusterPeer {
	t.Helper()
	out, _, err := endpoint.Update(ctx, "a-peer", patch(change), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	require.NoError(t, err)
	return out.(*peering.ClusterPeer)
}

func newJoin() *peering.ClusterPeer {
	peer := join()
	peer.ObjectMeta = metav1.ObjectMeta{Name: "a-peer", Labels: map[string]string{"kind": "join"}}
	return peer
}

// R5, R9, R11, R12, S1: a ClusterPeer through its life, on its three endpoints.
func TestLife(t *testing.T) {
	s := newTestStorage(t)
	created := s.create(t, newJoin())
	assert.EqualValues(t, 1, created.Generation)
	assert.Empty(t, created.Status, "K2: the status is not written on create")
	assert.Equal(t, joinCanary, created.Spec.Join.ConnectionString)

	// R9, S1: the controller's write of a status.
	shown := write(as(operator, "status"), t, s.Status, func(p *peering.ClusterPeer) {
		p.Status.Phase, p.Status.Invite = peering.ClusterPeerPhasePending, &peering.InviteStatus{ConnectionString: inviteCanary, TokenID: "id"}
		p.Labels, p.Spec.Capabilities = map[string]string{"taken": "over"}, []string{"taken-over"}
	})
	assert.Equal(t, placeholder, shown.Status.Invite.ConnectionString)
	assert.Equal(t, placeholder, shown.Spec.Join.ConnectionString)
	stored := s.read(t, "a-peer")
	assert.Equal(t, inviteCanary, stored.Status.Invite.ConnectionString)
	assert.Equal(t, map[string]string{"kind": "join"}, stored.Labels)
	assert.Equal(t, []string{"one"}, stored.Spec.Capabilities)
	assert.EqualValues(t, 1, stored.Generation)

	// R11: what was read is written back by who may not see it.
	for name, endpoint := range map[string]updater{"": s.Main, "status": s.Status, "sensitive": s.Sensitive} {
		write(as(operator, name), t, endpoint, func(*peering.ClusterPeer) {})
		assert.Equal(t, stored, s.read(t, "a-peer"), name)
	}
	// R12: a new value by who may not see it.
	shown = write(as(operator, ""), t, s.Main, func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "second" })
	assert.Equal(t, placeholder, shown.Spec.Join.ConnectionString)
	assert.EqualValues(t, 2, shown.Generation)
	// R9: and on /sensitive by who may.
	seen := "" // by the last attempt: the first may be with what the cache had
	shown = write(as(holder, "sensitive"), t, s.Sensitive, func(p *peering.ClusterPeer) {
		seen = p.Spec.Join.ConnectionString
		p.Spec.Join.ConnectionString, p.Spec.Projects = "third", nil
	})
	assert.Equal(t, "second", seen)
	assert.Equal(t, "third", shown.Spec.Join.ConnectionString)
	assert.Equal(t, []string{"two"}, shown.Spec.Projects)
	assert.EqualValues(t, 3, shown.Generation)
	assert.Equal(t, inviteCanary, s.read(t, "a-peer").Status.Invite.ConnectionString)

	// R5, P12: a delete, which waits for the finalizer, and its end.
	out, deleted, err := s.Main.Delete(as(operator, ""), "a-peer", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.False(t, deleted)
	assert.Equal(t, placeholder, out.(*peering.ClusterPeer).Spec.Join.ConnectionString)
	assert.Equal(t, placeholder, out.(*peering.ClusterPeer).Status.Invite.ConnectionString)
	shown = write(as(operator, ""), t, s.Main, func(p *peering.ClusterPeer) { p.Finalizers = nil })
	assert.Equal(t, placeholder, shown.Spec.Join.ConnectionString)
	_, err = s.Main.Get(as(operator, ""), "a-peer", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

// K2: the generation moves when deletion starts.
func TestK2GenerationOnDeletion(t *testing.T) {
	s := newTestStorage(t)
	peer := newJoin()
	peer.Finalizers = []string{"entente.dev/peer"}
	s.create(t, peer)
	out, deleted, err := s.Main.Delete(as(operator, ""), "a-peer", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.False(t, deleted)
	assert.EqualValues(t, 2, out.(*peering.ClusterPeer).Generation)
	assert.NotNil(t, out.(*peering.ClusterPeer).DeletionTimestamp)
	// S1: the finalizer cannot be taken away through /status.
	write(as(operator, "status"), t, s.Status, func(p *peering.ClusterPeer) { p.Finalizers = nil })
	assert.Equal(t, []string{"entente.dev/peer", "peering.entente.dev/disconnect"}, s.read(t, "a-peer").Finalizers)
	write(as(operator, ""), t, s.Main, func(p *peering.ClusterPeer) { p.Finalizers = nil })
	_, err = s.Main.Get(as(operator, ""), "a-peer", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
}

// R11: a placeholder that nothing stands behind, on each endpoint.
func TestR11PlaceholderWithNothingStored(t *testing.T) {
	s := newTestStorage(t)
	peer := newJoin()
	peer.Spec.Join.ConnectionString = placeholder
	_, err := s.Main.Create(as(holder, ""), peer, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	assert.Equal(t, []string{"FieldValueInvalid spec.join.connectionString"}, faults(t, err))
	peer = newJoin()
	peer.Spec.Join, peer.Status.Invite.ConnectionString = nil, placeholder
	s.create(t, peer) // in the status it is dropped with the status
	for name, endpoint := range map[string]updater{"": s.Main, "status": s.Status, "sensitive": s.Sensitive} {
		for _, caller := range []string{operator, holder} {
			_, _, err := endpoint.Update(as(caller, name), "a-peer", patch(func(p *peering.ClusterPeer) {
				p.Spec.Join, p.Status.Invite = &peering.JoinSpec{ConnectionString: placeholder}, &peering.InviteStatus{ConnectionString: placeholder}
			}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
			want := "spec.join.connectionString"
			if name == "status" {
				want = "status.invite.connectionString"
			}
			assert.Equal(t, []string{"FieldValueInvalid " + want}, faults(t, err), "%s by %s", name, caller)
		}
	}
}

// K2: selectors of labels, of metadata.name and of metadata.namespace; no others.
func TestK2Selectors(t *testing.T) {
	s := newTestStorage(t)
	s.create(t, newJoin())
	other := newJoin()
	other.Name, other.Labels = "b-peer", map[string]string{"kind": "other"}
	s.create(t, other)
	for selector, want := range map[string][]string{
		"":                      {"a-peer", "b-peer"},
		"metadata.name=a-peer":  {"a-peer"},
		"metadata.name!=a-peer": {"b-peer"},
		"metadata.name=absent":  {},
		"metadata.name=a-peer,metadata.name=b-peer": {},
	} {
		parsed, err := fields.ParseSelector(selector)
		require.NoError(t, err)
		list, err := s.Main.List(as(operator, ""), &metainternalversion.ListOptions{FieldSelector: parsed, LabelSelector: labels.Everything()})
		require.NoError(t, err)
		names := []string{}
		for _, peer := range list.(*peering.ClusterPeerList).Items {
			names = append(names, peer.Name)
			assert.Equal(t, placeholder, peer.Spec.Join.ConnectionString, "R5")
		}
		assert.Equal(t, want, names, selector)
	}
	list, err := s.Main.List(as(operator, ""), &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"kind": "other"})})
	require.NoError(t, err)
	require.Len(t, list.(*peering.ClusterPeerList).Items, 1)
	assert.Equal(t, "b-peer", list.(*peering.ClusterPeerList).Items[0].Name)

	set, chosen, err := attributes(join())
	require.NoError(t, err)
	assert.Equal(t, labels.Set{"a": "b"}, set)
	assert.Equal(t, fields.Set{"metadata.name": "a-peer"}, chosen, "nothing of spec and status can be selected, least of all what is sensitive")
	_, _, err = attributes(&peering.ClusterPeerList{})
	assert.Error(t, err)
	predicate := matchClusterPeer(labels.Everything(), fields.OneTermEqualSelector("metadata.name", "a-peer"))
	matches, err := predicate.Matches(join())
	require.NoError(t, err)
	assert.True(t, matches)
}

// K1, K2: how the kind is called.
func TestNames(t *testing.T) {
	s := newTestStorage(t)
	assert.Equal(t, []string{"cpeer"}, s.Main.ShortNames())
	assert.Equal(t, []string{"entente"}, s.Main.Categories())
	assert.Equal(t, "clusterpeer", s.Main.GetSingularName())
	assert.False(t, s.Main.NamespaceScoped())
	assert.True(t, s.Main.DeleteReturnsDeletedObject())
	assert.IsType(t, &peering.ClusterPeerList{}, s.Main.NewList())
	for _, endpoint := range []rest.Storage{s.Main, s.Status, s.Sensitive} {
		assert.IsType(t, &peering.ClusterPeer{}, endpoint.New())
	}
}

// noOptions fails as a server does whose store cannot be made.
type noOptions struct{}

func (noOptions) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{}, assert.AnError
}

// A server without a store, without who decides, or without a guard is not started.
func TestNewStorageFails(t *testing.T) {
	_, err := NewStorage(newScheme(t), noOptions{}, authorizer.AuthorizerFunc(decide), nil, nil, nil, nil)
	assert.ErrorIs(t, err, assert.AnError)
	peers, err := escalation.NewPeerGuard(authorizer.AuthorizerFunc(decide), capabilities{})
	require.NoError(t, err)
	for _, given := range []struct {
		decides authorizer.UnconditionalAuthorizer
		guard   *guard.Guard
	}{{nil, peers}, {authorizer.AuthorizerFunc(decide), nil}} {
		_, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
		config.Codec = serializer.NewCodecFactory(newScheme(t)).LegacyCodec(peeringv1alpha1.SchemeGroupVersion)
		_, err = NewStorage(newScheme(t), generic.RESTOptions{
			StorageConfig: config.ForResource(peering.Resource(resource)), Decorator: generic.UndecoratedStorage, ResourcePrefix: resource,
		}, given.decides, nil, nil, given.guard, nil)
		assert.Error(t, err)
	}
}
