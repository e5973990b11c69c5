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

package servingcert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// The library's server serves what the Manager has, from the provisional
// certificate to those of the next authority, and connections stay.
func TestHotReload(t *testing.T) {
	h := newHost()
	secret := h.secret
	h.secret = nil
	m := h.replica(t, h.options(), nil)

	options := genericoptions.NewSecureServingOptions()
	options.ServerCert.GeneratedCert = m
	var err error
	options.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var info *genericapiserver.SecureServingInfo
	require.NoError(t, options.ApplyTo(&info))
	mux := http.NewServeMux()
	healthz.InstallReadyzHandler(mux, m)
	stop := make(chan struct{})
	stopped, listenerStopped, err := info.Serve(mux, time.Minute, stop)
	require.NoError(t, err)
	defer func() {
		close(stop)
		<-stopped
		<-listenerStopped
	}()
	address := options.Listener.Addr().String()

	// handshake is what kube-aggregator does.
	handshake := func() (*x509.Certificate, error) {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(h.apiService(peeringAPI).CABundle)
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: serverName, Time: h.clock.Now}}
		connection, err := dialer.DialContext(t.Context(), "tcp", address)
		if err != nil {
			return nil, err
		}
		defer connection.Close()
		return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
	// probe is what a kubelet does, over one connection.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // as kubelets do
	defer transport.CloseIdleConnections()
	connections := 0
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connections++
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	probe := func() (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/readyz?verbose", nil)
		require.NoError(t, err)
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	eventually := func(condition func() bool) {
		t.Helper()
		require.Eventually(t, condition, time.Minute, time.Millisecond)
	}

	// Not ready, and served all the same.
	_, err = handshake()
	require.ErrorAs(t, err, new(*tls.CertificateVerificationError))
	code, body := probe()
	assert.Equal(t, http.StatusInternalServerError, code)
	assert.Contains(t, body, "[-]serving-certificate failed")

	h.lock.Lock()
	h.secret = secret
	h.lock.Unlock()
	step := func(by time.Duration) {
		t.Helper()
		eventually(h.clock.HasWaiters)
		h.clock.Step(by)
	}
	eventually(func() bool {
		step(time.Second)
		return m.Check(nil) == nil
	})
	code, _ = probe()
	assert.Equal(t, http.StatusOK, code)

	var first *x509.Certificate
	eventually(func() bool {
		first, err = handshake()
		return err == nil
	})
	served := map[string]bool{}
	for h.clock.Now().Before(start().Add(222 * 24 * time.Hour)) {
		step(8 * time.Hour)
		// What was made is served soon; nothing that comes before that is refused.
		eventually(func() bool {
			leaf, err := handshake()
			require.NoError(t, err)
			served[string(leaf.Raw)] = true
			return leaf.Equal(m.inUse.Load().leaf)
		})
	}
	assert.InDelta(t, 12, len(served), 2)
	assert.Error(t, m.inUse.Load().leaf.CheckSignatureFrom(h.bundle(t, peeringAPI)[1]))
	assert.NoError(t, first.CheckSignatureFrom(h.bundle(t, peeringAPI)[1]), "the former authority")
	_, _ = probe()
	assert.Equal(t, 1, connections)
	h.always(t)
}
