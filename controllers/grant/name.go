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
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// nameDomain keeps these hashes apart from all others.
const nameDomain = "entente.dev/grant/v1"

// nameOf returns the name of an object: a hash of its kind and place, of the peer, and of
// all that is granted. Another name is another grant.
func nameOf(c *content, kind, namespace string) string {
	data := appendStrings(nil, nameDomain, kind, c.owner.uid, c.clusterUUID, c.capability, namespace)
	hash := sha256.Sum256(append(data, c.encoded...))
	return c.prefix + hex.EncodeToString(hash[:])
}

// canonical returns rules that grant the same whatever the order in which they and what is
// in them were given.
func canonical(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	sorted := make([]rbacv1.PolicyRule, 0, len(rules))
	for _, rule := range rules {
		sorted = append(sorted, rbacv1.PolicyRule{
			Verbs:           set(rule.Verbs),
			APIGroups:       set(rule.APIGroups),
			Resources:       set(rule.Resources),
			ResourceNames:   set(rule.ResourceNames),
			NonResourceURLs: set(rule.NonResourceURLs),
		})
	}
	order := func(a, b rbacv1.PolicyRule) int { return bytes.Compare(appendRule(nil, a), appendRule(nil, b)) }
	slices.SortFunc(sorted, order)
	return slices.CompactFunc(sorted, func(a, b rbacv1.PolicyRule) bool { return order(a, b) == 0 })
}

// set returns the strings in order and once each, nil for none.
func set(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(all))
	return slices.Compact(sorted)
}

// encode writes what is granted and to whom.
func encode(rules []rbacv1.PolicyRule, subjects []rbacv1.Subject) []byte {
	data := binary.AppendUvarint(nil, uint64(len(rules)))
	for _, rule := range rules {
		data = appendRule(data, rule)
	}
	data = binary.AppendUvarint(data, uint64(len(subjects)))
	for _, subject := range subjects {
		data = appendStrings(data, subject.Kind, subject.APIGroup, subject.Namespace, subject.Name)
	}
	return data
}

func appendRule(data []byte, rule rbacv1.PolicyRule) []byte {
	for _, part := range [][]string{rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames, rule.NonResourceURLs} {
		data = binary.AppendUvarint(data, uint64(len(part)))
		data = appendStrings(data, part...)
	}
	return data
}

// appendStrings writes each string with its length before it, so that no two lists of
// strings are the same bytes.
func appendStrings(data []byte, all ...string) []byte {
	for _, s := range all {
		data = binary.AppendUvarint(data, uint64(len(s)))
		data = append(data, s...)
	}
	return data
}

// bySubject orders subjects.
func bySubject(a, b rbacv1.Subject) int { return strings.Compare(a.Name, b.Name) }
