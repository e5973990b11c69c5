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

// PeeringCapability is something that modules of other clusters may do in this one: the
// rules that are granted, and the ServiceAccounts of the other cluster that they are
// granted to. It takes effect for a peer when the ClusterPeer names it and the other
// cluster offers a capability of the same name and major version.
//
// The name is a DNS label of at most 63 characters. Without rules it grants nothing, and
// is there so that this cluster may use the capability of the same name in the other one.
type PeeringCapability struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// The capability.
	Spec PeeringCapabilitySpec
	// Whether the capability is valid. Written by Entente.
	Status PeeringCapabilityStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PeeringCapabilityList is a list of PeeringCapabilities.
type PeeringCapabilityList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// The PeeringCapabilities.
	Items []PeeringCapability
}

// PeeringCapabilitySpec is a capability.
type PeeringCapabilitySpec struct {
	// Version of the capability, at most 64 letters, digits and `._+:/-`. Two clusters
	// understand each other in a capability if the major versions of a semantic version
	// (https://semver.org) are equal; others have to be the same.
	Version string

	// ServiceAccounts of the other cluster, those of the controllers of a module, that
	// the rules are granted to.
	Consumers []Consumer

	// What is granted, as in a ClusterRole. Rules for namespaced resources apply in the
	// namespaces of paired projects, all others in the whole cluster. Wildcards, and
	// rights by which others could be had, are not granted: the condition Valid says so.
	Rules []CapabilityRule
}

// ConsumerKind is a kind of user that a capability may be granted to.
type ConsumerKind string

// ConsumerKindServiceAccount is a ServiceAccount, the only kind there is.
const ConsumerKindServiceAccount ConsumerKind = "ServiceAccount"

// Consumer is a user in the other cluster. Whether it exists there is not known here.
type Consumer struct {
	// Kind of the user: ServiceAccount.
	Kind ConsumerKind
	// Name of the ServiceAccount, at most 253 characters.
	Name string
	// Namespace of the ServiceAccount, at most 63 characters.
	Namespace string
}

// CapabilityRule allows verbs on resources, or on URLs that are not resources. The
// strings of each field have at most 253 characters, and none is given twice.
type CapabilityRule struct {
	// API groups of the resources; an empty string is the core group.
	APIGroups []string
	// Resources, such as configmaps, or subresources, such as pods/log.
	Resources []string
	// Names of the objects that are allowed. Without it all are.
	ResourceNames []string
	// Paths of the API server that are no resources, such as /version.
	NonResourceURLs []string
	// Verbs that are allowed.
	Verbs []string
}

// PeeringCapabilityStatus says whether a capability is valid. It is output only: nothing
// in it decides whether the capability is offered or granted.
type PeeringCapabilityStatus struct {
	// Generation of the object that this status describes.
	ObservedGeneration int64

	// State of the capability, one entry a type:
	//
	// Valid: whether it can be offered and granted; False carries the reason
	// (InvalidRule, ForbiddenRule, UnknownResource, InvalidConsumer). Unknown while it
	// cannot be told what resources there are (NoHost, DiscoveryFailed).
	Conditions []metav1.Condition
}
