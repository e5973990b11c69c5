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

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// newRulesReview tells callers all they may do in a namespace.
func newRulesReview(rules authorizer.RuleResolver) *REST[*authorizationv1.SelfSubjectRulesReview] {
	return &REST[*authorizationv1.SelfSubjectRulesReview]{
		singular: "selfsubjectrulesreview",
		empty:    func() *authorizationv1.SelfSubjectRulesReview { return &authorizationv1.SelfSubjectRulesReview{} },
		check: func(question *authorizationv1.SelfSubjectRulesReview) error {
			if question.Spec.Namespace == "" {
				return apierrors.NewBadRequest("no namespace on request")
			}
			return nil
		},
		answer: func(ctx context.Context, caller user.Info, question *authorizationv1.SelfSubjectRulesReview) *authorizationv1.SelfSubjectRulesReview {
			return &authorizationv1.SelfSubjectRulesReview{Status: rulesStatus(rules.RulesFor(ctx, caller, question.Spec.Namespace))}
		},
	}
}

func rulesStatus(resources []authorizer.ResourceRuleInfo, urls []authorizer.NonResourceRuleInfo, incomplete bool, err error) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		// Both are required: [] and not null.
		ResourceRules:    make([]authorizationv1.ResourceRule, 0, len(resources)),
		NonResourceRules: make([]authorizationv1.NonResourceRule, 0, len(urls)),
		Incomplete:       incomplete,
	}
	for _, rule := range resources {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			Verbs:         rule.GetVerbs(),
			APIGroups:     rule.GetAPIGroups(),
			Resources:     rule.GetResources(),
			ResourceNames: rule.GetResourceNames(),
		})
	}
	for _, rule := range urls {
		status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
			Verbs:           rule.GetVerbs(),
			NonResourceURLs: rule.GetNonResourceURLs(),
		})
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status
}
