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

package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/test/kube"
)

// pair are two real clusters that peer: east invites, west joins.
type pair struct {
	east, west *side
	// text is the connection string of the moment; issued are all.
	text   string
	issued []string
}

// TestTwoClustersPeer is two control planes with Entente behind each, and people who use
// kubectl: from an invitation to a farewell, and once more.
func TestTwoClustersPeer(t *testing.T) {
	t.Parallel()
	clusters := kube.StartAll(t, []string{"east", "west"})
	p := &pair{east: newSide(t, clusters[0]), west: newSide(t, clusters[1])}
	for _, s := range p.sides() {
		s.entente.Run(t)
	}
	for _, s := range p.sides() {
		s.entente.WaitServed(t)
	}
	for _, part := range []struct {
		name string
		test func(*pair, *testing.T)
	}{
		{"invited", (*pair).invited},
		{"joined", (*pair).joined},
		{"P10 issuers", (*pair).issuers},
		{"P14 self-check", (*pair).selfCheck},
		{"P12 left, and joined again", (*pair).left},
		{"H4 rights", (*pair).rights},
		{"identity", (*pair).identity},
		{"R15 R16 R17 no trace of the strings", (*pair).noTrace},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(p, t) }) {
			return // each part begins with what the one before has left
		}
	}
}

func (p *pair) sides() []*side { return []*side{p.east, p.west} }

// keep notes a connection string that is issued.
func (p *pair) keep(text string) {
	p.text, p.issued = text, append(p.issued, text)
}

// P5, R1: the string is there, for whoever may see it; the epoch has moved (S2).
func (p *pair) invited(t *testing.T) {
	before := p.east.epoch(t)
	p.keep(p.east.invite(t, "west"))
	assert.Greater(t, p.east.epoch(t), before)
	for _, user := range []string{operator, viewer} {
		assert.Equal(t, "<omitted>", p.east.MustKubectl(t, user, "", "get", "cpeer", "west", "-o", "jsonpath={.status.invite.connectionString}"))
		refused := p.east.Kubectl(t, user, "", "get", "cpeer", "west", "--subresource=sensitive")
		assert.NotZero(t, refused.Code)
		assert.Contains(t, refused.Stderr, "Forbidden")
	}
	p.east.says(t, "west", "WaitingForPeer")
	p.east.awaitTold(t, "west", "InviteIssued", "WaitingForPeer")

	said, err := connstring.Parse(p.text)
	require.NoError(t, err)
	assert.Equal(t, []string{p.east.entente.Gateway()}, said.Endpoints)
	assert.Equal(t, p.east.uid(t), said.ClusterUUID)
}

// P6–P9, P13, P15: the string is used, both are Active and show it, and it is gone.
func (p *pair) joined(t *testing.T) {
	epochs := []int{p.east.epoch(t), p.west.epoch(t)}
	start := time.Now()
	p.west.join(t, "east", p.text)
	for _, s := range p.sides() {
		s.MustKubectl(t, viewer, "", "wait", "cpeer", "--all", "--for=condition=Ready", "--timeout=1m")
	}
	t.Logf("both are Active %v after the Join was made", time.Since(start).Round(time.Millisecond))
	for i, s := range p.sides() {
		assert.Greater(t, s.epoch(t), epochs[i], s.Name)
	}
	p.shown(t)

	// P5: gone, also for who might see it.
	used := func(peer *peeringv1alpha1.ClusterPeer) bool {
		return peer.Status.Invite.Used && peer.Status.Invite.ConnectionString == ""
	}
	p.east.until(t, "west", "the string is erased", used)
	assert.Empty(t, p.east.MustKubectl(t, keeper, "", "get", "cpeer", "west", "--subresource=sensitive", "-o", "jsonpath={.status.invite.connectionString}"))
	assert.Equal(t, "<omitted>", p.west.MustKubectl(t, viewer, "", "get", "cpeer", "east", "-o", "jsonpath={.spec.join.connectionString}"))

	p.east.awaitTold(t, "west", "InviteIssued", "WaitingForPeer", "InviteUsed", "PeerConfirmed", "Active")
	described := p.east.MustKubectl(t, viewer, "", "describe", "cpeer", "west")
	for _, reason := range []string{"InviteIssued", "InviteUsed", "PeerConfirmed", "Active"} {
		assert.Contains(t, described, reason)
	}
	p.west.awaitTold(t, "east", "Active")
}

// shown is what kubectl shows of two clusters that are peers: each knows the other by the
// UID of its namespace kube-system, and by the name that it gives itself.
func (p *pair) shown(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		*side
		name, kind string
		other      *side
	}{{p.east, "west", "Invite", p.west}, {p.west, "east", "Join", p.east}} {
		peer := c.until(t, c.name, "the other cluster has said what it is", func(peer *peeringv1alpha1.ClusterPeer) bool {
			return peer.Status.Peer != nil && peer.Status.Peer.Alias != "" && peer.Status.Peer.LastSyncTime != nil
		})
		assert.Equal(t, c.other.uid(t), peer.Status.Peer.ClusterUUID)
		assert.Equal(t, c.other.entente.Gateway(), peer.Status.Peer.Endpoint)
		assert.Equal(t, peer.Generation, peer.Status.ObservedGeneration)
		assert.Regexp(t, `(?m)^`+c.name+` +`+c.kind+` +Active +True +Active +`+c.other.Name+` +0 +\S+ +\S+$`, c.MustKubectl(t, viewer, "", "get", "cpeer"))
		assert.Regexp(t, `(?m)^`+c.name+` .* `+c.other.uid(t)+` +`+c.other.entente.Gateway(), c.MustKubectl(t, viewer, "", "get", "cpeer", "-o", "wide"))
	}
}

// P10: each tells the other who issues the tokens of its ServiceAccounts, and its keys.
func (p *pair) issuers(t *testing.T) {
	for _, c := range []struct {
		*side
		name  string
		other *side
	}{{p.east, "west", p.west}, {p.west, "east", p.east}} {
		peer := c.until(t, c.name, "both issuers are known", func(peer *peeringv1alpha1.ClusterPeer) bool {
			return peer.Status.Offer != nil && peer.Status.Offer.Issuer != nil && peer.Status.Peer.Issuer != nil
		})
		const issuer = "https://kubernetes.default.svc.cluster.local"
		assert.Equal(t, issuer, peer.Status.Offer.Issuer.URL)
		assert.JSONEq(t, c.jwks(t), peer.Status.Offer.Issuer.JWKS)
		assert.Equal(t, issuer, peer.Status.Peer.Issuer.URL)
		assert.JSONEq(t, c.other.jwks(t), peer.Status.Peer.Issuer.JWKS)
	}
}

// P14: each has looked at its own gateway as a stranger would.
func (p *pair) selfCheck(t *testing.T) {
	for s, name := range map[*side]string{p.east: "west", p.west: "east"} {
		s.until(t, name, "the gateway is as it should be", func(peer *peeringv1alpha1.ClusterPeer) bool {
			return meta.IsStatusConditionTrue(peer.Status.Conditions, "ClientCertEnforced") && meta.IsStatusConditionTrue(peer.Status.Conditions, "ServerCertOurs")
		})
	}
}

// P12: who deletes its ClusterPeer has left at once; the other side says so, and both peer
// again without any cleaning up.
func (p *pair) left(t *testing.T) {
	p.west.MustKubectl(t, operator, "", "delete", "cpeer", "east", "--timeout=30s")
	p.east.says(t, "west", "PeerLeft")
	assert.Regexp(t, `(?m)^west +Invite +Error +False +PeerLeft `, p.east.MustKubectl(t, viewer, "", "get", "cpeer", "west"))
	p.east.awaitTold(t, "west", "PeerLeft")
	p.west.awaitTold(t, "east", "Disconnected")

	p.keep(p.east.renew(t, "west"))
	p.west.join(t, "east", p.text)
	p.west.says(t, "east", "Active")
	p.east.says(t, "west", "Active")
	p.shown(t)
}

// H4: neither has asked for what the shipped roles do not grant, nor has it to complain.
func (p *pair) rights(t *testing.T) {
	for _, s := range p.sides() {
		assert.Empty(t, s.entente.Rights(t).Refused, s.Name)
		assertNoComplaint(t, s.entente)
	}
}

// R15–R17: no piece of a connection string that is secret is in a log of a process, in
// the audit log of a host, in an Event, or in the files of the store. The hosts record
// who has asked for what of our group, and no bodies.
func (p *pair) noTrace(t *testing.T) {
	for _, s := range p.sides() {
		s.assertNone(t, "the Events", s.MustKubectl(t, viewer, "", "get", "events", "-A", "-o", "yaml"), p.issued)
		ours := 0
		for _, event := range s.Audit(t) {
			if event.ObjectRef == nil || event.ObjectRef.APIGroup != "peering.entente.dev" {
				continue
			}
			ours++
			assert.Equal(t, auditv1.LevelMetadata, event.Level)
			assert.Nil(t, event.RequestObject)
			assert.Nil(t, event.ResponseObject)
			if event.ObjectRef.Subresource == "sensitive" && event.User.Username != keeper && event.User.Username != s.entente.User {
				assert.EqualValues(t, http.StatusForbidden, event.ResponseStatus.Code, "%s read it", event.User.Username)
			}
		}
		assert.NotZero(t, ours)
		require.NoError(t, s.entente.Stop())
		for _, root := range []string{filepath.Join(s.Dir, "logs"), filepath.Dir(s.entente.Log)} {
			s.assertNoneBelow(t, root, p.issued)
		}
	}
}

func (s *side) assertNoneBelow(t *testing.T, root string, texts []string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		s.assertNone(t, path, string(content), texts)
		return nil
	}))
	assert.NotZero(t, files, root)
}

// assertNone searches a text for connection strings, and for their tokens in every form
// that something might write them in. It does not print what it finds.
func (s *side) assertNone(t *testing.T, where, content string, texts []string) {
	t.Helper()
	for _, text := range texts {
		said, err := connstring.Parse(text)
		require.NoError(t, err)
		token := said.Token.Reveal()
		payload := strings.Split(text, ".")[1]
		for form, piece := range map[string]string{
			"its payload": payload,
			"base64":      base64.RawStdEncoding.EncodeToString(token),
			"base64url":   base64.RawURLEncoding.EncodeToString(token),
			"hex":         hex.EncodeToString(token),
			"bytes":       string(token),
		} {
			assert.Falsef(t, strings.Contains(content, piece), "%s of %s holds a connection string (%s)", where, s.Name, form)
		}
	}
}
