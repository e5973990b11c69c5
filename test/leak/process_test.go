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
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/test/harness"
)

// auditPolicy has everything told.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: RequestResponse
`

var serving = regexp.MustCompile(`"Serving" address="([^"]+)"`)

// start starts a server that tells all that it can, and sees to it that all is recorded.
func (s *suite) start(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	write := func(name, content string) string {
		require.NoError(t, os.WriteFile(file(name), []byte(content), 0o600))
		return file(name)
	}
	s.Server = &harness.Server{Dir: file("data")}
	args := []string{
		"--standalone", "--data-dir", s.Dir, "--secure-port", "0", "-v=10", "--profiling", "--contention-profiling",
		"--audit-policy-file", write("policy.yaml", auditPolicy), "--audit-log-path", file("audit.log"), "--audit-log-maxsize", "100000", "--audit-webhook-config-file", s.auditWebhook(t, file("webhook.kubeconfig")),
		"--authorizer-record", file("authorizer.log"), "--erring-user", erring, "--hanging-user", hanging,
		"--serve-groups", strings.Join(apiserver.Groups(), ","),
	}
	s.cmd = exec.CommandContext(s.t.Context(), s.plan.binary, append(args, s.plan.flags...)...)
	s.cmd.Env = append(os.Environ(), s.plan.env...)
	output, err := os.Create(file("output"))
	require.NoError(t, err)
	defer output.Close()
	s.cmd.Stdout, s.cmd.Stderr = output, output
	s.cmd.Cancel = func() error { return s.cmd.Process.Kill() }
	require.NoError(t, s.cmd.Start())
	for name, what := range map[string]string{"output": "stdout and stderr", "audit.log": "audit log", "authorizer.log": "authorizer"} {
		s.recorder.AddFile(what, file(name))
	}
	if !await(patience, func() bool {
		content, err := os.ReadFile(file("output"))
		require.NoError(t, err)
		match := serving.FindSubmatch(content)
		if match == nil {
			return false
		}
		s.Base = "https://" + string(match[1])
		return true
	}) {
		content, _ := os.ReadFile(file("output"))
		require.Fail(t, "the server does not serve", "%s", content)
	}
	s.WaitReady(t)
	s.admin = &caller{name: "admin", user: harness.Admin, sees: everything, client: s.newClient(harness.Admin)}
}

// auditWebhook receives audit events, and returns the config that leads to it.
func (s *suite) auditWebhook(t *testing.T, path string) string {
	webhook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		content, err := io.ReadAll(req.Body)
		if err != nil {
			s.complain("audit webhook: %v", err)
		}
		s.recorder.Add("audit webhook", content)
	}))
	t.Cleanup(webhook.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{Server: webhook.URL}
	config.Contexts["webhook"] = &clientcmdapi.Context{Cluster: "webhook"}
	config.CurrentContext = "webhook"
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

// stop stops the server and records what it leaves behind: everything in its folder but
// its socket, and the files that do not belong to it, such as those that stand for Secrets.
func (s *suite) stop(t *testing.T) {
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, s.cmd.Wait(), "the server did not end as it should")
	require.NoError(t, s.recorder.AddFolder("store", s.Dir, "run", harness.SecretsFolder))
	// It told what it was asked to tell.
	for name, holds := range map[string]string{"audit.log": `"requestObject":{`, "output": "httplog.go", "authorizer.log": `"subresource":"sensitive"`} {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(s.Dir), name))
		require.NoError(t, err)
		assert.Contains(t, string(content[:min(len(content), 10<<20)]), holds, name)
	}
}

// shownOfItself asks for all that the process shows of itself: metrics, health,
// discovery, OpenAPI, profiles. Among the metrics there has to be one of that name.
func (s *suite) shownOfItself(t *testing.T, metric string) {
	var root struct{ Paths []string }
	s.getJSON(t, "/", jsonType, &root)
	index := s.must(t, request{caller: s.admin, method: http.MethodGet, path: "/debug/pprof/", accept: "*/*"})
	paths := slices.Concat(root.Paths, []string{"/", "/debug/pprof/", "/debug/flags", "/debug/flags/v", "/flagz", "/configz", "/logs/"})
	for _, link := range regexp.MustCompile(`href='?"?([^'">?]+)`).FindAllSubmatch(index.body, -1) {
		profile := "/debug/pprof/" + string(link[1])
		switch {
		case strings.HasSuffix(profile, "/profile"), strings.HasSuffix(profile, "/trace"): // they take their time
			s.must(t, request{caller: s.admin, method: http.MethodGet, path: profile + "?seconds=1", accept: "*/*"})
		default:
			paths = append(paths, profile, profile+"?debug=1", profile+"?debug=2")
		}
	}
	accepts := []string{"*/*", "text/plain", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		for _, accept := range accepts {
			if accept == "*/*" || !strings.HasPrefix(path, "/debug") {
				s.do(t, request{caller: s.admin, method: http.MethodGet, path: path, accept: accept})
			}
		}
		for _, c := range s.callers {
			if c.name == "operator" || c.name == "anonymous" {
				s.do(t, request{caller: c, method: http.MethodGet, path: path, accept: "*/*"})
			}
		}
	}
	metrics := s.must(t, request{caller: s.admin, method: http.MethodGet, path: "/metrics", accept: "*/*"})
	assert.Contains(t, string(metrics.body), metric)
	assert.Contains(t, string(index.body), "goroutine")
	assert.True(t, json.Valid(s.must(t, request{caller: s.admin, method: http.MethodGet, path: "/openapi/v2", accept: jsonType}).body))
}
