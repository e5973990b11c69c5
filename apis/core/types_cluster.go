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

package core

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Cluster is a target cluster: how it is connected to, and what is known of it for the
// Releases of its namespace, whose target it is. It holds no credential; it names the
// Secrets that do, which are in its own namespace.
type Cluster struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// How the cluster is connected to, and what templates may know of it. At most 256 KiB.
	Spec ClusterSpec
	// The cluster as it was seen last. Written by Entente.
	Status ClusterStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterList is a list of Clusters.
type ClusterList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// The Clusters.
	Items []Cluster
}

// ConnectionMode is a way to connect to a cluster.
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
	ConnectionMode ConnectionMode

	// How an agent connects, for mode agent.
	Agent *ClusterAgentModeSpec

	// How the API server of the cluster is connected to, for mode agentless.
	Agentless *ClusterAgentlessModeSpec

	// What the cluster can do. Accepted, not used.
	Capabilities *ClusterCapabilitiesSpec

	// What happens to the Releases of the cluster when it is deleted. Without it they stay.
	DeletionPolicy *ClusterDeletionPolicy

	// What mutations of Releases read as cluster.<key>. The key name is always the name of
	// the Cluster, whatever is said here. At most 256 entries, and 64 KiB of keys and values.
	Metadata map[string]string
}

// ClusterAgentModeSpec is how an agent connects. It has no fields yet; an empty block counts
// as one that is there.
type ClusterAgentModeSpec struct{}

// ClusterAgentlessModeSpec is how the API server of a cluster is connected to.
type ClusterAgentlessModeSpec struct {
	// Address of the API server, at most 2,048 characters, without a user. With kubeconfig auth the
	// kubeconfig says where the server is; Releases show this address as the cluster they
	// were applied to.
	Server string

	// How Entente authenticates to the API server.
	Auth ClusterAuthSpec

	// Where the CA certificate of the API server is, in PEM form. With kubeconfig auth the
	// kubeconfig has it, and this is not used.
	CAPublicCertRef *ConfigMapKeySelector

	// Limits for requests to the API server. Not used with kubeconfig auth.
	ConnectionParameters *ClusterConnectionParametersSpec
}

// ClusterConnectionParametersSpec are limits for requests to an API server.
type ClusterConnectionParametersSpec struct {
	// How many requests may be made at once beyond those a second, at least 0.
	Burst *int32
	// How many requests may be made a second, at least 0.
	QPS *int32
	// How long an answer is waited for, as in 30s: more than 0, at most 1h.
	Timeout *metav1.Duration
}

// ClusterCapabilitiesSpec is what a cluster can do. Accepted, not used.
type ClusterCapabilitiesSpec struct {
	// API versions that the cluster has.
	APIVersions []string
	// Whether the cluster knows server-side apply.
	ServerSideApply *bool
}

// ClusterDeletionPolicy is what happens when a Cluster is deleted.
type ClusterDeletionPolicy struct {
	// Whether the Releases that refer to the Cluster, in its namespace, are deleted with it,
	// each as its own deletion policy says. The Cluster goes after them. If not, they stay,
	// with the reason ClusterNotReady.
	PruneReleases *bool
}

// ClusterStatus is a cluster as it was seen last. It is output only.
type ClusterStatus struct {
	// State of the agent, in mode agent. Not set.
	AgentStatus *ClusterAgentStatus

	// State of the cluster, one entry a type:
	//
	// Ready: whether the cluster can be used: Reachable (it was connected to, and its
	// version read), Unsupported (the connection mode or the auth type is not implemented),
	// ProbeFailed (it could not be connected to, or its version not be read; tried again).
	//
	// At most 16, and 64 KiB.
	Conditions []metav1.Condition

	// API versions that the cluster has, such as v1 and apps/v1, sorted, at most 4,096, and
	// 64 KiB. The last ones that were read stay while it is not reachable.
	DiscoveredAPIVersions []string

	// Kubernetes version of the cluster, as it was read last. At most 256 characters.
	DiscoveredVersion string

	// When the cluster was seen last, to the minute.
	LastSeen *metav1.Time

	// Generation of the object that this status describes.
	ObservedGeneration int64

	// Whether the cluster is reachable, as the condition Ready says.
	Reachable *bool

	// How many Releases of the namespace refer to the Cluster.
	ReleaseCount int64
}

// ClusterAgentStatus is the state of the agent of a cluster.
type ClusterAgentStatus struct {
	// Version of the agent, at most 256 characters.
	AgentVersion string
	// When the agent was heard of last.
	LastHeartbeat *metav1.Time
	// When the agent was registered.
	RegisteredAt metav1.Time
}
