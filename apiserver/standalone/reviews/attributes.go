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
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// attributesOf describes the request that the caller asks about, by a valid spec.
func attributesOf(caller user.Info, spec *authorizationv1.SelfSubjectAccessReviewSpec) authorizer.AttributesRecord {
	if url := spec.NonResourceAttributes; url != nil {
		return authorizer.AttributesRecord{User: caller, Verb: url.Verb, Path: url.Path}
	}
	in := spec.ResourceAttributes
	out := authorizer.AttributesRecord{
		User:            caller,
		Verb:            in.Verb,
		Namespace:       in.Namespace,
		APIGroup:        in.Group,
		APIVersion:      in.Version,
		Resource:        in.Resource,
		Subresource:     in.Subresource,
		Name:            in.Name,
		ResourceRequest: true,
	}
	if out.APIVersion == "" {
		out.APIVersion = "*"
	}
	out.FieldSelectorRequirements, out.FieldSelectorParsingErr = fieldRequirements(in.FieldSelector)
	out.LabelSelectorRequirements, out.LabelSelectorParsingErr = labelRequirements(in.LabelSelector)
	return out
}

// fieldRequirements are those that can be understood, and an error for the rest.
// Requirements add up, so leaving some out asks for more, never for less.
func fieldRequirements(selector *authorizationv1.FieldSelectorAttributes) (fields.Requirements, error) {
	if selector == nil {
		return nil, nil
	}
	if selector.RawSelector != "" {
		parsed, err := fields.ParseSelector(selector.RawSelector)
		if err != nil {
			return nil, err
		}
		return parsed.Requirements(), nil
	}
	// A field selector compares with one value, written as = or !=.
	operators := map[metav1.FieldSelectorOperator]selection.Operator{
		metav1.FieldSelectorOpIn:    selection.Equals,
		metav1.FieldSelectorOpNotIn: selection.NotEquals,
	}
	var (
		out  fields.Requirements
		errs []error
	)
	for _, in := range selector.Requirements {
		operator, ok := operators[in.Operator]
		if !ok || len(in.Values) != 1 {
			errs = append(errs, fmt.Errorf("operator %q with %d values is not supported", in.Operator, len(in.Values)))
			continue
		}
		out = append(out, fields.Requirement{Field: in.Key, Operator: operator, Value: in.Values[0]})
	}
	return out, errors.Join(errs...)
}

// labelRequirements is fieldRequirements for labels.
func labelRequirements(selector *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if selector == nil {
		return nil, nil
	}
	if selector.RawSelector != "" {
		return labels.ParseToRequirements(selector.RawSelector)
	}
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn:           selection.In,
		metav1.LabelSelectorOpNotIn:        selection.NotIn,
		metav1.LabelSelectorOpExists:       selection.Exists,
		metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	var (
		out  labels.Requirements
		errs []error
	)
	for _, in := range selector.Requirements {
		operator, ok := operators[in.Operator]
		if !ok {
			errs = append(errs, fmt.Errorf("operator %q is not supported", in.Operator))
			continue
		}
		requirement, err := labels.NewRequirement(in.Key, operator, in.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, *requirement)
	}
	return out, errors.Join(errs...)
}
