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
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"
)

// follower is a decider with a clock that the test moves, and an authorizer whose
// answer the test sets.
type follower struct {
	*Decider
	*referee
	clock    *clocktesting.FakeClock
	registry metrics.KubeRegistry

	mu       sync.Mutex
	decision authorizer.Decision
	err      error
	total    atomic.Int32
}

func newFollower(t *testing.T) *follower {
	t.Helper()
	f := &follower{referee: &referee{}, clock: clocktesting.NewFakeClock(time.Now()), decision: authorizer.DecisionAllow}
	f.says = func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		f.total.Add(1)
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.decision, "", f.err
	}
	f.Decider, f.registry = newTestDecider(t, f.referee)
	f.Decider.clock = f.clock
	t.Cleanup(func() { assert.Empty(t, f.renewals.open, "a renewal outlives its watches") })
	return f
}

func (f *follower) answers(decision authorizer.Decision, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decision, f.err = decision, err
}

// renewed lets the time of a renewal pass, and waits for the end of the rounds of
// all renewals.
func (f *follower) renewed(t *testing.T) {
	t.Helper()
	f.renewals.mu.Lock()
	keys := len(f.renewals.open)
	f.renewals.mu.Unlock()
	before := f.total.Load()
	want := before + int32(keys)
	require.Eventually(t, func() bool { return f.clock.Waiters() >= keys }, time.Minute, time.Millisecond)
	f.clock.Step(renewInterval - time.Millisecond)
	assert.Equal(t, before, f.total.Load(), "R3: not yet")
	f.clock.Step(time.Millisecond)
	require.Eventually(t, func() bool {
		f.renewals.mu.Lock()
		defer f.renewals.mu.Unlock()
		for _, r := range f.renewals.open {
			if r.round != nil {
				return false
			}
		}
		return f.total.Load() >= want
	}, time.Minute, time.Millisecond)
	assert.Equal(t, want, f.total.Load(), "R3: one call a key and 5 seconds")
}

// R3: an open watch loses and gains the right, within the interval of the renewal
// and no authorizer call before.
func TestR3RightChanges(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	assert.Equal(t, 5*time.Second, renewInterval, "R3: the interval of the rule")
	away := errors.New("away")
	f := newFollower(t)
	allowed, end := f.follow(requestContext("ann", ""), "watch", "")
	defer end()
	assert.True(t, allowed())
	for _, step := range []struct {
		decision authorizer.Decision
		err      error
		want     bool
		failures int
	}{
		{authorizer.DecisionAllow, nil, true, 0},
		{authorizer.DecisionDeny, nil, false, 0},
		{authorizer.DecisionAllow, nil, true, 0},
		{authorizer.DecisionNoOpinion, nil, false, 0},
		{authorizer.DecisionAllow, away, true, 0},
		{authorizer.DecisionNoOpinion, away, false, 1},
		{authorizer.DecisionDeny, away, false, 2},
		{authorizer.DecisionAllow, nil, true, 2},
		{authorizer.Decision(42), nil, false, 2},
	} {
		f.answers(step.decision, step.err)
		f.renewed(t)
		assert.Equal(t, step.want, allowed(), "%v %v", step.decision, step.err)
		want := ""
		if step.failures > 0 {
			want = fmt.Sprintf("resource=vaults,verb=watch=%d", step.failures)
		}
		assert.Equal(t, want, counted(t, f.registry), "R2")
	}
}

// R3: however many watches of a user there are and begin, and however many events
// come, the authorizer is asked once in 5 seconds.
func TestR3DecisionIsShared(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const watches = 1000
	f := newFollower(t)
	f.answers(authorizer.DecisionDeny, nil)
	var group sync.WaitGroup
	allowed, ends := make([]func() bool, watches), make([]func(), watches)
	for i := range watches {
		group.Go(func() { allowed[i], ends[i] = f.follow(requestContext("ann", ""), "watch", "") })
	}
	group.Wait()
	assert.EqualValues(t, 1, f.total.Load())
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	assert.Equal(t, 1, strings.Count(string(stacks), "(*Decider).renew("), "one goroutine a key")
	require.Len(t, f.renewals.open, 1)

	f.answers(authorizer.DecisionAllow, nil)
	f.renewed(t)
	assert.EqualValues(t, 2, f.total.Load())
	for range 100 {
		for i := range watches {
			require.True(t, allowed[i]())
		}
	}
	assert.EqualValues(t, 2, f.total.Load(), "R3: nothing an event")
	assert.Zero(t, testing.AllocsPerRun(100, func() { allowed[0]() }))

	for i := range watches - 1 {
		group.Go(ends[i])
	}
	group.Wait()
	for i := range watches - 1 {
		ends[i]() // twice is once
	}
	require.Len(t, f.renewals.open, 1)
	f.renewed(t)
	assert.EqualValues(t, 3, f.total.Load(), "the last one is still followed")
	ends[watches-1]()
	assert.Empty(t, f.renewals.open)
	f.clock.Step(10 * renewInterval)

	_, end := f.follow(requestContext("ann", ""), "watch", "")
	defer end()
	assert.EqualValues(t, 4, f.total.Load(), "a decision that nobody renewed is not used")
}

// R3: watches share a decision if, and only if, the authorizer is asked the same.
func TestR3WhatIsShared(t *testing.T) {
	base := user.DefaultInfo{Name: "ann", UID: "1", Groups: []string{"a", "b"}, Extra: map[string][]string{"k": {"v", "w"}, "l": {"x"}, "m": {"y"}}}
	change := func(change func(*user.DefaultInfo)) *user.DefaultInfo {
		u := base
		u.Groups, u.Extra = slices.Clone(base.Groups), maps.Clone(base.Extra)
		change(&u)
		return &u
	}
	type asked struct {
		user                     *user.DefaultInfo
		version, namespace, name string
	}
	first := asked{&base, "v1", "", ""}
	for name, test := range map[string]struct {
		second asked
		shared bool
	}{
		"the same":               {first, true},
		"groups in other order":  {asked{change(func(u *user.DefaultInfo) { u.Groups = []string{"b", "a"} }), "v1", "", ""}, true},
		"a group twice":          {asked{change(func(u *user.DefaultInfo) { u.Groups = []string{"a", "b", "a"} }), "v1", "", ""}, true},
		"extra made in an order": {asked{change(func(u *user.DefaultInfo) { u.Extra = map[string][]string{"m": {"y"}, "l": {"x"}, "k": {"v", "w"}} }), "v1", "", ""}, true},
		"another user":           {asked{change(func(u *user.DefaultInfo) { u.Name = "bob" }), "v1", "", ""}, false},
		"no UID":                 {asked{change(func(u *user.DefaultInfo) { u.UID = "" }), "v1", "", ""}, false},
		"a group less":           {asked{change(func(u *user.DefaultInfo) { u.Groups = []string{"a"} }), "v1", "", ""}, false},
		"groups that look alike": {asked{change(func(u *user.DefaultInfo) { u.Groups = []string{`a" "b`} }), "v1", "", ""}, false},
		"extra of other values":  {asked{change(func(u *user.DefaultInfo) { u.Extra["k"] = []string{"w", "v"} }), "v1", "", ""}, false},
		"extra less":             {asked{change(func(u *user.DefaultInfo) { delete(u.Extra, "m") }), "v1", "", ""}, false},
		"no extra":               {asked{change(func(u *user.DefaultInfo) { u.Extra = nil }), "v1", "", ""}, false},
		"another version":        {asked{&base, "v2", "", ""}, false},
		"another namespace":      {asked{&base, "v1", "x", ""}, false},
		"one object":             {asked{&base, "v1", "", "one"}, false},
		"bytes that are no text": {asked{change(func(u *user.DefaultInfo) { u.Name = "ann\xff" }), "v1", "", ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			f := newFollower(t)
			var ends []func()
			defer func() {
				for _, end := range ends {
					end()
				}
			}()
			for _, a := range []asked{first, test.second} {
				ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), a.namespace), a.user)
				ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{APIVersion: a.version})
				_, end := f.follow(ctx, "watch", a.name)
				ends = append(ends, end)
			}
			calls := f.calls()
			if test.shared {
				assert.Len(t, calls, 1)
				return
			}
			require.Len(t, calls, 2)
			last := calls[1]
			assert.Equal(t, authorizer.AttributesRecord{
				User: test.second.user, Verb: "watch", Namespace: test.second.namespace, APIGroup: "vault.test", APIVersion: test.second.version,
				Resource: "vaults", Subresource: "sensitive", Name: test.second.name, ResourceRequest: true,
			}, last)
		})
	}
	a := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "ann\xff"}}
	b := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: `ann\xff`}}
	assert.NotEqual(t, renewalKey(a), renewalKey(b))
}

// R3: whoever opens a watch while the decision is renewed waits for it: the one
// before is 5 seconds old.
func TestR3WatchBeginsWithANewDecision(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f := newFollower(t)
	_, end := f.follow(requestContext("ann", ""), "watch", "")
	defer end()
	asked, release := make(chan struct{}), make(chan struct{})
	f.says = func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		close(asked)
		<-release
		return authorizer.DecisionDeny, "", nil
	}
	f.clock.Step(renewInterval)
	<-asked
	began := make(chan bool)
	go func() {
		allowed, end := f.follow(requestContext("ann", ""), "watch", "")
		first := allowed()
		end() // before the answer: the test looks for watches left open when it has it
		began <- first
	}()
	require.Eventually(t, func() bool {
		f.renewals.mu.Lock()
		defer f.renewals.mu.Unlock()
		for _, r := range f.renewals.open {
			return r.watches == 2
		}
		return false
	}, time.Minute, time.Millisecond)
	select {
	case <-began:
		t.Error("it did not wait")
	default:
	}
	close(release)
	assert.False(t, <-began)

	t.Run("unless the caller goes away", func(t *testing.T) {
		f := newFollower(t)
		release := make(chan struct{})
		f.says = func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			<-release
			return authorizer.DecisionAllow, "", nil
		}
		ctx, cancel := context.WithCancel(requestContext("ann", ""))
		cancel()
		allowed, end := f.follow(ctx, "watch", "")
		assert.False(t, allowed())
		end()
		close(release)
		assert.Empty(t, counted(t, f.registry), "a watch that ended has not failed")
	})
}

// R2, R3: an authorizer that hangs leaves the watch redacted, and is not asked again
// until it has answered: questions do not pile up.
func TestR3AuthorizerThatHangs(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f := newFollower(t)
	f.timeout = 10 * time.Millisecond
	release := make(chan struct{})
	asked := atomic.Int32{}
	f.says = func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		if asked.Add(1) == 1 {
			<-release
		}
		return authorizer.DecisionAllow, "", nil
	}
	ctx, warned := recordWarnings(requestContext("ann", ""))
	allowed, end := f.follow(ctx, "watch", "")
	defer end()
	assert.False(t, allowed())
	assert.Len(t, warned.all(), 1, "R2: at its start a watch is warned")
	failures := func() string { return counted(t, f.registry) }
	assert.Equal(t, "resource=vaults,verb=watch=1", failures())
	for i := range 3 {
		require.Eventually(t, f.clock.HasWaiters, time.Minute, time.Millisecond)
		f.clock.Step(renewInterval)
		require.Eventually(t, func() bool { return failures() == fmt.Sprintf("resource=vaults,verb=watch=%d", i+2) }, time.Minute, time.Millisecond)
		assert.EqualValues(t, 1, asked.Load())
	}
	assert.False(t, allowed())
	again, warnedAgain := recordWarnings(requestContext("ann", ""))
	_, endAgain := f.follow(again, "watch", "")
	defer endAgain()
	assert.Len(t, warnedAgain.all(), 1, "R2: and so is one that joins")
	close(release) // what it says now was asked too long ago
	require.Eventually(t, func() bool {
		f.clock.Step(renewInterval)
		return allowed()
	}, time.Minute, time.Millisecond, "it answers again")
	assert.GreaterOrEqual(t, asked.Load(), int32(2))
}

// R2, R3: an authorizer that panics, or ends without a word, is a no.
func TestR3AuthorizerThatBreaks(t *testing.T) {
	for name, says := range map[string]func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error){
		"panic": func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) { panic("oops") },
		"goexit": func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			runtime.Goexit()
			return 0, "", nil
		},
		"its own": func(ctx context.Context, _ authorizer.Attributes) (authorizer.Decision, string, error) {
			<-ctx.Done()
			return 0, "", ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			f := newFollower(t)
			f.timeout = 10 * time.Millisecond
			works := f.says
			var broken atomic.Bool
			f.says = func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				if broken.Load() {
					return says(ctx, a)
				}
				return works(ctx, a)
			}
			allowed, end := f.follow(requestContext("ann", ""), "watch", "")
			defer end()
			assert.True(t, allowed())
			broken.Store(true)
			f.clock.Step(renewInterval)
			require.Eventually(t, func() bool { return !allowed() }, time.Minute, time.Millisecond)
			require.Eventually(t, func() bool { return counted(t, f.registry) != "" }, time.Minute, time.Millisecond)
			broken.Store(false)
			require.Eventually(t, func() bool {
				f.clock.Step(renewInterval)
				return allowed()
			}, time.Minute, time.Millisecond)
		})
	}
}

// R2, R4: nobody, and the server's own client, are not followed.
func TestR3WhoIsNotFollowed(t *testing.T) {
	f := newFollower(t)
	ctx, warned := recordWarnings(requestContext("", ""))
	allowed, end := f.follow(ctx, "watch", "")
	assert.False(t, allowed())
	assert.Len(t, warned.all(), 1)
	assert.Equal(t, "resource=vaults,verb=watch=1", counted(t, f.registry))
	end()
	allowed, end = f.follow(requestContext(user.APIServerUser, ""), "watch", "")
	assert.False(t, allowed())
	end()
	assert.Zero(t, f.total.Load())
}

// R3: the renewal keeps nothing of the request that it began with: it outlives its
// end, and warns nobody.
func TestR3RenewalOutlivesItsRequest(t *testing.T) {
	f := newFollower(t)
	ctx, warned := recordWarnings(requestContext("ann", ""))
	ctx, cancel := context.WithCancel(ctx)
	_, endFirst := f.follow(ctx, "watch", "")
	allowed, end := f.follow(requestContext("ann", ""), "watch", "")
	defer end()
	cancel()
	endFirst()
	f.answers(authorizer.DecisionNoOpinion, errors.New("away"))
	f.renewed(t)
	assert.False(t, allowed())
	assert.Empty(t, warned.all())
	f.answers(authorizer.DecisionAllow, nil)
	f.renewed(t)
	assert.True(t, allowed())
}

// R3, R8: the watches of the real store go by the decision that is renewed, together,
// and one that could not be opened leaves nothing.
func TestR3WatchesOfTheStore(t *testing.T) {
	r := newRegistry(t)
	clock := clocktesting.NewFakeClock(time.Now())
	r.main.decider.clock = clock
	var allow atomic.Bool
	r.says = func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		if allow.Load() {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
	r.add(t, newVault("one"))
	r.calls()
	var open []watch.Interface
	for range 20 {
		w, err := r.main.Watch(requestContext("ann", ""), listOptions(""))
		require.NoError(t, err)
		open = append(open, w)
	}
	byName, err := r.main.Watch(requestContext("ann", ""), listOptions("metadata.name=one"))
	require.NoError(t, err)
	open = append(open, byName)
	asked := r.calls()
	require.Len(t, asked, 2)
	assert.ElementsMatch(t, []string{"", "one"}, []string{asked[0].Name, asked[1].Name})
	see := func(want *Vault) {
		t.Helper()
		for _, w := range open {
			obj := receive(t, w).Object
			if shared, ok := obj.(apiruntime.CacheableObject); ok {
				obj = shared.GetObject()
			}
			assert.Equal(t, want.Spec, obj.(*Vault).Spec)
			assert.Equal(t, want.Status, obj.(*Vault).Status)
		}
	}
	see(redactedVault("one")) // what is there at the start
	for i, allowed := range []bool{true, false, true} {
		allow.Store(allowed)
		clock.Step(renewInterval)
		require.Eventually(t, func() bool {
			d := r.main.decider
			d.renewals.mu.Lock()
			defer d.renewals.mu.Unlock()
			for _, renewal := range d.renewals.open {
				if renewal.allowed.Load() != allowed {
					return false
				}
			}
			return len(d.renewals.open) == 2
		}, time.Minute, time.Millisecond)
		assert.LessOrEqual(t, len(r.calls()), 2, "R3: one call a key, however many watches")
		_, _, err = r.store.Update(requestContext(reader, ""), "one", changing(func(v *Vault) { v.Labels = map[string]string{"change": fmt.Sprint(i)} }), nil, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		require.NoError(t, err)
		if allowed {
			see(newVault("one"))
		} else {
			see(redactedVault("one"))
		}
		assert.Empty(t, r.calls(), "R3: none an event")
	}
	for _, w := range open {
		w.Stop()
	}
	require.Eventually(t, func() bool {
		r.main.decider.renewals.mu.Lock()
		defer r.main.decider.renewals.mu.Unlock()
		return len(r.main.decider.renewals.open) == 0
	}, time.Minute, time.Millisecond)

	broken, err := NewREST(failingStore{Store: r.store, err: errors.New("no")}, r.main.decider, nil, nil)
	require.NoError(t, err)
	_, err = broken.Watch(requestContext("ann", ""), listOptions(""))
	require.Error(t, err)
	assert.Empty(t, r.main.decider.renewals.open, "a watch that was never opened")
}
