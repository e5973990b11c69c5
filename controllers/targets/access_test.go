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

package targets_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
)

// C1: each way to connect works.
func TestC1Access(t *testing.T) {
	server, credentials := east(t)
	for name, test := range map[string]struct {
		auth corev1alpha1.ClusterAuthSpec
		want targetstest.Request
		// reads is how much of the Cluster's namespace is read for it.
		reads int
	}{
		"kubeconfig": {byKubeconfig(), targetstest.Request{Token: targetstest.Token}, 1},
		"token":      {byToken(), targetstest.Request{Token: targetstest.Token}, 2},
		"clientCert": {byCert(), targetstest.Request{Client: "me"}, 3},
	} {
		pool, before := newPool(t, credentials, withTokenAndCert), credentials.Reads()
		_, found := connect(t, pool, agentless("east", server.URL, test.auth))
		assert.Equal(t, &target.Found{Version: "v1.37.2", APIVersions: []string{"apps/v1", "batch/v1", "batch/v1beta1", "v1"}, UID: "1"}, found, name)
		assert.Equal(t, test.reads, credentials.Reads()-before, name)
		requests := server.Requests()
		for _, request := range requests[len(requests)-4:] {
			test.want.Path = request.Path
			assert.Equal(t, test.want, request, name)
		}
		pool.Close()
	}
}

// C1: with a kubeconfig the address, the authority and the limits of the Cluster are not used.
func TestC1KubeconfigSaysAll(t *testing.T) {
	_, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", "https://elsewhere.example.com", byKubeconfig())
	cluster.Spec.Agentless.CAPublicCertRef.Name = "nothing"
	cluster.Spec.Agentless.ConnectionParameters = &corev1alpha1.ClusterConnectionParametersSpec{QPS: ptr.To[int32](1), Burst: ptr.To[int32](1), Timeout: seconds(1)}
	made, _ := connect(t, pool, cluster)
	for name, change := range map[string]func(*corev1alpha1.ClusterAgentlessModeSpec){
		"server": func(a *corev1alpha1.ClusterAgentlessModeSpec) { a.Server = "https://other.example.com" },
		"ca":     func(a *corev1alpha1.ClusterAgentlessModeSpec) { a.CAPublicCertRef = nil },
		"limits": func(a *corev1alpha1.ClusterAgentlessModeSpec) {
			a.ConnectionParameters = &corev1alpha1.ClusterConnectionParametersSpec{Timeout: seconds(9)}
		},
		"none": func(a *corev1alpha1.ClusterAgentlessModeSpec) { a.ConnectionParameters = nil },
	} {
		change(cluster.Spec.Agentless)
		same, _ := connect(t, pool, cluster)
		assert.Same(t, made, same, name)
	}
}

// C1: what a Cluster names and cannot be read is said by its path.
func TestC1Unread(t *testing.T) {
	auths := map[string]corev1alpha1.ClusterAuthSpec{"kubeconfig": byKubeconfig(), "token": byToken(), "cert": byCert(), "key": byCert(), "ca.crt": byToken()}
	paths := map[string]string{
		"kubeconfig": "spec.agentless.auth.kubeconfig.secretRef: the Secret",
		"token":      "spec.agentless.auth.token.tokenRef: the Secret",
		"cert":       "spec.agentless.auth.clientCert.certRef: the Secret",
		"key":        "spec.agentless.auth.clientCert.keyRef: the Secret",
		"ca.crt":     "spec.agentless.caPublicCertRef: the ConfigMap",
	}
	for key, path := range paths {
		server, credentials := east(t)
		pool := newPool(t, credentials, withTokenAndCert)
		cluster := agentless("east", server.URL, auths[key])
		rename := func(name, to string) {
			agentless := cluster.Spec.Agentless
			switch key {
			case "kubeconfig":
				agentless.Auth.Kubeconfig.SecretRef = corev1alpha1.SecretKeySelector{Name: name, Key: to}
			case "token":
				agentless.Auth.Token.TokenRef = corev1alpha1.SecretKeySelector{Name: name, Key: to}
			case "cert":
				agentless.Auth.ClientCert.CertRef = corev1alpha1.SecretKeySelector{Name: name, Key: to}
			case "key":
				agentless.Auth.ClientCert.KeyRef = corev1alpha1.SecretKeySelector{Name: name, Key: to}
			default:
				agentless.CAPublicCertRef = &corev1alpha1.ConfigMapKeySelector{Name: name, Key: to}
			}
		}
		rename("nothing", key)
		problem := refused(t, pool, cluster)
		assert.Equal(t, path+" cannot be used: it does not exist.", problem.Message)
		assert.False(t, problem.Unsupported)
		if key == "ca.crt" {
			cluster.Spec.Agentless.Auth = byCert() // it is read for both
			assert.Equal(t, path+" cannot be used: it does not exist.", refused(t, pool, cluster).Message)
		}
		name := "east"
		if key == "ca.crt" {
			name = "ca"
		}
		rename(name, "nothing")
		assert.Equal(t, path+" cannot be used: it has no such key.", refused(t, pool, cluster).Message)
		rename(name, key)
		connect(t, pool, cluster)
	}
	server, credentials := east(t)
	pool := newPool(t, credentials)
	for text, err := range map[string]error{
		"it may not be read by Entente": targets.ErrForbidden,
		"its file cannot be read":       errors.New("its file cannot be read"),
	} {
		credentials.Fails(err)
		assert.Equal(t, paths["kubeconfig"]+" cannot be used: "+text+".", refused(t, pool, agentless("east", server.URL, byKubeconfig())).Message)
	}
	assert.Zero(t, server.Opened())
}

// C2: Secrets of Entente's own namespaces are not even read.
func TestC2OwnNamespace(t *testing.T) {
	server, credentials := east(t)
	for name, auth := range map[string]corev1alpha1.ClusterAuthSpec{"kubeconfig": byKubeconfig(), "token": byToken(), "cert": byCert()} {
		pool := newPool(t, credentials, withTokenAndCert)
		cluster := agentless("east", server.URL, auth)
		cluster.Namespace = "entente"
		credentials.Put("entente", "east", "kubeconfig", server.Kubeconfig(targetstest.Token))
		problem := refused(t, pool, cluster)
		assert.Contains(t, problem.Message, "spec.agentless.auth: ", name)
		assert.False(t, problem.Unsupported)
	}
	assert.Zero(t, credentials.Reads())
}

// C2: only what is in its own namespace is for a Cluster.
func TestC2OtherNamespace(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials)
	cluster := agentless("east", server.URL, byKubeconfig())
	cluster.Namespace = "other"
	assert.Contains(t, refused(t, pool, cluster).Message, "it does not exist")
}

// C1: without a ConfigMap the authorities of the system are those that count.
func TestC1NoAuthority(t *testing.T) {
	server, credentials := east(t)
	for name, auth := range map[string]corev1alpha1.ClusterAuthSpec{"token": byToken(), "cert": byCert()} {
		pool := newPool(t, credentials, withTokenAndCert)
		cluster := agentless("east", server.URL, auth)
		cluster.Spec.Agentless.CAPublicCertRef = nil
		made, err := pool.Connect(t.Context(), cluster)
		require.NoError(t, err, name)
		_, err = made.Probe(t.Context())
		var failure *target.Failure
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, target.ReasonUntrusted, failure.Reason)
		pool.Close()
	}
	assert.Empty(t, server.Requests(), "no token is told to whom nobody knows")
}

// C1: a block that is missing, which validation does not let in, is no panic.
func TestC1NoBlock(t *testing.T) {
	_, credentials := east(t)
	pool := newPool(t, credentials, withTokenAndCert)
	for _, kind := range []corev1alpha1.AuthType{corev1alpha1.AuthTypeKubeconfig, corev1alpha1.AuthTypeToken, corev1alpha1.AuthTypeClientCert} {
		cluster := agentless("east", "https://east.example.com", corev1alpha1.ClusterAuthSpec{Type: kind})
		assert.Equal(t, "spec.agentless.auth: the block of the type is missing.", refused(t, pool, cluster).Message)
	}
	cluster := agentless("east", "", byKubeconfig())
	cluster.Spec.Agentless = nil
	assert.Equal(t, "spec.agentless: it is missing.", refused(t, pool, cluster).Message)
}

// C1, C2, R15: a fault is said by where it is, in the kubeconfig or in the Cluster, and
// nothing of what was read is.
func TestC2Faults(t *testing.T) {
	server, _ := east(t)
	cert, key := targetstest.Certificate(t, targetstest.Canary)
	otherCert, _ := targetstest.Certificate(t, targetstest.Canary)
	kubeconfig := func(user string) []byte { return targetstest.Kubeconfig(server.URL, server.CA, user) }
	const (
		inside  = "In the kubeconfig of spec.agentless.auth.kubeconfig.secretRef: "
		toToken = "spec.agentless.auth.token.tokenRef: "
		toCert  = "spec.agentless.auth.clientCert.certRef: "
		toKey   = "spec.agentless.auth.clientCert.keyRef: "
		toCA    = "spec.agentless.caPublicCertRef: "
		toURL   = "spec.agentless.server: "
	)
	for name, test := range map[string]struct {
		auth   corev1alpha1.ClusterAuthSpec
		at     string
		value  []byte
		server string
		want   string
	}{
		"empty":         {byKubeconfig(), "kubeconfig", nil, "", inside + string(target.FaultEmpty) + "."},
		"canary":        {byKubeconfig(), "kubeconfig", []byte(targetstest.Canary), "", inside + string(target.FaultNotMap) + "."},
		"not YAML":      {byKubeconfig(), "kubeconfig", []byte("{canary: [canary"), "", inside + string(target.FaultSyntax) + "."},
		"wrong type":    {byKubeconfig(), "kubeconfig", []byte("{current-context: [canary]}"), "", inside + "current-context: " + string(target.FaultType) + "."},
		"too large":     {byKubeconfig(), "kubeconfig", []byte(strings.Repeat("canary", 1<<18)), "", inside + string(target.FaultSize) + "."},
		"exec":          {byKubeconfig(), "kubeconfig", kubeconfig("{exec: {apiVersion: v1, command: canary}}"), "", inside + "users[].user.exec: "},
		"auth-provider": {byKubeconfig(), "kubeconfig", kubeconfig("{auth-provider: {name: canary}}"), "", inside + "users[].user.auth-provider: "},
		"a file":        {byKubeconfig(), "kubeconfig", kubeconfig("{tokenFile: /canary}"), "", inside + "users[].user.tokenFile: "},
		"impersonation": {byKubeconfig(), "kubeconfig", kubeconfig("{as: canary}"), "", inside + "users[].user.as: "},
		"token":         {byKubeconfig(), "kubeconfig", kubeconfig(`{token: "canary canary"}`), "", inside + "users[].user.token: "},
		"no user":       {byKubeconfig(), "kubeconfig", kubeconfig("{}"), "", inside + "users[].user: "},
		"server":        {byKubeconfig(), "kubeconfig", targetstest.Kubeconfig("http://canary", nil, "{token: canary}"), "", inside + "clusters[].cluster.server: "},
		"authority":     {byKubeconfig(), "kubeconfig", targetstest.Kubeconfig(server.URL, []byte("canary"), "{token: canary}"), "", inside + "clusters[].cluster.certificate-authority-data: "},

		"no token":            {byToken(), "token", nil, server.URL, toToken},
		"spaces":              {byToken(), "token", []byte("canary canary"), server.URL, toToken},
		"its server":          {byToken(), "", nil, "http://canary", toURL},
		"its no server":       {byToken(), "", nil, "", toURL},
		"its authority":       {byToken(), "ca.crt", []byte("canary"), server.URL, toCA},
		"no certificate":      {byCert(), "cert", nil, server.URL, toCert},
		"no key":              {byCert(), "key", nil, server.URL, toKey},
		"no PEM":              {byCert(), "cert", []byte("canary"), server.URL, toCert},
		"another's":           {byCert(), "cert", otherCert, server.URL, toCert},
		"key too large":       {byCert(), "key", append(key, make([]byte, 64<<10)...), server.URL, toKey},
		"cert: its server":    {byCert(), "", nil, "https://canary@canary", toURL},
		"cert: its CA":        {byCert(), "ca.crt", []byte("canary"), server.URL, toCA},
		"the key in its cert": {byCert(), "cert", key, server.URL, toCert},
	} {
		t.Run(name, func(t *testing.T) {
			_, credentials := east(t)
			credentials.PutMap("team", "ca", "ca.crt", server.CA)
			credentials.Put("team", "east", "cert", cert)
			credentials.Put("team", "east", "key", key)
			if test.at == "ca.crt" {
				credentials.PutMap("team", "ca", test.at, test.value)
			} else if test.at != "" {
				credentials.Put("team", "east", test.at, test.value)
			}
			problem := refused(t, newPool(t, credentials, withTokenAndCert), agentless("east", test.server, test.auth))
			assert.True(t, strings.HasPrefix(problem.Message, test.want), problem.Message)
			assert.True(t, strings.HasSuffix(problem.Message, "."), problem.Message)
			assert.False(t, problem.Unsupported)
		})
	}
	assert.Zero(t, server.Opened())
}

// C2: what a kubeconfig may ask for is up to the administrator.
func TestC2Allowances(t *testing.T) {
	server, credentials := east(t)
	credentials.Put("team", "east", "kubeconfig", []byte(`apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: "`+server.URL+`", insecure-skip-tls-verify: true}}]
users: [{name: it, user: {token: `+targetstest.Token+`}}]
`))
	cluster := agentless("east", "", byKubeconfig())
	assert.Contains(t, refused(t, newPool(t, credentials), cluster).Message, "insecure-skip-tls-verify")
	connect(t, newPool(t, credentials, func(c *targets.Config) { c.Allow.InsecureTLS = true }), cluster)
}

// P11: which addresses may be dialled is up to the administrator.
func TestP11Policy(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials, func(c *targets.Config) { c.Policy.AllowLocal = false })
	made, err := pool.Connect(t.Context(), agentless("east", server.URL, byKubeconfig()))
	require.NoError(t, err)
	_, err = made.Probe(t.Context())
	var failure *target.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, target.ReasonAddress, failure.Reason)
	assert.Zero(t, server.Opened())
}

// C1: connectionParameters limit requests, but not with a kubeconfig.
func TestC1ConnectionParameters(t *testing.T) {
	server, credentials := east(t)
	pool := newPool(t, credentials, withTokenAndCert)
	cluster := agentless("east", server.URL, byToken())
	parameters := func(qps, burst int32, timeout *time.Duration) {
		cluster.Spec.Agentless.ConnectionParameters = &corev1alpha1.ClusterConnectionParametersSpec{QPS: &qps, Burst: &burst}
		if timeout != nil {
			cluster.Spec.Agentless.ConnectionParameters.Timeout = seconds(0)
			cluster.Spec.Agentless.ConnectionParameters.Timeout.Duration = *timeout
		}
	}
	made, _ := connect(t, pool, cluster)
	zero := time.Duration(0)
	parameters(0, 0, &zero)
	same, _ := connect(t, pool, cluster)
	assert.Same(t, made, same, "0 is as if it were not said")
	parameters(50, 100, nil)
	same, _ = connect(t, pool, cluster)
	assert.Same(t, made, same, "these are the defaults")

	before := made
	minute := time.Minute
	for name, change := range map[string]func(){
		"qps":     func() { parameters(1, 100, nil) },
		"burst":   func() { parameters(50, 1, nil) },
		"timeout": func() { parameters(50, 100, &minute) },
	} {
		change()
		other, _ := connect(t, pool, cluster)
		assert.NotSame(t, before, other, name)
		requireClosed(t, before)
		before = other
	}

	// The time-out is that of a request: the cluster is frozen, and the context has no end.
	short := 50 * time.Millisecond
	parameters(50, 100, &short)
	server.Freezes(true)
	made, err := pool.Connect(t.Context(), cluster)
	require.NoError(t, err)
	_, err = made.Probe(t.Context())
	var failure *target.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, target.ReasonTimeout, failure.Reason)
}
