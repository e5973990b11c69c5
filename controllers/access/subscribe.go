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

package access

import (
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// Subscribe has enqueue called with each ClusterPeer whose plan may have changed for
// another reason than its own. It returns how to end that.
func (m *Model) Subscribe(enqueue func(object cache.ObjectName)) (cancel func()) {
	all := func() {
		for _, key := range m.clusterPeers.ListKeys() {
			enqueue(cache.ObjectName{Name: key})
		}
	}
	cancels := []func(){
		m.config.Ledger.Subscribe(func(uid string) {
			// One that is gone is so because its ClusterPeer is, which wakes them as well.
			if peer := m.config.Ledger.Peer(uid); peer != nil {
				enqueue(cache.ObjectName{Name: peer.Name})
			}
		}),
		m.subscribeCapabilities(enqueue),
	}
	if m.config.Resources != nil {
		cancels = append(cancels, m.config.Resources.Subscribe(all), m.config.Projects.Subscribe(all))
	}
	return func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// subscribeCapabilities has each ClusterPeer that names a PeeringCapability enqueued when
// that changes.
func (m *Model) subscribeCapabilities(enqueue func(object cache.ObjectName)) (cancel func()) {
	naming := func(name string) {
		// Fails only without the index.
		keys, _ := m.clusterPeers.IndexKeys(byCapability, name)
		for _, key := range keys {
			enqueue(cache.ObjectName{Name: key})
		}
	}
	informer := m.config.Capabilities.Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if capability, ok := object.(*peeringv1alpha1.PeeringCapability); ok {
				naming(capability.Name)
			}
		},
		UpdateFunc: func(old, object any) {
			before, ok := old.(*peeringv1alpha1.PeeringCapability)
			after, also := object.(*peeringv1alpha1.PeeringCapability)
			// Statuses decide nothing (S1).
			if ok && also && (before.UID != after.UID || before.Generation != after.Generation) {
				naming(after.Name)
			}
		},
		DeleteFunc: func(object any) {
			name, err := cache.DeletionHandlingObjectToName(object)
			if err != nil {
				return
			}
			m.forget(name.Name)
			naming(name.Name)
		},
	})
	if err != nil {
		return func() {} // it has been stopped, and with it all that could change
	}
	return func() {
		// Fails only for a handler of another informer.
		_ = informer.RemoveEventHandler(handler)
	}
}

func (m *Model) forget(name string) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.verdicts, name)
}
