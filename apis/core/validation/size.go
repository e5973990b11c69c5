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
	"math"
	"unicode/utf8"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/validation"
)

// Limits of the parts of both kinds. An object that is larger than what etcd takes in a request,
// 1.5 MiB, can neither be written nor deleted. So what one may write must leave room for what
// others may: with those of a spec and of a status, and the 128 KiB of who manages which
// fields (strategy.MaxManagedFieldsBytes), these limits come to less in sum. They are on JSON,
// in which some characters take six bytes.
const (
	// MaxObjectMetaBytes is that of metadata, without managedFields.
	MaxObjectMetaBytes = 288 << 10
	// MaxConditions and MaxConditionsBytes are those of status.conditions: entries, and what
	// they come to.
	MaxConditions      = 16
	MaxConditionsBytes = 64 << 10
)

// sizeOf is how many bytes a value takes where it is stored, or somewhat more: the types of
// this package's objects leave nothing out that is empty.
func sizeOf(value any) int {
	encoded, err := json.Marshal(value)
	if err != nil {
		return math.MaxInt // it cannot be stored
	}
	return len(encoded)
}

// validateObjectMeta checks metadata, if it is not too large: the library bounds neither labels,
// owners and finalizers, nor what annotations come to. What is stored already may shrink,
// whatever it is, so that a finalizer can always be taken away. old is nil on a create.
func validateObjectMeta(meta, old *metav1.ObjectMeta) field.ErrorList {
	path := field.NewPath("metadata")
	if size := objectMetaSize(meta); size > MaxObjectMetaBytes && (old == nil || size > objectMetaSize(old)) {
		return field.ErrorList{field.TooLong(path, "", MaxObjectMetaBytes)}
	}
	if old == nil {
		return apivalidation.ValidateObjectMeta(meta, true, apivalidation.NameIsDNSSubdomain, path)
	}
	return apivalidation.ValidateObjectMetaUpdate(meta, old, path)
}

func objectMetaSize(meta *metav1.ObjectMeta) int {
	bare := *meta
	bare.ManagedFields = nil
	return sizeOf(bare)
}

// validateConditions checks conditions, if they are not too many.
func validateConditions(conditions []metav1.Condition, path *field.Path) field.ErrorList {
	if allErrs := validateList(conditions, MaxConditions, MaxConditionsBytes, path); len(allErrs) > 0 {
		return allErrs
	}
	return validation.Conditions(conditions)
}

// validateList checks how many entries a list has, and what they come to.
func validateList[E any](list []E, entries, bytes int, path *field.Path) field.ErrorList {
	switch {
	case len(list) > entries:
		return field.ErrorList{field.TooMany(path, len(list), entries)}
	case sizeOf(list) > bytes:
		return field.ErrorList{field.TooLong(path, "", bytes)}
	}
	return nil
}

// validateLength checks how many characters a text has.
func validateLength(text string, characters int, path *field.Path) field.ErrorList {
	if utf8.RuneCountInString(text) > characters {
		return field.ErrorList{field.TooLongCharacters(path, "", characters)}
	}
	return nil
}
