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

package clusterpeer

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
)

// fixture is a controller whose informer holds what the test puts there, whose
// writes go to a fake clientset, and which reads connection strings over HTTP.
type fixture struct {
	t         *testing.T
	client    *fake.Clientset
	cache     cache.Indexer
	sensitive *sensitiveServer
	events    chan string
	clock     *clocktesting.FakeClock
	*Controller
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t:         t,
		client:    fake.NewSimpleClientset(),
		sensitive: newSensitiveServer(t),
		clock:     clocktesting.NewFakeClock(noon),
	}
	f.client.PrependReactor("patch", "clusterpeers", f.apply)
	recorder := events.NewFakeRecorder(100)
	f.events = recorder.Events
	informer := externalversions.NewSharedInformerFactory(f.client, 0).Peering().V1alpha1().ClusterPeers()
	controller, err := New(Config{Client: f.client, Informer: informer, Recorder: recorder, Clock: f.clock})
	require.NoError(t, err)
	controller.sensitive = f.sensitive.client
	f.Controller, f.cache = controller, informer.Informer().GetIndexer()
	return f
}

// apply does what server-side apply of a status does, as far as this controller
// makes use of it: it sets the fields that are sent, and merges conditions by type.
// The fake clientset has field management only for types whose Go package and
// published name agree (kubernetes/kubernetes#126850).
func (f *fixture) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	resource := peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")
	object, err := f.client.Tracker().Get(resource, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	peer, sent := object.(*peeringv1alpha1.ClusterPeer), &peeringv1alpha1.ClusterPeer{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	peer.Status.Phase, peer.Status.ObservedGeneration = sent.Status.Phase, sent.Status.ObservedGeneration
	for _, condition := range sent.Status.Conditions {
		peer.Status.Conditions = slices.DeleteFunc(peer.Status.Conditions, func(c metav1.Condition) bool { return c.Type == condition.Type })
		peer.Status.Conditions = append(peer.Status.Conditions, condition)
	}
	return true, peer, f.client.Tracker().Update(resource, peer, "")
}

// holds puts a ClusterPeer into the server and, redacted, into the informer.
func (f *fixture) holds(peer *peeringv1alpha1.ClusterPeer) {
	f.t.Helper()
	f.sensitive.answers(http.StatusOK, peer)
	require.NoError(f.t, f.client.Tracker().Add(redacted(peer)))
	require.NoError(f.t, f.cache.Update(redacted(peer)))
}

// arrives brings what was written to the informer.
func (f *fixture) arrives(name string) *peeringv1alpha1.ClusterPeer {
	f.t.Helper()
	peer, err := f.client.PeeringV1alpha1().ClusterPeers().Get(f.t.Context(), name, metav1.GetOptions{})
	require.NoError(f.t, err)
	require.NoError(f.t, f.cache.Update(peer))
	f.client.ClearActions()
	return peer
}

func (f *fixture) run(name string) (again time.Duration) {
	f.t.Helper()
	again, err := f.sync(f.t.Context(), cache.ObjectName{Name: name})
	require.NoError(f.t, err)
	return again
}

// writes returns the patches that were sent since arrives.
func (f *fixture) writes() []clienttesting.PatchActionImpl {
	f.t.Helper()
	var patches []clienttesting.PatchActionImpl
	for _, action := range f.client.Actions() {
		if action.GetVerb() == "patch" {
			patches = append(patches, action.(clienttesting.PatchActionImpl))
		}
	}
	return patches
}

// recorded returns the Events since the last call.
func (f *fixture) recorded() []string {
	var out []string
	for {
		select {
		case event := <-f.events:
			out = append(out, event)
		default:
			return out
		}
	}
}

func readyOf(t *testing.T, peer *peeringv1alpha1.ClusterPeer) metav1.Condition {
	t.Helper()
	ready := meta.FindStatusCondition(peer.Status.Conditions, ConditionReady)
	require.NotNil(t, ready)
	return *ready
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	_, err := New(Config{})
	require.ErrorContains(t, err, "not complete")
}

// R4, K2: from a Join without a string to one with a string that is damaged, then
// mended: what is written, asked and recorded at each step.
func TestSyncFollowsTheObject(t *testing.T) {
	f := newFixture(t)
	text := validString(t)

	f.holds(joining("p", "u", 1, ""))
	f.run("p")
	require.Len(t, f.writes(), 1)
	assert.Equal(t, []string{"Normal WaitingForConnectionString spec.join.connectionString is not set."}, f.recorded())
	peer := f.arrives("p")
	assert.Equal(t, ReasonWaitingForConnectionString, readyOf(t, peer).Reason)
	assert.Zero(t, f.sensitive.requests(), "R4: nothing is set, so nothing is to be read")

	change := func(text string, generation int64) {
		peer := peer.DeepCopy()
		peer.Spec.Join.ConnectionString, peer.Generation = text, generation
		f.sensitive.answers(http.StatusOK, peer)
		require.NoError(t, f.client.Tracker().Update(peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), redacted(peer), ""))
		require.NoError(t, f.cache.Update(redacted(peer)))
	}
	f.clock.Step(time.Hour)
	change(text[:30]+text[31:], 2)
	f.run("p")
	assert.Equal(t, []string{"Warning InvalidConnectionString spec.join.connectionString is not valid: checksum: does not match; the string was changed or cut while it was copied."}, f.recorded())
	peer = f.arrives("p")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, peer.Status.Phase)
	assert.EqualValues(t, 2, peer.Status.ObservedGeneration)
	assert.EqualValues(t, 2, readyOf(t, peer).ObservedGeneration)
	assert.True(t, readyOf(t, peer).LastTransitionTime.Time.Equal(noon), "K2: still False, so the time stays")

	change(text, 3)
	f.run("p")
	assert.Equal(t, []string{"Normal WaitingForPeer The connection string is well-formed. Waiting for the other cluster."}, f.recorded())
	peer = f.arrives("p")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhasePending, peer.Status.Phase)
	assert.Equal(t, 2, f.sensitive.requests())
}

// R4: one request a generation, however often the object is looked at; and no
// write that wakes the controller itself.
func TestR4ReadsOnceAGeneration(t *testing.T) {
	f := newFixture(t)
	f.holds(joining("p", "u", 1, validString(t)))
	assert.Zero(t, f.run("p"))
	peer := f.arrives("p")
	f.recorded()
	for range 10 {
		f.clock.Step(time.Hour)
		assert.Zero(t, f.run("p"))
	}
	assert.Equal(t, 1, f.sensitive.requests())
	assert.Empty(t, f.writes())
	assert.Empty(t, f.recorded())

	// Somebody writes the status: it is put right without reading the string again.
	tampered := peer.DeepCopy()
	tampered.Status.Phase = peeringv1alpha1.ClusterPeerPhaseActive
	require.NoError(t, f.cache.Update(tampered))
	f.run("p")
	assert.Len(t, f.writes(), 1, "S1")
	assert.Equal(t, 1, f.sensitive.requests())

	// An object of that name that was made anew is another one.
	again := redacted(joining("p", "v", 1, validString(t)))
	require.NoError(t, f.cache.Update(again))
	f.sensitive.answers(http.StatusOK, joining("p", "v", 1, "hello"))
	f.run("p")
	assert.Equal(t, 2, f.sensitive.requests())

	// Forgotten when it is gone.
	require.NoError(t, f.cache.Delete(again))
	f.run("p")
	assert.Empty(t, f.memory.peers)
}

// R4: a redacted or refused answer shows as a condition, and is asked for again
// after a while, not all the time.
func TestR4SensitiveAccessDenied(t *testing.T) {
	for name, deny := range map[string]func(*sensitiveServer){
		"placeholder": func(s *sensitiveServer) { s.answers(http.StatusOK, joining("p", "u", 1, "<omitted>")) },
		"forbidden": func(s *sensitiveServer) {
			s.answers(http.StatusForbidden, failure(http.StatusForbidden, metav1.StatusReasonForbidden))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(joining("p", "u", 1, validString(t)))
			deny(f.sensitive)
			assert.Equal(t, deniedFor, f.run("p"))
			assert.Equal(t, []string{"Warning SensitiveAccessDenied spec.join.connectionString cannot be read: Entente lacks permission to get clusterpeers/sensitive."}, f.recorded())
			peer := f.arrives("p")
			assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, peer.Status.Phase)
			assert.Equal(t, ReasonSensitiveAccessDenied, readyOf(t, peer).Reason)

			f.clock.Step(deniedFor / 3)
			assert.Equal(t, deniedFor-deniedFor/3, f.run("p"))
			assert.Equal(t, 1, f.sensitive.requests())

			f.clock.Step(deniedFor)
			assert.Equal(t, deniedFor, f.run("p"))
			assert.Equal(t, 2, f.sensitive.requests())
			assert.Empty(t, f.writes())
			assert.Empty(t, f.recorded())

			f.clock.Step(deniedFor)
			f.sensitive.answers(http.StatusOK, joining("p", "u", 1, validString(t)))
			assert.Zero(t, f.run("p"))
			assert.Equal(t, ReasonWaitingForPeer, readyOf(t, f.arrives("p")).Reason)
		})
	}
}

// What is sent is server-side apply to the status by our own manager, with our
// own fields and nothing of the spec.
func TestWriteIsAnApplyOfOurFields(t *testing.T) {
	f := newFixture(t)
	peer := joining("p", "u", 4, validString(t))
	peer.Status.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: metav1.NewTime(yesterday)}}
	f.holds(peer)
	f.run("p")
	require.Len(t, f.writes(), 1)
	patch := f.writes()[0]
	assert.Equal(t, types.ApplyPatchType, patch.PatchType)
	assert.Equal(t, "status", patch.Subresource)
	assert.Equal(t, FieldManager, patch.PatchOptions.FieldManager)
	require.NotNil(t, patch.PatchOptions.Force)
	assert.True(t, *patch.PatchOptions.Force)
	var sent map[string]any
	require.NoError(t, json.Unmarshal(patch.Patch, &sent))
	assert.Equal(t, map[string]any{
		"apiVersion": "peering.entente.dev/v1alpha1",
		"kind":       "ClusterPeer",
		"metadata":   map[string]any{"name": "p", "uid": "u"},
		"status": map[string]any{
			"phase":              "Pending",
			"observedGeneration": float64(4),
			"conditions": []any{map[string]any{
				"type": "Ready", "status": "False", "reason": "WaitingForPeer", "observedGeneration": float64(4),
				"message": "The connection string is well-formed. Waiting for the other cluster.", "lastTransitionTime": "2026-11-01T12:00:00Z",
			}},
		},
	}, sent)
	assert.Len(t, f.arrives("p").Status.Conditions, 2)
}

// After a write, an object as it was before is not acted upon: no second write, no
// second Event. Not for ever, though: a restored store never shows the write.
func TestSyncWaitsForItsOwnWrite(t *testing.T) {
	f := newFixture(t)
	f.client.PrependReactor("patch", "clusterpeers", func(clienttesting.Action) (bool, runtime.Object, error) {
		written := joining("p", "u", 1, "")
		written.ResourceVersion = "100"
		return true, written, nil
	})
	stale := joining("p", "u", 1, "")
	stale.ResourceVersion = "99"
	f.holds(stale)
	f.run("p")
	require.Len(t, f.writes(), 1)
	require.Len(t, f.recorded(), 1)

	f.clock.Step(time.Second)
	assert.Equal(t, arrival-time.Second, f.run("p"))
	assert.Len(t, f.writes(), 1)
	assert.Empty(t, f.recorded())

	f.clock.Step(arrival)
	assert.Zero(t, f.run("p"))
	assert.Len(t, f.writes(), 2)

	shown := stale.DeepCopy()
	shown.ResourceVersion = "100"
	require.NoError(t, f.cache.Update(shown))
	f.run("p")
	assert.Len(t, f.writes(), 3, "what was written is there, and the status was changed since")
}

func TestSyncOfObjectsThatMoveOn(t *testing.T) {
	t.Run("not there", func(t *testing.T) {
		f := newFixture(t)
		f.run("p")
		assert.Empty(t, f.client.Actions())
	})
	t.Run("being deleted", func(t *testing.T) {
		f := newFixture(t)
		peer := joining("p", "u", 2, validString(t))
		peer.DeletionTimestamp, peer.Finalizers = &metav1.Time{Time: noon}, []string{"example.com/other"}
		f.holds(peer)
		f.run("p")
		assert.Empty(t, f.writes())
		assert.Zero(t, f.sensitive.requests())
	})
	t.Run("gone when the string is read", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joining("p", "u", 1, validString(t)))
		f.sensitive.answers(http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound))
		f.run("p")
		assert.Empty(t, f.writes())
	})
	t.Run("changed when the string is read", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joining("p", "u", 1, validString(t)))
		f.sensitive.answers(http.StatusOK, joining("p", "u", 2, "hello"))
		f.run("p")
		assert.Empty(t, f.writes(), "the informer brings it")

		require.NoError(t, f.cache.Update(redacted(joining("p", "u", 2, "hello"))))
		f.run("p")
		require.Len(t, f.writes(), 1)
		assert.Contains(t, string(f.writes()[0].Patch), ReasonInvalidConnectionString)
		assert.Equal(t, 1, f.sensitive.requests(), "what was found then counts for generation 2")
	})
	for name, failed := range map[string]struct {
		answer error
		again  bool
	}{
		"gone when the status is written":     {apierrors.NewNotFound(peeringv1alpha1.Resource("clusterpeers"), "p"), false},
		"conflict when the status is written": {apierrors.NewConflict(peeringv1alpha1.Resource("clusterpeers"), "p", nil), true},
		"server away":                         {apierrors.NewServiceUnavailable("away"), true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.client.PrependReactor("patch", "clusterpeers", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, failed.answer
			})
			f.holds(joining("p", "u", 1, ""))
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
			if failed.again {
				require.ErrorIs(t, err, failed.answer)
			} else {
				require.NoError(t, err)
			}
			assert.Empty(t, f.recorded(), "an Event about something that was not written")
		})
	}
	t.Run("string cannot be read", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joining("p", "u", 1, validString(t)))
		f.sensitive.answers(http.StatusInternalServerError, failure(http.StatusInternalServerError, metav1.StatusReasonInternalError))
		_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
		require.True(t, apierrors.IsInternalError(err), "%v", err)
		assert.Empty(t, f.writes(), "it is not known what to write")
	})
}

// R15: the string reaches neither a write, nor an Event, nor what is remembered.
func TestR15NothingOfTheStringLeaves(t *testing.T) {
	text := validString(t)
	for _, value := range []string{text, text + "\n", text[:50], canary, "entente1." + canary + ".00000000"} {
		f := newFixture(t)
		logs := captureLogs(t, true)
		f.holds(joining("p", "u", 1, value))
		f.run("p")
		require.Len(t, f.writes(), 1)
		left := string(f.writes()[0].Patch) + logs()
		for _, event := range f.recorded() {
			left += event
		}
		remembered, err := json.Marshal(f.memory.peers["p"].inspected.found.fault)
		require.NoError(t, err)
		left += string(remembered)
		for _, piece := range []string{canary, text[9:30], "canary"} {
			assert.NotContains(t, left, piece)
		}
	}
}
