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

// Package conditions is what controllers share that write one condition of a status, beside
// others who write the rest of it.
package conditions

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Since returns a condition with the time of its last transition: while its status is that
// of the one before, nil for none, that time stays (K2).
func Since(condition metav1.Condition, before *metav1.Condition) metav1.Condition {
	if before != nil && before.Status == condition.Status && !before.LastTransitionTime.IsZero() {
		condition.LastTransitionTime = before.LastTransitionTime
	}
	return condition
}

// Set has a condition among those of a status, in the place of the one of its type.
func Set(all *[]metav1.Condition, condition metav1.Condition) {
	before := meta.FindStatusCondition(*all, condition.Type)
	if before == nil {
		*all = append(*all, condition)
		return
	}
	*before = Since(condition, before)
}

// Fill sets in the apply configuration of a status, a pointer, what a status has: the fields of
// both have the same names in JSON.
func Fill(configuration, status any) error {
	data, err := json.Marshal(status)
	if err == nil {
		err = json.Unmarshal(data, configuration)
	}
	if err != nil {
		return fmt.Errorf("could not make a status to apply: %w", err)
	}
	return nil
}

// Apply returns a condition as server-side apply takes it.
func Apply(condition metav1.Condition) *metav1ac.ConditionApplyConfiguration {
	return metav1ac.Condition().
		WithType(condition.Type).
		WithStatus(condition.Status).
		WithReason(condition.Reason).
		WithMessage(condition.Message).
		WithObservedGeneration(condition.ObservedGeneration).
		WithLastTransitionTime(condition.LastTransitionTime)
}

// maxNote is how long the note of an Event may be, in bytes.
const maxNote = 1024

// Shorten cuts what a condition says to what an Event may hold.
func Shorten(note string) string {
	if len(note) <= maxNote {
		return note
	}
	const dots = "..."
	cut := maxNote - len(dots)
	for cut > 0 && note[cut]&0xC0 == 0x80 { // not within a character
		cut--
	}
	return note[:cut] + dots
}
