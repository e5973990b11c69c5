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

// FinalizerPruneReleases is on every Cluster. It keeps one that is deleted until its Releases
// are gone, if they are to go with it.
const FinalizerPruneReleases = "cluster.core.convoy.kumodo.io/prune-releases"

// ConditionReady is the one condition of Clusters and of Releases.
const ConditionReady = "Ready"

// Reasons of the condition Ready of a Cluster.
const (
	// ReasonReachable: the cluster was connected to, and its version read.
	ReasonReachable = "Reachable"
	// ReasonUnsupported: the connection mode or the auth type is not implemented.
	ReasonUnsupported = "Unsupported"
	// ReasonProbeFailed: the cluster could not be connected to, or its version not be read.
	ReasonProbeFailed = "ProbeFailed"
)

// +genclient
// +k8s:supportsSubresource="/status"
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Cluster is a target cluster: how it is connected to, and what is known of it for the
// Releases of its namespace, whose target it is. It holds no credential; it names the
// Secrets that do, which are in its own namespace.
type Cluster struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// How the cluster is connected to, and what templates may know of it. At most 256 KiB.
	Spec ClusterSpec `json:"spec"`
	// The cluster as it was seen last. Written by Entente.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterList is a list of Clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Clusters.
	// +listType=atomic
	Items []Cluster `json:"items"`
}

// ConnectionMode is a way to connect to a cluster.
// +enum
// +k8s:enum
type ConnectionMode string

// Ways to connect to a cluster.
const (
	// ConnectionModeAgent: an agent in the cluster fetches what it is to apply. Not
	// implemented.
	ConnectionModeAgent ConnectionMode = "agent"
	// ConnectionModeAgentless: Entente connects to the API server of the cluster.
	ConnectionModeAgentless ConnectionMode = "agentless"
	// ConnectionModeInCluster: the cluster is the one that Entente runs in.
	ConnectionModeInCluster ConnectionMode = "inCluster"
)

// ClusterSpec is how a cluster is connected to.
type ClusterSpec struct {
	// How the cluster is connected to: inCluster (it is the one that Entente runs in),
	// agentless (with what the block agentless says) or agent (not implemented). There is
	// no default. The block of the mode must be there, and no other one.
	// +required
	// +k8s:required
	ConnectionMode ConnectionMode `json:"connectionMode"`

	// How an agent connects, for mode agent.
	// +optional
	// +k8s:optional
	Agent *ClusterAgentModeSpec `json:"agent,omitempty"`

	// How the API server of the cluster is connected to, for mode agentless.
	// +optional
	// +k8s:optional
	Agentless *ClusterAgentlessModeSpec `json:"agentless,omitempty"`

	// What the cluster can do. Accepted, not used.
	// +optional
	// +k8s:optional
	Capabilities *ClusterCapabilitiesSpec `json:"capabilities,omitempty"`

	// What happens to the Releases of the cluster when it is deleted. Without it they stay.
	// +optional
	// +k8s:optional
	DeletionPolicy *ClusterDeletionPolicy `json:"deletionPolicy,omitempty"`

	// What mutations of Releases read as cluster.<key>. The key name is always the name of
	// the Cluster, whatever is said here. At most 256 entries, and 64 KiB of keys and values.
	// +optional
	Metadata map[string]string `json:"metadata,omitempty"`
}

// ClusterAgentModeSpec is how an agent connects. It has no fields yet; an empty block counts
// as one that is there.
type ClusterAgentModeSpec struct{}

// ClusterAgentlessModeSpec is how the API server of a cluster is connected to.
type ClusterAgentlessModeSpec struct {
	// Address of the API server, at most 2,048 characters, without a user. With kubeconfig auth the
	// kubeconfig says where the server is; Releases show this address as the cluster they
	// were applied to.
	// +required
	// +k8s:required
	// +k8s:maxLength=2048
	// +k8s:validation:maxLength=2048
	Server string `json:"server"`

	// How Entente authenticates to the API server.
	// +required
	Auth ClusterAuthSpec `json:"auth"`

	// Where the CA certificate of the API server is, in PEM form. With kubeconfig auth the
	// kubeconfig has it, and this is not used.
	// +optional
	// +k8s:optional
	CAPublicCertRef *ConfigMapKeySelector `json:"caPublicCertRef,omitempty"`

	// Limits for requests to the API server. Not used with kubeconfig auth.
	// +optional
	// +k8s:optional
	ConnectionParameters *ClusterConnectionParametersSpec `json:"connectionParameters,omitempty"`
}

// ClusterConnectionParametersSpec are limits for requests to an API server.
type ClusterConnectionParametersSpec struct {
	// How many requests may be made at once beyond those a second, at least 0.
	// +required
	// +k8s:required
	// +k8s:minimum=0
	// +k8s:validation:minimum=0
	Burst *int32 `json:"burst,omitempty"`
	// How many requests may be made a second, at least 0.
	// +required
	// +k8s:required
	// +k8s:minimum=0
	// +k8s:validation:minimum=0
	QPS *int32 `json:"qps,omitempty"`
	// How long an answer is waited for, as in 30s: more than 0, at most 1h.
	// +required
	// +k8s:opaqueType
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ClusterCapabilitiesSpec is what a cluster can do. Accepted, not used.
type ClusterCapabilitiesSpec struct {
	// API versions that the cluster has.
	// +optional
	// +listType=atomic
	// +k8s:optional
	APIVersions []string `json:"apiVersions,omitempty"`
	// Whether the cluster knows server-side apply.
	// +required
	// +k8s:required
	ServerSideApply *bool `json:"serverSideApply,omitempty"`
}

// ClusterDeletionPolicy is what happens when a Cluster is deleted.
type ClusterDeletionPolicy struct {
	// Whether the Releases that refer to the Cluster, in its namespace, are deleted with it,
	// each as its own deletion policy says. The Cluster goes after them. If not, they stay,
	// with the reason ClusterNotReady.
	// +required
	// +k8s:required
	PruneReleases *bool `json:"pruneReleases,omitempty"`
}

// ClusterStatus is a cluster as it was seen last. It is output only.
type ClusterStatus struct {
	// State of the agent, in mode agent. Not set.
	// +optional
	// +k8s:optional
	AgentStatus *ClusterAgentStatus `json:"agentStatus,omitempty"`

	// State of the cluster, one entry a type:
	//
	// Ready: whether the cluster can be used: Reachable (it was connected to, and its
	// version read), Unsupported (the connection mode or the auth type is not implemented),
	// ProbeFailed (it could not be connected to, or its version not be read; tried again).
	//
	// At most 16, and 64 KiB.
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

	// API versions that the cluster has, such as v1 and apps/v1, sorted, at most 4,096, and
	// 64 KiB. The last ones that were read stay while it is not reachable.
	// +optional
	// +listType=atomic
	// +k8s:optional
	DiscoveredAPIVersions []string `json:"discoveredAPIVersions,omitempty"`

	// Kubernetes version of the cluster, as it was read last. At most 256 characters.
	// +optional
	DiscoveredVersion string `json:"discoveredVersion,omitempty"`

	// When the cluster was seen last, to the minute.
	// +optional
	// +k8s:opaqueType
	LastSeen *metav1.Time `json:"lastSeen,omitempty"`

	// Generation of the object that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Whether the cluster is reachable, as the condition Ready says.
	// +required
	// +k8s:required
	Reachable *bool `json:"reachable,omitempty"`

	// How many Releases of the namespace refer to the Cluster.
	// +optional
	ReleaseCount int64 `json:"releaseCount,omitempty"`
}

// ClusterAgentStatus is the state of the agent of a cluster.
type ClusterAgentStatus struct {
	// Version of the agent, at most 256 characters.
	// +required
	// +k8s:required
	AgentVersion string `json:"agentVersion"`
	// When the agent was heard of last.
	// +optional
	// +k8s:opaqueType
	LastHeartbeat *metav1.Time `json:"lastHeartbeat,omitempty"`
	// When the agent was registered.
	// +required
	// +k8s:opaqueType
	RegisteredAt metav1.Time `json:"registeredAt"`
}
