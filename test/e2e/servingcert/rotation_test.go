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
	"crypto/x509"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver/servingcert"
	"entente.dev/entente/test/kube"
)

const (
	namespace = "entente-system"
	service   = "entente-apiserver"
	api       = "v1alpha1.peering.entente.dev"
	user      = "entente"
)

// manifests are those of artifacts/deploy that matter here, with what an operator
// may have made of them: a Secret of another type, an APIService that verifies
// nothing.
const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + namespace + `}
---
apiVersion: v1
kind: Service
metadata: {name: ` + service + `, namespace: ` + namespace + `}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {name: ` + servingcert.DefaultSecretName + `, namespace: ` + namespace + `}
data: {tls.crt: "", tls.key: ""}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: ` + api + `}
spec:
  group: peering.entente.dev
  version: v1alpha1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {name: ` + service + `, namespace: ` + namespace + `, port: `

// A whole rotation with the rights of H4 only: kube-aggregator, which shakes hands
// anew for each request, is never refused, while two replicas renew leaves and
// replace their authority.
func TestRotation(t *testing.T) {
	cluster := kube.Start(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	cluster.MustKubectl(t, kube.Admin, manifests+port+"}\n", "apply", "-f", "-")
	cluster.AddUser(t, user)
	cluster.GrantIn(t, namespace, user, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{servingcert.DefaultSecretName}, Verbs: []string{"get", "update"},
	})
	cluster.Grant(t, user, rbacv1.PolicyRule{
		APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, ResourceNames: []string{api}, Verbs: []string{"get", "patch"},
	})

	first, second := newReplica(t, cluster), newReplica(t, cluster)
	serve(t, listener, first)
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		second.Run(ctx, 1)
	}()
	defer func() {
		cancel()
		<-ended
	}()

	client, err := rest.HTTPClientFor(cluster.RESTConfig(t, kube.Admin))
	require.NoError(t, err)
	// ask asks through kube-aggregator.
	ask := func() int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.URL()+"/apis/peering.entente.dev/v1alpha1", nil)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	apiServices := servingcert.NewAPIServices(dynamicClient(t, cluster))
	bundle := func() []*x509.Certificate {
		found, err := apiServices.Get(t.Context(), api)
		require.NoError(t, err)
		require.False(t, found.InsecureSkipTLSVerify)
		certificates, err := cert.ParseCertsPEM(found.CABundle)
		require.NoError(t, err)
		return certificates
	}
	require.Eventually(t, func() bool { return first.Check(nil) == nil && second.Check(nil) == nil && ask() == http.StatusOK }, 2*time.Minute, 100*time.Millisecond)

	before := bundle()
	require.Len(t, before, 1)
	leaves := map[string]bool{}
	sawBoth := false
	for {
		require.Equal(t, http.StatusOK, ask(), "after %d leaves", len(leaves))
		leaf, _ := first.CurrentCertKeyContent()
		leaves[string(leaf)] = true
		require.NoError(t, first.Check(nil))
		now := bundle()
		sawBoth = sawBoth || len(now) == 2
		if sawBoth && len(now) == 1 {
			assert.False(t, now[0].Equal(before[0]))
			break
		}
		time.Sleep(50 * time.Millisecond) // a pace, nothing waits for it
	}
	assert.GreaterOrEqual(t, len(leaves), 3)
	require.Eventually(t, func() bool {
		ours, _ := first.CurrentCertKeyContent()
		theirs, _ := second.CurrentCertKeyContent()
		return string(ours) == string(theirs)
	}, time.Minute, 100*time.Millisecond)

	// Who applies these manifests again empties the Secret; the bundle stays, and a
	// certificate is made anew.
	again := strings.Replace(manifests, "  insecureSkipTLSVerify: true\n", "", 1)
	cluster.MustKubectl(t, kube.Admin, again+port+"}\n", "apply", "-f", "-")
	for range 3 * 20 {
		require.Equal(t, http.StatusOK, ask())
		require.NoError(t, first.Check(nil))
		time.Sleep(50 * time.Millisecond) // a pace, nothing waits for it
	}
	require.Eventually(t, func() bool {
		after, _ := first.CurrentCertKeyContent()
		return !leaves[string(after)] && ask() == http.StatusOK
	}, time.Minute, 100*time.Millisecond)
}

func dynamicClient(t *testing.T, cluster *kube.Cluster) dynamic.Interface {
	client, err := dynamic.NewForConfig(cluster.RESTConfig(t, user))
	require.NoError(t, err)
	return client
}

// newReplica returns a replica in a hurry.
func newReplica(t *testing.T, cluster *kube.Cluster) *servingcert.Manager {
	t.Helper()
	m, err := servingcert.New(cluster.Clientset(t, user).CoreV1().Secrets(namespace), servingcert.NewAPIServices(dynamicClient(t, cluster)), servingcert.Options{
		Namespace: namespace, Service: service, APIServices: []string{api},
		Policy: servingcert.Policy{CALifetime: time.Minute, LeafLifetime: 20 * time.Second, Interval: time.Second, Settle: 2 * time.Second},
	})
	require.NoError(t, err)
	return m
}

// serve serves an API group that is just there, and closes each connection, so
// that no certificate of before is used.
func serve(t *testing.T, listener net.Listener, m *servingcert.Manager) {
	t.Helper()
	options := genericoptions.NewSecureServingOptions()
	options.Listener, options.ServerCert.GeneratedCert, options.DisableHTTP2Serving = listener, m, true
	var info *genericapiserver.SecureServingInfo
	require.NoError(t, options.ApplyTo(&info))
	stop := make(chan struct{})
	stopped, listenerStopped, err := info.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"peering.entente.dev/v1alpha1","resources":[]}`))
	}), time.Minute, stop)
	require.NoError(t, err)
	t.Cleanup(func() {
		close(stop)
		<-stopped
		<-listenerStopped
	})
}
