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
	"strings"
)

// Kinds of objects of the host cluster that grant something.
const (
	KindRole               = "Role"
	KindRoleBinding        = "RoleBinding"
	KindClusterRole        = "ClusterRole"
	KindClusterRoleBinding = "ClusterRoleBinding"
)

// What the names of these objects begin with. The rest is a hash, in hexadecimal digits, so
// that no name begins with both.
const (
	// GrantPrefix is that of what the peer is given.
	GrantPrefix = "entente-"
	// ImpersonationPrefix is that of what lets this cluster's Entente act as the peer's
	// ServiceAccounts (H2). It gives the peer nothing.
	ImpersonationPrefix = GrantPrefix + "impersonate-"
)

// Grant is what one capability grants one peer: the objects of the host cluster that were
// made for it. An object is ours because it is listed here by its UID, and for no other
// reason (G5).
//
// Grants outlive the record of their ClusterPeer: they go when their objects are gone. To
// change one does not move the epoch. A store that was restored from a copy lists objects
// that are gone, which does no harm, and lacks some that are there: those are found by the
// proof that they bear. (To make the key of the proofs moves the epoch.)
type Grant struct {
	// PeerUID and PeerName are those of the ClusterPeer.
	PeerUID  string `json:"peerUID"`
	PeerName string `json:"peerName"`
	// Capability is the name of the PeeringCapability.
	Capability string `json:"capability"`
	// Objects are in order of namespace, kind and name; no two have all three in common.
	Objects []GrantedObject `json:"objects,omitempty"`
}

// GrantedObject is one object of a grant.
type GrantedObject struct {
	// Kind is one of the kinds above.
	Kind string `json:"kind"`
	// Namespace is empty for kinds that are the whole cluster's.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is empty while the object is about to be made, or may have been: whether one
	// of that name is ours then tells its proof.
	UID string `json:"uid,omitempty"`
	// Foreign says that an object of that name is there which is not ours, so that ours
	// cannot be made. There is no UID then.
	Foreign bool `json:"foreign,omitempty"`
}

// IsImpersonation tells whether the object lets Entente act as others, and gives the peer
// nothing itself.
func (o GrantedObject) IsImpersonation() bool { return strings.HasPrefix(o.Name, ImpersonationPrefix) }

// compare orders objects, and is 0 for what can be there once only.
func (o GrantedObject) compare(other GrantedObject) int {
	return cmp.Or(cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.Name, other.Name))
}

// GrantID is what the grant of a capability to a ClusterPeer is kept by; empty if one of
// them is not of a form that a ledger keeps.
func GrantID(peerUID, capability string) string {
	if peerUID == "" || capability == "" || strings.Contains(peerUID+capability, ":") {
		return ""
	}
	return peerUID + ":" + capability
}

// Namespaces returns the namespaces in which the grant has a Role, in order. A grant for
// the whole cluster has none.
func (g *Grant) Namespaces() []string {
	var all []string
	for _, object := range g.Objects {
		if object.Kind == KindRole && object.UID != "" {
			all = append(all, object.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ClusterWide tells whether the grant has a ClusterRole: it gives something that is not in
// a namespace, or a non-resource URL.
func (g *Grant) ClusterWide() bool {
	return slices.ContainsFunc(g.Objects, func(o GrantedObject) bool {
		return o.Kind == KindClusterRole && o.UID != "" && !o.IsImpersonation()
	})
}

// Covers tells whether the grant has a Role in a namespace. It is asked for every request
// that is under way, time and again, and a grant may have thousands of objects.
func (g *Grant) Covers(namespace string) bool {
	first, _ := slices.BinarySearchFunc(g.Objects, GrantedObject{Kind: KindRole, Namespace: namespace}, GrantedObject.compare)
	for _, object := range g.Objects[first:] {
		if object.Namespace != namespace || object.Kind != KindRole {
			return false
		}
		if object.UID != "" && !object.IsImpersonation() {
			return true
		}
	}
	return false
}

// IsGiven tells whether something is there that gives the peer anything, or is about to be
// taken from it.
func (g *Grant) IsGiven() bool {
	return slices.ContainsFunc(g.Objects, func(o GrantedObject) bool { return o.UID != "" && !o.IsImpersonation() })
}

// put takes an object into the list, in place of the one of that name.
func (g *Grant) put(object GrantedObject) {
	i, found := slices.BinarySearchFunc(g.Objects, object, GrantedObject.compare)
	if found {
		g.Objects[i] = object
		return
	}
	g.Objects = slices.Insert(g.Objects, i, object)
}

// GrantChange is a change of what a grant lists.
type GrantChange struct {
	PeerUID, PeerName, Capability string
	// Put are listed from then on, in place of what was listed of their kind, namespace
	// and name. Drop are not listed any more, and Displace are listed as foreign, if they
	// are listed as they are here: one that has another UID meanwhile stays as it is.
	Put, Drop, Displace []GrantedObject
}

// ChangeGrant changes what a grant lists. A grant that lists nothing is none.
func ChangeGrant(tx Tx, change GrantChange) error {
	grant, err := tx.Grant(change.PeerUID, change.Capability)
	if err != nil {
		return err
	}
	if grant == nil {
		grant = &Grant{PeerUID: change.PeerUID, PeerName: change.PeerName, Capability: change.Capability}
	}
	dropped := map[GrantedObject]bool{}
	for _, object := range change.Drop {
		dropped[object] = true
	}
	grant.Objects = slices.DeleteFunc(grant.Objects, func(o GrantedObject) bool { return dropped[o] })
	displaced := map[GrantedObject]bool{}
	for _, object := range change.Displace {
		displaced[object] = true
	}
	for i, object := range grant.Objects {
		if displaced[object] {
			grant.Objects[i].UID, grant.Objects[i].Foreign = "", true
		}
	}
	for _, object := range change.Put {
		grant.put(object)
	}
	return tx.PutGrant(grant)
}
