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
	"k8s.io/apimachinery/pkg/runtime"
)

// LabelRelease is on each object that a Release has applied, with the UID of the Release.
const LabelRelease = "core.convoy.kumodo.io/release"

// FinalizerRelease is on every Release. It keeps one that is deleted until its deletion
// policy is carried out.
const FinalizerRelease = "release.core.convoy.kumodo.io/prune-objects"

// Reasons of the condition Ready of a Release.
const (
	// ReasonApplied: all objects are in the cluster as the Release says.
	ReasonApplied = "Applied"
	// ReasonClusterNotReady: the Cluster is not there or not ready, or is another one than
	// before.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonApplyFailed: an object could not be applied, or one that is not wanted any more
	// not be deleted.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonMutationFailed: a mutation could not be carried out. Nothing was applied.
	ReasonMutationFailed = "MutationFailed"
	// ReasonDeleting: the Release is being deleted.
	ReasonDeleting = "Deleting"
)

// +genclient
// +k8s:supportsSubresource="/status"
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Release is a set of objects that are to be in a target cluster: that of a Cluster of the
// same namespace. They are applied server-side, without force, as field manager entente, again
// and again: what is gone comes back, and what others have changed is reported. What leaves the
// Release is deleted there.
//
// Whoever writes one needs the verb use on the Cluster.
type Release struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is to be where.
	Spec ReleaseSpec `json:"spec"`
	// What became of it. Written by Entente.
	// +optional
	Status ReleaseStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseList is a list of Releases.
type ReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// The Releases.
	// +listType=atomic
	Items []Release `json:"items"`
}

// ReleaseDeletionPolicy is what happens to the objects of a Release that is deleted.
// +enum
// +k8s:enum
type ReleaseDeletionPolicy string

// What can happen to the objects of a deleted Release.
const (
	// ReleaseDeletionPolicyDelete: they are deleted.
	ReleaseDeletionPolicyDelete ReleaseDeletionPolicy = "Delete"
	// ReleaseDeletionPolicyOrphan: they stay.
	ReleaseDeletionPolicyOrphan ReleaseDeletionPolicy = "Orphan"
)

// ReleaseSpec is what is to be in which cluster.
type ReleaseSpec struct {
	// The Cluster, of the same namespace. It cannot be changed.
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`

	// The objects, whole, at most 256, and with the mutations 768 KiB, each with apiVersion, kind
	// and metadata.name, and none twice. One that is namespaced and says no namespace is for the namespace of the
	// Release. None may say generateName, uid, resourceVersion, ownerReferences or
	// managedFields; a status is not applied where it is a subresource. They can be read by
	// everybody who may read the Release.
	// +optional
	// +listType=atomic
	// +k8s:opaqueType
	Resources []runtime.RawExtension `json:"resources,omitempty"`

	// Changes that are made to the objects before they are applied, in this order, at most
	// 256, and with the objects 768 KiB.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=256
	// +k8s:validation:maxItems=256
	Mutations []ReleaseMutation `json:"mutations,omitempty"`

	// What happens to the objects when the Release is deleted: Delete or Orphan.
	// +optional
	// +default="Delete"
	// +k8s:optional
	DeletionPolicy ReleaseDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ClusterReference names a Cluster of the same namespace.
type ClusterReference struct {
	// Name of the Cluster, a DNS subdomain.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	// +k8s:immutable
	Name string `json:"name"`
}

// ReleaseMutation sets one field of objects to what an expression says.
type ReleaseMutation struct {
	// Which objects of the Release are changed. There must be one.
	// +required
	Target ReleaseMutationTarget `json:"target"`

	// The field, as a JSON pointer (RFC 6901), at most 1,024 characters. Objects on the way
	// to it are made if they are not there, lists are not; "-" appends to a list. It may not
	// be apiVersion, kind, or the name or namespace of the object, nor what the API server
	// writes itself.
	// +required
	// +k8s:required
	// +k8s:maxLength=1024
	// +k8s:validation:maxLength=1024
	Path string `json:"path"`

	// What the field is set to, as an expression of the Common Expression Language
	// (https://cel.dev), at most 4,096 characters. It knows one variable: cluster, a map of
	// strings with the metadata of the Cluster, and its name as cluster.name.
	// +required
	// +k8s:required
	// +k8s:maxLength=4096
	// +k8s:validation:maxLength=4096
	Expression string `json:"expression"`
}

// ReleaseMutationTarget selects objects of a Release: those of which all is true that it
// says.
type ReleaseMutationTarget struct {
	// API group of the objects, empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Kind of the objects.
	// +required
	// +k8s:required
	Kind string `json:"kind"`
	// Name of the object. Without it: all names.
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace that the objects say. Without it: any, or none.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ReleaseStatus is what became of a Release. It is output only: what is deleted in a cluster
// is decided elsewhere.
type ReleaseStatus struct {
	// State of the Release, one entry a type:
	//
	// Ready: whether all objects are in the cluster as the Release says: Applied,
	// ClusterNotReady, ApplyFailed, MutationFailed, Deleting.
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

	// The attempt made last to bring the objects to the cluster.
	// +optional
	// +k8s:optional
	LastAttempted *ReleaseAttempt `json:"lastAttempted,omitempty"`

	// Generation of the object that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The objects in the cluster that the Release has applied, and has not deleted. At most
	// 1,024, and 256 KiB.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Objects []ReleaseObject `json:"objects,omitempty"`
}

// ReleaseAttempt is an attempt to bring the objects of a Release to its cluster.
type ReleaseAttempt struct {
	// Generation of the Release.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// Address of the cluster: spec.agentless.server of the Cluster, empty in other modes.
	// At most 2,048 characters.
	// +optional
	ResolvedCluster string `json:"resolvedCluster,omitempty"`
}

// ReleaseObject names an object in a target cluster.
type ReleaseObject struct {
	// API group, empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// API version, without the group.
	// +required
	// +k8s:required
	Version string `json:"version"`
	// Kind of the object.
	// +required
	// +k8s:required
	Kind string `json:"kind"`
	// Namespace, empty if it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +required
	// +k8s:required
	Name string `json:"name"`
}
