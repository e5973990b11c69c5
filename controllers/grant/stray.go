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

package grant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// strays remembers of which ClusterPeers the ledger lists nothing that others of their
// name, which are gone, were granted. It spares looking at all grants each time.
type strays struct {
	lock sync.Mutex
	none map[string]string // UIDs by name
}

// has tells whether there may be some.
func (s *strays) has(name, uid string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	return uid == "" || s.none[name] != uid
}

// settle notes that there are none.
func (s *strays) settle(name, uid string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if uid == "" {
		delete(s.none, name)
		return
	}
	if s.none == nil {
		s.none = map[string]string{}
	}
	s.none[name] = uid
}

// suspect notes that something is listed for the ClusterPeer of that name and UID.
func (s *strays) suspect(name, uid string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.none[name] != uid {
		delete(s.none, name)
	}
}

// withdrawStrays removes what ClusterPeers of that name were granted that are gone. The
// one that is there, nil for none, is not meant.
func (c *Controller) withdrawStrays(ctx context.Context, name string, peer *peeringv1alpha1.ClusterPeer) (again time.Duration, err error) {
	uid := ""
	if peer != nil {
		uid = string(peer.UID)
	}
	if !c.strays.has(name, uid) {
		return 0, nil
	}
	c.strays.settle(name, uid) // from here on somebody says so if there are more
	seen := map[string]bool{uid: true}
	for _, grant := range c.ledger.AllGrants() {
		if grant.PeerName != name || seen[grant.PeerUID] {
			continue
		}
		seen[grant.PeerUID] = true
		live, failed := c.isLive(ctx, name, grant.PeerUID)
		switch {
		case failed != nil:
			err = errors.Join(err, failed)
		case live:
			again = unknownAgain // the informer has not heard of it yet
		default:
			err = errors.Join(err, c.bring(ctx, owner{name, grant.PeerUID}, nil, false).err)
		}
	}
	if err != nil || again > 0 {
		c.strays.settle(name, "")
	}
	return again, err
}

// isLive tells whether a ClusterPeer is there, though the informer does not show it.
// Asked without a version, the server answers from the store.
func (c *Controller) isLive(ctx context.Context, name, uid string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	live, err := c.client.PeeringV1alpha1().ClusterPeers().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	return string(live.UID) == uid && live.DeletionTimestamp == nil, nil
}
