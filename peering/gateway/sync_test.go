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

package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func (f *fixture) stored() []byte {
	f.t.Helper()
	data, err := record.Encode(f.Peer(uid))
	require.NoError(f.t, err)
	return data
}

func waiting(seconds int) func(*protocol.SyncRequest) {
	return func(r *protocol.SyncRequest) { r.Wait = seconds }
}

// P9: who lacks something hears it at once and in full; a beat of who lacks nothing is
// held back, brings no bodies, and writes nothing.
func TestP9Beat(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	var first, second protocol.SyncResponse
	l.post(protocol.PathSync, f.beat(j, func(r *protocol.SyncRequest) {
		r.Wait = 15
		r.Holds = protocol.Holding{}
	})).into(t, &first)
	require.NoError(t, first.Validate())
	assert.NotNil(t, first.OfferBody)
	assert.Equal(t, f.Authority().Trust(), first.Trust)
	assert.NotEmpty(t, first.CSR, "P7: ours is not certified yet")

	answers := f.held(l, f.beat(j, waiting(15)))
	silent(t, answers)
	f.clock.Step(15*time.Second - time.Millisecond)
	silent(t, answers)
	f.clock.Step(time.Millisecond)
	receive(t, answers).into(t, &second)
	assert.Nil(t, second.OfferBody)
	assert.Nil(t, second.Trust)

	updates := f.updates.Load()
	l.post(protocol.PathSync, f.beat(j, nil)).into(t, &second)
	assert.Equal(t, updates, f.updates.Load(), "a beat writes nothing")
	assert.Equal(t, noon.Add(15*time.Second), f.gateway.Contact(uid))
	assert.Zero(t, f.gateway.Contact(otherUID))
}

// P9: a change reaches the other side at once.
func TestP9Change(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"offer": func(f *fixture) {
			f.edit(func(p *record.Peer) {
				p.Offer.Body = protocol.Offer{Alias: "east"}
				p.Offer.Generation++
				p.Offer.Digest = p.Offer.Body.Digest()
			})
		},
		"trust": func(f *fixture) {
			f.must(func(tx record.Tx) error {
				authority, err := tx.Authority()
				if err != nil {
					return err
				}
				next := newCA(f.t, "next", noon)
				authority.Next = &next
				return tx.PutAuthority(authority)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, j := paired(t)
			answers := f.held(f.dial(&j.certificate, true), f.beat(j, waiting(15)))
			f.edit(func(p *record.Peer) { p.Name = "renamed" })
			silent(t, answers)
			change(f)
			var response protocol.SyncResponse
			receive(t, answers).into(t, &response)
			assert.Equal(t, name == "offer", response.OfferBody != nil)
			assert.Equal(t, name == "trust", response.Trust != nil)
		})
	}
}

// P9: 30 s is the longest that an answer is held back, whatever is asked for.
func TestP9Wait(t *testing.T) {
	f, j := paired(t)
	answers := f.held(f.dial(&j.certificate, true), f.beat(j, waiting(protocol.MaxWait)))
	f.clock.Step(30 * time.Second)
	receive(t, answers).into(t, &protocol.SyncResponse{})
}

// P9: a peer waits once at a time; who gave up leaves nothing behind.
func TestP9OnePending(t *testing.T) {
	f, j := paired(t)
	first := f.dial(&j.certificate, true)
	older := f.held(first, f.beat(j, waiting(15)))
	newer := make(chan answer, 1)
	ctx, cancel := context.WithCancel(t.Context())
	second := f.dial(&j.certificate, false)
	go func() { newer <- second.postWith(ctx, protocol.PathSync, f.beat(j, waiting(15))) }()
	receive(t, older).is(t, http.StatusTooManyRequests, protocol.FailureBusy)
	f.untilHeld()
	silent(t, newer)
	cancel()
	// Over HTTP/1.1 the library's own empty answer may overtake the end of the connection.
	gaveUp := receive(t, newer)
	assert.Empty(t, gaveUp.body)
	if gaveUp.err != nil {
		require.ErrorIs(t, gaveUp.err, context.Canceled)
	}
	require.Eventually(t, func() bool {
		f.gateway.presences.mu.Lock()
		defer f.gateway.presences.mu.Unlock()
		return f.gateway.presences.byUID[uid].hold == nil
	}, soon, tick)
}

// P9, P15: that a peering is confirmed is told before the answer is held back.
func TestP9ConfirmedAtOnce(t *testing.T) {
	f, j := paired(t)
	answers := f.held(f.dial(&j.certificate, true), f.beat(j, waiting(15)))
	confirmed := f.seen.of(PeerConfirmed)
	require.Len(t, confirmed, 1)
	assert.Equal(t, http.StatusOK, confirmed[0].Code)
	assert.Equal(t, uid, confirmed[0].UID)
	f.clock.Step(15 * time.Second)
	receive(t, answers).into(t, &protocol.SyncResponse{})
	assert.Len(t, f.seen.of(PeerConfirmed), 1)
}

// P9: the end of the gateway answers who waits.
func TestP9Shutdown(t *testing.T) {
	for _, two := range []bool{false, true} {
		f, j := paired(t)
		answers := f.held(f.dial(&j.certificate, two), f.beat(j, waiting(15)))
		began := time.Now()
		require.NoError(t, f.stop())
		receive(t, answers).into(t, &protocol.SyncResponse{})
		assert.Less(t, time.Since(began), 4*time.Second)
		require.Error(t, f.gateway.Serve(t.Context(), nil), "once")
	}
}

// P10: an offer is taken, one that was cloned or changed on the way is not.
func TestP10Offers(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	one := protocol.Offer{Alias: "west"}
	l.post(protocol.PathSync, f.beat(j, offering(1, one))).into(t, &protocol.SyncResponse{})
	assert.Equal(t, one, f.Peer(uid).Remote.Offer.Body)

	// One that does not match its digest, or breaks the rules: the last one stays, and
	// the fault goes with the next good one.
	mismatch := f.beat(j, offering(2, one))
	mismatch.Offer.Digest = protocol.Offer{Alias: "other"}.Digest()
	broken := f.beat(j, offering(2, protocol.Offer{Alias: "canary canary"}))
	tooMuch := f.beat(j, offering(2, protocol.Offer{Projects: projects(protocol.MaxProjects + 1)}))
	broken.Endpoints = []string{"https://moved.example.com"}
	for i, bad := range []protocol.SyncRequest{mismatch, broken, tooMuch} {
		l.post(protocol.PathSync, bad).is(t, http.StatusBadRequest, protocol.FailureInvalidOffer)
		assert.Equal(t, record.InvalidOffer, f.Peer(uid).Remote.Fault)
		assert.Equal(t, one, f.Peer(uid).Remote.Offer.Body)
		assert.Equal(t, bad.Endpoints, f.Peer(uid).Remote.Endpoints, "what stands beside it is taken")
		before := f.stored()
		l.post(protocol.PathSync, bad).is(t, http.StatusBadRequest, protocol.FailureInvalidOffer)
		assert.Equal(t, before, f.stored(), "the same again writes nothing")
		assert.Len(t, f.seen.of(OfferRefused), 2*(i+1))

		l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
		assert.Empty(t, f.Peer(uid).Remote.Fault)
	}
	assert.NotContains(t, f.seen.String(), "canary")

	epoch := f.Epoch()
	l.post(protocol.PathSync, f.beat(j, offering(1, protocol.Offer{Alias: "clone"}))).is(t, http.StatusConflict, protocol.FailureClonedPeer)
	assert.Equal(t, record.ClonedPeer, f.Peer(uid).Remote.Fault)
	assert.Greater(t, f.Epoch(), epoch, "S2: a copy of the store from before must not bring it back")
	l.post(protocol.PathSync, f.beat(j, nil)).is(t, http.StatusConflict, protocol.FailureClonedPeer)
}

// P6: the expected UUID is checked at every sync, and may be mended.
func TestP6ExpectedAtSync(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	f.setSpec(uid, record.Spec{ExpectedClusterUUID: north})
	l.post(protocol.PathSync, f.beat(j, nil)).is(t, http.StatusForbidden, protocol.FailureUUIDMismatch)
	assert.Equal(t, record.UUIDMismatch, f.Peer(uid).Remote.Fault)
	f.setSpec(uid, record.Spec{ExpectedClusterUUID: west})
	l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
	assert.Empty(t, f.Peer(uid).Remote.Fault)
}

// P11: what is added too soon is held back until it may be sent again: the answer does
// not come at once, or both sides would spin.
func TestP11AdditiveGate(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	l.post(protocol.PathSync, f.beat(j, offering(1, protocol.Offer{Projects: projects(1)}))).into(t, &protocol.SyncResponse{})
	f.clock.Step(2 * time.Second)
	more := func(r *protocol.SyncRequest) {
		offering(2, protocol.Offer{Projects: projects(2)})(r)
		r.Wait = 15
	}
	answers := f.held(l, f.beat(j, more))
	f.clock.Step(exchange.AdditiveInterval - 2*time.Second - time.Millisecond)
	silent(t, answers)
	f.clock.Step(time.Millisecond)
	var response protocol.SyncResponse
	receive(t, answers).into(t, &response)
	assert.EqualValues(t, 1, response.Holds.Offer.Generation, "it is to be sent again")
	answers = f.held(l, f.beat(j, more))
	assert.Len(t, f.Peer(uid).Remote.Offer.Body.Projects, 2)

	// What was left out is asked for at once.
	l.post(protocol.PathSync, f.beat(j, func(r *protocol.SyncRequest) {
		more(r)
		r.Offer.Generation++
		r.OfferBody = nil
	})).into(t, &response)
	f.clock.Step(15 * time.Second)
	receive(t, answers)
}

// A peer may not ask too often.
func TestP9Limit(t *testing.T) {
	f, j := paired(t, limits(Limits{Calls: 2, CallBurst: 20}))
	l := f.dial(&j.certificate, true)
	for range 20 {
		l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
	}
	l.post(protocol.PathSync, f.beat(j, nil)).is(t, http.StatusTooManyRequests, protocol.FailureBusy)
	require.Len(t, f.seen.of(RateLimited), 1)
	assert.Equal(t, uid, f.seen.of(RateLimited)[0].UID)
	f.clock.Step(500 * time.Millisecond)
	l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
}

// P11: whatever a peer sends, what is kept of it stays as it was.
func TestP11HostileSync(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, false)
	l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
	good, err := json.Marshal(f.beat(j, nil))
	require.NoError(t, err)
	many, err := json.Marshal(f.beat(j, offering(2, protocol.Offer{Projects: projects(1e5)})))
	require.NoError(t, err)
	before := f.stored()
	plain := http.Header{"Content-Type": {protocol.ContentType}}
	for name, test := range map[string]struct {
		body   []byte
		header http.Header
		code   int
	}{
		"too large":         {append(bytes.Repeat([]byte(" "), protocol.LimitSync), good...), plain, http.StatusBadRequest},
		"too many projects": {many, plain, http.StatusBadRequest},
		"something follows": {append(bytes.Clone(good), []byte("{}")...), plain, http.StatusBadRequest},
		"too deep":          {[]byte(deep(10000)), plain, http.StatusBadRequest},
		"negative wait":     {[]byte(strings.Replace(string(good), `"wait":0`, `"wait":-1`, 1)), plain, http.StatusBadRequest},
		"encoded":           {good, http.Header{"Content-Type": {protocol.ContentType}, "Content-Encoding": {"gzip"}}, http.StatusUnsupportedMediaType},
		"another type":      {good, http.Header{"Content-Type": {"text/html"}}, http.StatusUnsupportedMediaType},
	} {
		t.Run(name, func(t *testing.T) {
			a := l.send(t.Context(), http.MethodPost, protocol.PathSync, bytes.NewReader(test.body), test.header)
			a.is(t, test.code, protocol.FailureInvalid)
			assert.Equal(t, before, f.stored())
		})
	}
	future := f.beat(j, func(r *protocol.SyncRequest) { r.Protocol = 9 })
	l.post(protocol.PathSync, future).is(t, http.StatusForbidden, protocol.FailureIncompatibleVersion)
	big := plain.Clone()
	big.Set("X", strings.Repeat("x", 64<<10))
	a := l.send(t.Context(), http.MethodPost, protocol.PathSync, bytes.NewReader(good), big)
	assert.True(t, a.err != nil || a.code == http.StatusRequestHeaderFieldsTooLarge, "%d %v", a.code, a.err)
}
