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
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// People with a client certificate of the cluster and the shipped ClusterRoles.
// Nobody but who installs is system:masters.
const (
	keeper   = "keeper"   // entente-operator and entente-sensitive-reader, and writes /sensitive
	operator = "operator" // entente-operator
	viewer   = "viewer"   // entente-viewer
)

// suite is a control plane with Entente behind it, and those who use it. Each test
// has objects of its own.
type suite struct {
	*kube.Cluster
	entente *install.Installed

	mu sync.Mutex
	// sighted are the users who may see some value.
	sighted map[string]bool
	// leaks are the answers that held a value and went to somebody else.
	leaks []string
	// older is what Entente has asked of a host without watch-list.
	older install.Rights
}

// TestBehindAHost is the ordinary use of Entente behind a real kube-apiserver, by
// ordinary users bound by RBAC. At its end the shipped rights are held against what
// Entente has asked for.
func TestBehindAHost(t *testing.T) {
	cluster := kube.Start(t)
	s := &suite{Cluster: cluster, entente: install.Start(t, cluster), sighted: map[string]bool{kube.Admin: true}}
	s.addPeople(t)
	s.Cluster.MustKubectl(t, kube.Admin, "", "apply", "-f", deckhouseProject)

	t.Run("Available", s.available)
	// Deletes every ClusterPeer in the end, so it comes before the others.
	t.Run("Kubectl", func(t *testing.T) { conformance.Kubectl(t, s, people()) })
	t.Run("Each", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"GitOps":             func(t *testing.T) { conformance.GitOps(t, s, people()) },
			"GitOpsOwners":       func(t *testing.T) { conformance.GitOpsOwners(t, s, people()) },
			"Roles":              s.roles,
			"AggregatedRoles":    s.aggregatedRoles,
			"ResourceNames":      s.resourceNames,
			"Revealers":          s.revealers,
			"Impersonation":      s.impersonation,
			"Discovery":          s.discovery,
			"OpenAPI":            s.openAPI,
			"Metadata":           s.metadata,
			"Direct":             s.direct,
			"DirectTokens":       s.directTokens,
			"Events":             s.events,
			"DanglingFlowSchema": s.danglingFlowSchema,
			"Garbage":            s.garbage,
			"OpenWatch":          s.openWatch,
			"Manifests":          s.manifests,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("Down", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"GarbageWhileDown": s.garbageWhileDown,
			// Another host, in the time that the first one's controllers take.
			"HostWithoutWatchList": s.hostWithoutWatchList,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("Rights", s.rights)
	t.Run("Logs", s.logs)
	t.Run("Answers", s.answers)
	t.Run("NewKey", s.newKey)
	t.Run("Restored", s.restored)
	t.Run("AtRest", s.atRest)
}

func (s *suite) addPeople(t *testing.T) {
	t.Helper()
	addPeople(t, s.Cluster)
	s.Grant(t, keeper, conformance.Rule([]string{"update", "patch"}, []string{"clusterpeers/sensitive"}))
	s.sees(keeper, conformance.Keyholder)
}

func people() conformance.Users {
	return conformance.Users{Admin: keeper, Operator: operator, Viewer: viewer}
}

// sees says that users may see some value.
func (s *suite) sees(users ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, user := range users {
		s.sighted[user] = true
	}
}

func (s *suite) blind(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.sighted[user]
}

// AddUser makes a user with these rights in the cluster.
func (s *suite) AddUser(t testing.TB, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	s.Cluster.AddUser(t, name)
	s.Grant(t, name, rules...)
}

// Kubectl runs kubectl as a user; whoever may not see values gets none.
func (s *suite) Kubectl(t testing.TB, user, stdin string, args ...string) process.Result {
	t.Helper()
	result := s.Cluster.Kubectl(t, user, stdin, args...)
	// kubectl may repeat what it was given.
	given := stdin + strings.Join(args, " ")
	if s.blind(user) && !strings.Contains(given, conformance.Canary) {
		assert.NotContains(t, result.Output(), conformance.Canary, "kubectl %v as %s", args, user)
	}
	return result
}

// MustKubectl is Kubectl, of a command that has to succeed.
func (s *suite) MustKubectl(t testing.TB, user, stdin string, args ...string) string {
	t.Helper()
	result := s.Kubectl(t, user, stdin, args...)
	require.Zero(t, result.Code, "kubectl %v as %s: %s", args, user, result.Output())
	return result.Stdout
}

// refused is Kubectl, of a command that has to fail with this text.
func (s *suite) refused(t testing.TB, text, user string, args ...string) {
	t.Helper()
	result := s.Kubectl(t, user, "", args...)
	assert.NotZero(t, result.Code, "kubectl %v as %s: %s", args, user, result.Output())
	assert.Contains(t, result.Stderr, text, "kubectl %v as %s", args, user)
}

// RESTConfig returns a client config for a user. The answers to those who may not
// see values are searched for them.
func (s *suite) RESTConfig(t testing.TB, user string) *rest.Config {
	t.Helper()
	config := s.Cluster.RESTConfig(t, user)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err == nil && s.blind(user) && resp.StatusCode != http.StatusSwitchingProtocols {
				resp.Body = &searched{ReadCloser: resp.Body, found: func() { s.leaked(user + ": " + req.Method + " " + req.URL.String()) }}
			}
			return resp, err
		})
	})
	return config
}

// Client returns the generated client for a user.
func (s *suite) Client(t testing.TB, user string) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfig(s.RESTConfig(t, user))
	require.NoError(t, err)
	return client
}

// HTTP returns an HTTP client for a user.
func (s *suite) HTTP(t testing.TB, user string) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(s.RESTConfig(t, user))
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func (s *suite) leaked(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaks = append(s.leaks, what)
}

// answers is R1 and R5 for every answer that somebody got by another program than
// kubectl.
func (s *suite) answers(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Empty(t, s.leaks, "answers with values to those who may not see them")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// searched looks for the canary in what is read, across the borders of reads.
type searched struct {
	io.ReadCloser
	tail  []byte
	found func()
}

func (s *searched) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.tail = append(s.tail, p[:n]...)
	if bytes.Contains(s.tail, []byte(conformance.Canary)) {
		s.found()
		s.tail = nil
	}
	if keep := len(conformance.Canary); len(s.tail) > keep {
		s.tail = append([]byte(nil), s.tail[len(s.tail)-keep:]...)
	}
	return n, err
}

// answer is what an HTTP request got.
type answer struct {
	code   int
	header http.Header
	body   string
}

// send sends a request and reads the answer to its end.
func send(t testing.TB, client *http.Client, method, url string, header http.Header) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{code: resp.StatusCode, header: resp.Header, body: string(body)}
}

// get is send, of a GET that has to be answered 200.
func (s *suite) get(t testing.TB, user, path, accept string) answer {
	t.Helper()
	got := send(t, s.HTTP(t, user), http.MethodGet, s.URL()+path, http.Header{"Accept": {accept}})
	require.Equal(t, http.StatusOK, got.code, "%s as %s: %s", path, user, got.body)
	return got
}
