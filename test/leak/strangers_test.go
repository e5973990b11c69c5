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

package leak_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// strangers knock at a gateway. Every byte that it answers is recorded.
type strangers struct {
	*side
	t     *testing.T
	tries int
}

// perAddress is how many tries come from one address; the gateway allows ten at once.
const perAddress = 8

// newKey returns a key, a certificate by which it introduces itself, and a CSR.
func (x *strangers) newKey() (certificate tls.Certificate, csr []byte) {
	key, err := pki.NewKey()
	require.NoError(x.t, err)
	self, err := pki.SelfSigned(key, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	require.NoError(x.t, err)
	csr, err = pki.NewCSR(key)
	require.NoError(x.t, err)
	return key.TLS(self.Raw), csr
}

// send sends a request with a certificate, each from an address that has not tried too
// often, and records the answer.
func (x *strangers) send(what string, certificate tls.Certificate, method, path string, header http.Header, body []byte) int {
	x.t.Helper()
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+x.tries/perAddress))}
	x.tries++
	transport := &http.Transport{
		DialContext:     (&net.Dialer{LocalAddr: from}).DialContext,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{certificate}},
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(x.t.Context(), requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, x.endpoint+path, bytes.NewReader(body))
	require.NoError(x.t, err)
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{"Content-Type": {protocol.ContentType}}
	}
	resp, err := transport.RoundTrip(req)
	require.NoError(x.t, err, what)
	defer resp.Body.Close()
	var head bytes.Buffer
	fmt.Fprintln(&head, resp.Status)
	require.NoError(x.t, resp.Header.Write(&head))
	content, err := io.ReadAll(resp.Body)
	require.NoError(x.t, err, what)
	x.recorder.Add("header: gateway: "+what, head.Bytes())
	x.recorder.Add("answer: gateway: "+what, content)
	return resp.StatusCode
}

// request is a request to join by a connection string, that lacks nothing.
func (x *strangers) request(said *connstring.ConnectionString, csr []byte) protocol.JoinRequest {
	return protocol.JoinRequest{
		Protocol: 1, TokenID: said.TokenID, Token: said.Token.Reveal(), CSR: csr,
		Self: protocol.Self{ClusterUUID: uuid.NewString(), Time: time.Now().Unix()},
	}
}

// present presents a connection string as it is, which has to be refused.
func (x *strangers) present(text, what string) {
	x.t.Helper()
	said, err := connstring.Parse(text)
	require.NoError(x.t, err)
	certificate, csr := x.newKey()
	body, err := json.Marshal(x.request(said, csr))
	require.NoError(x.t, err)
	assert.Equal(x.t, http.StatusForbidden, x.send(what, certificate, http.MethodPost, protocol.PathJoin, nil, body), what)
}

// try does with a connection string that is open whatever does not use it up.
func (x *strangers) try(text string) {
	x.t.Helper()
	said, err := connstring.Parse(text)
	require.NoError(x.t, err)
	certificate, csr := x.newKey()
	other, otherCSR := x.newKey()
	join := func(what string, with tls.Certificate, change func(*protocol.JoinRequest)) {
		x.t.Helper()
		request := x.request(said, csr)
		change(&request)
		body, err := json.Marshal(request)
		require.NoError(x.t, err)
		code := x.send(what, with, http.MethodPost, protocol.PathJoin, nil, body)
		assert.GreaterOrEqual(x.t, code, 400, what)
		assert.NotEqual(x.t, http.StatusTooManyRequests, code, what)
	}
	join("a token that is wrong in a bit", certificate, func(r *protocol.JoinRequest) { r.Token[31] ^= 1 })
	join("a token that is too short", certificate, func(r *protocol.JoinRequest) { r.Token = r.Token[:31] })
	join("another token ID", certificate, func(r *protocol.JoinRequest) { r.TokenID = strings.Repeat("0", len(r.TokenID)) })
	join("the token for an ID", certificate, func(r *protocol.JoinRequest) { r.TokenID = base64.RawURLEncoding.EncodeToString(r.Token) })
	join("another version", certificate, func(r *protocol.JoinRequest) { r.Protocol = 99 })
	join("the CSR of another key", certificate, func(r *protocol.JoinRequest) { r.CSR = otherCSR })
	join("a certificate of another key", other, func(*protocol.JoinRequest) {})
	join("the token for a CSR", certificate, func(r *protocol.JoinRequest) { r.CSR = r.Token })
	join("the string for a UUID", certificate, func(r *protocol.JoinRequest) { r.ClusterUUID = text })
	join("the string for an endpoint", certificate, func(r *protocol.JoinRequest) { r.Endpoints = []string{"https://" + text} })
	join("the string for a digest", certificate, func(r *protocol.JoinRequest) { r.TrustDigest = text })
	join("the token for a CA", certificate, func(r *protocol.JoinRequest) { r.Trust = [][]byte{r.Token} })

	wrong := x.request(said, csr)
	wrong.Token[0] ^= 1 // or else what is around it might not matter
	whole, err := json.Marshal(wrong)
	require.NoError(x.t, err)
	quoted := jsonOf(text)
	for what, body := range map[string]string{
		"the string alone": text, "the string in quotes": quoted, "cut off": string(whole[:len(whole)-3]), "something behind it": string(whole) + text,
		"the string for a name": "{" + quoted + ":1," + string(whole[1:]), "the string for a number": `{"protocol":` + quoted + "}", "a list": "[" + quoted + "]",
		"twice": string(whole[:len(whole)-1]) + `,"token":` + quoted + "}",
	} {
		assert.GreaterOrEqual(x.t, x.send(what, certificate, http.MethodPost, protocol.PathJoin, nil, []byte(body)), 400, what)
	}
	for _, path := range []string{protocol.PathSync, protocol.PathRenew, protocol.PathLeave, "/", "/peering/v1/" + text, "/peering/v1/join/" + text, "/metrics", "/healthz"} {
		assert.GreaterOrEqual(x.t, x.send("no peer at "+path, certificate, http.MethodPost, path, nil, whole), 400, path)
	}
	for what, header := range map[string]http.Header{
		"the string for a type":       {"Content-Type": {text}},
		"the string for an encoding":  {"Content-Type": {protocol.ContentType}, "Content-Encoding": {text}},
		"the string for a credential": {"Authorization": {"Bearer " + text}},
		"the string for a cookie":     {"Cookie": {"token=" + text}},
	} {
		assert.GreaterOrEqual(x.t, x.send(what, certificate, http.MethodPost, protocol.PathJoin, header, []byte("{}")), 400, what)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions, http.MethodTrace} {
		assert.GreaterOrEqual(x.t, x.send("by "+method, certificate, method, protocol.PathJoin+"?token="+text, nil, whole), 400, method)
	}
}
