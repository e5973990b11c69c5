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
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// newString returns a connection string of the other cluster.
func newString(t *testing.T, change func(*connstring.ConnectionString)) string {
	t.Helper()
	said, err := connstring.Parse(validString(t))
	require.NoError(t, err)
	if change != nil {
		change(said)
	}
	text, err := said.Encode()
	require.NoError(t, err)
	return text
}

func (f *fixture) confirm() {
	f.record("u", func(p *record.Peer) { p.Remote.ConfirmedAt = f.clock.Now() })
}

// P6, P7: a join, from the string to the peering.
func TestP6Join(t *testing.T) {
	f := newFixture(t)
	text := validString(t)
	f.holds(joinPeer("p", "u", 1, text))
	peer, again := f.settle("p")
	assert.Equal(t, record.ConfirmWithin, again)

	require.Len(t, f.dialer.joins, 1)
	sent := f.dialer.joins[0]
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	assert.Equal(t, said.Endpoints, sent.Endpoints)
	assert.Equal(t, said.Pins, sent.Pins)
	assert.Equal(t, said.TokenID, sent.Request.TokenID)
	assert.Equal(t, said.Token.Reveal(), sent.Request.Token)
	assert.EqualValues(t, 1, sent.Request.Protocol)
	assert.Equal(t, ourUUID, sent.Request.ClusterUUID)
	assert.Equal(t, f.clock.Now().Unix(), sent.Request.Time)
	assert.Equal(t, f.ledger.Authority().Trust(), sent.Request.Trust)
	public, err := pki.ParseCSR(sent.Request.CSR)
	require.NoError(t, err)
	assert.Equal(t, sent.Key.Public(), public)

	rec := f.ledger.Peer("u")
	require.NotNil(t, rec.Remote)
	assert.True(t, rec.Join.Done)
	assert.Equal(t, otherUUID, rec.Remote.ClusterUUID)
	assert.Equal(t, []string{"https://theirs.example.com"}, rec.Remote.Endpoints)
	assert.Equal(t, sent.Key.PEM(), rec.Remote.Ours.Key.Reveal())
	require.Len(t, rec.Remote.Keys, 1)
	theirs, err := pki.HashOf(f.dialer.control.Public())
	require.NoError(t, err)
	assert.Equal(t, record.Digest(theirs), rec.Remote.Keys[0].Hash)
	assert.Equal(t, record.RoleControl, rec.Remote.Keys[0].Role)
	assert.Equal(t, record.Digest(pinOf(t, f.ledger.Authority().Current)), rec.Remote.Keys[0].Issuer)
	assert.True(t, rec.Remote.Keys[0].NotAfter.Equal(noon.Add(record.KeyLife)))

	assert.Equal(t, ReasonWaitingForPeer, readyOf(t, peer).Reason)
	f.confirm()
	peer, again = f.settle("p")
	assert.Zero(t, again)
	assert.Equal(t, active, peer.Status.Phase)
	assert.Equal(t, otherUUID, peer.Status.Peer.ClusterUUID)
	assert.Equal(t, []string{
		"Normal WaitingForPeer The connection string is well-formed. Waiting for the other cluster.",
		"Normal Active Paired with cluster " + otherUUID + ".",
	}, f.recorded())

	// P8: nothing changes when the used string is removed, put back or read again.
	for generation, value := range []string{"", text, text} {
		f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
			p.Generation, p.Spec.Join.ConnectionString = int64(generation+2), value
		})
		f.restart()
		peer, _ = f.settle("p")
		assert.Equal(t, active, peer.Status.Phase)
	}
	assert.Len(t, f.dialer.joins, 1)

	// P8: another one pairs again, with the same cluster only.
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
		p.Generation, p.Spec.Join.ConnectionString = 10, newString(t, func(c *connstring.ConnectionString) { c.ClusterUUID = thirdUUID })
	})
	peer, _ = f.settle("p")
	assert.Equal(t, active, peer.Status.Phase)
	assert.Contains(t, readyOf(t, peer).Message, "cannot be used: UUIDMismatch")
	assert.Len(t, f.dialer.joins, 1)
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
		p.Generation, p.Spec.Join.ConnectionString = 11, newString(t, func(c *connstring.ConnectionString) { c.TokenID = "1111111111111111" })
	})
	f.settle("p")
	require.Len(t, f.dialer.joins, 2)
	assert.NotEqual(t, sent.Key.PEM(), f.dialer.joins[1].Key.PEM())
	assert.True(t, f.ledger.Peer("u").Remote.ConfirmedAt.IsZero())

	// P12: and after the other one left, with any.
	f.confirm()
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error { return record.Leave(tx, "u", f.clock.Now()) }))
	peer, _ = f.settle("p")
	assert.Equal(t, ReasonPeerLeft, readyOf(t, peer).Reason)
	f.dialer.answer = func(answer *protocol.JoinResponse) error { answer.ClusterUUID = thirdUUID; return nil }
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
		p.Generation, p.Spec.Join.ConnectionString = 12, newString(t, func(c *connstring.ConnectionString) { c.ClusterUUID = thirdUUID })
	})
	f.settle("p")
	assert.Equal(t, thirdUUID, f.ledger.Peer("u").Remote.ClusterUUID)
}

// P4, P6: what is wrong with a string is found before anybody is dialled, and heals when
// what is wrong does.
func TestP6ScreenedWithoutDialling(t *testing.T) {
	for name, test := range map[string]struct {
		text    string
		prepare func(*fixture)
		reason  string
		again   time.Duration
		mend    func(*fixture)
	}{
		"ourselves": {text: newString(t, func(c *connstring.ConnectionString) { c.ClusterUUID = ourUUID }), reason: "SelfPeering"},
		"another one is expected": {
			text: validString(t), reason: "UUIDMismatch",
			prepare: func(f *fixture) {
				f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = thirdUUID })
			},
			mend: func(f *fixture) {
				f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = otherUUID })
			},
		},
		"expired": {text: newString(t, func(c *connstring.ConnectionString) { c.ExpiresAt = noon }), reason: "InviteExpired"},
		"good for too long": {text: newString(t, func(c *connstring.ConnectionString) {
			c.ExpiresAt = noon.Add(25*time.Hour + time.Second)
		}), reason: "TokenRejected"},
		"protocol": {text: newString(t, func(c *connstring.ConnectionString) { c.Protocol = connstring.ProtocolRange{Min: 2, Max: 3} }), reason: "IncompatibleVersion"},
		"damaged":  {text: validString(t)[:40] + validString(t)[41:], reason: "InvalidConnectionString"},
		"held by another": {
			text: validString(t), reason: "DuplicatePeer", again: heldFor,
			prepare: func(f *fixture) {
				f.record("other", func(p *record.Peer) { p.Name, p.Remote = "other", livePeer(nil) })
			},
			mend: func(f *fixture) {
				require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error { return tx.DeletePeer("other") }))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(joinPeer("p", "u", 1, test.text))
			if test.prepare != nil {
				test.prepare(f)
			}
			peer, again := f.settle("p")
			assert.Equal(t, test.again, again)
			assert.Equal(t, test.reason, readyOf(t, peer).Reason)
			assert.Equal(t, failed, peer.Status.Phase)
			assert.Empty(t, f.dialer.joins)
			assert.Nil(t, f.ledger.Peer("u"))
			require.Len(t, f.recorded(), 1)
			if test.mend != nil {
				test.mend(f)
				f.settle("p")
				assert.Len(t, f.dialer.joins, 1)
			}
		})
	}
	t.Run("held by another, which the reader does not show yet", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joinPeer("p", "u", 1, validString(t)))
		f.ledger.before = func(int) error {
			return f.ledger.Memory.Update(t.Context(), func(tx record.Tx) error {
				return tx.PutPeer(&record.Peer{UID: "other", Name: "other", Remote: livePeer(nil)})
			})
		}
		assert.Equal(t, heldFor, f.run("p"))
		assert.Equal(t, ReasonDuplicatePeer, readyOf(t, f.real("p")).Reason)
		assert.Empty(t, f.dialer.joins)
	})
	t.Run("nobody free to dial", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joinPeer("p", "u", 1, validString(t)))
		for range diallers {
			f.dialling <- struct{}{}
		}
		assert.Equal(t, diallingFor, f.run("p"), "the worker is free for others")
		assert.Empty(t, f.dialer.joins)
		<-f.dialling
		f.settle("p")
		assert.Len(t, f.dialer.joins, 1)
		assert.Len(t, f.dialling, diallers-1, "given back")
	})
	t.Run("no authority yet", func(t *testing.T) {
		f := newFixture(t)
		f.holds(joinPeer("p", "u", 1, validString(t)))
		l, err := f.look(f.cache.List()[0].(*peeringv1alpha1.ClusterPeer))
		require.NoError(t, err)
		l.authority = nil
		require.NoError(t, f.join(t.Context(), l))
		assert.Empty(t, f.dialer.joins)
		assert.Equal(t, pending, f.real("p").Status.Phase)
	})
}

// P6: a refusal ends the string, for good; each failure of the closed set.
func TestP6RefusalIsTerminal(t *testing.T) {
	refused := func(reason protocol.FailureReason) error {
		return fmt.Errorf("wrapped: %w", &client.Failure{Kind: client.Refused, Reason: reason})
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"opaque":       {refused(protocol.FailureRefused), "TokenRejected"},
		"unknown":      {refused("SomethingNew"), "TokenRejected"},
		"gone":         {&client.Failure{Kind: client.Gone}, "TokenRejected"},
		"UUID":         {refused(protocol.FailureUUIDMismatch), "UUIDMismatch"},
		"self":         {refused(protocol.FailureSelfPeering), "SelfPeering"},
		"duplicate":    {refused(protocol.FailureDuplicatePeer), "DuplicatePeer"},
		"clock":        {refused(protocol.FailureClockSkew), "ClockSkew"},
		"version":      {refused(protocol.FailureIncompatibleVersion), "IncompatibleVersion"},
		"invalid":      {refused(protocol.FailureInvalid), "IncompatibleVersion"},
		"expired":      {refused(protocol.FailureExpired), "InviteExpired"},
		"another UUID": {nil, "UUIDMismatch"},
		"a day off":    {nil, "ClockSkew"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.dialer.answer = func(answer *protocol.JoinResponse) error {
				switch name {
				case "another UUID":
					answer.ClusterUUID = thirdUUID
				case "a day off":
					answer.Time += 24 * 60 * 60
				}
				return test.err
			}
			f.holds(joinPeer("p", "u", 1, validString(t)))
			peer, again := f.settle("p")
			assert.Equal(t, test.want, readyOf(t, peer).Reason)
			assert.Equal(t, failed, peer.Status.Phase)
			f.restart()
			for range 3 {
				f.clock.Step(time.Minute)
				f.settle("p")
			}
			assert.Len(t, f.dialer.joins, 1, "prior art: not retried for ever")
			assert.Empty(t, f.ledger.Peer("u").Cluster(), "the UUID is free for another ClusterPeer")
			if test.want != "DuplicatePeer" {
				assert.Zero(t, again)
			}

			f.dialer.answer = nil
			f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
				p.Generation, p.Spec.Join.ConnectionString = 2, newString(t, func(c *connstring.ConnectionString) { c.TokenID = "1111111111111111" })
			})
			f.settle("p")
			assert.NotNil(t, f.ledger.Peer("u").Remote, "another string is tried")
		})
	}
}

// P6, P9: what is no refusal is tried again, with the same key, 1 s to 60 s, until the
// string has run out.
func TestP6TroubleIsRetried(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		message string
	}{
		"connect":     {&client.Failure{Kind: client.Unreachable, Detail: client.DetailConnect}, "The gateway of the other cluster cannot be reached. It is tried again."},
		"untrusted":   {&client.Failure{Kind: client.Untrusted}, "Whoever answers is not the gateway that the connection string names. It is tried again."},
		"busy":        {&client.Failure{Kind: client.Busy}, "The other cluster is busy. It is tried again."},
		"busy, said":  {&client.Failure{Kind: client.Refused, Reason: protocol.FailureUnavailable}, "The other cluster is busy. It is tried again."},
		"invalid":     {&client.Failure{Kind: client.Invalid}, "The answer of the other cluster breaks the rules of the protocol. It is tried again."},
		"certificate": {nil, "The answer of the other cluster breaks the rules of the protocol. It is tried again."},
		"CSR":         {nil, "The answer of the other cluster breaks the rules of the protocol. It is tried again."},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.dialer.answer = func(answer *protocol.JoinResponse) error {
				switch name {
				case "certificate":
					answer.Certificate = newAuthority(t, "another", noon).Certificate
				case "CSR":
					answer.CSR = []byte("none")
				}
				return test.err
			}
			f.holds(joinPeer("p", "u", 1, validString(t)))
			peer, _ := f.settle("p")
			assert.Equal(t, ReasonPeerUnreachable, readyOf(t, peer).Reason)
			assert.Equal(t, test.message, readyOf(t, peer).Message)
			require.Len(t, f.dialer.joins, 1)
			var waits []time.Duration
			for range 8 {
				again := f.run("p")
				waits = append(waits, again)
				f.clock.Step(again)
				f.settle("p")
			}
			want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
			assert.Equal(t, want, waits)
			require.Len(t, f.dialer.joins, 9)
			assert.Len(t, f.recorded(), 2, "no Event for each attempt")

			// A lost reply does not burn the string: the same key, to the end of the time
			// in which the same answer is given.
			f.clock.SetTime(noon.Add(time.Hour + record.RepeatWithin - time.Second))
			f.settle("p")
			require.Len(t, f.dialer.joins, 10)
			for _, join := range f.dialer.joins {
				assert.Equal(t, f.dialer.joins[0].Key.PEM(), join.Key.PEM())
			}
			f.clock.Step(time.Minute)
			peer, again := f.settle("p")
			assert.Len(t, f.dialer.joins, 10)
			assert.Zero(t, again)
			assert.Equal(t, ReasonInviteExpired, readyOf(t, peer).Reason)
			assert.Empty(t, f.ledger.Peer("u").Cluster())
		})
	}
}

// P6: killed at every step, another controller goes on with the same key.
func TestJoinKilledAtEveryStep(t *testing.T) {
	for name, kill := range map[string]func(*fixture){
		"before the key is kept": func(f *fixture) { f.ledger.before = func(n int) error { return failAt(1, n) } },
		"after the key was kept": func(f *fixture) { f.ledger.after = func(n int) error { return failAt(1, n) } },
		"the dial is cut off": func(f *fixture) {
			f.dialer.answer = func(*protocol.JoinResponse) error { return fmt.Errorf("could not wait: %w", context.Canceled) }
		},
		"before it is completed": func(f *fixture) { f.ledger.before = func(n int) error { return failAt(2, n) } },
		"after it was completed": func(f *fixture) { f.ledger.after = func(n int) error { return failAt(2, n) } },
		"when the status is written": func(f *fixture) {
			f.fails(http.MethodPatch, "/status", http.StatusInternalServerError, metav1.StatusReasonInternalError)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(joinPeer("p", "u", 1, validString(t)))
			f.ledger.updates = 0
			kill(f)
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
			require.Error(t, err)
			f.ledger.before, f.ledger.after, f.dialer.answer = nil, nil, nil
			f.server.instead(nil)
			f.arrives("p")
			f.restart()
			peer, _ := f.settle("p")
			assert.Equal(t, ReasonWaitingForPeer, readyOf(t, peer).Reason)
			rec := f.ledger.Peer("u")
			require.NotNil(t, rec.Remote)
			for _, join := range f.dialer.joins {
				assert.Equal(t, join.Key.PEM(), rec.Remote.Ours.Key.Reveal())
			}
		})
	}
}

// P7: undone if nothing was exchanged; the string is not tried again.
func TestP7UndoOfAJoin(t *testing.T) {
	f := newFixture(t)
	f.holds(joinPeer("p", "u", 1, validString(t)))
	_, again := f.settle("p")
	f.clock.Step(again)
	peer, again := f.settle("p")
	assert.Zero(t, again)
	assert.Equal(t, ReasonTokenRejected, readyOf(t, peer).Reason)
	assert.Contains(t, readyOf(t, peer).Message, "undone")
	assert.Nil(t, f.ledger.Peer("u").Remote)
	f.restart()
	f.settle("p")
	assert.Len(t, f.dialer.joins, 1)
}

// R4: between the look and the dial the string was changed, or is gone.
func TestR4StringChangesBeforeTheDial(t *testing.T) {
	for name, change := range map[string]func(*fixture){
		"changed": func(f *fixture) {
			f.server.objects["p"] = joinPeer("p", "u", 2, newString(f.t, func(c *connstring.ConnectionString) { c.TokenID = "1111111111111111" }))
		},
		"anew": func(f *fixture) { f.server.objects["p"] = joinPeer("p", "v", 1, validString(f.t)) },
		"gone": func(f *fixture) { delete(f.server.objects, "p") },
		"none": func(f *fixture) { f.server.objects["p"] = joinPeer("p", "u", 2, "") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(joinPeer("p", "u", 1, validString(t)))
			f.server.instead(func(_ http.ResponseWriter, request *http.Request) bool {
				if f.server.looks == 2 {
					change(f)
				}
				return false
			})
			f.run("p")
			assert.Empty(t, f.dialer.joins)
		})
	}
}

// R15, P15: nothing of the string leaves by a write, an Event, a log, an error or what
// is remembered, whatever becomes of it; a panic on the way included.
func TestR15NothingOfAJoinLeaves(t *testing.T) {
	text := validString(t)
	for name, answer := range map[string]func(*protocol.JoinResponse) error{
		"paired": nil,
		"refused": func(*protocol.JoinResponse) error {
			return &client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused}
		},
		"unreachable": func(*protocol.JoinResponse) error { return &client.Failure{Kind: client.Unreachable} },
		"panic":       func(*protocol.JoinResponse) error { panic(text) },
	} {
		t.Run(name, func(t *testing.T) {
			logs := captureLogs(t, true)
			f := newFixture(t)
			f.dialer.answer = answer
			f.holds(joinPeer("p", "u", 1, text))
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
			assert.Equal(t, name == "panic", errors.Is(err, errPanicked))
			left := fmt.Sprintf("%v %+v", err, f.writes()) + logs() + strings.Join(f.recorded(), "\n")
			left += fmt.Sprintf("%+v %#v", f.memory.peers, f.memory.peers) + fmt.Sprintf("%+v", f.ledger.Peer("u"))
			for _, piece := range pieces(t, text) {
				assert.NotContains(t, left, piece)
			}
		})
	}
}
