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
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Release is a set of objects that are to be in a target cluster: that of a Cluster of the
// same namespace. They are applied server-side, without force, as field manager entente, again
// and again: what is gone comes back, and what others have changed is reported. What leaves the
// Release is deleted there.
//
// Whoever writes one needs the verb use on the Cluster.
type Release struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// What is to be where.
	Spec ReleaseSpec
	// What became of it. Written by Entente.
	Status ReleaseStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ReleaseList is a list of Releases.
type ReleaseList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// The Releases.
	Items []Release
}

// ReleaseDeletionPolicy is what happens to the objects of a Release that is deleted.
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
	ClusterRef ClusterReference

	// The objects, whole, at most 256, and with the mutations 768 KiB, each with apiVersion, kind
	// and metadata.name, and none twice. One that is namespaced and says no namespace is for the namespace of the
	// Release. None may say generateName, uid, resourceVersion, ownerReferences or
	// managedFields; a status is not applied where it is a subresource. They can be read by
	// everybody who may read the Release.
	Resources []runtime.RawExtension

	// Changes that are made to the objects before they are applied, in this order, at most
	// 256, and with the objects 768 KiB.
	Mutations []ReleaseMutation

	// What happens to the objects when the Release is deleted: Delete or Orphan.
	DeletionPolicy ReleaseDeletionPolicy
}

// ClusterReference names a Cluster of the same namespace.
type ClusterReference struct {
	// Name of the Cluster, a DNS subdomain.
	Name string
}

// ReleaseMutation sets one field of objects to what an expression says.
type ReleaseMutation struct {
	// Which objects of the Release are changed. There must be one.
	Target ReleaseMutationTarget

	// The field, as a JSON pointer (RFC 6901), at most 1,024 characters. Objects on the way
	// to it are made if they are not there, lists are not; "-" appends to a list. It may not
	// be apiVersion, kind, or the name or namespace of the object, nor what the API server
	// writes itself.
	Path string

	// What the field is set to, as an expression of the Common Expression Language
	// (https://cel.dev), at most 4,096 characters. It knows one variable: cluster, a map of
	// strings with the metadata of the Cluster, and its name as cluster.name.
	Expression string
}

// ReleaseMutationTarget selects objects of a Release: those of which all is true that it
// says.
type ReleaseMutationTarget struct {
	// API group of the objects, empty for the core group.
	Group string
	// Kind of the objects.
	Kind string
	// Name of the object. Without it: all names.
	Name string
	// Namespace that the objects say. Without it: any, or none.
	Namespace string
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
	Conditions []metav1.Condition

	// The attempt made last to bring the objects to the cluster.
	LastAttempted *ReleaseAttempt

	// Generation of the object that this status describes.
	ObservedGeneration int64

	// The objects in the cluster that the Release has applied, and has not deleted. At most
	// 1,024, and 256 KiB.
	Objects []ReleaseObject
}

// ReleaseAttempt is an attempt to bring the objects of a Release to its cluster.
type ReleaseAttempt struct {
	// Generation of the Release.
	Generation int64
	// Address of the cluster: spec.agentless.server of the Cluster, empty in other modes.
	// At most 2,048 characters.
	ResolvedCluster string
}

// ReleaseObject names an object in a target cluster.
type ReleaseObject struct {
	// API group, empty for the core group.
	Group string
	// API version, without the group.
	Version string
	// Kind of the object.
	Kind string
	// Namespace, empty if it has none.
	Namespace string
	// Name of the object.
	Name string
}
