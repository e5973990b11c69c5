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

package host

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{certificate: certificate, key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// signed is an authority that another has signed.
func (a authority) signed(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{certificate: certificate, key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (a authority) client(t *testing.T, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certificate
}

// published is what kube-apiserver publishes, with a change.
func published(frontProxy, client string, change func(map[string]string)) map[string]string {
	data := map[string]string{
		"client-ca-file":                     client,
		"requestheader-client-ca-file":       frontProxy,
		"requestheader-allowed-names":        `["front-proxy-client"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-uid-headers":          `["X-Remote-Uid"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}
	if change != nil {
		change(data)
	}
	return data
}

// Section 3: not ready when the allowed front-proxy names are empty while that CA
// also signs clients; and whatever else would let anybody be anybody.
func TestParseTrust(t *testing.T) {
	front, clients := newAuthority(t, "front"), newAuthority(t, "clients")
	below := clients.signed(t, "below")
	noNames := func(data map[string]string) { data["requestheader-allowed-names"] = "[]" }
	tests := []struct {
		name string
		data map[string]string
		want string // "" if it is to be followed
	}{
		{"as kube-apiserver writes it", published(front.pem, clients.pem, nil), ""},
		{"no uid headers, as before 1.32", published(front.pem, clients.pem, func(d map[string]string) { delete(d, "requestheader-uid-headers") }), ""},
		{"any name, a CA of its own", published(front.pem, clients.pem, noNames), ""},
		{"any name, no client CA", published(front.pem, "", noNames), ""},
		{"any name, one CA", published(clients.pem, clients.pem, noNames), "share a CA"},
		{"names left out, one CA", published(clients.pem, clients.pem, func(d map[string]string) { delete(d, "requestheader-allowed-names") }), "share a CA"},
		{"any name, one CA among several", published(front.pem+clients.pem, newAuthority(t, "other").pem+clients.pem, noNames), "share a CA"},
		{"any name, clients by a CA that the front proxy's has signed", published(clients.pem, below.pem, noNames), "share a CA"},
		{"any name, clients by a CA that has signed the front proxy's", published(below.pem, clients.pem, noNames), ""},
		{"an empty name", published(clients.pem, clients.pem, func(d map[string]string) { d["requestheader-allowed-names"] = `[""]` }), "empty name"},
		{"an empty name among others", published(front.pem, clients.pem, func(d map[string]string) { d["requestheader-allowed-names"] = `["front",""]` }), "empty name"},
		{"any name, client CA not readable", published(front.pem, "garbage", noNames), "client-ca-file"},
		{"named, one CA", published(clients.pem, clients.pem, nil), ""},
		{"no CA", published("", clients.pem, nil), "aggregation is not set up"},
		{"no certificate in the CA", published("garbage", clients.pem, nil), "requestheader-client-ca-file holds no certificate"},
		{"no username header", published(front.pem, clients.pem, func(d map[string]string) { d["requestheader-username-headers"] = "[]" }), "requestheader-username-headers is empty"},
		{"names no list", published(front.pem, clients.pem, func(d map[string]string) { d["requestheader-allowed-names"] = "front" }), "requestheader-allowed-names is not a list"},
		{"nothing", map[string]string{}, "aggregation is not set up"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trust, err := parseTrust(test.data)
			if test.want == "" {
				require.NoError(t, err)
				require.NotNil(t, trust)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.Nil(t, trust)
		})
	}
}

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: authenticationNamespace, Name: authenticationConfigMap}, Data: data}
}

type listener struct{ told atomic.Int32 }

func (l *listener) Enqueue() { l.told.Add(1) }

// The whole life of it: forbidden (the message names the RoleBinding), readable by
// itself, rotated live, made unsafe, deleted.
func TestRequestHeaderIsFollowedLive(t *testing.T) {
	first, second, clients := newAuthority(t, "first"), newAuthority(t, "second"), newAuthority(t, "clients")
	client := fake.NewClientset(configMap(published(first.pem, clients.pem, nil)))
	var forbidden atomic.Bool
	forbidden.Store(true)
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !forbidden.Load() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, authenticationConfigMap, errors.New("no"))
	})
	h := &Host{Client: client, facts: facts{username: account}}
	header, err := h.NewRequestHeader(t.Context())
	require.NoError(t, err)
	told := &listener{}
	header.AddListener(told)

	nobody := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) { return nil, false, nil })
	whole := newAuthenticator(header, nobody, &apiserver.AnonymousAuthConfig{Conditions: []apiserver.AnonymousAuthCondition{{Path: "/readyz"}}})
	// as returns the user that a request with a certificate and headers is taken for.
	as := func(certificate *x509.Certificate, path string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://entente"+path, nil)
		r.Header.Set("X-Remote-User", "somebody")
		r.TLS = &tls.ConnectionState{}
		if certificate != nil {
			r.TLS.PeerCertificates = []*x509.Certificate{certificate}
		}
		response, ok, _ := whole.AuthenticateRequest(r)
		if !ok {
			return ""
		}
		return response.User.GetName()
	}
	ofFirst, ofSecond := first.client(t, "front-proxy-client"), second.client(t, "front-proxy-client")
	assert.Empty(t, as(ofFirst, "/apis"), "believed before the CA was read")
	assert.Equal(t, "system:anonymous", as(nil, "/readyz"))

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); header.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.ErrorContains(c, header.Check(nil), "kubectl create rolebinding entente-apiserver-authentication-reader --namespace=kube-system --role=extension-apiserver-authentication-reader --serviceaccount=entente-system:entente-apiserver")
	}, deadline, time.Millisecond)
	assert.Empty(t, as(ofFirst, "/apis"))

	forbidden.Store(false)
	require.Eventually(t, func() bool { return header.Check(nil) == nil }, deadline, time.Millisecond, "not ready by itself")
	assert.Equal(t, "somebody", as(ofFirst, "/apis"))
	assert.Empty(t, as(first.client(t, "another-name"), "/apis"), "a name that is not allowed")
	assert.Empty(t, as(clients.client(t, "front-proxy-client"), "/apis"), "a client of the cluster")
	assert.Empty(t, as(ofSecond, "/apis"), "another CA")
	assert.Empty(t, as(nil, "/apis"), "no certificate")

	set := func(data map[string]string) {
		_, err := client.CoreV1().ConfigMaps(authenticationNamespace).Update(t.Context(), configMap(data), metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return told.told.Load() == 1 }, deadline, time.Millisecond, "the listener of TLS")
	set(published(first.pem+second.pem, clients.pem, nil))
	require.Eventually(t, func() bool { return as(ofSecond, "/apis") == "somebody" }, deadline, time.Millisecond)
	assert.Equal(t, "somebody", as(ofFirst, "/apis"), "the overlap of a rotation")
	set(published(second.pem, clients.pem, nil))
	require.Eventually(t, func() bool { return as(ofFirst, "/apis") == "" }, deadline, time.Millisecond)
	assert.Equal(t, "somebody", as(ofSecond, "/apis"))
	require.Eventually(t, func() bool { return told.told.Load() == 3 }, deadline, time.Millisecond, "the listener of TLS")

	// Fail closed: what is not safe to follow is followed no longer.
	set(published(second.pem, second.pem, func(d map[string]string) { d["requestheader-allowed-names"] = "[]" }))
	require.Eventually(t, func() bool { return header.Check(nil) != nil }, deadline, time.Millisecond)
	require.ErrorContains(t, header.Check(nil), "share a CA")
	assert.Empty(t, as(ofSecond, "/apis"))
	set(published(second.pem, clients.pem, nil))
	require.Eventually(t, func() bool { return header.Check(nil) == nil }, deadline, time.Millisecond)

	// kube-apiserver writes a ConfigMap again that somebody has deleted.
	require.NoError(t, client.CoreV1().ConfigMaps(authenticationNamespace).Delete(t.Context(), authenticationConfigMap, metav1.DeleteOptions{}))
	_, err = client.CoreV1().ConfigMaps(authenticationNamespace).Create(t.Context(), configMap(published(first.pem, clients.pem, nil)), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return as(ofFirst, "/apis") == "somebody" }, deadline, time.Millisecond)
	assert.NoError(t, header.Check(nil))
}
