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
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// P6, P7: a token is used up for a certificate of the joiner's key, the inviter's CSR and
// its trust bundle; and that certificate lets it in.
func TestP6Join(t *testing.T) {
	f := newFixture(t)
	before := f.Epoch()
	j := f.newJoiner(t, west)
	j.request.Endpoints = []string{"https://west.example.com:9443"}
	var response protocol.JoinResponse
	f.join(j).into(t, &response)
	require.NoError(t, response.Validate())

	certificate, err := pki.ParseCertificate(response.Certificate)
	require.NoError(t, err)
	ca, err := pki.ParseAuthority(f.Authority().Current.Certificate)
	require.NoError(t, err)
	require.NoError(t, certificate.CheckSignatureFrom(ca))
	assert.True(t, j.key.Fits(certificate))
	assert.Equal(t, noon.Add(-record.KeyBackdate), certificate.NotBefore, "P2: 5 min back")
	assert.Equal(t, noon.Add(record.KeyLife), certificate.NotAfter, "P2: 30 days")
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, certificate.ExtKeyUsage)

	peer := f.Peer(uid)
	assert.Equal(t, west, peer.Remote.ClusterUUID)
	assert.Equal(t, j.request.Endpoints, peer.Remote.Endpoints)
	assert.Equal(t, j.request.Trust, peer.Remote.Trust)
	assert.True(t, peer.Remote.ConfirmedAt.IsZero(), "P7: pending until the first call")
	assert.Equal(t, east, response.ClusterUUID)
	assert.Equal(t, f.Authority().Trust(), response.Trust)
	public, err := pki.ParseCSR(response.CSR)
	require.NoError(t, err)
	ours, err := pki.ParseKey(peer.Remote.Ours.Key.Reveal())
	require.NoError(t, err)
	assert.Equal(t, ours.Public(), public, "P7: the CSR is of the key that was kept")
	assert.Greater(t, f.Epoch(), before, "S2: a use moves the epoch")

	used := f.seen.of(InviteUsed)
	require.Len(t, used, 1, "P15")
	assert.Equal(t, uid, used[0].UID)
	assert.Equal(t, west, used[0].ClusterUUID)
	assert.Equal(t, peer.Invite.Use.Key, used[0].Key)
	assert.Equal(t, "127.0.0.1", used[0].Source.String())
	assert.Equal(t, http.StatusOK, used[0].Code)

	f.dial(&j.certificate, true).post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
	assert.Equal(t, noon, f.Peer(uid).Remote.ConfirmedAt, "P7: confirmed by the first call")
	assert.Len(t, f.seen.of(PeerConfirmed), 1)
}

// P6: of any number of parallel uses one wins.
func TestP6OneWins(t *testing.T) {
	f := newFixture(t)
	const tries = 50
	var joiners []*joiner
	for range tries {
		joiners = append(joiners, f.newJoiner(t, west))
	}
	answers := make([]answer, tries)
	var group sync.WaitGroup
	for i, j := range joiners {
		group.Go(func() { answers[i] = f.join(j) })
	}
	group.Wait()
	won := 0
	for i, a := range answers {
		if a.code == http.StatusOK {
			won++
			assert.Equal(t, f.Peer(uid).Invite.Use.Key, record.Digest(hashOf(t, joiners[i].key)))
			continue
		}
		a.is(t, http.StatusForbidden, protocol.FailureRefused)
	}
	assert.Equal(t, 1, won)
	assert.Len(t, f.seen.of(InviteUsed), 1)
	assert.Len(t, f.seen.of(InviteRefused), tries-1)
	assert.Equal(t, record.TokenRejected, f.Peer(uid).Invite.Refused.Reason, "P6: the owner sees it")
}

func hashOf(t *testing.T, key *pki.Key) [32]byte {
	t.Helper()
	hash, err := pki.HashOf(key.Public())
	require.NoError(t, err)
	return hash
}

// P6: the same key and UUID get the same answer again for 10 minutes, and no longer.
func TestP6Repeat(t *testing.T) {
	f := newFixture(t)
	j := f.newJoiner(t, west)
	self := j.certificate
	again := func() answer { return f.dial(&self, true).post(protocol.PathJoin, j.request) }
	var first, second protocol.JoinResponse
	again().into(t, &first)
	f.clock.Step(record.RepeatWithin)
	epoch := f.Epoch()
	again().into(t, &second)
	one, err := x509.ParseCertificate(first.Certificate)
	require.NoError(t, err)
	two, err := x509.ParseCertificate(second.Certificate)
	require.NoError(t, err)
	assert.Equal(t, one.RawTBSCertificate, two.RawTBSCertificate)
	assert.Equal(t, epoch, f.Epoch(), "it is no other use")
	assert.Len(t, f.seen.of(InviteUsed), 1)

	// The CA that signed is the one that signs again, or none.
	f.must(func(tx record.Tx) error {
		authority, err := tx.Authority()
		if err != nil {
			return err
		}
		old := authority.Current
		old.Key = record.Secret{}
		return tx.PutAuthority(&record.Authority{Current: newCA(t, "next", noon), Previous: []record.CA{old}})
	})
	again().is(t, http.StatusForbidden, protocol.FailureRefused)

	f.clock.Step(time.Second)
	again().is(t, http.StatusForbidden, protocol.FailureRefused)
	assert.Equal(t, record.TokenRejected, f.Peer(uid).Invite.Refused.Reason)
}

// P6: to a stranger every failure looks alike, byte for byte, and changes nothing.
func TestP6Opaque(t *testing.T) {
	f := newFixture(t)
	wrongID := f.newJoiner(t, west)
	wrongID.request.TokenID = "ffffffffffffffff"
	wrongToken := f.newJoiner(t, west)
	wrongToken.request.Token = bytes.Repeat([]byte("x"), len(token))
	wrongBoth := f.newJoiner(t, north)
	wrongBoth.request.TokenID, wrongBoth.request.Token = "eeeeeeeeeeeeeeee", wrongToken.request.Token
	wrongTokenTooLate := f.newJoiner(t, east)
	wrongTokenTooLate.request.Token = wrongToken.request.Token
	otherKey := f.newJoiner(t, west)
	otherKey.request.CSR = wrongID.request.CSR

	before, err := record.Encode(f.Peer(uid))
	require.NoError(t, err)
	epoch := f.Epoch()
	for _, two := range []bool{false, true} {
		var same *answer
		for _, j := range []*joiner{wrongID, wrongToken, wrongBoth, wrongTokenTooLate, otherKey} {
			a := f.dial(&j.certificate, two).post(protocol.PathJoin, j.request)
			a.is(t, http.StatusForbidden, protocol.FailureRefused)
			if same == nil {
				same = &a
			}
			assert.Equal(t, *same, a)
		}
	}
	after, err := record.Encode(f.Peer(uid))
	require.NoError(t, err)
	assert.Equal(t, before, after, "wrong tokens change nothing that is stored")
	assert.Equal(t, epoch, f.Epoch())

	var about []string
	for _, what := range f.seen.of(InviteRefused) {
		assert.Equal(t, record.TokenRejected, what.Reason)
		about = append(about, what.UID)
	}
	assert.Equal(t, []string{"", uid, "", uid, "", uid, "", uid}, about, "the observer knows whose invite it was")
	assert.Len(t, f.seen.of(Unauthorized), 2, "the CSR is of another key")
}

// P6, P13: who knew the token is told why, the owner too, and the token is not used up.
func TestP6ToldWhy(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*fixture, *joiner)
		failure protocol.FailureReason
		reason  record.Reason
	}{
		"our own UUID":  {func(_ *fixture, j *joiner) { j.request.ClusterUUID = east }, protocol.FailureSelfPeering, record.SelfPeering},
		"not expected":  {func(f *fixture, _ *joiner) { f.setSpec(uid, record.Spec{ExpectedClusterUUID: north}) }, protocol.FailureUUIDMismatch, record.UUIDMismatch},
		"expired":       {func(f *fixture, j *joiner) { f.clock.Step(24 * time.Hour); j.request.Time += 24 * 3600 }, protocol.FailureExpired, record.InviteExpired},
		"a day behind":  {func(_ *fixture, j *joiner) { j.request.Time -= 24 * 3600 }, protocol.FailureClockSkew, record.ClockSkew},
		"a day ahead":   {func(_ *fixture, j *joiner) { j.request.Time += 24 * 3600 }, protocol.FailureClockSkew, record.ClockSkew},
		"being deleted": {func(f *fixture, _ *joiner) { f.setSpec(uid, record.Spec{Deleting: true}) }, protocol.FailureRefused, record.TokenRejected},
		"held by another": {func(f *fixture, _ *joiner) {
			f.mint(otherUID, "aaaaaaaaaaaaaaaa")
			other := f.newJoiner(t, west)
			other.request.TokenID = "aaaaaaaaaaaaaaaa"
			require.Equal(t, http.StatusOK, f.join(other).code)
		}, protocol.FailureDuplicatePeer, record.DuplicatePeer},
		"void": {func(f *fixture, _ *joiner) { f.edit(func(p *record.Peer) { p.Invite.Void = true }) }, protocol.FailureRefused, record.TokenRejected},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			j := f.newJoiner(t, west)
			test.prepare(f, j)
			f.join(j).is(t, http.StatusForbidden, test.failure)
			peer := f.Peer(uid)
			assert.Nil(t, peer.Invite.Use, "the token is not used up")
			assert.Nil(t, peer.Remote)
			require.NotNil(t, peer.Invite.Refused)
			assert.Equal(t, test.reason, peer.Invite.Refused.Reason)
			seen := f.seen.of(InviteRefused)
			require.Len(t, seen, 1)
			assert.Equal(t, test.reason, seen[0].Reason)
			assert.Equal(t, uid, seen[0].UID)
			assert.Equal(t, "name-of-1", seen[0].Name)
		})
	}
}

// P6: a clock that is 10 minutes off does not matter, in the message or the certificate.
func TestP6Skew(t *testing.T) {
	for _, skew := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		f := newFixture(t)
		j := f.newJoiner(t, west)
		j.request.Time += int64(skew / time.Second)
		self, err := pki.SelfSigned(j.key, noon.Add(skew), noon.Add(skew+time.Minute))
		require.NoError(t, err)
		j.certificate = j.key.TLS(self.Raw)
		require.Equal(t, http.StatusOK, f.join(j).code)
		assert.Equal(t, skew, f.Peer(uid).Remote.Skew)
	}
}

// P6: once used, the token is of no use to another key or another UUID.
func TestP6UsedByAnother(t *testing.T) {
	f, j := paired(t)
	f.join(f.newJoiner(t, west)).is(t, http.StatusForbidden, protocol.FailureRefused)
	f.clock.Step(record.ContactStep) // what is noted for the owner is noted once a minute
	again := j.request
	again.ClusterUUID = north
	self, err := pki.SelfSigned(j.key, noon, noon.Add(time.Hour))
	require.NoError(t, err)
	certificate := j.key.TLS(self.Raw)
	f.dial(&certificate, true).post(protocol.PathJoin, again).is(t, http.StatusForbidden, protocol.FailureRefused)
	assert.Equal(t, west, f.Peer(uid).Remote.ClusterUUID)
	assert.Equal(t, north, f.Peer(uid).Invite.Refused.ClusterUUID)
}

// P6, P2: the certificate of a join may do nothing else, and no other one may join.
func TestP6CertificateOfJoin(t *testing.T) {
	f, j := paired(t)
	stranger := f.newJoiner(t, north)
	l := f.dial(&stranger.certificate, true)
	for _, path := range []string{protocol.PathSync, protocol.PathRenew, protocol.PathLeave, "/", "/healthz", "/peering/v1/join/", "/peering/v1/join/../sync"} {
		l.post(path, struct{}{}).is(t, http.StatusForbidden, protocol.FailureRefused)
	}
	assert.NotEmpty(t, f.seen.of(Unauthorized))

	// A certificate by us is not signed by its own key.
	f.dial(&j.certificate, true).post(protocol.PathJoin, j.request).is(t, http.StatusForbidden, protocol.FailureRefused)
}

// P6: the token is not looked at unless the certificate is signed by its own key, and is
// that of a client.
func TestP6SelfSigned(t *testing.T) {
	f := newFixture(t)
	j, other := f.newJoiner(t, west), f.newJoiner(t, north)
	issued := func(by *pki.Key, name string, usage x509.ExtKeyUsage) tls.Certificate {
		authority, err := pki.NewAuthority(name, by, noon, noon.Add(time.Hour))
		require.NoError(t, err)
		certificate, err := authority.Issue(x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{usage}}, j.key.Public(), noon, noon.Add(time.Hour))
		require.NoError(t, err)
		return j.key.TLS(certificate.Raw)
	}
	updates := f.updates.Load()
	for _, certificate := range []tls.Certificate{
		issued(other.key, "", x509.ExtKeyUsageClientAuth),
		issued(j.key, "another", x509.ExtKeyUsageClientAuth),
		issued(j.key, "", x509.ExtKeyUsageServerAuth),
		other.certificate,
	} {
		a := f.dial(&certificate, false).post(protocol.PathJoin, j.request)
		a.is(t, http.StatusForbidden, protocol.FailureRefused)
		assert.True(t, a.parted, "nothing more is expected of a stranger")
	}
	assert.Equal(t, updates, f.updates.Load())
	good := issued(j.key, "", x509.ExtKeyUsageClientAuth)
	a := f.dial(&good, false).post(protocol.PathJoin, j.request)
	assert.Equal(t, http.StatusOK, a.code)
	assert.True(t, a.parted)
	a = f.dial(&other.certificate, false).post(protocol.PathSync, struct{}{})
	a.is(t, http.StatusForbidden, protocol.FailureRefused)
	assert.True(t, a.parted)
}

// P4: a version that is not spoken here is said, whatever the token.
func TestP4Version(t *testing.T) {
	f := newFixture(t)
	j := f.newJoiner(t, west)
	j.request.Protocol = protocol.MaxVersion + 1
	f.join(j).is(t, http.StatusForbidden, protocol.FailureIncompatibleVersion)
	assert.Nil(t, f.Peer(uid).Invite.Use)
}

// P6: each source has a limit of its own, and what one has too much of does not count
// for all.
func TestP6Limits(t *testing.T) {
	f := newFixture(t, limits(Limits{JoinsPerSource: 1, JoinBurstPerSource: 3, Joins: 0.001, JoinBurst: 4}))
	j := f.newJoiner(t, west)
	j.request.TokenID = "ffffffffffffffff"
	l := f.dial(&j.certificate, true)
	for range 3 {
		l.post(protocol.PathJoin, j.request).is(t, http.StatusForbidden, protocol.FailureRefused)
	}
	for range 10 {
		l.post(protocol.PathJoin, j.request).is(t, http.StatusTooManyRequests, protocol.FailureBusy)
	}
	assert.Len(t, f.seen.of(RateLimited), 10)
	f.clock.Step(time.Second)
	l.post(protocol.PathJoin, j.request).is(t, http.StatusForbidden, protocol.FailureRefused)
}

// S2, S3: a replica that has lost sight of the ledger, or finds it restored, says so to
// everybody; and a use that could not be told is told when it is asked for again.
func TestS3Stale(t *testing.T) {
	f, j := paired(t)
	stranger := f.newJoiner(t, north)
	for _, err := range []error{record.ErrStale, record.ErrRestored} {
		f.SetFresh(err)
		f.join(stranger).is(t, http.StatusServiceUnavailable, protocol.FailureUnavailable)
		l := f.dial(&j.certificate, false)
		for _, path := range []string{protocol.PathSync, protocol.PathRenew, protocol.PathLeave, "/"} {
			l.post(path, struct{}{}).is(t, http.StatusServiceUnavailable, protocol.FailureUnavailable)
		}
	}
	f.SetFresh(nil)
	f.dial(&j.certificate, false).post(protocol.PathSync, f.beat(j, nil)).into(t, &protocol.SyncResponse{})
}

// P11: a message that breaks the rules is refused before anything is done about it.
func TestP11HostileJoin(t *testing.T) {
	f := newFixture(t)
	j := f.newJoiner(t, west)
	good, err := json.Marshal(j.request)
	require.NoError(t, err)
	l := f.dial(&j.certificate, false)
	post := func(body []byte, header http.Header) answer {
		return l.send(t.Context(), http.MethodPost, protocol.PathJoin, bytes.NewReader(body), header)
	}
	plain := http.Header{"Content-Type": {protocol.ContentType}}
	for name, body := range map[string][]byte{
		"too large":         append(bytes.Repeat([]byte(" "), protocol.LimitJoin), good...),
		"something follows": append(bytes.Clone(good), good...),
		"too deep":          []byte(deep(1000)),
		"no JSON":           []byte("canary"),
		"nothing":           nil,
		"no fields":         []byte("{}"),
	} {
		t.Run(name, func(t *testing.T) { post(body, plain).is(t, http.StatusBadRequest, protocol.FailureInvalid) })
	}
	post(good, http.Header{"Content-Type": {"text/plain"}}).is(t, http.StatusUnsupportedMediaType, protocol.FailureInvalid)
	post(good, http.Header{}).is(t, http.StatusUnsupportedMediaType, protocol.FailureInvalid)
	post(good, http.Header{"Content-Type": {protocol.ContentType}, "Content-Encoding": {"gzip"}}).is(t, http.StatusUnsupportedMediaType, protocol.FailureInvalid)
	l.send(t.Context(), http.MethodGet, protocol.PathJoin, nil, plain).is(t, http.StatusMethodNotAllowed, protocol.FailureInvalid)
	assert.Nil(t, f.Peer(uid).Invite.Use)
	post(good, plain).into(t, &protocol.JoinResponse{})
}
