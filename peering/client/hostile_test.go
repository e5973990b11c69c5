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

package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/protocol"
)

// raw answers with these bytes and headers.
func raw(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", protocol.ContentType)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func sound(t testing.TB) string {
	t.Helper()
	data, err := json.Marshal(echo())
	require.NoError(t, err)
	return string(data)
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return packed.String()
}

// P11: whatever a recognised gateway answers ends in a failure of closed sets that holds
// no byte of it, and soon.
func TestP11HostileAnswers(t *testing.T) {
	elsewhere := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", protocol.ContentType)
		for r.Context().Err() == nil {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return
			}
		}
	}
	trickle := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", protocol.ContentType)
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	breaking := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", protocol.ContentType)
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	failing := func(status int, reason protocol.FailureReason) http.HandlerFunc {
		return answering(t, status, protocol.Failure{Reason: reason})
	}
	invalid := func(fault protocol.Fault) Failure { return Failure{Kind: Invalid, Fault: fault} }
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		want    Failure
	}{
		{"endless", endless, invalid(protocol.ErrTooLarge)},
		{"trickle", trickle, Failure{Kind: Unreachable, Detail: DetailTimeout}},
		{"hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Failure{Kind: Unreachable, Detail: DetailTimeout}},
		{"break", breaking, Failure{Kind: Unreachable, Detail: DetailConnect}},
		{"too large", raw(http.StatusOK, `{"a":"`+strings.Repeat(canary, 100<<10)+`"}`), invalid(protocol.ErrTooLarge)},
		{"deep", raw(http.StatusOK, `{"canary":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}`), invalid(protocol.ErrTooDeep)},
		{"very deep", raw(http.StatusOK, strings.Repeat(`{"a":`, 50000)), invalid(protocol.ErrMalformed)},
		{"compressed", raw(http.StatusOK, zipped(t, sound(t)), "Content-Encoding", "gzip"), invalid("")},
		{"compressed, unsaid", raw(http.StatusOK, zipped(t, sound(t))), invalid(protocol.ErrMalformed)},
		{"encoding of another name", raw(http.StatusOK, sound(t), "Content-Encoding", canary), invalid("")},
		{"HTML", raw(http.StatusOK, "<html>canary"), invalid(protocol.ErrMalformed)},
		{"HTML, said", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(sound(t)))
		}, invalid("")},
		{"no type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte(sound(t)))
		}, invalid("")},
		{"wrong values", raw(http.StatusOK, `{"protocol":1,"clusterUUID":"canary"}`), invalid(protocol.ErrClusterUUID)},
		{"another success", raw(http.StatusCreated, sound(t)), invalid("")},
		{"no content", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, invalid("")},
		{"redirect", raw(http.StatusTemporaryRedirect, "", "Location", elsewhere.endpoint+"/canary"), invalid("")},
		{"redirect with a reason", raw(http.StatusFound, `{"reason":"Gone"}`, "Location", elsewhere.endpoint), invalid("")},
		{"large headers", raw(http.StatusOK, sound(t), "X-Canary", strings.Repeat(canary, 10<<10)), Failure{Kind: Unreachable, Detail: DetailConnect}},
		{"many headers", raw(http.StatusOK, sound(t), manyHeaders(1000)...), Failure{Kind: Unreachable, Detail: DetailConnect}},

		{"refused", failing(http.StatusForbidden, protocol.FailureUUIDMismatch), Failure{Kind: Refused, Reason: protocol.FailureUUIDMismatch}},
		{"refused for a reason of its own", failing(http.StatusForbidden, canary), Failure{Kind: Refused, Reason: protocol.FailureRefused}},
		{"refused in HTML", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, canary, http.StatusForbidden) }, invalid("")},
		{"refused at length", raw(http.StatusForbidden, `{"reason":"`+strings.Repeat(canary, 1000)+`"}`), invalid("")},
		{"invalid", failing(http.StatusBadRequest, protocol.FailureInvalid), Failure{Kind: Refused, Reason: protocol.FailureInvalid}},
		{"gone", failing(http.StatusGone, protocol.FailureGone), Failure{Kind: Gone}},
		{"gone, only by status", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, canary, http.StatusGone) }, invalid("")},
		{"gone, only by reason", failing(http.StatusForbidden, protocol.FailureGone), invalid("")},
		{"busy", failing(http.StatusTooManyRequests, protocol.FailureBusy), Failure{Kind: Busy}},
		{"unavailable", failing(http.StatusServiceUnavailable, protocol.FailureUnavailable), Failure{Kind: Busy}},
		{"bad gateway", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, canary, http.StatusBadGateway) }, Failure{Kind: Busy}},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", test.name, http2), func(t *testing.T) {
				g := serve(t, entrance{http2: http2}, test.handler)
				d := dialer(t, func(c *Config) {
					if test.want.Detail == DetailTimeout {
						c.SyncGrace = 500 * time.Millisecond
					}
				})
				response, err := connect(t, d, g.trust(), g.endpoint).Sync(t.Context(), beat())
				requireFailure(t, test.want, err)
				assert.Equal(t, protocol.SyncResponse{}, response)
			})
		}
	}
	assert.Zero(t, elsewhere.connections.Load(), "a redirection was followed")
}

func manyHeaders(count int) []string {
	var headers []string
	for i := range count {
		headers = append(headers, fmt.Sprintf("X-Canary-%d", i), canary)
	}
	return headers
}

// P11: no cookie comes back.
func TestP11NoCookies(t *testing.T) {
	g := serve(t, entrance{}, func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header.Values("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "a", Value: canary, Path: "/"})
		answer(t, w, http.StatusOK, echo())
	})
	c := connect(t, dialer(t), g.trust(), g.endpoint)
	for range 2 {
		_, err := c.Sync(t.Context(), beat())
		require.NoError(t, err)
	}
}

// P10: an offer that breaks the rules is dropped, and the rest of the answer is not.
func TestP10OfferOfAnAnswer(t *testing.T) {
	response := echo()
	response.Holds.Trust = strings.Repeat("a", 64)
	response.OfferBody = &protocol.Offer{Alias: "<canary>"}
	g := serve(t, entrance{}, answering(t, http.StatusOK, response))
	got, err := connect(t, dialer(t), g.trust(), g.endpoint).Sync(t.Context(), beat())
	requireFailure(t, Failure{Kind: Invalid, Fault: protocol.ErrAlias}, err)
	response.OfferBody = nil
	assert.Equal(t, response, got)
}

// What breaks our own rules is not sent.
func TestP11OwnMessages(t *testing.T) {
	g := serve(t, entrance{}, answering(t, http.StatusOK, echo()))
	c := connect(t, dialer(t), g.trust(), g.endpoint)
	request := beat()
	request.ClusterUUID = ""
	_, err := c.Sync(t.Context(), request)
	require.ErrorIs(t, err, protocol.ErrClusterUUID)
	_, err = c.Renew(t.Context(), protocol.RenewRequest{})
	require.ErrorIs(t, err, protocol.ErrRole)
	assert.Zero(t, g.connections.Load())
}

// A caller that gives up is not told that the peer failed; one whose time is over is.
func TestCallersContext(t *testing.T) {
	arrived := make(chan struct{}, 10)
	g := serve(t, entrance{}, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	c := connect(t, dialer(t), g.trust(), g.endpoint, nobody(t))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := c.Sync(ctx, beat())
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, isKind(err, Unreachable))

	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	c = connect(t, dialer(t), g.trust(), g.endpoint)
	_, err = c.Sync(ctx, beat())
	requireFailure(t, Failure{Kind: Unreachable, Detail: DetailTimeout}, err)
}
