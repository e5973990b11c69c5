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

package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
)

func capability(change func(*peering.PeeringCapability)) *peering.PeeringCapability {
	c := &peering.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{Name: "a-capability", UID: "uid", ResourceVersion: "5"},
		Spec:       peering.PeeringCapabilitySpec{Version: "1.2.3"},
	}
	change(c)
	return c
}

func unchanged(*peering.PeeringCapability) {}

// K1, G1: what the tags on the types cannot say; the same on update. What is forbidden
// and no fault of form is accepted here.
func TestValidatePeeringCapability(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*peering.PeeringCapability)
		want   []string
	}{
		"a version": {unchanged, nil},
		"no version": {func(c *peering.PeeringCapability) {
			// What is missing is said by the generated validation.
			c.Spec.Version = ""
		}, nil},
		"forbidden rules": {func(c *peering.PeeringCapability) {
			c.Spec.Rules = []peering.CapabilityRule{{APIGroups: []string{"*"}, Resources: []string{"secrets", "*/*"}, Verbs: []string{"*", "escalate"}}, {}}
		}, nil},
		"consumers of no form": {func(c *peering.PeeringCapability) {
			c.Spec.Consumers = []peering.Consumer{{}, {Name: "system:admin", Namespace: "*"}}
		}, nil},
		"every fault at once": {func(c *peering.PeeringCapability) {
			c.Spec.Version, c.Labels, c.Annotations = "1 2", map[string]string{"-": "x"}, map[string]string{"a b": ""}
		}, []string{"FieldValueInvalid spec.version", "FieldValueInvalid metadata.labels", "FieldValueInvalid metadata.annotations"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(ValidatePeeringCapability(capability(test.change)))
			assert.Subset(t, got, test.want)
			assert.Equal(t, len(test.want) == 0, len(got) == 0, got)
			assert.Subset(t, told(ValidatePeeringCapabilityUpdate(capability(test.change), capability(unchanged))), test.want, "an update finds the same")
		})
	}
}

// P11: a version has the characters that the other cluster takes, and no others.
func TestP11ValidateVersion(t *testing.T) {
	for version, valid := range map[string]bool{
		"1": true, "1.2.3": true, "v1.2.3-rc.1+build_7": true, "2026-01-01": true, "a:b/c": true, "latest": true, "<omitted>": false,
		" 1": false, "1 ": false, "1\n": false, "\n1": false, "1,2": false, "1*": false, "~1": false, `1"`: false, "é": false, "1\x00": false, "1%20": false, "@": false, "1\\2": false,
	} {
		want := []string{"FieldValueInvalid spec.version"}
		if valid {
			want = nil
		}
		assert.Equal(t, want, told(ValidatePeeringCapability(capability(func(c *peering.PeeringCapability) { c.Spec.Version = version }))), "%q", version)
	}
}

// K1: names are DNS labels of at most 63 characters, and no namespace is one of a
// PeeringCapability; what identifies an object cannot be changed.
func TestValidateCapabilityMetadata(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, strings.Repeat("x", 63): true, "": false, strings.Repeat("x", 64): false, "A": false, "a.b": false, "-a": false,
	} {
		c := capability(func(c *peering.PeeringCapability) { c.Name = name })
		assert.Equal(t, valid, len(ValidatePeeringCapability(c)) == 0, name)
	}
	c := capability(func(c *peering.PeeringCapability) { c.Namespace = "default" })
	assert.Equal(t, []string{"FieldValueForbidden metadata.namespace"}, told(ValidatePeeringCapability(c)))
	c = capability(func(c *peering.PeeringCapability) { c.Name = "other" })
	assert.Contains(t, told(ValidatePeeringCapabilityUpdate(c, capability(unchanged))), "FieldValueInvalid metadata.name")
	assert.Contains(t, told(ValidatePeeringCapabilityStatusUpdate(c, capability(unchanged))), "FieldValueInvalid metadata.name")
}

// K1: conditions have the form of Kubernetes' own, with a type of at most 316
// characters. A write of the status answers for the status.
func TestValidateCapabilityStatus(t *testing.T) {
	good := metav1.Condition{Type: "Valid", Status: metav1.ConditionTrue, Reason: "Valid", LastTransitionTime: metav1.Now()}
	with := func(change func(*metav1.Condition)) *peering.PeeringCapability {
		return capability(func(c *peering.PeeringCapability) {
			condition := good
			change(&condition)
			c.Spec.Version, c.Status.Conditions = "of no form", []metav1.Condition{condition}
		})
	}
	for want, change := range map[string]func(*metav1.Condition){
		"": func(*metav1.Condition) {},
		"FieldValueRequired status.conditions[0].reason":     func(c *metav1.Condition) { c.Reason = "" },
		"FieldValueNotSupported status.conditions[0].status": func(c *metav1.Condition) { c.Status = "yes" },
		"FieldValueTooLong status.conditions[0].type":        func(c *metav1.Condition) { c.Type = strings.Repeat("x", 317) },
	} {
		got := told(ValidatePeeringCapabilityStatusUpdate(with(change), capability(unchanged)))
		if want == "" {
			assert.Empty(t, got)
		} else {
			assert.Contains(t, got, want)
		}
	}
}
