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
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// What objects are marked with, beside what all that Entente makes for a ClusterPeer is.
// Labels are for people and informers; neither they nor anything else on an object decides
// anything, but for the proof.
const (
	// LabelCapability is the name of the PeeringCapability.
	LabelCapability = peeringv1alpha1.GroupName + "/capability"
	// AnnotationProof is what shows that an object is ours if the ledger does not say. It was
	// made for the UID of the ClusterPeer.
	AnnotationProof = peeringv1alpha1.GroupName + "/grant"
)

// Selector selects our objects, for the informers.
func Selector() string { return peeringv1alpha1.LabelManagedBy + "=" + peeringv1alpha1.ManagedBy }

// object is a Role, a RoleBinding, a ClusterRole or a ClusterRoleBinding.
type object interface{ metav1.Object }

// build returns one of the two objects of a pair, as it is to be.
func (p pair) build(r ref, key *record.GrantKey) object {
	described := metav1.ObjectMeta{
		Namespace:   r.namespace,
		Name:        r.name,
		Labels:      map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy, peeringv1alpha1.LabelPeer: p.owner.name, LabelCapability: p.capability},
		Annotations: map[string]string{peeringv1alpha1.AnnotationPeerUID: p.owner.uid, AnnotationProof: key.Proof(p.owner.uid, r.granted(""))},
	}
	switch r.kind {
	case record.KindRole:
		return &rbacv1.Role{ObjectMeta: described, Rules: p.rules}
	case record.KindClusterRole:
		return &rbacv1.ClusterRole{ObjectMeta: described, Rules: p.rules}
	case record.KindRoleBinding:
		return &rbacv1.RoleBinding{ObjectMeta: described, Subjects: p.subjects, RoleRef: p.roleRef()}
	default:
		return &rbacv1.ClusterRoleBinding{ObjectMeta: described, Subjects: p.subjects, RoleRef: p.roleRef()}
	}
}

// roleRef is how the binding refers to the role of the same pair.
func (p pair) roleRef() rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: p.role.kind, Name: p.role.name}
}

// matches tells whether an object that is there is as it is to be. What others added to
// its labels and annotations does not matter, and neither does anything else that grants
// nothing.
func (p pair) matches(live object, r ref, key *record.GrantKey) bool {
	labels := live.GetLabels()
	if labels[peeringv1alpha1.LabelManagedBy] != peeringv1alpha1.ManagedBy || labels[peeringv1alpha1.LabelPeer] != p.owner.name || labels[LabelCapability] != p.capability {
		return false
	}
	if live.GetAnnotations()[peeringv1alpha1.AnnotationPeerUID] != p.owner.uid || !isProven(live, r, p.owner.uid, key) || len(live.GetFinalizers()) > 0 {
		return false
	}
	switch live := live.(type) {
	case *rbacv1.Role:
		return equality.Semantic.DeepEqual(live.Rules, p.rules)
	case *rbacv1.ClusterRole:
		return live.AggregationRule == nil && equality.Semantic.DeepEqual(live.Rules, p.rules)
	case *rbacv1.RoleBinding:
		return live.RoleRef == p.roleRef() && equality.Semantic.DeepEqual(live.Subjects, p.subjects)
	case *rbacv1.ClusterRoleBinding:
		return live.RoleRef == p.roleRef() && equality.Semantic.DeepEqual(live.Subjects, p.subjects)
	}
	return false
}

// isProven tells whether an object bears the proof that it was made by us, on the account
// of the ClusterPeer of that UID and for that place.
func isProven(live object, r ref, peerUID string, key *record.GrantKey) bool {
	return key.Proves(live.GetAnnotations()[AnnotationProof], peerUID, r.granted(""))
}
