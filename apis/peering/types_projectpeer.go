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

// ProjectPeer says that the project of its namespace is paired with the project of the
// same name in another cluster. It has the name of the ClusterPeer. Entente makes it in
// each namespace of a paired project, and takes it away when the pairing ends; those that
// others make are deleted.
type ProjectPeer struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// The pairing as Entente sees it. Written by Entente.
	Status ProjectPeerStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ProjectPeerList is a list of ProjectPeers.
type ProjectPeerList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// The ProjectPeers.
	Items []ProjectPeer
}

// ProjectPeerState is the state of a pairing.
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
	State ProjectPeerState
	// Reason for the state, one word.
	Reason string
	// Details of the state, a sentence.
	Message string
	// UUID of the other cluster.
	ClusterUUID string
	// Capabilities that apply in the project, one entry a name.
	Capabilities []OfferedCapability
	// Namespaces of the project in the other cluster, 200 at most; the message tells how
	// many more there are.
	RemoteNamespaces []string
}
