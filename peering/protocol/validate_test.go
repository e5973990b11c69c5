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

package protocol

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
)

// What is sent can be read, and says the same.
func TestMessagesSurviveEncoding(t *testing.T) {
	join := sampleJoin(t)
	require.NoError(t, join.Validate())
	var joined JoinRequest
	require.NoError(t, Read(strings.NewReader(encode(t, join)), LimitJoin, &joined))
	assert.True(t, assert.ObjectsAreEqual(join, joined))

	answer := JoinResponse{Protocol: 1, Certificate: []byte{1}, CSR: []byte{1}, Self: sampleSelf(t)}
	require.NoError(t, answer.Validate())
	var answered JoinResponse
	require.NoError(t, Read(strings.NewReader(encode(t, answer)), LimitJoin, &answered))
	assert.Equal(t, answer, answered)

	beat := SyncRequest{Protocol: 1, Wait: 15, State: sampleState(t)}
	require.NoError(t, beat.Validate())
	var beaten SyncRequest
	require.NoError(t, Read(strings.NewReader(encode(t, beat)), LimitSync, &beaten))
	assert.Equal(t, beat, beaten)
	assert.Equal(t, beat.Offer.Digest, beaten.OfferBody.Digest())

	echo := SyncResponse{Protocol: 1, State: sampleState(t)}
	require.NoError(t, echo.Validate())
	var echoed SyncResponse
	require.NoError(t, Read(strings.NewReader(encode(t, echo)), LimitSync, &echoed))
	assert.Equal(t, echo, echoed)
}

// P11: each part of each message is looked at.
func TestP11ValidateJoin(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*JoinRequest)
		want   error
	}{
		{"sound", func(*JoinRequest) {}, nil},
		{"cannot be dialled", func(m *JoinRequest) { m.Endpoints, m.Trust = nil, nil }, nil},
		{"a later protocol", func(m *JoinRequest) { m.Protocol = 9 }, nil},
		{"no protocol", func(m *JoinRequest) { m.Protocol = 0 }, ErrProtocol},
		{"short token ID", func(m *JoinRequest) { m.TokenID = sampleTokenID[1:] }, ErrTokenID},
		{"token ID in upper case", func(m *JoinRequest) { m.TokenID = "000102030405060F" }, ErrTokenID},
		{"no token", func(m *JoinRequest) { m.Token = nil }, ErrToken},
		{"long token", func(m *JoinRequest) { m.Token = append(m.Token, 0) }, ErrToken},
		{"no CSR", func(m *JoinRequest) { m.CSR = nil }, ErrCSR},
		{"large CSR", func(m *JoinRequest) { m.CSR = make([]byte, pki.MaxCertificate+1) }, ErrCSR},
		{"no trust", func(m *JoinRequest) { m.Trust = nil }, ErrTrust},
		{"wrong self", func(m *JoinRequest) { m.ClusterUUID = "" }, ErrClusterUUID},
	} {
		message := sampleJoin(t)
		test.change(&message)
		assertFault(t, test.want, message.Validate(), test.name)
	}
}

func TestP11ValidateJoinResponse(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*JoinResponse)
		want   error
	}{
		{"sound", func(*JoinResponse) {}, nil},
		{"no protocol", func(m *JoinResponse) { m.Protocol = 0 }, ErrProtocol},
		{"no certificate", func(m *JoinResponse) { m.Certificate = nil }, ErrCertificate},
		{"large certificate", func(m *JoinResponse) { m.Certificate = make([]byte, pki.MaxCertificate+1) }, ErrCertificate},
		{"no CSR", func(m *JoinResponse) { m.CSR = nil }, ErrCSR},
		{"no trust", func(m *JoinResponse) { m.Trust = nil }, ErrTrust},
		{"wrong self", func(m *JoinResponse) { m.ClusterUUID = "" }, ErrClusterUUID},
	} {
		message := JoinResponse{Protocol: 1, Certificate: []byte{1}, CSR: []byte{1}, Self: sampleSelf(t)}
		test.change(&message)
		assertFault(t, test.want, message.Validate(), test.name)
	}
}

func TestP11ValidateSelf(t *testing.T) {
	const other = "https://b.example"
	for _, test := range []struct {
		name   string
		change func(*Self)
		want   error
	}{
		{"sound", func(*Self) {}, nil},
		{"trust known already", func(s *Self) { s.Trust = nil }, nil},
		{"no digest either", func(s *Self) { s.Trust, s.TrustDigest = nil, "" }, nil},
		{"no UUID", func(s *Self) { s.ClusterUUID = "" }, ErrClusterUUID},
		{"wrong UUID", func(s *Self) { s.ClusterUUID = "system:masters" }, ErrClusterUUID},
		{"no time", func(s *Self) { s.Time = 0 }, ErrTime},
		{"before time", func(s *Self) { s.Time = -1 }, ErrTime},
		{"end of time", func(s *Self) { s.Time = 253402300800 }, ErrTime},
		{"out of time", func(s *Self) { s.Time = 1<<63 - 1 }, ErrTime},
		{"four endpoints", func(s *Self) { s.Endpoints = []string{other, other + ":1", other + ":2", other + ":3"} }, nil},
		{"five endpoints", func(s *Self) { s.Endpoints = []string{other, other + ":1", other + ":2", other + ":3", other + ":4"} }, ErrEndpoints},
		{"equal endpoints", func(s *Self) { s.Endpoints = []string{other, other} }, ErrEndpoints},
		{"wrong endpoint", func(s *Self) { s.Endpoints = []string{"http://b.example"} }, ErrEndpoints},
		{"another digest", func(s *Self) { s.TrustDigest = sampleDigest }, ErrTrustDigest},
		{"no digest", func(s *Self) { s.TrustDigest = "" }, ErrTrustDigest},
		{"wrong digest", func(s *Self) { s.Trust, s.TrustDigest = nil, "canary" }, ErrTrustDigest},
		{"wrong trust", func(s *Self) { s.Trust = [][]byte{[]byte("canary")} }, ErrTrust},
		{"empty trust", func(s *Self) { s.Trust = [][]byte{nil} }, ErrTrust},
	} {
		self := sampleSelf(t)
		test.change(&self)
		assertFault(t, test.want, self.Validate(), test.name)
	}
}

func TestP11ValidateSync(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*SyncRequest)
		want   error
	}{
		{"sound", func(*SyncRequest) {}, nil},
		{"nothing new", func(m *SyncRequest) { m.OfferBody, m.Trust = nil, nil }, nil},
		{"nothing held", func(m *SyncRequest) { m.Holds = Holding{} }, nil},
		{"renewal", func(m *SyncRequest) { m.CSR, m.Certificate = []byte{1}, []byte{1} }, nil},
		{"no protocol", func(m *SyncRequest) { m.Protocol = 0 }, ErrProtocol},
		{"negative wait", func(m *SyncRequest) { m.Wait = -1 }, ErrWait},
		{"longest wait", func(m *SyncRequest) { m.Wait = MaxWait }, nil},
		{"long wait", func(m *SyncRequest) { m.Wait = MaxWait + 1 }, ErrWait},
		{"wrong self", func(m *SyncRequest) { m.ClusterUUID = "" }, ErrClusterUUID},
		{"wrong header", func(m *SyncRequest) { m.Offer.Digest = "canary" }, ErrOfferHeader},
		{"wrong holding", func(m *SyncRequest) { m.Holds.Offer.Digest = "canary" }, ErrHolds},
		{"wrong held trust", func(m *SyncRequest) { m.Holds.Trust = "canary" }, ErrHolds},
		{"large CSR", func(m *SyncRequest) { m.CSR = make([]byte, pki.MaxCertificate+1) }, ErrCSR},
		{"large certificate", func(m *SyncRequest) { m.Certificate = make([]byte, pki.MaxCertificate+1) }, ErrCertificate},
		{"wrong offer", func(m *SyncRequest) { m.OfferBody.Alias = "<b>" }, ErrAlias},
		{"the offer is last", func(m *SyncRequest) { m.OfferBody.Alias, m.Holds.Trust = "<b>", "canary" }, ErrHolds},
	} {
		message := SyncRequest{Protocol: 1, Wait: 15, State: sampleState(t)}
		test.change(&message)
		assertFault(t, test.want, message.Validate(), test.name)
	}
	response := SyncResponse{State: sampleState(t)}
	assert.Equal(t, ErrProtocol, response.Validate())
	response.Protocol, response.ClusterUUID = 1, ""
	assert.Equal(t, ErrClusterUUID, response.Validate())
}

func TestP11ValidateRenew(t *testing.T) {
	for _, test := range []struct {
		message RenewRequest
		want    error
	}{
		{RenewRequest{Role: "control", CSR: []byte{1}}, nil},
		{RenewRequest{Role: "data", CSR: []byte{1}}, nil},
		{RenewRequest{Role: "", CSR: []byte{1}}, ErrRole},
		{RenewRequest{Role: "admin", CSR: []byte{1}}, ErrRole},
		{RenewRequest{Role: "data"}, ErrCSR},
		{RenewRequest{Role: "data", CSR: make([]byte, pki.MaxCertificate+1)}, ErrCSR},
	} {
		assertFault(t, test.want, test.message.Validate(), test.message.Role)
	}
	assert.NoError(t, (&RenewResponse{Certificate: []byte{1}}).Validate())
	assert.Equal(t, ErrCertificate, (&RenewResponse{}).Validate())
}

func assertFault(t *testing.T, want, got error, name string) {
	t.Helper()
	if want == nil {
		assert.NoError(t, got, name)
		return
	}
	assert.Equal(t, want, got, name)
}
