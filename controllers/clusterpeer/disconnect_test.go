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
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// paired is a fixture with a ClusterPeer that has a peer.
func newPaired(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.holds(joinPeer("p", "u", 1, validString(t)))
	f.settle("p")
	f.confirm()
	f.settle("p")
	f.recorded()
	return f
}

func (f *fixture) delete(name string) {
	f.change(name, func(p *peeringv1alpha1.ClusterPeer) { p.DeletionTimestamp = &metav1.Time{Time: noon} })
}

// P12, S3: access ends first, then the other cluster is told, then the object goes; our
// finalizer and no other comes off.
func TestP12Disconnect(t *testing.T) {
	f := newPaired(t)
	key := f.ledger.Peer("u").Remote.Keys[0].Hash
	f.dialer.leave = func(ctx context.Context) error {
		assert.Nil(t, f.ledger.Peer("u"), "access ends before the other cluster is told")
		deadline, limited := ctx.Deadline()
		assert.True(t, limited)
		assert.LessOrEqual(t, time.Until(deadline), 5*time.Second)
		return nil
	}
	f.delete("p")
	f.settle("p")
	require.Len(t, f.dialer.lefts, 1)
	assert.NotEmpty(t, f.dialer.lefts[0].Ours.Certificate)
	assert.False(t, f.dialer.lefts[0].Ours.Key.IsZero())
	assert.NotNil(t, f.ledger.Tombstone(key), "410")
	assert.Equal(t, []string{"example.com/first"}, f.real("p").Finalizers)
	assert.Equal(t, []string{"Normal Disconnected The peering has ended. The other cluster was told."}, f.recorded())
	f.settle("p")
	assert.Len(t, f.dialer.lefts, 1, "once")

	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Finalizers = nil })
	f.arrives("p")
	f.run("p")
	assert.Empty(t, f.memory.peers)
}

// P12: it never waits for the other cluster, and tells nobody who need not be told.
func TestP12DisconnectWithoutAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*fixture)
		dials   int
		event   string
	}{
		"out of reach": {
			func(f *fixture) { f.dialer.leave = func(context.Context) error { return errInjected } }, 1,
			"Normal Disconnected The peering has ended. The other cluster could not be told, and finds out when it is next in touch.",
		},
		"cannot be dialled": {
			func(f *fixture) { f.record("u", func(p *record.Peer) { p.Remote.Endpoints = nil }) }, 0,
			"Normal Disconnected The peering has ended. The other cluster could not be told, and finds out when it is next in touch.",
		},
		"has left itself": {
			func(f *fixture) {
				require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error { return record.Leave(tx, "u", noon) }))
			}, 0, "",
		},
		"never paired": {func(f *fixture) { f.record("u", func(p *record.Peer) { p.Remote = nil }) }, 0, ""},
		"no record": {
			func(f *fixture) {
				require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error { return tx.DeletePeer("u") }))
			}, 0, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newPaired(t)
			test.prepare(f)
			f.delete("p")
			f.settle("p")
			assert.Nil(t, f.ledger.Peer("u"))
			assert.Len(t, f.dialer.lefts, test.dials)
			assert.Equal(t, []string{"example.com/first"}, f.real("p").Finalizers)
			if test.event == "" {
				assert.Empty(t, f.recorded())
			} else {
				assert.Equal(t, []string{test.event}, f.recorded())
			}
		})
	}
}

// P12: killed at every step, another controller goes on. The finalizer stays as long as
// the access does.
func TestDisconnectKilledAtEveryStep(t *testing.T) {
	for name, kill := range map[string]func(*fixture){
		"before the record is removed": func(f *fixture) { f.ledger.before = func(int) error { return errInjected } },
		"after the record was removed": func(f *fixture) { f.ledger.after = func(int) error { return errInjected } },
		"before the finalizer is off": func(f *fixture) {
			f.fails(http.MethodPatch, "/p", http.StatusInternalServerError, metav1.StatusReasonInternalError)
		},
		"the finalizers have moved": func(f *fixture) {
			f.server.objects["p"].Finalizers = []string{peeringv1alpha1.FinalizerDisconnect, "example.com/second"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newPaired(t)
			f.delete("p")
			kill(f)
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
			require.Error(t, err)
			assert.Contains(t, f.real("p").Finalizers, peeringv1alpha1.FinalizerDisconnect)
			f.ledger.before, f.ledger.after = nil, nil
			f.server.instead(nil)
			f.arrives("p")
			f.restart()
			f.settle("p")
			assert.Nil(t, f.ledger.Peer("u"))
			peer := f.real("p")
			assert.NotContains(t, peer.Finalizers, peeringv1alpha1.FinalizerDisconnect)
			assert.Len(t, peer.Finalizers, 1, "that of somebody else stays")
		})
	}
}

// P12: records of ClusterPeers whose finalizer was forced off are swept, when they go
// and at the start; those of others are not, even if the informer does not show them.
func TestP12Sweep(t *testing.T) {
	t.Run("when it goes", func(t *testing.T) {
		f := newPaired(t)
		delete(f.server.objects, "p")
		f.arrives("p")
		f.run("p")
		assert.Nil(t, f.ledger.Peer("u"))
		assert.Len(t, f.dialer.lefts, 1)
	})
	t.Run("at the start", func(t *testing.T) {
		f := newPaired(t)
		delete(f.server.objects, "p")
		f.arrives("p")
		f.restart()
		var enqueued []cache.ObjectName
		cancel := f.subscribe(func(name cache.ObjectName) { enqueued = append(enqueued, name) })
		defer cancel()
		assert.Equal(t, []cache.ObjectName{{Name: "p"}}, enqueued)
		f.run("p")
		assert.Nil(t, f.ledger.Peer("u"))
	})
	t.Run("made anew", func(t *testing.T) {
		f := newPaired(t)
		f.holds(joinPeer("p", "v", 1, ""))
		peer, _ := f.settle("p")
		assert.Nil(t, f.ledger.Peer("u"))
		assert.Equal(t, ReasonWaitingForConnectionString, readyOf(t, peer).Reason)
	})
	t.Run("the informer is behind", func(t *testing.T) {
		f := newPaired(t)
		require.NoError(t, f.cache.Delete(&peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "p"}}))
		f.restart()
		f.run("p")
		assert.NotNil(t, f.ledger.Peer("u"))
	})
	t.Run("the server is away", func(t *testing.T) {
		f := newPaired(t)
		require.NoError(t, f.cache.Delete(&peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "p"}}))
		f.server.answers(500, failure(500, metav1.StatusReasonInternalError))
		_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
		require.Error(t, err)
		assert.NotNil(t, f.ledger.Peer("u"))
	})
	t.Run("S2: the store was restored", func(t *testing.T) {
		f := newPaired(t)
		delete(f.server.objects, "p")
		f.arrives("p")
		f.ledger.SetFresh(record.ErrRestored)
		assert.Equal(t, staleFor, f.run("p"))
		assert.NotNil(t, f.ledger.Peer("u"))
	})
}
