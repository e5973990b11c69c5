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

package localrbac

import (
	"fmt"
	"iter"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// snapshot is what the manifests grant at one time, by who holds it. It never
// changes once it is current.
type snapshot struct {
	digest   digest
	problems []Problem
	// everywhere comes from ClusterRoleBindings, within, by namespace, from
	// RoleBindings.
	everywhere holdings
	within     map[string]holdings
}

// holdings are the grants of each subject that has some.
type holdings map[subject][]*grant

// subject is whom a binding names. A service account is the user that it
// authenticates as.
type subject struct {
	group bool
	name  string
}

// grant is one role given by one binding.
type grant struct {
	rules  ruleSet
	reason string
}

// ruleSet is the rules of a role, apart by what they are about.
type ruleSet struct {
	resources []rbacv1.PolicyRule
	urls      []rbacv1.PolicyRule
}

// grants yields what who holds in all namespaces and in this one; with an empty
// namespace the former only.
func (s *snapshot) grants(who user.Info, namespace string) iter.Seq[*grant] {
	return func(yield func(*grant) bool) {
		if !s.everywhere.each(who, yield) || namespace == "" {
			return
		}
		s.within[namespace].each(who, yield)
	}
}

func (h holdings) each(who user.Info, yield func(*grant) bool) bool {
	for _, grant := range h[subject{name: who.GetName()}] {
		if !yield(grant) {
			return false
		}
	}
	for _, group := range who.GetGroups() {
		for _, grant := range h[subject{group: true, name: group}] {
			if !yield(grant) {
				return false
			}
		}
	}
	return true
}

// roleKey names a role; the namespace of a ClusterRole is empty.
type roleKey struct {
	namespace, name string
}

// binding is a RoleBinding, or a ClusterRoleBinding with an empty namespace.
type binding struct {
	file, namespace, name string
	subjects              []rbacv1.Subject
	roleRef               rbacv1.RoleRef
}

func (b binding) kind() string {
	if b.namespace == "" {
		return "ClusterRoleBinding"
	}
	return "RoleBinding"
}

// role is the key of the role that the binding refers to.
func (b binding) role() roleKey {
	if b.roleRef.Kind == "ClusterRole" {
		return roleKey{name: b.roleRef.Name}
	}
	return roleKey{namespace: b.namespace, name: b.roleRef.Name}
}

// newSnapshot works out who holds what. A binding to a role that is not there is
// a problem, as it may well be in the file that does not count.
func newSnapshot(found folder, roles map[roleKey]ruleSet, bindings []binding) *snapshot {
	s := &snapshot{digest: found.digest, everywhere: holdings{}, within: map[string]holdings{}}
	for _, b := range bindings {
		rules, ok := roles[b.role()]
		if !ok {
			s.problems = append(s.problems, Problem{
				File:    b.file,
				Message: fmt.Sprintf("%s %q grants nothing: there is no %s %q", b.kind(), b.name, b.roleRef.Kind, b.roleRef.Name),
			})
			continue
		}
		into := s.everywhere
		if b.namespace != "" {
			// A binding in a namespace gives no access to paths outside of it.
			rules.urls = nil
			into = s.within[b.namespace]
			if into == nil {
				into = holdings{}
				s.within[b.namespace] = into
			}
		}
		for _, to := range b.subjects {
			key := subject{group: to.Kind == rbacv1.GroupKind, name: to.Name}
			if to.Kind == rbacv1.ServiceAccountKind {
				key.name = serviceaccount.MakeUsername(to.Namespace, to.Name)
			}
			into[key] = append(into[key], &grant{rules: rules, reason: reason(b, to)})
		}
	}
	return s
}

// reason is for the audit log. It is worked out once, not at each request.
func reason(b binding, to rbacv1.Subject) string {
	name, holder := b.name, to.Name
	if b.namespace != "" {
		name = b.namespace + "/" + name
	}
	if to.Kind == rbacv1.ServiceAccountKind {
		holder = to.Namespace + "/" + holder
	}
	return fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s %q", b.kind(), name, b.roleRef.Kind, b.roleRef.Name, to.Kind, holder)
}
