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
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

var somebody = &user.DefaultInfo{
	Name: "somebody", UID: "17", Groups: []string{"readers", user.AllAuthenticated}, Extra: map[string][]string{"origin": {"a", "b"}},
}

func asSomebody() context.Context {
	return genericapirequest.WithUser(context.Background(), somebody)
}

// endpoint is what every REST of this package is.
type endpoint interface {
	rest.Storage
	rest.Scoper
	rest.SingularNameProvider
	rest.Creater //nolint:misspell // the library's name
}

func create(ctx context.Context, r endpoint, question runtime.Object) (runtime.Object, error) {
	return r.Create(ctx, question, nil, &metav1.CreateOptions{})
}

// asked is an authorizer that keeps what it was asked.
type asked struct {
	attributes []authorizer.Attributes
	decision   authorizer.Decision
	reason     string
	err        error
}

func (a *asked) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a.attributes = append(a.attributes, attributes)
	return a.decision, a.reason, a.err
}

func labelRequirement(t *testing.T, key string, operator selection.Operator, values ...string) labels.Requirement {
	t.Helper()
	requirement, err := labels.NewRequirement(key, operator, values)
	require.NoError(t, err)
	return *requirement
}

// What is asked of the authorizer.
func TestAccessReviewAttributes(t *testing.T) {
	resource := func(change func(*authorizationv1.ResourceAttributes)) authorizationv1.SelfSubjectAccessReviewSpec {
		out := &authorizationv1.ResourceAttributes{Verb: "get", Group: "peering.entente.dev", Resource: "clusterpeers"}
		change(out)
		return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: out}
	}
	want := func(change func(*authorizer.AttributesRecord)) authorizer.AttributesRecord {
		out := authorizer.AttributesRecord{
			User: somebody, Verb: "get", APIGroup: "peering.entente.dev", APIVersion: "*", Resource: "clusterpeers", ResourceRequest: true,
		}
		change(&out)
		return out
	}
	for name, tc := range map[string]struct {
		spec  authorizationv1.SelfSubjectAccessReviewSpec
		want  authorizer.AttributesRecord
		fault string
	}{
		"a resource": {
			spec: resource(func(*authorizationv1.ResourceAttributes) {}),
			want: want(func(*authorizer.AttributesRecord) {}),
		},
		"all of a resource": {
			spec: resource(func(a *authorizationv1.ResourceAttributes) {
				a.Namespace, a.Version, a.Subresource, a.Name = "default", "v1alpha1", "sensitive", "peer"
			}),
			want: want(func(a *authorizer.AttributesRecord) {
				a.Namespace, a.APIVersion, a.Subresource, a.Name = "default", "v1alpha1", "sensitive", "peer"
			}),
		},
		"a URL": {
			spec: authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"}},
			want: authorizer.AttributesRecord{User: somebody, Verb: "get", Path: "/metrics"},
		},
		"selectors as text": {
			spec: resource(func(a *authorizationv1.ResourceAttributes) {
				a.FieldSelector = &authorizationv1.FieldSelectorAttributes{RawSelector: "metadata.name=peer"}
				a.LabelSelector = &authorizationv1.LabelSelectorAttributes{RawSelector: "stage in (test)"}
			}),
			want: want(func(a *authorizer.AttributesRecord) {
				a.FieldSelectorRequirements = fields.Requirements{{Field: "metadata.name", Operator: selection.Equals, Value: "peer"}}
				a.LabelSelectorRequirements = labels.Requirements{labelRequirement(t, "stage", selection.In, "test")}
			}),
		},
		"selectors as requirements": {
			spec: resource(func(a *authorizationv1.ResourceAttributes) {
				a.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
					{Key: "metadata.name", Operator: metav1.FieldSelectorOpIn, Values: []string{"peer"}},
					{Key: "metadata.namespace", Operator: metav1.FieldSelectorOpNotIn, Values: []string{"default"}},
				}}
				a.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
					{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"x", "y"}},
					{Key: "b", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"x"}},
					{Key: "c", Operator: metav1.LabelSelectorOpExists},
					{Key: "d", Operator: metav1.LabelSelectorOpDoesNotExist},
				}}
			}),
			want: want(func(a *authorizer.AttributesRecord) {
				a.FieldSelectorRequirements = fields.Requirements{
					{Field: "metadata.name", Operator: selection.Equals, Value: "peer"},
					{Field: "metadata.namespace", Operator: selection.NotEquals, Value: "default"},
				}
				a.LabelSelectorRequirements = labels.Requirements{
					labelRequirement(t, "a", selection.In, "x", "y"), labelRequirement(t, "b", selection.NotIn, "x"),
					labelRequirement(t, "c", selection.Exists), labelRequirement(t, "d", selection.DoesNotExist),
				}
			}),
		},
		"selectors that do not parse": {
			spec: resource(func(a *authorizationv1.ResourceAttributes) {
				a.FieldSelector = &authorizationv1.FieldSelectorAttributes{RawSelector: "metadata.name"}
				a.LabelSelector = &authorizationv1.LabelSelectorAttributes{RawSelector: "stage in"}
			}),
			want: want(func(*authorizer.AttributesRecord) {}),
			fault: "spec.resourceAttributes.fieldSelector ignored due to parse error; " +
				"spec.resourceAttributes.labelSelector ignored due to parse error",
		},
		"requirements not known here": {
			spec: resource(func(a *authorizationv1.ResourceAttributes) {
				a.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
					{Key: "metadata.name", Operator: metav1.FieldSelectorOpIn, Values: []string{"a", "b"}},
					{Key: "metadata.name", Operator: metav1.FieldSelectorOpExists},
				}}
				a.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
					{Key: "a", Operator: "Resembles", Values: []string{"x"}},
					{Key: "c", Operator: metav1.LabelSelectorOpExists},
				}}
			}),
			want: want(func(a *authorizer.AttributesRecord) {
				a.LabelSelectorRequirements = labels.Requirements{labelRequirement(t, "c", selection.Exists)}
			}),
			fault: "spec.resourceAttributes.fieldSelector ignored due to parse error; " +
				"spec.resourceAttributes.labelSelector partially ignored due to parse error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &asked{decision: authorizer.DecisionAllow, reason: "for a test"}
			answer, err := create(asSomebody(), newAccessReview(a), &authorizationv1.SelfSubjectAccessReview{Spec: tc.spec})
			require.NoError(t, err)
			review := answer.(*authorizationv1.SelfSubjectAccessReview)
			assert.Equal(t, tc.spec, review.Spec)
			assert.Equal(t, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "for a test", EvaluationError: tc.fault}, review.Status)

			require.Len(t, a.attributes, 1)
			got := a.attributes[0].(authorizer.AttributesRecord)
			got.FieldSelectorParsingErr, got.LabelSelectorParsingErr = nil, nil
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestAccessReviewDecisions(t *testing.T) {
	for name, tc := range map[string]struct {
		authorizer asked
		want       authorizationv1.SubjectAccessReviewStatus
	}{
		"allowed":    {asked{decision: authorizer.DecisionAllow, reason: "r"}, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "r"}},
		"denied":     {asked{decision: authorizer.DecisionDeny}, authorizationv1.SubjectAccessReviewStatus{Denied: true}},
		"no opinion": {asked{decision: authorizer.DecisionNoOpinion}, authorizationv1.SubjectAccessReviewStatus{}},
		"failed": {
			asked{decision: authorizer.DecisionNoOpinion, err: errors.New("out of order")},
			authorizationv1.SubjectAccessReviewStatus{EvaluationError: "out of order"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/"},
			}}
			// What a caller thinks the answer is does not count.
			question.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true, Reason: "x", EvaluationError: "x"}
			answer, err := create(asSomebody(), newAccessReview(&tc.authorizer), question)
			require.NoError(t, err)
			assert.Equal(t, tc.want, answer.(*authorizationv1.SelfSubjectAccessReview).Status)
		})
	}
}

func TestAccessReviewValidation(t *testing.T) {
	url := &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/secret"}
	resource := &authorizationv1.ResourceAttributes{Verb: "get", Resource: "clusterpeers"}
	withFields := func(selector authorizationv1.FieldSelectorAttributes) authorizationv1.SelfSubjectAccessReview {
		return authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{FieldSelector: &selector},
		}}
	}
	withLabels := func(selector authorizationv1.LabelSelectorAttributes) authorizationv1.SelfSubjectAccessReview {
		return authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{LabelSelector: &selector},
		}}
	}
	for name, tc := range map[string]struct {
		question authorizationv1.SelfSubjectAccessReview
		fields   []string
	}{
		"neither": {fields: []string{"spec"}},
		"both": {
			question: authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: resource, NonResourceAttributes: url},
			},
			fields: []string{"spec"},
		},
		"metadata": {
			question: authorizationv1.SelfSubjectAccessReview{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "secret"}},
				Spec:       authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: url},
			},
			fields: []string{"metadata"},
		},
		"managed fields": {
			question: authorizationv1.SelfSubjectAccessReview{
				ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
				Spec:       authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: url},
			},
		},
		"an empty field selector": {
			question: withFields(authorizationv1.FieldSelectorAttributes{}),
			fields:   []string{"spec.resourceAttributes.fieldSelector.requirements"},
		},
		"a field selector in two forms, with faults": {
			question: withFields(authorizationv1.FieldSelectorAttributes{
				RawSelector: "a=b",
				Requirements: []metav1.FieldSelectorRequirement{
					{Key: "a", Operator: "Resembles"},
					{Operator: metav1.FieldSelectorOpIn},
					{Key: "a", Operator: metav1.FieldSelectorOpExists, Values: []string{"b"}},
				},
			}),
			fields: []string{
				"spec.resourceAttributes.fieldSelector.rawSelector",
				"spec.resourceAttributes.fieldSelector.requirements[1].key",
				"spec.resourceAttributes.fieldSelector.requirements[1].values",
				"spec.resourceAttributes.fieldSelector.requirements[2].values",
			},
		},
		"an empty label selector": {
			question: withLabels(authorizationv1.LabelSelectorAttributes{}),
			fields:   []string{"spec.resourceAttributes.labelSelector.requirements"},
		},
		"a label selector in two forms, with faults": {
			question: withLabels(authorizationv1.LabelSelectorAttributes{
				RawSelector: "a=b",
				Requirements: []metav1.LabelSelectorRequirement{
					{Key: "a", Operator: "Resembles"},
					{Key: "a", Operator: metav1.LabelSelectorOpNotIn},
				},
			}),
			fields: []string{
				"spec.resourceAttributes.labelSelector.rawSelector",
				"spec.resourceAttributes.labelSelector.requirements[1].values",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := &asked{}
			_, err := create(asSomebody(), newAccessReview(a), &tc.question)
			if tc.fields == nil {
				require.NoError(t, err)
				return
			}
			assert.Empty(t, a.attributes, "an invalid question is not asked")
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			details := err.(apierrors.APIStatus).Status().Details
			assert.Equal(t, "SelfSubjectAccessReview", details.Kind)
			assert.Equal(t, "authorization.k8s.io", details.Group)
			var got []string
			for _, cause := range details.Causes {
				got = append(got, cause.Field)
			}
			assert.Equal(t, tc.fields, got)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// resolver is a RuleResolver that always says the same.
type resolver struct {
	resources  []authorizer.ResourceRuleInfo
	urls       []authorizer.NonResourceRuleInfo
	incomplete bool
	err        error
}

func (r resolver) RulesFor(_ context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if who.GetName() != somebody.Name || namespace != "default" {
		return nil, nil, false, errors.New("asked about another")
	}
	return r.resources, r.urls, r.incomplete, r.err
}

func TestRulesReview(t *testing.T) {
	for name, tc := range map[string]struct {
		rules resolver
		want  authorizationv1.SubjectRulesReviewStatus
	}{
		"none": {
			want: authorizationv1.SubjectRulesReviewStatus{
				ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{},
			},
		},
		"some, and an error": {
			rules: resolver{
				resources: []authorizer.ResourceRuleInfo{&authorizer.DefaultResourceRuleInfo{
					Verbs: []string{"get"}, APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers"}, ResourceNames: []string{"peer"},
				}},
				urls:       []authorizer.NonResourceRuleInfo{&authorizer.DefaultNonResourceRuleInfo{Verbs: []string{"get"}, NonResourceURLs: []string{"/livez"}}},
				incomplete: true,
				err:        errors.New("out of order"),
			},
			want: authorizationv1.SubjectRulesReviewStatus{
				ResourceRules: []authorizationv1.ResourceRule{{
					Verbs: []string{"get"}, APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers"}, ResourceNames: []string{"peer"},
				}},
				NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/livez"}}},
				Incomplete:       true,
				EvaluationError:  "out of order",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			question := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
			answer, err := create(asSomebody(), newRulesReview(tc.rules), question)
			require.NoError(t, err)
			assert.Equal(t, tc.want, answer.(*authorizationv1.SelfSubjectRulesReview).Status)
		})
	}
	t.Run("no namespace", func(t *testing.T) {
		_, err := create(asSomebody(), newRulesReview(resolver{}), &authorizationv1.SelfSubjectRulesReview{})
		assert.True(t, apierrors.IsBadRequest(err), "%v", err)
	})
}

func TestSubjectReview(t *testing.T) {
	question := &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "admin"}}}
	answer, err := create(asSomebody(), newSubjectReview(), question)
	require.NoError(t, err)
	review := answer.(*authenticationv1.SelfSubjectReview)
	assert.False(t, review.CreationTimestamp.IsZero())
	assert.Equal(t, authenticationv1.UserInfo{
		Username: "somebody",
		UID:      "17",
		Groups:   []string{"readers", user.AllAuthenticated},
		Extra:    map[string]authenticationv1.ExtraValue{"origin": {"a", "b"}},
	}, review.Status.UserInfo)
}

// What all three have in common.
func TestEveryReview(t *testing.T) {
	accessQuestion := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/"},
	}}
	rulesQuestion := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
	for resource, tc := range map[string]struct {
		rest     endpoint
		question runtime.Object
	}{
		"selfsubjectaccessreview": {newAccessReview(&asked{}), accessQuestion},
		"selfsubjectrulesreview":  {newRulesReview(resolver{}), rulesQuestion},
		"selfsubjectreview":       {newSubjectReview(), &authenticationv1.SelfSubjectReview{}},
	} {
		t.Run(resource, func(t *testing.T) {
			assert.IsType(t, tc.question, tc.rest.New())
			assert.False(t, tc.rest.NamespaceScoped())
			assert.Equal(t, resource, tc.rest.GetSingularName())

			_, err := create(context.Background(), tc.rest, tc.question.DeepCopyObject())
			assert.True(t, apierrors.IsBadRequest(err), "no user: %v", err)
			_, err = create(asSomebody(), tc.rest, &metav1.Status{})
			assert.True(t, apierrors.IsBadRequest(err), "another kind: %v", err)

			_, err = tc.rest.Create(asSomebody(), tc.question.DeepCopyObject(), func(_ context.Context, obj runtime.Object) error {
				assert.Equal(t, tc.question, obj)
				return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusTeapot}}
			}, &metav1.CreateOptions{})
			status := apierrors.APIStatus(nil)
			require.ErrorAs(t, err, &status)
			assert.EqualValues(t, http.StatusTeapot, status.Status().Code, "admission has its say")

			answer, err := tc.rest.Create(asSomebody(), tc.question.DeepCopyObject(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			require.NoError(t, err)
			assert.IsType(t, tc.question, answer, "a dry run answers as well")
		})
	}
}
