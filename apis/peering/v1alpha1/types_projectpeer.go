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
// +k8s:supportsSubresource="/status"
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ProjectPeer says that the project of its namespace is paired with the project of the
// same name in another cluster. It has the name of the ClusterPeer. Entente makes it in
// each namespace of a paired project, and takes it away when the pairing ends; those that
// others make are deleted.
type ProjectPeer struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The pairing as Entente sees it. Written by Entente.
	// +optional
	Status ProjectPeerStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ProjectPeerList is a list of ProjectPeers.
type ProjectPeerList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The ProjectPeers.
	// +listType=atomic
	Items []ProjectPeer `json:"items"`
}

// ProjectPeerState is the state of a pairing.
// +enum
// +k8s:enum
type ProjectPeerState string

const (
	// ProjectPeerStatePaired means that both clusters offer the project.
	ProjectPeerStatePaired ProjectPeerState = "Paired"
	// ProjectPeerStatePeerUnreachable means that both did when the other cluster was last
	// in touch, which it is not now. Access stays.
	ProjectPeerStatePeerUnreachable ProjectPeerState = "PeerUnreachable"
)

// ProjectPeerStatus is the pairing of a project. It is output only: nothing in it decides
// what the other cluster may do.
type ProjectPeerStatus struct {
	// State of the pairing: Paired or PeerUnreachable.
	// +optional
	// +k8s:optional
	State ProjectPeerState `json:"state,omitempty"`
	// Reason for the state, one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Details of the state, a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// UUID of the other cluster.
	// +optional
	ClusterUUID string `json:"clusterUUID,omitempty"`
	// Capabilities that apply in the project, one entry a name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Capabilities []OfferedCapability `json:"capabilities,omitempty"`
	// Namespaces of the project in the other cluster, 200 at most; the message tells how
	// many more there are.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	RemoteNamespaces []string `json:"remoteNamespaces,omitempty"`
}
