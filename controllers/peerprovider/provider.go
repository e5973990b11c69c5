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
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// AnnotationProof is what shows that Entente made a provider, for the ClusterPeer whose UID
// is beside it. Nothing else on an object says that it is ours: the label is for people.
const AnnotationProof = peeringv1alpha1.GroupName + "/proof"

// kind is the kind of providers, in proofs and owner references.
const kind = "TokenExchangeProvider"

// PeerUID returns the UID of the ClusterPeer for which Entente made a provider; empty:
// somebody else made it. A proof that was copied is worth nothing under another name.
func PeerUID(provider *peeringv1alpha1.TokenExchangeProvider, key *record.GrantKey) string {
	uid := provider.Annotations[peeringv1alpha1.AnnotationPeerUID]
	if uid == "" || !key.Proves(provider.Annotations[AnnotationProof], uid, provenObject(provider.Name)) {
		return ""
	}
	return uid
}

// provenObject is what a proof is about.
func provenObject(name string) record.GrantedObject {
	return record.GrantedObject{Kind: kind, Name: name}
}

// specOf returns what a provider shows by a plan: an audience for each capability in effect.
func specOf(ours string, plan *access.Plan, issuer *protocol.Issuer) peeringv1alpha1.TokenExchangeProviderSpec {
	spec := peeringv1alpha1.TokenExchangeProviderSpec{
		Issuer:         peeringv1alpha1.PeerIssuer{URL: issuer.URL, JWKS: issuer.JWKS},
		UsernamePrefix: protocol.UserPrefix(plan.ClusterUUID),
	}
	for _, capability := range plan.Effective {
		spec.Audiences = append(spec.Audiences, protocol.Audience(ours, capability.Name))
	}
	return spec
}

// wanted is a provider as it is to be.
type wanted struct {
	peer *peeringv1alpha1.ClusterPeer
	spec peeringv1alpha1.TokenExchangeProviderSpec
}

func (w wanted) name() string { return peeringv1alpha1.ProviderName(w.peer.Name) }

// owner is the ClusterPeer, with which the provider goes. It does not hold that up.
func (w wanted) owner() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: peeringv1alpha1.SchemeGroupVersion.String(), Kind: "ClusterPeer",
		Name: w.peer.Name, UID: w.peer.UID, Controller: ptr.To(true),
	}
}

// build returns the provider as it is to be made.
func (w wanted) build(key *record.GrantKey) *peeringv1alpha1.TokenExchangeProvider {
	uid := string(w.peer.UID)
	return &peeringv1alpha1.TokenExchangeProvider{
		ObjectMeta: metav1.ObjectMeta{
			Name:            w.name(),
			Labels:          map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy},
			Annotations:     map[string]string{peeringv1alpha1.AnnotationPeerUID: uid, AnnotationProof: key.Proof(uid, provenObject(w.name()))},
			OwnerReferences: []metav1.OwnerReference{w.owner()},
		},
		Spec: *w.spec.DeepCopy(),
	}
}

// matches tells whether a provider of ours is as it is to be. What others added to its
// metadata does not matter.
func (w wanted) matches(live *peeringv1alpha1.TokenExchangeProvider) bool {
	owner := w.owner()
	return live.Labels[peeringv1alpha1.LabelManagedBy] == peeringv1alpha1.ManagedBy &&
		slices.ContainsFunc(live.OwnerReferences, func(o metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(o, owner) }) &&
		equality.Semantic.DeepEqual(live.Spec, w.spec)
}

// mend returns a provider of ours as it is to be.
func (w wanted) mend(live *peeringv1alpha1.TokenExchangeProvider) *peeringv1alpha1.TokenExchangeProvider {
	mended := live.DeepCopy()
	metav1.SetMetaDataLabel(&mended.ObjectMeta, peeringv1alpha1.LabelManagedBy, peeringv1alpha1.ManagedBy)
	mended.OwnerReferences = []metav1.OwnerReference{w.owner()}
	mended.Spec = *w.spec.DeepCopy()
	return mended
}
