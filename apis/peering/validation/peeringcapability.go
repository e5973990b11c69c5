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
	"regexp"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/validation"
)

// ValidatePeeringCapability checks a PeeringCapability that is to be created. It reports
// every fault of form at once. Rules that are well-formed and not granted, such as
// wildcards, are no fault here: the condition Valid says so (G1).
func ValidatePeeringCapability(capability *peering.PeeringCapability) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMeta(&capability.ObjectMeta, false, apivalidation.NameIsDNSLabel, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validateVersion(capability.Spec.Version)...))
}

// ValidatePeeringCapabilityUpdate checks a PeeringCapability that is to replace old.
func ValidatePeeringCapabilityUpdate(capability, old *peering.PeeringCapability) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMetaUpdate(&capability.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validateVersion(capability.Spec.Version)...))
}

// ValidatePeeringCapabilityStatusUpdate checks a PeeringCapability whose status is to
// replace that of old.
func ValidatePeeringCapabilityStatusUpdate(capability, old *peering.PeeringCapability) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMetaUpdate(&capability.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validation.Conditions(capability.Status.Conditions)...))
}

// transferable are the characters that another cluster takes in an offer (P11).
var transferable = regexp.MustCompile(`^[A-Za-z0-9._+:/-]*$`)

// validateVersion checks the characters of a version: with others the other cluster would
// refuse the whole offer. That there is a version is declared on the type.
func validateVersion(version string) field.ErrorList {
	if transferable.MatchString(version) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "version"), version, "must consist of letters, digits and ._+:/-")}
}
