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

package peeringcapability

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

// stored is a PeeringCapability with everything in it.
func stored() *peering.PeeringCapability {
	return &peering.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a-capability", UID: "uid", ResourceVersion: "5", Generation: 3, CreationTimestamp: metav1.Unix(1700000000, 0),
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{"entente.dev/test"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}},
			ManagedFields:   managedBy("before"),
		},
		Spec: peering.PeeringCapabilitySpec{
			Version:   "1.2.3",
			Consumers: []peering.Consumer{{Kind: peering.ConsumerKindServiceAccount, Name: "controller", Namespace: "module"}},
			Rules: []peering.CapabilityRule{
				{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
				{NonResourceURLs: []string{"/version"}, Verbs: []string{"get"}},
			},
		},
		Status: peering.PeeringCapabilityStatus{
			ObservedGeneration: 2,
			Conditions:         []metav1.Condition{{Type: "Valid", Status: "False", Reason: "ForbiddenRule", LastTransitionTime: metav1.Unix(1700000000, 0), ObservedGeneration: 2}},
		},
	}
}

func managedBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "peering.entente.dev/v1alpha1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:version":{}}}`),
	}}
}

func changed(base *peering.PeeringCapability, change func(*peering.PeeringCapability)) *peering.PeeringCapability {
	out := base.DeepCopy()
	change(out)
	return out
}

// specs are changes of the spec.
func specs() map[string]func(*peering.PeeringCapability) {
	return map[string]func(*peering.PeeringCapability){
		"the version":      func(c *peering.PeeringCapability) { c.Spec.Version = "2" },
		"a consumer":       func(c *peering.PeeringCapability) { c.Spec.Consumers[0].Namespace = "other" },
		"no consumers":     func(c *peering.PeeringCapability) { c.Spec.Consumers = nil },
		"a verb":           func(c *peering.PeeringCapability) { c.Spec.Rules[0].Verbs = []string{"get", "list"} },
		"names of objects": func(c *peering.PeeringCapability) { c.Spec.Rules[0].ResourceNames = []string{"one"} },
		"no rules":         func(c *peering.PeeringCapability) { c.Spec.Rules = nil },
		"order of rules": func(c *peering.PeeringCapability) {
			slices.Reverse(c.Spec.Rules)
		},
	}
}

// K2, S1: what can be written through which endpoint, and when the generation moves.
func TestK2S1Endpoints(t *testing.T) {
	s := newStrategy(newScheme(t))
	strategytest.Kind[peering.PeeringCapability, *peering.PeeringCapability]{
		Main: s, Status: statusStrategy{s}, Stored: stored,
		Specs: specs(),
		Same: map[string]func(*peering.PeeringCapability){
			"an empty list for none": func(c *peering.PeeringCapability) { c.Spec.Rules[0].ResourceNames = []string{} },
		},
		CopyStatus: func(to, from *peering.PeeringCapability) { to.Status = from.Status },
		Other: func() *peering.PeeringCapability {
			return &peering.PeeringCapability{Status: peering.PeeringCapabilityStatus{ObservedGeneration: 3}}
		},
	}.Test(t)
}

// K1: every fault of form is told at once, by its path and once, whichever validation
// finds it; what is forbidden only (G1) is none.
func TestK1EveryFaultOnCreate(t *testing.T) {
	create := func(capability *peering.PeeringCapability) []string {
		rest.FillObjectMetaSystemFields(capability)
		return strategytest.Faults(t, rest.BeforeCreate(newStrategy(newScheme(t)), requestContext(""), capability))
	}
	named := func(spec peering.PeeringCapabilitySpec) *peering.PeeringCapability {
		return &peering.PeeringCapability{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: spec}
	}
	assert.Empty(t, create(named(stored().Spec)))
	assert.Empty(t, create(named(peering.PeeringCapabilitySpec{Version: "1"})), "G1: without rules it is for one-way use")
	assert.Empty(t, create(named(peering.PeeringCapabilitySpec{Version: "1", Rules: []peering.CapabilityRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}, {}}})))
	assert.Equal(t, []string{"FieldValueRequired spec.version"}, create(named(peering.PeeringCapabilitySpec{})))
	assert.Equal(t, []string{
		"FieldValueDuplicate spec.rules[0].verbs[1]",
		"FieldValueInvalid metadata.labels",
		"FieldValueInvalid metadata.name",
		"FieldValueInvalid spec.version",
		"FieldValueNotSupported spec.consumers[0].kind",
		"FieldValueTooLong spec.consumers[0].namespace",
	}, create(&peering.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{Name: "Not_A_Label", Labels: map[string]string{"-": ""}},
		Spec: peering.PeeringCapabilitySpec{
			Version: "not one", Consumers: []peering.Consumer{{Kind: "User", Namespace: strings.Repeat("x", 64)}}, Rules: []peering.CapabilityRule{{Verbs: []string{"get", "get"}}},
		},
	}))
}

// K1, K2: updates on both endpoints, as the store makes them: prepared, then validated.
func TestUpdates(t *testing.T) {
	main := newStrategy(newScheme(t))
	strategies := map[string]rest.RESTUpdateStrategy{"": main, "status": statusStrategy{main}}
	for name, test := range map[string]struct {
		endpoint string
		change   func(*peering.PeeringCapability)
		want     []string
	}{
		"nothing, main":   {"", func(*peering.PeeringCapability) {}, nil},
		"nothing, status": {"status", func(*peering.PeeringCapability) {}, nil},
		"a version":       {"", func(c *peering.PeeringCapability) { c.Spec.Version = "2" }, nil},
		"no version":      {"", func(c *peering.PeeringCapability) { c.Spec.Version = "" }, []string{"FieldValueRequired spec.version"}},
		"an odd version":  {"", func(c *peering.PeeringCapability) { c.Spec.Version = "1\n2" }, []string{"FieldValueInvalid spec.version"}},
		"a condition":     {"status", func(c *peering.PeeringCapability) { c.Status.Conditions[0].Status = "True" }, nil},
		"a long reason":   {"status", func(c *peering.PeeringCapability) { c.Status.Conditions[0].Reason = strings.Repeat("x", 1025) }, []string{"FieldValueTooLong status.conditions[0].reason"}},
		"a fault of the spec, written to the status": {"status", func(c *peering.PeeringCapability) { c.Spec.Version = "" }, nil},
		"a fault of the status, written to the spec": {"", func(c *peering.PeeringCapability) { c.Status.Conditions[0].Reason = "" }, nil},
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
	capability := stored()
	s.Canonicalize(capability)
	assert.Equal(t, stored(), capability)
	assert.LessOrEqual(t, len(s.GenerateName(strings.Repeat("x", 100))), 63)
}
