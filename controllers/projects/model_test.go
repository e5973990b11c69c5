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

package projects

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/controllers/signal"
)

// soon limits how long a test waits for something that should come at once.
const soon = 20 * time.Second

var (
	v1alpha2 = schema.GroupVersionResource{Group: "deckhouse.io", Version: "v1alpha2", Resource: "projects"}
	v1alpha3 = schema.GroupVersionResource{Group: "deckhouse.io", Version: "v1alpha3", Resource: "projects"}
)

// host is what is known of the resources of the host cluster. It implements Resources and
// rules.Resources.
type host struct {
	signal.Signal
	lock       sync.Mutex
	known      bool
	version    string // of Project objects, "" for none
	namespaced bool
	fails      bool
}

func (h *host) becomes(change func(*host)) {
	h.lock.Lock()
	change(h)
	h.lock.Unlock()
	h.Send()
}

func (h *host) Current() rules.Resources {
	h.lock.Lock()
	defer h.lock.Unlock()
	if !h.known {
		return nil
	}
	return h
}

func (h *host) Scope(group, resource string) (namespaced, found bool) {
	_, found = h.Version(group, resource)
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.namespaced, found
}

func (h *host) Failed(string) bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.fails
}

func (h *host) Version(group, resource string) (version string, found bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if group != "deckhouse.io" || resource != "projects" {
		return "", false
	}
	return h.version, h.version != ""
}

// fixture is a model that runs.
type fixture struct {
	t        *testing.T
	client   *fake.Clientset
	dynamic  *dynamicfake.FakeDynamicClient
	host     *host
	recorder *events.FakeRecorder
	changes  atomic.Int32
	lists    atomic.Int32 // how often Project objects were listed
	refuse   atomic.Bool  // whether that is forbidden
	*Model
}

func newFixture(t *testing.T, namespaces ...*corev1.Namespace) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	f := &fixture{
		t: t, client: fake.NewClientset(), host: &host{known: true}, recorder: events.NewFakeRecorder(100),
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
			v1alpha2: "ProjectList", v1alpha3: "ProjectList",
		}),
	}
	f.dynamic.PrependReactor("list", "projects", func(clienttesting.Action) (bool, runtime.Object, error) {
		f.lists.Add(1)
		if f.refuse.Load() {
			return true, nil, apierrors.NewForbidden(v1alpha2.GroupResource(), "", nil)
		}
		return false, nil, nil
	})
	for _, namespace := range namespaces {
		require.NoError(t, f.client.Tracker().Add(namespace))
	}
	return f
}

// start runs the model until the test ends, or what is returned is called.
func (f *fixture) start(change ...func(*Config)) (stop func()) {
	f.t.Helper()
	before := goleak.IgnoreCurrent()
	factory := informers.NewSharedInformerFactory(f.client, 0)
	config := Config{
		Namespaces: factory.Core().V1().Namespaces(), Dynamic: f.dynamic, Resources: f.host,
		Label: DefaultLabel, OwnNamespaces: []string{"entente-system", "entente-access"}, Recorder: f.recorder, Clock: clock.RealClock{},
	}
	for _, c := range change {
		c(&config)
	}
	model, err := New(config)
	require.NoError(f.t, err)
	f.Model = model
	f.Subscribe(func() { f.changes.Add(1) })
	assert.Nil(f.t, f.Current())
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- model.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(f.t, <-ended)
		factory.Shutdown()
		goleak.VerifyNone(f.t, before)
	})
	f.t.Cleanup(stop)
	return stop
}

// shows waits until the projects are as written: those with labels, and others one by one;
// of one that is not to be there the name.
func (f *fixture) shows(labelled string, more ...string) {
	f.t.Helper()
	said := ""
	err := wait.PollUntilContextTimeout(f.t.Context(), time.Millisecond, soon, true, func(context.Context) (bool, error) {
		current := f.Current()
		if current == nil {
			return false, nil
		}
		if said = written(current.Labelled()); said != labelled {
			return false, nil
		}
		for _, want := range more {
			name, _, found := strings.Cut(want, ":")
			said = got(current, name)
			if (found && said != want) || (!found && said != "") {
				return false, nil
			}
		}
		return true, nil
	})
	require.NoError(f.t, err, said)
}

func (f *fixture) create(namespace *corev1.Namespace) {
	f.t.Helper()
	_, err := f.client.CoreV1().Namespaces().Create(f.t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(f.t, err)
}

func (f *fixture) update(namespace *corev1.Namespace) {
	f.t.Helper()
	_, err := f.client.CoreV1().Namespaces().Update(f.t.Context(), namespace, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// claims creates a Project object, or changes one.
func (f *fixture) claims(gvr schema.GroupVersionResource, name, namespaces string) {
	f.t.Helper()
	object := projectObject(f.t, fmt.Sprintf("apiVersion: %s\nkind: Project\nmetadata: {name: %s}\nspec: {description: x}\nstatus: {namespaces: %s}", gvr.GroupVersion(), name, namespaces))
	_, err := f.dynamic.Resource(gvr).Create(f.t.Context(), object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = f.dynamic.Resource(gvr).Update(f.t.Context(), object, metav1.UpdateOptions{})
	}
	require.NoError(f.t, err)
}

// event waits for an Event.
func (f *fixture) event() string {
	f.t.Helper()
	select {
	case event := <-f.recorder.Events:
		return event
	case <-time.After(soon):
		require.Fail(f.t, "no Event")
		return ""
	}
}

func TestNewNeedsAll(t *testing.T) {
	whole := Config{
		Namespaces: informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Namespaces(),
		Dynamic:    dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), Resources: &host{},
		Label: DefaultLabel, OwnNamespaces: []string{"entente-system", "entente-access"}, Recorder: events.NewFakeRecorder(1), Clock: clocktesting.NewFakeClock(noon),
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"namespaces": func(c *Config) { c.Namespaces = nil },
		"dynamic":    func(c *Config) { c.Dynamic = nil },
		"resources":  func(c *Config) { c.Resources = nil },
		"own":        func(c *Config) { c.OwnNamespaces = nil },
		"recorder":   func(c *Config) { c.Recorder = nil },
		"clock":      func(c *Config) { c.Clock = nil },
		"label":      func(c *Config) { c.Label = "" },
		"key":        func(c *Config) { c.Label = "not a key" },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.Error(t, err, name)
	}
}

// G4: projects come and go with labels and namespaces, and whoever subscribed is told when
// they do.
func TestG4Follows(t *testing.T) {
	f := newFixture(t, namespace("a-1", "a"), namespace("kube-system", "a"))
	stop := f.start()
	f.shows("a: a-1")
	first := f.Current()
	changes := f.changes.Load()
	f.create(namespace("b-1", "b"))
	f.shows("a: a-1; b: b-1")
	assert.Equal(t, "a: a-1", written(first.Labelled()), "a snapshot stays as it is")
	assert.Equal(t, changes+1, f.changes.Load())

	// A change that changes nothing here is no change.
	same := namespace("b-1", "b")
	same.Annotations = map[string]string{"x": "y"}
	f.update(same)
	f.update(namespace("a-1", "c"))
	f.shows("b: b-1; c: a-1")
	f.update(namespace("a-1", ""))
	f.shows("b: b-1")
	require.NoError(t, f.client.CoreV1().Namespaces().Delete(t.Context(), "b-1", metav1.DeleteOptions{}))
	f.shows("")
	assert.LessOrEqual(t, f.changes.Load(), changes+4)
	stop()
	assert.Equal(t, DefaultLabel, f.division.label)
}

// G4: the key of the label can be another one.
func TestG4Configured(t *testing.T) {
	f := newFixture(t, namespace("a-1", "a"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "c-1", Labels: map[string]string{"team": "c"}}})
	f.start(func(c *Config) { c.Label = "team" })
	f.shows("c: c-1")
}

// G4: Project objects are found when their kind appears later, in the version that the host
// prefers, and count no more when it goes.
func TestG4ProjectsAppearLater(t *testing.T) {
	f := newFixture(t, namespace("one", "a"), namespace("two", ""), namespace("three", ""))
	f.start()
	f.shows("a: one")
	f.claims(v1alpha2, "b", "[one, two]")
	assert.Zero(t, f.lists.Load(), "there is no such kind")
	f.host.becomes(func(h *host) { h.version = "v1alpha2" })
	f.shows("", "b: one two")
	f.claims(v1alpha2, "b", "[two]")
	f.shows("a: one", "b: two")
	f.claims(v1alpha2, "c", "[three]")
	f.shows("a: one", "b: two", "c: three")
	require.NoError(t, f.dynamic.Resource(v1alpha2).Delete(t.Context(), "c", metav1.DeleteOptions{}))
	f.shows("a: one", "b: two", "c")

	lists := f.lists.Load()
	f.host.Send()
	f.claims(v1alpha2, "c", "[three]")
	f.shows("a: one", "b: two", "c: three")
	require.NoError(t, f.dynamic.Resource(v1alpha2).Delete(t.Context(), "c", metav1.DeleteOptions{}))
	f.host.becomes(func(h *host) { h.known = false })
	f.host.becomes(func(h *host) { h.known, h.version, h.fails = true, "", true })
	f.claims(v1alpha2, "b", "[two, three]")
	f.shows("a: one", "b: three two")
	assert.Equal(t, lists, f.lists.Load(), "it is the same kind, as far as is known")

	f.claims(v1alpha3, "b", "[{name: one, kind: Main}]")
	f.host.becomes(func(h *host) { h.version, h.fails = "v1alpha3", false })
	f.shows("", "b: one")
	f.host.becomes(func(h *host) { h.namespaced = true })
	f.shows("a: one", "b")
	f.host.becomes(func(h *host) { h.namespaced = false })
	f.shows("", "b: one")
	f.host.becomes(func(h *host) { h.version = "" })
	f.shows("a: one", "b")
}

// G4: while it is not known whether there are Project objects, or which, nothing is: they
// beat labels. Once it was, what was known stays.
func TestG4NotKnownYet(t *testing.T) {
	f := newFixture(t, namespace("one", "a"), namespace("two", ""))
	f.host.known = false
	f.refuse.Store(true)
	f.claims(v1alpha2, "b", "[one]")
	f.start()
	f.host.becomes(func(h *host) { h.known, h.fails = true, true })
	f.host.becomes(func(h *host) { h.version = "v1alpha2" })
	require.Eventually(t, func() bool { return f.lists.Load() > 0 }, soon, time.Millisecond)
	assert.Nil(t, f.Current())
	f.refuse.Store(false)
	f.shows("", "b: one")

	f.refuse.Store(true)
	lists := f.lists.Load()
	f.host.becomes(func(h *host) { h.version = "v1alpha3" })
	require.Eventually(t, func() bool { return f.lists.Load() > lists }, soon, time.Millisecond)
	f.update(namespace("two", "c"))
	f.shows("c: two", "b: one")
}

// G4: what is known stays nothing, and stays what it was, by a look that knows too little.
func TestG4LookKnowsTooLittle(t *testing.T) {
	f := newFixture(t)
	factory := informers.NewSharedInformerFactory(f.client, 0)
	require.NoError(t, factory.Core().V1().Namespaces().Informer().GetIndexer().Add(namespace("one", "a")))
	model, err := New(Config{
		Namespaces: factory.Core().V1().Namespaces(), Dynamic: f.dynamic, Resources: f.host,
		Label: DefaultLabel, OwnNamespaces: []string{"entente-system", "entente-access"}, Recorder: f.recorder, Clock: clocktesting.NewFakeClock(noon),
	})
	require.NoError(t, err)
	model.look(t.Context())
	assert.Nil(t, model.Current())
	model.source.replace(nil)
	model.look(t.Context())
	assert.Equal(t, "a: one", written(model.Current().Labelled()))
}

// G4: of a namespace that two Project objects claim an Event tells, once, and again when it
// happens again.
func TestG4Conflict(t *testing.T) {
	f := newFixture(t, namespace("one", "a"), namespace("two", ""))
	f.host.version = "v1alpha2"
	f.claims(v1alpha2, "b", "[one]")
	f.claims(v1alpha2, "c", "[one, two]")
	f.start()
	want := "Warning ProjectConflict The Projects b and c both claim this namespace, so it belongs to neither (G4)."
	assert.Equal(t, want, f.event())
	f.shows("", "c: two", "b", "a")
	f.create(namespace("three", "x"))
	f.shows("x: three", "c: two", "b", "a")
	assert.Empty(t, f.recorder.Events, "it was told")
	require.NoError(t, f.client.CoreV1().Namespaces().Delete(t.Context(), "three", metav1.DeleteOptions{}))
	f.update(namespace("two", "x"))
	f.claims(v1alpha2, "d", "[one]")
	f.claims(v1alpha2, "c", "[two]")
	f.claims(v1alpha2, "d", "[]")
	f.shows("", "b: one", "c: two")
	f.claims(v1alpha2, "c", "[one]")
	assert.Equal(t, want, f.event())
	f.shows("x: two", "b", "c")
	assert.Empty(t, f.recorder.Events)
}

// G4: thousands of namespaces are looked at together and not one after the other.
func TestG4ManyAtOnce(t *testing.T) {
	f := newFixture(t)
	for i := range 5000 {
		require.NoError(t, f.client.Tracker().Add(namespace(fmt.Sprintf("n-%04d", i), fmt.Sprintf("p-%d", i%500))))
	}
	f.start()
	full := func() bool {
		current := f.Current()
		if current == nil {
			return false
		}
		total := 0
		for _, project := range current.Labelled() {
			total += len(project.Namespaces)
		}
		return total == 5000
	}
	require.Eventually(t, full, soon, 10*time.Millisecond)
	assert.LessOrEqual(t, f.changes.Load(), int32(3))
	changes, start := f.changes.Load(), time.Now()
	for i := range 200 {
		f.create(namespace(fmt.Sprintf("m-%d", i), "a"))
	}
	assert.LessOrEqual(t, f.changes.Load(), changes+int32(time.Since(start)/(100*time.Millisecond))+1)
}

// Changes that come while it is waited for more are looked at with the first.
func TestChangesAreCollected(t *testing.T) {
	clk := clocktesting.NewFakeClock(noon)
	model, err := New(Config{
		Namespaces:    informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Namespaces(),
		Dynamic:       dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
		Resources:     &host{},
		Label:         DefaultLabel,
		OwnNamespaces: []string{"entente-system", "entente-access"}, Recorder: events.NewFakeRecorder(1), Clock: clk,
	})
	require.NoError(t, err)
	model.stir()
	waited := make(chan bool, 1)
	go func() { waited <- model.await(t.Context()) }()
	require.Eventually(t, clk.HasWaiters, soon, time.Millisecond)
	model.stir()
	clk.Step(100 * time.Millisecond)
	assert.True(t, <-waited)
	assert.Empty(t, model.dirty)
}

// What is told says what it is about.
func TestReference(t *testing.T) {
	assert.Equal(t, &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: "one", UID: "uid of one"}, reference(namespace("one", "")))
	assert.Implements(t, (*access.Projects)(nil), &Model{})
}

// What panics ends, so that it is run again, and does not wait for what it has begun.
func TestPanicEndsIt(t *testing.T) {
	f := newFixture(t, namespace("one", "a"))
	f.host.version = "v1alpha2"
	factory := informers.NewSharedInformerFactory(f.client, 0)
	model, err := New(Config{
		Namespaces: factory.Core().V1().Namespaces(), Dynamic: f.dynamic, Resources: f.host,
		Label: DefaultLabel, OwnNamespaces: []string{"entente-system", "entente-access"}, Recorder: f.recorder, Clock: clock.RealClock{},
	})
	require.NoError(t, err)
	model.Subscribe(func() { panic("boom") })
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		_ = model.Run(t.Context())
	}()
	select {
	case panicked := <-ended:
		assert.Equal(t, "boom", panicked)
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}
