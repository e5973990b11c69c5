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

package apiserver_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/clientcmd"

	"entente.dev/entente/test/harness"
)

// askedBy notes who asks a server for what.
type askedBy struct {
	authorizer.Authorizer
	mu    sync.Mutex
	users map[string]int
}

func (a *askedBy) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a.mu.Lock()
	a.users[attributes.GetUser().GetName()]++
	a.mu.Unlock()
	return a.Authorizer.Authorize(ctx, attributes)
}

// ConditionsAwareAuthorize does the same.
func (a *askedBy) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

func (a *askedBy) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.users)
}

func (a *askedBy) count(user string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.users[user]
}

// kubeconfigOf is a user's kubeconfig, and the pieces of his private key.
func kubeconfigOf(t *testing.T, s *harness.Server, user string) (content []byte, key string) {
	t.Helper()
	content, err := os.ReadFile(s.Kubeconfig(user))
	require.NoError(t, err)
	config, err := clientcmd.Load(content)
	require.NoError(t, err)
	for _, info := range config.AuthInfos {
		require.NotEmpty(t, info.ClientKeyData)
		key = string(info.ClientKeyData)
	}
	return content, strings.Split(strings.TrimSpace(key), "\n")[1]
}

// C1–C4, R15: standalone Clusters and Releases, from the file of a kubeconfig to what a viewer
// sees. The target is a standalone Entente too: it answers probes, and has no namespace
// kube-system by whose UID a cluster is known, so that nothing is ever applied to it. The
// server is the shipped program, at -v=10; nothing of a kubeconfig is in what it says.
func TestStandaloneTargets(t *testing.T) {
	t.Parallel()
	asked := &askedBy{users: map[string]int{}}
	target := harness.Start(t, harness.WithAuthorizer(func(a authorizer.Authorizer) authorizer.Authorizer {
		asked.Authorizer = a
		return asked
	}))
	target.AddUser(t, "first")
	target.AddUser(t, "second")
	first, firstKey := kubeconfigOf(t, target, "first")
	second, secondKey := kubeconfigOf(t, target, "second")
	asked.forget() // they were waited for

	dir := filepath.Join(t.TempDir(), "data")
	p := harness.StartReadyProcess(t, dir, "-v=10", "--serve-groups=peering.entente.dev,core.convoy.kumodo.io")
	s := &api{Server: p.Server, clients: map[string]*http.Client{}, pieces: map[string]fragment{}}
	for _, key := range []string{firstKey, secondKey} {
		s.keep(key)
	}
	token := s.secret()
	hostile := func(user string) []byte {
		return fmt.Appendf(nil, "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
			"clusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: %s}]\n", target.Base, user)
	}
	secrets := map[string]struct {
		content []byte
		message string // of the condition Ready
	}{
		"well":     {first, "The cluster was connected to, and its version read."},
		"program":  {hostile("{exec: {apiVersion: client.authentication.k8s.io/v1, command: " + token + ", args: [" + token + "]}}"), "exec"},
		"path":     {hostile("{tokenFile: /" + token + "}"), "tokenFile"},
		"token":    {hostile("{token: " + token + "}"), "certificate"},
		"no-yaml":  {[]byte("users: {" + token), "YAML"},
		"a-secret": {[]byte(token), "kubeconfig"},
	}
	k, r := clusterKind(), releaseKind()
	for name, secret := range secrets {
		p.WriteSecret(t, "fleet", name, "kubeconfig", secret.content)
		obj := set(t, k.object(name), name, "spec", "agentless", "auth", "kubeconfig", "secretRef", "name")
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, obj)).want(t, 201)
	}
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("absent"))).want(t, 201)
	s.do(t, harness.Operator, http.MethodPost, k.collection, `{"apiVersion":"`+convoyVersion+`","kind":"Cluster","metadata":{"name":"here"},"spec":{"connectionMode":"inCluster"}}`).want(t, 201)
	for name, cluster := range map[string]string{"waits": "well", "nowhere": "none"} {
		s.do(t, harness.Operator, http.MethodPost, r.collection, encode(t, set(t, r.object(name), cluster, "spec", "clusterRef", "name"))).want(t, 201)
	}
	// ready waits for a reason of the condition Ready, and returns the object and the message.
	ready := func(path, reason string) (obj map[string]any, message string) {
		t.Helper()
		var last any
		defer func() {
			if t.Failed() {
				t.Logf("%s says %v", path, last)
			}
		}()
		harness.Eventually(t, path+" says "+reason, func(context.Context) bool {
			obj = s.do(t, harness.Viewer, http.MethodGet, path, "").want(t, 200).object(t)
			for _, condition := range asList(field(obj, "status", "conditions")) {
				last = condition
				if c := condition.(map[string]any); c["reason"] == reason {
					message = fmt.Sprint(c["message"])
					return true
				}
			}
			return false
		})
		return obj, message
	}
	obj, message := ready(k.path("well"), "Reachable")
	assert.Equal(t, secrets["well"].message, message)
	assert.Equal(t, true, field(obj, "status", "reachable"))
	assert.NotEmpty(t, field(obj, "status", "lastSeen"))
	assert.NotEmpty(t, field(obj, "status", "discoveredVersion"))
	versions := asList(field(obj, "status", "discoveredAPIVersions"))
	assert.Contains(t, versions, peeringVersion)
	assert.NotContains(t, versions, convoyVersion, "the target does not serve it")
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if name != "well" {
			_, message := ready(k.path(name), "ProbeFailed")
			assert.Contains(t, message, secrets[name].message, name)
		}
	}
	for name, want := range map[string]string{"absent": "Secret", "here": "cluster"} {
		_, message := ready(k.path(name), "ProbeFailed")
		assert.Contains(t, message, want, name)
	}
	_, message = ready(r.path("waits"), "ClusterNotReady")
	assert.Contains(t, message, "The UID of the namespace kube-system cannot be read")
	_, message = ready(r.path("nowhere"), "ClusterNotReady")
	assert.Contains(t, message, "there is no such Cluster")

	// C3: the next probe is made with what the file says then.
	require.Positive(t, asked.count("first"))
	require.Zero(t, asked.count("second"))
	p.WriteSecret(t, "fleet", "well", "kubeconfig", second)
	harness.Eventually(t, "the target is asked by the second user", func(context.Context) bool { return asked.count("second") > 0 })
	ready(k.path("well"), "Reachable")
	// So does one that is put right.
	p.WriteSecret(t, "fleet", "token", "kubeconfig", second)
	ready(k.path("token"), "Reachable")

	// C1: nothing hangs.
	s.do(t, harness.Operator, http.MethodDelete, r.collection, "").want(t, 200)
	s.do(t, harness.Operator, http.MethodDelete, k.collection, "").want(t, 200)
	harness.Eventually(t, "all are gone", func(context.Context) bool { return len(r.list(t, s, ""))+len(k.list(t, s, "")) == 0 })

	// R15: in no log line, Events included, which are log lines here.
	p.Signal(t, os.Interrupt)
	p.WaitEnd(t)
	said := []byte(p.Output())
	assert.Empty(t, s.leaks(said, nil))
	for _, text := range []string{"Event occurred", "ProbeFailed", "Reachable", "ClusterNotReady", "httplog.go"} {
		assert.True(t, bytes.Contains(said, []byte(text)), "there are no such lines: %s", text)
	}
	for _, key := range []string{firstKey, secondKey} {
		assert.NotContains(t, string(said), base64.StdEncoding.EncodeToString([]byte(key)))
	}
}
