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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/peering/install"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
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

// metadata are changes of the metadata; none moves the generation, and none may be made
// by a write of the status.
func metadata() map[string]func(*peering.TokenExchangeProvider) {
	return map[string]func(*peering.TokenExchangeProvider){
		"labels":         func(p *peering.TokenExchangeProvider) { p.Labels = map[string]string{"x": "y"} },
		"no labels":      func(p *peering.TokenExchangeProvider) { p.Labels = nil },
		"annotations":    func(p *peering.TokenExchangeProvider) { p.Annotations["x"] = "y" },
		"finalizers":     func(p *peering.TokenExchangeProvider) { p.Finalizers = nil },
		"owners":         func(p *peering.TokenExchangeProvider) { p.OwnerReferences = nil },
		"generation":     func(p *peering.TokenExchangeProvider) { p.Generation = 99 },
		"the name":       func(p *peering.TokenExchangeProvider) { p.Name, p.GenerateName = "other", "other-" },
		"the creation":   func(p *peering.TokenExchangeProvider) { p.CreationTimestamp = metav1.Now() },
		"a deletion":     func(p *peering.TokenExchangeProvider) { p.DeletionTimestamp = &metav1.Time{} },
		"a grace period": func(p *peering.TokenExchangeProvider) { p.DeletionGracePeriodSeconds = new(int64) },
	}
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

// K2: on create the status is dropped and the generation starts.
func TestK2Create(t *testing.T) {
	provider := stored()
	newStrategy(newScheme(t)).PrepareForCreate(t.Context(), provider)
	want := stored()
	want.Status, want.Generation = peering.TokenExchangeProviderStatus{}, 1
	assert.Equal(t, want, provider)
}

// K2: the generation moves with the spec, by one, and with nothing else; the status
// cannot be changed here.
func TestK2Update(t *testing.T) {
	s := newStrategy(newScheme(t))
	moves := func(name string, want int64, change func(*peering.TokenExchangeProvider)) {
		t.Run(name, func(t *testing.T) {
			old, provider := stored(), changed(stored(), change)
			wanted := provider.DeepCopy()
			s.PrepareForUpdate(t.Context(), provider, old)
			assert.Equal(t, stored(), old)
			wanted.Generation, wanted.Status = want, old.Status
			assert.Equal(t, wanted, provider)
		})
	}
	moves("nothing", 3, func(*peering.TokenExchangeProvider) {})
	for name, change := range metadata() {
		moves(name, 3, change)
	}
	for name, change := range specs() {
		moves(name, 4, change)
	}
	moves("the status", 3, func(p *peering.TokenExchangeProvider) { p.Status = peering.TokenExchangeProviderStatus{} })
	old := changed(stored(), func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = nil })
	provider := changed(old, func(p *peering.TokenExchangeProvider) { p.Spec.Audiences = []string{} })
	s.PrepareForUpdate(t.Context(), provider, old)
	assert.EqualValues(t, 3, provider.Generation, "an empty list for none")
}

// S1: a write of the status changes the status alone: nothing of the metadata, and
// nothing of the spec.
func TestS1StatusUpdate(t *testing.T) {
	s := statusStrategy{newStrategy(newScheme(t))}
	status := peering.TokenExchangeProviderStatus{ObservedGeneration: 3}
	changes := metadata()
	for name, change := range specs() {
		changes["spec: "+name] = change
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			old, provider := stored(), changed(stored(), change)
			provider.Status, provider.ManagedFields = status, managedBy("after")
			s.PrepareForUpdate(t.Context(), provider, old)
			want := stored()
			want.Status, want.ManagedFields = status, managedBy("after")
			assert.Equal(t, want, provider)
			provider.Labels["a"] = "changed"
			assert.Equal(t, stored(), old, "nothing is shared")
		})
	}
}

// faults are the causes of an error, as type and path.
func faults(t *testing.T, err error) (out []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	require.Equal(t, metav1.StatusReasonInvalid, status.Status().Reason)
	for _, cause := range status.Status().Details.Causes {
		out = append(out, string(cause.Type)+" "+cause.Field)
	}
	slices.Sort(out)
	return out
}

// K1: every fault of form is told at once, by its path and once, whichever validation
// finds it; what nobody could use (G6) is none.
func TestK1EveryFaultOnCreate(t *testing.T) {
	create := func(provider *peering.TokenExchangeProvider) []string {
		rest.FillObjectMetaSystemFields(provider)
		return faults(t, rest.BeforeCreate(newStrategy(newScheme(t)), requestContext(""), provider))
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
			assert.Equal(t, test.want, faults(t, err))
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
