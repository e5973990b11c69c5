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

package entrance

import (
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/rules"
)

// capability is a PeeringCapability as far as it matters here. It does not change.
type capability struct {
	from *peeringv1alpha1.PeeringCapability
	// usable says that its rules are such as may be granted (G1).
	usable bool
	rules  []rbacv1.PolicyRule
}

func newCapability(from *peeringv1alpha1.PeeringCapability) *capability {
	// Whether there are such resources the host cluster says by itself. What is asked here
	// is what can be told without it: that nothing is malformed, or never granted.
	if _, faulty := rules.Fault(&from.Spec); faulty {
		return &capability{from: from}
	}
	c := &capability{from: from, usable: true}
	for _, rule := range from.Spec.Rules {
		c.rules = append(c.rules, rbacv1.PolicyRule{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources,
			ResourceNames: rule.ResourceNames, NonResourceURLs: rule.NonResourceURLs,
		})
	}
	return c
}

// isFor tells whether a ServiceAccount of the other cluster is a consumer.
func (c *capability) isFor(namespace, name string) bool {
	return access.Names(&c.from.Spec, namespace, name)
}

// allows tells whether one of the rules allows something.
func (c *capability) allows(asked rbacv1.PolicyRule) bool {
	covered, _ := validation.Covers(c.rules, []rbacv1.PolicyRule{asked})
	return covered
}

// capabilities are those that there are, judged once each.
type capabilities struct {
	find func(name string) (*peeringv1alpha1.PeeringCapability, bool)

	lock  sync.RWMutex
	known map[string]*capability
}

// maxCapabilities is how many are remembered: many more than there can be in effect.
const maxCapabilities = 1024

func newCapabilities(find func(string) (*peeringv1alpha1.PeeringCapability, bool)) *capabilities {
	return &capabilities{find: find, known: map[string]*capability{}}
}

// get returns a capability as it is now, or nil. It is the same as long as that is.
func (c *capabilities) get(name string) *capability {
	from, ok := c.find(name)
	c.lock.RLock()
	known := c.known[name]
	c.lock.RUnlock()
	switch {
	case !ok || from == nil:
		if known != nil {
			c.lock.Lock()
			delete(c.known, name)
			c.lock.Unlock()
		}
		return nil
	case known != nil && known.from == from:
		return known
	}
	made := newCapability(from)
	c.lock.Lock()
	defer c.lock.Unlock()
	if len(c.known) >= maxCapabilities {
		clear(c.known)
	}
	c.known[name] = made
	return made
}
