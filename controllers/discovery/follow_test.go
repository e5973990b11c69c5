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

package discovery

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clocktesting "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// served is what a host cluster serves: resources by version of a group, in the order in
// which it prefers the versions. One without resources fails.
type served []struct {
	version   string // as in apps/v1
	resources map[string]bool
}

func core() served {
	return served{
		{"v1", map[string]bool{"pods": true, "pods/log": true, "nodes": false}},
		{"authorization.k8s.io/v1", map[string]bool{"subjectaccessreviews": false}},
		{"empty.example.com/v1", map[string]bool{}},
	}
}

// host answers what is set. It implements Client.
type host struct {
	lock  sync.Mutex
	has   served
	err   error
	hangs bool
	reads int
}

func (h *host) serves(has served) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.has, h.err, h.hangs = has, nil, false
}

func (h *host) fails(err error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.err = err
}

func (h *host) read() int {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.reads
}

func (h *host) ServerGroupsAndResourcesWithContext(ctx context.Context) (groups []*metav1.APIGroup, lists []*metav1.APIResourceList, err error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.reads++
	if h.hangs {
		h.lock.Unlock()
		<-ctx.Done()
		h.lock.Lock()
		return nil, nil, ctx.Err()
	}
	if h.err != nil {
		return nil, nil, h.err
	}
	byName, failed := map[string]*metav1.APIGroup{}, map[schema.GroupVersion]error{}
	for _, has := range h.has {
		version, err := schema.ParseGroupVersion(has.version)
		if err != nil {
			return nil, nil, err
		}
		group := byName[version.Group]
		if group == nil {
			group = &metav1.APIGroup{Name: version.Group}
			byName[version.Group], groups = group, append(groups, group)
		}
		if has.resources == nil {
			failed[version] = errors.New("stale")
			continue
		}
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: has.version, Version: version.Version})
		list := &metav1.APIResourceList{GroupVersion: has.version}
		for name, namespaced := range has.resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: namespaced})
		}
		lists = append(lists, list)
	}
	if len(failed) > 0 {
		return groups, lists, &discovery.ErrGroupDiscoveryFailed{Groups: failed}
	}
	return groups, lists, nil
}

type fixture struct {
	t       *testing.T
	host    *host
	clock   *clocktesting.FakeClock
	changes atomic.Int32
	*Follower
}

func newFixture(t *testing.T, has served) *fixture {
	t.Helper()
	f := &fixture{t: t, host: &host{has: has}, clock: clocktesting.NewFakeClock(noon)}
	follower, err := New(Config{Client: f.host, Clock: f.clock})
	require.NoError(t, err)
	f.Follower = follower
	f.Subscribe(func() { f.changes.Add(1) })
	return f
}

// scope is what is known of a resource: "", namespaced, cluster or, if it is not known,
// failed.
func (f *fixture) scope(group, resource string) string {
	f.t.Helper()
	current := f.Current()
	require.NotNil(f.t, current)
	switch namespaced, found := current.Scope(group, resource); {
	case found && namespaced:
		return "namespaced"
	case found:
		return "cluster"
	case current.Failed(group):
		return "failed"
	default:
		return ""
	}
}

func TestNewNeedsAll(t *testing.T) {
	_, err := New(Config{Client: &host{}})
	require.Error(t, err)
	_, err = New(Config{Clock: clocktesting.NewFakeClock(noon)})
	require.Error(t, err)
}

// G1: what a capability is judged by is what the host cluster serves.
func TestG1Resources(t *testing.T) {
	f := newFixture(t, append(core(),
		served{
			{"apps/v1", map[string]bool{"deployments": true}},
			{"apps/v1beta1", map[string]bool{"deployments": true, "controllers": true, "mixed": true}},
			{"apps/v1alpha1", map[string]bool{"mixed": false}},
		}...))
	assert.Nil(t, f.Current())
	_, found := f.Version("apps", "deployments")
	assert.False(t, found)
	f.look(t.Context())
	assert.Equal(t, "namespaced", f.scope("", "pods"))
	assert.Equal(t, "namespaced", f.scope("", "pods/log"))
	assert.Equal(t, "cluster", f.scope("", "nodes"))
	assert.Equal(t, "namespaced", f.scope("apps", "deployments"))
	assert.Equal(t, "namespaced", f.scope("apps", "controllers"), "of another version")
	assert.Equal(t, "namespaced", f.scope("apps", "mixed"), "which grants less")
	assert.Empty(t, f.scope("apps", "pods"))
	assert.Empty(t, f.scope("example.com", "pods"))
	assert.Empty(t, f.scope("empty.example.com", "pods"))

	for resource, want := range map[string]string{"deployments": "v1", "controllers": "v1beta1", "mixed": "v1beta1", "pods": ""} {
		version, found := f.Version("apps", resource)
		assert.Equal(t, want, version)
		assert.Equal(t, want != "", found)
	}
}

// Whoever subscribed is called when something else counts, and the same object counts as
// long as nothing is different.
func TestChanges(t *testing.T) {
	f := newFixture(t, core())
	f.look(t.Context())
	assert.EqualValues(t, 1, f.changes.Load())
	first := f.Current()
	f.look(t.Context())
	assert.EqualValues(t, 1, f.changes.Load())
	assert.Same(t, first, f.Current())

	f.host.serves(append(core(), served{{"deckhouse.io/v1alpha2", map[string]bool{"projects": false}}}...))
	f.look(t.Context())
	assert.EqualValues(t, 2, f.changes.Load())
	assert.Equal(t, "cluster", f.scope("deckhouse.io", "projects"))
	_, found := first.Scope("deckhouse.io", "projects")
	assert.False(t, found, "a snapshot stays as it is")

	f.host.serves(append(core(), served{{"deckhouse.io/v1alpha2", map[string]bool{"projects": true}}}...))
	f.look(t.Context())
	assert.EqualValues(t, 3, f.changes.Load(), "another scope")

	f.host.serves(core())
	f.look(t.Context())
	assert.EqualValues(t, 4, f.changes.Load())
	assert.Empty(t, f.scope("deckhouse.io", "projects"))
}

// G1: a group that fails keeps what it had, be it the host that fails or one version; one
// that is gone is gone.
func TestG1WhatFailsStaysKnown(t *testing.T) {
	metrics := func(resources map[string]bool) served {
		return append(core(), served{{"metrics.k8s.io/v1", resources}, {"metrics.k8s.io/v1beta1", map[string]bool{"nodes": false}}}...)
	}
	f := newFixture(t, metrics(map[string]bool{"pods": true}))
	f.look(t.Context())
	f.host.serves(metrics(nil))
	f.look(t.Context())
	assert.Equal(t, "namespaced", f.scope("metrics.k8s.io", "pods"))
	assert.Empty(t, f.scope("metrics.k8s.io", "secrets"), "what it had is known")
	f.host.fails(errors.New("down"))
	f.look(t.Context())
	assert.Equal(t, "namespaced", f.scope("metrics.k8s.io", "pods"))
	before := f.Current()
	f.host.serves(served{{"v1", map[string]bool{"pods": true}}})
	f.look(t.Context())
	f.host.serves(served{{"authorization.k8s.io/v1", map[string]bool{}}})
	f.look(t.Context())
	f.host.serves(served{})
	f.look(t.Context())
	assert.Same(t, before, f.Current(), "no host answers so")

	f.host.serves(core())
	f.look(t.Context())
	assert.Empty(t, f.scope("metrics.k8s.io", "pods"))
	f.host.serves(metrics(nil))
	f.look(t.Context())
	assert.Equal(t, "failed", f.scope("metrics.k8s.io", "pods"), "what was there before may not be now")
	assert.Equal(t, "cluster", f.scope("metrics.k8s.io", "nodes"))
}

// Before an answer was complete nothing counts, unless that takes 30 s.
func TestPatience(t *testing.T) {
	broken := append(core(), served{{"metrics.k8s.io/v1", nil}}...)
	f := newFixture(t, broken)
	f.look(t.Context())
	assert.Nil(t, f.Current())
	f.clock.Step(patience - time.Second)
	f.host.fails(errors.New("down"))
	f.look(t.Context())
	f.host.serves(broken)
	f.look(t.Context())
	assert.Nil(t, f.Current())
	assert.Zero(t, f.changes.Load())
	f.clock.Step(time.Second)
	f.look(t.Context())
	assert.Equal(t, "failed", f.scope("metrics.k8s.io", "pods"))
	assert.Equal(t, "namespaced", f.scope("", "pods"))
	assert.EqualValues(t, 1, f.changes.Load())

	f = newFixture(t, broken)
	f.look(t.Context())
	f.host.serves(core())
	f.look(t.Context())
	assert.NotNil(t, f.Current(), "it is complete")

	f = newFixture(t, broken)
	f.host.fails(errors.New("down"))
	f.look(t.Context())
	f.clock.Step(time.Hour)
	f.look(t.Context())
	assert.Nil(t, f.Current(), "there was no answer")
}

// It reads at once, every 30 s, and when it is asked to, but not more than once in 5 s.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t, core())
	f.host.fails(errors.New("down"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	// waits until it has read that often and waits itself, and returns after what time it
	// has.
	after := func(reads int) time.Duration {
		t.Helper()
		start := f.clock.Now()
		require.Eventually(t, func() bool {
			if f.clock.HasWaiters() && f.host.read() < reads {
				f.clock.Step(time.Second)
			}
			return f.host.read() == reads && f.clock.HasWaiters()
		}, 20*time.Second, time.Millisecond)
		return f.clock.Since(start)
	}
	assert.Zero(t, after(1))
	f.host.serves(core())
	assert.LessOrEqual(t, after(2), atMost, "nothing is known, so it does not wait long")
	assert.NotNil(t, f.Current())
	assert.InDelta(t, interval, after(3), float64(interval)/9)
	f.Refresh()
	f.Refresh()
	assert.InDelta(t, atMost, after(4), float64(2*time.Second))
	assert.InDelta(t, interval, after(5), float64(interval)/9, "it was asked for one read")
	cancel()
	require.NoError(t, <-ended)
	goleak.VerifyNone(t, before)
}

// A host that hangs holds it only so long, and what it says when the process ends is
// nothing.
func TestReadIsBounded(t *testing.T) {
	f := newFixture(t, core())
	f.host.hangs = true
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.look(ctx)
	}()
	require.Eventually(t, func() bool { return f.host.read() == 1 }, 20*time.Second, time.Millisecond)
	cancel()
	<-ended
	assert.False(t, f.failing)

	deadline := make(chan bool, 1)
	f.client = clientFunc(func(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
		at, bounded := ctx.Deadline()
		deadline <- bounded && time.Until(at) <= readTimeout
		return nil, nil, errors.New("down")
	})
	f.look(t.Context())
	assert.True(t, <-deadline)
	assert.True(t, f.failing)
}

// The host may prefer another version than the first, and tell a part of one that fails.
func TestOddAnswers(t *testing.T) {
	version := func(name string) metav1.GroupVersionForDiscovery {
		return metav1.GroupVersionForDiscovery{GroupVersion: "apps/" + name, Version: name}
	}
	f := newFixture(t, nil)
	f.client = clientFunc(func(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
		groups := []*metav1.APIGroup{
			{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "v1", Version: "v1"}}},
			{Name: "authorization.k8s.io", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "authorization.k8s.io/v1", Version: "v1"}}},
			{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{version("v2"), version("v1"), version("v3")}, PreferredVersion: version("v1")},
		}
		var lists []*metav1.APIResourceList
		for _, name := range []string{"v1", "authorization.k8s.io/v1", "a/b/c", "apps/v1", "apps/v2", "apps/v3"} {
			lists = append(lists, &metav1.APIResourceList{GroupVersion: name, APIResources: []metav1.APIResource{{Name: "deployments"}, {Name: "in" + name}}})
		}
		return groups, lists, &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "apps", Version: "v3"}: errors.New("a part")}}
	})
	f.look(t.Context())
	f.clock.Step(patience)
	f.look(t.Context())
	preferred, _ := f.Version("apps", "deployments")
	assert.Equal(t, "v1", preferred)
	assert.Equal(t, "cluster", f.scope("apps", "inapps/v2"))
	assert.Equal(t, "failed", f.scope("apps", "inapps/v3"))
}

type clientFunc func(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error)

func (c clientFunc) ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return c(ctx)
}
