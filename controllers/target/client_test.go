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

package target

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func configMaps() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

// plainServer serves without TLS.
func plainServer(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(api(nil))
	t.Cleanup(server.Close)
	return "https" + strings.TrimPrefix(server.URL, "http")
}

// C2: a client certificate is presented, and tls-server-name is whose certificate is expected.
func TestC2ClientCertificateIsPresented(t *testing.T) {
	well := api(nil)
	cluster := serve(t, entrance{leaf: func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"inside.example"} }},
		func(w http.ResponseWriter, r *http.Request) {
			if assert.Len(t, r.TLS.PeerCertificates, 1) {
				assert.Equal(t, "me", r.TLS.PeerCertificates[0].Subject.CommonName)
			}
			assert.Equal(t, "inside.example", r.TLS.ServerName)
			assert.Empty(t, r.Header.Get("Authorization"))
			well(w, r)
		})
	certificate, key := newAuthority(t).issue(t, func(c *x509.Certificate) { c.Subject.CommonName = "me" })
	text := kubeconfig(`server: "`+cluster.URL+`", tls-server-name: inside.example, certificate-authority-data: "`+encode(cluster.authority.pem())+`"`,
		`client-certificate-data: "`+encode(certificate)+`", client-key-data: "`+encode(key)+`"`)
	access, err := ParseKubeconfig([]byte(text), Allowances{})
	require.NoError(t, err)
	found, err := probe(t, open(t, access, local()))
	require.NoError(t, err)
	assert.Equal(t, wellFound(), found)
}

// C2: a certificate is not looked at only if that was allowed and asked for.
func TestC2Insecure(t *testing.T) {
	cluster := serve(t, entrance{}, api(nil))
	text := kubeconfig(`server: "`+cluster.URL+`", insecure-skip-tls-verify: true`, soundUser)
	access, err := ParseKubeconfig([]byte(text), Allowances{InsecureTLS: true})
	require.NoError(t, err)
	_, err = probe(t, open(t, access, local()))
	require.NoError(t, err)
}

func TestObjectsAndMapper(t *testing.T) {
	cluster := serve(t, entrance{http2: true}, api(nil))
	c := open(t, cluster.access(t), local())
	object, err := c.Objects(configMaps(), "a").Get(t.Context(), "it")
	require.NoError(t, err)
	assert.Equal(t, "it", object.GetName())
	assert.Same(t, c.Mapper(), c.Mapper())
	mapping, err := c.Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
	require.NoError(t, err)
	assert.Equal(t, configMaps(), mapping.Resource)
	asked := cluster.requests.Load()
	_, err = c.Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1")
	require.NoError(t, err)
	assert.Equal(t, asked, cluster.requests.Load())
	_, err = c.Mapper().RESTMapping(schema.GroupKind{Kind: "Other"})
	assert.True(t, meta.IsNoMatchError(err))
	c.Mapper().Reset()
	_, err = c.Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
	require.NoError(t, err)
	assert.Greater(t, cluster.requests.Load(), asked)

	_, err = c.Objects(configMaps(), "a").Get(t.Context(), "other")
	assert.True(t, apierrors.IsNotFound(err))
}

// P11: a hostile cluster does not keep a mapper busy.
func TestP11HostileKinds(t *testing.T) {
	many := make([]string, 5000)
	for i := range many {
		many[i] = group(fmt.Sprintf("g%d", i), "v1")
	}
	for _, test := range []struct {
		name, core, groups string
		want               Reason
	}{
		{"none", `{"kind":"APIVersions","versions":[]}`, `{"kind":"APIGroupList","groups":[]}`, ReasonNotKubernetes},
		{"too many", `{"kind":"APIVersions","versions":["v1"]}`, `{"kind":"APIGroupList","groups":[` + strings.Join(many, ",") + `]}`, ReasonTooLarge},
		{"too large", `{"kind":"APIVersions","versions":["v1"]}`, `{"kind":"` + strings.Repeat(canary, 1<<20) + `"}`, ReasonTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{"/api": say(test.core), "/apis": say(test.groups)}))
			_, err := open(t, cluster.access(t), local()).Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
			require.Error(t, err)
			assert.Equal(t, test.want, FailureOf(err).Reason)
			assert.LessOrEqual(t, cluster.requests.Load(), int32(4))
		})
	}
}
