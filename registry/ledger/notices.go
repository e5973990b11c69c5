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

package ledger

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// changes are what readers are to be told of.
type changes struct {
	// uids are those of the records that changed, granted those of the ClusterPeers of
	// whom a grant did. Who waits for a record does not care about grants.
	uids, granted map[string]bool
	// others says that something else did, authority that it was the peering CA.
	others, authority bool
}

func newChanges() changes {
	return changes{uids: map[string]bool{}, granted: map[string]bool{}}
}

// everything is what changes when it is no longer the same ledger.
func everything(uids []string) changes {
	all := newChanges()
	all.others, all.authority = true, true
	for _, uid := range uids {
		all.uids[uid] = true
	}
	return all
}

func (c *changes) add(kind, id string) {
	switch kind {
	case kindPeer:
		c.uids[id] = true
	case kindAuthority:
		c.others, c.authority = true, true
	case kindGrant:
		uid, _, _ := strings.Cut(id, ":")
		c.granted[uid] = true
	case kindIdentity, kindTombstone, kindGrantKey:
		c.others = true
	}
}

// notices tell of changes.
type notices struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
	// subscribers are told apart by their address.
	subscribers map[*func(uid string)]bool
}

// Changed implements record.Reader.
func (n *notices) Changed(uid string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = map[string]chan struct{}{}
	}
	if n.waiting[uid] == nil {
		n.waiting[uid] = make(chan struct{})
	}
	return n.waiting[uid]
}

// Subscribe implements record.Reader.
func (n *notices) Subscribe(changed func(uid string)) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers == nil {
		n.subscribers = map[*func(string)]bool{}
	}
	n.subscribers[&changed] = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers, &changed)
	}
}

// tell is called when readers see what changed.
func (n *notices) tell(c changes) {
	for _, changed := range n.take(c) {
		for uid := range c.uids {
			(*changed)(uid)
		}
		for uid := range c.granted {
			if !c.uids[uid] {
				(*changed)(uid)
			}
		}
		if c.others {
			(*changed)("")
		}
	}
}

// take closes the channels of who waits, and returns who is to be called.
func (n *notices) take(c changes) []*func(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.authority {
		for _, waiting := range n.waiting {
			close(waiting)
		}
		clear(n.waiting)
	}
	for uid := range c.uids {
		if waiting := n.waiting[uid]; waiting != nil {
			close(waiting)
			delete(n.waiting, uid)
		}
	}
	return slices.Collect(maps.Keys(n.subscribers))
}
