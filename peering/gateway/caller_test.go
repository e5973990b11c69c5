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
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// authority is the CA of the gateway.
func (f *fixture) authority() *pki.Authority {
	f.t.Helper()
	current := f.Authority().Current
	authority, err := pki.NewAuthorityFrom(current.Certificate, current.Key.Reveal())
	require.NoError(f.t, err)
	return authority
}

// like is a certificate of the peer's key as the ledger has it, with a change.
func (f *fixture) like(j *joiner, by *pki.Authority, change func(*x509.Certificate)) *tls.Certificate {
	f.t.Helper()
	key := f.Peer(uid).Remote.Keys[0]
	template := x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(key.Serial),
		Subject:      pkix.Name{CommonName: west, OrganizationalUnit: []string{pki.RoleControl}},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:    key.NotBefore, NotAfter: key.NotAfter,
	}
	change(&template)
	certificate, err := by.Issue(template, j.key.Public(), template.NotBefore, template.NotAfter)
	require.NoError(f.t, err)
	made := j.key.TLS(certificate.Raw)
	return &made
}

// P2: of the right key, a certificate that is anything else than the one that was issued
// opens nothing.
func TestP2OtherCertificates(t *testing.T) {
	f, j := paired(t)
	ours := f.authority()
	stolen := newCA(t, "east", noon)
	foreign, err := pki.NewAuthorityFrom(stolen.Certificate, stolen.Key.Reveal())
	require.NoError(t, err)
	for name, test := range map[string]struct {
		by     *pki.Authority
		change func(*x509.Certificate)
		code   int
		reason protocol.FailureReason
	}{
		"the same":        {ours, func(*x509.Certificate) {}, http.StatusOK, ""},
		"of another CA":   {foreign, func(*x509.Certificate) {}, http.StatusForbidden, protocol.FailureRefused},
		"for servers":     {ours, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, http.StatusForbidden, protocol.FailureRefused},
		"for anything":    {ours, func(c *x509.Certificate) { c.ExtKeyUsage = nil }, http.StatusForbidden, protocol.FailureRefused},
		"expired":         {ours, func(c *x509.Certificate) { c.NotAfter = noon }, http.StatusForbidden, protocol.FailureExpired},
		"not yet valid":   {ours, func(c *x509.Certificate) { c.NotBefore = noon.Add(time.Second) }, http.StatusForbidden, protocol.FailureExpired},
		"another serial":  {ours, func(c *x509.Certificate) { c.SerialNumber = big.NewInt(1) }, http.StatusForbidden, protocol.FailureRefused},
		"another cluster": {ours, func(c *x509.Certificate) { c.Subject.CommonName = north }, http.StatusForbidden, protocol.FailureRefused},
		"another role":    {ours, func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{pki.RoleData} }, http.StatusForbidden, protocol.FailureRefused},
		"no role":         {ours, func(c *x509.Certificate) { c.Subject.OrganizationalUnit = nil }, http.StatusForbidden, protocol.FailureRefused},
	} {
		t.Run(name, func(t *testing.T) {
			l := f.dial(f.like(j, test.by, test.change), true)
			a := l.post(protocol.PathSync, f.beat(j, nil))
			assert.Equal(t, test.code, a.code)
			assert.Equal(t, test.reason, a.reason)
		})
	}
}

// P2: the certificate of another peer, whole, is that of the other peer.
func TestP2OtherPeer(t *testing.T) {
	f, _ := paired(t)
	f.mint(otherUID, "aaaaaaaaaaaaaaaa")
	other := f.newJoiner(t, north)
	other.request.TokenID = "aaaaaaaaaaaaaaaa"
	require.Equal(t, http.StatusOK, f.join(other).code)
	request := protocol.SyncRequest{Protocol: 1, State: protocol.State{Self: protocol.Self{ClusterUUID: west, Time: noon.Unix(), TrustDigest: other.request.TrustDigest}}}
	f.dial(&other.certificate, true).post(protocol.PathSync, request).is(t, http.StatusForbidden, protocol.FailureUUIDMismatch)
	assert.Empty(t, f.Peer(uid).Remote.Fault)
	assert.Equal(t, record.UUIDMismatch, f.Peer(otherUID).Remote.Fault, "P6: checked again at every sync")
}

// P1: no request without a client certificate, none below TLS 1.3.
func TestP1Handshake(t *testing.T) {
	f, j := paired(t)
	require.Error(t, f.dial(nil, false).post(protocol.PathSync, f.beat(j, nil)).err)
	old := f.dial(&j.certificate, false)
	old.transport.TLSClientConfig.MinVersion, old.transport.TLSClientConfig.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	require.Error(t, old.post(protocol.PathSync, f.beat(j, nil)).err)

	cache := tls.NewLRUClientSessionCache(4)
	l := f.dial(&j.certificate, false)
	l.transport.TLSClientConfig.ClientSessionCache = cache
	l.transport.TLSClientConfig.ServerName = "127.0.0.1"
	l.transport.DisableKeepAlives = true
	for range 2 {
		l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
	}
	_, ok := cache.Get("127.0.0.1")
	assert.False(t, ok, "no session tickets")
}

// P2: what there is and what is not, only a peer learns.
func TestP2UnknownPath(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	for _, path := range []string{"/", "/peering/v1/sync/", "/peering/v1/../v1/sync", "/peering/v1/api/x", "/metrics"} {
		l.post(path, struct{}{}).is(t, http.StatusNotFound, protocol.FailureInvalid)
	}
	l.send(t.Context(), http.MethodGet, protocol.PathSync, nil, http.Header{}).is(t, http.StatusMethodNotAllowed, protocol.FailureInvalid)
}

// P2, S3: revoking is immediate, on a connection that is open, whatever revokes.
func TestP2Revoke(t *testing.T) {
	remove := func(f *fixture) {
		f.must(func(tx record.Tx) error { return record.Remove(tx, uid, f.clock.Now()) })
	}
	for name, test := range map[string]struct {
		revoke func(*fixture)
		code   int
		reason protocol.FailureReason
	}{
		"removed":  {remove, http.StatusGone, protocol.FailureGone},
		"left":     {func(f *fixture) { f.must(func(tx record.Tx) error { return record.Leave(tx, uid, noon) }) }, http.StatusGone, protocol.FailureGone},
		"deleting": {func(f *fixture) { f.setSpec(uid, record.Spec{Deleting: true}) }, http.StatusGone, protocol.FailureGone},
		"suspended": {func(f *fixture) {
			f.must(func(tx record.Tx) error { return record.Suspend(tx, uid, record.PeerSuspended) })
		}, http.StatusForbidden, protocol.FailureSuspended},
		"cloned":   {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Fault = record.ClonedPeer }) }, http.StatusConflict, protocol.FailureClonedPeer},
		"key gone": {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Keys = nil }) }, http.StatusForbidden, protocol.FailureRefused},
		"undone":   {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote = nil }) }, http.StatusForbidden, protocol.FailureRefused},
		"retired":  {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Keys[0].Retired = true }) }, http.StatusForbidden, protocol.FailureRefused},
		"CA gone": {func(f *fixture) {
			f.must(func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{Current: newCA(f.t, "x", noon)}) })
		}, http.StatusForbidden, protocol.FailureRefused},
		"lost sight":    {func(f *fixture) { f.SetFresh(record.ErrStale); f.edit(func(*record.Peer) {}) }, http.StatusServiceUnavailable, protocol.FailureUnavailable},
		"not seen here": {func(f *fixture) { f.mu.Lock(); delete(f.specs, uid); f.mu.Unlock() }, http.StatusServiceUnavailable, protocol.FailureUnavailable},
	} {
		for _, two := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				f, j := paired(t)
				l := f.dial(&j.certificate, two)
				l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
				request := f.beat(j, nil)
				test.revoke(f)
				for _, path := range []string{protocol.PathSync, protocol.PathLeave, "/nothing"} {
					l.post(path, request).is(t, test.code, test.reason)
				}
			})
		}
	}
}

// P2: the same in the middle of a sync that is held back: it is answered at once.
func TestP2RevokeHeld(t *testing.T) {
	for _, two := range []bool{false, true} {
		f, j := paired(t)
		l := f.dial(&j.certificate, two)
		l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
		answers := f.held(l, f.beat(j, func(r *protocol.SyncRequest) { r.Wait = 15 }))
		silent(t, answers)
		f.must(func(tx record.Tx) error { return record.Remove(tx, uid, noon) })
		began := time.Now()
		receive(t, answers).is(t, http.StatusGone, protocol.FailureGone)
		assert.Less(t, time.Since(began), time.Second)
		assert.Zero(t, f.gateway.Contact(uid), "nothing is kept of a peer that is gone")
		f.gateway.presences.mu.Lock()
		assert.Empty(t, f.gateway.presences.byUID)
		f.gateway.presences.mu.Unlock()
	}
}

// P2: and while a message is being sent.
func TestP2RevokeReading(t *testing.T) {
	for _, two := range []bool{false, true} {
		f, j := paired(t)
		l := f.dial(&j.certificate, two)
		l.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
		body, err := json.Marshal(f.beat(j, nil))
		require.NoError(t, err)
		reading, writing := io.Pipe()
		answers := make(chan answer, 1)
		go func() {
			answers <- l.send(context.Background(), http.MethodPost, protocol.PathSync, reading, http.Header{"Content-Type": {protocol.ContentType}})
		}()
		_, err = writing.Write(body[:10])
		require.NoError(t, err)
		// The gateway has admitted it once it counts the call.
		require.Eventually(t, func() bool {
			f.gateway.presences.mu.Lock()
			defer f.gateway.presences.mu.Unlock()
			return f.gateway.presences.byUID[uid].calls.TokensAt(noon) < 999
		}, soon, tick)
		f.must(func(tx record.Tx) error { return record.Remove(tx, uid, noon) })
		_, err = writing.Write(body[10:])
		require.NoError(t, err)
		require.NoError(t, writing.Close())
		receive(t, answers).is(t, http.StatusGone, protocol.FailureGone)
	}
}

// P12: a tombstone answers for 60 days, to its own cluster's key only.
func TestP12Tombstone(t *testing.T) {
	f, j := paired(t)
	f.must(func(tx record.Tx) error { return record.Remove(tx, uid, noon) })
	l := f.dial(&j.certificate, true)
	for _, path := range []string{protocol.PathSync, protocol.PathRenew, protocol.PathLeave, "/"} {
		l.post(path, struct{}{}).is(t, http.StatusGone, protocol.FailureGone)
	}
	f.clock.Step(record.BuriedFor - time.Second)
	l.post(protocol.PathSync, struct{}{}).is(t, http.StatusGone, protocol.FailureGone)
	f.clock.Step(time.Second)
	l.post(protocol.PathSync, struct{}{}).is(t, http.StatusForbidden, protocol.FailureRefused)
}

// P2: an expired certificate may be renewed for 30 days, and do nothing else.
func TestP2Grace(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	_, csr := newCSR(t)
	renewal := protocol.RenewRequest{Role: pki.RoleControl, CSR: csr}
	data := protocol.RenewRequest{Role: pki.RoleData, CSR: csr}

	require.Equal(t, http.StatusOK, l.post(protocol.PathSync, f.beat(j, nil)).code)
	f.clock.Step(record.KeyLife)
	l.post(protocol.PathSync, f.beat(j, nil)).is(t, http.StatusForbidden, protocol.FailureExpired)
	l.post(protocol.PathLeave, struct{}{}).is(t, http.StatusForbidden, protocol.FailureExpired)
	l.post(protocol.PathRenew, data).is(t, http.StatusForbidden, protocol.FailureExpired)
	f.clock.Step(record.KeyGrace - time.Second)
	l.post(protocol.PathRenew, renewal).into(t, &protocol.RenewResponse{})
	f.clock.Step(time.Second)
	l.post(protocol.PathRenew, renewal).is(t, http.StatusForbidden, protocol.FailureExpired)
}

// P3: who signed is worked out once a connection, and found out again when that CA goes.
func TestP2SignerIsRemembered(t *testing.T) {
	f, j := paired(t)
	certificate, err := x509.ParseCertificate(j.certificate.Certificate[0])
	require.NoError(t, err)
	c := &connection{}
	issuer := f.Peer(uid).Remote.Keys[0].Issuer
	require.True(t, c.signedBy(certificate, f.Authority(), issuer))
	assert.NotNil(t, c.authority)
	assert.True(t, c.signedBy(certificate, f.Authority(), issuer))
	assert.False(t, c.signedBy(certificate, f.Authority(), record.Digest{1}))
	assert.False(t, c.signedBy(certificate, &record.Authority{Current: newCA(t, "x", noon)}, issuer))
	assert.False(t, c.signedBy(certificate, nil, issuer))
	old := f.Authority().Current
	assert.True(t, c.signedBy(certificate, &record.Authority{Current: newCA(t, "x", noon), Previous: []record.CA{old}}, issuer))
}
