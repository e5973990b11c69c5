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
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

var installed = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, Install(scheme)
})

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme, err := installed()
	require.NoError(t, err)
	return scheme
}

// K1: what the generated validation says of a spec, fault by fault.
func TestDeclaredSpec(t *testing.T) {
	const uuid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
	join := func(change func(*peeringv1alpha1.JoinSpec)) func(*peeringv1alpha1.ClusterPeerSpec) {
		return func(spec *peeringv1alpha1.ClusterPeerSpec) {
			spec.Type, spec.Join = peeringv1alpha1.ClusterPeerTypeJoin, &peeringv1alpha1.JoinSpec{}
			change(spec.Join)
		}
	}
	invite := func(uuid string) func(*peeringv1alpha1.ClusterPeerSpec) {
		return func(spec *peeringv1alpha1.ClusterPeerSpec) {
			spec.Type, spec.Invite = peeringv1alpha1.ClusterPeerTypeInvite, &peeringv1alpha1.InviteSpec{ExpectedClusterUUID: uuid}
		}
	}
	names := func(values ...string) func(*peeringv1alpha1.ClusterPeerSpec) {
		return func(spec *peeringv1alpha1.ClusterPeerSpec) {
			spec.Type, spec.Capabilities, spec.Projects = peeringv1alpha1.ClusterPeerTypeInvite, values, values
		}
	}
	both := func(path string, kind field.ErrorType) []string {
		return []string{string(kind) + " spec.capabilities" + path, string(kind) + " spec.projects" + path}
	}
	for name, test := range map[string]struct {
		change func(*peeringv1alpha1.ClusterPeerSpec)
		want   []string // type of error and path
	}{
		"nothing":                        {func(*peeringv1alpha1.ClusterPeerSpec) {}, []string{"FieldValueRequired spec.type"}},
		"another type":                   {func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Type = "Watch" }, []string{"FieldValueNotSupported spec.type"}},
		"a type in capitals":             {func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Type = "JOIN" }, []string{"FieldValueNotSupported spec.type"}},
		"Invite":                         {func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Type = "Invite" }, nil},
		"Join":                           {func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Type = "Join" }, nil},
		"a UUID":                         {invite(uuid), nil},
		"no UUID":                        {invite(""), nil},
		"a UUID without dashes":          {invite(strings.ReplaceAll(uuid, "-", "")), []string{"FieldValueInvalid spec.invite.expectedClusterUUID"}},
		"a UUID in braces":               {invite("{" + uuid[:34] + "}"), []string{"FieldValueInvalid spec.invite.expectedClusterUUID"}},
		"a long UUID":                    {invite(uuid + "0"), []string{"FieldValueTooLong spec.invite.expectedClusterUUID", "FieldValueInvalid spec.invite.expectedClusterUUID"}},
		"no UUID at all":                 {join(func(j *peeringv1alpha1.JoinSpec) { j.ExpectedClusterUUID = "the other one" }), []string{"FieldValueInvalid spec.join.expectedClusterUUID"}},
		"a connection string":            {join(func(j *peeringv1alpha1.JoinSpec) { j.ConnectionString = strings.Repeat("x", 4096) }), nil},
		"a long connection string":       {join(func(j *peeringv1alpha1.JoinSpec) { j.ConnectionString = strings.Repeat("x", 4097) }), []string{"FieldValueTooLong spec.join.connectionString"}},
		"the placeholder":                {join(func(j *peeringv1alpha1.JoinSpec) { j.ConnectionString = "<omitted>" }), nil},
		"names":                          {names("a", "b-c", "d0", strings.Repeat("x", 63)), nil},
		"an empty name":                  {names(""), both("[0]", field.ErrorTypeInvalid)},
		"a long name":                    {names("a", strings.Repeat("x", 64)), both("[1]", field.ErrorTypeInvalid)},
		"a name in capitals":             {names("A"), both("[0]", field.ErrorTypeInvalid)},
		"a name with a dot":              {names("a.b"), both("[0]", field.ErrorTypeInvalid)},
		"a name that starts with a dash": {names("-a"), both("[0]", field.ErrorTypeInvalid)},
		"a wildcard":                     {names("*"), both("[0]", field.ErrorTypeInvalid)},
		"a name twice":                   {names("a", "b", "a"), both("[2]", field.ErrorTypeDuplicate)},
	} {
		t.Run(name, func(t *testing.T) {
			peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			test.change(&peer.Spec)
			var got []string
			for _, err := range newScheme(t).Validate(t.Context(), nil, peer) {
				got = append(got, string(err.Type)+" "+err.Field)
			}
			assert.ElementsMatch(t, test.want, got)
		})
	}
}

// K1: what the generated validation says of a capability. What is well-formed and
// forbidden (G1) is not its business.
func TestDeclaredCapability(t *testing.T) {
	type (
		spec     = peeringv1alpha1.PeeringCapabilitySpec
		consumer = peeringv1alpha1.Consumer
		rule     = peeringv1alpha1.CapabilityRule
	)
	long := strings.Repeat("x", 254)
	for name, test := range map[string]struct {
		spec spec
		want []string // type of error and path
	}{
		"nothing":                    {spec{}, []string{"FieldValueRequired spec.version"}},
		"a version":                  {spec{Version: "1.2.3"}, nil},
		"a long version":             {spec{Version: long[:65]}, []string{"FieldValueTooLong spec.version"}},
		"consumers":                  {spec{Version: "1", Consumers: []consumer{{Kind: "ServiceAccount", Name: "a", Namespace: "b"}, {Kind: "ServiceAccount", Name: "a", Namespace: "b"}}}, nil},
		"a consumer of no kind":      {spec{Version: "1", Consumers: []consumer{{Kind: "", Name: "a", Namespace: "b"}}}, []string{"FieldValueRequired spec.consumers[0].kind"}},
		"a consumer of another kind": {spec{Version: "1", Consumers: []consumer{{Kind: "User", Name: "a", Namespace: "b"}}}, []string{"FieldValueNotSupported spec.consumers[0].kind"}},
		"a consumer with long names": {spec{Version: "1", Consumers: []consumer{{Kind: "ServiceAccount", Name: long, Namespace: long[:64]}}}, []string{"FieldValueTooLong spec.consumers[0].name", "FieldValueTooLong spec.consumers[0].namespace"}},
		"rules":                      {spec{Version: "1", Rules: []rule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}, {NonResourceURLs: []string{"/version"}, Verbs: []string{"get"}}}}, nil},
		"a rule twice":               {spec{Version: "1", Rules: []rule{{Verbs: []string{"get"}}, {Verbs: []string{"get"}}}}, nil},
		"rules that are forbidden":   {spec{Version: "1", Rules: []rule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"escalate", "*"}}, {}}}, nil},
		"the same and too long, each": {spec{Version: "1", Rules: []rule{{}, {APIGroups: []string{"a", "a"}, Resources: []string{long}, ResourceNames: []string{"b", "b"}, NonResourceURLs: []string{long}, Verbs: []string{"c", "c"}}}}, []string{
			"FieldValueDuplicate spec.rules[1].apiGroups[1]", "FieldValueTooLong spec.rules[1].resources[0]", "FieldValueDuplicate spec.rules[1].resourceNames[1]",
			"FieldValueTooLong spec.rules[1].nonResourceURLs[0]", "FieldValueDuplicate spec.rules[1].verbs[1]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range newScheme(t).Validate(t.Context(), nil, &peeringv1alpha1.PeeringCapability{Spec: test.spec}) {
				got = append(got, string(err.Type)+" "+err.Field)
			}
			assert.ElementsMatch(t, test.want, got)
		})
	}
}

// K1: the default of a field that has one is set when an object is read, in a list too;
// what is said is kept.
func TestK1Defaults(t *testing.T) {
	capability := peeringv1alpha1.PeeringCapability{Spec: peeringv1alpha1.PeeringCapabilitySpec{Consumers: []peeringv1alpha1.Consumer{{Name: "a"}, {Kind: "User"}}}}
	list := &peeringv1alpha1.PeeringCapabilityList{Items: []peeringv1alpha1.PeeringCapability{*capability.DeepCopy()}}
	newScheme(t).Default(&capability)
	newScheme(t).Default(list)
	for _, spec := range []peeringv1alpha1.PeeringCapabilitySpec{capability.Spec, list.Items[0].Spec} {
		assert.Equal(t, []peeringv1alpha1.Consumer{{Kind: "ServiceAccount", Name: "a"}, {Kind: "User"}}, spec.Consumers)
	}
}

// K1: the type cannot be changed, on any endpoint.
func TestDeclaredTypeIsImmutable(t *testing.T) {
	scheme := newScheme(t)
	of := func(kind peeringv1alpha1.ClusterPeerType) *peeringv1alpha1.ClusterPeer {
		return &peeringv1alpha1.ClusterPeer{Spec: peeringv1alpha1.ClusterPeerSpec{Type: kind}}
	}
	for _, subresource := range [][]string{nil, {"status"}, {"sensitive"}} {
		assert.Empty(t, scheme.ValidateUpdate(t.Context(), nil, of("Join"), of("Join"), subresource...), subresource)
		for _, kind := range []peeringv1alpha1.ClusterPeerType{"Invite", "", "Other"} {
			errs := scheme.ValidateUpdate(t.Context(), nil, of(kind), of("Join"), subresource...)
			require.NotEmpty(t, errs, "%v %s", subresource, kind)
			assert.Equal(t, "spec.type", errs[0].Field)
		}
	}
}

// K2: a fault that is stored already is no reason to refuse a change of something
// else: a limit of a later version must not lock objects.
func TestDeclaredRatchets(t *testing.T) {
	old := &peeringv1alpha1.ClusterPeer{Spec: peeringv1alpha1.ClusterPeerSpec{
		Type: "Join", Capabilities: []string{"NOT-A-LABEL"}, Join: &peeringv1alpha1.JoinSpec{ConnectionString: strings.Repeat("x", 5000)},
	}}
	peer := old.DeepCopy()
	peer.Labels = map[string]string{"a": "b"}
	assert.Empty(t, newScheme(t).ValidateUpdate(t.Context(), nil, peer, old))
	peer.Spec.Projects = []string{"NEITHER"}
	errs := newScheme(t).ValidateUpdate(t.Context(), nil, peer, old)
	require.Len(t, errs, 1)
	assert.Equal(t, "spec.projects[0]", errs[0].Field)
}

// R15: no error of the generated validation repeats a sensitive value.
func TestR15DeclaredErrorsQuoteNoValue(t *testing.T) {
	secret := strings.Repeat("kQ7zCANARYjoinVw3x0a1b2c3d4e5f6g7h8", 200)
	peer := &peeringv1alpha1.ClusterPeer{
		Spec:   peeringv1alpha1.ClusterPeerSpec{Type: "Join", Join: &peeringv1alpha1.JoinSpec{ConnectionString: secret}},
		Status: peeringv1alpha1.ClusterPeerStatus{Invite: &peeringv1alpha1.InviteStatus{ConnectionString: secret}},
	}
	errs := newScheme(t).Validate(t.Context(), nil, peer)
	require.Len(t, errs, 2)
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", errs, errs.ToAggregate(), *errs[0]), "CANARY")
}
