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

package rules

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

const secrets = "secrets"

// isWildcard tells whether a text stands, or could be taken to stand, for more than itself.
func isWildcard(text string) bool { return strings.Contains(text, rbacv1.ResourceAll) }

func wildcard() *objection { return forbidden("is or has a wildcard, which is never granted") }

// isForbiddenVerb tells whether a verb gives rights beyond those of the rule that has it:
// those of a role, of another user, or of whoever a certificate names. There are many that
// begin with impersonate, such as impersonate:user-info.
func isForbiddenVerb(verb string) bool {
	switch verb {
	case "escalate", "bind", "approve", "sign":
		return true
	}
	return strings.HasPrefix(verb, "impersonate")
}

// isOurGroup tells whether the kinds of an API group are Entente's: a peer that writes
// them would decide what it is granted.
func isOurGroup(group string) bool {
	return group == peeringv1alpha1.GroupName || group == "core.convoy.kumodo.io"
}

// isReadOnlyGroup tells whether the kinds of an API group decide who may do what, or what
// the API is.
func isReadOnlyGroup(group string) bool {
	switch group {
	case rbacv1.GroupName, admissionregistrationv1.GroupName, certificatesv1.GroupName, "apiregistration.k8s.io", "apiextensions.k8s.io":
		return true
	}
	return false
}

// isForbiddenResource tells whether a resource of the core group gives the rights of
// somebody else: of a ServiceAccount, a node, or what runs in a pod or behind a Service.
func isForbiddenResource(resource string) bool {
	switch resource {
	case "serviceaccounts/token", "nodes/proxy", "services/proxy",
		"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/ephemeralcontainers":
		return true
	}
	return false
}

// isGround tells whether what is written to a resource decides where a peer is granted
// something (G4).
func isGround(group, resource string) bool {
	of, _, _ := strings.Cut(resource, "/")
	return group == corev1.GroupName && of == "namespaces" || group == "deckhouse.io" && of == "projects"
}

// makesGround tells whether a verb could put something on that ground.
func makesGround(verb string) bool {
	return !isRead(verb) && verb != "delete" && verb != "deletecollection"
}

func isRead(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

// isNameless tells whether a verb is for objects whose names a request does not tell, so
// that resourceNames do not limit it.
func isNameless(verb string) bool { return verb == "create" || verb == "deletecollection" }

// forbiddenTogether finds what of a well-formed rule is forbidden only together.
func forbiddenTogether(rule *peeringv1alpha1.CapabilityRule, path *field.Path) *fault {
	if slices.ContainsFunc(rule.APIGroups, isReadOnlyGroup) {
		for i, verb := range rule.Verbs {
			if !isRead(verb) {
				return forbidden("is a write to an API group that is only read: rbac, admissionregistration, apiregistration, apiextensions and certificates").at(path.Child("verbs").Index(i))
			}
		}
	}
	if found := groundFault(rule, path); found != nil {
		return found
	}
	if !slices.Contains(rule.APIGroups, corev1.GroupName) {
		return nil
	}
	for i, resource := range rule.Resources {
		if isForbiddenResource(resource) {
			return forbidden("is a resource by which more could be had than is granted").at(path.Child("resources").Index(i))
		}
		if resource == secrets && len(rule.ResourceNames) == 0 {
			return forbidden("is all Secrets: resourceNames has to say which").at(path.Child("resources").Index(i))
		}
	}
	if slices.Contains(rule.Resources, secrets) {
		for i, verb := range rule.Verbs {
			if isNameless(verb) {
				return forbidden("is a verb that resourceNames do not limit, and so for all Secrets").at(path.Child("verbs").Index(i))
			}
		}
	}
	return nil
}

// groundFault finds a rule by which a peer would decide where it is granted something.
func groundFault(rule *peeringv1alpha1.CapabilityRule, path *field.Path) *fault {
	i := slices.IndexFunc(rule.Verbs, makesGround)
	if i < 0 {
		return nil
	}
	for _, group := range rule.APIGroups {
		if slices.ContainsFunc(rule.Resources, func(resource string) bool { return isGround(group, resource) }) {
			return forbidden("is a write to what says which project a namespace belongs to: namespaces and Projects").at(path.Child("verbs").Index(i))
		}
	}
	return nil
}
