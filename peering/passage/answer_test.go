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

package passage

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func answering(code int, header http.Header) *http.Response {
	return &http.Response{StatusCode: code, Status: "code as they say", Header: header, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: -1, Trailer: http.Header{"Set-Cookie": {"x"}}}
}

// G7: an answer is one of an API, or none.
func TestG7WhatIsAnAnswer(t *testing.T) {
	typed := func(mediaType ...string) http.Header { return http.Header{"Content-Type": mediaType} }
	for _, test := range []struct {
		code    int
		header  http.Header
		upgrade bool
		want    bool
	}{
		{200, typed("application/json"), false, true},
		{200, typed("Application/JSON; charset=utf-8"), false, true},
		{200, typed("application/json;as=Table;v=v1;g=meta.k8s.io"), false, true},
		{200, typed("application/vnd.kubernetes.protobuf;stream=watch"), false, true},
		{200, typed("application/com.github.proto-openapi.spec.v2@v1.0+protobuf"), false, true},
		{200, typed("text/plain; version=0.0.4"), false, true},
		{404, typed("application/json"), false, true},
		{500, typed("text/plain"), false, true},
		{304, nil, false, true},
		{204, nil, false, true},
		{200, typed("application/json"), true, true}, // it need not switch
		{200, nil, false, false},
		{200, typed(""), false, false},
		{200, typed("application"), false, false},
		{200, typed("application/json", "application/json"), false, false},
		{200, typed("application/json, text/html"), false, false},
		{200, typed("text/html"), false, false},
		{200, typed("text/html;application/json"), false, false},
		{200, typed("image/svg+xml"), false, false},
		{200, typed("application/javascript"), false, false},
		{200, typed("multipart/mixed"), false, false},
		{304, typed("text/html"), false, false},
		{204, typed("text/html"), false, false},
		{300, typed("application/json"), false, false},
		{301, typed("application/json"), false, false},
		{307, typed("application/json"), true, false},
		{399, typed("application/json"), false, false},
		{100, typed("application/json"), false, false},
		{103, typed("application/json"), false, false},
		{0, typed("application/json"), false, false},
		{101, http.Header{"Upgrade": {"websocket"}}, true, true},
		{101, http.Header{"Upgrade": {"WebSocket"}}, true, true},
		{101, http.Header{"Upgrade": {"websocket"}}, false, false},
		{101, http.Header{"Upgrade": {"SPDY/3.1"}}, true, false},
		{101, http.Header{"Upgrade": {"websocket", "h2c"}}, true, false},
		{101, nil, true, false},
	} {
		err := Answer(answering(test.code, test.header), test.upgrade)
		assert.Equal(t, test.want, err == nil, fmt.Sprint(test))
		if err != nil {
			require.ErrorIs(t, err, ErrAnswer)
		}
	}
	empty := answering(200, nil)
	empty.ContentLength = 0
	require.NoError(t, Answer(empty, false), "nothing has no type")
}

// G7: of an answer what is harmless passes; what it says of itself beside its code does not.
func TestG7HeadersOfAnAnswer(t *testing.T) {
	given := http.Header{"Content-Type": {"application/json"}, "Audit-Id": {"a"}, "Warning": {`299 - "a"`, `299 - "b"`}, "Retry-After": {"1"}}
	want := given.Clone()
	want.Set("X-Content-Type-Options", "nosniff")
	for _, name := range []string{"Set-Cookie", "Location", "Www-Authenticate", "Refresh", "Link", "Server", "Alt-Svc", "Connection", "Upgrade", "Trailer", "Strict-Transport-Security", "Access-Control-Allow-Origin", "Sec-Websocket-Accept"} {
		given.Set(name, "x")
	}
	response := answering(200, given)
	require.NoError(t, Answer(response, false))
	assert.Equal(t, want, response.Header)
	assert.Equal(t, "200 OK", response.Status)
	assert.Nil(t, response.Trailer)

	response = answering(101, http.Header{"Upgrade": {"websocket"}, "Connection": {"upgrade"}, "Sec-Websocket-Accept": {"a"}, "Sec-Websocket-Protocol": {"p"}, "Set-Cookie": {"x"}, "Content-Type": {"text/html"}})
	body := response.Body
	require.NoError(t, Answer(response, true))
	assert.Equal(t, http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Accept": {"a"}, "Sec-Websocket-Protocol": {"p"}}, response.Header)
	assert.Equal(t, "101 Switching Protocols", response.Status)
	assert.Equal(t, body, response.Body, "it is the connection, to which is written as well")
}

// G7: trailers do not pass, whether they were announced, and whether the end was read or
// the body is closed before.
func TestG7Trailers(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Trailer", "X-Announced")
		_, _ = io.WriteString(w, "{}")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Announced", "x")
		w.Header().Set(http.TrailerPrefix+"Set-Cookie", "x")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, two := range []bool{true, false} {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.ForceAttemptHTTP2 = two
		if !two {
			transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
		}
		t.Cleanup(transport.CloseIdleConnections)
		for _, read := range []bool{true, false} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			require.NoError(t, err)
			response, err := transport.RoundTrip(request)
			require.NoError(t, err)
			require.Equal(t, two, response.ProtoMajor == 2)
			require.NotEmpty(t, response.Trailer)
			require.NoError(t, Answer(response, false))
			if read {
				_, err = io.ReadAll(response.Body)
				require.NoError(t, err)
				assert.Empty(t, response.Trailer)
			}
			require.NoError(t, response.Body.Close())
			assert.Empty(t, response.Trailer)
		}
	}
}
