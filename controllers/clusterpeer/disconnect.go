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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/finalizer"
	"entente.dev/entente/peering/record"
)

// disconnect ends the peering of a ClusterPeer that is being deleted, and lets it go
// (P12). It stays until all that was granted for it in the host cluster is gone: without it
// nobody would know for whom that was.
func (c *Controller) disconnect(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) (again time.Duration, err error) {
	ended, told, err := c.end(ctx, string(peer.UID))
	if err != nil {
		return 0, err
	}
	switch {
	case ended && told:
		c.event(peer, corev1.EventTypeNormal, ReasonDisconnected, "The peering has ended. The other cluster was told.")
	case ended:
		c.event(peer, corev1.EventTypeNormal, ReasonDisconnected, "The peering has ended. The other cluster could not be told, and finds out when it is next in touch.")
	}
	if c.host && len(c.ledger.Grants(string(peer.UID))) > 0 {
		return grantsFor, nil
	}
	return 0, c.release(ctx, peer)
}

// grantsFor is after what time it is looked again whether what was granted is gone. The
// ledger tells when it is.
const grantsFor = 30 * time.Second

// end removes the record of a ClusterPeer, by which all access ends, and then tells the
// other cluster if it can. It tells whether there was a peer, and whether it was told.
func (c *Controller) end(ctx context.Context, uid string) (ended, told bool, err error) {
	if c.ledger.Peer(uid) == nil {
		return false, false, nil // it may be waited for grants for long
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var last *record.Peer
	err = c.ledger.Update(within, func(tx record.Tx) error {
		var err error
		if last, err = tx.Peer(uid); err != nil || last == nil {
			return err
		}
		return record.Remove(tx, uid, c.clock.Now())
	})
	if err != nil {
		return false, false, fmt.Errorf("could not remove the record of the ClusterPeer: %w", err)
	}
	if last == nil {
		return false, false, nil
	}
	klog.FromContext(ctx).Info("Removed the record of the ClusterPeer", "uid", uid)
	if last.Remote == nil || last.Remote.Fault == record.PeerLeft {
		return false, false, nil
	}
	return true, c.leave(ctx, last.Remote), nil
}

// leave tells the other cluster that the peering is over, if it can. That it cannot is
// no failure: it is refused from now on, and told why (410).
func (c *Controller) leave(ctx context.Context, remote *record.Remote) (told bool) {
	if len(remote.Endpoints) == 0 || len(remote.Ours.Certificate) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if err := c.dialer.Leave(ctx, remote); err != nil {
		klog.FromContext(ctx).Info("Could not tell the other cluster that the peering is over", "clusterUUID", remote.ClusterUUID, "err", err)
		return false
	}
	return true
}

// release takes our finalizer off a ClusterPeer.
func (c *Controller) release(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) error {
	data, err := finalizer.Removal(peer, peeringv1alpha1.FinalizerDisconnect)
	if err != nil || data == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = c.client.PeeringV1alpha1().ClusterPeers().Patch(ctx, peer.Name, types.JSONPatchType, data, metav1.PatchOptions{FieldManager: FieldManager})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("could not take the finalizer off: %w", err)
	}
	return nil
}

// sweep ends the peerings of ClusterPeers of that name that are gone although nobody
// disconnected them: the finalizer was forced off, or the object lost otherwise.
func (c *Controller) sweep(ctx context.Context, name string) error {
	var records []*record.Peer
	for _, peer := range c.ledger.Peers() {
		if peer.Name == name {
			records = append(records, peer)
		}
	}
	if len(records) == 0 {
		return nil
	}
	// The informer may be behind the ledger. Asked without a version, the server
	// answers from the store.
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	live, err := c.client.PeeringV1alpha1().ClusterPeers().Get(within, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	for _, peer := range records {
		if err == nil && string(live.UID) == peer.UID {
			continue
		}
		if _, _, err := c.end(ctx, peer.UID); err != nil {
			return err
		}
	}
	return nil
}
