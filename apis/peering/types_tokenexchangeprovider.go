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

package peering

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// TokenExchangeProvider shows by which keys the ServiceAccount tokens of one peer are
// verified, and who their holders are in this cluster. Entente makes one for each
// ClusterPeer whose peer publishes an issuer, named peer-NAME after it. It shows what is
// so and decides nothing: tokens are verified by what the peer itself has published, and a
// provider that others make is never used.
type TokenExchangeProvider struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// How the tokens of the peer are verified.
	Spec TokenExchangeProviderSpec
	// Whether the provider is in use. Written by Entente.
	Status TokenExchangeProviderStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// TokenExchangeProviderList is a list of TokenExchangeProviders.
type TokenExchangeProviderList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// The TokenExchangeProviders.
	Items []TokenExchangeProvider
}

// TokenExchangeProviderSpec is how the tokens of a peer are verified.
type TokenExchangeProviderSpec struct {
	// Issuer of the tokens, as the peer publishes it.
	Issuer PeerIssuer
	// Audiences of which a token must have exactly one: one for each capability that is in
	// effect between the clusters, each of at most 253 characters.
	Audiences []string
	// Prefix of the names that the holders of the tokens have in this cluster, at most 64
	// characters: peer:UUID: with the UUID of the peer.
	UsernamePrefix string
}

// TokenExchangeProviderStatus tells whether a provider is in use. It is output only.
type TokenExchangeProviderStatus struct {
	// Generation of the object that the status is about.
	ObservedGeneration int64
	// State of the provider, one entry a type:
	//
	// Ready: whether tokens of the peer are accepted; False carries the reason
	// (PrefixConflict, InvalidSpec, ApplyError).
	Conditions []metav1.Condition
}
