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

package reviews

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateAccessReview says what is wrong with the question. It quotes selectors
// only.
func validateAccessReview(review *authorizationv1.SelfSubjectAccessReview) field.ErrorList {
	var errs field.ErrorList
	specPath := field.NewPath("spec")
	resource := review.Spec.ResourceAttributes
	if (resource == nil) == (review.Spec.NonResourceAttributes == nil) {
		errs = append(errs, field.Invalid(specPath, field.OmitValueType{}, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	if resource != nil {
		path := specPath.Child("resourceAttributes")
		errs = append(errs, validateFieldSelector(resource.FieldSelector, path.Child("fieldSelector"))...)
		errs = append(errs, validateLabelSelector(resource.LabelSelector, path.Child("labelSelector"))...)
	}
	// The server has already noted down who manages the fields.
	meta := review.ObjectMeta
	meta.ManagedFields = nil
	if !apiequality.Semantic.DeepEqual(meta, metav1.ObjectMeta{}) {
		errs = append(errs, field.Invalid(field.NewPath("metadata"), field.OmitValueType{}, "must be empty"))
	}
	return errs
}

// An operator that only a newer client knows is no fault: the requirement is
// left out.

func validateFieldSelector(selector *authorizationv1.FieldSelectorAttributes, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validateOneForm(selector.RawSelector, len(selector.Requirements), path)
	options := metav1validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
	for i, requirement := range selector.Requirements {
		errs = append(errs, metav1validation.ValidateFieldSelectorRequirement(requirement, options, path.Child("requirements").Index(i))...)
	}
	return errs
}

func validateLabelSelector(selector *authorizationv1.LabelSelectorAttributes, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validateOneForm(selector.RawSelector, len(selector.Requirements), path)
	options := metav1validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}
	for i, requirement := range selector.Requirements {
		errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(requirement, options, path.Child("requirements").Index(i))...)
	}
	return errs
}

// validateOneForm wants a selector as text or as requirements.
func validateOneForm(raw string, requirements int, path *field.Path) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not be specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), "when "+path.String()+" is specified, requirements or rawSelector is required")}
	}
	return nil
}
