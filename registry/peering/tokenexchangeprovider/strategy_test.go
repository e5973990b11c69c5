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

package tokenexchangeprovider

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/peering/install"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/strategy/strategytest"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	metav1.AddToGroupVersion(scheme, peeringv1alpha1.SchemeGroupVersion)
	return scheme
}

func requestContext(subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "somebody"}), "")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: peering.GroupName, APIVersion: "v1alpha1", Resource: resource, Subresource: subresource,
	})
}

const uuid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

// stored is a TokenExchangeProvider with everything in it.
func stored() *peering.TokenExchangeProvider {
	return &peering.TokenExchangeProvider{
		ObjectMeta: metav1.ObjectMeta{
			Name: "peer-east", UID: "uid", ResourceVersion: "5", Generation: 3, CreationTimestamp: metav1.Unix(1700000000, 0),
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{"entente.dev/test"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}},
			ManagedFields:   managedBy("before"),
		},
		Spec: peering.TokenExchangeProviderSpec{
			Issuer:         peering.PeerIssuer{URL: "https://east.example", JWKS: `{"keys":[]}`},
			Audiences:      []string{"peering.entente.dev:of-west:logs", "peering.entente.dev:of-west:backup"},
			UsernamePrefix: "peer:" + uuid + ":",
		},
		Status: peering.TokenExchangeProviderStatus{
			ObservedGeneration: 2,
			Conditions:         []metav1.Condition{{Type: "Ready", Status: "False", Reason: "PrefixConflict", LastTransitionTime: metav1.Unix(1700000000, 0), ObservedGeneration: 2}},
		},
	}
}

func managedBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "peering.entente.dev/v1alpha1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:usernamePrefix":{}}}`),
	}}
}

func changed(base *peering.TokenExchangeProvider, change func(*peering.TokenExchangeProvider)) *peering.TokenExchangeProvider {
	out := base.DeepCopy()
	change(out)
	return out
}

// specs are changes of the spec.
func specs() map[string]func(*peering.TokenExchangeProvider) {
	return map[string]func(*peering.TokenExchangeProvider){
		"the URL":            func(p *peering.TokenExchangeProvider) { p.Spec.Issuer.URL = "https://other.example" },
		"the keys":           func(p *peering.TokenExchangeProvider) { p.Spec.Issuer.JWKS = "" },
		"the prefix":         func(p *peering.TokenExchangeProvider) { p.Spec.UsernamePrefix = "peer:" },
		"an audience":        func(p *peering.TokenExchangeProvider) { p.Spec.Audiences[0] = "other" },
		"an audience more":   func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = append(p.Spec.Audiences, "other") },
		"no audiences":       func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = nil },
		"order of audiences": func(p *peering.TokenExchangeProvider) { slices.Reverse(p.Spec.Audiences) },
	}
}

// K2, S1: what can be written through which endpoint, and when the generation moves.
func TestK2S1Endpoints(t *testing.T) {
	s := newStrategy(newScheme(t))
	strategytest.Kind[peering.TokenExchangeProvider, *peering.TokenExchangeProvider]{
		Main: s, Status: statusStrategy{s}, Stored: stored,
		Specs: specs(),
		Same: map[string]func(*peering.TokenExchangeProvider){
			"the audiences once more": func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = slices.Clone(p.Spec.Audiences) },
		},
		CopyStatus: func(to, from *peering.TokenExchangeProvider) { to.Status = from.Status },
		Other: func() *peering.TokenExchangeProvider {
			return &peering.TokenExchangeProvider{Status: peering.TokenExchangeProviderStatus{ObservedGeneration: 3}}
		},
	}.Test(t)
}

// K1: every fault of form is told at once, by its path and once, whichever validation
// finds it; what nobody could use (G6) is none.
func TestK1EveryFaultOnCreate(t *testing.T) {
	create := func(provider *peering.TokenExchangeProvider) []string {
		rest.FillObjectMetaSystemFields(provider)
		return strategytest.Faults(t, rest.BeforeCreate(newStrategy(newScheme(t)), requestContext(""), provider))
	}
	named := func(spec peering.TokenExchangeProviderSpec) *peering.TokenExchangeProvider {
		return &peering.TokenExchangeProvider{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: spec}
	}
	assert.Empty(t, create(named(stored().Spec)))
	assert.Empty(t, create(named(peering.TokenExchangeProviderSpec{})), "a controller says that it is of no use")
	assert.Empty(t, create(named(peering.TokenExchangeProviderSpec{Issuer: peering.PeerIssuer{URL: "no URL", JWKS: "no keys"}, Audiences: []string{"*"}, UsernamePrefix: "system:"})))
	assert.Equal(t, []string{
		"FieldValueDuplicate spec.audiences[1]",
		"FieldValueInvalid metadata.labels",
		"FieldValueInvalid metadata.name",
		"FieldValueTooLong spec.audiences[2]",
		"FieldValueTooLong spec.issuer.jwks",
		"FieldValueTooLong spec.issuer.url",
		"FieldValueTooLong spec.usernamePrefix",
	}, create(&peering.TokenExchangeProvider{
		ObjectMeta: metav1.ObjectMeta{Name: "Not_A_Name", Labels: map[string]string{"-": ""}},
		Spec: peering.TokenExchangeProviderSpec{
			Issuer:    peering.PeerIssuer{URL: strings.Repeat("x", 1<<20+1), JWKS: strings.Repeat("x", 1<<20+1)},
			Audiences: []string{"a", "a", strings.Repeat("x", 254)}, UsernamePrefix: strings.Repeat("x", 65),
		},
	}))
}

// K1, K2: updates on both endpoints, as the store makes them: prepared, then validated.
func TestUpdates(t *testing.T) {
	main := newStrategy(newScheme(t))
	strategies := map[string]rest.RESTUpdateStrategy{"": main, "status": statusStrategy{main}}
	for name, test := range map[string]struct {
		endpoint string
		change   func(*peering.TokenExchangeProvider)
		want     []string
	}{
		"nothing, main":     {"", func(*peering.TokenExchangeProvider) {}, nil},
		"nothing, status":   {"status", func(*peering.TokenExchangeProvider) {}, nil},
		"an audience":       {"", func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = []string{"a"} }, nil},
		"an audience twice": {"", func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = []string{"a", "a"} }, []string{"FieldValueDuplicate spec.audiences[1]"}},
		"a long prefix":     {"", func(p *peering.TokenExchangeProvider) { p.Spec.UsernamePrefix = strings.Repeat("x", 65) }, []string{"FieldValueTooLong spec.usernamePrefix"}},
		"a condition":       {"status", func(p *peering.TokenExchangeProvider) { p.Status.Conditions[0].Status = "True" }, nil},
		"a long reason":     {"status", func(p *peering.TokenExchangeProvider) { p.Status.Conditions[0].Reason = strings.Repeat("x", 1025) }, []string{"FieldValueTooLong status.conditions[0].reason"}},
		"a fault of the spec, written to the status": {"status", func(p *peering.TokenExchangeProvider) { p.Spec.UsernamePrefix = strings.Repeat("x", 65) }, nil},
		"a fault of the status, written to the spec": {"", func(p *peering.TokenExchangeProvider) { p.Status.Conditions[0].Reason = "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := rest.BeforeUpdate(strategies[test.endpoint], requestContext(test.endpoint), changed(stored(), test.change), stored())
			assert.Equal(t, test.want, strategytest.Faults(t, err))
		})
	}
}

// The rest of what a strategy says.
func TestStrategy(t *testing.T) {
	s := newStrategy(newScheme(t))
	assert.False(t, s.NamespaceScoped())
	assert.False(t, s.AllowCreateOnUpdate(t.Context()), "a PUT does not create")
	assert.True(t, s.AllowUnconditionalUpdate(t.Context()))
	assert.Empty(t, s.WarningsOnCreate(t.Context(), stored()))
	assert.Empty(t, s.WarningsOnUpdate(t.Context(), stored(), stored()))
	provider := stored()
	s.Canonicalize(provider)
	assert.Equal(t, stored(), provider)
	assert.LessOrEqual(t, len(s.GenerateName(strings.Repeat("x", 100))), 63)
}
