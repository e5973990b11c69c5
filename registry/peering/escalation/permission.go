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

package escalation

import (
	"fmt"
	"iter"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/apis/peering"
)

// anyVersion stands for all versions of an API group: RBAC knows none.
const anyVersion = "*"

// permission is the smallest thing that a rule grants: one verb on one resource, or on
// one of its objects, or on one URL.
type permission struct {
	verb string
	// url is the path of a URL; empty with a resource.
	url string
	// group and resource are what the verb is for, the resource with its subresource as
	// in pods/log; name is empty for all objects.
	group, resource, name string
}

// on is a verb on one PeeringCapability.
func on(verb, capability string) permission {
	return permission{verb: verb, group: peering.GroupName, resource: "peeringcapabilities", name: capability}
}

// permissionsOf returns what rules grant, each permission once, and wildcards as they
// are: who holds `*` may grant `*`. It fails if there are more than limit.
func permissionsOf(rules []peering.CapabilityRule, limit int) ([]permission, error) {
	var all []permission
	seen := map[permission]bool{}
	for i := range rules {
		for p := range granted(&rules[i]) {
			if seen[p] {
				continue
			}
			if len(all) == limit {
				return nil, errTooMany
			}
			seen[p] = true
			all = append(all, p)
		}
	}
	return all, nil
}

// granted yields what one rule grants.
func granted(rule *peering.CapabilityRule) iter.Seq[permission] {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	return func(yield func(permission) bool) {
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				if !yield(permission{verb: verb, url: url}) {
					return
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						if !yield(permission{verb: verb, group: group, resource: resource, name: name}) {
							return
						}
					}
				}
			}
		}
	}
}

// attributes are those of a request that takes this permission, in all namespaces.
func (p permission) attributes(who user.Info) authorizer.Attributes {
	if p.url != "" {
		return authorizer.AttributesRecord{User: who, Verb: p.verb, Path: p.url}
	}
	resource, subresource, _ := strings.Cut(p.resource, "/")
	return authorizer.AttributesRecord{
		User: who, Verb: p.verb,
		APIGroup: p.group, APIVersion: anyVersion, Resource: resource, Subresource: subresource, Name: p.name,
		ResourceRequest: true,
	}
}

// String prints the permission as a rule, as the refusals of RBAC do.
func (p permission) String() string {
	if p.url != "" {
		return fmt.Sprintf("{NonResourceURLs:[%q], Verbs:[%q]}", p.url, p.verb)
	}
	names := ""
	if p.name != "" {
		names = fmt.Sprintf("ResourceNames:[%q], ", p.name)
	}
	return fmt.Sprintf("{APIGroups:[%q], Resources:[%q], %sVerbs:[%q]}", p.group, p.resource, names, p.verb)
}
