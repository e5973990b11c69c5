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

package apiserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// Parameters of a policy are followed only if the policy can match one of our kinds.
func TestOnlyPoliciesFor(t *testing.T) {
	match := func(groups ...string) *admissionregistrationv1.MatchResources {
		named := admissionregistrationv1.NamedRuleWithOperations{}
		named.APIGroups = groups
		return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named}}
	}
	transform := onlyPoliciesFor("peering.entente.dev")
	for _, test := range []struct {
		name  string
		match *admissionregistrationv1.MatchResources
		kept  bool
	}{
		{"ours", match("peering.entente.dev"), true},
		{"ours among others", match("apps", "peering.entente.dev"), true},
		{"every group", match("*"), true},
		{"another", match("apps"), false},
		{"a longer name", match("not.peering.entente.dev"), false},
		{"no rule", &admissionregistrationv1.MatchResources{}, false},
		{"nothing", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			validating := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			validating.Spec.MatchConstraints, validating.Spec.ParamKind = test.match, &admissionregistrationv1.ParamKind{Kind: "ConfigMap"}
			mutating := &admissionregistrationv1.MutatingAdmissionPolicy{}
			mutating.Spec.MatchConstraints, mutating.Spec.ParamKind = test.match, &admissionregistrationv1.ParamKind{Kind: "ConfigMap"}
			for _, policy := range []any{validating, mutating} {
				same, err := transform(policy)
				require.NoError(t, err)
				assert.Same(t, policy, same)
			}
			assert.Equal(t, test.kept, validating.Spec.ParamKind != nil)
			assert.Equal(t, test.kept, mutating.Spec.ParamKind != nil)
			assert.Equal(t, test.match, validating.Spec.MatchConstraints)
		})
	}
	other := &corev1.Namespace{}
	same, err := transform(other)
	require.NoError(t, err)
	assert.Same(t, other, same)
}

// A plugin runs only where the host serves everything that it is configured by; the
// plugins that the library has and we don't know stay off.
func TestLackingForAdmission(t *testing.T) {
	// A host before v1.36 has the version, and no mutating policies in it.
	serves := func(resource schema.GroupVersionResource) bool {
		return resource.Group == "admissionregistration.k8s.io" && !strings.HasPrefix(resource.Resource, "mutatingadmission")
	}
	without := map[string][]string{}
	for name, resources := range admissionPlugins() {
		if lacks := lacking(resources, serves); len(lacks) > 0 {
			without[name] = lacks
		}
	}
	assert.Equal(t, map[string][]string{"MutatingAdmissionPolicy": {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}}, without)
	for name := range admissionPlugins() {
		assert.Contains(t, genericoptions.NewAdmissionOptions().Plugins.Registered(), name)
	}
}
