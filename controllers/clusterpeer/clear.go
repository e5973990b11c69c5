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
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// clear takes out of a status what an apply leaves there: what somebody else owns too,
// because he wrote it. A connection string of his would lead the other cluster to him
// (S1). What belongs there in its place is written when the informer brings the object.
func (c *Controller) clear(ctx context.Context, l *look, wanted *peeringv1alpha1.ClusterPeerStatus) error {
	patch := leftovers(&l.peer.Status, wanted, l.facts)
	if len(patch) == 0 {
		return nil
	}
	patch = append(jsonPatch{
		{Op: "test", Path: "/metadata/uid", Value: string(l.peer.UID)},
		{Op: "test", Path: "/metadata/resourceVersion", Value: l.peer.ResourceVersion},
	}, patch...)
	data, err := patch.encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cleared, err := c.client.PeeringV1alpha1().ClusterPeers().Patch(ctx, l.peer.Name, types.JSONPatchType, data, metav1.PatchOptions{FieldManager: FieldManager}, "status")
	if apierrors.IsNotFound(err) {
		l.gone = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("could not clear the status of what is not ours: %w", err)
	}
	l.peer = cleared
	c.memory.wrote(cleared, c.clock.Now())
	return nil
}

// leftovers are the changes that take out of a status what should not be there.
func leftovers(status, wanted *peeringv1alpha1.ClusterPeerStatus, f facts) jsonPatch {
	var patch jsonPatch
	remove := func(unwanted bool, path string) {
		if unwanted {
			patch = append(patch, operation{Op: "remove", Path: path})
		}
	}
	// From the end, so that the indices stay right.
	for i, condition := range slices.Backward(status.Conditions) {
		ours := slices.Contains(ownConditions(), condition.Type) || nobodys(condition.Type, f)
		remove(ours && meta.FindStatusCondition(wanted.Conditions, condition.Type) == nil, "/status/conditions/"+strconv.Itoa(i))
	}
	remove(status.Offer != nil && !equality.Semantic.DeepEqual(status.Offer, wanted.Offer), "/status/offer")
	remove(status.Peer != nil && !equality.Semantic.DeepEqual(status.Peer, wanted.Peer), "/status/peer")
	// What no controller writes yet could only lead somebody astray.
	remove(status.Access != nil, "/status/access")
	// What is left is written again when the informer brings the object.
	remove(len(status.Grants) > 0 && !equality.Semantic.DeepEqual(status.Grants, wanted.Grants), "/status/grants")
	remove(len(status.EffectiveCapabilities) > 0 && !equality.Semantic.DeepEqual(status.EffectiveCapabilities, wanted.EffectiveCapabilities), "/status/effectiveCapabilities")
	remove(status.PairedProjectsCount != 0 && wanted.PairedProjectsCount == 0, "/status/pairedProjectsCount")
	switch {
	case status.Invite == nil:
	case wanted.Invite == nil:
		remove(true, "/status/invite")
	default:
		// All the rest of it is always set.
		remove(status.Invite.ConnectionString != "" && wanted.Invite.ConnectionString == "", "/status/invite/connectionString")
	}
	return patch
}

// nobodys tells whether a condition of ours is written by nobody: by no controller that
// there is or, without a gateway or a host cluster, by nobody who looks at it.
func nobodys(conditionType string, f facts) bool {
	switch conditionType {
	case peeringv1alpha1.ConditionTokenExchangeReady:
		return true
	case peeringv1alpha1.ConditionClientCertEnforced, peeringv1alpha1.ConditionServerCertOurs:
		return !f.gateway
	case peeringv1alpha1.ConditionGrantsApplied:
		return !f.host
	}
	return false
}
