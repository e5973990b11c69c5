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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// forged are headers by which the front proxy, and nobody else, names a user.
func forged(user string, groups ...string) http.Header {
	return http.Header{"X-Remote-User": {user}, "X-Remote-Group": groups, "X-Remote-Uid": {"1"}, "X-Remote-Extra-Scopes": {"all"}}
}

// straight is a client that speaks to Entente's own port, past kube-apiserver, with
// a certificate or none. It trusts what the APIService says.
func (s *suite) straight(t *testing.T, certificate *tls.Certificate) *http.Client {
	t.Helper()
	bundle, err := base64.StdEncoding.DecodeString(s.MustKubectl(t, kube.Admin, "", "get", "apiservice", apiService, "-o", "jsonpath={.spec.caBundle}"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(bundle))
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs:    roots,
		ServerName: install.ServiceAccount + "." + install.Namespace + ".svc",
		// Unlike a list of certificates, it is shown whatever authorities the server names.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if certificate == nil {
				return &tls.Certificate{}, nil
			}
			return certificate, nil
		},
		MinVersion: tls.VersionTLS12,
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// certificateOf is the client certificate in a kubeconfig.
func (s *suite) certificateOf(t *testing.T, user string) *tls.Certificate {
	t.Helper()
	config := s.Cluster.RESTConfig(t, user)
	require.NoError(t, rest.LoadTLSFiles(config))
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	require.NoError(t, err)
	return &certificate
}

// foreign is a client certificate with the name of the front proxy, of an authority
// that nobody here knows.
func foreign(t *testing.T) *tls.Certificate {
	t.Helper()
	issue := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		if signer == nil {
			signer = key
		}
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		template.BasicConstraintsValid = true
		der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
		require.NoError(t, err)
		return der, key
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front-proxy"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	_, signer := issue(authority, authority, nil)
	der, key := issue(&x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "front-proxy-client", Organization: []string{"system:masters"}},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority, signer)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Section 3: Entente believes headers of the front proxy only, and client
// certificates are the front proxy's only.
func (s *suite) direct(t *testing.T) {
	const name = "direct"
	collection := s.entente.URL() + "/apis/peering.entente.dev/v1alpha1/clusterpeers"
	s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
	proxy, err := tls.LoadX509KeyPair(filepath.Join(s.Dir, "pki", "front-proxy-client.crt"), filepath.Join(s.Dir, "pki", "front-proxy-client.key"))
	require.NoError(t, err)

	// The same requests by the front proxy are as good as any: this is what is forged.
	got := send(t, s.straight(t, &proxy), http.MethodGet, collection+"/"+name, forged(keeper))
	assert.Equal(t, http.StatusOK, got.code, got.body)
	assert.Contains(t, got.body, conformance.Value(name))
	got = send(t, s.straight(t, &proxy), http.MethodGet, collection+"/"+name, forged(viewer))
	assert.Equal(t, http.StatusOK, got.code, got.body)
	assert.NotContains(t, got.body, conformance.Canary)
	got = send(t, s.straight(t, &proxy), http.MethodDelete, collection+"/"+name, forged(viewer))
	assert.Equal(t, http.StatusForbidden, got.code, got.body)

	for _, caller := range []struct {
		name        string
		certificate *tls.Certificate
		header      http.Header
		// health is what the health paths answer: as in Kubernetes, everybody may ask
		// but who shows credentials that are wrong.
		health int
	}{
		{"nobody", nil, nil, http.StatusOK},
		{"forged headers without a certificate", nil, forged(keeper), http.StatusOK},
		{"forged headers of a member of system:masters", nil, forged(kube.Admin, "system:masters", "system:authenticated"), http.StatusOK},
		{"a certificate of another CA", foreign(t), nil, http.StatusUnauthorized},
		{"forged headers with a certificate of another CA", foreign(t), forged(kube.Admin, "system:masters"), http.StatusUnauthorized},
		{"a user's certificate of the host", s.certificateOf(t, keeper), nil, http.StatusUnauthorized},
		{"forged headers with a user's certificate of the host", s.certificateOf(t, keeper), forged(keeper), http.StatusUnauthorized},
		{"an administrator's certificate of the host", s.certificateOf(t, kube.Admin), forged(kube.Admin, "system:masters"), http.StatusUnauthorized},
		{"the front proxy in nobody's name", &proxy, http.Header{"X-Remote-Group": {"system:masters"}}, http.StatusOK},
	} {
		t.Run(caller.name, func(t *testing.T) {
			client := s.straight(t, caller.certificate)
			for _, path := range []string{
				"/apis/peering.entente.dev/v1alpha1/clusterpeers",
				"/apis/peering.entente.dev/v1alpha1/clusterpeers?watch=1",
				"/apis/peering.entente.dev/v1alpha1/clusterpeers/" + name,
				"/apis/peering.entente.dev/v1alpha1/clusterpeers/" + name + "/sensitive",
				"/apis/peering.entente.dev/v1alpha1", "/apis/peering.entente.dev", "/apis", "/openapi/v2", "/openapi/v3",
				"/metrics", "/metrics/slis", "/version", "/", "/nothing", "/debug/pprof/", "/debug/flags/v", "/statusz", "/flagz",
				"/readyz/request-header", "/livez/ping", "/healthz/ping",
			} {
				got := send(t, client, http.MethodGet, s.entente.URL()+path, caller.header)
				assert.Equal(t, http.StatusUnauthorized, got.code, "%s: %s", path, got.body)
				assert.NotContains(t, got.body, "entente.dev", path)
			}
			for _, method := range []string{http.MethodPost, http.MethodDelete} {
				got := send(t, client, method, collection, caller.header)
				assert.Equal(t, http.StatusUnauthorized, got.code, "%s: %s", method, got.body)
			}
			for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz?verbose"} {
				got := send(t, client, http.MethodGet, s.entente.URL()+path, caller.header)
				assert.Equal(t, caller.health, got.code, "%s: %s", path, got.body)
			}
		})
	}
	s.MustKubectl(t, viewer, "", "get", "cpeer", name)
}

// A token that kube-apiserver has issued names a user here too, with the rights
// that it has there, whatever else the request says.
func (s *suite) directTokens(t *testing.T) {
	const (
		name    = "tokens"
		plain   = "tokens-plain"
		sighted = "tokens-sighted"
	)
	s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
	token := func(account string, audiences ...string) string {
		t.Helper()
		token, err := s.ServiceAccountToken(t.Context(), metav1.NamespaceDefault, account, time.Hour, audiences...)
		require.NoError(t, err)
		return token
	}
	for account, role := range map[string]string{plain: "entente-viewer", sighted: "entente-sensitive-reader"} {
		s.MustKubectl(t, kube.Admin, "", "create", "serviceaccount", account)
		s.Bind(t, kube.ServiceAccountUser(metav1.NamespaceDefault, account), role)
	}
	s.Grant(t, kube.ServiceAccountUser(metav1.NamespaceDefault, sighted), rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
	client := s.straight(t, nil)
	object := "/apis/peering.entente.dev/v1alpha1/clusterpeers/" + name
	ask := func(method, path, token string, headers ...http.Header) answer {
		t.Helper()
		all := http.Header{"Authorization": {"Bearer " + token}}
		for _, header := range headers {
			for name, values := range header {
				all[name] = values
			}
		}
		return send(t, client, method, s.entente.URL()+path, all)
	}

	got := ask(http.MethodGet, object, token(sighted))
	assert.Equal(t, http.StatusOK, got.code, got.body)
	assert.Contains(t, got.body, conformance.Value(name))
	for title, headers := range map[string][]http.Header{
		"a token":                    nil,
		"a token and forged headers": {forged(kube.Admin, "system:masters")},
	} {
		got := ask(http.MethodGet, object, token(plain), headers...)
		assert.Equal(t, http.StatusOK, got.code, "%s: %s", title, got.body)
		assert.Contains(t, got.body, `\u003comitted\u003e`, title)
		assert.NotContains(t, got.body, conformance.Canary, title)
		for path, method := range map[string]string{object: http.MethodDelete, object + "/sensitive": http.MethodGet, "/metrics": http.MethodGet} {
			got := ask(method, path, token(plain), headers...)
			assert.Equal(t, http.StatusForbidden, got.code, "%s: %s %s: %s", title, method, path, got.body)
		}
	}
	for _, as := range []http.Header{
		{"Impersonate-User": {keeper}},
		{"Impersonate-User": {kube.Admin}, "Impersonate-Group": {"system:masters"}},
	} {
		got := ask(http.MethodGet, object, token(plain), as)
		assert.Equal(t, http.StatusForbidden, got.code, "%v: %s", as, got.body)
	}

	got = ask(http.MethodGet, "/metrics", token(sighted))
	assert.Equal(t, http.StatusOK, got.code, got.body)
	assert.Contains(t, got.body, "entente_serving_certificate_expiration_timestamp_seconds")
	assert.NotContains(t, got.body, conformance.Canary)

	good := token(plain)
	for title, bad := range map[string]string{
		"no token":                   "",
		"nonsense":                   "nonsense",
		"a token for somebody else":  token(sighted, "somebody-else"),
		"a token that was tampered":  tampered(t, good),
		"a token without its end":    good[:strings.LastIndex(good, ".")],
		"a token with forged claims": strings.Replace(good, ".", "."+base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf(`{"sub":%q}`, kube.Admin)))+".", 1),
	} {
		for _, path := range []string{object, "/apis", "/metrics"} {
			got := ask(http.MethodGet, path, bad, forged(kube.Admin, "system:masters"))
			assert.Equal(t, http.StatusUnauthorized, got.code, "%s: %s: %s", title, path, got.body)
		}
	}
}

// tampered is a token with another signature.
func tampered(t *testing.T, token string) string {
	t.Helper()
	at := strings.LastIndex(token, ".") + 1
	signature, err := base64.RawURLEncoding.DecodeString(token[at:])
	require.NoError(t, err)
	signature[0] ^= 1
	return token[:at] + base64.RawURLEncoding.EncodeToString(signature)
}
