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
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// G7: a peer may ask so often.
func TestG7RateOfRequests(t *testing.T) {
	f := newFixture(t, Limits{Requests: 1, Burst: 3, RefusalBurst: 1, Refusals: 0.001})
	for range 3 {
		assert.Equal(t, http.StatusOK, f.get("/api").code)
	}
	a := f.get("/api")
	assert.Equal(t, http.StatusTooManyRequests, a.code)
	assert.Equal(t, TooManyRequests, a.reason)
	assert.Equal(t, "1", a.header.Get("Retry-After"))
	assert.Len(t, f.host.take(), 3)
	f.clock.Step(time.Second)
	assert.Equal(t, http.StatusOK, f.get("/api").code)
	all := f.audited(5)
	f.clock.Step(time.Minute)
	f.edit(func(p *record.Peer) { p.Remote.Offer.Body.Capabilities = nil })
	for range 3 {
		assert.Equal(t, NotInEffect, f.get("/api").reason)
	}
	type told struct {
		reason Reason
		flood  bool
	}
	count := map[told]int{}
	for _, each := range append(all, f.audited(3)...) {
		count[told{each.Reason, each.Flood}]++
	}
	assert.Equal(t, map[told]int{{"", false}: 4, {TooManyRequests, true}: 1, {NotInEffect, false}: 1, {NotInEffect, true}: 2}, count, "all are told, a few are to be written down")
}

// G7: so much of a peer may be under way, and not all of it for long.
func TestG7RequestsUnderWay(t *testing.T) {
	f := newFixture(t, Limits{Streams: 3, Watches: 2})
	left := f.host.watching()
	transport := f.client(true)
	open := func(path string) *http.Response {
		response, err := transport.RoundTrip(f.request(t.Context(), http.MethodGet, apiPath+path, nil))
		require.NoError(t, err)
		return response
	}
	watch, follow, list := "/api/v1/namespaces/shop/configmaps?watch=true", "/api/v1/namespaces/shop/pods/a/log?follow=true", "/api/v1/namespaces/shop/configmaps"
	one, two := open(watch), open(follow)
	assert.Equal(t, TooManyStreams, f.get("/api/v1/namespaces/shop/configmaps?watch=True&x=1").reason)
	f.underWay(2, 2)
	response, _, _ := f.raw(f.upgradeRequest())
	assert.Equal(t, TooManyStreams, f.read(response).reason)
	f.underWay(2, 2)
	three := open(list)
	assert.Equal(t, http.StatusOK, three.StatusCode, "there is room for a short one")
	a := f.get(list)
	assert.Equal(t, TooManyStreams, a.reason)
	assert.Equal(t, "1", a.header.Get("Retry-After"))
	for _, each := range []*http.Response{one, two, three} {
		each.Body.Close()
		wait(t, left)
	}
	f.underWay(0, 0)
	open(watch).Body.Close()
	wait(t, left)
}

// underWay waits until so many requests are: one ends after its answer.
func (f *fixture) underWay(open, lasting int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		p := f.presenceOf()
		p.lock.Lock()
		defer p.lock.Unlock()
		return p.open == open && p.lasting == lasting
	}, soon, tick)
}

// What is remembered of a peer goes with its record, and is replaced with its keys.
func TestG7WhatIsRemembered(t *testing.T) {
	f := newFixture(t, Limits{})
	assert.Equal(t, http.StatusOK, f.get("/api").code)
	p := f.presenceOf()
	first := p.verifier
	require.NotNil(t, first)
	assert.Equal(t, http.StatusOK, f.get("/api").code)
	assert.Same(t, first, p.verifier)

	ofNorth := &gateway.Peer{UID: uid, ClusterUUID: north}
	second, err := f.entrance.verifierOf(p, ofNorth, p.issuer)
	require.NoError(t, err)
	assert.NotSame(t, first, second, "it is another cluster's")

	before := f.token()
	next := newIssuer(t, "next")
	f.setIssuer(&protocol.Issuer{URL: issuerURL, JWKS: next.jwks()})
	r := f.request(t.Context(), http.MethodGet, apiPath+"/api", nil)
	r.Header.Set("Authorization", "Bearer "+before)
	assert.Equal(t, Reason("BadSignature"), f.send(f.client(false), r).reason, "a token that was taken before")
	assert.NotSame(t, first, p.verifier)
	f.issuer = next
	assert.Equal(t, http.StatusOK, f.get("/api").code)
	for _, url := range []string{"http://192.0.2.1", "https://192.0.2.1?x"} {
		f.setIssuer(&protocol.Issuer{URL: url, JWKS: next.jwks()})
		assert.Equal(t, AwaitingIssuer, f.get("/api").reason)
		assert.Nil(t, p.verifier)
	}

	f.must(func(tx record.Tx) error { return tx.DeletePeer(uid) })
	require.Eventually(t, func() bool {
		f.entrance.presences.lock.Lock()
		defer f.entrance.presences.lock.Unlock()
		return len(f.entrance.presences.byUID) == 0
	}, soon, tick)
	f.entrance.presences.of(uid)
	f.entrance.presences.of("never")
	assert.Empty(t, f.entrance.presences.byUID, "nor after it")

	for i := range 2 * maxCapabilities {
		name := fmt.Sprint(i)
		f.capabilities[name] = capabilityOf(name)
		f.entrance.capabilities.get(name)
	}
	assert.LessOrEqual(t, len(f.entrance.capabilities.known), maxCapabilities)
	clear(f.capabilities)
	for i := range 2 * maxCapabilities {
		assert.Nil(t, f.entrance.capabilities.get(fmt.Sprint(i)))
	}
	assert.Empty(t, f.entrance.capabilities.known)
}

// G6: two peers with one key: the tokens of the one that published it later are not taken.
func TestG6SharedKeys(t *testing.T) {
	f := newFixture(t, Limits{})
	assert.Equal(t, http.StatusOK, f.get("/api").code)
	f.must(func(tx record.Tx) error {
		other := &record.Remote{ClusterUUID: north, PairedAt: f.clock.Now(), ConfirmedAt: f.clock.Now(), Offer: record.AcceptedOffer{Body: offerOf(&protocol.Issuer{URL: issuerURL, JWKS: f.issuer.jwks()})}}
		other.NoteIssuer(f.clock.Now().Add(-time.Hour))
		return tx.PutPeer(&record.Peer{UID: otherUID, Name: "north", Remote: other})
	})
	assert.Equal(t, SharedKey, f.get("/api").reason)
}

// G7: tokens that are not taken are 401, and told why.
func TestG7TokensThatAreNotTaken(t *testing.T) {
	f := newFixture(t, Limits{})
	for name, test := range map[string]struct {
		change map[string]any
		code   int
		want   Reason
	}{
		"another audience":  {map[string]any{"aud": protocol.Audience(east, "other")}, http.StatusUnauthorized, "WrongAudience"},
		"two audiences":     {map[string]any{"aud": []string{protocol.Audience(east, logs), "x"}}, http.StatusUnauthorized, "WrongAudience"},
		"for a day":         {map[string]any{"exp": f.clock.Now().Add(24 * time.Hour).Unix()}, http.StatusUnauthorized, "TokenLivesTooLong"},
		"another workload":  {map[string]any{"sub": "system:serviceaccount:module-logs:other"}, http.StatusForbidden, NotConsumer},
		"another namespace": {map[string]any{"sub": "system:serviceaccount:other:controller"}, http.StatusForbidden, NotConsumer},
		"a user":            {map[string]any{"sub": "system:admin"}, http.StatusUnauthorized, "NotServiceAccount"},
	} {
		claims := f.claims()
		for key, value := range test.change {
			claims[key] = value
		}
		r := f.request(t.Context(), http.MethodGet, apiPath+"/api", nil)
		r.Header.Set("Authorization", "Bearer "+f.issuer.sign(claims))
		a := f.send(f.client(false), r)
		assert.Equal(t, test.code, a.code, name)
		assert.Equal(t, test.want, a.reason, name)
		assert.Equal(t, "application/json", a.header.Get("Content-Type"))
	}
	assert.Empty(t, f.host.take())
}

// P2: without the gateway there is no peer, and no way in.
func TestP2OnlyThroughTheGateway(t *testing.T) {
	f := newFixture(t, Limits{})
	w := httptest.NewRecorder()
	f.entrance.ServeHTTP(w, f.request(t.Context(), http.MethodGet, apiPath+"/api", nil))
	assert.Equal(t, http.StatusForbidden, w.Code)
	assert.Empty(t, f.host.take())
	_, err := New(Config{})
	require.Error(t, err)
	config := f.entrance.config
	config.ClusterUUID = "x"
	_, err = New(config)
	require.Error(t, err)
	config = f.entrance.config
	config.API = nil
	_, err = New(config)
	require.Error(t, err)
}

// Each exchange is told, with a hash of the token and what was asked.
func TestG7ExchangesAreTold(t *testing.T) {
	f := newFixture(t, Limits{})
	assert.Equal(t, http.StatusOK, f.get("/api/v1/namespaces/shop/secrets/known").code)
	told := f.audited(1)[0]
	assert.Equal(t, gateway.Peer{UID: uid, Name: "west", ClusterUUID: west, Role: record.RoleData, Key: told.Peer.Key, Source: told.Peer.Source}, told.Peer)
	assert.Equal(t, "127.0.0.1", told.Peer.Source.String())
	assert.Equal(t, []string{workload, logs}, []string{told.User, told.Capability})
	assert.False(t, told.Token.IsZero())
	assert.Equal(t, []string{"get", "v1", "secrets", "shop", "known"}, []string{told.Request.Verb, told.Request.APIVersion, told.Request.Resource, told.Request.Namespace, told.Request.Name})
	assert.Equal(t, http.StatusOK, told.Code)

	assert.Equal(t, http.StatusForbidden, f.get("/api/v1/namespaces/shop/secrets/other").code)
	told = f.audited(1)[0]
	assert.Equal(t, []any{workload, NotInRules, true, http.StatusForbidden}, []any{told.User, told.Reason, told.Refused, told.Code})
	response, _, _ := f.raw("GET " + apiPath + "/../x HTTP/1.1\nHost: x\n\n")
	assert.Equal(t, InvalidPath, f.read(response).reason)
	told = f.audited(1)[0]
	assert.Nil(t, told.Request)
	assert.Empty(t, told.User+told.Capability)
	assert.True(t, told.Token.IsZero())
}
