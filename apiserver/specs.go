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

package apiserver

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// specs finds what ClusterPeers and PeeringCapabilities say now, from informers that every
// replica has: no access outlives a deletion timestamp, or a consumer that is named no more,
// because the leader is away (S3).
type specs struct {
	lock                       sync.RWMutex
	clusterPeers, capabilities cache.SharedIndexInformer
}

const byUID = "uid"

func (s *specs) follow(factory externalversions.SharedInformerFactory) error {
	clusterPeers := factory.Peering().V1alpha1().ClusterPeers().Informer()
	err := clusterPeers.AddIndexers(cache.Indexers{byUID: func(object any) ([]string, error) {
		peer, ok := object.(*peeringv1alpha1.ClusterPeer)
		if !ok {
			return nil, nil
		}
		return []string{string(peer.UID)}, nil
	}})
	if err != nil {
		return fmt.Errorf("could not follow ClusterPeers: %w", err)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.clusterPeers = clusterPeers
	s.capabilities = factory.Peering().V1alpha1().PeeringCapabilities().Informer()
	return nil
}

func (s *specs) synced() []cache.DoneChecker {
	clusterPeers, capabilities := s.informers()
	return []cache.DoneChecker{clusterPeers.HasSyncedChecker(), capabilities.HasSyncedChecker()}
}

// informers returns nothing before follow.
func (s *specs) informers() (clusterPeers, capabilities cache.SharedIndexInformer) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.clusterPeers, s.capabilities
}

// of implements record.Specs.
func (s *specs) of(uid string) (record.Spec, bool) {
	informer, _ := s.informers()
	if informer == nil {
		return record.Spec{}, false
	}
	found, err := informer.GetIndexer().ByIndex(byUID, uid)
	if err != nil || len(found) != 1 {
		return record.Spec{}, false
	}
	peer, ok := found[0].(*peeringv1alpha1.ClusterPeer)
	if !ok || peer.UID != types.UID(uid) {
		return record.Spec{}, false
	}
	return record.Spec{
		Deleting:            peer.DeletionTimestamp != nil,
		ExpectedClusterUUID: peer.Spec.ExpectedClusterUUID(),
		Capabilities:        peer.Spec.Capabilities,
	}, true
}

// capability returns a PeeringCapability that is there, and to stay. It is the same object
// until it changes, and not to be changed.
func (s *specs) capability(name string) (*peeringv1alpha1.PeeringCapability, bool) {
	_, informer := s.informers()
	if informer == nil {
		return nil, false
	}
	found, exists, err := informer.GetStore().GetByKey(name)
	if err != nil || !exists {
		return nil, false
	}
	capability, ok := found.(*peeringv1alpha1.PeeringCapability)
	return capability, ok && capability.DeletionTimestamp == nil
}
