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

package peersync

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// P7, P9: two clusters that were just paired confirm each other, hold each other's offer,
// and the inviter's key is certified; then they are quiet.
func TestP9Pairing(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "they agree without a beat's time passing")
	assert.Equal(t, noon, f.clock.Now())
	assert.Equal(t, noon, f.remote().ConfirmedAt, "P7")
	assert.Equal(t, "east", f.remote().Offer.Body.Alias)
	assert.Equal(t, "west", f.far.known().Remote.Offer.Body.Alias)
	f.eventually(func() bool { return len(f.far.known().Remote.Ours.Certificate) > 0 }, "P7: it is certified")
	certificate, err := pki.ParseCertificate(f.far.known().Remote.Ours.Certificate)
	require.NoError(t, err)
	uuid, role, _ := pki.PeerOf(certificate)
	assert.Equal(t, []string{east, pki.RoleControl}, []string{uuid, role})
	key := f.remote().Keys
	require.Len(t, key, 1, "it is the key of the join")
	assert.Equal(t, key[0].Serial, certificate.SerialNumber.Bytes())

	written, asked := f.ledger.written(), f.far.count()
	f.passes(time.Second, func() bool { return f.far.count() >= asked+2 }, "it goes on")
	assert.LessOrEqual(t, f.ledger.written(), written, "P9: beats write nothing")
	said := f.far.last()
	assert.Nil(t, said.OfferBody)
	assert.Nil(t, said.Trust)
	assert.Empty(t, said.Certificate)
	assert.InDelta(t, 15, said.Wait, 1.5)
	f.passes(5*time.Second, func() bool { return f.ledger.written() > written }, "but contact, once a minute")
	assert.GreaterOrEqual(t, f.clock.Since(noon), time.Minute)
}

// P9: a change here reaches the other cluster at once, although a beat is held back.
func TestP9ChangeHere(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*fixture)
		arrived func(*fixture) bool
	}{
		"offer": {
			func(f *fixture) { f.offers("other") },
			func(f *fixture) bool { return f.far.known().Remote.Offer.Body.Alias == "other" },
		},
		"peering CA": {
			func(f *fixture) {
				_, next := newCA(f.t, noon)
				f.update(func(tx record.Tx) error {
					authority, err := tx.Authority()
					if err != nil {
						return err
					}
					authority.Next = &next
					return tx.PutAuthority(authority)
				})
			},
			func(f *fixture) bool { return len(f.far.known().Remote.Trust) == 2 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := joined(t)
			f.runs()
			f.eventually(f.isQuiet, "quiet")
			test.change(f)
			// A second, so as not to depend on how many beats the pairing took.
			f.clock.Step(time.Second)
			f.eventually(func() bool { return test.arrived(f) }, "it arrives")
			assert.Equal(t, noon.Add(time.Second), f.clock.Now())
			f.passes(time.Second, f.isQuiet, "and is acknowledged with the next beat")
		})
	}
}

// P9: a change there is here at once, and acknowledged.
func TestP9ChangeThere(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.far.offers(2, protocol.Offer{Alias: "other"})
	f.eventually(func() bool { return f.remote().Offer.Body.Alias == "other" }, "it arrives")
	f.eventually(f.isQuiet, "and is acknowledged")
	assert.Equal(t, noon, f.clock.Now())
}

// A change that comes between two beats is not missed.
func TestP9NoChangeIsMissed(t *testing.T) {
	f := joined(t)
	s := &session{Controller: f.Controller, uid: uid, pairing: pairingOf(f.ledger.Peer(uid))}
	said, err := exchange.Say(f.self, f.ledger.Peer(uid), f.ledger.Authority(), noon)
	require.NoError(t, err)
	f.offers("other")
	ctx, done := s.listen(t.Context(), said)
	defer done()
	require.Error(t, ctx.Err())
}

func capability(name string) protocol.Capability {
	return protocol.Capability{Name: name, Version: "1.0.0", Scope: []string{"project"}}
}

// P11: what comes too soon after the last waits, without beats that bring nothing.
func TestP11Deferred(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.passes(time.Second, func() bool { return f.clock.Since(noon) > exchange.AdditiveInterval }, "time")
	f.far.offers(2, protocol.Offer{Capabilities: []protocol.Capability{capability("a")}})
	f.eventually(func() bool { return len(f.remote().Offer.Body.Capabilities) == 1 }, "the first at once")
	f.eventually(f.isQuiet, "quiet")
	f.far.offers(3, protocol.Offer{Capabilities: []protocol.Capability{capability("b")}})
	f.eventually(func() bool { return len(f.remote().Offer.Body.Capabilities) == 0 }, "what went is gone at once")
	asked := f.far.count()
	took := f.passes(time.Second, func() bool { return len(f.remote().Offer.Body.Capabilities) == 1 }, "what came waits")
	assert.GreaterOrEqual(t, took, exchange.AdditiveInterval-time.Second)
	// One that brings it, one that says so, and one that is held back.
	assert.LessOrEqual(t, f.far.count(), asked+3, "nobody spins")
	assert.Equal(t, "b", f.remote().Offer.Body.Capabilities[0].Name)
}

// P9, P11: while nothing comes of beats, news of our own are still told at once.
func TestP11DeferredDoesNotHoldUp(t *testing.T) {
	f := joined(t)
	f.far.mind(f.far.answersAtOnce(func(state *protocol.State) { state.Offer = protocol.OfferHeader{} }))
	f.runs()
	f.eventually(func() bool { return f.far.count() >= 2 }, "it answers at once")
	f.eventually(func() bool { return f.waiting() }, "it waits")
	asked := f.far.count()
	f.offers("other")
	f.eventually(func() bool { return f.far.count() > asked && f.far.last().OfferBody.Alias == "other" }, "it is told")
}

// waiting tells whether the session has something that can be interrupted, and asks no
// one at the moment.
func (f *fixture) waiting() bool { return f.far.held() == 0 && f.clock.HasWaiters() }

// answersAtOnce is the mind of a gateway that holds nothing back.
func (r *far) answersAtOnce(change func(*protocol.State)) func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) {
	return func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) {
		r.lock.Lock()
		defer r.lock.Unlock()
		state, err := exchange.Say(r.self, r.peer, r.authority, r.clock.Now())
		assert.NoError(r.t, err)
		state.CSR = nil
		change(&state)
		return &protocol.SyncResponse{Protocol: 1, State: state}, nil, true
	}
}

// P11: however a gateway answers, it cannot make this cluster spin or write without end.
func TestP11Hostile(t *testing.T) {
	generation := 0
	for name, change := range map[string]func(*protocol.State){
		"the same at once":       func(*protocol.State) {},
		"an offer without body":  func(s *protocol.State) { s.Offer.Generation, s.OfferBody = 1000, nil },
		"an older offer":         func(s *protocol.State) { s.Offer.Epoch = 0 },
		"a digest that is wrong": func(s *protocol.State) { s.Offer.Generation, s.OfferBody = 1000, &protocol.Offer{} },
		"another bundle's":       func(s *protocol.State) { s.TrustDigest, s.Trust = "", nil },
		"other endpoints": func(s *protocol.State) {
			generation++
			s.Endpoints = []string{url, "https://" + string(rune('a'+generation%26)) + ".example.com"}
		},
		"other keys": func(s *protocol.State) {
			key, _ := pki.NewKey()
			s.CSR, _ = pki.NewCSR(key)
		},
		"other offers": func(s *protocol.State) {
			generation++
			body := protocol.Offer{PeeringVersion: string(rune('a' + generation%26))}
			s.Offer = protocol.OfferHeader{Epoch: 6, Generation: uint64(generation), Digest: body.Digest()}
			s.OfferBody = &body
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := joined(t)
			f.far.mind(f.far.answersAtOnce(change))
			f.runs()
			const seconds = 120
			f.passes(time.Second, func() bool { return f.clock.Since(noon) >= seconds*time.Second }, "time")
			assert.LessOrEqual(t, f.far.count(), beatBurst+seconds*beatsPerSecond+1)
			if !strings.HasPrefix(name, "other ") {
				assert.LessOrEqual(t, f.far.count(), seconds/10+6, "nothing comes of them, so they are few")
			}
			assert.LessOrEqual(t, f.ledger.written(), 4+beatBurst+seconds*beatsPerSecond+1)
			assert.LessOrEqual(t, len(f.remote().Keys), 2)
		})
	}
}

// P10: an offer that breaks the rules is not taken, the rest of the answer is; the next
// good one makes up for it.
func TestP10InvalidOffer(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.stop()
	fault := &client.Failure{Kind: client.Invalid, Fault: protocol.ErrAlias}
	peer := f.ledger.Peer(uid)
	s := &session{Controller: f.Controller, uid: uid, pairing: pairingOf(peer)}
	require.True(t, isOfferFault(fault))
	said, err := exchange.Say(f.far.self, f.far.peer, f.far.authority, noon)
	require.NoError(t, err)
	said.Offer.Generation = 2
	said.Endpoints = []string{"https://moved.example.com"}
	heard, err := s.hear(t.Context(), peer, said, "", true)
	require.NoError(t, err)
	assert.Equal(t, record.InvalidOffer, f.remote().Fault)
	assert.Equal(t, said.Endpoints, f.remote().Endpoints)
	assert.Equal(t, "east", heard.Remote.Offer.Body.Alias)

	body := protocol.Offer{Alias: "good"}
	said.Offer.Digest, said.OfferBody = body.Digest(), &body
	f.clock.Step(exchange.AdditiveInterval)
	_, err = s.hear(t.Context(), f.ledger.Peer(uid), said, "", false)
	require.NoError(t, err)
	assert.Empty(t, f.remote().Fault)
	assert.Equal(t, "good", f.remote().Offer.Body.Alias)
}

// P9: unreachable after three failures and 45 s, back after two successes, and nothing
// that was agreed goes in between.
func TestP9Unreachable(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.far.fails(unreachable)
	asked := f.far.count()
	took := f.passes(time.Second, func() bool { return !f.remote().Unreachable.IsZero() }, "it is missed")
	assert.GreaterOrEqual(t, took, lostAfter)
	// One beat was held back, for 15 s; the rest is how far the test's clock runs ahead.
	assert.LessOrEqual(t, took, lostAfter+time.Minute)
	assert.GreaterOrEqual(t, f.far.count()-asked, lostFailures)
	assert.Empty(t, f.remote().Fault)
	assert.Equal(t, "east", f.remote().Offer.Body.Alias)
	since := f.remote().Unreachable

	f.far.mind(func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) {
		f.far.fails(unreachable) // one answer, and no more
		return nil, nil, false
	})
	asked = f.far.count()
	f.passes(time.Second, func() bool { return f.far.count() >= asked+2 }, "one success")
	assert.Equal(t, since, f.remote().Unreachable)
	f.far.fails(nil)
	f.passes(time.Second, func() bool { return f.remote().Unreachable.IsZero() }, "it is back")
	f.passes(time.Second, f.isQuiet, "quiet")
}

// P9: two failures are none, however long they take.
func TestP9TwoFailures(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.stop()
	s := &session{Controller: f.Controller, uid: uid, pairing: pairingOf(f.ledger.Peer(uid)), lastSuccess: noon}
	f.clock.Step(time.Hour)
	s.failed(t.Context(), unreachable)
	s.failed(t.Context(), unreachable)
	assert.Zero(t, f.remote().Unreachable)
	s.failed(t.Context(), unreachable)
	assert.NotZero(t, f.remote().Unreachable)

	f.edit(func(peer *record.Peer) { peer.Remote.Unreachable = time.Time{} })
	s.lastSuccess = f.clock.Now()
	f.clock.Step(lostAfter - time.Second)
	again := s.failed(t.Context(), unreachable)
	assert.Zero(t, f.remote().Unreachable)
	assert.LessOrEqual(t, again, time.Second, "it is looked at when the time is over")
}

// P9: pauses grow from a second to a minute, and are random in full.
func TestP9Backoff(t *testing.T) {
	for failures, ceiling := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 7: time.Minute, 1000: time.Minute} {
		var least, most time.Duration = time.Hour, 0
		for range 2000 {
			pause := backoff(failures)
			least, most = min(least, pause), max(most, pause)
		}
		assert.Positive(t, least)
		assert.Less(t, least, ceiling/20)
		assert.LessOrEqual(t, most, ceiling)
		assert.Greater(t, most, ceiling*19/20)
	}
	waits := map[int]bool{}
	for range 2000 {
		waits[waitSeconds()] = true
	}
	for wait := range waits {
		assert.InDelta(t, 15, wait, 1.5, "±10 %")
	}
	assert.Greater(t, len(waits), 1)
}

// P9, P12: what the other cluster says of the peering, and what becomes of it.
func TestFaults(t *testing.T) {
	refused := func(reason protocol.FailureReason) error {
		return &client.Failure{Kind: client.Refused, Reason: reason}
	}
	for name, test := range map[string]struct {
		err   error
		fault record.Reason
		final bool
	}{
		"gone":          {&client.Failure{Kind: client.Gone}, record.PeerLeft, true},
		"suspended":     {refused(protocol.FailureSuspended), record.PeerSuspended, true},
		"cloned":        {refused(protocol.FailureClonedPeer), record.ClonedPeer, true},
		"UUID":          {refused(protocol.FailureUUIDMismatch), record.UUIDMismatch, false},
		"version":       {refused(protocol.FailureIncompatibleVersion), record.IncompatibleVersion, false},
		"refused":       {refused(protocol.FailureRefused), "", false},
		"invalid offer": {refused(protocol.FailureInvalidOffer), "", false},
		"duplicate":     {refused(protocol.FailureDuplicatePeer), "", false},
		"busy":          {&client.Failure{Kind: client.Busy}, "", false},
		"untrusted":     {&client.Failure{Kind: client.Untrusted}, "", false},
		"invalid":       {&client.Failure{Kind: client.Invalid, Fault: protocol.ErrCSR}, "", false},
		"ours":          {errors.New("something else"), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := joined(t)
			f.runs()
			f.eventually(f.isQuiet, "quiet")
			epoch := f.ledger.Epoch()
			f.far.fails(test.err)
			if test.fault == "" {
				f.passes(time.Second, func() bool { return !f.remote().Unreachable.IsZero() }, "out of reach")
				assert.Empty(t, f.remote().Fault)
				return
			}
			f.passes(time.Second, func() bool { return f.remote().Fault == test.fault }, "the fault")
			assert.Greater(t, f.ledger.Epoch(), epoch, "S2")
			if test.final {
				f.eventually(func() bool { return f.open() == 0 }, "the session ends")
				asked := f.far.count()
				f.clock.Step(time.Hour)
				assert.Equal(t, asked, f.far.count())
				return
			}
			f.far.fails(nil)
			f.passes(time.Second, func() bool { return f.remote().Fault == "" }, "it heals")
		})
	}
}

// P12: when the other cluster has left, none of its keys is good for anything here.
func TestP12PeerLeft(t *testing.T) {
	f := joined(t)
	key := f.remote().Keys[0].Hash
	f.far.fails(&client.Failure{Kind: client.Gone})
	f.runs()
	f.passes(time.Second, func() bool { return f.remote().Fault == record.PeerLeft }, "it left")
	assert.Empty(t, f.remote().Keys)
	assert.NotNil(t, f.ledger.Tombstone(key))
	assert.True(t, f.remote().Ours.Key.IsZero())
}

// P6: each side checks who the other is at every beat.
func TestP6UUID(t *testing.T) {
	t.Run("expected", func(t *testing.T) {
		f := joined(t)
		f.runs()
		f.eventually(f.isQuiet, "quiet")
		f.setSpec(record.Spec{ExpectedClusterUUID: west})
		f.passes(time.Second, func() bool { return f.remote().Fault == record.UUIDMismatch }, "another one is expected by now")
		f.setSpec(record.Spec{ExpectedClusterUUID: east})
		f.passes(time.Second, func() bool { return f.remote().Fault == "" }, "and this one again")
	})
	t.Run("another one answers", func(t *testing.T) {
		f := joined(t)
		f.far.self.ClusterUUID = "cccccccc-0000-4000-8000-000000000003"
		f.runs()
		f.eventually(func() bool { return f.remote().Fault == record.UUIDMismatch }, "the fault")
		assert.Zero(t, f.remote().ConfirmedAt)
		assert.Zero(t, f.remote().Offer)
	})
	t.Run("another version", func(t *testing.T) {
		f := joined(t)
		f.far.mind(func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) {
			return &protocol.SyncResponse{Protocol: 7}, nil, true
		})
		f.runs()
		f.eventually(func() bool { return f.remote().Fault == record.IncompatibleVersion }, "the fault")
	})
}

// P10: two clusters that go by one identity are told apart by what they offer.
func TestP10Cloned(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	epoch := f.ledger.Epoch()
	f.far.offers(1, protocol.Offer{Alias: "clone"})
	f.eventually(func() bool { return f.remote().Fault == record.ClonedPeer }, "the fault")
	assert.Greater(t, f.ledger.Epoch(), epoch, "S2")
	f.eventually(func() bool { return f.open() == 0 }, "the session ends")
}

// A ledger that cannot be written is no failure of the other cluster.
func TestLedgerFails(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	f.ledger.failing(errors.New("the store is gone"))
	f.far.offers(2, protocol.Offer{Alias: "other"})
	asked := f.far.count()
	f.passes(time.Second, func() bool { return f.far.count() > asked+5 }, "it tries again")
	f.ledger.failing(nil)
	f.passes(time.Second, func() bool { return f.remote().Offer.Body.Alias == "other" }, "until it can")
	assert.Zero(t, f.remote().Unreachable)
}

// One odd peer does not end the others, nor the process.
func TestPanic(t *testing.T) {
	f := joined(t)
	f.far.mind(func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) { panic("odd") })
	f.runs()
	f.passes(time.Second, func() bool { return !f.remote().Unreachable.IsZero() }, "it counts as a failure")
	f.far.fails(nil)
	f.passes(time.Second, func() bool { return f.remote().Unreachable.IsZero() }, "it goes on")
}

// P1, P2: another endpoint or trust bundle of the other cluster is used from the next
// beat on, over a connection of its own.
func TestMoves(t *testing.T) {
	f := joined(t)
	f.runs()
	f.eventually(f.isQuiet, "quiet")
	_, next := newCA(t, noon)
	f.far.does(func(*record.Peer) {
		f.far.authority.Next = &next
		f.far.self.Endpoints = []string{"https://moved.example.com"}
	})
	f.eventually(f.isQuiet, "quiet")
	f.eventually(func() bool { return len(f.far.lastTarget().Trust) == 2 }, "it trusts both")
	assert.Equal(t, []string{"https://moved.example.com"}, f.far.lastTarget().Endpoints)
	assert.Equal(t, 1, f.open(), "the connection before is closed")
	assert.True(t, bytes.Equal(f.remote().Ours.Certificate, f.far.lastTarget().Certificate.Certificate[0]))
}
