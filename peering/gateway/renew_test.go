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
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// renewed has a key certified.
func (f *fixture) renewed(l *line, role string, key *pki.Key, csr []byte) *line {
	f.t.Helper()
	var response protocol.RenewResponse
	l.post(protocol.PathRenew, protocol.RenewRequest{Role: role, CSR: csr}).into(f.t, &response)
	certificate := key.TLS(response.Certificate)
	return f.dial(&certificate, true)
}

// P2: a control key is renewed to one other, which ends it by its first use; the same
// again is the same, and another one suspends the peer.
func TestP2Renew(t *testing.T) {
	f, j := paired(t)
	epoch := f.Epoch()
	old := f.dial(&j.certificate, true)
	key, csr := newCSR(t)
	next := f.renewed(old, pki.RoleControl, key, csr)
	assert.Greater(t, f.Epoch(), epoch)
	assert.Len(t, f.seen.of(PeerConfirmed), 1, "P7: the first call confirms")
	assert.Len(t, f.seen.of(KeyRenewed), 1)
	assert.Equal(t, noon.Add(record.KeyLife), f.Peer(uid).Remote.Key(hashOf(t, key)).NotAfter)

	f.renewed(old, pki.RoleControl, key, csr)
	assert.Len(t, f.seen.of(KeyRenewed), 1, "P15: once")
	old.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})

	next.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
	old.post(protocol.PathSync, f.beat(j, nil)).is(t, http.StatusForbidden, protocol.FailureRefused)
	_, dataCSR := newCSR(t)
	old.post(protocol.PathRenew, protocol.RenewRequest{Role: pki.RoleData, CSR: dataCSR}).is(t, http.StatusForbidden, protocol.FailureRefused)
	f.renewed(old, pki.RoleControl, key, csr)

	_, other := newCSR(t)
	old.post(protocol.PathRenew, protocol.RenewRequest{Role: pki.RoleControl, CSR: other}).is(t, http.StatusForbidden, protocol.FailureSuspended)
	require.Len(t, f.seen.of(PeerSuspended), 1)
	assert.Equal(t, record.PeerSuspended, f.Peer(uid).Remote.Fault)
	for _, l := range []*line{old, next} {
		l.post(protocol.PathSync, f.beat(j, nil)).is(t, http.StatusForbidden, protocol.FailureSuspended)
		l.post(protocol.PathRenew, protocol.RenewRequest{Role: pki.RoleControl, CSR: csr}).is(t, http.StatusForbidden, protocol.FailureSuspended)
	}
}

// P2: a data certificate is for 24 h, beside the control key, and for nothing that is
// the control key's.
func TestP2DataKey(t *testing.T) {
	f, j := paired(t)
	control := f.dial(&j.certificate, true)
	key, csr := newCSR(t)
	data := f.renewed(control, pki.RoleData, key, csr)
	assert.Equal(t, noon.Add(record.DataKeyLife), f.Peer(uid).Remote.Key(hashOf(t, key)).NotAfter)
	_, another := newCSR(t)
	for path, message := range map[string]any{
		protocol.PathSync:  f.beat(j, nil),
		protocol.PathRenew: protocol.RenewRequest{Role: pki.RoleData, CSR: another},
		protocol.PathLeave: struct{}{},
	} {
		data.post(path, message).is(t, http.StatusForbidden, protocol.FailureRefused)
	}
	// A key has one role for ever.
	control.post(protocol.PathRenew, protocol.RenewRequest{Role: pki.RoleControl, CSR: csr}).is(t, http.StatusForbidden, protocol.FailureRefused)
	control.post(protocol.PathRenew, protocol.RenewRequest{Role: pki.RoleData, CSR: j.request.CSR}).is(t, http.StatusForbidden, protocol.FailureRefused)
	control.post(protocol.PathRenew, protocol.RenewRequest{Role: "admin", CSR: another}).is(t, http.StatusBadRequest, protocol.FailureInvalid)
	control.post(protocol.PathRenew, protocol.RenewRequest{Role: pki.RoleData, CSR: []byte("canary")}).is(t, http.StatusBadRequest, protocol.FailureInvalid)
	control.post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
}

// P12: who leaves is let in no more, and is told that it is over; a new invite works.
func TestP12Leave(t *testing.T) {
	f, j := paired(t)
	l := f.dial(&j.certificate, true)
	epoch := f.Epoch()
	l.post(protocol.PathLeave, protocol.LeaveRequest{}).into(t, &protocol.LeaveResponse{})
	assert.Greater(t, f.Epoch(), epoch)
	assert.Equal(t, record.PeerLeft, f.Peer(uid).Remote.Fault)
	assert.Empty(t, f.Peer(uid).Remote.Keys)
	require.Len(t, f.seen.of(PeerLeft), 1)
	assert.Equal(t, west, f.seen.of(PeerLeft)[0].ClusterUUID)
	l.post(protocol.PathLeave, protocol.LeaveRequest{}).is(t, http.StatusGone, protocol.FailureGone)
	l.post(protocol.PathSync, protocol.SyncRequest{}).is(t, http.StatusGone, protocol.FailureGone)

	f.must(func(tx record.Tx) error {
		return record.Mint(tx, record.Minting{UID: uid, TokenID: "aaaaaaaaaaaaaaaa", Replaces: tokenID, Hash: record.Hash(uid, token), Now: noon, Expires: noon.Add(record.MaxSkew)})
	})
	again := f.newJoiner(t, west)
	again.request.TokenID = "aaaaaaaaaaaaaaaa"
	require.Equal(t, http.StatusOK, f.join(again).code)
}
