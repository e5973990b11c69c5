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

package capability

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/controllers/rules"
)

// conditionFor returns the condition that a capability should have by a verdict. The time
// of its last transition is kept while its status stays (K2).
func conditionFor(capability *peeringv1alpha1.PeeringCapability, verdict rules.Verdict, now time.Time) metav1.Condition {
	return conditions.Since(metav1.Condition{
		Type:               peeringv1alpha1.ConditionValid,
		Status:             verdict.Status,
		Reason:             verdict.Reason,
		Message:            verdict.Message,
		ObservedGeneration: capability.Generation,
		LastTransitionTime: metav1.NewTime(now),
	}, meta.FindStatusCondition(capability.Status.Conditions, peeringv1alpha1.ConditionValid))
}

// says tells whether the status of a capability is as the condition has it.
func says(capability *peeringv1alpha1.PeeringCapability, condition metav1.Condition) bool {
	before := meta.FindStatusCondition(capability.Status.Conditions, peeringv1alpha1.ConditionValid)
	return before != nil && equality.Semantic.DeepEqual(*before, condition) && capability.Status.ObservedGeneration == capability.Generation
}

// isTransition tells whether the condition says something else than that of a capability,
// in other than words.
func isTransition(capability *peeringv1alpha1.PeeringCapability, condition metav1.Condition) bool {
	before := meta.FindStatusCondition(capability.Status.Conditions, peeringv1alpha1.ConditionValid)
	return before == nil || before.Status != condition.Status || before.Reason != condition.Reason
}
