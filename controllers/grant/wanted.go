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

package grant

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// owner is the ClusterPeer on whose account something is granted.
type owner struct{ name, uid string }

// ref is what an object of the host cluster is found by.
type ref struct{ kind, namespace, name string }

func refOf(object record.GrantedObject) ref { return ref{object.Kind, object.Namespace, object.Name} }

// granted is how the ledger lists the object under that UID.
func (r ref) granted(uid string) record.GrantedObject {
	return record.GrantedObject{Kind: r.kind, Namespace: r.namespace, Name: r.name, UID: uid}
}

// isBinding tells whether it is of a kind that gives a role to somebody.
func (r ref) isBinding() bool {
	return r.kind == record.KindRoleBinding || r.kind == record.KindClusterRoleBinding
}

// isImpersonation tells whether it is one of those that let Entente act as others.
func (r ref) isImpersonation() bool { return r.granted("").IsImpersonation() }

// String is how people are told of it.
func (r ref) String() string {
	if r.namespace == "" {
		return r.kind + " " + r.name
	}
	return r.kind + " " + r.namespace + "/" + r.name
}

// content is what a capability grants, and to whom. All pairs of it share one.
type content struct {
	// prefix is what the names of the objects begin with.
	prefix      string
	owner       owner
	clusterUUID string
	capability  string
	rules       []rbacv1.PolicyRule
	subjects    []rbacv1.Subject
	// encoded is rules and subjects, for names.
	encoded []byte
}

// pair is a role and the binding that gives it to the consumers.
type pair struct {
	*content
	role, binding ref
}

// place is where the pair is.
func (p pair) place() place { return placeOf(p.capability, p.role) }

// in returns the pair of a namespace; empty: that of the whole cluster.
func (c *content) in(namespace string) pair {
	role, binding := record.KindRole, record.KindRoleBinding
	if namespace == "" {
		role, binding = record.KindClusterRole, record.KindClusterRoleBinding
	}
	return pair{
		content: c,
		role:    ref{role, namespace, nameOf(c, role, namespace)},
		binding: ref{binding, namespace, nameOf(c, binding, namespace)},
	}
}

// wantedBy returns what a plan grants. The pairs of a capability follow each other; the last
// is what lets Entente act as those to whom it is granted, if anything is.
func wantedBy(plan *access.Plan, as impersonator) []pair {
	if plan.ClusterUUID == "" {
		return nil
	}
	var all []pair
	namespaces := slices.Compact(plan.Namespaces())
	for _, capability := range plan.Effective {
		if len(capability.Consumers) == 0 {
			continue // a binding to nobody
		}
		subjects := subjectsOf(plan.ClusterUUID, capability.Consumers)
		granting := func(rules []rbacv1.PolicyRule) *content {
			c := &content{
				prefix:      record.GrantPrefix,
				owner:       owner{plan.Name, plan.UID},
				clusterUUID: plan.ClusterUUID,
				capability:  capability.Name,
				rules:       canonical(rules),
				subjects:    subjects,
			}
			c.encoded = encode(c.rules, c.subjects)
			return c
		}
		before := len(all)
		if len(capability.Cluster) > 0 {
			all = append(all, granting(capability.Cluster).in(""))
		}
		if len(capability.Namespaced) > 0 {
			c := granting(capability.Namespaced)
			for _, namespace := range namespaces {
				all = append(all, c.in(namespace))
			}
		}
		if len(all) > before {
			// All rules, also where they apply nowhere yet: a project that is paired is no
			// reason to take this away and make it anew.
			all = append(all, as.of(all[before].content, slices.Concat(capability.Namespaced, capability.Cluster)))
		}
	}
	return all
}

// subjectsOf are the users that the consumers of another cluster are here, in order.
func subjectsOf(clusterUUID string, consumers []peeringv1alpha1.Consumer) []rbacv1.Subject {
	var all []rbacv1.Subject
	for _, consumer := range consumers {
		all = append(all, rbacv1.Subject{
			Kind:     rbacv1.UserKind,
			APIGroup: rbacv1.GroupName,
			Name:     protocol.UserPrefix(clusterUUID) + serviceaccount.MakeUsername(consumer.Namespace, consumer.Name),
		})
	}
	slices.SortFunc(all, bySubject)
	return slices.Compact(all)
}
