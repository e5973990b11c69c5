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

const (
	// FinalizerDisconnect keeps a ClusterPeer that is being deleted until its access is
	// gone and the other cluster was told, if it can be reached (P12). Every ClusterPeer
	// has it from its creation on.
	FinalizerDisconnect = GroupName + "/disconnect"

	// AnnotationRenew asks for a new connection string in place of the one whose ID is
	// the annotation's value, status.invite.tokenID. Another value asks for nothing (P5).
	AnnotationRenew = GroupName + "/renew"
)

// What objects are marked with that Entente makes for a ClusterPeer: providers, and in the
// host cluster RBAC objects and Secrets. Whether it made one is known by more than that.
const (
	// LabelManagedBy has the value ManagedBy on all of them.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "entente"
	// LabelPeer is the name of the ClusterPeer.
	LabelPeer = GroupName + "/peer"
	// AnnotationPeerUID is the UID of the ClusterPeer.
	AnnotationPeerUID = GroupName + "/peer-uid"
)

// Types of the conditions of a ClusterPeer.
const (
	// ConditionReady says whether a peering works.
	ConditionReady = "Ready"
	// ConditionClockSkew is True while the clocks of the two clusters differ much, and
	// absent otherwise.
	ConditionClockSkew = "ClockSkew"
	// ConditionTrustRotation is True while the peering CA of this cluster is replaced by
	// another one, and absent otherwise (P3).
	ConditionTrustRotation = "TrustRotation"
	// ConditionClientCertEnforced says whether the gateway refuses who has no client
	// certificate. Without a gateway it is absent.
	ConditionClientCertEnforced = "ClientCertEnforced"
	// ConditionServerCertOurs says whether whoever dials the gateway gets to see a
	// certificate of the peering CA. Without a gateway it is absent.
	ConditionServerCertOurs = "ServerCertOurs"
	// ConditionGrantsApplied says whether the peer has in the host cluster what it is
	// granted, and nothing else. Without a host cluster, and before a peer is paired, it is
	// absent.
	ConditionGrantsApplied = "GrantsApplied"
	// ConditionTokenExchangeReady says whether tokens of the other cluster can be verified.
	// Without a gateway or a host cluster, and while there is no peering, it is absent.
	ConditionTokenExchangeReady = "TokenExchangeReady"
)

// Reasons of the condition TokenExchangeReady of a ClusterPeer.
const (
	// ReasonProviderReady: they can. All other reasons are of status False.
	ReasonProviderReady = "ProviderReady"
	// ReasonProviderPending: the provider was just made or changed, and is not in use yet.
	ReasonProviderPending = "ProviderPending"
	// ReasonProviderDeleting: the provider is being deleted, and made again when it is gone.
	ReasonProviderDeleting = "ProviderDeleting"
	// ReasonProviderNotReady: the provider does not say why it is not in use.
	ReasonProviderNotReady = "ProviderNotReady"
	// ReasonProviderRejected: the provider cannot be read or written, or the keys of the
	// peer are no JSON Web Key Set.
	ReasonProviderRejected = "ProviderRejected"
	// ReasonForeignProvider: an object that Entente did not make has the provider's name.
	ReasonForeignProvider = "ForeignProvider"
	// ReasonAwaitingIssuer: the peer has not published an issuer of ServiceAccount tokens.
	ReasonAwaitingIssuer = "AwaitingIssuer"
)

// Reasons for which a TokenExchangeProvider is not in use. A ClusterPeer has the same.
const (
	// ReasonPrefixConflict: names with its prefix are those of another provider's users.
	ReasonPrefixConflict = "PrefixConflict"
	// ReasonInvalidSpec: tokens cannot be verified by it, or must not be.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonApplyError: it could not be put to use.
	ReasonApplyError = "ApplyError"
	// ReasonDiscoveryFailed: its issuer could not be asked. Entente asks none; providers of
	// other implementations may have it.
	ReasonDiscoveryFailed = "DiscoveryFailed"
)

// ReasonInUse says of a TokenExchangeProvider that tokens are verified by it.
const ReasonInUse = "InUse"

// ProviderName returns the name of the TokenExchangeProvider of a ClusterPeer.
func ProviderName(clusterPeer string) string { return "peer-" + clusterPeer }

// ConditionValid says of a PeeringCapability whether it can be offered and granted.
const ConditionValid = "Valid"
