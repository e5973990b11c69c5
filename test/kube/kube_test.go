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

package kube_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"entente.dev/entente/test/kube"
)

// helperDir makes this binary start a control plane in that folder and print the
// numbers of its processes, instead of running tests.
const helperDir = "ENTENTE_TEST_KUBE_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		if err := help(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func help(dir string) error {
	c, err := kube.New(kube.Options{Dir: dir})
	if err != nil {
		return err
	}
	if err := c.Start(context.Background()); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(c.PIDs()); err != nil {
		return err
	}
	select {} // Until it is killed.
}

// A control plane does what one with nodes does: RBAC decides, namespaces go, and
// who was refused what is on record.
func TestControlPlane(t *testing.T) {
	c := kube.Start(t)

	t.Run("versions", func(t *testing.T) {
		bin, err := kube.FindBin()
		require.NoError(t, err)
		versions, err := kube.Versions(t.Context(), bin)
		require.NoError(t, err)
		info, err := c.Clientset(t, kube.Admin).Discovery().ServerVersion()
		require.NoError(t, err)
		assert.Regexp(t, `^1\.\d\d+\.\d+`, versions["kube-apiserver"])
		assert.Equal(t, "v"+versions["kube-apiserver"], info.GitVersion)
		assert.Equal(t, versions["kube-apiserver"], versions["kube-controller-manager"])
		assert.Regexp(t, `^3\.\d+\.\d+`, versions["etcd"])
		output := c.MustKubectl(t, kube.Admin, "", "version")
		assert.Equal(t, 2, strings.Count(output, "Version: v"+versions["kube-apiserver"]), output)
	})

	t.Run("an ordinary user may do what was granted", func(t *testing.T) {
		const user = "test:alice"
		c.AddUser(t, user)
		client := c.Clientset(t, user).CoreV1()
		_, err := client.Namespaces().List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)

		c.Grant(t, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create", "get", "delete"}})
		_, err = client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.ConfigMaps("short-lived").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
		c.BindIn(t, "short-lived", user, "edit")
		_, err = client.ConfigMaps("short-lived").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "content"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)

		// The namespace controller has to empty it first.
		require.NoError(t, client.Namespaces().Delete(t.Context(), "short-lived", metav1.DeleteOptions{}))
		eventually(t, "the namespace goes", func() bool {
			_, err := client.Namespaces().Get(t.Context(), "short-lived", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})

		c.Revoke(t, user)
		_, err = client.Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)

		eventually(t, "who was refused what, and by what others were let in, is on record", func() bool {
			var refused, allowed bool
			for _, event := range c.Audit(t) {
				if event.User.Username != user || event.ObjectRef == nil {
					continue
				}
				decision, reason := event.Annotations["authorization.k8s.io/decision"], event.Annotations["authorization.k8s.io/reason"]
				refused = refused || decision == "forbid" && event.Verb == "list" && event.ObjectRef.Resource == "namespaces"
				allowed = allowed || decision == "allow" && event.Verb == "create" && event.ObjectRef.Resource == "configmaps" && strings.Contains(reason, `ClusterRole "edit"`)
			}
			return refused && allowed
		})
	})

	t.Run("a ServiceAccount is a user", func(t *testing.T) {
		user := c.ServiceAccountKubeconfig(t, "default", "default")
		output := c.MustKubectl(t, user, "", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
		assert.Equal(t, user, output)
		c.GrantIn(t, "default", user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
		_, err := c.Clientset(t, user).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
	})

	t.Run("kube-apiserver goes away and comes back", func(t *testing.T) {
		client := c.Clientset(t, kube.Admin)
		c.Stopped(t, func() {
			_, err := client.Discovery().ServerVersion()
			require.Error(t, err)
		})
		_, err := client.Discovery().ServerVersion()
		require.NoError(t, err)
		c.Paused(t, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
		_, err = client.Discovery().ServerVersion()
		require.NoError(t, err)
		select {
		case err := <-c.Died():
			require.NoError(t, err, "a process that was stopped counts as dead")
		default:
		}
	})

	t.Run("the request-header CA rotates", func(t *testing.T) { testRotation(t, c) })
}

// An extension server outside the cluster is reached, and sees the certificate of
// kube-apiserver change while both authorities are trusted.
func testRotation(t *testing.T, c *kube.Cluster) {
	shown := make(chan *x509.Certificate, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/certificate") {
			shown <- r.TLS.PeerCertificates[0]
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"probe.test/v1","resources":[]}`)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	c.MustKubectl(t, kube.Admin, `
apiVersion: v1
kind: Service
metadata: {name: probe, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.probe.test}
spec:
  group: probe.test
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {namespace: default, name: probe, port: `+port+`}
`, "apply", "-f", "-")
	c.MustKubectl(t, kube.Admin, "", "wait", "--for=condition=Available", "apiservice/v1.probe.test", "--timeout=60s")

	client := c.Clientset(t, kube.Admin)
	published := func() *x509.CertPool {
		ca, err := c.RequestHeaderCA(t.Context())
		require.NoError(t, err)
		pool := x509.NewCertPool()
		require.True(t, pool.AppendCertsFromPEM(ca))
		return pool
	}
	trusted := func(pool *x509.CertPool) bool {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/apis/probe.test/v1/certificate").DoRaw(t.Context())
		require.NoError(t, err)
		_, err = (<-shown).Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		return err == nil
	}
	before := published()
	require.True(t, trusted(before))
	var steps int
	require.NoError(t, c.RotateRequestHeaderCA(t.Context(), func(context.Context) error {
		steps++
		require.True(t, trusted(published()), "not trusted after step %d", steps)
		if steps == 1 {
			require.True(t, trusted(before), "the certificate was changed too early")
		}
		if steps == 2 {
			eventually(t, "the certificate changes", func() bool { return !trusted(before) })
		}
		return nil
	}))
	require.Equal(t, 3, steps)
	ca, err := c.RequestHeaderCA(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, bytes.Count(ca, []byte("BEGIN CERTIFICATE")), "the old authority is still trusted")
	require.True(t, trusted(published()))
}

// Several control planes run at once and know nothing of each other.
func TestStartAll(t *testing.T) {
	clusters := kube.StartAll(t, []string{"east", "west"})
	east, west := clusters[0], clusters[1]
	require.NotEqual(t, east.URL(), west.URL())
	uid := func(client kubernetes.Interface) string {
		namespace, err := client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		require.NoError(t, err)
		return string(namespace.UID)
	}
	assert.NotEqual(t, uid(east.Clientset(t, kube.Admin)), uid(west.Clientset(t, kube.Admin)))

	stranger := east.RESTConfig(t, kube.Admin)
	stranger.Host, stranger.CAData = west.URL(), west.CA()
	client, err := kubernetes.NewForConfig(stranger)
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)

	// One that dies is said to have died.
	process, err := os.FindProcess(east.PIDs()["kube-controller-manager"])
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	select {
	case err := <-east.Died():
		assert.ErrorContains(t, err, "kube-controller-manager has ended")
	case <-time.After(patience):
		require.Fail(t, "nothing was said of the death of a process")
	}
}

// Whatever happens to who started it, nothing of a control plane is left behind.
func TestKilledParent(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	helper := exec.CommandContext(t.Context(), self)
	helper.Env = append(os.Environ(), helperDir+"="+filepath.Join(t.TempDir(), "kube"))
	helper.Stderr = os.Stderr
	stdout, err := helper.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, helper.Start())
	var pids map[string]int
	require.NoError(t, json.NewDecoder(stdout).Decode(&pids))
	require.Len(t, pids, 3)
	for name, pid := range pids {
		require.True(t, runs(t, pid), name)
		t.Cleanup(func() {
			if runs(t, pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
	require.NoError(t, helper.Process.Kill())
	require.Error(t, helper.Wait())
	for name, pid := range pids {
		eventually(t, name+" ends", func() bool { return !runs(t, pid) })
	}
}

// runs tells whether a process runs: is there and no zombie.
func runs(t *testing.T, pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return false // It ended while it was looked at.
	}
	_, state, found := strings.Cut(string(stat), ") ")
	require.True(t, found, "%s", stat)
	return !strings.HasPrefix(state, "Z")
}

// What cannot be started says why, and leaves nothing running.
func TestStartFails(t *testing.T) {
	t.Run("flags", func(t *testing.T) {
		c, err := kube.New(kube.Options{Dir: filepath.Join(t.TempDir(), "kube"), APIServerFlags: []string{"--no-such-flag"}})
		require.NoError(t, err)
		require.ErrorContains(t, c.Start(t.Context()), "unknown flag: --no-such-flag")
		for name, pid := range c.PIDs() {
			assert.False(t, runs(t, pid), name)
		}
	})
	t.Run("used folder", func(t *testing.T) {
		dir := t.TempDir()
		_, err := kube.New(kube.Options{Dir: dir})
		require.NoError(t, err)
		_, err = kube.New(kube.Options{Dir: dir})
		require.ErrorContains(t, err, "another one has used "+dir)
	})
	t.Run("no binaries", func(t *testing.T) {
		t.Setenv("ENTENTE_KUBE_BIN", "")
		t.Chdir(t.TempDir())
		_, err := kube.New(kube.Options{Dir: t.TempDir()})
		require.ErrorContains(t, err, "run `make kube` first")
	})
}

// patience limits how long a test waits for something that should come at once.
const patience = time.Minute

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	require.NoError(t, err, "did not happen in %v: %s", patience, what)
}
