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
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// G7: what says who somebody is does not pass, nor does anything else that is not known.
func TestG7HeadersOfARequest(t *testing.T) {
	long := strings.Repeat("x", maxValue+1)
	given := http.Header{}
	for _, name := range []string{
		"Authorization", "Proxy-Authorization", "Cookie", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-A", "X-Remote-User",
		"X-Remote-Group", "X-Remote-Uid", "X-Remote-Extra-A", "X-Forwarded-For", "Forwarded", "Connection", "Upgrade", "Te", "Trailer", "Transfer-Encoding",
		"Content-Length", "Host", "Origin", "Referer", "Audit-Id", "Sec-Websocket-Protocol", "Sec-Websocket-Key", "X-Http-Method-Override", "Expect", "Range", "Content-Encoding",
	} {
		given.Set(name, "x")
	}
	assert.Equal(t, http.Header{"User-Agent": {"entente"}}, Request(given, false))
	given = http.Header{
		"Accept": {"application/json", "*/*"}, "Content-Type": {"application/json"}, "User-Agent": {"module/1"}, "If-Match": {"a"}, "If-None-Match": {"b"}, "Accept-Encoding": {"gzip"},
		// As it is not written by the library: it does not pass.
		"accept": {"x"}, "impersonate-user": {"x"},
	}
	want := given.Clone()
	delete(want, "accept")
	delete(want, "impersonate-user")
	out := Request(given, false)
	assert.Equal(t, want, out)
	out["Accept"][0] = "changed"
	assert.Equal(t, "application/json", given["Accept"][0], "it is a copy")
	for _, odd := range [][]string{{long}, {"a\r\nImpersonate-User: x"}, {"a\x00"}, make([]string, maxValues+1)} {
		assert.Equal(t, http.Header{"User-Agent": {"entente"}}, Request(http.Header{"Accept": odd}, false))
	}
}

// G7: of a WebSocket's protocols those do not pass that are a token, however they are written.
func TestG7ProtocolsOfAWebSocket(t *testing.T) {
	for _, test := range []struct{ given, want []string }{
		{[]string{"base64url.bearer.authorization.k8s.io.eA, v5.channel.k8s.io"}, []string{"v5.channel.k8s.io"}},
		{[]string{"v5.channel.k8s.io,BASE64URL.Bearer.authorization.k8s.io.eA ,x"}, []string{"v5.channel.k8s.io", "x"}},
		{[]string{"a", "\tbase64url.bearer.authorization.k8s.io.eA", "b"}, []string{"a", "b"}},
		{[]string{"base64url.bearer.authorization.k8s.io."}, nil},
		{[]string{",, ,"}, nil},
		{[]string{strings.Repeat("x", maxValue+1) + ",a"}, []string{"a"}},
		{nil, nil},
	} {
		out := Request(http.Header{"Sec-Websocket-Protocol": test.given, "Sec-Websocket-Key": {"k"}, "Cookie": {"x"}, "Connection": {"Upgrade, Authorization"}}, true)
		assert.Equal(t, test.want, out["Sec-Websocket-Protocol"])
		assert.Equal(t, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"k"}, "User-Agent": {"entente"}, "Origin": {origin}}, without(out, "Sec-Websocket-Protocol"))
	}
	assert.Len(t, Request(http.Header{"Sec-Websocket-Protocol": {strings.Repeat("a,", 100)}}, true)["Sec-Websocket-Protocol"], maxValues)
}

func without(header http.Header, name string) http.Header {
	out := header.Clone()
	out.Del(name)
	return out
}

// G7: a WebSocket is all that a connection can become.
func TestG7WantsUpgrade(t *testing.T) {
	for name, test := range map[string]struct {
		method     string
		major      int
		connection []string
		upgrade    []string
		want, fail bool
	}{
		"none":               {http.MethodGet, 1, nil, nil, false, false},
		"keep alive":         {http.MethodGet, 1, []string{"keep-alive"}, nil, false, false},
		"websocket":          {http.MethodGet, 1, []string{"Upgrade"}, []string{"websocket"}, true, false},
		"in any case":        {http.MethodGet, 1, []string{"keep-alive, UPGRADE"}, []string{"WebSocket"}, true, false},
		"in two headers":     {http.MethodGet, 1, []string{"keep-alive", "upgrade"}, []string{"websocket"}, true, false},
		"HTTP/2":             {http.MethodGet, 2, []string{"Upgrade"}, []string{"websocket"}, false, true},
		"POST":               {http.MethodPost, 1, []string{"Upgrade"}, []string{"websocket"}, false, true},
		"SPDY":               {http.MethodGet, 1, []string{"Upgrade"}, []string{"SPDY/3.1"}, false, true},
		"a list":             {http.MethodGet, 1, []string{"Upgrade"}, []string{"websocket, h2c"}, false, true},
		"twice":              {http.MethodGet, 1, []string{"Upgrade"}, []string{"websocket", "h2c"}, false, true},
		"to nothing":         {http.MethodGet, 1, []string{"Upgrade"}, nil, false, true},
		"without connection": {http.MethodGet, 1, nil, []string{"websocket"}, false, true},
		"space":              {http.MethodGet, 1, []string{"Upgrade"}, []string{"websocket "}, false, true},
	} {
		wants, err := WantsUpgrade(&http.Request{Method: test.method, ProtoMajor: test.major, Header: http.Header{"Connection": test.connection, "Upgrade": test.upgrade}})
		assert.Equal(t, test.want, wants, name)
		if test.fail {
			require.ErrorIs(t, err, ErrUpgrade, name)
		} else {
			require.NoError(t, err, name)
		}
	}
}
