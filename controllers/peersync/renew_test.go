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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const day = 24 * time.Hour

// due moves a fixture that does not run to where our certificate is due, and begins the
// renewal.
func (f *fixture) due() (before []byte) {
	f.t.Helper()
	before = f.remote().Ours.Certificate
	f.clock.SetTime(f.remote().Ours.RenewAt())
	f.look(f.t.Context(), noon)
	require.NotNil(f.t, f.remote().Next)
	return before
}

// P2: our certificate is renewed with a new key when it is due, which the other gateway
// sees from the next beat on.
func TestP2Renew(t *testing.T) {
	f := joined(t)
	f.clock.SetTime(f.remote().Ours.RenewAt().Add(-time.Second))
	f.look(t.Context(), noon)
	require.Nil(t, f.remote().Next, "not yet")
	before := f.due()
	key := f.remote().Next.Key.Reveal()
	f.look(t.Context(), noon)
	assert.Equal(t, key, f.remote().Next.Key.Reveal(), "a renewal that goes on is not begun again")

	f.runs()
	f.eventually(f.isQuiet, "quiet")
	ours := f.remote().Ours
	assert.Equal(t, key, ours.Key.Reveal())
	assert.Nil(t, f.remote().Next)
	assert.False(t, bytes.Equal(before, ours.Certificate))
	assert.WithinDuration(t, f.clock.Now().Add(record.KeyLife), ours.NotAfter, time.Second)
	assert.True(t, bytes.Equal(ours.Certificate, f.far.lastTarget().Certificate.Certificate[0]))
	assert.Equal(t, 1, f.far.renewed())
	assert.Equal(t, 1, f.open(), "the connection under the old one is closed")
}

// P2: a renewal that fails does not keep the two from talking, and is tried again with
// the same key.
func TestP2RenewFails(t *testing.T) {
	other, err := pki.NewKey()
	require.NoError(t, err)
	for name, renewing := range map[string]func(*fixture) (protocol.RenewResponse, error){
		"busy": func(*fixture) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{}, &client.Failure{Kind: client.Busy}
		},
		"another key's": func(f *fixture) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{Certificate: f.far.certify(other)}, nil
		},
		"nonsense": func(*fixture) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{Certificate: []byte("nonsense")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := joined(t)
			before := f.due()
			var keys [][]byte
			f.far.renewsBy(func(request protocol.RenewRequest) (protocol.RenewResponse, error) {
				public, err := pki.ParseCSR(request.CSR)
				assert.NoError(t, err)
				hash, err := pki.HashOf(public)
				assert.NoError(t, err)
				keys = append(keys, hash[:])
				return renewing(f)
			})
			f.runs()
			f.passes(time.Second, f.isQuiet, "they talk all the same")
			assert.Equal(t, before, f.remote().Ours.Certificate)
			f.passes(time.Second, func() bool { return f.far.renewed() >= 2 }, "again")
			assert.GreaterOrEqual(t, f.clock.Since(f.remote().Contact), time.Duration(0))
			f.far.renewsBy(nil)
			f.passes(time.Second, func() bool { return f.remote().Next == nil }, "in the end")
			assert.Equal(t, keys[0], keys[1])
			assert.Empty(t, f.remote().Fault)
		})
	}
}

// P2: a certificate that ended can be renewed for as long as the other cluster allows,
// and then the trust has expired, until it lets us in again.
func TestP2Expired(t *testing.T) {
	expired := &client.Failure{Kind: client.Refused, Reason: protocol.FailureExpired}
	t.Run("by our clock", func(t *testing.T) {
		f := joined(t)
		f.due()
		f.clock.SetTime(f.remote().Ours.NotAfter)
		f.far.renewsBy(func(protocol.RenewRequest) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{}, expired
		})
		f.runs()
		f.passes(time.Second, func() bool { return f.remote().Fault == record.TrustExpired }, "expired")
		assert.Zero(t, f.far.count(), "nothing but a renewal is worth asking")
		f.far.renewsBy(nil)
		f.passes(time.Second, func() bool { return f.remote().Fault == "" && f.remote().Next == nil }, "it heals")
	})
	t.Run("by the other clock", func(t *testing.T) {
		f := joined(t)
		before := f.remote().Ours.Certificate
		f.far.fails(expired)
		f.far.renewsBy(func(request protocol.RenewRequest) (protocol.RenewResponse, error) {
			f.far.instead, f.far.renewing = nil, nil
			public, _ := pki.ParseCSR(request.CSR)
			serial, _ := pki.NewSerial()
			certificate, err := pki.IssuePeer(f.far.ca, public, pki.PeerTemplate{ClusterUUID: west, Role: pki.RoleControl, Serial: serial, From: noon, Until: noon.Add(day)})
			return protocol.RenewResponse{Certificate: certificate.Raw}, err
		})
		f.runs()
		f.passes(time.Second, f.isQuiet, "a renewal is all it takes")
		assert.NotEqual(t, before, f.remote().Ours.Certificate)
		assert.Empty(t, f.remote().Fault)
		assert.Equal(t, 1, f.far.renewed())
	})
	// Whoever has renewed a stolen key is found out by the owner's own renewal, which is
	// not to wait until it is due. A single refusal is no reason.
	t.Run("not known any more", func(t *testing.T) {
		f := joined(t)
		refusals := 0
		f.far.mind(func(protocol.SyncRequest) (*protocol.SyncResponse, error, bool) {
			refusals++
			return nil, &client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused}, true
		})
		f.far.renewsBy(func(protocol.RenewRequest) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{}, &client.Failure{Kind: client.Refused, Reason: protocol.FailureSuspended}
		})
		f.runs()
		f.passes(time.Second, func() bool { return f.remote().Fault == record.PeerSuspended }, "said at once")
		assert.GreaterOrEqual(t, refusals, 2)
		assert.Less(t, f.clock.Since(noon), time.Hour, "not when the renewal is due")
	})
	t.Run("for good", func(t *testing.T) {
		f := joined(t)
		f.clock.SetTime(f.remote().Ours.NotAfter.Add(record.KeyGrace - time.Second))
		f.look(t.Context(), noon)
		require.Empty(t, f.remote().Fault)
		f.clock.Step(time.Second)
		f.look(t.Context(), noon)
		assert.Equal(t, record.TrustExpired, f.remote().Fault)
	})
}

// P2, P12: who suspends us, or has left, says so to a renewal, too.
func TestP2RenewRefused(t *testing.T) {
	for failure, fault := range map[*client.Failure]record.Reason{
		{Kind: client.Gone}: record.PeerLeft,
		{Kind: client.Refused, Reason: protocol.FailureSuspended}: record.PeerSuspended,
	} {
		f := joined(t)
		f.due()
		f.far.renewsBy(func(protocol.RenewRequest) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{}, failure
		})
		f.runs()
		f.passes(time.Second, func() bool { return f.remote().Fault == fault }, "the fault")
		f.stop()
	}
}

// P2: the other cluster's key is renewed by its answers, since it cannot dial: with a
// certificate of ours for its new key.
func TestP2RenewTheirs(t *testing.T) {
	f := joined(t)
	f.runs()
	certified := func(key *pki.Key) func() bool {
		return func() bool {
			certificate, err := pki.ParseCertificate(f.far.known().Remote.Ours.Certificate)
			return err == nil && key.Fits(certificate)
		}
	}
	f.passes(time.Second, certified(f.far.control), "the first one")
	f.stop()

	f.clock.SetTime(noon.Add(20 * day))
	next, err := pki.NewKey()
	require.NoError(t, err)
	f.far.does(func(peer *record.Peer) { peer.Remote.Next = &record.Credential{Key: record.NewSecret(next.PEM())} })
	f.runs()
	f.passes(time.Second, certified(next), "the next one")
	keys := f.remote().Keys
	require.Len(t, keys, 2)
	assert.Equal(t, keys[1].Hash, keys[0].Successor)
	assert.Equal(t, noon.Add(20*day+record.KeyLife).Truncate(day), keys[1].NotAfter.Truncate(day))
	f.passes(time.Second, func() bool { return len(f.far.last().Certificate) == 0 }, "and then nothing more is sent")
}

// P3: a key whose authority signs no more, before its certificate arrived, is certified
// by the one that does.
func TestP3CertifiedAnew(t *testing.T) {
	f := joined(t)
	_, ca := newCA(t, noon)
	f.update(func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{Current: ca}) })
	f.far.does(func(peer *record.Peer) { peer.Remote.Trust = f.ledger.Authority().Trust() })
	f.runs()
	f.passes(time.Second, func() bool { return len(f.far.known().Remote.Ours.Certificate) > 0 }, "it is certified")
	assert.Len(t, f.remote().Keys, 1)
}
