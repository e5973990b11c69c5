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

package grant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
)

// K2: the condition keeps the time of its last transition, and is written when something
// changed, only.
func TestK2Condition(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(withoutCluster())
	f.settles("west")
	assert.Empty(t, f.condition("west"), "it was never paired")

	at := func() (since time.Time, generation int64) {
		c := f.peer("west").Status.Conditions[0]
		return c.LastTransitionTime.UTC(), c.ObservedGeneration
	}
	f.clock.SetTime(noon.Add(1500 * time.Millisecond))
	f.plans.set(planned(nil))
	f.settles("west")
	assert.Equal(t, "True Applied: Nothing is granted.", f.condition("west"))
	since, generation := at()
	assert.Equal(t, noon.Add(time.Second), since)
	assert.Equal(t, int64(3), generation)

	f.clock.SetTime(noon.Add(time.Hour))
	f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
	f.settles("west")
	since, _ = at()
	assert.Equal(t, noon.Add(time.Second), since, "its status stays")

	f.plans.set(planned([]access.Capability{capability("logs", "list")}, "a"))
	f.host.before = func(string, ref) error { return errCrash }
	_, err := f.once("west")
	require.Error(t, err)
	since, _ = at()
	assert.Equal(t, noon.Add(time.Hour), since)

	// Its own write has not been seen yet.
	f.clock.SetTime(noon.Add(2 * time.Hour))
	f.host.before = nil
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	written := f.peer("west").Status.Conditions[0]
	f.clock.SetTime(noon.Add(3 * time.Hour))
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	assert.Equal(t, written, f.peer("west").Status.Conditions[0])

	f.api.PrependReactor("patch", "clusterpeers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(peeringv1alpha1.Resource("clusterpeers"), "west")
	})
	f.plans.set(planned(nil))
	_, err = f.once("west")
	require.NoError(t, err, "it was deleted meanwhile")
}

// K2: another replica, which led meanwhile, may have written a later transition.
func TestK2TransitionOfAnother(t *testing.T) {
	at := func(hours int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(hours) * time.Hour)) }
	is := func(status metav1.ConditionStatus, since metav1.Time) metav1.Condition {
		return metav1.Condition{Type: peeringv1alpha1.ConditionGrantsApplied, Status: status, LastTransitionTime: since}
	}
	for _, test := range []struct {
		mine, theirs metav1.Condition
		wanted       metav1.ConditionStatus
		since        metav1.Time
	}{
		{is("True", at(1)), is("False", at(2)), "False", at(2)},
		{is("True", at(1)), is("False", at(2)), "True", at(9)},
		{is("True", at(2)), is("False", at(1)), "False", at(9)},
		{is("True", at(2)), is("False", at(1)), "True", at(2)},
		{is("True", at(1)), is("True", at(2)), "True", at(2)},
	} {
		peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "west", UID: westUID}}
		peer.Status.Conditions = []metav1.Condition{test.theirs}
		var s said
		s.says(peer, test.mine)
		got := s.since(peer, is(test.wanted, metav1.Time{}), at(9).Time)
		assert.True(t, test.since.Equal(&got.LastTransitionTime), "%+v: %s", test, got.LastTransitionTime)
		another := peer.DeepCopy()
		another.UID, another.Status.Conditions = "another", nil
		got = s.since(another, test.mine, at(9).Time)
		assert.True(t, at(9).Time.Equal(got.LastTransitionTime.Time), "another one of that name")
		s.forgets("west")
		assert.Empty(t, s.last)
	}
}
