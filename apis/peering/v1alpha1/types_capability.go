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

// PeeringCapability is something that modules of other clusters may do in this one: the
// rules that are granted, and the ServiceAccounts of the other cluster that they are
// granted to. It takes effect for a peer when the ClusterPeer names it and the other
// cluster offers a capability of the same name and major version.
//
// The name is a DNS label of at most 63 characters. Without rules it grants nothing, and
// is there so that this cluster may use the capability of the same name in the other one.
type PeeringCapability struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The capability.
	Spec PeeringCapabilitySpec `json:"spec"`
	// Whether the capability is valid. Written by Entente.
	// +optional
	Status PeeringCapabilityStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// PeeringCapabilityList is a list of PeeringCapabilities.
type PeeringCapabilityList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The PeeringCapabilities.
	// +listType=atomic
	Items []PeeringCapability `json:"items"`
}

// PeeringCapabilitySpec is a capability.
type PeeringCapabilitySpec struct {
	// Version of the capability, at most 64 letters, digits and `._+:/-`. Two clusters
	// understand each other in a capability if the major versions of a semantic version
	// (https://semver.org) are equal; others have to be the same.
	// +required
	// +k8s:required
	// +k8s:maxLength=64
	// +k8s:validation:maxLength=64
	Version string `json:"version"`

	// ServiceAccounts of the other cluster, those of the controllers of a module, that
	// the rules are granted to.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Consumers []Consumer `json:"consumers,omitempty"`

	// What is granted, as in a ClusterRole. Rules for namespaced resources apply in the
	// namespaces of paired projects, all others in the whole cluster. Wildcards, and
	// rights by which others could be had, are not granted: the condition Valid says so.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Rules []CapabilityRule `json:"rules,omitempty"`
}

// ConsumerKind is a kind of user that a capability may be granted to.
// +enum
// +k8s:enum
type ConsumerKind string

// ConsumerKindServiceAccount is a ServiceAccount, the only kind there is.
const ConsumerKindServiceAccount ConsumerKind = "ServiceAccount"

// Consumer is a user in the other cluster. Whether it exists there is not known here.
type Consumer struct {
	// Kind of the user: ServiceAccount.
	// +optional
	// +default="ServiceAccount"
	// +k8s:optional
	Kind ConsumerKind `json:"kind,omitempty"`
	// Name of the ServiceAccount, at most 253 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=253
	// +k8s:validation:maxLength=253
	Name string `json:"name,omitempty"`
	// Namespace of the ServiceAccount, at most 63 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=63
	// +k8s:validation:maxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// CapabilityRule allows verbs on resources, or on URLs that are not resources. The
// strings of each field have at most 253 characters, and none is given twice.
type CapabilityRule struct {
	// API groups of the resources; an empty string is the core group.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=253
	// +k8s:validation:items:maxLength=253
	APIGroups []string `json:"apiGroups,omitempty"`
	// Resources, such as configmaps, or subresources, such as pods/log.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=253
	// +k8s:validation:items:maxLength=253
	Resources []string `json:"resources,omitempty"`
	// Names of the objects that are allowed. Without it all are.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=253
	// +k8s:validation:items:maxLength=253
	ResourceNames []string `json:"resourceNames,omitempty"`
	// Paths of the API server that are no resources, such as /version.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=253
	// +k8s:validation:items:maxLength=253
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
	// Verbs that are allowed.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	// +k8s:eachVal=+k8s:maxLength=253
	// +k8s:validation:items:maxLength=253
	Verbs []string `json:"verbs,omitempty"`
}

// PeeringCapabilityStatus says whether a capability is valid. It is output only: nothing
// in it decides whether the capability is offered or granted.
type PeeringCapabilityStatus struct {
	// Generation of the object that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// State of the capability, one entry a type:
	//
	// Valid: whether it can be offered and granted; False carries the reason
	// (InvalidRule, ForbiddenRule, UnknownResource, InvalidConsumer). Unknown while it
	// cannot be told what resources there are (NoHost, DiscoveryFailed).
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
