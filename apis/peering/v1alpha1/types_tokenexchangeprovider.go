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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:supportsSubresource="/status"
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// TokenExchangeProvider shows by which keys the ServiceAccount tokens of one peer are
// verified, and who their holders are in this cluster. Entente makes one for each
// ClusterPeer whose peer publishes an issuer, named peer-NAME after it. It shows what is
// so and decides nothing: tokens are verified by what the peer itself has published, and a
// provider that others make is never used.
type TokenExchangeProvider struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How the tokens of the peer are verified.
	// +optional
	Spec TokenExchangeProviderSpec `json:"spec,omitempty"`
	// Whether the provider is in use. Written by Entente.
	// +optional
	Status TokenExchangeProviderStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// TokenExchangeProviderList is a list of TokenExchangeProviders.
type TokenExchangeProviderList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The TokenExchangeProviders.
	// +listType=atomic
	Items []TokenExchangeProvider `json:"items"`
}

// TokenExchangeProviderSpec is how the tokens of a peer are verified.
type TokenExchangeProviderSpec struct {
	// Issuer of the tokens, as the peer publishes it.
	// +optional
	Issuer PeerIssuer `json:"issuer,omitempty"`
	// Audiences of which a token must have exactly one: one for each capability that is in
	// effect between the clusters, each of at most 253 characters.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=253
	// +k8s:validation:items:maxLength=253
	Audiences []string `json:"audiences,omitempty"`
	// Prefix of the names that the holders of the tokens have in this cluster, at most 64
	// characters: peer:UUID: with the UUID of the peer.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	UsernamePrefix string `json:"usernamePrefix,omitempty"`
}

// TokenExchangeProviderStatus tells whether a provider is in use. It is output only.
type TokenExchangeProviderStatus struct {
	// Generation of the object that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State of the provider, one entry a type:
	//
	// Ready: whether tokens of the peer are accepted; False carries the reason
	// (PrefixConflict, InvalidSpec, ApplyError).
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
