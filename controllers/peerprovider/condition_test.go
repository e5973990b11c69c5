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

package peerprovider

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// provided is a ClusterPeer whose provider was made.
func provided(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
	f.settles("west")
	require.Equal(t, "False ProviderPending", f.condition())
	f.events()
	return f
}

// The reference: each reason of TokenExchangeReady, by the situation that it names.
func TestG6TokenExchangeReady(t *testing.T) {
	becomes := func(status metav1.ConditionStatus, reason, message string) func(*fixture) {
		return func(f *fixture) { f.judges(status, reason, message) }
	}
	for name, test := range map[string]struct {
		change  func(*fixture)
		want    string
		message string // of it a part
	}{
		"ready":               {becomes("True", "InUse", ""), "True ProviderReady", "peer-west"},
		"ready by any reason": {becomes("True", "Ready", ""), "True ProviderReady", "peer-west"},
		"prefix":              {becomes("False", "PrefixConflict", "It says so."), "False PrefixConflict", "It says so."},
		"spec":                {becomes("False", "InvalidSpec", "It says so."), "False InvalidSpec", "It says so."},
		"discovery":           {becomes("False", "DiscoveryFailed", "It says so."), "False DiscoveryFailed", "It says so."},
		"apply":               {becomes("False", "ApplyError", "It says so."), "False ApplyError", "It says so."},
		"apply, no message":   {becomes("False", "ApplyError", "\n\x00"), "False ApplyError", "says no more of it"},
		"another reason":      {becomes("False", "Whatever", "It says so."), "False ProviderNotReady", "does not say why"},
		"no reason":           {becomes("False", "", ""), "False ProviderNotReady", "does not say why"},
		"unknown":             {becomes("Unknown", "InvalidSpec", ""), "False ProviderNotReady", "does not say why"},
		"no status at all":    {becomes("", "", ""), "False ProviderNotReady", "does not say why"},
		"not judged":          {func(*fixture) {}, "False ProviderPending", "just made or changed"},
		"judged before it changed": {func(f *fixture) {
			f.judges("True", "InUse", "")
			f.plans.says(withPeer("logs"), nil)
		}, "False ProviderPending", "just made or changed"},
		"an old condition": {func(f *fixture) {
			f.judges("True", "InUse", "")
			f.change(func(p *peeringv1alpha1.TokenExchangeProvider) { p.Status.Conditions[0].ObservedGeneration = 0 })
		}, "False ProviderPending", "just made or changed"},
		"an old status": {func(f *fixture) {
			f.judges("True", "InUse", "")
			f.change(func(p *peeringv1alpha1.TokenExchangeProvider) { p.Status.ObservedGeneration = 0 })
		}, "False ProviderPending", "just made or changed"},
		"deleting": {func(f *fixture) {
			f.judges("True", "InUse", "")
			f.change(func(p *peeringv1alpha1.TokenExchangeProvider) {
				p.Finalizers, p.DeletionTimestamp = []string{"example.com/hold"}, &metav1.Time{Time: noon}
			})
		}, "False ProviderDeleting", "made again when it is gone"},
		"foreign": {func(f *fixture) {
			f.judges("True", "InUse", "")
			f.change(func(p *peeringv1alpha1.TokenExchangeProvider) { p.Annotations = nil })
		}, "False ForeignProvider", "was not made by Entente"},
		"awaiting": {func(f *fixture) { f.publishes(nil) }, "False AwaitingIssuer", "has not published"},
		"no key set": {func(f *fixture) {
			f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: `{"keys":"planted"}`})
		}, "False ProviderRejected", "are not a JSON Web Key Set"},
		"no peering": {func(f *fixture) { f.plans.says(&access.Plan{Name: "west", UID: westUID}, nil) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := provided(t)
			test.change(f)
			f.settles("west")
			assert.Equal(t, test.want, f.condition())
			if test.want == "" {
				return
			}
			assert.Contains(t, f.message(), test.message)
			assert.NotContains(t, f.message(), "planted")
			condition := meta.FindStatusCondition(f.clusterPeer().Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady)
			assert.EqualValues(t, 3, condition.ObservedGeneration)
			isFault := strings.HasSuffix(test.want, "ForeignProvider") || strings.HasSuffix(test.want, "ProviderRejected")
			reason, _ := f.Fault(westUID)
			assert.Equal(t, isFault, reason != "", reason)
		})
	}
}

// What a provider says is passed on as printable text, and not too much of it.
func TestG6MessageIsBounded(t *testing.T) {
	f := provided(t)
	f.judges("False", "InvalidSpec", strings.Repeat("é\x1b\n\u202e\xff", 3000))
	f.settles("west")
	assert.Equal(t, strings.Repeat("é", 1024), f.message())
}

// K2: the time of the last transition stays while the status does, and nothing is written
// when nothing changed.
func TestK2Condition(t *testing.T) {
	f := provided(t)
	since := func() time.Time {
		return meta.FindStatusCondition(f.clusterPeer().Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady).LastTransitionTime.UTC()
	}
	assert.Equal(t, noon, since())
	f.clock.SetTime(noon.Add(time.Hour + 300*time.Millisecond))
	f.judges("False", "InvalidSpec", "x")
	f.settles("west")
	assert.Equal(t, noon, since())
	f.judges("True", "InUse", "x")
	f.settles("west")
	assert.Equal(t, noon.Add(time.Hour), since())
	f.clock.SetTime(noon.Add(2 * time.Hour))
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Empty(t, f.writes())
}

// One Event a transition that lasts, none a look, and none for what passes or for what the
// controller of ClusterPeers tells.
func TestEventsAreOfTransitions(t *testing.T) {
	f := newFixture(t)
	f.settles("west")
	assert.Equal(t, []string{"Normal AwaitingIssuer The other cluster has not published the issuer of its ServiceAccount tokens."}, f.events())
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
	f.settles("west")
	assert.Empty(t, f.events(), "it is pending")
	f.judges("True", "InUse", "")
	f.settles("west")
	require.Len(t, f.events(), 1)
	f.plans.says(withPeer("logs"), nil)
	f.settles("west")
	f.judges("True", "InUse", "")
	f.settles("west")
	assert.Empty(t, f.events(), "as before")
	f.judges("False", "InvalidSpec", "No.")
	f.settles("west")
	assert.Equal(t, []string{"Warning InvalidSpec No."}, f.events())
	f.restart()
	f.settles("west")
	assert.Empty(t, f.events(), "another process knows from the status")
	f.judges("False", "InvalidSpec", "No, no.")
	f.settles("west")
	assert.Empty(t, f.events(), "other words")
	f.change(func(p *peeringv1alpha1.TokenExchangeProvider) { p.Annotations = nil })
	f.settles("west")
	assert.Empty(t, f.events(), "that is told with Ready")
	require.NoError(t, f.server.Tracker().Delete(providers, "", "peer-west"))
	f.settles("west")
	f.judges("False", "InvalidSpec", "No.")
	f.settles("west")
	assert.Len(t, f.events(), 1)
}

// Statuses that were changed meanwhile are not written over, and nothing is told.
func TestLosesRaces(t *testing.T) {
	for name, answer := range map[string]error{
		"changed": conflict(clusterPeers, "west"),
		"gone":    apierrors.NewNotFound(clusterPeers.GroupResource(), "west"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			undo := f.refuses("patch", clusterPeers.Resource, answer)
			_, err := f.once("west")
			require.NoError(t, err)
			assert.Empty(t, f.events())
			undo()
			f.settles("west")
			assert.Len(t, f.events(), 1)
		})
	}
	t.Run("our own write is not seen yet", func(t *testing.T) {
		f := newFixture(t)
		f.shown()
		f.stop()
		for range 2 {
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
			require.NoError(t, err)
		}
		assert.Len(t, f.events(), 1)
	})
	t.Run("it cannot be written", func(t *testing.T) {
		f := newFixture(t)
		f.refuses("patch", clusterPeers.Resource, apierrors.NewServiceUnavailable("x"))
		_, err := f.once("west")
		require.ErrorContains(t, err, "could not write the status")
		assert.Empty(t, f.events())
	})
}

// The controller of ClusterPeers is told when a fault comes, changes and goes.
func TestFaultsAreTold(t *testing.T) {
	f := provided(t)
	var told []string
	cancel := f.Subscribe(func(name cache.ObjectName) { told = append(told, name.Name) })
	heard := func() int {
		defer func() { told = nil }()
		return len(told)
	}
	f.settles("west")
	assert.Zero(t, heard())
	f.change(func(p *peeringv1alpha1.TokenExchangeProvider) { p.Annotations = nil })
	f.settles("west")
	assert.Equal(t, 1, heard())
	require.NoError(t, f.server.Tracker().Delete(providers, "", "peer-west"))
	f.settles("west")
	assert.Equal(t, 1, heard())
	cancel()
	f.publishes(&protocol.Issuer{URL: "https://x", JWKS: "x"})
	f.settles("west")
	assert.Zero(t, heard())

	reason, _ := f.Fault(westUID)
	assert.Equal(t, "ProviderRejected", reason)
	for _, uid := range []string{"", "another"} {
		reason, _ = f.Fault(uid)
		assert.Empty(t, reason, uid)
	}
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: "old", Name: "west"})
	}))
	reason, _ = f.Fault("old")
	assert.Empty(t, reason, "of another ClusterPeer that had the name")
	require.NoError(t, f.server.Tracker().Delete(clusterPeers, "", "west"))
	f.settles("west")
	reason, _ = f.Fault(westUID)
	assert.Empty(t, reason)
}

// G6: where no workload is let in, no provider says that tokens are verified, and no
// ClusterPeer; what was there before goes, but for what others made.
func TestG6NothingIsServed(t *testing.T) {
	serves := func(f *fixture, serves bool) {
		f.unserved = !serves
		f.restart()
		f.settles("west")
	}
	f := provided(t)
	f.judges("True", "InUse", "")
	f.settles("west")
	require.Equal(t, "True ProviderReady", f.condition())
	serves(f, false)
	assert.Nil(t, f.provider())
	assert.Empty(t, f.condition())
	f.publishes(nil)
	f.settles("west")
	assert.Empty(t, f.condition(), "nor is anybody waited for")
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
	f.plans.says(nil, access.ErrUnknown)
	f.settles("west")
	assert.Nil(t, f.provider())
	f.plans.says(withPeer(), nil)
	serves(f, true)
	assert.NotNil(t, f.provider())
	assert.Equal(t, "False ProviderPending", f.condition())

	f.change(func(p *peeringv1alpha1.TokenExchangeProvider) { p.Annotations = nil })
	f.settles("west")
	require.Equal(t, "False ForeignProvider", f.condition())
	f.unserved = true
	f.restart()
	reason, _ := f.Fault(westUID)
	assert.Empty(t, reason, "whatever the status says still")
	f.settles("west")
	assert.NotNil(t, f.provider())
	assert.Empty(t, f.condition())
	reason, _ = f.Fault(westUID)
	assert.Empty(t, reason)
	assert.Empty(t, f.events())
}

// Keys that are no key set are looked at again when the peer publishes others, and no sooner.
func TestG6NoKeySetIsNotTriedAgain(t *testing.T) {
	f := newFixture(t)
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: "no key set"})
	for range 2 {
		again, err := f.once("west")
		require.NoError(t, err)
		assert.Zero(t, again)
	}
	assert.Equal(t, "False ProviderRejected", f.condition())
}
