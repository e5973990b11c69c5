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

package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// P11: so many requests of one source may be under way, on all its connections; one more is
// broken off. When one is over there is room again.
func TestP11RequestsPerSource(t *testing.T) {
	entered := make(chan struct{}, 8)
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	})
	few := generous()
	few.RequestsPerSource = 3
	f, j := paired(t, limits(few), mounting("/peering/v1/api/", record.RoleData, handler))
	key, csr := newCSR(t)
	data := f.renewed(f.dial(&j.certificate, true), pki.RoleData, key, csr)
	ends := make([]context.CancelFunc, few.RequestsPerSource)
	for i := range ends {
		var ctx context.Context
		ctx, ends[i] = context.WithCancel(t.Context())
		t.Cleanup(ends[i])
		go f.dial(data.certificate, i%2 == 0).send(ctx, http.MethodGet, "/peering/v1/api/x", nil, http.Header{})
		<-entered
	}
	for _, two := range []bool{true, false} {
		require.Error(t, f.dial(&j.certificate, two).post(protocol.PathSync, struct{}{}).err)
		require.Error(t, f.newJoinerLine(t).post(protocol.PathJoin, struct{}{}).err, "be it whoever")
	}
	ends[0]()
	require.Eventually(t, func() bool {
		return f.dial(&j.certificate, true).post("/peering/v1/none", struct{}{}).code == http.StatusNotFound
	}, soon, tick)
}

// P11: a refusal that nobody takes does not wait for long, and the next answer on the same
// connection has its own time.
func TestP11RefusalsAreNotWaitedFor(t *testing.T) {
	f, j := paired(t, limits(generous()))
	certificate := j.certificate
	began := time.Now()

	plain := f.dial(&certificate, false)
	plain.post("/peering/v1/none", struct{}{}).is(t, http.StatusNotFound, protocol.FailureInvalid)

	// Whose gateway it is does not matter to who takes no answer.
	connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{certificate}}}).DialContext(t.Context(), "tcp", f.address)
	require.NoError(t, err)
	defer connection.Close()
	_, err = io.WriteString(connection, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(connection, connection)
	// Of what is in a body nothing is to be sent.
	require.NoError(t, framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/peering/v1/none"}} {
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	const streams = 10
	counted := func() (n int) {
		f.gateway.crowd.mu.Lock()
		defer f.gateway.crowd.mu.Unlock()
		for _, each := range f.gateway.crowd.sources {
			n += each
		}
		return n
	}
	for i := range streams {
		require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: header.Bytes(), EndHeaders: true, EndStream: true}))
	}
	require.Eventually(t, func() bool { return counted() == streams }, soon, tick, "those that wait are counted")
	require.NoError(t, connection.SetReadDeadline(time.Now().Add(soon)))
	reset := 0
	for reset < streams {
		frame, err := framer.ReadFrame()
		require.NoError(t, err)
		if _, is := frame.(*http2.RSTStreamFrame); is {
			reset++
		}
	}
	assert.GreaterOrEqual(t, time.Since(began), refusalTimeout)
	assert.Less(t, time.Since(began), generous().withDefaults().Write)

	// By now the time of the first answer is over.
	plain.post("/peering/v1/none", struct{}{}).is(t, http.StatusNotFound, protocol.FailureInvalid)
}
