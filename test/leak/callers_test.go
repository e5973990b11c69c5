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

package leak_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"entente.dev/entente/test/harness"
)

// caller is somebody who sends requests.
type caller struct {
	name string
	// user is empty for one without a certificate.
	user   string
	header http.Header
	// sees says, by the rules of R1, whether an answer may show values.
	sees func(verb, object string) bool
	// writes says that the ordinary writes are permitted.
	writes bool
	// slow is one whose requests take seconds. It sends few.
	slow bool

	client *http.Client
}

const (
	erring  = "erring"
	hanging = "hanging"
)

func everything(string, string) bool { return true }
func nothing(string, string) bool    { return false }

// only is who sees what holds what these verbs stand for.
func only(verbs ...string) func(verb, object string) bool {
	return func(verb, _ string) bool { return slices.Contains(verbs, verb) }
}

// addCallers makes all sorts of users, those of whom are wanted; none means all.
func (s *suite) addCallers(t *testing.T, wanted []string) {
	var ordinary, sensitive []rbacv1.PolicyRule
	rule := func(k *kind, verbs []string, subresources ...string) rbacv1.PolicyRule {
		resource := k.collection[strings.LastIndex(k.collection, "/")+1:]
		r := rbacv1.PolicyRule{APIGroups: []string{k.Group}, Verbs: verbs}
		for _, subresource := range subresources {
			r.Resources = append(r.Resources, resource+strings.TrimSuffix("/"+subresource, "/"))
		}
		return r
	}
	for _, k := range s.table.kinds {
		subresources := []string{""}
		for _, o := range s.table.operations {
			if o.kind == k && o.subresource != "" && o.subresource != "sensitive" {
				subresources = append(subresources, o.subresource)
			}
		}
		ordinary = append(ordinary, rule(k, []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, subresources...))
		sensitive = append(sensitive, rule(k, nil, "sensitive"))
	}
	with := func(names []string, verbs ...string) []rbacv1.PolicyRule {
		rules := slices.Clone(ordinary)
		for _, r := range sensitive {
			r.Verbs, r.ResourceNames = verbs, names
			rules = append(rules, r)
		}
		return rules
	}
	s.rights = with

	add := func(t *testing.T, c *caller, rules ...rbacv1.PolicyRule) {
		if len(wanted) > 0 && !slices.Contains(wanted, c.name) {
			return
		}
		s.callers = append(s.callers, c)
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if len(rules) > 0 {
				s.AddUser(t, c.user, rules...)
			}
			c.client = s.newClient(c.user)
		})
	}
	t.Run("callers", func(t *testing.T) {
		add(t, &caller{name: "admin", user: harness.Admin, sees: everything, writes: true})
		add(t, &caller{name: "operator", user: harness.Operator, sees: nothing, writes: true})
		add(t, &caller{name: "viewer", user: harness.Viewer, sees: nothing})
		add(t, &caller{name: "anonymous", sees: nothing})
		add(t, &caller{name: "impersonated", user: harness.Admin, sees: nothing, writes: true, header: http.Header{
			"Impersonate-User": {"somebody"}, "Impersonate-Group": {"entente:operators"},
		}})
		for _, verb := range []string{"get", "list", "watch"} {
			add(t, &caller{name: verb + "-only", user: verb + "-only", sees: only(verb), writes: true}, with(nil, verb)...)
		}
		for _, verb := range []string{"patch", "update"} {
			add(t, &caller{name: verb + "-only", user: verb + "-only", sees: nothing, writes: true}, with(nil, verb)...)
		}
		// Who has the right for some names: for half of the objects that he uses.
		var names []string
		for i := range len(s.table.operations) {
			if i%2 == 0 {
				names = append(names, objectOf("names-only", i), objectOf("names-only", i)+another)
			}
		}
		names = append(names, watched)
		add(t, &caller{name: "names-only", user: "names-only", writes: true, sees: func(_, object string) bool {
			return slices.Contains(names, object)
		}}, with(names, "get", "list", "watch", "update", "patch")...)
		add(t, &caller{name: erring, user: erring, sees: nothing, writes: true}, with(nil, "*")...)
		add(t, &caller{name: hanging, user: hanging, sees: nothing, writes: true, slow: true}, with(nil, "*")...)
	})
}

func (s *suite) newClient(user string) *http.Client {
	client := s.HTTP(s.t, user)
	if transport, ok := client.Transport.(*http.Transport); ok {
		transport.MaxIdleConnsPerHost = 100
	}
	return client
}
