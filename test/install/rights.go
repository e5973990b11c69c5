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

package install

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Rights is what the shipped roles grant to Entente, held against what it has asked
// kube-apiserver for. Rules are taken apart: one entry for each verb on each
// resource (of each name, where a rule has names).
type Rights struct {
	// Refused are the calls that were forbidden, by RBAC or by admission: a right too
	// few, or a call too many.
	Refused []string
	// Used and Unused are the shipped rights that some allowed call needed, and those
	// that none did. A role of Kubernetes' own counts as a whole.
	Used, Unused []string
}

// Rights goes by the audit log of kube-apiserver, which lags behind a moment. A
// call uses the right that RBAC said allowed it: of two shipped rights to the same,
// one is unused. What Entente does as somebody else is left out.
func (e *Entente) Rights() (Rights, error) {
	events, err := e.cluster.Audit()
	if err != nil {
		return Rights{}, err
	}
	return compare(e.User, e.shipped, events), nil
}

// Merge puts together what several installations of the same manifests have
// asked for: what one of them has used is used.
func (r Rights) Merge(others ...Rights) Rights {
	merged := Rights{Refused: slices.Clone(r.Refused), Used: slices.Clone(r.Used), Unused: slices.Clone(r.Unused)}
	for _, other := range others {
		merged.Refused = append(merged.Refused, other.Refused...)
		merged.Used = append(merged.Used, other.Used...)
		merged.Unused = append(merged.Unused, other.Unused...)
	}
	for _, list := range []*[]string{&merged.Refused, &merged.Used, &merged.Unused} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	merged.Unused = slices.DeleteFunc(merged.Unused, func(right string) bool {
		_, used := slices.BinarySearch(merged.Used, right)
		return used
	})
	return merged
}

func compare(user string, shipped []grant, events []auditv1.Event) Rights {
	var found Rights
	var rights []right
	for _, grant := range shipped {
		rights = append(rights, grant.rights()...)
	}
	used := make([]bool, len(rights))
	for _, event := range events {
		if event.User.Username != user {
			continue
		}
		if as := event.ImpersonatedUser; as != nil {
			for i, right := range rights {
				used[i] = used[i] || right.impersonates(as.Username)
			}
			continue
		}
		if refused(event) {
			found.Refused = append(found.Refused, describe(event))
			continue
		}
		reason := event.Annotations["authorization.k8s.io/reason"]
		for i, right := range rights {
			if strings.HasPrefix(reason, right.reason) && right.covers(event) {
				used[i] = true
			}
		}
	}
	for i, right := range rights {
		if used[i] {
			found.Used = append(found.Used, right.name)
		} else {
			found.Unused = append(found.Unused, right.name)
		}
	}
	return found.Merge()
}

func refused(event auditv1.Event) bool {
	return event.Annotations["authorization.k8s.io/decision"] == "forbid" ||
		event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden
}

func describe(event auditv1.Event) string {
	call := event.Verb + " " + event.RequestURI
	if event.Annotations["authorization.k8s.io/decision"] != "forbid" && event.ResponseStatus != nil {
		call += ": " + event.ResponseStatus.Message
	}
	return call
}

// right is a part of a rule that a call can need.
type right struct {
	name string
	// reason is how the audit annotation of a call that this binding allowed begins.
	reason string
	covers func(auditv1.Event) bool
	// account is the ServiceAccount, NAMESPACE:NAME, as which the right lets one act; empty:
	// none.
	account string
}

// impersonates tells whether the right is needed to act as a user. The audit log does not say
// by which binding that was allowed.
func (r right) impersonates(username string) bool {
	return r.account != "" && username == "system:serviceaccount:"+r.account
}

func (g grant) rights() []right {
	binding := g.name
	if g.kind == "RoleBinding" {
		binding += "/" + g.namespace
	}
	reason := fmt.Sprintf("RBAC: allowed by %s %q of %s %q to ", g.kind, binding, g.roleKind, g.role)
	name := fmt.Sprintf("%s %s of %s %s", g.kind, binding, g.roleKind, g.role)
	if len(g.rules) == 0 {
		return []right{{name: name, reason: reason, covers: func(auditv1.Event) bool { return true }}}
	}
	var rights []right
	for _, rule := range g.rules {
		for _, verb := range rule.Verbs {
			for _, part := range parts(rule) {
				account := ""
				if verb == "impersonate" && part.account != "" && g.namespace != "" {
					account = g.namespace + ":" + part.account
				}
				rights = append(rights, right{
					account: account,
					name:    name + ": " + verb + " " + part.name,
					reason:  reason,
					covers: func(event auditv1.Event) bool {
						return slices.ContainsFunc(uses(event), func(used auditv1.Event) bool { return matches(verb, used.Verb) && part.covers(used) })
					},
				})
			}
		}
	}
	return rights
}

// parts takes a rule apart by what it is on.
func parts(rule rbacv1.PolicyRule) []right {
	var found []right
	for _, url := range rule.NonResourceURLs {
		found = append(found, right{name: url, covers: func(event auditv1.Event) bool {
			path, _, _ := strings.Cut(event.RequestURI, "?")
			prefix, wildcard := strings.CutSuffix(url, "*")
			return event.ObjectRef == nil && (path == url || wildcard && strings.HasPrefix(path, prefix))
		}})
	}
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				text := resource
				if group != "" {
					text += "." + group
				}
				if name != "" {
					text += " " + name
				}
				account := ""
				if group == "" && resource == "serviceaccounts" {
					account = name
				}
				found = append(found, right{name: text, account: account, covers: func(event auditv1.Event) bool {
					ref := event.ObjectRef
					if ref == nil {
						return false
					}
					used := ref.Resource
					if ref.Subresource != "" {
						used += "/" + ref.Subresource
					}
					return matches(group, ref.APIGroup) && matches(resource, used) && (name == "" || name == ref.Name)
				}})
			}
		}
	}
	return found
}

// uses are the calls that a call amounts to, itself among them: an apply that creates is
// also a create. Whoever makes a role is asked for escalate on it, and whoever makes a
// binding for bind on the role; the audit log does not tell.
func uses(event auditv1.Event) []auditv1.Event {
	all := []auditv1.Event{event}
	if event.ObjectRef == nil || event.ResponseStatus == nil || event.ResponseStatus.Code != http.StatusCreated {
		return all
	}
	use := func(verb, resource string) {
		ref := *event.ObjectRef
		ref.Resource = resource
		used := event
		used.Verb, used.ObjectRef = verb, &ref
		all = append(all, used)
	}
	if event.Verb == "patch" {
		use("create", event.ObjectRef.Resource)
	}
	if event.ObjectRef.APIGroup == rbacv1.GroupName {
		switch event.ObjectRef.Resource {
		case "roles", "clusterroles":
			use("escalate", event.ObjectRef.Resource)
		case "rolebindings":
			use("bind", "roles")
		case "clusterrolebindings":
			use("bind", "clusterroles")
		}
	}
	return all
}

func matches(granted, used string) bool { return granted == "*" || granted == used }
