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
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// warnings keeps what a request was warned of.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}

func recordWarnings(ctx context.Context) (context.Context, *warnings) {
	w := &warnings{}
	return warning.WithWarningRecorder(ctx, w), w
}

func newTestDecider(t *testing.T, r *referee) (*Decider, metrics.KubeRegistry) {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	counters, err := NewMetrics("test", registry.Register)
	require.NoError(t, err)
	d, err := NewDecider(r, vaultResource, "Vault", counters)
	require.NoError(t, err)
	return d, registry
}

const failures = "test_sensitive_decision_errors_total"

// counted returns what the counter of failed decisions says, as text.
func counted(t *testing.T, registry metrics.KubeRegistry) string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var out []string
	for _, family := range families {
		if family.GetName() != failures {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			out = append(out, strings.Join(labels, ",")+"="+fmt.Sprint(metric.GetCounter().GetValue()))
		}
	}
	return strings.Join(out, " ")
}

// R1: the authorizer is asked once, for the subresource, under the verb that the
// answer calls for, in the version of the request.
func TestR1WhatTheAuthorizerIsAsked(t *testing.T) {
	caller := &user.DefaultInfo{Name: "ann", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	for name, test := range map[string]struct {
		verb, object string
		info         *genericapirequest.RequestInfo
		namespace    string
		version      string
	}{
		"get":                           {"get", "one", &genericapirequest.RequestInfo{APIVersion: "v1", Verb: "update", Name: "other"}, "", "v1"},
		"list":                          {"list", "", &genericapirequest.RequestInfo{APIVersion: "v1", Verb: "deletecollection"}, "", "v1"},
		"watch of one":                  {"watch", "one", &genericapirequest.RequestInfo{APIVersion: "v1"}, "", "v1"},
		"another version":               {"get", "one", &genericapirequest.RequestInfo{APIVersion: "v2beta1"}, "", "v2beta1"},
		"no version in the request":     {"get", "one", &genericapirequest.RequestInfo{}, "", "v1"},
		"no request info":               {"get", "one", nil, "", "v1"},
		"a namespace":                   {"get", "one", &genericapirequest.RequestInfo{APIVersion: "v1"}, "ns", "v1"},
		"on another subresource":        {"get", "one", &genericapirequest.RequestInfo{APIVersion: "v1", Subresource: "status"}, "", "v1"},
		"on the subresource":            {"get", "one", &genericapirequest.RequestInfo{APIVersion: "v1", Subresource: SubresourceName}, "", "v1"},
		"the request has another group": {"get", "one", &genericapirequest.RequestInfo{APIGroup: "x", APIVersion: "v1", Resource: "y"}, "", "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &referee{}
			d, _ := newTestDecider(t, r)
			ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), test.namespace), caller)
			if test.info != nil {
				ctx = genericapirequest.WithRequestInfo(ctx, test.info)
			}
			assert.False(t, d.Allowed(ctx, test.verb, test.object))
			assert.Equal(t, []authorizer.AttributesRecord{{
				User: caller, Verb: test.verb, Namespace: test.namespace, APIGroup: "vault.test", APIVersion: test.version,
				Resource: "vaults", Subresource: "sensitive", Name: test.object, ResourceRequest: true,
			}}, r.calls())
		})
	}
}

// R2: only an Allow is a yes, and a decision that cannot be made is a no with a
// warning and a count.
func TestR2OnlyAllowReveals(t *testing.T) {
	failed := errors.New("the webhook at https://internal:8443 is away")
	for name, test := range map[string]struct {
		says    func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error)
		allowed bool
		failed  bool
	}{
		"allow":                    {says(authorizer.DecisionAllow, nil), true, false},
		"deny":                     {says(authorizer.DecisionDeny, nil), false, false},
		"no opinion":               {says(authorizer.DecisionNoOpinion, nil), false, false},
		"no opinion with an error": {says(authorizer.DecisionNoOpinion, failed), false, true},
		"deny with an error":       {says(authorizer.DecisionDeny, failed), false, true},
		"a decision of no meaning": {says(authorizer.Decision(42), nil), false, false},
		"a panic":                  {func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) { panic("oops") }, false, true},
		"a goroutine that is gone": {func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			runtime.Goexit()
			return authorizer.DecisionAllow, "", nil
		}, false, true},
		"an authorizer that is cut": {func(ctx context.Context, _ authorizer.Attributes) (authorizer.Decision, string, error) {
			<-ctx.Done()
			return authorizer.DecisionDeny, "", ctx.Err()
		}, false, true},
		// As in the library's own filter: several authorizers are asked in turn, and
		// the error is of another one than the one that allows.
		"allow with an error": {says(authorizer.DecisionAllow, failed), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &referee{says: test.says}
			d, registry := newTestDecider(t, r)
			d.timeout = 50 * time.Millisecond
			ctx, warned := recordWarnings(requestContext("ann", ""))
			assert.Equal(t, test.allowed, d.Allowed(ctx, "list", "one"))
			assert.Len(t, r.calls(), 1, "R1")
			if !test.failed {
				assert.Empty(t, warned.all())
				assert.Empty(t, counted(t, registry))
				return
			}
			require.Len(t, warned.all(), 1)
			assert.NotContains(t, warned.all()[0], "internal", "the caller is not told about the inside")
			assert.Equal(t, "resource=vaults,verb=list=1", counted(t, registry))
			d.Allowed(ctx, "list", "one")
			assert.Equal(t, "resource=vaults,verb=list=2", counted(t, registry))
		})
	}
}

func says(decision authorizer.Decision, err error) func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return decision, "", err
	}
}

// R2: an authorizer that heeds no context holds the answer up no longer than the
// limit, and its goroutine ends when it does.
func TestR2AuthorizerThatHangs(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	release := make(chan struct{})
	r := &referee{says: func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		<-release
		return authorizer.DecisionAllow, "", nil
	}}
	d, registry := newTestDecider(t, r)
	assert.Equal(t, 2*time.Second, d.timeout, "R2: the limit of the rule")
	d.timeout = 20 * time.Millisecond
	ctx, warned := recordWarnings(requestContext("ann", ""))
	start := time.Now()
	assert.False(t, d.Allowed(ctx, "get", "one"))
	assert.GreaterOrEqual(t, time.Since(start), d.timeout)
	assert.Len(t, warned.all(), 1)
	assert.Equal(t, "resource=vaults,verb=get=1", counted(t, registry))
	close(release)
}

// R2: so it is when the caller goes away meanwhile.
func TestR2CallerGoesAway(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	ctx, cancel := context.WithCancel(requestContext("ann", ""))
	r := &referee{says: func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		cancel()
		<-release
		return authorizer.DecisionAllow, "", nil
	}}
	d, _ := newTestDecider(t, r)
	assert.False(t, d.Allowed(ctx, "get", "one"))
}

// R2: nobody in the context may see nothing, and no authorizer is asked about
// nobody.
func TestR2NoUser(t *testing.T) {
	r := &referee{says: says(authorizer.DecisionAllow, nil)}
	d, registry := newTestDecider(t, r)
	ctx, warned := recordWarnings(requestContext("", ""))
	assert.False(t, d.Allowed(ctx, "get", "one"))
	assert.Empty(t, r.calls())
	assert.Len(t, warned.all(), 1)
	assert.Equal(t, "resource=vaults,verb=get=1", counted(t, registry))
}

// R4: nobody is exempt by name: who is privileged is asked about as everybody.
// The loopback client of the server's own controllers is the one exception, the
// other way round.
func TestR4Exemptions(t *testing.T) {
	privileged := []string{user.SystemPrivilegedGroup}
	for name, test := range map[string]struct {
		user        user.DefaultInfo
		subresource string
		allowed     bool
		asked       int
	}{
		"a privileged user":              {user.DefaultInfo{Name: "root", Groups: privileged}, "", true, 1},
		"the loopback client":            {user.DefaultInfo{Name: user.APIServerUser, Groups: privileged}, "", false, 0},
		"the loopback client, status":    {user.DefaultInfo{Name: user.APIServerUser, Groups: privileged}, "status", false, 0},
		"the loopback client, elsewhere": {user.DefaultInfo{Name: user.APIServerUser, Groups: privileged}, "sensitive/x", false, 0},
		"the loopback client, on it":     {user.DefaultInfo{Name: user.APIServerUser, Groups: privileged}, SubresourceName, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &referee{says: says(authorizer.DecisionAllow, nil)}
			d, _ := newTestDecider(t, r)
			ctx := genericapirequest.WithUser(t.Context(), &test.user)
			ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIVersion: "v1", Subresource: test.subresource})
			ctx, warned := recordWarnings(ctx)
			assert.Equal(t, test.allowed, d.Allowed(ctx, "get", "one"))
			assert.Len(t, r.calls(), test.asked)
			assert.Empty(t, warned.all(), "a refusal is no failure")
		})
	}
	t.Run("the loopback client without request info", func(t *testing.T) {
		r := &referee{says: says(authorizer.DecisionAllow, nil)}
		d, _ := newTestDecider(t, r)
		assert.False(t, d.Allowed(genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: user.APIServerUser}), "get", "one"))
	})
}

// R15: a failed decision is logged without the object that it was about.
func TestR15FailedDecisionIsLogged(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(10)))
	d, _ := newTestDecider(t, &referee{says: says(authorizer.DecisionNoOpinion, errors.New("away"))})
	d.Allowed(klog.NewContext(requestContext("ann", ""), logger), "get", "one")
	log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	assert.Contains(t, log, "away")
	assert.Contains(t, log, `verb="get"`)
	assertNoCanary(t, log)
}

// Two servers in a process count together.
func TestMetricsAreRegisteredOnce(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	for range 2 {
		counters, err := NewMetrics("test", registry.Register)
		require.NoError(t, err)
		counters.decisionFailed("vaults", "get")
	}
	assert.Equal(t, "resource=vaults,verb=get=2", counted(t, registry))
	_, err := NewMetrics("test", func(metrics.Registerable) error { return errors.New("no") })
	assert.Error(t, err)
}

// A server without metrics has none, and decides all the same.
func TestDeciderWithoutMetrics(t *testing.T) {
	d, err := NewDecider(&referee{says: says(authorizer.DecisionDeny, errors.New("away"))}, vaultResource, "Vault", nil)
	require.NoError(t, err)
	assert.False(t, d.Allowed(requestContext("ann", ""), "get", "one"))
}

// A decider that could not decide is not made.
func TestNewDeciderWithoutAuthorizer(t *testing.T) {
	_, err := NewDecider(nil, schema.GroupVersionResource{}, "Vault", nil)
	assert.Error(t, err)
}

// R1: the name of a collection is the one that its selector demands.
func TestR1SelectedName(t *testing.T) {
	for selector, want := range map[string]string{
		"":                                       "",
		"metadata.name=one":                      "one",
		"metadata.name==one":                     "one",
		"metadata.name!=one":                     "",
		"metadata.namespace=one":                 "",
		"metadata.namespace=a,metadata.name=one": "one",
	} {
		parsed, err := fields.ParseSelector(selector)
		require.NoError(t, err)
		assert.Equal(t, want, selectedName(parsed), selector)
	}
	assert.Empty(t, selectedName(nil))
	assert.Empty(t, listedName(nil))
	assert.Empty(t, selectedName(fields.Nothing()))
}
