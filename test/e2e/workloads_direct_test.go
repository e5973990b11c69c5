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

package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"entente.dev/entente/test/kube"
)

// accessNamespace holds the certificates for those who dial a peer themselves.
const accessNamespace = "entente-access"

// dataCertificate is the certificate that modules of s dial its peer with (G8).
func (s *side) dataCertificate(t *testing.T, peer string) tls.Certificate {
	t.Helper()
	var pair tls.Certificate
	eventuallyWithin(t, later, "there is a certificate to dial "+peer+" with", func(ctx context.Context) error {
		secret, err := s.Clientset(t, kube.Admin).CoreV1().Secrets(accessNamespace).Get(ctx, peer+"-access", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pair, err = tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
		return err
	})
	return pair
}

// dialler is somebody who dials the gateway of east with these certificates.
func (w *working) dialler(t *testing.T, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: w.tls(t, certificates...)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (w *working) tls(t *testing.T, certificates ...tls.Certificate) *tls.Config {
	t.Helper()
	authorities, err := cert.ParseCertsPEM([]byte(w.west.peer(t, "east").Status.Access.CABundle))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	for _, authority := range authorities {
		roots.AddCert(authority)
	}
	return &tls.Config{RootCAs: roots, Certificates: certificates}
}

// ask sends a request to the gateway of east, under capability configs.
func (w *working) ask(t *testing.T, client *http.Client, method, path, body string, header http.Header) (code int, answer string, answered http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, w.gatewayURL(t, remote, path).String(), strings.NewReader(body))
	require.NoError(t, err)
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(content), response.Header
}

// token gets a token of a ServiceAccount of the module.
func (w *working) token(t *testing.T, name string, audiences ...string) string {
	t.Helper()
	token, err := w.west.ServiceAccountToken(t.Context(), module, name, 10*time.Minute, audiences...)
	require.NoError(t, err)
	return token
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

const settingsOfB1 = "/api/v1/namespaces/b1/configmaps/settings"

// G7: who has a token and the certificate needs no near end; a watch may be a WebSocket.
func (w *working) direct(t *testing.T) {
	certificate := w.west.dataCertificate(t, "east")
	client, header := w.dialler(t, certificate), bearer(w.token(t, "agent", w.audience(t)))
	code, answer, answered := w.ask(t, client, http.MethodGet, settingsOfB1, "", header)
	require.Equal(t, http.StatusOK, code, answer)
	assert.Contains(t, answer, `"where":"b1"`)
	assert.NotEmpty(t, answered.Get("Audit-Id"))
	assert.Empty(t, answered.Values("Set-Cookie"))
	for _, path := range []string{"/api/v1/namespaces/a1/configmaps/settings", "/api/v1/namespaces/b1/secrets/settings", "/metrics"} {
		code, answer, _ := w.ask(t, client, http.MethodGet, path, "", header)
		assert.Equal(t, http.StatusForbidden, code, path)
		assert.Equal(t, metav1.StatusReasonForbidden, status(t, []byte(answer)).Reason)
	}

	for _, near := range []bool{false, true} {
		t.Run(fmt.Sprintf("WebSocket, near end %v", near), func(t *testing.T) {
			conn := w.webSocket(t, near, certificate)
			w.east.MustKubectl(t, kube.Admin, "", "create", "configmap", "-n", "b1", "frame")
			var event struct {
				Type   string
				Object struct{ Metadata metav1.ObjectMeta }
			}
			eventually(t, "a frame comes", func(context.Context) error {
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
				require.NoError(t, websocket.JSON.Receive(conn, &event))
				if event.Object.Metadata.Name != "frame" {
					return fmt.Errorf("it is about %s", event.Object.Metadata.Name)
				}
				return nil
			})
			assert.Equal(t, "ADDED", event.Type)
			w.east.MustKubectl(t, kube.Admin, "", "delete", "configmap", "-n", "b1", "frame")
		})
	}
}

// webSocket opens a watch of ConfigMaps as a WebSocket: at the near end, or at the gateway.
func (w *working) webSocket(t *testing.T, near bool, certificate tls.Certificate) *websocket.Conn {
	t.Helper()
	target := w.gatewayURL(t, remote, "/api/v1/namespaces/b1/configmaps")
	tlsConfig, token := w.tls(t, certificate), w.token(t, "agent", w.audience(t))
	if near {
		token = w.token(t, "agent")
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(w.west.CA())
		tlsConfig = &tls.Config{RootCAs: roots}
		target.Host, target.Path = strings.TrimPrefix(w.west.URL(), "https://"), path(remote)+"/api/v1/namespaces/b1/configmaps"
	}
	tlsConfig.NextProtos = []string{"http/1.1"}
	target.Scheme, target.RawQuery = "wss", "watch=1"
	config, err := websocket.NewConfig(target.String(), "https://localhost")
	require.NoError(t, err)
	config.TlsConfig, config.Header = tlsConfig, bearer(token)
	conn, err := config.DialContext(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// forged is a token that says all that a right one says, signed by somebody else.
func (w *working) forged(t *testing.T, key jose.SigningKey) string {
	t.Helper()
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{}).WithType("JWT"))
	require.NoError(t, err)
	text, err := jwt.Signed(signer).Claims(w.claims(t)).Serialize()
	require.NoError(t, err)
	return text
}

func (w *working) claims(t *testing.T) jwt.Claims {
	t.Helper()
	now := time.Now()
	return jwt.Claims{
		Issuer: "https://kubernetes.default.svc.cluster.local", Subject: "system:serviceaccount:" + module + ":agent",
		Audience: jwt.Audience{w.audience(t)}, IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(10 * time.Minute)),
	}
}

// G6, G7: no token but the right one does. That the issuers of both clusters have the same
// URL does not matter (kubeadm's default).
func (w *working) tokens(t *testing.T) {
	client := w.dialler(t, w.west.dataCertificate(t, "east"))
	theirs, err := w.east.ServiceAccountToken(t.Context(), "b1", "default", 10*time.Minute, w.audience(t))
	require.NoError(t, err)
	longer, err := w.west.ServiceAccountToken(t.Context(), module, "agent", 2*time.Hour, w.audience(t))
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	unsigned := strings.Split(w.forged(t, jose.SigningKey{Algorithm: jose.RS256, Key: rsaKey}), ".")
	right := w.token(t, "agent", w.audience(t))
	for name, header := range map[string]http.Header{
		"none":               {},
		"of another cluster": bearer(theirs),
		"for kube-apiserver": bearer(w.token(t, "agent")),
		"another capability": bearer(w.token(t, "agent", w.audience(t)+"x")),
		"another cluster":    bearer(w.token(t, "agent", "peering.entente.dev:"+w.west.uid(t)+":"+remote)),
		"two audiences":      bearer(w.token(t, "agent", w.audience(t), "another")),
		"valid too long":     bearer(longer),
		"forged, RS256":      bearer(w.forged(t, jose.SigningKey{Algorithm: jose.RS256, Key: rsaKey})),
		"forged, ES256":      bearer(w.forged(t, jose.SigningKey{Algorithm: jose.ES256, Key: ecKey})),
		"forged, HS256":      bearer(w.forged(t, jose.SigningKey{Algorithm: jose.HS256, Key: []byte(w.west.jwks(t))})),
		"not signed":         bearer("eyJhbGciOiJub25lIn0." + unsigned[1] + "."),
		"no token":           bearer("token"),
		"basic":              {"Authorization": {"Basic YWRtaW46YWRtaW4="}},
		"twice":              {"Authorization": {"Bearer " + right, "Bearer " + right}},
		"in two spellings":   {"Authorization": {"Bearer " + right}, "authorization": {"Bearer " + theirs}},
		"as a protocol":      {"Sec-Websocket-Protocol": {"base64url.bearer.authorization.k8s.io." + right}},
		"as a cookie":        {"Cookie": {"token=" + right}},
	} {
		code, answer, answered := w.ask(t, client, http.MethodGet, settingsOfB1, "", header)
		assert.Equal(t, http.StatusUnauthorized, code, "%s: %s", name, answer)
		assert.NotContains(t, answer, "where", name)
		assert.Empty(t, answered.Values("Set-Cookie"))
	}
	// A right one of somebody who is no consumer.
	code, answer, _ := w.ask(t, client, http.MethodGet, settingsOfB1, "", bearer(w.token(t, "other", w.audience(t))))
	assert.Equal(t, http.StatusForbidden, code, answer)
	code, _, _ = w.ask(t, client, http.MethodGet, settingsOfB1, "", bearer(right))
	assert.Equal(t, http.StatusOK, code)
}

// P2: the certificate is one for data, of the peer whose token it is.
func (w *working) certificates(t *testing.T) {
	header := bearer(w.token(t, "agent", w.audience(t)))
	// None at all: the handshake, or the first request after it, fails.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.gatewayURL(t, remote, settingsOfB1).String(), http.NoBody)
	require.NoError(t, err)
	request.Header = header
	response, err := w.dialler(t).Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	require.Error(t, err)

	// One of somebody who is no peer.
	pem, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	require.NoError(t, err)
	stranger, err := tls.X509KeyPair(pem, key)
	require.NoError(t, err)
	code, answer, _ := w.ask(t, w.dialler(t, stranger), http.MethodGet, settingsOfB1, "", header)
	assert.Equal(t, http.StatusForbidden, code, answer)

	// That of east for west, at east: it names another cluster, and another authority.
	code, answer, _ = w.ask(t, w.dialler(t, w.east.dataCertificate(t, "west")), http.MethodGet, settingsOfB1, "", header)
	assert.Equal(t, http.StatusForbidden, code, answer)

	// A data certificate does not keep the peering: no sync, no renewal, no leave.
	client := w.dialler(t, w.west.dataCertificate(t, "east"))
	for _, each := range []string{"sync", "renew", "leave", "join"} {
		target := w.gatewayURL(t, remote, "")
		target.Path = "/peering/v1/" + each
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.String(), strings.NewReader("{}"))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		assert.NotEqual(t, http.StatusOK, response.StatusCode, each)
	}
	w.west.says(t, "east", "Active")
}

// G7: nothing that a request says of who it is passes, in whatever way.
func (w *working) headers(t *testing.T) {
	client := w.dialler(t, w.west.dataCertificate(t, "east"))
	right := w.token(t, "agent", w.audience(t))
	with := func(header http.Header) http.Header {
		header.Set("Authorization", "Bearer "+right)
		return header
	}
	for name, header := range map[string]http.Header{
		"Impersonate-User":         {"Impersonate-User": {"kubernetes-admin"}, "Impersonate-Group": {"system:masters"}},
		"mixed case":               {"iMpErSoNaTe-uSeR": {"kubernetes-admin"}, "IMPERSONATE-GROUP": {"system:masters"}},
		"Impersonate-Extra, -Uid":  {"Impersonate-Extra-Scopes": {"x"}, "Impersonate-Uid": {"x"}},
		"X-Remote-*":               {"X-Remote-User": {"kubernetes-admin"}, "X-Remote-Group": {"system:masters"}, "X-Remote-Extra-A": {"b"}},
		"connection drops":         {"Connection": {"Authorization, Impersonate-User"}, "Impersonate-User": {"kubernetes-admin"}},
		"forwarded":                {"X-Forwarded-For": {"127.0.0.1"}, "Forwarded": {"for=127.0.0.1"}, "X-Forwarded-Host": {"evil.example.com"}},
		"cookies and proxies":      {"Cookie": {"a=b"}, "Proxy-Authorization": {"Basic eDp4"}},
		"method that is overruled": {"X-Http-Method-Override": {"DELETE"}},
	} {
		// What is not granted stays out of reach, and what is granted is done as the consumer:
		// asWhom looks at what the host has heard.
		code, answer, _ := w.ask(t, client, http.MethodGet, "/api/v1/namespaces/b1/secrets/settings", "", with(header.Clone()))
		assert.Equal(t, http.StatusForbidden, code, "%s: %s", name, answer)
		code, answer, _ = w.ask(t, client, http.MethodGet, settingsOfB1, "", with(header.Clone()))
		assert.Equal(t, http.StatusOK, code, "%s: %s", name, answer)
	}

	// In trailers.
	target := w.gatewayURL(t, remote, "/api/v1/namespaces/b1/configmaps")
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "trailed"}})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.String(), io.NopCloser(bytes.NewReader(body)))
	require.NoError(t, err)
	request.Header = with(http.Header{"Content-Type": {"application/json"}})
	request.Trailer = http.Header{"Impersonate-User": {"kubernetes-admin"}, "Impersonate-Group": {"system:masters"}}
	response, err := client.Do(request)
	require.NoError(t, err)
	_ = response.Body.Close()
	assert.Equal(t, http.StatusCreated, response.StatusCode)
	assert.Equal(t, http.StatusOK, func() int {
		code, _, _ := w.ask(t, client, http.MethodDelete, "/api/v1/namespaces/b1/configmaps/trailed", "", with(http.Header{}))
		return code
	}())

	// At the near end, too: kube-apiserver and Entente both take out what there is.
	near := w.west.Kubectl(t, w.agent, "", "--server="+w.west.URL()+path(remote), "--as=kubernetes-admin", "get", "configmap", "-n", "b1", "settings")
	assert.NotZero(t, near.Code, near.Output())
}
