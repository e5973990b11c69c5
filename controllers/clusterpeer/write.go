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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
)

// show writes the status that a ClusterPeer should have, if it has another one.
func (c *Controller) show(ctx context.Context, l *look) error {
	wanted := project(l.peer, l.record, l.facts, c.clock.Now())
	if equality.Semantic.DeepEqual(&l.peer.Status, wanted) {
		return nil
	}
	config, err := configuration(l.peer, wanted)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	written, err := c.client.PeeringV1alpha1().ClusterPeers().ApplyStatus(within, config, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		l.gone = true // deleted meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	return c.wrote(ctx, l, written, wanted)
}

// wrote says what a write has changed, and takes over the object as it is then.
func (c *Controller) wrote(ctx context.Context, l *look, written *peeringv1alpha1.ClusterPeer, wanted *peeringv1alpha1.ClusterPeerStatus) error {
	before := l.peer
	l.peer = written
	c.memory.wrote(written, c.clock.Now())
	ready := meta.FindStatusCondition(wanted.Conditions, peeringv1alpha1.ConditionReady)
	klog.FromContext(ctx).V(2).Info("Wrote status", "phase", wanted.Phase, "reason", ready.Reason, "generation", wanted.ObservedGeneration)

	last := meta.FindStatusCondition(before.Status.Conditions, peeringv1alpha1.ConditionReady)
	switch again := presentedAgain(l.record.Invite); {
	case last == nil || last.Reason != ready.Reason:
		c.event(before, eventType(wanted.Phase), ready.Reason, ready.Message)
	case again != "" && last.Message != ready.Message:
		c.event(before, corev1.EventTypeWarning, ReasonTokenRejected, again[1:])
	}
	return c.clear(ctx, l, wanted)
}

// configuration is everything in a status that this controller owns: what is left out
// of it goes. The placeholder keeps the connection string that is stored (R11).
func configuration(peer *peeringv1alpha1.ClusterPeer, wanted *peeringv1alpha1.ClusterPeerStatus) (*peeringv1alpha1ac.ClusterPeerApplyConfiguration, error) {
	status := peeringv1alpha1ac.ClusterPeerStatus().
		WithPhase(wanted.Phase).
		WithObservedGeneration(wanted.ObservedGeneration)
	for _, kind := range ownConditions() {
		if condition := meta.FindStatusCondition(wanted.Conditions, kind); condition != nil {
			status.WithConditions(conditions.Apply(*condition))
		}
	}
	err := conditions.Fill(status, peeringv1alpha1.ClusterPeerStatus{
		Invite: wanted.Invite, Offer: wanted.Offer, Peer: wanted.Peer,
		EffectiveCapabilities: wanted.EffectiveCapabilities, PairedProjectsCount: wanted.PairedProjectsCount, Grants: wanted.Grants, Access: wanted.Access,
	})
	if err != nil {
		return nil, err
	}
	// With the UID, so that a write for a deleted object never reaches another one
	// that was given its name.
	return peeringv1alpha1ac.ClusterPeer(peer.Name).WithUID(peer.UID).WithStatus(status), nil
}

// ownConditions are the types of the conditions that this controller writes.
func ownConditions() []string {
	return []string{peeringv1alpha1.ConditionReady, peeringv1alpha1.ConditionClockSkew, peeringv1alpha1.ConditionTrustRotation}
}

// event records an Event about a ClusterPeer.
func (c *Controller) event(peer *peeringv1alpha1.ClusterPeer, kind, reason, message string) {
	c.recorder.Eventf(peeringv1alpha1.Reference("ClusterPeer", peer.Name, peer.UID), nil, kind, reason, eventAction, "%s", message)
}

// eventAction is what the controller was doing when it recorded an Event.
const eventAction = "Reconcile"

// eventType is Warning for what somebody has to mend.
func eventType(phase peeringv1alpha1.ClusterPeerPhase) string {
	if phase == peeringv1alpha1.ClusterPeerPhaseError {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
