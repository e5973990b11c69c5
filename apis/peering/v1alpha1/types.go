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
// +k8s:supportsSubresource="/sensitive"
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterPeer is one end of a peering between this cluster and another one. A
// peering has two of them: type Invite in the cluster that issues the
// connection string, type Join in the cluster that uses it.
//
// The name is a DNS label of at most 63 characters. Fields that hold a
// connection string read as the placeholder `<omitted>` for callers without
// permission on the subresource clusterpeers/sensitive.
type ClusterPeer struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The peering that is wanted.
	Spec ClusterPeerSpec `json:"spec"`
	// The peering as Entente sees it. Written by Entente.
	// +optional
	Status ClusterPeerStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterPeerList is a list of ClusterPeers.
type ClusterPeerList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The ClusterPeers.
	// +listType=atomic
	Items []ClusterPeer `json:"items"`
}

// ClusterPeerType is the role of a cluster in a peering: Invite or Join.
// +enum
// +k8s:enum
type ClusterPeerType string

const (
	// ClusterPeerTypeInvite issues a connection string for the other cluster.
	ClusterPeerTypeInvite ClusterPeerType = "Invite"
	// ClusterPeerTypeJoin uses a connection string that the other cluster issued.
	ClusterPeerTypeJoin ClusterPeerType = "Join"
)

// ClusterPeerSpec is the peering that is wanted.
type ClusterPeerSpec struct {
	// Role of this cluster in the peering: Invite issues a connection string,
	// Join uses one. It cannot be changed.
	// +required
	// +k8s:required
	// +k8s:immutable
	Type ClusterPeerType `json:"type"`

	// Settings of type Invite; forbidden with type Join.
	// +optional
	// +k8s:optional
	Invite *InviteSpec `json:"invite,omitempty"`

	// Settings of type Join; forbidden with type Invite.
	// +optional
	// +k8s:optional
	Join *JoinSpec `json:"join,omitempty"`

	// Names of the PeeringCapability objects whose rules the modules of the
	// other cluster may use here. Each is a DNS label of at most 63 characters;
	// none is named twice.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:format=k8s-short-name
	// +k8s:validation:items:maxLength=63
	Capabilities []string `json:"capabilities,omitempty"`

	// Names of the projects that are offered to the other cluster and paired
	// with its projects of the same name. Without it every labelled project is
	// offered. Each is a DNS label of at most 63 characters; none is named twice.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:format=k8s-short-name
	// +k8s:validation:items:maxLength=63
	Projects []string `json:"projects,omitempty"`
}

// InviteSpec holds the settings of the cluster that invites.
type InviteSpec struct {
	// UUID of the only cluster that may join, 36 characters in the form
	// 8-4-4-4-12. Without it, any cluster that holds the connection string may.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=36
	// +k8s:format=k8s-uuid
	// +k8s:validation:maxLength=36
	ExpectedClusterUUID string `json:"expectedClusterUUID,omitempty"`

	// How long a connection string can be used after it was issued: a Go
	// duration from 1m to 24h, such as 90m. Without it, 1h.
	// +optional
	TokenTTL string `json:"tokenTTL,omitempty"`
}

// JoinSpec holds the settings of the cluster that joins.
type JoinSpec struct {
	// Connection string that the other cluster issued, at most 4096 characters.
	// It may be left out until it is there. Callers without permission on
	// clusterpeers/sensitive read `<omitted>`, and writing `<omitted>` keeps what
	// is stored.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=4096
	// +k8s:validation:maxLength=4096
	ConnectionString string `json:"connectionString,omitempty" datapolicy:"token"`

	// UUID of the cluster that issued the connection string, 36 characters in
	// the form 8-4-4-4-12. A peer with another UUID is refused.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=36
	// +k8s:format=k8s-uuid
	// +k8s:validation:maxLength=36
	ExpectedClusterUUID string `json:"expectedClusterUUID,omitempty"`
}

// ClusterPeerPhase sums up the state of a peering in one word.
// +enum
// +k8s:enum
type ClusterPeerPhase string

const (
	// ClusterPeerPhasePending waits for the other cluster or for a connection string.
	ClusterPeerPhasePending ClusterPeerPhase = "Pending"
	// ClusterPeerPhaseActive means that the peering works.
	ClusterPeerPhaseActive ClusterPeerPhase = "Active"
	// ClusterPeerPhaseError means that the peering does not work; the condition Ready says why.
	ClusterPeerPhaseError ClusterPeerPhase = "Error"
)

// ClusterPeerStatus is the peering as Entente sees it. It is output only:
// nothing in it decides what the other cluster may do.
type ClusterPeerStatus struct {
	// State in one word: Pending, Active or Error. It follows the condition Ready.
	// +optional
	// +k8s:optional
	Phase ClusterPeerPhase `json:"phase,omitempty"`

	// Generation of the object that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the peering, one entry a type:
	//
	// Ready: whether the peering works; False carries the reason.
	//
	// ClientCertEnforced: whether the gateway refuses a request without a client
	// certificate (ClientCertRequired, ClientCertNotRequired, EntranceUnreachable).
	//
	// ServerCertOurs: whether the gateway presents a certificate of this
	// cluster's peering CA (PeeringRootCert, ForeignCert, EntranceUnreachable).
	//
	// TokenExchangeReady: whether ServiceAccount tokens of the other cluster can
	// be verified here (ProviderReady, ProviderPending, ProviderDeleting,
	// ProviderNotReady, ProviderRejected, ForeignProvider, AwaitingIssuer,
	// PrefixConflict, InvalidSpec, DiscoveryFailed, ApplyError).
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

	// Issued connection string. Set with type Invite.
	// +optional
	// +k8s:optional
	Invite *InviteStatus `json:"invite,omitempty"`

	// What the other cluster receives from this one.
	// +optional
	// +k8s:optional
	Offer *Offer `json:"offer,omitempty"`

	// What was received from the other cluster.
	// +optional
	// +k8s:optional
	Peer *PeerStatus `json:"peer,omitempty"`

	// Names of the capabilities that both clusters offer in the same major version.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=63
	// +k8s:validation:items:maxLength=63
	EffectiveCapabilities []string `json:"effectiveCapabilities,omitempty"`

	// Number of projects that are paired with a project of the same name in the
	// other cluster.
	// +optional
	PairedProjectsCount int32 `json:"pairedProjectsCount,omitempty"`

	// Access that the modules of the other cluster have here, one entry a capability.
	// +optional
	// +listType=map
	// +listMapKey=capability
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=capability
	Grants []Grant `json:"grants,omitempty"`

	// How modules of this cluster reach the other one.
	// +optional
	// +k8s:optional
	Access *AccessStatus `json:"access,omitempty"`
}

// InviteStatus describes the connection string that was issued last.
type InviteStatus struct {
	// Connection string to carry to the other cluster, at most 4096 characters.
	// It goes when it was used or is expired. Callers without permission on
	// clusterpeers/sensitive read `<omitted>`.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=4096
	// +k8s:validation:maxLength=4096
	ConnectionString string `json:"connectionString,omitempty" datapolicy:"token"`

	// ID of the connection string: 16 hexadecimal digits, not secret.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=16
	// +k8s:validation:maxLength=16
	TokenID string `json:"tokenID,omitempty"`

	// Hash by which the connection string is recognised: 64 hexadecimal digits,
	// not secret.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	TokenHash string `json:"tokenHash,omitempty"`

	// When the connection string expires, by the clock of this cluster.
	// +optional
	// +k8s:opaqueType
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`

	// Whether the connection string has been used. It can be used once.
	// +optional
	Used bool `json:"used"`
}

// CapabilityScope says where a capability applies: in paired projects, or in
// the whole cluster.
type CapabilityScope string

const (
	// CapabilityScopeProject applies in the namespaces of paired projects.
	CapabilityScopeProject CapabilityScope = "project"
	// CapabilityScopeCluster applies to cluster-scoped resources and to URLs.
	CapabilityScopeCluster CapabilityScope = "cluster"
)

// Offer is what this cluster sends to the other one.
type Offer struct {
	// Capabilities that are offered, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Capabilities []OfferedCapability `json:"capabilities,omitempty"`

	// Projects that can be paired, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Projects []OfferedProject `json:"projects,omitempty"`

	// Issuer of this cluster's ServiceAccount tokens.
	// +optional
	// +k8s:optional
	Issuer *Issuer `json:"issuer,omitempty"`

	// Version of Entente in this cluster, at most 64 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	PeeringVersion string `json:"peeringVersion,omitempty"`
}

// OfferedCapability is a capability of this cluster as the other one sees it.
type OfferedCapability struct {
	// Name of the PeeringCapability.
	// +required
	// +k8s:required
	Name string `json:"name"`
	// Version of the capability.
	// +optional
	Version string `json:"version,omitempty"`
	// Where it applies: project, cluster or both.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Scope []CapabilityScope `json:"scope,omitempty"`
}

// OfferedProject is a project of this cluster as the other one sees it.
type OfferedProject struct {
	// Name of the project.
	// +required
	// +k8s:required
	Name string `json:"name"`
	// Namespaces of the project.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Namespaces []string `json:"namespaces,omitempty"`
}

// Issuer is an issuer of ServiceAccount tokens.
type Issuer struct {
	// URL of the issuer, as in the claim `iss` of its tokens.
	// +optional
	URL string `json:"url,omitempty"`
	// Public keys of the issuer, a JSON Web Key Set (RFC 7517).
	// +optional
	JWKS string `json:"jwks,omitempty"`
}

// PeerStatus is what was received from the other cluster. Its strings are the
// other cluster's own words: informative, never a proof.
type PeerStatus struct {
	// UUID of the other cluster.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	ClusterUUID string `json:"clusterUUID,omitempty"`

	// Name that the other cluster gives itself.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	Alias string `json:"alias,omitempty"`

	// Endpoint of the other cluster's gateway.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	Endpoint string `json:"endpoint,omitempty"`

	// Version of Entente in the other cluster, at most 64 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	PeeringVersion string `json:"peeringVersion,omitempty"`

	// Capabilities that the other cluster offers, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Capabilities []PeerCapability `json:"capabilities,omitempty"`

	// Projects that the other cluster offers for pairing, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Projects []PeerProject `json:"projects,omitempty"`

	// Issuer of the other cluster's ServiceAccount tokens.
	// +optional
	// +k8s:optional
	Issuer *PeerIssuer `json:"issuer,omitempty"`

	// When the other cluster was last in touch. Written on change and at most
	// once a minute.
	// +optional
	// +k8s:opaqueType
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
}

// PeerCapability is a capability that the other cluster offers.
type PeerCapability struct {
	// Name of the capability.
	// +required
	// +k8s:required
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	Name string `json:"name"`
	// Version of the capability.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	Version string `json:"version,omitempty"`
	// Where it applies: project, cluster or both.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=1048576
	// +k8s:validation:items:maxLength=1048576
	Scope []string `json:"scope,omitempty"`
}

// PeerProject is a project that the other cluster offers for pairing.
type PeerProject struct {
	// Name of the project.
	// +required
	// +k8s:required
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	Name string `json:"name"`
	// Namespaces of the project in the other cluster.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=1048576
	// +k8s:validation:items:maxLength=1048576
	Namespaces []string `json:"namespaces,omitempty"`
}

// PeerIssuer is the issuer of the other cluster's ServiceAccount tokens.
type PeerIssuer struct {
	// URL of the issuer, as in the claim `iss` of its tokens.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	URL string `json:"url,omitempty"`
	// Public keys of the issuer, a JSON Web Key Set (RFC 7517).
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1048576
	// +k8s:validation:maxLength=1048576
	JWKS string `json:"jwks,omitempty"`
}

// Grant is access that the modules of the other cluster have here by one capability.
type Grant struct {
	// Name of the capability.
	// +required
	// +k8s:required
	Capability string `json:"capability"`
	// Namespaces where the access applies. Absent for a capability that covers
	// cluster-scoped resources only. Of more than 2,000 in all grants the first are
	// listed, of each grant one at least.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	Namespaces []string `json:"namespaces,omitempty"`
}

// AccessStatus is what a module of this cluster needs to reach the other one.
type AccessStatus struct {
	// URL of the other cluster's gateway.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Certificates by which the gateway is recognised, PEM.
	// +optional
	CABundle string `json:"caBundle,omitempty"`
	// Audience that a token needs, one entry an effective capability.
	// +optional
	// +listType=map
	// +listMapKey=capability
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=capability
	Audiences []CapabilityAudience `json:"audiences,omitempty"`
}

// CapabilityAudience is the audience of tokens for one capability.
type CapabilityAudience struct {
	// Name of the capability.
	// +required
	// +k8s:required
	Capability string `json:"capability"`
	// Audience that a token must have, and no other.
	// +optional
	Audience string `json:"audience,omitempty"`
}
