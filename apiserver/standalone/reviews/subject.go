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

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// newSubjectReview tells callers who they are.
func newSubjectReview() *REST[*authenticationv1.SelfSubjectReview] {
	return &REST[*authenticationv1.SelfSubjectReview]{
		singular: "selfsubjectreview",
		empty:    func() *authenticationv1.SelfSubjectReview { return &authenticationv1.SelfSubjectReview{} },
		check:    func(*authenticationv1.SelfSubjectReview) error { return nil },
		answer: func(_ context.Context, caller user.Info, _ *authenticationv1.SelfSubjectReview) *authenticationv1.SelfSubjectReview {
			return &authenticationv1.SelfSubjectReview{
				ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
				Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(caller)},
			}
		},
	}
}

func userInfo(caller user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: caller.GetName(), UID: caller.GetUID(), Groups: caller.GetGroups()}
	for key, values := range caller.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}
