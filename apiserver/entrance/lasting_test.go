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

package entrance

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// watching has the host answer with one event, and then with nothing until the request
// ends, which it tells.
func (h *fakeHost) watching() (left <-chan struct{}) {
	ended := make(chan struct{}, 16)
	h.answers(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json;stream=watch")
		_, _ = io.WriteString(w, "{\"type\":\"ADDED\"}\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		ended <- struct{}{}
	})
	return ended
}

// echoing has the host switch to a WebSocket, and say all that it is told, until the
// connection ends, which it tells.
func (h *fakeHost) echoing() (left <-chan struct{}) {
	ended := make(chan struct{}, 16)
	h.answers(func(w http.ResponseWriter, r *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close(); ended <- struct{}{} }()
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(conn, "HTTP/1.1 101 Anything\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSec-WebSocket-Protocol: %s\r\nSet-Cookie: a=b\r\nX-Remote-User: x\r\n\r\n",
			base64.StdEncoding.EncodeToString(sum[:]), r.Header.Get("Sec-WebSocket-Protocol"))
		_, _ = io.Copy(conn, buffered)
	})
	return ended
}

func (f *fixture) upgradeRequest() string {
	return "GET " + apiPath + "/api/v1/namespaces/shop/configmaps?watch=true HTTP/1.1\nHost: x\nAuthorization: Bearer " + f.token() + `
Connection: keep-alive, Upgrade
Upgrade: websocket
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
Sec-WebSocket-Version: 13
Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.Zm9v, base64.binary.k8s.io
Impersonate-User: system:admin
Origin: https://192.0.2.1

`
}

func wait(t *testing.T, left <-chan struct{}) {
	t.Helper()
	select {
	case <-left:
	case <-time.After(soon):
		require.Fail(t, "it goes on")
	}
}

// stepUntil lets seconds pass until something ends, and returns how many it took.
func (f *fixture) stepUntil(left <-chan struct{}) int {
	f.t.Helper()
	for seconds := 1; seconds <= 10; seconds++ {
		f.clock.Step(time.Second)
		select {
		case <-left:
			return seconds
		case <-time.After(200 * time.Millisecond):
		}
	}
	require.Fail(f.t, "it goes on")
	return 0
}

// losses are all ways in which a request can lose what it stands on, as they are told.
func losses() map[string]struct {
	lose func(f *fixture)
	want Reason
} {
	return map[string]struct {
		lose func(f *fixture)
		want Reason
	}{
		"capability deleted": {func(f *fixture) { f.removeCapability() }, NotInEffect},
		"capability forbidden": {func(f *fixture) {
			f.change(func(s *peeringv1alpha1.PeeringCapabilitySpec) { s.Rules[0].Verbs = []string{"*"} })
		}, NotInEffect},
		"capability not named":    {func(f *fixture) { f.setSpec(record.Spec{}) }, NotInEffect},
		"capability not offered":  {func(f *fixture) { f.edit(func(p *record.Peer) { p.Offer.Body.Capabilities = nil }) }, NotInEffect},
		"not offered by the peer": {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Offer.Body.Capabilities = nil }) }, NotInEffect},
		"other major version":     {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Offer.Body.Capabilities[0].Version = "2" }) }, NotInEffect},
		"consumer removed": {func(f *fixture) {
			f.change(func(s *peeringv1alpha1.PeeringCapabilitySpec) { s.Consumers[0].Name = "other" })
		}, NotConsumer},
		"rule removed": {func(f *fixture) { f.change(func(s *peeringv1alpha1.PeeringCapabilitySpec) { s.Rules = s.Rules[1:] }) }, NotInRules},
		"verb removed": {func(f *fixture) {
			f.change(func(s *peeringv1alpha1.PeeringCapabilitySpec) { s.Rules[0].Verbs = []string{"get", "list"} })
		}, NotInRules},
		"grant removed": {func(f *fixture) { f.grant() }, NotGranted},
		"grant elsewhere": {func(f *fixture) {
			f.grant(record.GrantedObject{Kind: record.KindRole, Namespace: "other", Name: "r", UID: "r"})
		}, NotGranted},
		"grant about to be": {func(f *fixture) { f.grant(record.GrantedObject{Kind: record.KindRole, Namespace: "shop", Name: "r"}) }, NotGranted},
		"grant foreign": {func(f *fixture) {
			f.grant(record.GrantedObject{Kind: record.KindRole, Namespace: "shop", Name: "r", Foreign: true})
		}, NotGranted},
		"binding only": {func(f *fixture) {
			f.grant(record.GrantedObject{Kind: record.KindRoleBinding, Namespace: "shop", Name: "r", UID: "r"})
		}, NotGranted},
		"deleting":               {func(f *fixture) { f.setSpec(record.Spec{Capabilities: []string{logs}, Deleting: true}) }, NotInEffect},
		"other cluster expected": {func(f *fixture) { f.setSpec(record.Spec{Capabilities: []string{logs}, ExpectedClusterUUID: north}) }, NotInEffect},
		"suspended":              {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Fault = record.PeerSuspended }) }, NotInEffect},
		"left":                   {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.Fault = record.PeerLeft }) }, NotInEffect},
		"record gone":            {func(f *fixture) { f.must(func(tx record.Tx) error { return tx.DeletePeer(uid) }) }, NotInEffect},
		"another cluster":        {func(f *fixture) { f.edit(func(p *record.Peer) { p.Remote.ClusterUUID = north }) }, NotInEffect},
		"stale":                  {func(f *fixture) { f.SetFresh(record.ErrStale) }, Unavailable},
		"issuer gone":            {func(f *fixture) { f.setIssuer(nil) }, AwaitingIssuer},
		"issuer moved":           {func(f *fixture) { f.setIssuer(&protocol.Issuer{URL: "https://192.0.2.1", JWKS: f.issuer.jwks()}) }, IssuerChanged},
		"issuer's keys changed":  {func(f *fixture) { f.setIssuer(&protocol.Issuer{URL: issuerURL, JWKS: newIssuer(f.t, "new").jwks()}) }, IssuerChanged},
		"key is ours": {func(f *fixture) {
			f.edit(func(p *record.Peer) { p.Offer.Body.Issuer = &protocol.Issuer{URL: issuerURL, JWKS: f.issuer.jwks()} })
		}, SharedKey},
		"token expired": {func(f *fixture) { f.clock.Step(10 * time.Minute) }, Reason(workloadtoken.Expired)},
	}
}

func (f *fixture) setIssuer(issuer *protocol.Issuer) {
	f.edit(func(p *record.Peer) {
		p.Remote.Offer.Body.Issuer = issuer
		p.Remote.NoteIssuer(f.clock.Now())
	})
}

// G7: a watch passes as it comes, and ends soon after any of what it stands on has gone,
// at both ends. It is not let in again.
func TestG7WatchesEndWithTheirGround(t *testing.T) {
	for name, loss := range losses() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Limits{})
			left := f.host.watching()
			transport := f.client(len(name)%2 == 0)
			r := f.request(t.Context(), http.MethodGet, apiPath+"/api/v1/namespaces/shop/configmaps?watch=1", nil)
			response, err := transport.RoundTrip(r)
			require.NoError(t, err)
			defer response.Body.Close()
			assert.Equal(t, http.StatusOK, response.StatusCode)
			reader := bufio.NewReader(response.Body)
			line, err := reader.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, "{\"type\":\"ADDED\"}\n", line, "it is not held back")
			begins := f.audited(1)[0]
			assert.True(t, begins.Begins)
			for range 3 {
				f.clock.Step(time.Second)
			}
			select {
			case <-left:
				require.Fail(t, "it has ended before anything was lost")
			case <-time.After(20 * time.Millisecond):
			}

			loss.lose(f)
			assert.LessOrEqual(t, f.stepUntil(left), 5)
			_, err = reader.ReadString('\n')
			require.Error(t, err, "the peer is told")
			ends := f.audited(1)[0]
			assert.Equal(t, begins.ID, ends.ID)
			assert.Equal(t, http.StatusOK, ends.Code)
			assert.Contains(t, []Reason{loss.want, ""}, ends.Reason, "or the gateway was faster")
			assert.Zero(t, f.presenceOf().lasting+f.presenceOf().open)
			// (Some of it the gateway sees itself, before the entrance does.)
			again, err := f.client(true).RoundTrip(r)
			if err == nil {
				assert.GreaterOrEqual(t, again.StatusCode, http.StatusBadRequest)
				again.Body.Close()
			}
		})
	}
}

func (f *fixture) presenceOf() *presence { return f.entrance.presences.of(uid) }

// G7: the reason why something does not stand is found by the entrance itself, also where
// the gateway is faster.
func TestG7GroundsAreTold(t *testing.T) {
	for name, loss := range losses() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Limits{})
			s := f.stand(http.MethodGet, "/api/v1/namespaces/shop/configmaps?watch=1")
			require.Empty(t, s.fault())
			require.True(t, s.stands())
			loss.lose(f)
			assert.False(t, s.stands())
			assert.Equal(t, loss.want, s.reason())
			f.removeCapability()
			assert.False(t, s.stands())
			assert.Equal(t, loss.want, s.reason(), "the first one")
			assert.NotEqual(t, http.StatusOK, refusalOf(s.reason()).code)
		})
	}
}

// G7: a WebSocket passes, with the protocols that hold no token, and ends with its ground
// on both sides, whether or not anything is being sent.
func TestG7WebSockets(t *testing.T) {
	for _, flood := range []bool{false, true} {
		f := newFixture(t, Limits{})
		left := f.host.echoing()
		response, reader, conn := f.raw(f.upgradeRequest())
		require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
		assert.Equal(t, "101 Switching Protocols", response.Status)
		assert.Equal(t, http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}, "Sec-Websocket-Protocol": {"base64.binary.k8s.io"},
		}, response.Header)
		got := f.host.take()[0]
		assert.Equal(t, []string{"websocket"}, got.header["Upgrade"])
		assert.Equal(t, []string{"base64.binary.k8s.io"}, got.header["Sec-Websocket-Protocol"])
		assert.Equal(t, []string{workload}, got.header["Impersonate-User"])
		assert.NotContains(t, got.header, "Authorization")
		assert.Equal(t, []string{"https://workload.invalid"}, got.header["Origin"])
		for _, line := range []string{"one\n", "two\n"} {
			_, err := io.WriteString(conn, line)
			require.NoError(t, err)
			echo, err := reader.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, line, echo)
		}
		assert.Equal(t, http.StatusSwitchingProtocols, f.audited(1)[0].Code)
		if flood {
			// Nobody reads what comes back, until nothing more can be written.
			require.NoError(t, conn.SetWriteDeadline(time.Now().Add(300*time.Millisecond)))
			for err := error(nil); err == nil; {
				_, err = conn.Write(make([]byte, 1<<20))
			}
		}
		f.grant()
		assert.LessOrEqual(t, f.stepUntil(left), 5)
		ends := f.audited(1)[0]
		assert.Equal(t, NotGranted, ends.Reason)
		assert.Equal(t, http.StatusSwitchingProtocols, ends.Code)
		assert.Zero(t, f.presenceOf().open)
	}
}

// G7: nothing but a WebSocket, and that over HTTP/1.1 and by GET only, and only if it was
// asked for.
func TestG7OtherUpgrades(t *testing.T) {
	f := newFixture(t, Limits{})
	good := f.upgradeRequest()
	for name, request := range map[string]string{
		"SPDY":               strings.Replace(good, "Upgrade: websocket", "Upgrade: SPDY/3.1", 1),
		"h2c":                strings.Replace(good, "Upgrade: websocket", "Upgrade: h2c", 1),
		"two":                strings.Replace(good, "Upgrade: websocket", "Upgrade: websocket, h2c", 1),
		"twice":              strings.Replace(good, "Upgrade: websocket", "Upgrade: websocket\nUpgrade: websocket", 1),
		"nothing":            strings.Replace(good, "Upgrade: websocket\n", "", 1),
		"without connection": strings.Replace(good, "keep-alive, Upgrade", "keep-alive", 1),
		"POST":               strings.Replace(good, "GET", "POST", 1),
	} {
		response, _, _ := f.raw(request)
		assert.Equal(t, InvalidUpgrade, f.read(response).reason, name)
	}
	assert.Empty(t, f.host.take())
	// Over HTTP/1.1 a host can switch although it was not asked.
	f.entrance.config.API.Plain = f.entrance.config.API.Upgrade
	for name, answer := range map[string]string{
		"another protocol": "Upgrade: SPDY/3.1\r\nConnection: Upgrade\r\n",
		"none":             "Connection: Upgrade\r\n",
		"two":              "Upgrade: websocket\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n",
	} {
		f.host.answers(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+answer+"\r\n")
				_ = conn.Close()
			}
		})
		response, _, _ := f.raw(good)
		assert.Equal(t, InvalidAnswer, f.read(response).reason, name)
		plain := f.get("/api/v1/namespaces/shop/configmaps")
		assert.Equal(t, http.StatusBadGateway, plain.code, name)
	}
}

// G7: who does not take an answer holds nothing for ever, and who takes his time between
// its parts is not broken off.
func TestG7AnswersAreTaken(t *testing.T) {
	for _, two := range []bool{false, true} {
		f := newFixture(t, Limits{Write: 100 * time.Millisecond})
		left := make(chan struct{}, 1)
		f.host.answers(func(w http.ResponseWriter, r *http.Request) {
			defer func() { left <- struct{}{} }()
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		})
		transport := f.client(two)
		response, err := transport.RoundTrip(f.request(t.Context(), http.MethodGet, apiPath+"/api/v1/namespaces/shop/configmaps", nil))
		require.NoError(t, err)
		wait(t, left)
		f.audited(1)
		response.Body.Close()

		f.host.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 3 {
				_, _ = io.WriteString(w, "{}")
				w.(http.Flusher).Flush()
				<-after(120 * time.Millisecond)
			}
		})
		transport = f.client(two)
		for range 2 {
			a := f.send(transport, f.request(t.Context(), http.MethodGet, apiPath+"/api/v1/namespaces/shop/configmaps", nil))
			assert.Equal(t, "{}{}{}", a.body, "nor on the same connection, later")
		}
	}
}

// G7: what a peer goes away from ends at the host, too.
func TestG7PeersThatGo(t *testing.T) {
	f := newFixture(t, Limits{})
	for _, two := range []bool{false, true} {
		left := f.host.watching()
		ctx, cancel := context.WithCancel(t.Context())
		response, err := f.client(two).RoundTrip(f.request(ctx, http.MethodGet, apiPath+"/api/v1/namespaces/shop/configmaps?watch=1", nil))
		require.NoError(t, err)
		cancel()
		wait(t, left)
		response.Body.Close()
		assert.Empty(t, f.audited(2)[1].Reason)
	}
	left := f.host.echoing()
	_, _, conn := f.raw(f.upgradeRequest())
	_ = conn.Close()
	wait(t, left)
	f.audited(2)
}
