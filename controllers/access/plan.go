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

package access

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// Plan is what is to be between this cluster and the peer of one ClusterPeer. The zero
// lists are what is to be when there is no peering. It is shared and not to be changed.
type Plan struct {
	// Name and UID are those of the ClusterPeer.
	Name, UID string
	// ClusterUUID is the other cluster; empty: there is none that may do anything here,
	// and Effective and Paired are empty.
	ClusterUUID string
	// Unreachable says that the other cluster is out of reach. What it may do stays.
	Unreachable bool

	// OfferUnknown says that it cannot be told now what the other cluster is to be offered.
	// There is no peering, or else there would be no plan.
	OfferUnknown bool
	// Offered are the capabilities that the other cluster is to be offered, and Projects
	// the projects, in order of their names.
	Offered  []Capability
	Projects []Project

	// Effective are the capabilities that both clusters offer (G3), in order of their
	// names: of those above the ones that the other cluster has been offered, too. Of the
	// others that the ClusterPeer names Ineffective are those for which there is a reason
	// that lasts.
	Effective   []Capability
	Ineffective []Ineffective
	// Paired are the projects that both clusters offer (G4), in order of their names, with
	// those namespaces that the other cluster has been told of.
	Paired []Pair
}

// Capability is a PeeringCapability of this cluster that is valid.
type Capability struct {
	Name, Version string
	// Scope is where its rules apply: project, cluster, both or, without rules, neither.
	Scope []peeringv1alpha1.CapabilityScope
	// Consumers are the users of the other cluster that it is granted to.
	Consumers []peeringv1alpha1.Consumer
	// Namespaced are the rules for the namespaces of paired projects, Cluster those for
	// the whole cluster.
	Namespaced, Cluster []rbacv1.PolicyRule
}

// Project is a project of this cluster.
type Project struct {
	Name string
	// Namespaces are in order.
	Namespaces []string
}

// Pair is a project that both clusters have.
type Pair struct {
	Name string
	// Local and Remote are the namespaces of the project here and in the other cluster.
	// Remote is what the other cluster says.
	Local, Remote []string
}

// Ineffective is a capability that a ClusterPeer names and that does not take effect.
type Ineffective struct {
	Name string
	Why  Why
}

// Why is why a capability does not take effect, as the Events of a ClusterPeer have it.
type Why string

const (
	// NotFound means that there is no PeeringCapability of that name here.
	NotFound Why = "CapabilityNotFound"
	// NotValid means that it is not valid here, or that that cannot be told.
	NotValid Why = "CapabilityNotValid"
	// NotOffered means that the other cluster does not offer it.
	NotOffered Why = "CapabilityNotOffered"
	// VersionMismatch means that the other cluster offers another major version of it.
	VersionMismatch Why = "CapabilityVersionMismatch"
)

// Namespaces returns the namespaces of all paired projects, in order.
func (p *Plan) Namespaces() []string {
	var all []string
	for _, pair := range p.Paired {
		all = append(all, pair.Local...)
	}
	slices.Sort(all)
	return all
}

func (p *Plan) sort() {
	slices.SortFunc(p.Ineffective, func(a, b Ineffective) int { return strings.Compare(a.Name, b.Name) })
}
