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

// Package validation holds what the validations of all groups have in common.
package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxConditionType is the limit of a condition's type, in bytes; the library checks
// the other limits of conditions.
const maxConditionType = 316

// Conditions checks the conditions of a status.
func Conditions(conditions []metav1.Condition) field.ErrorList {
	var allErrs field.ErrorList
	path := field.NewPath("status", "conditions")
	for i, condition := range conditions {
		if len(condition.Type) > maxConditionType {
			allErrs = append(allErrs, field.TooLong(path.Index(i).Child("type"), "", maxConditionType))
		}
	}
	return append(allErrs, metav1validation.ValidateConditions(conditions, path)...)
}

// Authoritative takes back the library's word that generated code covers its rules
// for metadata and conditions too. Ours leaves both to it, and the comparison would
// log each such error as a bug.
func Authoritative(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.CoveredByDeclarative = false
	}
	return errs
}
