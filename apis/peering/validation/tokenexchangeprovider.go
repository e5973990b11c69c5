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
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/validation"
)

// ValidateTokenExchangeProvider checks a TokenExchangeProvider that is to be created. Its
// name is a DNS subdomain: that of Entente's own is longer than a label may be. What its
// spec says is no fault of form, whatever it is: the condition Ready tells whether tokens
// are verified by it (G6).
func ValidateTokenExchangeProvider(provider *peering.TokenExchangeProvider) field.ErrorList {
	return validation.Authoritative(apivalidation.ValidateObjectMeta(&provider.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")))
}

// ValidateTokenExchangeProviderUpdate checks a TokenExchangeProvider that is to replace old.
func ValidateTokenExchangeProviderUpdate(provider, old *peering.TokenExchangeProvider) field.ErrorList {
	return validation.Authoritative(apivalidation.ValidateObjectMetaUpdate(&provider.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")))
}

// ValidateTokenExchangeProviderStatusUpdate checks a TokenExchangeProvider whose status is
// to replace that of old.
func ValidateTokenExchangeProviderStatusUpdate(provider, old *peering.TokenExchangeProvider) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMetaUpdate(&provider.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validation.Conditions(provider.Status.Conditions)...))
}
