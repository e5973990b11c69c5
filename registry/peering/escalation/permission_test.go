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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

// G2: what is asked about for a rule: each verb on each resource of each group and each name,
// each verb on each URL; wildcards literally; nothing twice; always in all namespaces.
func TestG2Permissions(t *testing.T) {
	for name, tt := range map[string]struct {
		rules []peering.CapabilityRule
		want  []string
	}{
		"nothing":   {nil, nil},
		"a product": {[]peering.CapabilityRule{{APIGroups: []string{"", "apps"}, Resources: []string{"a", "b"}, Verbs: []string{"get", "list"}}}, []string{"get a", "get b", "get apps:a", "get apps:b", "list a", "list b", "list apps:a", "list apps:b"}},
		"names":     {[]peering.CapabilityRule{{APIGroups: []string{""}, Resources: []string{"a"}, ResourceNames: []string{"x", "y"}, Verbs: []string{"get"}}}, []string{"get a x", "get a y"}},
		"URLs":      {[]peering.CapabilityRule{{NonResourceURLs: []string{"/version", "/healthz/*"}, Verbs: []string{"get", "head"}}}, []string{"get /version", "get /healthz/*", "head /version", "head /healthz/*"}},
		"both": {
			[]peering.CapabilityRule{{APIGroups: []string{""}, Resources: []string{"a"}, NonResourceURLs: []string{"/a"}, Verbs: []string{"get"}}},
			[]string{"get /a", "get a"},
		},
		"subresources":     {[]peering.CapabilityRule{get("pods", "pods/log", "*/scale", "pods/*", "a/b/c")}, []string{"get pods", "get pods/log", "get */scale", "get pods/*", "get a/b/c"}},
		"wildcards":        {[]peering.CapabilityRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}, []string{"* *:*"}},
		"each once":        {[]peering.CapabilityRule{get("a", "b"), get("b", "c"), get("a", "b", "c")}, []string{"get a", "get b", "get c"}},
		"no verbs":         {[]peering.CapabilityRule{{APIGroups: []string{""}, Resources: []string{"a"}}}, nil},
		"no API groups":    {[]peering.CapabilityRule{{Resources: []string{"a"}, Verbs: []string{"get"}}}, nil},
		"an empty name":    {[]peering.CapabilityRule{{APIGroups: []string{""}, Resources: []string{"a"}, ResourceNames: []string{""}, Verbs: []string{"get"}}}, []string{"get a"}},
		"our own resource": {[]peering.CapabilityRule{{APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers"}, Verbs: []string{"get"}}}, []string{"get clusterpeers"}},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := permissionsOf(tt.rules, guard.MaxQuestions)
			require.NoError(t, err)
			var got []string
			for _, p := range all {
				attributes := p.Attributes(&user.DefaultInfo{Name: "somebody"})
				assert.Equal(t, "somebody", attributes.GetUser().GetName())
				assert.Empty(t, attributes.GetNamespace(), "in all namespaces")
				got = append(got, said(attributes))
			}
			assert.Equal(t, tt.want, got)
		})
	}
	assert.Equal(t, authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "somebody"}, Verb: "get", APIGroup: "apps", APIVersion: "*", Resource: "deployments", Subresource: "scale", Name: "web", ResourceRequest: true,
	}, guard.Permission{Verb: "get", Group: "apps", Resource: "deployments/scale", Name: "web"}.Attributes(&user.DefaultInfo{Name: "somebody"}))
}

// G2: a product is not made further than the bound.
func TestG2PermissionsAreBounded(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("x", i))
	}
	huge := peering.CapabilityRule{APIGroups: many, Resources: many, ResourceNames: many, Verbs: many}
	_, err := permissionsOf([]peering.CapabilityRule{huge}, guard.MaxQuestions)
	assert.ErrorIs(t, err, guard.ErrTooMany)
	all, err := permissionsOf([]peering.CapabilityRule{get(many[:guard.MaxQuestions]...), get(many[:guard.MaxQuestions]...)}, guard.MaxQuestions)
	require.NoError(t, err)
	assert.Len(t, all, guard.MaxQuestions)
	_, err = permissionsOf([]peering.CapabilityRule{get(many[:guard.MaxQuestions]...), get("one more")}, guard.MaxQuestions)
	assert.ErrorIs(t, err, guard.ErrTooMany)
}

func TestPermissionInWords(t *testing.T) {
	for want, p := range map[string]guard.Permission{
		`{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}`:                           {Verb: "get", Resource: "pods/log"},
		`{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["w"], Verbs:["*"]}`: {Verb: "*", Group: "apps", Resource: "deployments", Name: "w"},
		`{NonResourceURLs:["/version"], Verbs:["get"]}`:                                     {Verb: "get", URL: "/version"},
	} {
		assert.Equal(t, want, p.String())
	}
}
