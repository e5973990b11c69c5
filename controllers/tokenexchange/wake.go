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
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// settle is how long it takes until all providers are looked at after keys changed: once
// for all that change meanwhile, and when whoever counts the keys has heard of it too.
const settle = time.Second

// keys remembers by which keys each peer counts, and which it is offered as ours: when they
// change, those of others may be shared with them, or not any more.
type keys struct {
	lock  sync.Mutex
	peers map[string]published // by UID of the ClusterPeer
}

type published struct {
	theirs []record.IssuerKey
	ours   string
}

// all notes the keys of every record there is.
func (k *keys) all(records []*record.Peer) {
	for _, rec := range records {
		k.note(rec.UID, rec)
	}
}

// note remembers the keys in a record, nil for none, and tells whether they are others.
func (k *keys) note(uid string, rec *record.Peer) (changed bool) {
	var now published
	if rec.GivesAccess() {
		now.theirs = rec.Remote.IssuerKeys
	}
	if rec != nil && rec.Offer.Body.Issuer != nil {
		now.ours = rec.Offer.Body.Issuer.JWKS
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	before := k.peers[uid]
	if before.ours == now.ours && slices.Equal(before.theirs, now.theirs) {
		return false
	}
	if k.peers == nil {
		k.peers = map[string]published{}
	}
	if k.peers[uid] = now; now.ours == "" && len(now.theirs) == 0 {
		delete(k.peers, uid)
	}
	return true
}

// changed has the provider of a record that changed looked at and, if its keys did, soon
// those of all.
func (c *Controller) changed(uid string, of func(clusterPeer string)) {
	if uid == "" {
		return
	}
	rec := c.ledger.Peer(uid)
	if rec != nil {
		of(rec.Name)
	}
	if !c.keys.note(uid, rec) {
		return
	}
	select {
	case c.shared <- struct{}{}:
	default: // it is about to be seen to
	}
}

// wake has all providers looked at after keys changed, at most once in that time, until ctx
// ends.
func (c *Controller) wake(ctx context.Context, enqueue func(cache.ObjectName)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.shared:
		}
		timer := c.clock.NewTimer(settle)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		// Fails never: it reads from memory, and takes all.
		all, _ := c.providers.List(labels.Everything())
		for _, provider := range all {
			enqueue(cache.ObjectName{Name: provider.Name})
		}
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
