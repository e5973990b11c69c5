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
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// text returns the connection string that the server holds, read.
func (f *fixture) text(name string) (text string, said *connstring.ConnectionString) {
	f.t.Helper()
	peer := f.real(name)
	require.NotNil(f.t, peer.Status.Invite)
	text = peer.Status.Invite.ConnectionString
	said, err := connstring.Parse(text)
	require.NoError(f.t, err)
	return text, said
}

// use has another cluster use the token of the record.
func (f *fixture) use(uid string, token connstring.Token) error {
	return f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil || peer == nil {
			return errors.Join(err, errInjected)
		}
		self := exchange.Self{ClusterUUID: otherUUID}.About(f.ledger.Authority(), "", f.clock.Now())
		_, _, err = record.Redeem(tx, func(string) (record.Spec, bool) { return record.Spec{}, true }, record.Redemption{
			TokenID: peer.Invite.TokenID, Token: record.NewSecret(token.Reveal()), Self: self, Ours: ourUUID, Now: f.clock.Now(),
			Key: record.Key{Hash: record.Digest{1}, Role: record.RoleControl, Serial: []byte{1}, NotAfter: f.clock.Now().Add(record.KeyLife)},
		})
		return err
	})
}

// P4, P5: an Invite gets one connection string, which leads here and can be used once;
// the ledger has its hash, and it goes when it was used.
func TestP5Mint(t *testing.T) {
	f := newFixture(t)
	next := newAuthority(t, "next", noon)
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error {
		authority, err := tx.Authority()
		authority.Next = &next
		return errors.Join(err, tx.PutAuthority(authority))
	}))
	f.holds(invitePeer("p", "u"))
	peer, again := f.settle("p")
	assert.Equal(t, time.Hour, again, "P5: default, and it goes by itself")
	assert.Equal(t, ReasonWaitingForPeer, readyOf(t, peer).Reason)

	text, said := f.text("p")
	rec := f.ledger.Peer("u")
	assert.Equal(t, []string{"https://ours.example.com:9443"}, said.Endpoints)
	assert.Equal(t, ourUUID, said.ClusterUUID)
	assert.Equal(t, connstring.ProtocolRange{Min: 1, Max: 1}, said.Protocol)
	assert.Equal(t, []connstring.Pin{pinOf(t, f.ledger.Authority().Current), pinOf(t, next)}, said.Pins, "P3")
	assert.True(t, said.ExpiresAt.Equal(noon.Add(time.Hour)))
	assert.True(t, rec.Invite.ExpiresAt.Equal(said.ExpiresAt))
	assert.Equal(t, record.Hash("u", said.Token.Reveal()), rec.Invite.Hash)
	assert.True(t, rec.Invite.Delivered)
	assert.Equal(t, "p", rec.Name)
	assert.Equal(t, said.TokenID, peer.Status.Invite.TokenID)
	assert.Equal(t, rec.Invite.Hash.String(), peer.Status.Invite.TokenHash)
	assert.False(t, peer.Status.Invite.Used)
	assert.Equal(t, []string{
		"Normal WaitingForPeer Waiting for the other cluster to join.",
		"Normal InviteIssued A connection string was issued, with ID " + said.TokenID + ". It expires at 2026-11-01T13:00:00Z.",
	}, f.recorded(), "P15")

	// P5: no other change, no reconcile and no restart mints another one.
	for _, change := range []func(){
		func() { f.run("p") },
		func() { f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Labels = map[string]string{"a": "b"} }) },
		func() {
			f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
				p.Generation, p.Spec.Invite = 2, &peeringv1alpha1.InviteSpec{TokenTTL: "5m"}
			})
		},
		func() {
			f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
				p.Annotations = map[string]string{"peering.entente.dev/renew": "true"}
			})
		},
		func() {
			f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
				p.Annotations = map[string]string{"peering.entente.dev/renew": strings.ToUpper(said.TokenID) + " "}
			})
		},
		func() { // S1: what counts is the ID of the ledger, not the one of the status
			f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
				p.Status.Invite.TokenID = "0000000000000000"
				p.Annotations = map[string]string{"peering.entente.dev/renew": "0000000000000000"}
			})
		},
		func() { f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Status.Invite.Used = true }) },
		f.restart,
	} {
		change()
		f.settle("p")
		now, _ := f.text("p")
		require.Equal(t, text, now)
	}
	f.recorded()

	// P6: used.
	require.NoError(t, f.use("u", said.Token))
	peer, again = f.settle("p")
	assert.Equal(t, record.ConfirmWithin, again)
	assert.Empty(t, peer.Status.Invite.ConnectionString)
	assert.Empty(t, f.real("p").Status.Invite.ConnectionString)
	assert.True(t, peer.Status.Invite.Used)
	assert.Equal(t, otherUUID, peer.Status.Peer.ClusterUUID)
	assert.Equal(t, ReasonWaitingForPeer, readyOf(t, peer).Reason)
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error { return record.Confirm(tx, "u", record.Digest{1}, f.clock.Now()) }))
	peer, _ = f.settle("p")
	assert.Equal(t, active, peer.Status.Phase)
	assert.Equal(t, []string{"Normal Active Paired with cluster " + otherUUID + "."}, f.recorded())

	// P15: somebody presents it once more.
	f.record("u", func(p *record.Peer) {
		p.Invite.Refused = &record.Refused{Reason: record.TokenRejected, At: f.clock.Now()}
	})
	peer, _ = f.settle("p")
	assert.Equal(t, active, peer.Status.Phase)
	assert.Contains(t, readyOf(t, peer).Message, "presented again")
	assert.Equal(t, []string{"Warning TokenRejected The connection string was presented again by another key and refused at 2026-11-01T12:00:00Z."}, f.recorded())
}

// P5: for how long, by the spec.
func TestP5TokenTTL(t *testing.T) {
	peer := invitePeer("p", "u")
	assert.Equal(t, time.Hour, tokenTTL(peer))
	for ttl, want := range map[string]time.Duration{"": time.Hour, "1m": time.Minute, "24h": 24 * time.Hour, "no": time.Hour, "-1m": time.Hour} {
		peer.Spec.Invite = &peeringv1alpha1.InviteSpec{TokenTTL: ttl}
		assert.Equal(t, want, tokenTTL(peer), ttl)
	}
}

// P5: it is erased when it has expired, by itself.
func TestP5Expiry(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	_, again := f.settle("p")
	f.recorded()
	f.clock.Step(again - time.Second)
	assert.Equal(t, time.Second, f.run("p"))
	f.clock.Step(time.Second)
	peer, again := f.settle("p")
	assert.Zero(t, again)
	assert.Empty(t, f.real("p").Status.Invite.ConnectionString)
	assert.NotEmpty(t, peer.Status.Invite.TokenID)
	assert.Equal(t, ReasonInviteExpired, readyOf(t, peer).Reason)
	require.Len(t, f.recorded(), 1)

	// P5: renewed by the ID that the status shows.
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
		p.Annotations = map[string]string{"peering.entente.dev/renew": peer.Status.Invite.TokenID}
	})
	f.settle("p")
	_, said := f.text("p")
	assert.NotEqual(t, peer.Status.Invite.TokenID, said.TokenID)
	assert.True(t, said.ExpiresAt.Equal(f.clock.Now().Add(time.Hour)))
	assert.Contains(t, strings.Join(f.recorded(), "\n"), "Normal InviteRenewed A connection string was issued")
	require.NoError(t, f.use("u", said.Token))
}

// P5: an earlier token dies at once; of two renewals at once one mints.
func TestP5Renew(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	_, first := f.text("p")
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
		p.Annotations = map[string]string{"peering.entente.dev/renew": first.TokenID}
	})
	// Another controller is at it at the same time, up to the point where it mints.
	other := *f
	other.restart()
	f.ledger.before = func(int) error {
		f.ledger.before = nil
		_, err := other.sync(t.Context(), cache.ObjectName{Name: "p"})
		return err
	}
	f.run("p")
	second, said := f.text("p")
	require.NotEqual(t, first.TokenID, said.TokenID)
	for range 3 {
		f.settle("p")
		other.settle("p")
	}
	third, _ := f.text("p")
	assert.Equal(t, second, third, "one was minted")
	assert.Equal(t, said.TokenID, f.ledger.Peer("u").Invite.TokenID)
	require.Error(t, f.use("u", first.Token))
	require.NoError(t, f.use("u", said.Token))
}

// P5: a token that the ledger has, by somebody else's mint that the reader does not show
// yet, is not replaced.
func TestP5MintLosesToAnotherOne(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	first := true
	f.ledger.after = func(int) error {
		if !first {
			return nil
		}
		first = false // just before it mints
		return f.ledger.Memory.Update(t.Context(), func(tx record.Tx) error {
			return tx.PutPeer(&record.Peer{UID: "u", Name: "p", Invite: openInvite(nil)})
		})
	}
	assert.Equal(t, mintedFor, f.run("p"))
	assert.Empty(t, f.writes())
	assert.Equal(t, "0001020304050607", f.ledger.Peer("u").Invite.TokenID)
}

// P1: without an advertised gateway nothing is minted; without a peering CA it is waited
// for.
func TestInviteWaits(t *testing.T) {
	t.Run("no gateway", func(t *testing.T) {
		f := newFixture(t)
		f.self.Endpoints = nil
		f.holds(invitePeer("p", "u"))
		peer, again := f.settle("p")
		assert.Zero(t, again)
		assert.Equal(t, ReasonNoGatewayEndpoint, readyOf(t, peer).Reason)
		assert.Equal(t, failed, peer.Status.Phase)
		assert.Nil(t, f.ledger.Peer("u"))
		assert.Nil(t, peer.Status.Invite)
	})
	t.Run("no authority", func(t *testing.T) {
		f := newFixture(t)
		authority := f.ledger.Authority()
		f.ledger.Memory = recordtest.New()
		f.holds(invitePeer("p", "u"))
		peer, again := f.settle("p")
		assert.Zero(t, again)
		assert.Equal(t, pending, peer.Status.Phase)
		assert.Nil(t, f.ledger.Peer("u"))

		enqueued := []string{}
		cancel := f.subscribe(func(name cache.ObjectName) { enqueued = append(enqueued, name.Name) })
		defer cancel()
		require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.PutAuthority(authority) }))
		assert.Contains(t, enqueued, "p", "it is woken up")
		f.settle("p")
		f.text("p")
	})
}

// P5, S1: killed at every step, another controller goes on: in the end there is one
// connection string, in the status, and it is the one of the ledger.
func TestMintKilledAtEveryStep(t *testing.T) {
	for name, kill := range map[string]func(*fixture){
		"before minting": func(f *fixture) {
			f.ledger.before = func(updates int) error { return failAt(2, updates) }
		},
		"after minting": func(f *fixture) {
			f.ledger.after = func(updates int) error { return failAt(2, updates) }
		},
		"when the status is written": func(f *fixture) {
			f.fails(http.MethodPatch, "/status", http.StatusInternalServerError, metav1.StatusReasonInternalError)
		},
		"after the status was written": func(f *fixture) {
			f.server.instead(func(w http.ResponseWriter, request *http.Request) bool {
				if request.Method != http.MethodPatch {
					return false
				}
				f.server.override = nil // it is written, the answer is lost
				f.server.lock.Unlock()
				f.server.ServeHTTP(discardResponse{}, request)
				f.server.lock.Lock()
				f.server.override = func(w http.ResponseWriter, _ *http.Request) bool {
					respond(w, http.StatusInternalServerError, failure(500, metav1.StatusReasonInternalError))
					return true
				}
				return f.server.override(w, request)
			})
		},
		"before it is noted as delivered": func(f *fixture) {
			f.ledger.before = func(updates int) error { return failAt(3, updates) }
		},
		"after it was noted as delivered": func(f *fixture) {
			f.ledger.after = func(updates int) error { return failAt(3, updates) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds(invitePeer("p", "u"))
			f.ledger.updates = 0
			kill(f)
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
			require.Error(t, err)
			assert.NotContains(t, err.Error(), "canary")
			written := f.real("p").Status.Invite

			f.ledger.before, f.ledger.after = nil, nil
			f.server.instead(nil)
			f.arrives("p")
			f.restart()
			peer, _ := f.settle("p")
			text, said := f.text("p")
			rec := f.ledger.Peer("u")
			assert.True(t, rec.Invite.Delivered)
			assert.Equal(t, rec.Invite.TokenID, said.TokenID)
			assert.Equal(t, said.TokenID, peer.Status.Invite.TokenID)
			if written != nil {
				assert.Equal(t, written.ConnectionString, text, "somebody may carry it away already")
			}
			require.NoError(t, f.use("u", said.Token))
		})
	}
}

func failAt(n, updates int) error {
	if updates == n {
		return errInjected
	}
	return nil
}

type discardResponse struct{}

func (discardResponse) Header() http.Header            { return http.Header{} }
func (discardResponse) Write(data []byte) (int, error) { return len(data), nil }
func (discardResponse) WriteHeader(int)                {}

// S1: a connection string that somebody else put into the status does not stay there,
// and is looked at once, not at each sync.
func TestS1PlantedConnectionString(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	right, said := f.text("p")
	looks := f.server.requests()
	for range 5 {
		f.settle("p")
	}
	assert.Equal(t, looks, f.server.requests(), "R4: nothing changed, nothing is read")

	// Somebody changes something else: it is looked at once.
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Labels = map[string]string{"a": "b"} })
	for range 3 {
		f.settle("p")
	}
	assert.Equal(t, looks+1, f.server.requests())
	now, _ := f.text("p")
	assert.Equal(t, right, now)

	planted := validString(t)
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Status.Invite.ConnectionString = planted })
	peer, _ := f.settle("p")
	assert.Empty(t, f.real("p").Status.Invite.ConnectionString)
	assert.Contains(t, readyOf(t, peer).Message, "somebody else changed it")
	assert.Equal(t, pending, peer.Status.Phase)
	require.NoError(t, f.use("u", said.Token), "whoever has it can use it")

	// Nor does one that is planted where none belongs.
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Status.Invite.ConnectionString = planted })
	f.settle("p")
	assert.Empty(t, f.real("p").Status.Invite.ConnectionString)
}

// S1: one that was planted before ours was written is overwritten.
func TestS1PlantedBeforeMinting(t *testing.T) {
	f := newFixture(t)
	peer := invitePeer("p", "u")
	peer.Status.Invite = &peeringv1alpha1.InviteStatus{ConnectionString: validString(t), TokenID: "0001020304050607"}
	f.holds(peer)
	f.settle("p")
	_, said := f.text("p")
	assert.Equal(t, ourUUID, said.ClusterUUID)
}

// P12: a ClusterPeer that was deleted and made anew starts with nothing, also if nobody
// saw it go.
func TestP12InviteMadeAnew(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	_, first := f.text("p")
	f.holds(invitePeer("p", "v"))
	f.settle("p")
	_, second := f.text("p")
	assert.NotEqual(t, first.TokenID, second.TokenID)
	assert.Nil(t, f.ledger.Peer("u"))
	require.Error(t, f.use("v", first.Token))
	require.NoError(t, f.use("v", second.Token))
}

// P7: a pairing that is not confirmed in time is undone.
func TestP7Undo(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	_, said := f.text("p")
	require.NoError(t, f.use("u", said.Token))
	_, again := f.settle("p")
	assert.Equal(t, record.ConfirmWithin, again)
	f.clock.Step(again)
	peer, _ := f.settle("p")
	assert.Nil(t, f.ledger.Peer("u").Remote)
	assert.Nil(t, peer.Status.Peer)
	assert.Equal(t, ReasonInviteExpired, readyOf(t, peer).Reason)
	assert.Contains(t, readyOf(t, peer).Message, "never confirmed")
	assert.True(t, peer.Status.Invite.Used)
}

// R4: without the right to look, that is said, and asked again after a while.
func TestR4InviteDenied(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Labels = map[string]string{"a": "b"} })
	f.fails(http.MethodGet, "/sensitive", http.StatusForbidden, metav1.StatusReasonForbidden)
	peer, again := f.settle("p")
	assert.Equal(t, deniedFor, again)
	assert.Equal(t, ReasonSensitiveAccessDenied, readyOf(t, peer).Reason)
	f.server.instead(nil)
	f.clock.Step(deniedFor)
	peer, _ = f.settle("p")
	assert.Equal(t, ReasonWaitingForPeer, readyOf(t, peer).Reason)
	f.text("p")

	// Somebody took it away: that can be seen, and there is nothing to keep.
	f.change("p", func(p *peeringv1alpha1.ClusterPeer) { p.Status.Invite.ConnectionString = "" })
	f.fails(http.MethodGet, "/sensitive", http.StatusForbidden, metav1.StatusReasonForbidden)
	peer, _ = f.settle("p")
	assert.Contains(t, readyOf(t, peer).Message, "no longer in the status")
}

// R15, R18: the token is in the one write that delivers it, and nowhere else: no other
// write, no Event, no log at -v=10, no error, no record, not what is remembered.
func TestR15NothingOfAMintedTokenLeaves(t *testing.T) {
	for _, contextual := range []bool{true, false} {
		logs := captureLogs(t, contextual)
		f := newFixture(t)
		f.holds(invitePeer("p", "u"))
		f.run("p")
		text, said := f.text("p")
		delivered := 0
		left := ""
		for _, sent := range f.writes() {
			if strings.Contains(sent.body, text) {
				delivered++
				sent.body = strings.ReplaceAll(sent.body, text, "")
			}
			left += fmt.Sprintf("%+v", sent)
		}
		assert.Equal(t, 1, delivered)
		f.settle("p")
		f.change("p", func(p *peeringv1alpha1.ClusterPeer) {
			p.Annotations = map[string]string{"peering.entente.dev/renew": said.TokenID}
		})
		for _, code := range []int32{400, 409, 422, 500} {
			if !contextual {
				break // then client-go logs the errors of our own server, which quote nothing (R15)
			}
			f.server.instead(func(w http.ResponseWriter, request *http.Request) bool {
				if request.Method != http.MethodPatch {
					return false
				}
				respond(w, int(code), failure(code, metav1.StatusReason(text)))
				return true
			})
			_, err := f.sync(t.Context(), cache.ObjectName{Name: "p"})
			require.Error(t, err)
			left += strings.ReplaceAll(fmt.Sprintf("%v", err), text, "(reason)")
		}
		f.server.instead(nil)
		left += logs() + strings.Join(f.recorded(), "\n")
		left += fmt.Sprintf("%+v %#v", f.memory.peers, f.memory.peers) + fmt.Sprintf("%+v", f.ledger.Peer("u"))
		for _, piece := range pieces(t, text) {
			assert.NotContains(t, left, piece)
		}
	}
}
