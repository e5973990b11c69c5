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
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	pending = peeringv1alpha1.ClusterPeerPhasePending
	active  = peeringv1alpha1.ClusterPeerPhaseActive
	failed  = peeringv1alpha1.ClusterPeerPhaseError
)

// joined is what was found of a connection string that the record in these tests has.
var joined = finding{text: record.Digest{7}, clusterUUID: otherUUID}

func openInvite(change func(*record.Invite)) *record.Invite {
	invite := &record.Invite{TokenID: "0001020304050607", Hash: record.Digest{9}, IssuedAt: noon.Add(-time.Minute), ExpiresAt: noon.Add(time.Hour), Delivered: true}
	if change != nil {
		change(invite)
	}
	return invite
}

func livePeer(change func(*record.Remote)) *record.Remote {
	remote := &record.Remote{ClusterUUID: otherUUID, PairedAt: noon.Add(-time.Minute), ConfirmedAt: noon.Add(-time.Minute)}
	if change != nil {
		change(remote)
	}
	return remote
}

func faulty(fault record.Reason) *record.Remote {
	return livePeer(func(r *record.Remote) { r.Fault = fault })
}

// P8, P13: phase, reason and message, one case a reason and more; invite side.
func TestP13ReadyOfAnInvite(t *testing.T) {
	refused := func(reason record.Reason) *record.Invite {
		return openInvite(func(i *record.Invite) { i.Refused = &record.Refused{Reason: reason, ClusterUUID: thirdUUID, At: noon} })
	}
	used := func(change func(*record.Invite)) *record.Invite {
		return openInvite(func(i *record.Invite) {
			i.Use = &record.Use{ClusterUUID: otherUUID, At: noon}
			if change != nil {
				change(i)
			}
		})
	}
	ca := &record.Authority{}
	shown := facts{gateway: true, authority: ca, issued: issuedShown}
	foreign := facts{gateway: true, authority: ca, provider: providerFault{"ForeignProvider", "It is foreign."}}
	const hint = " For another one, set annotation peering.entente.dev/renew to status.invite.tokenID."
	for name, test := range map[string]struct {
		rec     record.Peer
		facts   facts
		phase   peeringv1alpha1.ClusterPeerPhase
		reason  string
		message string
	}{
		"no gateway":             {record.Peer{}, facts{authority: ca}, failed, "NoGatewayEndpoint", "This cluster cannot invite: no endpoint of its gateway is advertised (--gateway-endpoint)."},
		"no gateway any more":    {record.Peer{Invite: openInvite(nil)}, facts{authority: ca, issued: issuedShown}, failed, "NoGatewayEndpoint", "This cluster cannot invite: no endpoint of its gateway is advertised (--gateway-endpoint)."},
		"no authority":           {record.Peer{}, facts{gateway: true}, pending, "WaitingForPeer", "The connection string is issued as soon as this cluster has its peering CA."},
		"to be issued":           {record.Peer{}, facts{gateway: true, authority: ca}, pending, "WaitingForPeer", "The connection string is about to be issued."},
		"issued":                 {record.Peer{Invite: openInvite(nil)}, shown, pending, "WaitingForPeer", "Waiting for the other cluster to join."},
		"R4: cannot be checked":  {record.Peer{Invite: openInvite(nil)}, facts{gateway: true, authority: ca, issued: issuedDenied}, failed, "SensitiveAccessDenied", "status.invite.connectionString cannot be checked: Entente lacks permission to get clusterpeers/sensitive."},
		"S1: lost":               {record.Peer{Invite: openInvite(nil)}, facts{gateway: true, authority: ca, issued: issuedLost}, pending, "WaitingForPeer", "Waiting for the other cluster to join. The connection string is no longer in the status: somebody else changed it." + hint},
		"S2: void":               {record.Peer{Invite: openInvite(func(i *record.Invite) { i.Void = true })}, shown, failed, "InviteExpired", "The connection string is void: the store of this cluster was restored from a copy." + hint},
		"expired":                {record.Peer{Invite: openInvite(func(i *record.Invite) { i.ExpiresAt = noon })}, shown, failed, "InviteExpired", "The connection string expired before it was used." + hint},
		"P7: never confirmed":    {record.Peer{Invite: used(nil)}, shown, failed, "InviteExpired", "The connection string was used but never confirmed, and the pairing was undone." + hint},
		"P6: another UUID":       {record.Peer{Invite: refused(record.UUIDMismatch)}, shown, failed, "UUIDMismatch", "A cluster was refused that is not the one that is expected. The connection string was not used up."},
		"P6: ourselves":          {record.Peer{Invite: refused(record.SelfPeering)}, shown, failed, "SelfPeering", "This cluster itself was refused. The connection string was not used up."},
		"P6: duplicate":          {record.Peer{Invite: refused(record.DuplicatePeer)}, shown, failed, "DuplicatePeer", "A cluster was refused that another ClusterPeer holds already. The connection string was not used up."},
		"P6: clock":              {record.Peer{Invite: refused(record.ClockSkew)}, shown, failed, "ClockSkew", "A cluster was refused whose clock differs by more than an hour. The connection string was not used up."},
		"P6: protocol":           {record.Peer{Invite: refused(record.IncompatibleVersion)}, shown, failed, "IncompatibleVersion", "A cluster was refused that speaks no version of the peering protocol that is spoken here. The connection string was not used up."},
		"P6: something else":     {record.Peer{Invite: refused(record.TokenRejected)}, shown, failed, "TokenRejected", "A cluster was refused. The connection string was not used up."},
		"P7: unconfirmed":        {record.Peer{Invite: used(nil), Remote: livePeer(func(r *record.Remote) { r.ConfirmedAt = time.Time{} })}, shown, pending, "WaitingForPeer", "The connection string was used between this cluster and cluster " + otherUUID + ". Waiting for the first exchange."},
		"active":                 {record.Peer{Invite: used(nil), Remote: livePeer(nil)}, shown, active, "Active", "Paired with cluster " + otherUUID + "."},
		"G6: foreign provider":   {record.Peer{Invite: used(nil), Remote: livePeer(nil)}, foreign, failed, "ForeignProvider", "Paired with cluster " + otherUUID + ". It is foreign."},
		"G6: unreachable first":  {record.Peer{Invite: used(nil), Remote: livePeer(func(r *record.Remote) { r.Unreachable = noon })}, foreign, failed, "PeerUnreachable", "There has been no contact with cluster " + otherUUID + " since 2026-11-01T12:00:00Z. It is tried again all the time."},
		"G6: unconfirmed first":  {record.Peer{Invite: used(nil), Remote: livePeer(func(r *record.Remote) { r.ConfirmedAt = time.Time{} })}, foreign, pending, "WaitingForPeer", "The connection string was used between this cluster and cluster " + otherUUID + ". Waiting for the first exchange."},
		"G6: its end first":      {record.Peer{Invite: used(nil), Remote: faulty(record.PeerLeft)}, foreign, failed, "PeerLeft", "The other cluster has deleted its ClusterPeer."},
		"active, without a flag": {record.Peer{Invite: used(nil), Remote: livePeer(nil)}, facts{}, active, "Active", "Paired with cluster " + otherUUID + "."},
		"P15: presented again": {
			record.Peer{Invite: used(func(i *record.Invite) {
				i.Refused = &record.Refused{Reason: record.TokenRejected, ClusterUUID: thirdUUID, At: noon}
			}), Remote: livePeer(nil)},
			shown, active, "Active", "Paired with cluster " + otherUUID + ". The connection string was presented again by another key and refused at 2026-11-01T12:00:00Z.",
		},
		"unreachable":       {record.Peer{Invite: used(nil), Remote: livePeer(func(r *record.Remote) { r.Unreachable = noon })}, shown, failed, "PeerUnreachable", "There has been no contact with cluster " + otherUUID + " since 2026-11-01T12:00:00Z. It is tried again all the time."},
		"P12: left":         {record.Peer{Invite: used(nil), Remote: faulty(record.PeerLeft)}, shown, failed, "PeerLeft", "The other cluster has deleted its ClusterPeer."},
		"P12: left, anew":   {record.Peer{Invite: openInvite(nil), Remote: faulty(record.PeerLeft)}, shown, pending, "WaitingForPeer", "The other cluster has deleted its ClusterPeer. Waiting for the other cluster to join anew."},
		"suspended":         {record.Peer{Invite: used(nil), Remote: faulty(record.PeerSuspended)}, shown, failed, "PeerSuspended", "The peering is suspended: a key of the other cluster was renewed by two, or the store of a cluster was restored from a copy. Another connection string is needed."},
		"cloned":            {record.Peer{Invite: used(nil), Remote: faulty(record.ClonedPeer)}, shown, failed, "ClonedPeer", "Two clusters go by the identity of the other one. Another connection string is needed."},
		"trust expired":     {record.Peer{Invite: used(nil), Remote: faulty(record.TrustExpired)}, shown, failed, "TrustExpired", "The certificates of the peering have expired, and the time to renew them has passed. Another connection string is needed."},
		"offer":             {record.Peer{Invite: used(nil), Remote: faulty(record.InvalidOffer)}, shown, failed, "InvalidOffer", "What the other cluster offers breaks the rules, and was not accepted."},
		"version":           {record.Peer{Invite: used(nil), Remote: faulty(record.IncompatibleVersion)}, shown, failed, "IncompatibleVersion", "There is no version of the peering protocol that both clusters speak."},
		"mismatch":          {record.Peer{Invite: used(nil), Remote: faulty(record.UUIDMismatch)}, shown, failed, "UUIDMismatch", "The other cluster is not the one that is expected."},
		"mismatch can heal": {record.Peer{Invite: openInvite(nil), Remote: faulty(record.UUIDMismatch)}, shown, failed, "UUIDMismatch", "The other cluster is not the one that is expected."},
		"unknown fault":     {record.Peer{Invite: used(nil), Remote: faulty("SomethingNew")}, shown, failed, "SomethingNew", "The peering does not work."},
	} {
		t.Run(name, func(t *testing.T) {
			test.rec.UID = "u"
			checkReady(t, invitePeer("p", "u"), &test.rec, test.facts, test.phase, test.reason, test.message)
		})
	}
}

// P8, P13: the same for the side that joins.
func TestP13ReadyOfAJoin(t *testing.T) {
	done := &record.Join{String: joined.text, ClusterUUID: otherUUID, Done: true}
	undone := &record.Join{String: joined.text, ClusterUUID: otherUUID, Done: true, Refused: &record.Refused{Reason: record.TokenRejected}}
	ca := &record.Authority{}
	another := joined
	another.text = record.Digest{8}
	refused := func(reason record.Reason) facts { return facts{authority: ca, found: joined, refused: reason} }
	for name, test := range map[string]struct {
		text    string
		rec     record.Peer
		facts   facts
		phase   peeringv1alpha1.ClusterPeerPhase
		reason  string
		message string
	}{
		"P8: no string":         {"", record.Peer{}, facts{}, pending, "WaitingForConnectionString", "spec.join.connectionString is not set."},
		"P8: no string, undone": {"", record.Peer{Join: undone}, facts{}, pending, "WaitingForConnectionString", "spec.join.connectionString is not set."},
		"damaged":               {"x", record.Peer{}, facts{found: finding{fault: connstring.ErrChecksum}}, failed, "InvalidConnectionString", "spec.join.connectionString is not valid: checksum: does not match; the string was changed or cut while it was copied."},
		"malformed":             {"x", record.Peer{}, facts{found: finding{fault: connstring.ErrPins}}, failed, "InvalidConnectionString", "spec.join.connectionString is not valid: pins: not 1 to 3 different SHA-256 hashes."},
		"R4: denied":            {"x", record.Peer{}, facts{found: finding{denied: true}}, failed, "SensitiveAccessDenied", "spec.join.connectionString cannot be read: Entente lacks permission to get clusterpeers/sensitive."},
		"no authority":          {"x", record.Peer{}, facts{found: joined}, pending, "WaitingForPeer", "The connection string is used as soon as this cluster has its peering CA."},
		"about to be used":      {"x", record.Peer{}, facts{authority: ca, found: joined}, pending, "WaitingForPeer", "The connection string is well-formed. Waiting for the other cluster."},
		"out of reach":          {"x", record.Peer{}, facts{authority: ca, found: joined, trouble: "No."}, failed, "PeerUnreachable", "No. It is tried again."},
		"expired":               {"x", record.Peer{}, refused(record.InviteExpired), failed, "InviteExpired", "The connection string has expired. Another one is needed."},
		"rejected":              {"x", record.Peer{}, refused(record.TokenRejected), failed, "TokenRejected", "The other cluster refused the connection string: it was used already, was replaced, or is another one's. Another one is needed."},
		"self":                  {"x", record.Peer{}, refused(record.SelfPeering), failed, "SelfPeering", "The connection string was issued by this cluster itself."},
		"duplicate":             {"x", record.Peer{}, refused(record.DuplicatePeer), failed, "DuplicatePeer", "Another ClusterPeer, here or in the other cluster, holds the cluster already."},
		"mismatch":              {"x", record.Peer{}, refused(record.UUIDMismatch), failed, "UUIDMismatch", "The connection string does not lead to the cluster that is expected."},
		"version":               {"x", record.Peer{}, refused(record.IncompatibleVersion), failed, "IncompatibleVersion", "There is no version of the peering protocol that both clusters speak."},
		"clock":                 {"x", record.Peer{}, refused(record.ClockSkew), failed, "ClockSkew", "The clocks of the two clusters differ by more than an hour. When they agree, another connection string is needed."},
		"P7: undone":            {"x", record.Peer{Join: undone}, refused(record.TokenRejected), failed, "TokenRejected", "The other cluster took the connection string but nothing was exchanged in time, and the pairing was undone. Another connection string is needed."},
		"unconfirmed":           {"x", record.Peer{Join: done, Remote: livePeer(func(r *record.Remote) { r.ConfirmedAt = time.Time{} })}, facts{authority: ca, found: joined}, pending, "WaitingForPeer", "The connection string was used between this cluster and cluster " + otherUUID + ". Waiting for the first exchange."},
		"active":                {"x", record.Peer{Join: done, Remote: livePeer(nil)}, facts{authority: ca, found: joined}, active, "Active", "Paired with cluster " + otherUUID + "."},
		"P8: used, removed":     {"", record.Peer{Join: done, Remote: livePeer(nil)}, facts{authority: ca}, active, "Active", "Paired with cluster " + otherUUID + "."},
		"another, damaged":      {"x", record.Peer{Join: done, Remote: livePeer(nil)}, facts{authority: ca, found: finding{fault: connstring.ErrForm}}, active, "Active", "Paired with cluster " + otherUUID + ". spec.join.connectionString is another one, which cannot be used: InvalidConnectionString."},
		"another, refused":      {"x", record.Peer{Join: done, Remote: livePeer(nil)}, facts{authority: ca, found: another, refused: record.UUIDMismatch}, active, "Active", "Paired with cluster " + otherUUID + ". spec.join.connectionString is another one, which cannot be used: UUIDMismatch."},
		"another, under way":    {"x", record.Peer{Join: done, Remote: livePeer(nil)}, facts{authority: ca, found: another}, active, "Active", "Paired with cluster " + otherUUID + "."},
		"P12: left":             {"x", record.Peer{Join: done, Remote: faulty(record.PeerLeft)}, facts{authority: ca, found: joined}, failed, "PeerLeft", "The other cluster has deleted its ClusterPeer."},
		"P12: left, no string":  {"", record.Peer{Join: done, Remote: faulty(record.PeerLeft)}, facts{authority: ca}, failed, "PeerLeft", "The other cluster has deleted its ClusterPeer."},
		"P12: left, another":    {"x", record.Peer{Join: done, Remote: faulty(record.PeerLeft)}, facts{authority: ca, found: another}, pending, "WaitingForPeer", "The connection string is well-formed. Waiting for the other cluster."},
		"left, another expired": {"x", record.Peer{Join: done, Remote: faulty(record.PeerLeft)}, facts{authority: ca, found: another, refused: record.InviteExpired}, failed, "InviteExpired", "The connection string has expired. Another one is needed."},
		"unreachable":           {"x", record.Peer{Join: done, Remote: livePeer(func(r *record.Remote) { r.Unreachable = noon })}, facts{authority: ca, found: joined}, failed, "PeerUnreachable", "There has been no contact with cluster " + otherUUID + " since 2026-11-01T12:00:00Z. It is tried again all the time."},
	} {
		t.Run(name, func(t *testing.T) {
			test.rec.UID = "u"
			checkReady(t, redacted(joinPeer("p", "u", 1, test.text)), &test.rec, test.facts, test.phase, test.reason, test.message)
		})
	}
}

func checkReady(t *testing.T, peer *peeringv1alpha1.ClusterPeer, rec *record.Peer, f facts, phase peeringv1alpha1.ClusterPeerPhase, reason, message string) {
	t.Helper()
	peer.Generation = 7
	before := peer.DeepCopy()
	status := project(peer, rec, f, noon)
	assert.Equal(t, phase, status.Phase)
	assert.EqualValues(t, 7, status.ObservedGeneration)
	want := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(noon)}
	if phase == active {
		want.Status = metav1.ConditionTrue
	}
	assert.Equal(t, want, readyOf(t, &peeringv1alpha1.ClusterPeer{Status: *status}))
	assert.Equal(t, before, peer, "the ClusterPeer was changed")
	assert.Empty(t, metav1validation.ValidateConditions(status.Conditions, nil))
	assert.Regexp(t, regexp.MustCompile(`^[A-Z][A-Za-z]+$`), reason)

	peer.Status = *status
	assert.Equal(t, status, project(peer, rec, f, noon), "not stable")
}

// P13: a peer that is not the one the spec expects, in the spec as it is now.
func TestP6ExpectedClusterUUID(t *testing.T) {
	invite, join := invitePeer("p", "u"), redacted(joinPeer("p", "u", 1, ""))
	invite.Spec.Invite = &peeringv1alpha1.InviteSpec{}
	for expected, want := range map[string]string{"": "Active", otherUUID: "Active", thirdUUID: "UUIDMismatch"} {
		invite.Spec.Invite.ExpectedClusterUUID, join.Spec.Join.ExpectedClusterUUID = expected, expected
		for _, peer := range []*peeringv1alpha1.ClusterPeer{invite, join} {
			reason, _ := ready(peer, &record.Peer{Remote: livePeer(nil)}, facts{gateway: true}, noon)
			assert.Equal(t, want, reason, "%s %s", peer.Spec.Type, expected)
		}
	}
}

// K2, S1: lastTransitionTime stays while the status of the condition does, conditions of
// others stay as they are, and whatever else somebody wrote into the status is made anew.
func TestK2ProjectKeepsAndReplaces(t *testing.T) {
	peer := invitePeer("p", "u")
	peer.Generation = 2
	peer.Status = peeringv1alpha1.ClusterPeerStatus{
		Phase: active, ObservedGeneration: 1,
		Conditions: []metav1.Condition{
			{Type: "ClientCertEnforced", Status: metav1.ConditionTrue, Reason: "Kept", LastTransitionTime: metav1.NewTime(yesterday), ObservedGeneration: 1},
			{Type: peeringv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: ReasonInviteExpired, LastTransitionTime: metav1.NewTime(yesterday), ObservedGeneration: 1},
			{Type: peeringv1alpha1.ConditionClockSkew, Status: metav1.ConditionTrue, Reason: "Forged"},
			{Type: peeringv1alpha1.ConditionTrustRotation, Status: metav1.ConditionTrue, Reason: "Forged"},
		},
		Invite:                &peeringv1alpha1.InviteStatus{ConnectionString: "<omitted>", TokenID: "forged"},
		Peer:                  &peeringv1alpha1.PeerStatus{ClusterUUID: thirdUUID},
		Offer:                 &peeringv1alpha1.Offer{PeeringVersion: "forged"},
		EffectiveCapabilities: []string{"another-controllers"},
		PairedProjectsCount:   3,
	}
	status := project(peer, &record.Peer{}, facts{gateway: true, authority: &record.Authority{}}, noon)
	require.Len(t, status.Conditions, 2)
	assert.Equal(t, peer.Status.Conditions[0], status.Conditions[0], "a condition of somebody else")
	ready := meta.FindStatusCondition(status.Conditions, peeringv1alpha1.ConditionReady)
	assert.Equal(t, ReasonWaitingForPeer, ready.Reason)
	assert.Equal(t, yesterday, ready.LastTransitionTime.Time)
	assert.EqualValues(t, 2, ready.ObservedGeneration)
	assert.Nil(t, status.Invite)
	assert.Nil(t, status.Peer)
	assert.Nil(t, status.Offer)
	assert.Equal(t, []string{"another-controllers"}, status.EffectiveCapabilities)
	assert.EqualValues(t, 3, status.PairedProjectsCount)
}

// S1: what the status shows of the record, to the second.
func TestProjectShowsTheRecord(t *testing.T) {
	body := protocol.Offer{
		Capabilities: []protocol.Capability{{Name: "c", Version: "1.2.3", Scope: []string{"cluster", "project"}}},
		Projects:     []protocol.Project{{Name: "a", Namespaces: []string{"a-1", "a-2"}}},
		Issuer:       &protocol.Issuer{URL: "https://issuer.example.com", JWKS: "{}"}, PeeringVersion: "v1.0.0", Alias: "north",
	}
	rec := &record.Peer{
		Invite: openInvite(func(i *record.Invite) { i.ExpiresAt = i.ExpiresAt.Add(time.Nanosecond) }),
		Offer:  record.Offer{OfferHeader: protocol.OfferHeader{Digest: "d"}, Body: body},
		Remote: livePeer(func(r *record.Remote) {
			r.Endpoints, r.Offer.Body, r.Contact = []string{"https://one.example.com", "https://two.example.com"}, body, noon.Add(time.Millisecond)
		}),
	}
	status := project(invitePeer("p", "u"), rec, facts{gateway: true, issued: issuedShown}, noon)
	expires, contact := metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon)
	assert.Equal(t, &peeringv1alpha1.InviteStatus{ConnectionString: "<omitted>", TokenID: "0001020304050607", TokenHash: record.Digest{9}.String(), ExpiresAt: &expires}, status.Invite)
	assert.Equal(t, &peeringv1alpha1.Offer{
		Capabilities: []peeringv1alpha1.OfferedCapability{{Name: "c", Version: "1.2.3", Scope: []peeringv1alpha1.CapabilityScope{"cluster", "project"}}},
		Projects:     []peeringv1alpha1.OfferedProject{{Name: "a", Namespaces: []string{"a-1", "a-2"}}},
		Issuer:       &peeringv1alpha1.Issuer{URL: "https://issuer.example.com", JWKS: "{}"}, PeeringVersion: "v1.0.0",
	}, status.Offer)
	assert.Equal(t, &peeringv1alpha1.PeerStatus{
		ClusterUUID: otherUUID, Alias: "north", Endpoint: "https://one.example.com", PeeringVersion: "v1.0.0", LastSyncTime: &contact,
		Capabilities: []peeringv1alpha1.PeerCapability{{Name: "c", Version: "1.2.3", Scope: []string{"cluster", "project"}}},
		Projects:     []peeringv1alpha1.PeerProject{{Name: "a", Namespaces: []string{"a-1", "a-2"}}},
		Issuer:       &peeringv1alpha1.PeerIssuer{URL: "https://issuer.example.com", JWKS: "{}"},
	}, status.Peer)
}

// P5: the connection string is shown while it can be used, and at no other time.
func TestP5ConnectionStringIsShownWhileItIsGood(t *testing.T) {
	for name, test := range map[string]struct {
		invite *record.Invite
		is     issued
		shown  bool
	}{
		"shown":   {openInvite(nil), issuedShown, true},
		"denied":  {openInvite(nil), issuedDenied, true},
		"lost":    {openInvite(nil), issuedLost, false},
		"unknown": {openInvite(nil), "", false},
		"used":    {openInvite(func(i *record.Invite) { i.Use = &record.Use{} }), issuedShown, false},
		"void":    {openInvite(func(i *record.Invite) { i.Void = true }), issuedShown, false},
		"expired": {openInvite(func(i *record.Invite) { i.ExpiresAt = noon }), issuedShown, false},
	} {
		status := projectInvite(test.invite, test.is, noon)
		assert.Equal(t, test.shown, status.ConnectionString != "", name)
		assert.Equal(t, test.invite.Use != nil, status.Used, name)
		assert.Equal(t, "0001020304050607", status.TokenID, name)
	}
}

// P13: the condition ClockSkew, from more than 5 minutes on.
func TestP13ClockSkew(t *testing.T) {
	for skew, want := range map[time.Duration]string{0: "", 5 * time.Minute: "", -5 * time.Minute: "", 6 * time.Minute: "ahead", -6 * time.Minute: "behind"} {
		reason, message := clockSkew(livePeer(func(r *record.Remote) { r.Skew = skew }))
		assert.Equal(t, want != "", reason == "ClocksDiffer", skew)
		assert.Contains(t, message, want)
		status := project(invitePeer("p", "u"), &record.Peer{Remote: livePeer(func(r *record.Remote) { r.Skew = skew })}, facts{}, noon)
		assert.Equal(t, want != "", meta.IsStatusConditionTrue(status.Conditions, "ClockSkew"))
	}
	reason, _ := clockSkew(nil)
	assert.Empty(t, reason)
}

// P3: the condition TrustRotation through a rotation.
func TestP3TrustRotation(t *testing.T) {
	old, next := record.CA{Certificate: []byte("old")}, record.CA{Certificate: []byte("next")}
	published := &record.Authority{Current: old, Next: &next}
	for name, test := range map[string]struct {
		authority *record.Authority
		acked     string
		want      string
	}{
		"none":           {nil, "", ""},
		"no rotation":    {&record.Authority{Current: old}, "", ""},
		"not known yet":  {published, pki.BundleDigest([][]byte{[]byte("old")}), "WaitingForPeer"},
		"known":          {published, pki.BundleDigest(published.Trust()), "NextPublished"},
		"signs":          {&record.Authority{Current: next, Previous: []record.CA{old}}, "", "OldStillTrusted"},
		"signs by force": {&record.Authority{Current: next, Previous: []record.CA{old}, Forced: true}, "", "Forced"},
	} {
		rec := &record.Peer{Remote: livePeer(func(r *record.Remote) { r.Acked.Trust = test.acked })}
		status := project(invitePeer("p", "u"), rec, facts{authority: test.authority}, noon)
		condition := meta.FindStatusCondition(status.Conditions, "TrustRotation")
		if test.want == "" {
			assert.Nil(t, condition, name)
			continue
		}
		require.NotNil(t, condition, name)
		assert.Equal(t, test.want, condition.Reason, name)
		assert.Equal(t, metav1.ConditionTrue, condition.Status, name)

		rec.Remote.Fault = record.PeerLeft
		status = project(invitePeer("p", "u"), rec, facts{authority: test.authority}, noon)
		assert.Nil(t, meta.FindStatusCondition(status.Conditions, "TrustRotation"), name)
	}
}

func TestP13PhaseFollowsReason(t *testing.T) {
	for _, reason := range []string{
		"InviteExpired", "TokenRejected", "InvalidConnectionString", "NoGatewayEndpoint", "InvalidOffer", "UUIDMismatch", "SelfPeering",
		"DuplicatePeer", "ClonedPeer", "PeerUnreachable", "PeerLeft", "PeerSuspended", "IncompatibleVersion", "TrustExpired",
		"SensitiveAccessDenied", "ProviderRejected", "ForeignProvider", "SomethingElse",
	} {
		assert.Equal(t, failed, phase(reason), reason)
	}
	assert.Equal(t, active, phase("Active"))
	assert.Equal(t, pending, phase("WaitingForPeer"))
	assert.Equal(t, pending, phase("WaitingForConnectionString"))
}
