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
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	secretPath     = "/api/v1/namespaces/" + namespace + "/secrets/" + DefaultSecretName
	apiServicePath = "/apis/apiregistration.k8s.io/v1/apiservices/" + peeringAPI
)

// apiService is an APIService as it is on the wire.
func apiService(version, more string) string {
	return `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"` + peeringAPI + `","resourceVersion":"` + version + `"},"spec":{"group":"peering.entente.dev"` + more + `}}`
}

// clients are real clients of a server that answers what handle writes.
func clients(t *testing.T, handle http.HandlerFunc) (kubernetes.Interface, dynamic.Interface) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, Transport: &http.Transport{DisableKeepAlives: true}}
	typed, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	untyped, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return typed, untyped
}

func answer(t *testing.T, w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, err := io.WriteString(w, body)
	assert.NoError(t, err)
}

func TestGetAPIService(t *testing.T) {
	for name, test := range map[string]struct {
		spec  string
		want  APIService
		fails string
	}{
		"whole":   {spec: `,"service":{"namespace":"a","name":"b","port":443},"caBundle":"eA==","insecureSkipTLSVerify":false`, want: APIService{ResourceVersion: "7", Namespace: "a", Service: "b", CABundle: []byte("x")}},
		"bare":    {spec: `,"service":{"namespace":"a","name":"b"},"insecureSkipTLSVerify":true`, want: APIService{ResourceVersion: "7", Namespace: "a", Service: "b", CABundle: []byte{}, InsecureSkipTLSVerify: true}},
		"local":   {spec: `,"service":null`, want: APIService{ResourceVersion: "7", CABundle: []byte{}}},
		"garbage": {spec: `,"caBundle":"?"`, fails: "could not read spec.caBundle"},
	} {
		t.Run(name, func(t *testing.T) {
			_, client := clients(t, func(w http.ResponseWriter, request *http.Request) {
				assert.Equal(t, "GET "+apiServicePath, request.Method+" "+request.URL.Path)
				answer(t, w, http.StatusOK, apiService("7", test.spec))
			})
			found, err := NewAPIServices(client).Get(t.Context(), peeringAPI)
			if test.fails != "" {
				require.ErrorContains(t, err, test.fails)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, found)
		})
	}
}

// A bundle is published on condition that the APIService is the one that was seen,
// and nothing else is touched.
func TestPublish(t *testing.T) {
	conflict := false
	_, client := clients(t, func(w http.ResponseWriter, request *http.Request) {
		assert.Equal(t, "PATCH "+apiServicePath, request.Method+" "+request.URL.Path)
		assert.Equal(t, "entente-serving-certificate", request.URL.Query().Get("fieldManager"))
		assert.Equal(t, "application/merge-patch+json", request.Header.Get("Content-Type"))
		body, err := io.ReadAll(request.Body)
		assert.NoError(t, err)
		assert.JSONEq(t, `{"metadata":{"resourceVersion":"7"},"spec":{"caBundle":"eA==","insecureSkipTLSVerify":null}}`, string(body))
		if conflict {
			answer(t, w, http.StatusConflict, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
			return
		}
		answer(t, w, http.StatusOK, apiService("8", ""))
	})
	apiServices := NewAPIServices(client)
	require.NoError(t, apiServices.Publish(t.Context(), peeringAPI, "7", []byte("x")))
	conflict = true
	require.True(t, apierrors.IsConflict(apiServices.Publish(t.Context(), peeringAPI, "7", []byte("x"))))
}

// R4, R15: real clients log no key, whatever the verbosity, whether the Secret is
// read or written, or the answer is an error that quotes it.
func TestKeysAreNotLogged(t *testing.T) {
	var bodies []string
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: DefaultSecretName, Namespace: namespace, ResourceVersion: "1"}}
	found, refuse := apiService("7", `,"service":{"namespace":"`+namespace+`","name":"`+service+`"}`), false
	typed, untyped := clients(t, func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		assert.NoError(t, err)
		switch {
		case request.URL.Path == apiServicePath:
			if request.Method == http.MethodPatch {
				var patch struct{ Spec struct{ CABundle string } }
				assert.NoError(t, json.Unmarshal(body, &patch))
				found = apiService("8", `,"service":{"namespace":"`+namespace+`","name":"`+service+`"},"caBundle":"`+patch.Spec.CABundle+`"`)
			}
			answer(t, w, http.StatusOK, found)
		case request.Method == http.MethodPut && refuse:
			answer(t, w, http.StatusInternalServerError, string(body))
		case request.Method == http.MethodPut:
			bodies = append(bodies, string(body))
			assert.NoError(t, json.Unmarshal(body, secret))
			fallthrough
		default:
			assert.Equal(t, secretPath, request.URL.Path)
			encoded, err := json.Marshal(secret)
			assert.NoError(t, err)
			answer(t, w, http.StatusOK, strings.Replace(string(encoded), `{`, `{"kind":"Secret","apiVersion":"v1",`, 1))
		}
	})

	log := logged(t)
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.SetLogger(klog.FromContext(log.context))
	var level klog.Level
	require.NoError(t, level.Set("10"))

	h := newHost()
	options := h.options()
	options.APIServices = options.APIServices[:1]
	m, err := New(typed.CoreV1().Secrets(namespace), NewAPIServices(untyped), options)
	require.NoError(t, err)
	require.NoError(t, m.RunOnce(log.context))
	require.NoError(t, m.RunOnce(log.context))
	require.NoError(t, m.Check(nil))
	require.Len(t, bodies, 2)
	refuse = true
	secret.Data[caKey] = nil
	require.ErrorContains(t, m.RunOnce(log.context), "the API answered 500")

	assert.Contains(t, log.String(), `"Response Body"`, "that of an APIService")
	assert.Contains(t, log.String(), "Changed the Secret of the serving certificate")
	for _, body := range bodies {
		var written corev1.Secret
		require.NoError(t, json.Unmarshal([]byte(body), &written))
		for name, value := range written.Data {
			if !strings.HasSuffix(name, ".key") {
				continue
			}
			assert.NotContains(t, log.String(), strings.Split(string(value), "\n")[1])
			encoded, err := json.Marshal(value)
			require.NoError(t, err)
			assert.NotContains(t, log.String(), string(encoded[1:40]))
		}
	}
	assert.NotContains(t, log.String(), "PRIVATE KEY")
}
