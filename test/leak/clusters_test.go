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

package leak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"entente.dev/entente/test/harness"
	"entente.dev/entente/test/leak/search"
	"entente.dev/entente/test/process"
)

const (
	convoyGroup = "/apis/core.convoy.kumodo.io/"
	clusters    = convoyGroup + "v1alpha1/namespaces/default/clusters"
)

// kubeconfigs are what the files say that Clusters name: each holds the canary, and is
// refused or does not lead anywhere, but for the one that does.
func (s *suite) kubeconfigs(canary string) map[string]string {
	config := func(cluster, user string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"clusters: [{name: c, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
	}
	quoted := jsonOf(canary)
	server, token := fmt.Sprintf("server: %q", s.Base), "token: "+quoted
	return map[string]string{
		"a-program":       config(server, "exec: {apiVersion: client.authentication.k8s.io/v1, command: "+quoted+", args: ["+quoted+"], env: [{name: x, value: "+quoted+"}]}"),
		"a-provider":      config(server, "auth-provider: {name: "+quoted+", config: {access-token: "+quoted+"}}"),
		"a-path":          config(server, "tokenFile: "+quoted),
		"somebody-else":   config(server, token+", as: "+quoted),
		"no-authority":    config(server, token),
		"no-certificate":  config(server+", certificate-authority-data: "+quoted, token),
		"no-key":          config(server, "client-certificate-data: "+quoted+", client-key-data: "+quoted),
		"a-password":      config(server, "username: x, password: "+quoted),
		"in-the-url":      config("server: "+jsonOf("https://user:"+canary+"@127.0.0.1:1"), token),
		"the-url":         config("server: "+quoted, token),
		"a-proxy":         config(server+", proxy-url: "+jsonOf("http://user:"+canary+"@127.0.0.1:1"), token),
		"a-server-name":   config(server+", tls-server-name: "+quoted, token),
		"nowhere":         config("server: \"https://127.0.0.1:1\"", token),
		"unknown-field":   config(server, token+", "+canary+": x"),
		"twice":           config(server, token+", token: x"),
		"dangling":        strings.Replace(config(server, token), "current-context: c", "current-context: "+quoted, 1),
		"no-yaml":         "users: {" + quoted,
		"an-anchor":       "a: &a " + quoted + "\nb: *a\n",
		"the-value-alone": canary,
		"no-text":         "\xff\x00" + canary,
	}
}

// C2, R15: what is in the kubeconfigs that Clusters name leaves the server in no way: not in
// a status, an Event, a log line at -v=10, audit, a metric, the store; neither those of
// targets that are reached nor those with any fault there may be.
func TestClusters(t *testing.T) {
	binary, err := process.Build("leak-server", "./test/leak/server")
	require.NoError(t, err)
	s := &suite{t: t, plan: plan{binary: binary}}
	s.start(t)
	s.readTable(t)
	s.addCallers(t, []string{"operator", "viewer", "anonymous", "impersonated"})

	// The server is its own target, as a user with a key that is nowhere else.
	const user = "of-a-target"
	s.AddUser(t, user)
	well, err := os.ReadFile(s.Kubeconfig(user))
	require.NoError(t, err)
	require.NoError(t, os.Remove(s.Kubeconfig(user)))
	config, err := clientcmd.Load(well)
	require.NoError(t, err)
	var key string
	for _, info := range config.AuthInfos {
		key = strings.Split(string(info.ClientKeyData), "\n")[1]
	}
	canary := search.RandomCanary("in a kubeconfig")
	// What is around the number itself in a key is the same in every other one.
	inKey, err := search.NewCanary("the key of a user", key[12:48])
	require.NoError(t, err)

	files := s.kubeconfigs(canary.Value())
	for name, content := range files {
		s.WriteSecret(t, "default", name, "kubeconfig", []byte(content))
	}
	s.WriteSecret(t, "default", "well", "kubeconfig", well)
	reasons := map[string]string{"well": "Reachable"}
	for name := range files {
		reasons[name] = "ProbeFailed"
	}
	for name := range reasons {
		s.must(t, request{caller: s.admin, method: http.MethodPost, path: clusters, accept: jsonType, contentType: jsonType, body: fmt.Sprintf(
			`{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Cluster","metadata":{"name":%q},"spec":{"connectionMode":"agentless","agentless":{"server":"https://east.example","auth":{"type":"kubeconfig","kubeconfig":{"secretRef":{"name":%[1]q,"key":"kubeconfig"}}}}}}`, name)})
		s.must(t, request{caller: s.admin, method: http.MethodPost, path: strings.Replace(clusters, "clusters", "releases", 1), accept: jsonType, contentType: jsonType, body: fmt.Sprintf(
			`{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Release","metadata":{"name":%q},"spec":{"clusterRef":{"name":%[1]q}}}`, name)})
	}
	for name, reason := range reasons {
		s.saysOf(t, name, reason)
	}
	// One that was well and is not any more, and one that is put right.
	s.WriteSecret(t, "default", "no-yaml", "kubeconfig", well)
	s.WriteSecret(t, "default", "well", "kubeconfig", []byte(files["a-program"]))
	s.saysOf(t, "no-yaml", "Reachable")
	s.lookAtConvoy(t, reasons)
	for _, resource := range []string{"releases", "clusters"} {
		s.must(t, request{caller: s.admin, method: http.MethodDelete, path: strings.Replace(clusters, "clusters", resource, 1), accept: jsonType})
	}
	s.do(t, request{caller: s.callers[0], method: http.MethodGet, path: "/apis/peering.entente.dev/v1alpha1/clusterpeers/none/sensitive", accept: jsonType})
	s.shownOfItself(t, "entente_etcd_")
	s.stop(t)
	findings, err := s.recorder.Search(canary, inKey)
	require.NoError(t, err)
	for _, finding := range findings {
		assert.Fail(t, "a leak", "%s", finding)
	}
	for _, complaint := range s.complaints {
		assert.Fail(t, "not as expected", "%s", complaint)
	}
	// The search can fail: the files are what the values are in.
	require.NoError(t, s.recorder.AddFolder("files", s.Dir, "run", "etcd"))
	found, err := s.recorder.Search(canary, inKey)
	require.NoError(t, err)
	assert.Greater(t, len(found), len(files)-1, "%v", found)
}

// saysOf waits for the reason of the condition Ready of a Cluster.
func (s *suite) saysOf(t *testing.T, name, reason string) {
	harness.Eventually(t, name+" says "+reason, func(context.Context) bool {
		var cluster struct {
			Status struct{ Conditions []struct{ Reason string } }
		}
		a := s.must(t, request{caller: s.admin, method: http.MethodGet, path: clusters + "/" + name, accept: jsonType})
		require.NoError(t, json.Unmarshal(a.body, &cluster))
		return len(cluster.Status.Conditions) == 1 && cluster.Status.Conditions[0].Reason == reason
	})
}

// lookAtConvoy has everybody read all there is of Clusters and Releases, in every form.
func (s *suite) lookAtConvoy(t *testing.T, names map[string]string) {
	looked := 0
	for _, o := range s.table.operations {
		if !strings.HasPrefix(o.path, convoyGroup) || o.action != "get" && o.action != "list" {
			continue
		}
		looked++
		path := strings.ReplaceAll(o.path, "{namespace}", "default")
		for _, c := range s.callers {
			for _, form := range forms(o) {
				if !strings.Contains(path, "{name}") {
					s.do(t, request{caller: c, method: http.MethodGet, path: path, accept: form})
					continue
				}
				for name := range names {
					s.do(t, request{caller: c, method: http.MethodGet, path: strings.ReplaceAll(path, "{name}", name), accept: form})
				}
			}
		}
	}
	assert.Equal(t, 8, looked, "get, get of the status, a list of a namespace and of all, of two kinds")
	for _, path := range []string{clusters, convoyGroup + "v1alpha1/releases"} {
		s.do(t, request{caller: s.callers[0], method: http.MethodGet, path: path + "?watch=1&resourceVersion=0&timeoutSeconds=1", accept: jsonType})
	}
}
