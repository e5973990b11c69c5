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
	"iter"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

// on is a verb on one PeeringCapability.
func on(verb, capability string) guard.Permission {
	return guard.Permission{Verb: verb, Group: peering.GroupName, Resource: "peeringcapabilities", Name: capability}
}

// permissionsOf returns what rules grant, each permission once, and wildcards as they
// are: who holds `*` may grant `*`. It fails if there are more than limit.
func permissionsOf(rules []peering.CapabilityRule, limit int) ([]guard.Permission, error) {
	var all []guard.Permission
	seen := map[guard.Permission]bool{}
	for i := range rules {
		for p := range granted(&rules[i]) {
			if seen[p] {
				continue
			}
			if len(all) == limit {
				return nil, guard.ErrTooMany
			}
			seen[p] = true
			all = append(all, p)
		}
	}
	return all, nil
}

// granted yields what one rule grants.
func granted(rule *peering.CapabilityRule) iter.Seq[guard.Permission] {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	return func(yield func(guard.Permission) bool) {
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				if !yield(guard.Permission{Verb: verb, URL: url}) {
					return
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						if !yield(guard.Permission{Verb: verb, Group: group, Resource: resource, Name: name}) {
							return
						}
					}
				}
			}
		}
	}
}
