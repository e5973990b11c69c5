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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// Reasons of a verdict.
const (
	// ReasonValid: the rules can be granted.
	ReasonValid = "Valid"
	// ReasonInvalidRule: a rule is malformed, or says nothing.
	ReasonInvalidRule = "InvalidRule"
	// ReasonForbiddenRule: a rule asks for what no other cluster gets.
	ReasonForbiddenRule = "ForbiddenRule"
	// ReasonUnknownResource: the host cluster has no such resource.
	ReasonUnknownResource = "UnknownResource"
	// ReasonInvalidConsumer: a consumer can be no ServiceAccount.
	ReasonInvalidConsumer = "InvalidConsumer"
	// ReasonNoHost: there is no host cluster, and so no resources.
	ReasonNoHost = "NoHost"
	// ReasonDiscoveryFailed: what the host cluster has cannot be told.
	ReasonDiscoveryFailed = "DiscoveryFailed"
)

// Resources tells what resources the host cluster has, at one moment.
type Resources interface {
	// Scope tells whether a resource ("configmaps") or subresource ("pods/log") of an
	// API group is there, and whether it is namespaced.
	Scope(group, resource string) (namespaced, found bool)
	// Failed tells whether it is not known what resources the group has: those that are
	// found are there, others may be.
	Failed(group string) bool
}

// Source tells what resources the host cluster has, as that changes.
type Source interface {
	// Current returns what is known, nil if nothing is yet. It is the same object as long
	// as the host says the same.
	Current() Resources
	// Subscribe has changed called after Current has become another one. It returns how
	// to end that.
	Subscribe(changed func()) (cancel func())
}

// Verdict is what a capability was found to be.
type Verdict struct {
	// Status is True if it can be granted, False if it cannot, Unknown if that cannot be
	// told.
	Status metav1.ConditionStatus
	// Reason is one of the reasons of this package, Message a sentence that names the
	// first field at fault.
	Reason, Message string

	// Scope is where the rules apply: project, cluster, both in this order, or neither.
	Scope []peeringv1alpha1.CapabilityScope
	// Namespaced are the rules for namespaced resources, Cluster those for cluster-scoped
	// ones and for URLs. Each is for one API group or for URLs only, and holds no resource
	// that the host cluster lacks. Like Scope they are empty unless Status is True.
	Namespaced, Cluster []rbacv1.PolicyRule
}

// Judge judges a capability by G1. resources is nil without a host cluster.
//
// The first fault decides: of form and of what is forbidden rule by rule, then of the
// consumers, and only then what the host cluster says.
func Judge(spec *peeringv1alpha1.PeeringCapabilitySpec, resources Resources) Verdict {
	if verdict, faulty := Fault(spec); faulty {
		return verdict
	}
	if resources == nil {
		return Verdict{Status: metav1.ConditionUnknown, Reason: ReasonNoHost, Message: "There is no host cluster whose resources could be granted (G1)."}
	}
	if found := resourcesFault(spec.Rules, field.NewPath("spec", "rules"), resources); found != nil {
		return found.verdict()
	}
	verdict := Verdict{Status: metav1.ConditionTrue, Reason: ReasonValid, Message: praise(spec)}
	for i := range spec.Rules {
		verdict.add(&spec.Rules[i], resources)
	}
	if len(verdict.Namespaced) > 0 {
		verdict.Scope = append(verdict.Scope, peeringv1alpha1.CapabilityScopeProject)
	}
	if len(verdict.Cluster) > 0 {
		verdict.Scope = append(verdict.Scope, peeringv1alpha1.CapabilityScopeCluster)
	}
	return verdict
}

// Fault judges by what can be told without a host cluster: that something is malformed, or
// never granted. If nothing is, there is no verdict.
func Fault(spec *peeringv1alpha1.PeeringCapabilitySpec) (verdict Verdict, faulty bool) {
	if found := rulesFault(spec.Rules, field.NewPath("spec", "rules")); found != nil {
		return found.verdict(), true
	}
	if found := consumersFault(spec.Consumers, field.NewPath("spec", "consumers")); found != nil {
		return found.verdict(), true
	}
	return Verdict{}, false
}

// praise is the message for a capability without fault.
func praise(spec *peeringv1alpha1.PeeringCapabilitySpec) string {
	switch {
	case len(spec.Rules) == 0:
		return "It can be offered. Without rules it grants nothing."
	case len(spec.Consumers) == 0:
		return "It can be offered. Without consumers its rules are granted to nobody."
	default:
		return "It can be offered, and its rules granted to its consumers."
	}
}

// fault is what is wrong, and where.
type fault struct {
	path *field.Path
	objection
}

// objection is what is wrong with something, whatever it is. Its text goes on after a path.
type objection struct{ reason, text string }

func invalid(text string) *objection   { return &objection{ReasonInvalidRule, text} }
func forbidden(text string) *objection { return &objection{ReasonForbiddenRule, text} }

// at turns an objection, if there is one, into a fault.
func (o *objection) at(path *field.Path) *fault {
	if o == nil {
		return nil
	}
	return &fault{path, *o}
}

func (f *fault) verdict() Verdict {
	status := metav1.ConditionFalse
	if f.reason == ReasonDiscoveryFailed {
		status = metav1.ConditionUnknown
	}
	return Verdict{Status: status, Reason: f.reason, Message: f.path.String() + " " + f.text + " (G1)."}
}
