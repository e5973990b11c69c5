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

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// resourcesFault finds a resource that no group of its rule has, or a group that has no
// resource of its rule. What is missing for certain comes before what cannot be told.
func resourcesFault(rules []peeringv1alpha1.CapabilityRule, path *field.Path, resources Resources) *fault {
	var untold *fault
	for i := range rules {
		for _, found := range missing(&rules[i], path.Index(i), resources) {
			if found.reason != ReasonDiscoveryFailed {
				return found
			}
			if untold == nil {
				untold = found
			}
		}
	}
	return untold
}

// missing finds all that is missing for one rule.
func missing(rule *peeringv1alpha1.CapabilityRule, path *field.Path, resources Resources) (all []*fault) {
	has := func(group, resource string) bool {
		_, found := resources.Scope(group, resource)
		return found
	}
	for i, resource := range rule.Resources {
		if slices.ContainsFunc(rule.APIGroups, func(group string) bool { return has(group, resource) }) {
			continue
		}
		what := &objection{ReasonUnknownResource, "is no resource that the host cluster has in an API group of this rule"}
		if slices.ContainsFunc(rule.APIGroups, resources.Failed) {
			what = &objection{ReasonDiscoveryFailed, "may be a resource of an API group of this rule; what that has the host cluster fails to tell"}
		}
		all = append(all, what.at(path.Child("resources").Index(i)))
	}
	for i, group := range rule.APIGroups {
		if slices.ContainsFunc(rule.Resources, func(resource string) bool { return has(group, resource) }) {
			continue
		}
		what := &objection{ReasonUnknownResource, "is no API group in which the host cluster has a resource of this rule"}
		if resources.Failed(group) {
			what = &objection{ReasonDiscoveryFailed, "is an API group whose resources the host cluster fails to tell"}
		}
		all = append(all, what.at(path.Child("apiGroups").Index(i)))
	}
	return all
}

// add adds one rule to a verdict, split by where it applies. A group and a resource that
// are not there together are left out: when they come to be, that is another verdict.
func (v *Verdict) add(rule *peeringv1alpha1.CapabilityRule, resources Resources) {
	for _, group := range rule.APIGroups {
		var namespaced, cluster []string
		for _, resource := range rule.Resources {
			switch isNamespaced, found := resources.Scope(group, resource); {
			case !found:
			case isNamespaced:
				namespaced = append(namespaced, resource)
			default:
				cluster = append(cluster, resource)
			}
		}
		policy := func(resources []string) rbacv1.PolicyRule {
			return rbacv1.PolicyRule{
				Verbs: slices.Clone(rule.Verbs), APIGroups: []string{group},
				Resources: resources, ResourceNames: slices.Clone(rule.ResourceNames),
			}
		}
		if len(namespaced) > 0 {
			v.Namespaced = append(v.Namespaced, policy(namespaced))
		}
		if len(cluster) > 0 {
			v.Cluster = append(v.Cluster, policy(cluster))
		}
	}
	if len(rule.NonResourceURLs) > 0 {
		v.Cluster = append(v.Cluster, rbacv1.PolicyRule{
			Verbs: slices.Clone(rule.Verbs), NonResourceURLs: slices.Clone(rule.NonResourceURLs),
		})
	}
}
