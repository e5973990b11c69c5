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
	"net/url"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

const (
	// MaxRules is how many rules a capability may have.
	MaxRules = 64
	// MaxPermissions is how much all rules together may allow, each verb on each resource
	// of each group, and each name of it, counted apart. Whoever makes a capability is
	// asked for all of them (G2).
	MaxPermissions = 1024
)

// verbForm is what a verb looks like. RBAC minds the case: in capitals it grants nothing.
var verbForm = regexp.MustCompile(`^[a-z][a-z0-9:-]*$`)

// rulesFault finds what is wrong with rules, whatever resources there are.
func rulesFault(rules []peeringv1alpha1.CapabilityRule, path *field.Path) *fault {
	// Counts come first: what follows costs as much as there is.
	if len(rules) > MaxRules {
		return invalid("has more than 64 rules").at(path)
	}
	permissions := 0
	for i := range rules {
		permissions += count(&rules[i])
		if permissions > MaxPermissions {
			return invalid("goes beyond 1,024 permissions, each verb on each resource and name counted").at(path.Index(i))
		}
	}
	for i := range rules {
		if found := ruleFault(&rules[i], path.Index(i)); found != nil {
			return found
		}
	}
	return nil
}

// count returns how much a rule allows, and no exact number beyond the limit.
func count(rule *peeringv1alpha1.CapabilityRule) int {
	resources := 1
	for _, factor := range []int{len(rule.Verbs), len(rule.APIGroups), len(rule.Resources), max(1, len(rule.ResourceNames))} {
		resources = min(resources*factor, MaxPermissions+1)
	}
	return resources + min(len(rule.Verbs)*len(rule.NonResourceURLs), MaxPermissions+1)
}

// ruleFault finds what is wrong with one rule.
func ruleFault(rule *peeringv1alpha1.CapabilityRule, path *field.Path) *fault {
	if found := shape(rule).at(path); found != nil {
		return found
	}
	for _, list := range []struct {
		name    string
		texts   []string
		objects func(string) *objection
	}{
		{"verbs", rule.Verbs, verb},
		{"apiGroups", rule.APIGroups, group},
		{"resources", rule.Resources, resource},
		{"resourceNames", rule.ResourceNames, name},
		{"nonResourceURLs", rule.NonResourceURLs, nonResourceURL},
	} {
		for i, text := range list.texts {
			if found := list.objects(text).at(path.Child(list.name).Index(i)); found != nil {
				return found
			}
		}
	}
	return forbiddenTogether(rule, path)
}

// shape objects to a rule that cannot mean anything.
func shape(rule *peeringv1alpha1.CapabilityRule) *objection {
	switch {
	case len(rule.Verbs) == 0:
		return invalid("has no verbs")
	case len(rule.Resources) == 0 && len(rule.NonResourceURLs) == 0:
		return invalid("has neither resources nor nonResourceURLs")
	case len(rule.Resources) > 0 && len(rule.NonResourceURLs) > 0:
		return invalid("has both resources and nonResourceURLs, which takes two rules")
	case len(rule.Resources) > 0 && len(rule.APIGroups) == 0:
		return invalid("has resources without apiGroups; the core group is an empty string")
	case len(rule.NonResourceURLs) > 0 && (len(rule.APIGroups) > 0 || len(rule.ResourceNames) > 0):
		return invalid("has nonResourceURLs with apiGroups or resourceNames")
	}
	return nil
}

func verb(text string) *objection {
	switch {
	case isWildcard(text):
		return wildcard()
	case isForbiddenVerb(text):
		return forbidden("is a verb by which more could be had than is granted")
	case !verbForm.MatchString(text):
		return invalid("is no verb: those have small letters, digits, dashes and colons")
	}
	return nil
}

func group(text string) *objection {
	switch {
	case isWildcard(text):
		return wildcard()
	case isOurGroup(text):
		return forbidden("is a group of Entente itself")
	case text != "" && len(validation.IsDNS1123Subdomain(text)) > 0:
		return invalid("is no API group: those are DNS subdomains, or an empty string")
	}
	return nil
}

func resource(text string) *objection {
	of, sub, both := strings.Cut(text, "/")
	switch {
	case isWildcard(text):
		return wildcard()
	case !isSegment(of) || (both && !isSegment(sub)):
		return invalid("is neither a resource nor, after one slash, a subresource")
	}
	return nil
}

// name objects to an empty name above all: that is what a request for a list, or to
// create, is for, and RBAC would allow those.
func name(text string) *objection {
	switch {
	case isWildcard(text):
		return wildcard()
	case strings.HasPrefix(text, "system:"):
		return forbidden("is a name that Kubernetes keeps to itself")
	case !isSegment(text):
		return invalid("can be the name of no object")
	}
	return nil
}

func nonResourceURL(text string) *objection {
	switch {
	case isWildcard(text):
		return wildcard()
	case !strings.HasPrefix(text, "/"):
		return invalid("does not begin with a slash")
	case !isCleanPath(text):
		return invalid("is no path that a request could have: it holds a query, an escape, a space, or needless dots or slashes")
	}
	return nil
}

// isSegment tells whether a text may stand between two slashes of a URL.
func isSegment(text string) bool {
	return text != "" && len(content.IsPathSegmentName(text)) == 0
}

// isCleanPath tells whether the path of a request can be this text, after cleaning.
func isCleanPath(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Path != text || strings.ContainsRune(text, ' ') {
		return false
	}
	return text == "/" || path.Clean(text) == strings.TrimSuffix(text, "/")
}
