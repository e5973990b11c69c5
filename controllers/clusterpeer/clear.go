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
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// clear takes out of a status what an apply leaves there: what somebody else owns too,
// because he wrote it. A connection string of his would lead the other cluster to him
// (S1). What belongs there in its place is written when the informer brings the object.
func (c *Controller) clear(ctx context.Context, l *look, wanted *peeringv1alpha1.ClusterPeerStatus) error {
	cleared := l.peer.DeepCopy()
	strip(&cleared.Status, wanted, l.facts)
	if equality.Semantic.DeepEqual(&cleared.Status, &l.peer.Status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cleared, err := c.client.PeeringV1alpha1().ClusterPeers().UpdateStatus(ctx, cleared, metav1.UpdateOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) {
		l.gone = true
		return nil
	}
	if apierrors.IsConflict(err) {
		return nil // the informer brings what came between
	}
	if err != nil {
		return fmt.Errorf("could not clear the status of what is not ours: %w", err)
	}
	l.peer = cleared
	c.memory.wrote(cleared, c.clock.Now())
	return nil
}

// strip takes out of a status what should not be there.
func strip(status, wanted *peeringv1alpha1.ClusterPeerStatus, f facts) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(condition metav1.Condition) bool {
		ours := slices.Contains(ownConditions(), condition.Type) || nobodys(condition.Type, f)
		return ours && meta.FindStatusCondition(wanted.Conditions, condition.Type) == nil
	})
	// What is left is written again when the informer brings the object.
	if !equality.Semantic.DeepEqual(status.Offer, wanted.Offer) {
		status.Offer = nil
	}
	if !equality.Semantic.DeepEqual(status.Peer, wanted.Peer) {
		status.Peer = nil
	}
	// An endpoint or a certificate of his would lead workloads to him.
	if !equality.Semantic.DeepEqual(status.Access, wanted.Access) {
		status.Access = nil
	}
	if !equality.Semantic.DeepEqual(status.Grants, wanted.Grants) {
		status.Grants = nil
	}
	if !equality.Semantic.DeepEqual(status.EffectiveCapabilities, wanted.EffectiveCapabilities) {
		status.EffectiveCapabilities = nil
	}
	if wanted.PairedProjectsCount == 0 {
		status.PairedProjectsCount = 0
	}
	switch {
	case status.Invite == nil:
	case wanted.Invite == nil:
		status.Invite = nil
	case wanted.Invite.ConnectionString == "":
		status.Invite.ConnectionString = "" // all the rest of it is always set
	}
}

// nobodys tells whether a condition of ours is written by nobody: without a gateway or a host
// cluster nobody looks at what it is about.
func nobodys(conditionType string, f facts) bool {
	switch conditionType {
	case peeringv1alpha1.ConditionClientCertEnforced, peeringv1alpha1.ConditionServerCertOurs:
		return !f.gateway
	case peeringv1alpha1.ConditionGrantsApplied:
		return !f.host
	}
	return false
}
