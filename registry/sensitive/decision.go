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

package sensitive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// SubresourceName is the subresource on which RBAC grants the sight of sensitive
// values, and under which they can be read and written.
const SubresourceName = "sensitive"

// decisionTimeout is how long an answer waits for the authorizer at the most.
const decisionTimeout = 2 * time.Second

// Decider says whether a caller may see sensitive values.
type Decider struct {
	authorizer authorizer.UnconditionalAuthorizer
	resource   schema.GroupVersionResource
	kind       schema.GroupKind
	metrics    *Metrics
	timeout    time.Duration
	clock      clock.WithTicker
	renewals   renewals
}

// NewDecider makes a Decider for the resource of a kind. The version in resource
// is used where the request names none. metrics may be nil.
func NewDecider(a authorizer.UnconditionalAuthorizer, resource schema.GroupVersionResource, kind string, metrics *Metrics) (*Decider, error) {
	if a == nil {
		return nil, errors.New("could not make a decider: no authorizer")
	}
	return &Decider{
		authorizer: a,
		resource:   resource,
		kind:       schema.GroupKind{Group: resource.Group, Kind: kind},
		metrics:    metrics,
		timeout:    decisionTimeout,
		clock:      clock.RealClock{},
		renewals:   renewals{open: map[string]*renewal{}},
	}, nil
}

// Allowed asks the authorizer, once, whether the caller in ctx may see the
// sensitive values of the named object, or of all when name is empty, under a
// verb that says what the answer holds: get, list or watch (R1). Only an Allow
// is a yes: an error, a time-out or an absent user is a no, and adds a warning to
// the answer instead of failing it (R2). The server's own loopback client is
// refused outside the subresource, privileged though it is (R4).
func (d *Decider) Allowed(ctx context.Context, verb, name string) bool {
	attributes, err := d.attributes(ctx, verb, name)
	if err != nil {
		return d.failed(ctx, verb, err)
	}
	if ownClient(ctx, attributes) {
		return false
	}
	decision, err := d.ask(ctx, attributes)
	if decision == authorizer.DecisionAllow {
		return true
	}
	if err != nil {
		return d.failed(ctx, verb, err)
	}
	return false
}

func (d *Decider) attributes(ctx context.Context, verb, name string) (authorizer.AttributesRecord, error) {
	caller, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return authorizer.AttributesRecord{}, errors.New("no user in the request")
	}
	version := d.resource.Version
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && info.APIVersion != "" {
		version = info.APIVersion
	}
	return authorizer.AttributesRecord{
		User:            caller,
		Verb:            verb,
		Namespace:       genericapirequest.NamespaceValue(ctx),
		APIGroup:        d.resource.Group,
		APIVersion:      version,
		Resource:        d.resource.Resource,
		Subresource:     SubresourceName,
		Name:            name,
		ResourceRequest: true,
	}, nil
}

type answer struct {
	decision authorizer.Decision
	err      error
}

// ask bounds the call by time even where the authorizer does not heed ctx.
func (d *Decider) ask(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	return await(ctx, d.put(ctx, attributes))
}

// put puts the question to the authorizer. The channel yields its answer, if there
// is one, and is closed when the authorizer is through.
func (d *Decider) put(ctx context.Context, attributes authorizer.Attributes) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		defer close(answers)
		defer func() {
			if r := recover(); r != nil {
				answers <- answer{authorizer.DecisionDeny, errors.New("the authorizer panicked")}
			}
		}()
		decision, _, err := d.authorizer.Authorize(ctx, attributes)
		answers <- answer{decision, err}
	}()
	return answers
}

func await(ctx context.Context, answers <-chan answer) (authorizer.Decision, error) {
	select {
	case a, ok := <-answers:
		if !ok {
			return authorizer.DecisionDeny, errors.New("the authorizer ended without an answer")
		}
		return a.decision, a.err
	case <-ctx.Done():
		return authorizer.DecisionDeny, fmt.Errorf("could not ask the authorizer: %w", ctx.Err())
	}
}

func (d *Decider) failed(ctx context.Context, verb string, err error) bool {
	d.logFailure(ctx, verb, err)
	d.metrics.decisionFailed(d.resource.Resource, verb)
	warnOfFailure(ctx)
	return false
}

func (d *Decider) logFailure(ctx context.Context, verb string, err error) {
	klog.FromContext(ctx).Error(err, "Sensitive values are redacted: the right to see them could not be checked", "resource", d.resource.GroupResource(), "verb", verb)
}

func warnOfFailure(ctx context.Context) {
	warning.AddWarning(ctx, "", "sensitive values are left out: the right to see them could not be checked")
}

// ownClient says whether the caller is the client of the server's own controllers
// in a place where it sees nothing (R4).
func ownClient(ctx context.Context, attributes authorizer.Attributes) bool {
	return attributes.GetUser().GetName() == user.APIServerUser && !onSubresource(ctx)
}

func onSubresource(ctx context.Context) bool {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	return ok && info.Subresource == SubresourceName
}

// selectedName is the name that a field selector narrows a collection to; RBAC
// resourceNames applies to it as in the request filter.
func selectedName(selector fields.Selector) string {
	if selector == nil {
		return ""
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}
