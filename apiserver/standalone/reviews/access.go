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
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// newAccessReview tells callers whether they may do one thing.
func newAccessReview(a authorizer.UnconditionalAuthorizer) *REST[*authorizationv1.SelfSubjectAccessReview] {
	return &REST[*authorizationv1.SelfSubjectAccessReview]{
		singular: "selfsubjectaccessreview",
		empty:    func() *authorizationv1.SelfSubjectAccessReview { return &authorizationv1.SelfSubjectAccessReview{} },
		check: func(question *authorizationv1.SelfSubjectAccessReview) error {
			if errs := validateAccessReview(question); len(errs) > 0 {
				kind := authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview").GroupKind()
				return apierrors.NewInvalid(kind, "", errs)
			}
			return nil
		},
		answer: func(ctx context.Context, caller user.Info, review *authorizationv1.SelfSubjectAccessReview) *authorizationv1.SelfSubjectAccessReview {
			attributes := attributesOf(caller, &review.Spec)
			decision, reason, err := a.Authorize(ctx, attributes)
			review.Status = authorizationv1.SubjectAccessReviewStatus{
				Allowed:         decision == authorizer.DecisionAllow,
				Denied:          decision == authorizer.DecisionDeny,
				Reason:          reason,
				EvaluationError: evaluationError(err, attributes),
			}
			return review
		},
	}
}

// evaluationError says why the decision may be another than a question without
// faults would get. A selector that does not parse is one: it is left out, so
// that the question is about more objects than the caller meant.
func evaluationError(err error, attributes authorizer.AttributesRecord) string {
	var faults []string
	if err != nil {
		faults = append(faults, err.Error())
	}
	ignored := func(name string, left int, err error) {
		switch {
		case err == nil:
		case left > 0:
			faults = append(faults, "spec.resourceAttributes."+name+" partially ignored due to parse error")
		default:
			faults = append(faults, "spec.resourceAttributes."+name+" ignored due to parse error")
		}
	}
	ignored("fieldSelector", len(attributes.FieldSelectorRequirements), attributes.FieldSelectorParsingErr)
	ignored("labelSelector", len(attributes.LabelSelectorRequirements), attributes.LabelSelectorParsingErr)
	return strings.Join(faults, "; ")
}
