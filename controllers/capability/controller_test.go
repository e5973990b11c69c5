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

package capability

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/controllers/signal"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// resource is our resource.
var resource = peeringv1alpha1.SchemeGroupVersion.WithResource("peeringcapabilities")

// has is what resources of the core group the host cluster has, all of them namespaced.
type has map[string]bool

func (h has) Scope(group, resource string) (namespaced, found bool) {
	return true, group == "" && h[resource]
}
func (h has) Failed(group string) bool { return group == "down" }

// host is what is known of the host cluster. It implements Resources.
type host struct {
	signal.Signal
	lock      sync.Mutex
	current   rules.Resources
	refreshed atomic.Int32
}

func (h *host) Refresh() { h.refreshed.Add(1) }

func (h *host) Current() rules.Resources {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.current
}

// becomes sets what is known, and tells of it.
func (h *host) becomes(current rules.Resources) {
	h.lock.Lock()
	h.current = current
	h.lock.Unlock()
	h.Send()
}

type fixture struct {
	t        *testing.T
	client   *fake.Clientset
	cache    cache.Indexer
	factory  externalversions.SharedInformerFactory
	host     *host
	recorder *events.FakeRecorder
	clock    *clocktesting.FakeClock
	*Controller
}

func newFixture(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, client: fake.NewSimpleClientset(), host: &host{current: has{"pods": true}},
		recorder: events.NewFakeRecorder(100), clock: clocktesting.NewFakeClock(noon.Add(500 * time.Millisecond)),
	}
	f.client.PrependReactor("patch", "peeringcapabilities", f.apply)
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	informer := f.factory.Peering().V1alpha1().PeeringCapabilities()
	f.cache = informer.Informer().GetIndexer()
	config := Config{Client: f.client, Informer: informer, Resources: f.host, Recorder: f.recorder, Clock: f.clock}
	for _, c := range change {
		c(&config)
	}
	controller, err := New(config)
	require.NoError(t, err)
	f.Controller = controller
	return f
}

// apply does what server-side apply does with what this controller owns, with the
// preconditions that it sets.
func (f *fixture) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	assert.Equal(f.t, "status", patch.Subresource)
	assert.Equal(f.t, FieldManager, patch.PatchOptions.FieldManager)
	assert.True(f.t, *patch.PatchOptions.Force)
	object, err := f.client.Tracker().Get(resource, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	capability, sent := object.(*peeringv1alpha1.PeeringCapability), &peeringv1alpha1.PeeringCapability{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	if sent.UID != capability.UID || sent.ResourceVersion != capability.ResourceVersion {
		return true, nil, apierrors.NewConflict(resource.GroupResource(), patch.Name, nil)
	}
	capability.Status.ObservedGeneration = sent.Status.ObservedGeneration
	for _, condition := range sent.Status.Conditions {
		stored := meta.FindStatusCondition(capability.Status.Conditions, condition.Type)
		if stored == nil {
			capability.Status.Conditions = append(capability.Status.Conditions, condition)
			continue
		}
		*stored = condition
	}
	version, err := strconv.Atoi(capability.ResourceVersion)
	if err != nil {
		return true, nil, err
	}
	capability.ResourceVersion = strconv.Itoa(version + 1)
	return true, capability, f.client.Tracker().Update(resource, capability, "")
}

func asking(resources ...string) *peeringv1alpha1.PeeringCapability {
	capability := &peeringv1alpha1.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics", UID: types.UID("1"), Generation: 1, ResourceVersion: "1"},
		Spec: peeringv1alpha1.PeeringCapabilitySpec{
			Version: "1", Consumers: []peeringv1alpha1.Consumer{{Name: "agent", Namespace: "module"}},
		},
	}
	for _, resource := range resources {
		capability.Spec.Rules = append(capability.Spec.Rules, peeringv1alpha1.CapabilityRule{
			Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{resource},
		})
	}
	return capability
}

// holds puts a capability into the server and the informer.
func (f *fixture) holds(capability *peeringv1alpha1.PeeringCapability) {
	f.t.Helper()
	require.NoError(f.t, f.client.Tracker().Add(capability))
	require.NoError(f.t, f.cache.Update(capability))
}

// changes changes the spec, as the server and the informer have it.
func (f *fixture) changes(change func(*peeringv1alpha1.PeeringCapability)) {
	f.t.Helper()
	capability := f.stored().DeepCopy()
	change(capability)
	require.NoError(f.t, f.client.Tracker().Update(resource, capability, ""))
	require.NoError(f.t, f.cache.Update(capability))
}

func (f *fixture) stored() *peeringv1alpha1.PeeringCapability {
	f.t.Helper()
	object, err := f.client.Tracker().Get(resource, "", "metrics")
	require.NoError(f.t, err)
	return object.(*peeringv1alpha1.PeeringCapability)
}

// run looks at the capability and lets the informer see what was written. It returns what
// is said of it then, and how much was written.
func (f *fixture) run() (said string, writes int) {
	f.t.Helper()
	f.client.ClearActions()
	again, err := f.sync(f.t.Context(), cache.ObjectName{Name: "metrics"})
	require.NoError(f.t, err)
	assert.Zero(f.t, again)
	writes = len(f.client.Actions())
	stored := f.stored()
	require.NoError(f.t, f.cache.Update(stored))
	return saidOf(stored), writes
}

func saidOf(capability *peeringv1alpha1.PeeringCapability) string {
	condition := meta.FindStatusCondition(capability.Status.Conditions, peeringv1alpha1.ConditionValid)
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " " + condition.Reason
}

// recorded returns the next Event, "" if there is none.
func (f *fixture) recorded() string {
	select {
	case event := <-f.recorder.Events:
		return event
	default:
		return ""
	}
}

func TestNewNeedsAll(t *testing.T) {
	whole := Config{
		Client:   fake.NewSimpleClientset(),
		Informer: externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), 0).Peering().V1alpha1().PeeringCapabilities(),
		Recorder: events.NewFakeRecorder(1),
		Clock:    clocktesting.NewFakeClock(noon),
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"client":   func(c *Config) { c.Client = nil },
		"informer": func(c *Config) { c.Informer = nil },
		"recorder": func(c *Config) { c.Recorder = nil },
		"clock":    func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.Error(t, err, name)
	}
}

// G1: the condition Valid is what the capability is judged to be, with an Event.
func TestG1Condition(t *testing.T) {
	for name, test := range map[string]struct {
		capability  *peeringv1alpha1.PeeringCapability
		said, event string
	}{
		"valid":     {asking("pods"), "True Valid", "Normal Valid It can be offered, and its rules granted to its consumers."},
		"forbidden": {asking("pods", "*"), "False ForbiddenRule", "Warning ForbiddenRule spec.rules[1].resources[0] is or has a wildcard, which is never granted (G1)."},
		"unknown":   {asking("widgets"), "False UnknownResource", "Warning UnknownResource spec.rules[0].resources[0] is no resource that the host cluster has in an API group of this rule (G1)."},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(test.capability)
			said, writes := f.run()
			assert.Equal(t, test.said, said)
			assert.Equal(t, 1, writes)
			assert.Equal(t, test.event, f.recorded())
			said, writes = f.run()
			assert.Equal(t, test.said, said)
			assert.Zero(t, writes, "nothing changed")
			assert.Empty(t, f.recorded())
			assert.EqualValues(t, 1, f.stored().Status.ObservedGeneration)
		})
	}
}

// K2: a condition says which generation it is about, and since when its status is so.
func TestK2Condition(t *testing.T) {
	f := newFixture(t)
	f.holds(asking("pods"))
	f.run()
	since := func() (time.Time, int64) {
		condition := meta.FindStatusCondition(f.stored().Status.Conditions, peeringv1alpha1.ConditionValid)
		return condition.LastTransitionTime.UTC(), condition.ObservedGeneration
	}
	at, generation := since()
	assert.Equal(t, noon, at, "in whole seconds, as it is stored")
	assert.EqualValues(t, 1, generation)

	f.clock.Step(time.Hour)
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Generation, c.Spec.Version = 2, "2" })
	_, writes := f.run()
	assert.Equal(t, 1, writes)
	at, generation = since()
	assert.Equal(t, noon, at, "its status stays")
	assert.EqualValues(t, 2, generation)
	assert.EqualValues(t, 2, f.stored().Status.ObservedGeneration)

	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Generation, c.Spec.Rules[0].Verbs = 3, []string{"*"} })
	said, _ := f.run()
	assert.Equal(t, "False ForbiddenRule", said)
	at, generation = since()
	assert.Equal(t, noon.Add(time.Hour), at)
	assert.EqualValues(t, 3, generation)

	f.clock.Step(time.Hour)
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Generation, c.Spec.Rules[0].Verbs = 4, nil })
	said, _ = f.run()
	assert.Equal(t, "False InvalidRule", said)
	at, _ = since()
	assert.Equal(t, noon.Add(time.Hour), at, "its status stays, if for another reason")
	for _, want := range []string{"Normal Valid", "Warning ForbiddenRule", "Warning InvalidRule"} {
		assert.Contains(t, f.recorded(), want)
	}
	assert.Empty(t, f.recorded())
}

// S1: what somebody else writes into the status stays only where it is not ours.
func TestS1ForeignCondition(t *testing.T) {
	f := newFixture(t)
	capability := asking("*")
	capability.Status = peeringv1alpha1.PeeringCapabilityStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{
		{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Theirs", LastTransitionTime: metav1.NewTime(noon)},
		{Type: peeringv1alpha1.ConditionValid, Status: metav1.ConditionTrue, Reason: "Valid", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(noon)},
	}}
	f.holds(capability)
	said, writes := f.run()
	assert.Equal(t, "False ForbiddenRule", said)
	assert.Equal(t, 1, writes)
	assert.NotNil(t, meta.FindStatusCondition(f.stored().Status.Conditions, "Theirs"))

	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Status.ObservedGeneration = 7 })
	_, writes = f.run()
	assert.Equal(t, 1, writes)
	assert.EqualValues(t, 1, f.stored().Status.ObservedGeneration)
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Status.Conditions[1].LastTransitionTime = metav1.Time{} })
	f.run()
	assert.False(t, f.stored().Status.Conditions[1].LastTransitionTime.IsZero())
}

// A write that is made by an outdated look fails, and is not an error: the informer is
// about to show what is so. Nor does a verdict reach another object of the same name.
func TestOutdatedLook(t *testing.T) {
	f := newFixture(t)
	f.holds(asking("pods"))
	outdated := f.stored().DeepCopy()
	f.run()
	require.NotEmpty(t, f.recorded())
	require.NoError(t, f.cache.Update(outdated))
	f.clock.Step(time.Hour)
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "metrics"})
	require.NoError(t, err)
	assert.Empty(t, f.recorded(), "it was recorded before")
	assert.Equal(t, noon, f.stored().Status.Conditions[0].LastTransitionTime.UTC())

	another := asking("*")
	another.UID, another.ResourceVersion = "2", outdated.ResourceVersion
	require.NoError(t, f.client.Tracker().Update(resource, another, ""))
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "metrics"})
	require.NoError(t, err)
	assert.Empty(t, f.stored().Status.Conditions)

	require.NoError(t, f.client.Tracker().Delete(resource, "", "metrics"))
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "metrics"})
	require.NoError(t, err)
	assert.Empty(t, f.recorded())
}

// What cannot be written is tried again, and no Event tells of it.
func TestWriteFails(t *testing.T) {
	f := newFixture(t)
	f.holds(asking("pods"))
	f.client.PrependReactor("patch", "peeringcapabilities", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("full"))
	})
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "metrics"})
	require.ErrorContains(t, err, "could not write the status: ")
	assert.Empty(t, f.recorded())
}

// G1: without a host cluster that is said once. With one that has not told what it has yet,
// only what is wrong anyway is, and what was said before stays.
func TestG1NoHost(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Resources = nil })
	f.holds(asking("widgets"))
	said, _ := f.run()
	assert.Equal(t, "Unknown NoHost", said)
	assert.Contains(t, f.recorded(), "Normal NoHost")
	_, writes := f.run()
	assert.Zero(t, writes)

	f = newFixture(t)
	f.host.current = nil
	f.holds(asking("pods"))
	said, writes = f.run()
	assert.Empty(t, said)
	assert.Zero(t, writes)
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Spec.Rules[0].Verbs = nil })
	said, _ = f.run()
	assert.Equal(t, "False InvalidRule", said)
	f.host.current = has{"pods": true}
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Spec.Rules[0].Verbs = []string{"get"} })
	said, _ = f.run()
	assert.Equal(t, "True Valid", said)
	f.host.current = nil
	said, writes = f.run()
	assert.Equal(t, "True Valid", said)
	assert.Zero(t, writes)
}

// G1: a resource that is missing may just have come, so that is asked for, once; what is
// known to fail is not.
func TestG1UnknownResourceAsksAgain(t *testing.T) {
	f := newFixture(t)
	f.holds(asking("widgets"))
	f.run()
	assert.EqualValues(t, 1, f.host.refreshed.Load())
	f.run()
	assert.EqualValues(t, 1, f.host.refreshed.Load())
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Spec.Rules[0].APIGroups = []string{"down"} })
	said, _ := f.run()
	assert.Equal(t, "Unknown DiscoveryFailed", said)
	f.changes(func(c *peeringv1alpha1.PeeringCapability) { c.Spec.Rules[0].APIGroups = []string{"*"} })
	f.run()
	assert.EqualValues(t, 1, f.host.refreshed.Load())
}

// Nothing is said of a capability that is on its way out, or gone.
func TestNothingToSay(t *testing.T) {
	f := newFixture(t)
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "metrics"})
	require.NoError(t, err)
	leaving := asking("pods")
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	f.holds(leaving)
	said, writes := f.run()
	assert.Empty(t, said)
	assert.Zero(t, writes)
}

// G1: all are judged again when the host cluster has other resources.
func TestG1Run(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t)
	f.host.current = nil
	require.NoError(t, f.client.Tracker().Add(asking("widgets")))
	ctx, cancel := context.WithCancel(t.Context())
	f.factory.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	says := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			capability, err := f.client.PeeringV1alpha1().PeeringCapabilities().Get(ctx, "metrics", metav1.GetOptions{})
			return err == nil && saidOf(capability) == want
		}, 20*time.Second, time.Millisecond)
	}
	f.factory.WaitForCacheSyncWithContext(ctx)
	f.host.becomes(has{"pods": true})
	says("False UnknownResource")
	f.host.becomes(has{"widgets": true})
	says("True Valid")
	f.host.becomes(has{})
	says("False UnknownResource")
	cancel()
	require.NoError(t, <-ended)
	f.factory.Shutdown()
	goleak.VerifyNone(t, before)
	f.host.Send() // nobody listens any more
}
