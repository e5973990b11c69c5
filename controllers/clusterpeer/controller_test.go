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
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
)

// damaged is a string that is none, so that nobody is dialled for it.
func damaged(t *testing.T) string { return validString(t)[:30] + validString(t)[31:] }

// R4, K2: from a Join without a string to one with a string that is damaged, then
// mended: what is written, asked and recorded at each step.
func TestSyncFollowsTheObject(t *testing.T) {
	f := newFixture(t)
	f.holds(joinPeer("p", "u", 1, ""))
	peer, _ := f.settle("p")
	assert.Equal(t, ReasonWaitingForConnectionString, readyOf(t, peer).Reason)
	assert.Equal(t, []string{"Normal WaitingForConnectionString spec.join.connectionString is not set."}, f.recorded())
	assert.Zero(t, f.server.requests(), "R4: nothing is set, so nothing is to be read")
	assert.Nil(t, f.ledger.Peer("u"))

	change := func(text string, generation int64) {
		f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Spec.Join.ConnectionString, p.Generation = text, generation })
	}
	f.clock.Step(30 * time.Minute)
	change(damaged(t), 2)
	peer, _ = f.settle("p")
	assert.Equal(t, []string{"Warning InvalidConnectionString spec.join.connectionString is not valid: checksum: does not match; the string was changed or cut while it was copied."}, f.recorded())
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, peer.Status.Phase)
	assert.EqualValues(t, 2, peer.Status.ObservedGeneration)
	assert.EqualValues(t, 2, readyOf(t, peer).ObservedGeneration)
	assert.True(t, readyOf(t, peer).LastTransitionTime.Time.Equal(noon), "K2: still False, so the time stays")
	assert.Equal(t, 1, f.server.requests())

	change(validString(t), 3)
	peer, _ = f.settle("p")
	assert.Equal(t, peeringv1alpha1.ClusterPeerPhasePending, peer.Status.Phase)
	assert.Equal(t, 3, f.server.requests(), "once to look, once to dial")
}

// R4: one request a generation, however often the object is looked at; and no
// write that wakes the controller itself.
func TestR4ReadsOnceAGeneration(t *testing.T) {
	f := newFixture(t)
	f.holds(joinPeer("p", "u", 1, damaged(t)))
	f.settle("p")
	f.recorded()
	for range 10 {
		f.clock.Step(time.Hour)
		assert.Zero(t, f.run("p"))
	}
	assert.Equal(t, 1, f.server.requests())
	assert.Empty(t, f.writes())
	assert.Empty(t, f.recorded())

	// Somebody writes the status: it is put right without reading the string again.
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Status.Phase = peeringv1alpha1.ClusterPeerPhaseActive })
	f.run("p")
	assert.Len(t, f.writes(), 1, "S1")
	assert.Equal(t, 1, f.server.requests())

	// An object of that name that was made anew is another one.
	f.holds(joinPeer("p", "v", 1, "hello"))
	f.run("p")
	assert.Equal(t, 2, f.server.requests())

	// Forgotten when it is gone.
	delete(f.server.objects, "p")
	f.arrives("p")
	f.run("p")
	assert.Empty(t, f.memory.peers)
}

// P9: beats that change nothing that is shown are not written; a contact is, to the
// minute that the record has.
func TestP9WritesOnChange(t *testing.T) {
	f := newPaired(t)
	f.record("u", func(p *record.Peer) { p.Remote.Contact = noon })
	f.run("p")
	require.Len(t, f.writes(), 1)
	peer := f.arrives("p")
	assert.True(t, peer.Status.Peer.LastSyncTime.Time.Equal(noon))
	for range 10 {
		f.clock.Step(6 * time.Second)
		f.record("u", func(p *record.Peer) { p.Remote.Acked.Trust = "a" + p.Remote.Acked.Trust })
		f.run("p")
	}
	assert.Empty(t, f.writes())
	assert.Empty(t, f.recorded())
}

// S3: while the ledger cannot be relied on nothing is said, minted or dialled.
func TestS3StaleLedger(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.ledger.SetFresh(record.ErrStale)
	assert.Equal(t, staleFor, f.run("p"))
	assert.Empty(t, f.writes())
	f.ledger.SetFresh(nil)
	f.settle("p")
	f.text("p")
}

// R4: a redacted or refused answer shows as a condition, and is asked for again
// after a while, not all the time.
func TestR4SensitiveAccessDenied(t *testing.T) {
	for name, deny := range map[string]func(http.ResponseWriter){
		"placeholder": func(w http.ResponseWriter) { respond(w, http.StatusOK, joinPeer("p", "u", 1, "<omitted>")) },
		"forbidden": func(w http.ResponseWriter) {
			respond(w, http.StatusForbidden, failure(http.StatusForbidden, metav1.StatusReasonForbidden))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(joinPeer("p", "u", 1, validString(t)))
			f.server.instead(func(w http.ResponseWriter, request *http.Request) bool {
				if !strings.HasSuffix(request.URL.Path, "/sensitive") {
					return false
				}
				deny(w)
				return true
			})
			peer, again := f.settle("p")
			assert.Equal(t, deniedFor, again)
			assert.Equal(t, []string{"Warning SensitiveAccessDenied spec.join.connectionString cannot be read: Entente lacks permission to get clusterpeers/sensitive."}, f.recorded())
			assert.Equal(t, peeringv1alpha1.ClusterPeerPhaseError, peer.Status.Phase)
			assert.Equal(t, ReasonSensitiveAccessDenied, readyOf(t, peer).Reason)

			f.clock.Step(deniedFor / 3)
			assert.Equal(t, deniedFor-deniedFor/3, f.run("p"))
			assert.Equal(t, 1, f.server.requests())

			f.clock.Step(deniedFor)
			assert.Equal(t, deniedFor, f.run("p"))
			assert.Equal(t, 2, f.server.requests())
			assert.Empty(t, f.writes())
			assert.Empty(t, f.recorded())

			f.clock.Step(deniedFor)
			f.server.instead(nil)
			peer, _ = f.settle("p")
			assert.Equal(t, ReasonWaitingForPeer, readyOf(t, peer).Reason)
		})
	}
}

// What is sent is server-side apply to the status by our own manager, with our
// own fields and nothing of the spec.
func TestWriteIsAnApplyOfOurFields(t *testing.T) {
	f := newFixture(t)
	peer := joinPeer("p", "u", 4, damaged(t))
	peer.Status.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: metav1.NewTime(yesterday)}}
	f.holds(peer)
	f.run("p")
	require.Len(t, f.writes(), 1)
	patch := f.writes()[0]
	assert.Equal(t, string(types.ApplyYAMLPatchType), patch.contentType)
	assert.Equal(t, "p/status", patch.path)
	assert.Equal(t, "fieldManager="+FieldManager+"&force=true", patch.query)
	var sent map[string]any
	require.NoError(t, json.Unmarshal([]byte(patch.body), &sent))
	assert.Equal(t, map[string]any{
		"apiVersion": "peering.entente.dev/v1alpha1",
		"kind":       "ClusterPeer",
		"metadata":   map[string]any{"name": "p", "uid": "u"},
		"status": map[string]any{
			"phase":              "Error",
			"observedGeneration": float64(4),
			"conditions": []any{map[string]any{
				"type": "Ready", "status": "False", "reason": "InvalidConnectionString", "observedGeneration": float64(4),
				"message":            "spec.join.connectionString is not valid: checksum: does not match; the string was changed or cut while it was copied.",
				"lastTransitionTime": "2026-11-01T12:00:00Z",
			}},
		},
	}, sent)
	assert.Len(t, f.arrives("p").Status.Conditions, 2)

	// All that is owned is in each apply; the placeholder stands for what is stored.
	f = newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Generation = 2 })
	f.run("p")
	require.Len(t, f.writes(), 1)
	invite := statusOf(t, f.writes()[0])["invite"].(map[string]any)
	assert.Equal(t, "<omitted>", invite["connectionString"])
	assert.Equal(t, false, invite["used"])
	assert.Len(t, invite, 5)
	f.text("p")
}

// After a write, an object as it was before is not acted upon: no second write, no
// second Event. Not for ever, though: a restored store never shows the write.
func TestSyncWaitsForItsOwnWrite(t *testing.T) {
	f := newFixture(t)
	f.holds(joinPeer("p", "u", 1, ""))
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

	f.arrives("p")
	f.run("p")
	assert.Empty(t, f.writes())
}

func TestSyncOfObjectsThatMoveOn(t *testing.T) {
	t.Run("not there", func(t *testing.T) {
		f := newFixture(t)
		f.run("p")
		assert.Empty(t, f.writes())
	})
	t.Run("gone when the string is read", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joinPeer("p", "u", 1, validString(t)))
		delete(f.server.objects, "p")
		f.run("p")
		assert.Empty(t, f.writes())
		assert.Empty(t, f.dialer.joins)
	})
	t.Run("changed when the string is read", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joinPeer("p", "u", 1, validString(t)))
		f.server.objects["p"] = joinPeer("p", "u", 2, "hello")
		f.run("p")
		assert.Empty(t, f.writes(), "the informer brings it")
		f.arrives("p")
		f.run("p")
		require.Len(t, f.writes(), 1)
		assert.Contains(t, f.writes()[0].body, ReasonInvalidConnectionString)
		assert.Equal(t, 1, f.server.requests(), "what was found then counts for generation 2")
	})
	for name, code := range map[string]int32{"gone": 404, "conflict": 409, "away": 503} {
		t.Run("status cannot be written: "+name, func(t *testing.T) {
			for _, peer := range []*peeringv1alpha1.ClusterPeer{joinPeer("p", "u", 1, validString(t)), invitePeer("p", "u")} {
				f := newFixture(t)
				f.holds(peer)
				f.fails(http.MethodPatch, "/status", code, metav1.StatusReasonUnknown)
				_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
				assert.Equal(t, code != 404, err != nil, "%v", err)
				assert.Empty(t, f.recorded(), "an Event about something that was not written")
				assert.Empty(t, f.dialer.joins)
			}
		})
	}
	t.Run("string cannot be read", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joinPeer("p", "u", 1, validString(t)))
		f.fails(http.MethodGet, "/sensitive", http.StatusInternalServerError, metav1.StatusReasonInternalError)
		_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
		require.True(t, apierrors.IsInternalError(err), "%v", err)
		assert.Empty(t, f.writes(), "it is not known what to write")
	})
}

// A ClusterPeer is looked at when its record changes, by whoever does it, and not when
// others do.
func TestSubscribe(t *testing.T) {
	f := newFixture(t)
	f.record("u", func(p *record.Peer) {})
	f.record("v", func(p *record.Peer) { p.Name = "q" })
	f.holds(invitePeer("without-record", "w"))
	var enqueued []string
	cancel := f.subscribe(func(name cache.ObjectName) { enqueued = append(enqueued, name.Name) })
	seen := func() []string {
		out := enqueued
		enqueued = nil
		return out
	}
	assert.ElementsMatch(t, []string{"p", "q"}, seen(), "all of them at the start")
	f.record("v", func(p *record.Peer) { p.Remote = livePeer(nil) })
	assert.Equal(t, []string{"q"}, seen())
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutAuthority(&record.Authority{Current: newAuthority(t, "another", noon)})
	}))
	assert.Equal(t, []string{"without-record"}, seen(), "those that the informer knows")
	f.grants("w", record.Grant{Capability: "backup", Objects: []record.GrantedObject{{Kind: "Role", Namespace: "b", Name: "entente-3", UID: "3"}}})
	assert.Equal(t, []string{"without-record"}, seen(), "P12: it may wait for that")
	f.grants("w", record.Grant{Capability: "backup"})
	assert.Equal(t, []string{"without-record"}, seen())
	f.grants("of-nobody", record.Grant{Capability: "backup", Objects: []record.GrantedObject{{Kind: "Role", Namespace: "b", Name: "entente-3", UID: "3"}}})
	assert.Empty(t, seen())
	cancel()
	f.record("v", func(p *record.Peer) { p.Remote = nil })
	assert.Empty(t, seen())
}

// R15: what is no connection string, or a damaged one, leaves no trace either.
func TestR15NothingOfADamagedStringLeaves(t *testing.T) {
	text := validString(t)
	for _, value := range []string{text + "\n", text[:50], canary, "entente1." + canary + ".00000000", damaged(t)} {
		f := newFixture(t)
		f.dialer.says(&client.Failure{Kind: client.Unreachable})
		logs := captureLogs(t, true)
		f.holds(joinPeer("p", "u", 1, value))
		f.run("p")
		require.Len(t, f.writes(), 1)
		left := f.writes()[0].body + logs() + strings.Join(f.recorded(), "\n")
		for _, piece := range []string{canary, text[9:30], "canary"} {
			assert.NotContains(t, left, piece)
		}
	}
}
