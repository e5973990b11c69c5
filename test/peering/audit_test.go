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

package peering

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"

	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/test/harness"
)

const auditEverything = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"RequestResponse"}]}`

// auditOf makes a server write everything into an audit log.
func auditOf(t *testing.T, log string) harness.Option {
	t.Helper()
	policy := harness.File(t, "policy.yaml", auditEverything)
	return harness.WithOptions(func(o *options.Options) {
		o.Audit.PolicyFile, o.Audit.LogOptions.Path = policy, log
	})
}

// auditEvent is what the test reads of an event of audit.
type auditEvent struct {
	Stage, Verb, RequestURI string
	User                    struct{ Username string }
	SourceIPs               []string
	ObjectRef               struct{ Resource, Name, UID string }
	ResponseStatus          struct{ Code int }
	Annotations             map[string]string
}

// told returns the events that say what happened to peerings, by what it was.
func told(t *testing.T, content []byte) map[string][]auditEvent {
	t.Helper()
	byReason := map[string][]auditEvent{}
	for line := range bytes.Lines(content) {
		if line[len(line)-1] != '\n' {
			continue // half of a line that is being written
		}
		var event auditEvent
		require.NoErrorf(t, json.Unmarshal(line, &event), "%s", line)
		if reason := event.Annotations["peering.entente.dev/reason"]; reason != "" {
			byReason[reason] = append(byReason[reason], event)
		}
	}
	return byReason
}

// P15: minting, using, refusing, confirming, leaving are in the audit log, with who it was,
// by which key and from where. No token and no connection string is.
func TestP15Audit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	eastLog, westLog := filepath.Join(dir, "east"), filepath.Join(dir, "west")
	east, west := start(t, auditOf(t, eastLog)), start(t, auditOf(t, westLog))
	texts := []string{east.invite("west", nil)}
	texts = append(texts, east.renew("west"))
	text := texts[1]
	west.join("east", text)
	west.says("east", "Active")
	east.says("west", "Active")
	_ = newStranger(t, "").try(t, text) // That they are refused is tested elsewhere.
	_ = newStranger(t, "").try(t, texts[0])
	westUUID := uuid(east.get("west"))
	uid := string(east.get("west").UID)
	west.delete("east")
	west.gone("east")
	east.says("west", "PeerLeft")
	east.delete("west")
	east.gone("west")

	read := func(path string) []byte {
		t.Helper()
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return content
	}
	want := []string{"InviteIssued", "InviteRenewed", "InviteUsed", "PeerConfirmed", "InviteRefused", "PeerLeft"}
	require.Eventually(t, func() bool {
		found := told(t, read(eastLog))
		for _, reason := range want {
			if len(found[reason]) == 0 {
				return false
			}
		}
		return len(told(t, read(westLog))["Disconnected"]) > 0
	}, deadline, pollInterval, "the audit logs tell all that happened")

	fingerprint := regexp.MustCompile(`^SHA256:[0-9a-f]{64}$`)
	byPeers := sets.New[string]()
	for reason, events := range told(t, read(eastLog)) {
		for _, event := range events {
			assert.Equal(t, "ResponseComplete", event.Stage, reason)
			assert.Equal(t, "clusterpeers", event.ObjectRef.Resource, reason)
			if event.User.Username == "system:entente:controllers" {
				continue // what Entente did by itself
			}
			byPeers.Insert(reason)
			switch reason {
			case "InviteUsed", "PeerConfirmed", "PeerLeft":
				assert.Equal(t, westUUID, event.Annotations["peering.entente.dev/cluster-uuid"], reason)
				assert.Equal(t, "peer:"+westUUID, event.User.Username, reason)
				assert.Equal(t, "west", event.ObjectRef.Name, reason)
				assert.Equal(t, uid, event.ObjectRef.UID, reason)
				assert.Equal(t, 200, event.ResponseStatus.Code, reason)
			case "InviteRefused":
				assert.NotEmpty(t, event.Annotations["peering.entente.dev/cluster-uuid"])
				assert.Equal(t, 403, event.ResponseStatus.Code)
			}
			assert.Regexp(t, fingerprint, event.Annotations["peering.entente.dev/key-fingerprint"], reason)
			if assert.Len(t, event.SourceIPs, 1, reason) {
				source, err := netip.ParseAddr(event.SourceIPs[0])
				assert.NoError(t, err, reason)
				assert.True(t, source.IsLoopback(), reason)
			}
		}
	}
	assert.Subset(t, byPeers.UnsortedList(), []string{"InviteUsed", "PeerConfirmed", "InviteRefused", "PeerLeft"})
	require.NoError(t, east.Stop())
	require.NoError(t, west.Stop())
	for _, log := range []string{eastLog, westLog} {
		content := read(log)
		assert.Contains(t, string(content), `\u003comitted\u003e`, "there were values to be masked")
		for _, text := range texts {
			said, err := connstring.Parse(text)
			require.NoError(t, err)
			token := said.Token.Reveal()
			for _, secret := range []string{
				text, text[9:60], // whole, and its beginning
				base64.StdEncoding.EncodeToString(token), base64.RawURLEncoding.EncodeToString(token),
			} {
				assert.False(t, bytes.Contains(content, []byte(secret)), "%s holds a token", filepath.Base(log))
			}
		}
	}
}
