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

package outlet

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func TestNew(t *testing.T) {
	_, err := New(Config{})
	require.ErrorContains(t, err, "needs a ledger")
}

// G8: a consumer reaches the API of the peer, as himself.
func TestG8Carry(t *testing.T) {
	w := newWorld(t)
	var got *http.Request
	var body []byte
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(rw, "{}")
	})
	answer := w.ask(http.MethodPost, "logs/api/v1/namespaces/n/pods/?fieldManager=x&dryRun=All", strings.NewReader("a pod"), "Content-Type", "application/json")
	assert.Equal(t, http.StatusCreated, answer.code)
	assert.Equal(t, "{}", answer.body)
	assert.Equal(t, http.MethodPost, got.Method)
	assert.Equal(t, protocol.PathAPI+"logs/api/v1/namespaces/n/pods?fieldManager=x&dryRun=All", got.RequestURI)
	assert.Equal(t, "a pod", string(body))
	assert.Equal(t, "Bearer "+w.host.last(), got.Header.Get("Authorization"))
	assert.Equal(t, w.far.endpoint[len("https://"):], got.Host)
	require.Len(t, w.host.requests(), 1)
	assert.Equal(t, "POST /api/v1/namespaces/module/serviceaccounts/controller/token", w.host.requests()[0].Path)
	assert.Equal(t, []string{"peering.entente.dev:" + east + ":logs"}, w.host.requests()[0].Spec.Audiences)
	assert.EqualValues(t, 600, *w.host.requests()[0].Spec.ExpirationSeconds)
	assert.Nil(t, w.host.requests()[0].Spec.BoundObjectRef)

	for _, path := range []string{"", "logs/../x", "logs//x", "logs/%2e%2e/x", "logs/a%2fb", "logs/x%00", "logs/a;b"} {
		answer := w.ask(http.MethodGet, path, nil)
		assert.Equal(t, http.StatusBadRequest, answer.code, path)
	}
	assert.EqualValues(t, 1, w.far.requests.Load())
}

// G8: nobody else passes, and for nobody else a token is asked for.
func TestG8Callers(t *testing.T) {
	w := newWorld(t)
	named := serviceaccount.UserInfo
	const others, consumers = "only ServiceAccounts pass", "does not name ServiceAccount"
	for name, test := range map[string]struct {
		who  user.Info
		says string
	}{
		"nobody":                         {nil, others},
		"a person":                       {&user.DefaultInfo{Name: "jane", Groups: []string{"system:masters"}, UID: "1"}, others},
		"a node":                         {&user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:nodes"}}, others},
		"a peer's ServiceAccount":        {&user.DefaultInfo{Name: "peer:" + east + ":system:serviceaccount:module:controller", UID: saUID, Groups: []string{"system:serviceaccounts:module"}}, others},
		"a name without groups":          {&user.DefaultInfo{Name: "system:serviceaccount:module:controller", UID: saUID}, others},
		"the group of another namespace": {&user.DefaultInfo{Name: "system:serviceaccount:module:controller", UID: saUID, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:other"}}, others},
		"without a UID, another one":     {named(namespace, "default", ""), consumers},
		"another one":                    {named(namespace, "default", saUID), consumers},
		"of another namespace":           {named("other", account, saUID), consumers},
		"half of another consumer":       {named(namespace, "other", saUID), consumers},
	} {
		t.Run(name, func(t *testing.T) {
			w.change(func() { w.callers["x"] = test.who })
			answer := w.get("Test-Caller", "x")
			assert.Equal(t, http.StatusForbidden, answer.code)
			status := answer.status(t)
			assert.Equal(t, metav1.StatusReasonForbidden, status.Reason)
			assert.Contains(t, status.Message, test.says)
			assert.Equal(t, "east", status.Details.Name)
		})
	}
	assert.Zero(t, w.far.connections.Load())
	assert.Empty(t, w.host.requests())
}

// H1: a host that does not pass on the UID of who asks, as kubeadm has it, does not keep a
// consumer from passing; one that does has a token of that very ServiceAccount made.
func TestH1CallerWithoutUID(t *testing.T) {
	w := newWorld(t)
	w.change(func() {
		w.callers["unknown"] = serviceaccount.UserInfo(namespace, account, "")
		w.callers["former"] = serviceaccount.UserInfo(namespace, account, "22222222-0000-4000-8000-000000000009")
	})
	assert.Equal(t, http.StatusOK, w.get("Test-Caller", "unknown").code)
	assert.Equal(t, http.StatusForbidden, w.get("Test-Caller", "former").code)
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.Len(t, w.host.requests(), 3, "no token is taken for that of a caller with a UID which was made for one without")
}

// withdrawals take the ground from a request.
func withdrawals() map[string]func(*world) {
	return map[string]func(*world){
		"the ClusterPeer names it no more": func(w *world) { w.change(func() { w.specs[eastUID] = record.Spec{} }) },
		"the ClusterPeer is being deleted": func(w *world) {
			w.change(func() { w.specs[eastUID] = record.Spec{Deleting: true, Capabilities: []string{"logs"}} })
		},
		"the ClusterPeer is gone": func(w *world) { w.change(func() { delete(w.specs, eastUID) }) },
		"another cluster is expected": func(w *world) {
			w.change(func() { w.specs[eastUID] = record.Spec{ExpectedClusterUUID: west, Capabilities: []string{"logs"}} })
		},
		"the peer offers it no more":      func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Offer.Body.Capabilities = nil }) },
		"the peer offers another version": func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Offer.Body = offers("logs", "2.0.0") }) },
		"it is not valid here":            func(w *world) { w.edit(func(p *record.Peer) { p.Offer.Body.Capabilities = nil }) },
		"the peer has left":               func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Fault = record.PeerLeft }) },
		"the peer was never confirmed":    func(w *world) { w.edit(func(p *record.Peer) { p.Remote.ConfirmedAt = time.Time{} }) },
		"there is no peer":                func(w *world) { w.edit(func(p *record.Peer) { p.Remote = nil }) },
		"the record is gone": func(w *world) {
			_ = w.ledger.Update(w.t.Context(), func(tx record.Tx) error { return tx.DeletePeer(eastUID) })
		},
		"the PeeringCapability is gone": func(w *world) { w.change(func() { delete(w.capabilities, "logs") }) },
		"the PeeringCapability names another": func(w *world) {
			w.change(func() {
				c := *w.capabilities["logs"]
				c.Spec.Consumers = c.Spec.Consumers[:1]
				w.capabilities["logs"] = &c
			})
		},
	}
}

// G8, S1: what is not in effect, or not open to the caller, is 403, what cannot be told now
// is 503, and nobody is dialled.
func TestG8Ground(t *testing.T) {
	for name, withdraw := range withdrawals() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			withdraw(w)
			answer := w.get()
			code, says := http.StatusForbidden, "is not in effect"
			switch name {
			case "the ClusterPeer is gone", "the PeeringCapability is gone":
				// Or it is not seen yet.
				code, says = http.StatusServiceUnavailable, "does not see"
				assert.Equal(t, "1", answer.header.Get("Retry-After"))
			case "the PeeringCapability names another":
				says = "does not name ServiceAccount"
			}
			assert.Equal(t, code, answer.code)
			assert.Contains(t, answer.status(t).Message, says)
			assert.Zero(t, w.far.connections.Load())
			assert.Empty(t, w.host.requests())
		})
	}
	t.Run("a ClusterPeer that was made anew", func(t *testing.T) {
		w := newWorld(t)
		assert.Equal(t, http.StatusServiceUnavailable, w.get("Test-UID", westUID).code)
		assert.Empty(t, w.host.requests())
	})
	t.Run("out of reach is not out of effect", func(t *testing.T) {
		w := newWorld(t)
		w.edit(func(p *record.Peer) { p.Remote.Unreachable = noon() })
		assert.Equal(t, http.StatusOK, w.get().code)
	})
}

// What may be different in a while is 503, and says when to ask again.
func TestG8Unavailable(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*world)
		says  string
		retry string
	}{
		"the ledger is out of sight": {func(w *world) { w.ledger.SetFresh(record.ErrStale) }, "lost sight", "1"},
		"no endpoint":                {func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Endpoints = nil }) }, "has no endpoint", "5"},
		"no data credential":         {func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Data = nil }) }, "no certificate", "5"},
		"not certified yet":          {func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Data.Certificate = nil }) }, "no certificate", "5"},
		"expired":                    {func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Data.NotAfter = noon() }) }, "no certificate", "5"},
		"nobody there":               {func(w *world) { w.edit(func(p *record.Peer) { p.Remote.Endpoints = []string{"https://127.0.0.1:1"} }) }, "cannot be reached", "1"},
		"the host makes no token":    {func(w *world) { w.host.set(func() { w.host.refuse = &metav1.Status{Code: 500, Message: canary} }) }, "made no token", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.spoil(w)
			answer := w.get()
			assert.Equal(t, http.StatusServiceUnavailable, answer.code)
			assert.Contains(t, answer.status(t).Message, test.says)
			assert.Equal(t, test.retry, answer.header.Get("Retry-After"))
			assert.NotContains(t, answer.body, canary)
			assert.Zero(t, w.far.requests.Load())
		})
	}
}

// S3: before Run nobody would end a request.
func TestS3NotBeforeRun(t *testing.T) {
	w := newWorld(t)
	w.stop()
	other, err := New(w.config)
	require.NoError(t, err)
	w.outlet = other
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		answer := w.ask(method, "logs/api/v1/pods", nil)
		assert.Equal(t, http.StatusServiceUnavailable, answer.code)
		assert.Equal(t, "1", answer.header.Get("Retry-After"), "nothing was done")
	}
	assert.Empty(t, w.host.requests())
	assert.Zero(t, w.far.connections.Load())
}

// P2: by whose clock a certificate is not valid yet is not for this end to say.
func TestP2CertificateOfAFasterClock(t *testing.T) {
	w := newWorld(t)
	w.edit(func(p *record.Peer) { p.Remote.Data.NotBefore = noon().Add(time.Minute) })
	assert.Equal(t, http.StatusOK, w.get().code)
}

// What may have been done there already is not for a client to do again by itself.
func TestG8RetryAfter(t *testing.T) {
	w := newWorld(t)
	w.far.answers(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	answer := w.ask(http.MethodPost, "logs/api/v1/pods", strings.NewReader("x"))
	assert.Equal(t, http.StatusServiceUnavailable, answer.code)
	assert.Empty(t, answer.header.Get("Retry-After"))
	assert.EqualValues(t, 1, w.far.requests.Load())
}

// G8: nor is what was ended before there was an answer.
func TestG8RetryAfterTheEnd(t *testing.T) {
	for method, retry := range map[string]string{http.MethodGet: "1", http.MethodPost: ""} {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t)
			arrived := make(chan struct{})
			w.far.answers(func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() })
			done := make(chan reply, 1)
			go func() { done <- w.ask(method, "logs/api/v1/pods", nil) }()
			<-arrived
			w.change(func() { delete(w.specs, eastUID) })
			w.eventually(func() bool { return len(done) > 0 }, "the end")
			answer := <-done
			assert.Equal(t, http.StatusServiceUnavailable, answer.code)
			assert.Contains(t, answer.status(t).Message, "does not see")
			assert.Equal(t, retry, answer.header.Get("Retry-After"))
		})
	}
}

// P2, P11: somebody else in the place of the gateway gets nothing.
func TestP11Stranger(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	w.edit(func(p *record.Peer) { p.Remote.Endpoints = []string{other.far.endpoint} })
	answer := w.get()
	assert.Equal(t, http.StatusBadGateway, answer.code)
	assert.Contains(t, answer.status(t).Message, "somebody else")
	assert.Zero(t, other.far.requests.Load())
}

// G8: one peer's requests under way are limited.
func TestG8Limits(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Requests: 2} })
	w.far.answers(events(nil))
	first, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer first.Body.Close()
	second, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer second.Body.Close()
	answer := w.get()
	assert.Equal(t, http.StatusTooManyRequests, answer.code)
	assert.Equal(t, "1", answer.header.Get("Retry-After"))
	assert.Equal(t, metav1.StatusReasonTooManyRequests, answer.status(t).Reason)
	require.NoError(t, second.Body.Close())
	w.far.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) })
	require.Eventually(t, func() bool { return w.get().code == http.StatusNoContent }, soon, tick)
}

// G8: what a peer's gateway would break off, as it is too large before its body, is not sent;
// what comes close is.
func TestG8TooLargeBeforeTheBody(t *testing.T) {
	w := newWorld(t)
	ask := func(length int, header ...string) int {
		return w.ask(http.MethodGet, "logs/api/v1/pods?labelSelector="+strings.Repeat("a", length), nil, header...).code
	}
	assert.Equal(t, http.StatusOK, ask(maxURL-200))
	assert.Equal(t, http.StatusRequestURITooLong, ask(maxURL))
	var accepts []string
	for range 8 {
		accepts = append(accepts, "Accept", strings.Repeat("a", 1000))
	}
	assert.Equal(t, http.StatusOK, ask(3000, accepts...))
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, ask(7000, accepts...))
	assert.EqualValues(t, 2, w.far.requests.Load())
}
