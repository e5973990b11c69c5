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

package localrbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// Options configure an Authorizer. Only Dir is required.
type Options struct {
	// Dir is the folder of the manifests. It must exist.
	Dir string
	// PollInterval is the time between two looks at the folder, for where the
	// system does not tell of changes. Default 5 seconds.
	PollInterval time.Duration
	// SettleTime is how long the folder has to stay the same before a change
	// counts, so that half a file is never taken for a whole one. Default 200
	// milliseconds; after ten changes in a row the folder counts as it is.
	SettleTime time.Duration
	// Clock drives polling and settling. Default: the real one.
	Clock clock.WithTicker

	// pollOnly leaves the system's notifications out, for tests.
	pollOnly bool
}

// Problem is something about the manifests that grants less than its author
// meant.
type Problem struct {
	// File is the name of the file within the folder; empty if the problem is
	// the folder itself.
	File string
	// Message says what is wrong and what follows from it.
	Message string
}

// Authorizer allows what the manifests grant, and has no opinion on anything
// else. Requests read an immutable snapshot and take no lock.
type Authorizer struct {
	options Options
	current atomic.Pointer[snapshot]
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// New reads the manifests once; Run follows their changes. A folder that cannot
// be read is an error, and so is a folder or a manifest that its group or others
// may write (the error wraps datadir.ErrInsecure). Other faults of a manifest
// are logged and are among the Problems.
func New(ctx context.Context, options Options) (*Authorizer, error) {
	if options.PollInterval == 0 {
		options.PollInterval = 5 * time.Second
	}
	if options.SettleTime == 0 {
		options.SettleTime = 200 * time.Millisecond
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	found := readFolder(options.Dir)
	if found.err != nil {
		return nil, fmt.Errorf("could not read the RBAC manifests: %w", found.err)
	}
	for _, file := range found.files {
		if errors.Is(file.err, datadir.ErrInsecure) {
			return nil, fmt.Errorf("could not read the RBAC manifests: %w", file.err)
		}
	}
	a := &Authorizer{options: options}
	a.current.Store(&snapshot{})
	if err := a.apply(klog.FromContext(ctx), found); err != nil {
		return nil, err
	}
	return a, nil
}

// Problems are the faults of the manifests as they count now, ordered by file.
func (a *Authorizer) Problems() []Problem {
	return slices.Clone(a.current.Load().problems)
}

// Authorize implements authorizer.Authorizer. It never fails.
func (a *Authorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	now := a.current.Load()
	who := attributes.GetUser()
	if who == nil {
		return authorizer.DecisionNoOpinion, "no user", nil
	}
	requested, namespace := requestedRule(attributes)
	for grant := range now.grants(who, namespace) {
		rules := grant.rules.urls
		if attributes.IsResourceRequest() {
			rules = grant.rules.resources
		}
		if len(rules) == 0 {
			continue
		}
		if covered, _ := validation.Covers(rules, requested[:]); covered {
			return authorizer.DecisionAllow, grant.reason, nil
		}
	}
	if len(now.problems) > 0 {
		return authorizer.DecisionNoOpinion, "not all RBAC manifests count, the server's log says why", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// requestedRule is the rule that grants exactly this request, and the namespace
// whose bindings count for it. Every list of the rule that is used has exactly
// one element: validation.Covers takes a rule without a verb or a resource for
// one that asks for nothing.
func requestedRule(attributes authorizer.Attributes) ([1]rbacv1.PolicyRule, string) {
	rule := rbacv1.PolicyRule{Verbs: []string{attributes.GetVerb()}}
	if !attributes.IsResourceRequest() {
		rule.NonResourceURLs = []string{attributes.GetPath()}
		return [1]rbacv1.PolicyRule{rule}, ""
	}
	resource := attributes.GetResource()
	if subresource := attributes.GetSubresource(); subresource != "" {
		resource += "/" + subresource
	}
	rule.APIGroups = []string{attributes.GetAPIGroup()}
	rule.Resources = []string{resource}
	if name := attributes.GetName(); name != "" {
		rule.ResourceNames = []string{name}
	}
	return [1]rbacv1.PolicyRule{rule}, attributes.GetNamespace()
}

// ConditionsAwareAuthorize implements authorizer.Authorizer; there are no
// conditions here.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// EvaluateConditions implements authorizer.Authorizer; it denies.
func (a *Authorizer) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor implements authorizer.RuleResolver: the rules of the user in all
// namespaces and in this one. The list is always complete.
func (a *Authorizer) RulesFor(_ context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	var (
		resources []authorizer.ResourceRuleInfo
		urls      []authorizer.NonResourceRuleInfo
	)
	for grant := range a.current.Load().grants(who, namespace) {
		for _, rule := range grant.rules.resources {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs:         slices.Clone(rule.Verbs),
				APIGroups:     slices.Clone(rule.APIGroups),
				Resources:     slices.Clone(rule.Resources),
				ResourceNames: slices.Clone(rule.ResourceNames),
			})
		}
		for _, rule := range grant.rules.urls {
			urls = append(urls, &authorizer.DefaultNonResourceRuleInfo{
				Verbs:           slices.Clone(rule.Verbs),
				NonResourceURLs: slices.Clone(rule.NonResourceURLs),
			})
		}
	}
	return resources, urls, false, nil
}
