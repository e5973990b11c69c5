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
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
)

// eventAction is what the controller was doing when it recorded an Event.
const eventAction = "Reconcile"

// say writes a finding into the status of a ClusterPeer, and records an Event if it is a
// transition that lasts.
func (c *Controller) say(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, found finding) error {
	shown := meta.FindStatusCondition(peer.Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady)
	if found.reason == "" {
		c.memory.tells(peer, found)
		return c.unsay(ctx, peer, shown)
	}
	condition := conditions.Since(metav1.Condition{
		Type: peeringv1alpha1.ConditionTokenExchangeReady, Status: found.status(), Reason: found.reason, Message: found.message,
		ObservedGeneration: peer.Generation, LastTransitionTime: metav1.NewTime(c.clock.Now()).Rfc3339Copy(),
	}, shown)
	if shown == nil || !equality.Semantic.DeepEqual(*shown, condition) {
		if written, err := c.write(ctx, peer, condition); err != nil || !written {
			return err
		}
	}
	if c.memory.tells(peer, found) {
		c.recorder.Eventf(peeringv1alpha1.Reference("ClusterPeer", peer.Name, peer.UID), nil, eventType(found), found.reason, eventAction, "%s", found.message)
	}
	return nil
}

// write writes the condition, and tells whether the ClusterPeer was still there and as it
// was seen.
func (c *Controller) write(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, condition metav1.Condition) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// With the UID, so that a write for a deleted object never reaches another one that was
	// given its name; with the resourceVersion, so that none is made by a look at what is not
	// so any more, our own last write among it.
	apply := peeringv1alpha1ac.ClusterPeer(peer.Name).WithUID(peer.UID).WithResourceVersion(peer.ResourceVersion).
		WithStatus(peeringv1alpha1ac.ClusterPeerStatus().WithConditions(conditions.Apply(condition)))
	_, err = c.client.PeeringV1alpha1().ClusterPeers().ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	return outcome(err)
}

// unsay takes the condition away, whoever wrote it: an apply leaves what others own as well.
func (c *Controller) unsay(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, shown *metav1.Condition) error {
	if shown == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	without := peer.DeepCopy()
	meta.RemoveStatusCondition(&without.Status.Conditions, shown.Type)
	_, err := c.client.PeeringV1alpha1().ClusterPeers().UpdateStatus(ctx, without, metav1.UpdateOptions{FieldManager: FieldManager})
	_, err = outcome(err)
	return err
}

// outcome tells whether a status was written. That it was not because the ClusterPeer is
// gone or another one is no error: the informer is about to tell.
func outcome(err error) (written bool, failure error) {
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil
	default:
		return false, fmt.Errorf("could not write the status: %w", err)
	}
}

// eventType is Warning for what somebody has to mend.
func eventType(found finding) string {
	switch found.reason {
	case peeringv1alpha1.ReasonProviderReady, peeringv1alpha1.ReasonAwaitingIssuer:
		return corev1.EventTypeNormal
	default:
		return corev1.EventTypeWarning
	}
}
