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
	"errors"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// ErrUpgrade means that a request wants to become something else than a WebSocket.
var ErrUpgrade = errors.New("a connection can be upgraded to websocket by GET over HTTP/1.1 only")

// bearerProtocol is how Kubernetes has clients send a token that can set no header.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// origin is what a WebSocket is said to come from. API servers ask for one, which has to be
// a URL; it says nothing of who asks, who is no browser.
const origin = "https://workload.invalid"

const (
	// maxValue is how long the value of a header may be, and maxValues how often it may
	// be given.
	maxValue  = 1 << 10
	maxValues = 16
)

// requestHeaders pass; http.Header has them in this form.
func requestHeaders() []string {
	return []string{"Accept", "Accept-Encoding", "Content-Type", "If-Match", "If-None-Match", "User-Agent"}
}

// upgradeHeaders pass with a request that is to become a WebSocket, besides.
func upgradeHeaders() []string {
	return []string{"Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Version"}
}

// WantsUpgrade tells whether a request is to become a WebSocket. It fails with ErrUpgrade
// if it is to become something else, or cannot.
func WantsUpgrade(r *http.Request) (bool, error) {
	wants := httpguts.HeaderValuesContainsToken(r.Header.Values("Connection"), "upgrade")
	protocols := r.Header.Values("Upgrade")
	switch {
	case !wants && len(protocols) == 0:
		return false, nil
	case wants && len(protocols) == 1 && strings.EqualFold(protocols[0], "websocket") && r.Method == http.MethodGet && r.ProtoMajor == 1:
		return true, nil
	}
	return false, ErrUpgrade
}

// Request returns those headers of a request that pass, with upgrade those of one that is
// to become a WebSocket.
func Request(header http.Header, upgrade bool) http.Header {
	out := http.Header{}
	pass(header, out, requestHeaders())
	if out.Get("User-Agent") == "" {
		// Or the library would give one of its own.
		out.Set("User-Agent", "entente")
	}
	if !upgrade {
		return out
	}
	pass(header, out, upgradeHeaders())
	out.Set("Connection", "Upgrade")
	out.Set("Upgrade", "websocket")
	out.Set("Origin", origin)
	for _, protocol := range subprotocols(header) {
		if !strings.HasPrefix(strings.ToLower(protocol), bearerProtocol) {
			out.Add("Sec-Websocket-Protocol", protocol)
		}
	}
	return out
}

// subprotocols are those of a WebSocket that a header offers.
func subprotocols(header http.Header) []string {
	var all []string
	for _, value := range header.Values("Sec-Websocket-Protocol") {
		for each := range strings.SplitSeq(value, ",") {
			if each = strings.TrimSpace(each); each != "" && len(each) <= maxValue && httpguts.ValidHeaderFieldValue(each) {
				all = append(all, each)
			}
		}
	}
	return all[:min(len(all), maxValues)]
}

// pass copies the named headers. One with a value that is odd does not pass at all.
func pass(from, to http.Header, names []string) {
	for _, name := range names {
		values := from.Values(name)
		odd := func(value string) bool { return len(value) > maxValue || !httpguts.ValidHeaderFieldValue(value) }
		if len(values) > 0 && len(values) <= maxValues && !slices.ContainsFunc(values, odd) {
			to[name] = slices.Clone(values)
		}
	}
}
