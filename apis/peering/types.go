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

// ClusterPeer is one end of a peering between this cluster and another one. A
// peering has two of them: type Invite in the cluster that issues the
// connection string, type Join in the cluster that uses it.
//
// The name is a DNS label of at most 63 characters. Fields that hold a
// connection string read as the placeholder `<omitted>` for callers without
// permission on the subresource clusterpeers/sensitive.
type ClusterPeer struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// The peering that is wanted.
	Spec ClusterPeerSpec
	// The peering as Entente sees it. Written by Entente.
	Status ClusterPeerStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterPeerList is a list of ClusterPeers.
type ClusterPeerList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// The ClusterPeers.
	Items []ClusterPeer
}

// ClusterPeerType is the role of a cluster in a peering: Invite or Join.
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
	Type ClusterPeerType

	// Settings of type Invite; forbidden with type Join.
	Invite *InviteSpec

	// Settings of type Join; forbidden with type Invite.
	Join *JoinSpec

	// Names of the PeeringCapability objects whose rules the modules of the
	// other cluster may use here. Each is a DNS label of at most 63 characters;
	// none is named twice.
	Capabilities []string

	// Names of the projects that are offered to the other cluster and paired
	// with its projects of the same name. Without it every labelled project is
	// offered. Each is a DNS label of at most 63 characters; none is named twice.
	Projects []string
}

// InviteSpec holds the settings of the cluster that invites.
type InviteSpec struct {
	// UUID of the only cluster that may join, 36 characters in the form
	// 8-4-4-4-12. Without it, any cluster that holds the connection string may.
	ExpectedClusterUUID string

	// How long a connection string can be used after it was issued: a Go
	// duration from 1m to 24h, such as 90m. Without it, 1h.
	TokenTTL string
}

// JoinSpec holds the settings of the cluster that joins.
type JoinSpec struct {
	// Connection string that the other cluster issued, at most 4096 characters.
	// It may be left out until it is there. Callers without permission on
	// clusterpeers/sensitive read `<omitted>`, and writing `<omitted>` keeps what
	// is stored.
	ConnectionString string `datapolicy:"token"`

	// UUID of the cluster that issued the connection string, 36 characters in
	// the form 8-4-4-4-12. A peer with another UUID is refused.
	ExpectedClusterUUID string
}

// ClusterPeerPhase sums up the state of a peering in one word.
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
	Phase ClusterPeerPhase

	// Generation of the object that this status describes.
	ObservedGeneration int64

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
	Conditions []metav1.Condition

	// Issued connection string. Set with type Invite.
	Invite *InviteStatus

	// What the other cluster receives from this one.
	Offer *Offer

	// What was received from the other cluster.
	Peer *PeerStatus

	// Names of the capabilities that both clusters offer in the same major version.
	EffectiveCapabilities []string

	// Number of projects that are paired with a project of the same name in the
	// other cluster.
	PairedProjectsCount int32

	// Access that the modules of the other cluster have here, one entry a capability.
	Grants []Grant

	// How modules of this cluster reach the other one.
	Access *AccessStatus
}

// InviteStatus describes the connection string that was issued last.
type InviteStatus struct {
	// Connection string to carry to the other cluster, at most 4096 characters.
	// It goes when it was used or is expired. Callers without permission on
	// clusterpeers/sensitive read `<omitted>`.
	ConnectionString string `datapolicy:"token"`

	// ID of the connection string: 16 hexadecimal digits, not secret.
	TokenID string

	// Hash by which the connection string is recognised: 64 hexadecimal digits,
	// not secret.
	TokenHash string

	// When the connection string expires, by the clock of this cluster.
	ExpiresAt *metav1.Time

	// Whether the connection string has been used. It can be used once.
	Used bool
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
	Capabilities []OfferedCapability

	// Projects that can be paired, one entry a name.
	Projects []OfferedProject

	// Issuer of this cluster's ServiceAccount tokens.
	Issuer *Issuer

	// Version of Entente in this cluster, at most 64 characters.
	PeeringVersion string
}

// OfferedCapability is a capability of this cluster as the other one sees it.
type OfferedCapability struct {
	// Name of the PeeringCapability.
	Name string
	// Version of the capability.
	Version string
	// Where it applies: project, cluster or both.
	Scope []CapabilityScope
}

// OfferedProject is a project of this cluster as the other one sees it.
type OfferedProject struct {
	// Name of the project.
	Name string
	// Namespaces of the project.
	Namespaces []string
}

// Issuer is an issuer of ServiceAccount tokens.
type Issuer struct {
	// URL of the issuer, as in the claim `iss` of its tokens.
	URL string
	// Public keys of the issuer, a JSON Web Key Set (RFC 7517).
	JWKS string
}

// PeerStatus is what was received from the other cluster. Its strings are the
// other cluster's own words: informative, never a proof.
type PeerStatus struct {
	// UUID of the other cluster.
	ClusterUUID string

	// Name that the other cluster gives itself.
	Alias string

	// Endpoint of the other cluster's gateway.
	Endpoint string

	// Version of Entente in the other cluster, at most 64 characters.
	PeeringVersion string

	// Capabilities that the other cluster offers, one entry a name.
	Capabilities []PeerCapability

	// Projects that the other cluster offers for pairing, one entry a name.
	Projects []PeerProject

	// Issuer of the other cluster's ServiceAccount tokens.
	Issuer *PeerIssuer

	// When the other cluster was last in touch. Written on change and at most
	// once a minute.
	LastSyncTime *metav1.Time
}

// PeerCapability is a capability that the other cluster offers.
type PeerCapability struct {
	// Name of the capability.
	Name string
	// Version of the capability.
	Version string
	// Where it applies: project, cluster or both.
	Scope []string
}

// PeerProject is a project that the other cluster offers for pairing.
type PeerProject struct {
	// Name of the project.
	Name string
	// Namespaces of the project in the other cluster.
	Namespaces []string
}

// PeerIssuer is the issuer of the other cluster's ServiceAccount tokens.
type PeerIssuer struct {
	// URL of the issuer, as in the claim `iss` of its tokens.
	URL string
	// Public keys of the issuer, a JSON Web Key Set (RFC 7517).
	JWKS string
}

// Grant is access that the modules of the other cluster have here by one capability.
type Grant struct {
	// Name of the capability.
	Capability string
	// Namespaces where the access applies. Absent for a capability that covers
	// cluster-scoped resources only. Of more than 2,000 in all grants the first are
	// listed, of each grant one at least.
	Namespaces []string
}

// AccessStatus is what a module of this cluster needs to reach the other one.
type AccessStatus struct {
	// URL of the other cluster's gateway.
	Endpoint string
	// Certificates by which the gateway is recognised, PEM.
	CABundle string
	// Audience that a token needs, one entry an effective capability.
	Audiences []CapabilityAudience
}

// CapabilityAudience is the audience of tokens for one capability.
type CapabilityAudience struct {
	// Name of the capability.
	Capability string
	// Audience that a token must have, and no other.
	Audience string
}
