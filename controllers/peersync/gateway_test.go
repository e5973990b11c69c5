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
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// unobserved is an observer of a gateway that looks away.
type unobserved struct{}

func (unobserved) Occurred(gateway.Occurrence) {}
func (unobserved) Served(gateway.Request)      {}

// whole is a cluster with a controller of this package and, if it has an endpoint, a
// gateway; in real time, over real TLS.
type whole struct {
	t          *testing.T
	ledger     *recordtest.Memory
	self       exchange.Self
	gateway    *gateway.Gateway
	controller *Controller
	dialer     *client.Dialer
}

func newReal(t *testing.T, uuid string, listener net.Listener) *whole {
	t.Helper()
	r := &whole{t: t, ledger: recordtest.New(), self: exchange.Self{ClusterUUID: uuid}}
	_, ca := newCA(t, time.Now())
	r.update(func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{Current: ca}) })
	specs := func(string) (record.Spec, bool) { return record.Spec{}, true }
	var contacts Contacts
	if listener != nil {
		r.self.Endpoints = []string{"https://" + listener.Addr().String()}
		served, err := gateway.New(gateway.Config{Ledger: r.ledger, Self: r.self, Specs: specs, Observer: unobserved{}})
		require.NoError(t, err)
		r.gateway, contacts = served, served
		r.during(func(ctx context.Context) error { return served.Serve(ctx, listener) })
	}
	var err error
	r.dialer, err = client.New(client.Config{Policy: client.Policy{AllowLocal: true}})
	require.NoError(t, err)
	r.controller, err = New(Config{
		Ledger: r.ledger, Connect: Dialing(r.dialer), Self: r.self, Specs: specs, Contacts: contacts, Clock: clock.RealClock{},
	})
	require.NoError(t, err)
	return r
}

// during runs something until the test ends.
func (r *whole) during(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		assert.NoError(r.t, <-ended)
	})
}

func (r *whole) update(change func(record.Tx) error) {
	r.t.Helper()
	require.NoError(r.t, r.ledger.Update(context.Background(), change))
}

func (r *whole) offers(alias string) {
	r.t.Helper()
	r.update(func(tx record.Tx) error {
		_, err := record.SetOffer(tx, uid, protocol.Offer{Alias: alias})
		return err
	})
}

func (r *whole) remote() *record.Remote { return r.ledger.Peer(uid).Remote }

func (r *whole) eventually(condition func() bool, what string) {
	r.t.Helper()
	require.Eventually(r.t, condition, deadline, 5*time.Millisecond, what)
}

// joins pairs two clusters as a join does.
func (r *whole) joins(inviter *whole) {
	r.t.Helper()
	token, tokenID, now := make([]byte, 32), "0001020304050607", time.Now()
	inviter.update(func(tx record.Tx) error {
		return record.Mint(tx, record.Minting{UID: uid, Name: "west", TokenID: tokenID, Hash: record.Hash(uid, token), Now: now, Expires: now.Add(time.Hour)})
	})
	inviter.offers("east")
	key, err := pki.NewKey()
	require.NoError(r.t, err)
	csr, err := pki.NewCSR(key)
	require.NoError(r.t, err)
	r.update(func(tx record.Tx) error {
		_, err := record.StartJoin(tx, record.Joining{
			UID: uid, Name: "east", String: record.Digest{1}, TokenID: tokenID, ClusterUUID: inviter.self.ClusterUUID,
			ExpiresAt: now.Add(time.Hour), Ours: r.self.ClusterUUID, Key: record.NewSecret(key.PEM()),
		})
		return err
	})
	r.offers("west")
	ca, err := pki.ParseAuthority(inviter.ledger.Authority().Current.Certificate)
	require.NoError(r.t, err)
	answer, _, err := r.dialer.Join(r.t.Context(), client.JoinParams{
		Endpoints: inviter.self.Endpoints, Pins: []connstring.Pin{pki.HashOfCertificate(ca)}, Key: key,
		Request: protocol.JoinRequest{Protocol: 1, TokenID: tokenID, Token: token, CSR: csr, Self: r.self.About(r.ledger.Authority(), "", now)},
	})
	require.NoError(r.t, err)
	certificate, err := exchange.Certified(record.NewSecret(key.PEM()), answer.Certificate, answer.Trust)
	require.NoError(r.t, err)
	public, err := pki.ParseCSR(answer.CSR)
	require.NoError(r.t, err)
	theirs, err := exchange.NewKey(r.ledger.Authority(), public, record.RoleControl, record.KeyLife, now)
	require.NoError(r.t, err)
	r.update(func(tx record.Tx) error {
		return record.CompleteJoin(tx, record.Joined{
			UID: uid, String: record.Digest{1}, Now: now, Endpoints: answer.Endpoints, Trust: answer.Trust, Time: answer.Time,
			Certificate: answer.Certificate, NotBefore: certificate.NotBefore, NotAfter: certificate.NotAfter, Key: theirs,
		})
	})
}

// P2, P7, P9, P12: a joiner and a real gateway, over real TLS: they confirm each other,
// hear of changes at once, renew both keys, and part.
func TestP9OverTLS(t *testing.T) {
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	inviter, joiner := newReal(t, east, listener), newReal(t, west, nil)
	joiner.joins(inviter)
	joiner.during(joiner.controller.Run)

	joiner.eventually(func() bool { return joiner.ledger.Peer(uid).Live() && inviter.ledger.Peer(uid).Live() }, "P7: confirmed")
	joiner.eventually(func() bool {
		return joiner.remote().Offer.Body.Alias == "east" && inviter.remote().Offer.Body.Alias == "west"
	}, "P10: both know the other's offer")
	joiner.eventually(func() bool { return len(inviter.remote().Ours.Certificate) > 0 }, "P7: the inviter's key is certified")
	assert.NotZero(t, inviter.gateway.Contact(uid))

	began := time.Now()
	joiner.offers("west.moved")
	joiner.eventually(func() bool { return inviter.remote().Offer.Body.Alias == "west.moved" }, "there at once")
	assert.Less(t, time.Since(began), 5*time.Second, "and not with the next beat")

	before := joiner.remote().Ours.Certificate
	require.NoError(t, joiner.controller.startRenewal(t.Context(), uid, before))
	// A change here ends the beat under way, so that the next one renews.
	joiner.offers("west")
	joiner.eventually(func() bool { return joiner.remote().Next == nil }, "P2: renewed")
	assert.NotEqual(t, before, joiner.remote().Ours.Certificate)
	joiner.eventually(func() bool {
		keys := inviter.remote().Keys
		return len(keys) == 2 && keys[0].Retired && keys[1].Used
	}, "P2: the old key is retired once the new one is used")

	inviter.update(func(tx record.Tx) error { return record.Leave(tx, uid, time.Now()) })
	joiner.eventually(func() bool { return joiner.remote().Fault == record.PeerLeft }, "P12: it left")
}
