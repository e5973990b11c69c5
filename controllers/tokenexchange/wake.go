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

package tokenexchange

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// subscribe has a provider looked at when its ClusterPeer changes, or the record of that,
// and all when the claims to keys do.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	of := func(clusterPeer string) {
		enqueue(cache.ObjectName{Name: peeringv1alpha1.ProviderName(clusterPeer)})
	}
	unsubscribe := c.ledger.Subscribe(func(uid string) {
		if peer := c.ledger.Peer(uid); peer != nil {
			of(peer.Name)
		}
	})
	unclaim := c.claims.Subscribe(func() {
		// Fails never: it reads from memory, and takes all.
		all, _ := c.providers.List(labels.Everything())
		for _, provider := range all {
			enqueue(cache.ObjectName{Name: provider.Name})
		}
	})
	handler, err := c.peerInformer.AddEventHandler(ofSpecs(of))
	return func() {
		if err == nil { // or else it has been stopped, and with it all that could change
			// Fails only for a handler of another informer.
			_ = c.peerInformer.RemoveEventHandler(handler)
		}
		unclaim()
		unsubscribe()
	}
}

// ofSpecs has a provider looked at when its ClusterPeer comes, goes, or says something else.
// Statuses decide nothing (S1).
func ofSpecs(of func(clusterPeer string)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if peer, ok := object.(*peeringv1alpha1.ClusterPeer); ok {
				of(peer.Name)
			}
		},
		UpdateFunc: func(old, object any) {
			before, ok := old.(*peeringv1alpha1.ClusterPeer)
			after, also := object.(*peeringv1alpha1.ClusterPeer)
			// The generation moves when deletion starts as well (K2).
			if ok && also && (before.UID != after.UID || before.Generation != after.Generation) {
				of(after.Name)
			}
		},
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
				of(name.Name)
			}
		},
	}
}
