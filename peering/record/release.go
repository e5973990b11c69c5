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

package record

import (
	"cmp"
	"slices"
)

// Release is what a Release has in its target cluster: the objects that it applied and has
// not deleted. What is deleted there is decided by this, and by the label that the objects
// bear, and not by any status (S1, C4).
//
// To change one does not move the epoch. A store that was restored from a copy lists objects
// that are gone, which does no harm, and lacks some that are there: those stay in the target.
type Release struct {
	// UID is that of the Release.
	UID string `json:"uid"`
	// Namespace and Name are those of the Release.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Target is the UID of the namespace kube-system of the cluster in which the objects are.
	Target string `json:"target"`
	// Objects are in order of group, kind, namespace and name; no two have all in common.
	Objects []ReleaseObject `json:"objects,omitempty"`
}

// ReleaseObject is one object in a target cluster.
type ReleaseObject struct {
	// Group is empty for the core group.
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resource is what the kind is called in paths.
	Resource string `json:"resource"`
	// Namespace is empty for kinds that are the whole cluster's.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Compare orders objects, and is 0 for what can be there once only.
func (o ReleaseObject) Compare(other ReleaseObject) int {
	return cmp.Or(cmp.Compare(o.Group, other.Group), cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Name, other.Name))
}

// List takes objects into the record, in place of those that can be there once only.
func (r *Release) List(objects ...ReleaseObject) {
	for _, object := range objects {
		i, found := slices.BinarySearchFunc(r.Objects, object, ReleaseObject.Compare)
		if found {
			r.Objects[i] = object
			continue
		}
		r.Objects = slices.Insert(r.Objects, i, object)
	}
}

// Strike takes objects from the record.
func (r *Release) Strike(objects ...ReleaseObject) {
	for _, object := range objects {
		if i, found := slices.BinarySearchFunc(r.Objects, object, ReleaseObject.Compare); found {
			r.Objects = slices.Delete(r.Objects, i, i+1)
		}
	}
}
