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
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// patience limits how long a test waits for what comes by itself: pauses between
// attempts grow to half a minute.
const patience = 2 * time.Minute

// life is a control plane and an Entente that are started, stopped and deprived of
// rights.
type life struct {
	cluster *kube.Cluster
	entente *install.Installed
	admin   kubernetes.Interface
	seen    int64 // how much of the log earlier tests have had
}

// TestLife is Entente's life with its host cluster: what is missing, away, taken or
// changed, each said in a clear message, and each mended by itself. At its end
// Entente is uninstalled as docs/install.md says.
func TestLife(t *testing.T) {
	cluster := kube.Start(t)
	l := &life{cluster: cluster, entente: install.Prepare(t, cluster), admin: cluster.Clientset(t, kube.Admin)}
	for _, part := range []struct {
		name string
		test func(*life, *testing.T)
	}{
		{"host away at start", (*life).hostAwayAtStart},
		{"K4 group taken by CRDs", (*life).groupTaken},
		{"missing RoleBinding of the front proxy's CA", (*life).missingRoleBinding},
		{"missing ClusterRoleBinding to delegate", (*life).missingDelegation},
		{"APIService that leads elsewhere", (*life).apiServiceElsewhere},
		{"Secret of the serving certificate deleted", (*life).servingSecretDeleted},
		{"R17 Secret of the key deleted", (*life).keySecretDeleted},
		{"request-header CA rotated under load", (*life).requestHeaderCARotated},
		{"R2 host away later", (*life).hostAwayLater},
		{"uninstalled", (*life).uninstalled},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(l, t) }) {
			t.Logf("the log of Entente:\n%s", l.log(t))
			return // each part begins with what the one before has left
		}
	}
}

// begin starts Entente anew, with these flags more; log returns what it prints from here
// on.
func (l *life) begin(t *testing.T, flags ...string) {
	t.Helper()
	require.NoError(t, l.entente.Stop())
	if info, err := os.Stat(l.entente.Log); err == nil {
		l.seen = info.Size()
	}
	l.entente.Run(t, flags...)
}

func (l *life) log(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(l.entente.Log)
	require.NoError(t, err)
	return string(content[min(l.seen, int64(len(content))):])
}

// says waits until the log has a line that matches, and returns its submatches.
func (l *life) says(t *testing.T, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	var match []string
	eventually(t, "the log says "+pattern, func(context.Context) error {
		if match = expression.FindStringSubmatch(l.log(t)); match == nil {
			return fmt.Errorf("it says:\n%s", l.log(t))
		}
		return nil
	})
	return match
}

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	eventuallyWithin(t, patience, what, check)
}

func eventuallyWithin(t *testing.T, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	require.NoErrorf(t, err, "did not happen: %s: %v", what, last)
}

// direct asks Entente itself, as nobody or by a token; status 0 is no answer.
func (l *life) direct(ctx context.Context, t *testing.T, path, token string) (status int, body string) {
	t.Helper()
	// Its certificate is for the Service, and its CA is not what is tested here.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.entente.URL()+path, nil)
	require.NoError(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: transport, Timeout: 15 * time.Second}).Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(content)
}

// awaitReadyz waits until /readyz of Entente itself has a status.
func (l *life) awaitReadyz(t *testing.T, wanted int) {
	t.Helper()
	eventually(t, fmt.Sprintf("/readyz answers %d", wanted), func(ctx context.Context) error {
		if status, body := l.direct(ctx, t, "/readyz", ""); status != wanted {
			return fmt.Errorf("%d: %s", status, body)
		}
		return nil
	})
}

// awaitUnserved waits until kube-apiserver says that the APIService is not available.
func (l *life) awaitUnserved(t *testing.T) {
	t.Helper()
	eventually(t, "the APIService is not available", func(context.Context) error {
		status := l.cluster.MustKubectl(t, kube.Admin, "", "get", "apiservice", apiService, "-o", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
		if status != "False" {
			return fmt.Errorf("Available is %s", status)
		}
		return nil
	})
}

const apiService = "v1alpha1.peering.entente.dev"

// mend runs the command that the log says is missing, as the admin.
func (l *life) mend(t *testing.T, command string) {
	t.Helper()
	words := strings.Fields(command)
	require.Equal(t, "kubectl", words[0])
	l.cluster.MustKubectl(t, kube.Admin, "", words[1:]...)
}

// A host that is away at start is waited for, without listening.
func (l *life) hostAwayAtStart(t *testing.T) {
	l.cluster.Stopped(t, func() {
		l.begin(t)
		l.says(t, `waiting for the host cluster`)
		status, body := l.direct(t.Context(), t, "/livez", "")
		assert.Zerof(t, status, "it listens: %s", body)
	})
	l.entente.WaitServed(t)
}

// K4: a group whose CRDs exist is not registered over them; start-up says so.
func (l *life) groupTaken(t *testing.T) {
	const name = "clusterpeers.peering.entente.dev"
	l.cluster.MustKubectl(t, kube.Admin, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+name+`, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: peering.entente.dev
  scope: Cluster
  names: {plural: clusterpeers, singular: clusterpeer, kind: ClusterPeer}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "apply", "-f", "-")
	l.begin(t)
	select {
	case <-l.entente.Process().Ended():
	case <-time.After(patience):
		require.Fail(t, "it runs", l.log(t))
	}
	assert.NotZero(t, l.entente.Process().ExitCode())
	assert.Contains(t, l.log(t), "CustomResourceDefinitions of a group that is served here: "+name)
	l.awaitUnserved(t)

	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "crd", name)
	l.begin(t)
	l.entente.WaitServed(t)
}

// Section 3: it cannot read the front proxy's CA: not ready, retried, with the
// RoleBinding to create named; nobody is anonymous by accident.
func (l *life) missingRoleBinding(t *testing.T) {
	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "rolebinding", "-n", "kube-system", "entente-apiserver-authentication-reader")
	l.begin(t)
	command := l.says(t, `what is missing: (kubectl create rolebinding [^"]*)`)[1]
	assert.Contains(t, command, "entente-apiserver-authentication-reader")
	l.awaitReadyz(t, http.StatusInternalServerError)
	for _, path := range []string{"/apis", "/apis/peering.entente.dev/v1alpha1", "/apis/peering.entente.dev/v1alpha1/clusterpeers", "/metrics", "/readyz/request-header"} {
		status, _ := l.direct(t.Context(), t, path, "")
		assert.Equal(t, http.StatusUnauthorized, status, path)
	}
	l.awaitUnserved(t)

	l.mend(t, command)
	l.entente.WaitServed(t)
}

// A server that may not ask about users says so before a user meets it.
func (l *life) missingDelegation(t *testing.T) {
	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "clusterrolebinding", "entente-apiserver-auth-delegator")
	l.begin(t)
	command := l.says(t, `what is missing: (kubectl create clusterrolebinding [^"]*)`)[1]
	l.awaitReadyz(t, http.StatusInternalServerError)
	l.mend(t, command)
	l.entente.WaitServed(t)
}

// An APIService that points elsewhere is said, and not written to.
func (l *life) apiServiceElsewhere(t *testing.T) {
	before := l.cluster.MustKubectl(t, kube.Admin, "", "get", "apiservice", apiService, "-o", "jsonpath={.spec.caBundle}")
	require.NotEmpty(t, before)
	l.cluster.MustKubectl(t, kube.Admin, "", "patch", "apiservice", apiService, "--type=merge", "-p", `{"spec":{"service":{"name":"somebody-else"},"caBundle":null}}`)
	l.begin(t)
	l.says(t, apiService+`.*somebody-else`)
	l.awaitReadyz(t, http.StatusInternalServerError)
	assert.Empty(t, l.cluster.MustKubectl(t, kube.Admin, "", "get", "apiservice", apiService, "-o", "jsonpath={.spec.caBundle}"), "a foreign APIService was given a CA")

	l.cluster.MustKubectl(t, kube.Admin, "", "patch", "apiservice", apiService, "--type=merge", "-p", `{"spec":{"service":{"name":"entente-apiserver"}}}`)
	l.entente.WaitServed(t)
	assert.Equal(t, before, l.cluster.MustKubectl(t, kube.Admin, "", "get", "apiservice", apiService, "-o", "jsonpath={.spec.caBundle}"))
}

// Without its Secret it says which is missing; with an empty one, as it is shipped,
// it makes another certificate.
func (l *life) servingSecretDeleted(t *testing.T) {
	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "secret", "-n", install.Namespace, "entente-serving-cert")
	l.begin(t)
	l.says(t, `(?i)secret.*entente-serving-cert`)
	l.awaitReadyz(t, http.StatusInternalServerError)
	l.cluster.MustKubectl(t, kube.Admin, "", "create", "secret", "generic", "-n", install.Namespace, "entente-serving-cert")
	l.entente.WaitServed(t)
}

// R17: without the Secret of the key it waits, and makes no key; it goes on with the
// one that comes back.
func (l *life) keySecretDeleted(t *testing.T) {
	read := func() string {
		return l.cluster.MustKubectl(t, kube.Admin, "", "get", "secret", "-n", install.Namespace, "entente-encryption-key", "-o", "jsonpath={.data}")
	}
	saved, before := l.cluster.MustKubectl(t, kube.Admin, "", "get", "secret", "-n", install.Namespace, "entente-encryption-key", "-o", "yaml"), read()
	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "secret", "-n", install.Namespace, "entente-encryption-key")
	l.begin(t)
	l.says(t, `waiting for the key of the store.*entente-encryption-key`)
	status, body := l.direct(t.Context(), t, "/livez", "")
	assert.Zerof(t, status, "it listens: %s", body)
	l.cluster.MustKubectl(t, kube.Admin, saved, "create", "-f", "-")
	l.entente.WaitServed(t)
	assert.Equal(t, before, read())
}

// A rotation of the front proxy's CA, as kube-apiserver makes it live, is followed
// without one request failing.
func (l *life) requestHeaderCARotated(t *testing.T) {
	l.cluster.AddUser(t, "reader")
	l.cluster.Bind(t, "reader", "entente-viewer")
	var done, failed atomic.Int64
	var first atomic.Value
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 2 {
		// A client of its own, and a connection for each request to kube-apiserver, which
		// keeps its own to Entente.
		client := l.entente.Client(t, "reader")
		load.Go(func() {
			for ctx.Err() == nil {
				_, err := client.PeeringV1alpha1().ClusterPeers().List(ctx, metav1.ListOptions{})
				if err != nil && ctx.Err() == nil {
					failed.Add(1)
					first.CompareAndSwap(nil, err.Error())
				}
				done.Add(1)
			}
		})
	}
	// settled: Entente takes a new connection of kube-apiserver; requests went through
	// since the step.
	settled := func(ctx context.Context) error {
		until := done.Load() + 50
		return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
			return done.Load() > until, nil
		})
	}
	before, err := l.cluster.RequestHeaderCA(t.Context())
	require.NoError(t, err)
	require.NoError(t, l.cluster.RotateRequestHeaderCA(t.Context(), settled))
	after, err := l.cluster.RequestHeaderCA(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, before, after, "it was not rotated")
	cancel()
	load.Wait()
	assert.Zerof(t, failed.Load(), "of %d requests; the first: %v", done.Load(), first.Load())

	// And new connections are made with the new certificate.
	require.NoError(t, l.cluster.StopAPIServer())
	require.NoError(t, l.cluster.StartAPIServer(t.Context()))
	l.entente.WaitServed(t)
}

// R2: while the host is away Entente is not ready, and shows nobody more than what
// is public; it is back by itself.
func (l *life) hostAwayLater(t *testing.T) {
	const canary = "entente1.canary-of-the-host-that-is-away"
	for account, role := range map[string]string{"plain": "entente-viewer", "trusted": "entente-sensitive-reader"} {
		l.cluster.MustKubectl(t, kube.Admin, "", "create", "serviceaccount", "-n", "default", account)
		l.cluster.MustKubectl(t, kube.Admin, "", "create", "clusterrolebinding", account, "--clusterrole="+role, "--serviceaccount=default:"+account)
	}
	l.cluster.MustKubectl(t, kube.Admin, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: away}\nspec: {type: Join, join: {connectionString: "+canary+"}}\n", "create", "-f", "-")
	token := map[string]string{}
	for _, account := range []string{"plain", "trusted"} {
		var err error
		token[account], err = l.cluster.ServiceAccountToken(t.Context(), "default", account, time.Hour)
		require.NoError(t, err)
	}
	const path = "/apis/peering.entente.dev/v1alpha1/clusterpeers/away"
	eventually(t, "both are known", func(ctx context.Context) error {
		_, plain := l.direct(ctx, t, path, token["plain"])
		_, trusted := l.direct(ctx, t, path, token["trusted"])
		if !strings.Contains(plain, "omitted") || !strings.Contains(trusted, canary) {
			return fmt.Errorf("plain: %s\ntrusted: %s", plain, trusted)
		}
		return nil
	})
	l.cluster.Paused(t, func() {
		l.awaitReadyz(t, http.StatusInternalServerError)
		// What the host has answered counts for 10 s; after that nobody is known.
		for account, token := range token {
			eventually(t, account+" is known no longer", func(ctx context.Context) error {
				status, body := l.direct(ctx, t, path, token)
				if account == "plain" {
					assert.NotContains(t, body, canary)
				}
				if status == http.StatusOK {
					return errors.New("it is")
				}
				assert.NotContains(t, body, canary, account)
				return nil
			})
		}
		status, _ := l.direct(t.Context(), t, path, "")
		assert.Equal(t, http.StatusUnauthorized, status)
		l.says(t, `"Not ready" err="the host cluster does not answer`)
	})
	l.entente.WaitServed(t)
	eventually(t, "both are known again", func(ctx context.Context) error {
		_, plain := l.direct(ctx, t, path, token["plain"])
		_, trusted := l.direct(ctx, t, path, token["trusted"])
		if !strings.Contains(plain, "omitted") || !strings.Contains(trusted, canary) {
			return fmt.Errorf("plain: %s\ntrusted: %s", plain, trusted)
		}
		return nil
	})
	assert.NotContains(t, l.log(t), canary)
}

// After it was uninstalled in the documented order, namespaces are deleted and
// garbage is collected as if it had never been there.
func (l *life) uninstalled(t *testing.T) {
	l.cluster.AddUser(t, "developer")
	l.cluster.Grant(t, "developer", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "configmaps"}, Verbs: []string{"get", "list", "watch", "create", "delete"}})

	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "cpeer", "--all", "--wait")
	l.cluster.MustKubectl(t, kube.Admin, "", "delete", "apiservice", apiService)
	manifests := l.cluster.MustKubectl(t, kube.Admin, "", "kustomize", "../../artifacts/deploy")
	require.NoError(t, l.entente.Stop())
	l.cluster.MustKubectl(t, kube.Admin, manifests, "delete", "--ignore-not-found", "--wait=false", "-f", "-")

	collected(t, l.cluster, "developer", "after-entente")
	eventually(t, "its namespace is gone", func(ctx context.Context) error {
		_, err := l.admin.CoreV1().Namespaces().Get(ctx, install.Namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	assert.NotContains(t, l.cluster.MustKubectl(t, kube.Admin, "", "api-resources", "-o", "name"), "entente")
	for _, kind := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		assert.NotContains(t, l.cluster.MustKubectl(t, kube.Admin, "", "get", kind, "-A", "-o", "name", "-l", "app.kubernetes.io/name=entente"), "entente", kind)
	}
}

// collected makes a namespace with an object and one that it owns, deletes the
// owner, sees the other go, and deletes the namespace and sees it go.
func collected(t *testing.T, cluster *kube.Cluster, user, namespace string) {
	t.Helper()
	cluster.MustKubectl(t, user, "", "create", "namespace", namespace)
	uid := cluster.MustKubectl(t, user, "", "create", "configmap", "owner", "-n", namespace, "-o", "jsonpath={.metadata.uid}")
	cluster.MustKubectl(t, user, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  namespace: `+namespace+`
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: `+uid+`}]
`, "create", "-f", "-")
	cluster.MustKubectl(t, user, "", "delete", "configmap", "owner", "-n", namespace)
	eventually(t, "what the object owned is collected", func(context.Context) error {
		if result := cluster.Kubectl(t, user, "", "get", "configmap", "owned", "-n", namespace); !strings.Contains(result.Stderr, "NotFound") {
			return fmt.Errorf("%s", result.Output())
		}
		return nil
	})
	cluster.MustKubectl(t, user, "", "delete", "namespace", namespace, "--wait=false")
	eventually(t, "the namespace is gone", func(context.Context) error {
		if result := cluster.Kubectl(t, user, "", "get", "namespace", namespace); !strings.Contains(result.Stderr, "NotFound") {
			return fmt.Errorf("%s", result.Output())
		}
		return nil
	})
}
