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

package outlet

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func (w *world) carriers() (current, retired int) {
	w.outlet.carriers.lock.Lock()
	defer w.outlet.carriers.lock.Unlock()
	return len(w.outlet.carriers.current), len(w.outlet.carriers.retired)
}

// P2: another data credential is used at once. What goes on over the connections of the one
// before does so, for a while.
func TestP2DataRenewed(t *testing.T) {
	w := newWorld(t)
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.EqualValues(t, 1, w.far.connections.Load(), "connections are used again")
	w.far.answers(events(nil))
	response, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer response.Body.Close()

	renewed := w.certified(w.clock.Now())
	w.edit(func(p *record.Peer) { p.Remote.Data = renewed })
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		assert.Equal(t, renewed.Certificate, r.TLS.PeerCertificates[0].Raw)
		rw.WriteHeader(http.StatusNoContent)
	})
	for range 2 {
		assert.Equal(t, http.StatusNoContent, w.get().code)
	}
	assert.EqualValues(t, 2, w.far.connections.Load())
	_, retired := w.carriers()
	assert.Equal(t, 1, retired)
	require.NoError(t, response.Body.Close())
	require.Eventually(t, func() bool { _, retired := w.carriers(); return retired == 0 && w.far.open.Load() == 1 }, soon, tick, "its last request is over")
}

// P2: what was opened with a credential that was replaced does not go on for ever.
func TestP2DataReplacedLongAgo(t *testing.T) {
	w := newWorld(t)
	w.far.answers(events(nil))
	response, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer response.Body.Close()
	ending := ends(response.Body)
	renewed := w.certified(w.clock.Now())
	w.edit(func(p *record.Peer) { p.Remote.Data = renewed })
	w.far.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
	assert.Equal(t, http.StatusNoContent, w.get().code)
	w.clock.Step(grace - time.Minute)
	goesOn(t, ending)
	w.clock.Step(time.Minute)
	w.eventually(func() bool { return len(ending) > 0 }, "the end")
	assert.NoError(t, <-ending)
	assert.Equal(t, http.StatusNoContent, w.get().code)
}

// P2: a peer that has no access any more, or is gone, has no connection either, and one
// that comes back has new ones.
func TestP2AccessLost(t *testing.T) {
	for name, change := range map[string]func(*record.Peer){
		"left":    func(p *record.Peer) { p.Remote.Fault = record.PeerLeft },
		"is gone": func(p *record.Peer) { p.Remote = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			assert.Equal(t, http.StatusOK, w.get().code)
			require.EqualValues(t, 1, w.far.open.Load())
			before := *w.ledger.Peer(eastUID).Remote
			w.edit(change)
			w.eventually(func() bool { current, _ := w.carriers(); return current == 0 && w.far.open.Load() == 0 }, "it is closed")
			w.edit(func(p *record.Peer) { p.Remote = &before })
			assert.Equal(t, http.StatusOK, w.get().code)
		})
	}
}

// Another endpoint or trust bundle makes another way.
func TestG8PeerMoves(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	assert.Equal(t, http.StatusOK, w.get().code)
	w.edit(func(p *record.Peer) {
		theirs := other.ledger.Peer(eastUID).Remote
		p.Remote.Endpoints = theirs.Endpoints
	})
	assert.Equal(t, http.StatusBadGateway, w.get().code, "somebody else is there")
	w.edit(func(p *record.Peer) { p.Remote.Trust = other.ledger.Peer(eastUID).Remote.Trust })
	assert.Equal(t, http.StatusServiceUnavailable, w.get().code, "it is the peer, and does not know us")
	w.edit(func(p *record.Peer) { p.Remote.Data = other.ledger.Peer(eastUID).Remote.Data })
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.EqualValues(t, 1, other.far.requests.Load())
	w.eventually(func() bool { return w.far.open.Load() == 0 }, "the way that was replaced is closed")
}

// A key that is none is said, not met with a panic.
func TestP2BrokenCredential(t *testing.T) {
	w := newWorld(t)
	w.edit(func(p *record.Peer) { p.Remote.Data.Key = record.NewSecret([]byte(canary)) })
	answer := w.get()
	assert.Equal(t, http.StatusServiceUnavailable, answer.code)
	assert.NotContains(t, answer.body, canary)
}
