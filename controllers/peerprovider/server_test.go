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

package peerprovider

import (
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

var (
	clusterPeers = peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")
	providers    = peeringv1alpha1.SchemeGroupVersion.WithResource("tokenexchangeproviders")
)

// server is the fake clientset with versions, generations, UIDs and preconditions.
// (It has field management only for types whose Go package and published name agree.)
type server struct {
	*fake.Clientset
	t *testing.T

	lock    sync.Mutex
	version int
}

func newServer(t *testing.T) *server {
	s := &server{Clientset: fake.NewSimpleClientset(), t: t}
	s.PrependReactor("create", providers.Resource, s.create)
	s.PrependReactor("update", "*", s.update)
	s.PrependReactor("delete", "*", s.remove)
	s.PrependReactor("patch", clusterPeers.Resource, s.apply)
	return s
}

// next returns the next version. The lock is held.
func (s *server) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

// puts has an object there, whatever was there before.
func (s *server) puts(resource schema.GroupVersionResource, object interface {
	runtime.Object
	metav1.Object
},
) {
	s.lock.Lock()
	defer s.lock.Unlock()
	object.SetResourceVersion(s.next())
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + object.GetResourceVersion()))
	}
	if s.Tracker().Update(resource, object, "") != nil {
		assert.NoError(s.t, s.Tracker().Create(resource, object, ""))
	}
}

func (s *server) create(action clienttesting.Action) (bool, runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	made := action.(clienttesting.CreateActionImpl).Object.(*peeringv1alpha1.TokenExchangeProvider).DeepCopy()
	made.Generation, made.ResourceVersion = 1, s.next()
	made.UID = types.UID("uid-" + made.ResourceVersion)
	return true, made, s.Tracker().Create(providers, made, "")
}

func (s *server) update(action clienttesting.Action) (bool, runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	sent := action.(clienttesting.UpdateActionImpl).Object.DeepCopyObject()
	accessor, _ := meta.Accessor(sent)
	before, err := s.Tracker().Get(action.GetResource(), "", accessor.GetName())
	if err != nil {
		return true, nil, err
	}
	stored, _ := meta.Accessor(before)
	if stored.GetUID() != accessor.GetUID() || stored.GetResourceVersion() != accessor.GetResourceVersion() {
		return true, nil, conflict(action.GetResource(), stored.GetName())
	}
	if live, ok := before.(*peeringv1alpha1.TokenExchangeProvider); ok && !equality.Semantic.DeepEqual(live.Spec, sent.(*peeringv1alpha1.TokenExchangeProvider).Spec) {
		accessor.SetGeneration(accessor.GetGeneration() + 1)
	}
	accessor.SetResourceVersion(s.next())
	return true, sent, s.Tracker().Update(action.GetResource(), sent, "")
}

func (s *server) remove(action clienttesting.Action) (bool, runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	deletion := action.(clienttesting.DeleteActionImpl)
	before, err := s.Tracker().Get(action.GetResource(), "", deletion.Name)
	if err != nil {
		return true, nil, err
	}
	stored, _ := meta.Accessor(before)
	if only := deletion.DeleteOptions.Preconditions; only == nil || only.UID == nil || *only.UID != stored.GetUID() {
		return true, nil, conflict(action.GetResource(), deletion.Name)
	}
	if len(stored.GetFinalizers()) > 0 {
		now := metav1.NewTime(noon)
		stored.SetDeletionTimestamp(&now)
		stored.SetGeneration(stored.GetGeneration() + 1)
		stored.SetResourceVersion(s.next())
		return true, nil, s.Tracker().Update(action.GetResource(), before, "")
	}
	return true, nil, s.Tracker().Delete(action.GetResource(), "", deletion.Name)
}

// apply does what server-side apply does with the condition that this controller owns.
func (s *server) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	patch := action.(clienttesting.PatchActionImpl)
	assert.Equal(s.t, "status", patch.Subresource)
	assert.Equal(s.t, FieldManager, patch.PatchOptions.FieldManager)
	before, err := s.Tracker().Get(clusterPeers, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	peer, sent := before.(*peeringv1alpha1.ClusterPeer), &peeringv1alpha1.ClusterPeer{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	if sent.UID != peer.UID || sent.ResourceVersion != peer.ResourceVersion {
		return true, nil, conflict(clusterPeers, patch.Name)
	}
	for _, condition := range sent.Status.Conditions {
		meta.RemoveStatusCondition(&peer.Status.Conditions, condition.Type)
		peer.Status.Conditions = append(peer.Status.Conditions, condition)
	}
	peer.ResourceVersion = s.next()
	return true, peer, s.Tracker().Update(clusterPeers, peer, "")
}

func conflict(resource schema.GroupVersionResource, name string) error {
	return apierrors.NewConflict(resource.GroupResource(), name, errors.New("it has changed"))
}
