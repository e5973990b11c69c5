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

package kube

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"entente.dev/entente/test/process"
)

// Cluster is a control plane of a test. It has the methods of ControlPlane, and
// those a test needs fail it instead of returning an error.
type Cluster struct {
	*ControlPlane
}

// Option changes how a control plane is started.
type Option func(*Options)

// Named says what kubeconfigs and messages call the control plane.
func Named(name string) Option { return func(o *Options) { o.Name = name } }

// WithAPIServerFlags adds flags of kube-apiserver.
func WithAPIServerFlags(flags ...string) Option {
	return func(o *Options) { o.APIServerFlags = append(o.APIServerFlags, flags...) }
}

// WithFeatureGate switches a feature of Kubernetes on or off.
func WithFeatureGate(name string, on bool) Option {
	return func(o *Options) {
		if o.FeatureGates == nil {
			o.FeatureGates = map[string]bool{}
		}
		o.FeatureGates[name] = on
	}
}

// Start starts a control plane and stops it when the test ends. If the test has
// failed then, the ends of its logs are printed.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	c := newCluster(t, opts...)
	require.NoError(t, c.Start(t.Context()))
	return c
}

// StartAll starts several control planes at once, with these names and otherwise
// the same options.
func StartAll(t testing.TB, names []string, opts ...Option) []*Cluster {
	t.Helper()
	clusters := make([]*Cluster, len(names))
	errs := make([]error, len(names))
	var started sync.WaitGroup
	for i, name := range names {
		clusters[i] = newCluster(t, append([]Option{Named(name)}, opts...)...)
		started.Go(func() { errs[i] = clusters[i].Start(t.Context()) })
	}
	started.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return clusters
}

func newCluster(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	options := Options{Dir: filepath.Join(t.TempDir(), "kube")}
	for _, opt := range opts {
		opt(&options)
	}
	c, err := New(options)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Stop())
		if t.Failed() {
			t.Logf("control plane %s:\n%s", c.Name, c.Logs())
			keepLogs(t, c)
		}
	})
	return &Cluster{ControlPlane: c}
}

// keepLogs copies the logs of a failed test to the folder that ENTENTE_TEST_LOGS
// names, if it does.
func keepLogs(t testing.TB, c *ControlPlane) {
	t.Helper()
	folder := os.Getenv("ENTENTE_TEST_LOGS")
	if folder == "" {
		return
	}
	target := filepath.Join(folder, t.Name(), c.Name)
	if err := os.CopyFS(target, os.DirFS(c.path("logs"))); err != nil {
		t.Logf("could not keep the logs: %v", err)
		return
	}
	t.Logf("the whole logs are in %s", target)
}

// AddUser makes a user with a client certificate that is in these groups.
func (c *Cluster) AddUser(t testing.TB, name string, groups ...string) {
	t.Helper()
	_, err := c.ControlPlane.AddUser(name, groups...)
	require.NoError(t, err)
}

// Grant gives a user rights on everything in the cluster, in addition to those it
// has, and waits until they count.
func (c *Cluster) Grant(t testing.TB, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	require.NoError(t, c.ControlPlane.Grant(t.Context(), user, rules...))
}

// GrantIn is Grant for one namespace.
func (c *Cluster) GrantIn(t testing.TB, namespace, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	require.NoError(t, c.ControlPlane.GrantIn(t.Context(), namespace, user, rules...))
}

// Bind binds a user to a ClusterRole that is there already, and waits until that
// counts.
func (c *Cluster) Bind(t testing.TB, user, clusterRole string) {
	t.Helper()
	require.NoError(t, c.ControlPlane.Bind(t.Context(), user, clusterRole))
}

// BindIn is Bind for one namespace.
func (c *Cluster) BindIn(t testing.TB, namespace, user, clusterRole string) {
	t.Helper()
	require.NoError(t, c.ControlPlane.BindIn(t.Context(), namespace, user, clusterRole))
}

// Revoke takes from a user all that Grant, Bind and the like have given, and waits
// until that counts.
func (c *Cluster) Revoke(t testing.TB, user string) {
	t.Helper()
	require.NoError(t, c.ControlPlane.Revoke(t.Context(), user))
}

// ServiceAccountKubeconfig writes a kubeconfig for a ServiceAccount, whose name as
// a user it returns.
func (c *Cluster) ServiceAccountKubeconfig(t testing.TB, namespace, name string) (user string) {
	t.Helper()
	_, err := c.ControlPlane.ServiceAccountKubeconfig(t.Context(), namespace, name, time.Hour)
	require.NoError(t, err)
	return ServiceAccountUser(namespace, name)
}

// RESTConfig returns a client config for a user; it is the caller's to change.
func (c *Cluster) RESTConfig(t testing.TB, user string) *rest.Config {
	t.Helper()
	config, err := c.ControlPlane.RESTConfig(user)
	require.NoError(t, err)
	return config
}

// Clientset returns the Kubernetes clients for a user.
func (c *Cluster) Clientset(t testing.TB, user string) kubernetes.Interface {
	t.Helper()
	client, err := c.ControlPlane.Clientset(user)
	require.NoError(t, err)
	return client
}

// Kubectl runs kubectl as a user, with stdin, and returns whatever came of it.
func (c *Cluster) Kubectl(t testing.TB, user, stdin string, args ...string) process.Result {
	t.Helper()
	result, err := c.ControlPlane.Kubectl(t.Context(), user, stdin, args...)
	require.NoError(t, err)
	return result
}

// MustKubectl runs kubectl as a user and requires that it succeeds.
func (c *Cluster) MustKubectl(t testing.TB, user, stdin string, args ...string) string {
	t.Helper()
	output, err := c.ControlPlane.MustKubectl(t.Context(), user, stdin, args...)
	require.NoError(t, err)
	return output
}

// KubectlCommand is kubectl as a user, not started yet.
func (c *Cluster) KubectlCommand(ctx context.Context, t testing.TB, user string, args ...string) *exec.Cmd {
	t.Helper()
	return c.ControlPlane.KubectlCommand(ctx, user, args...)
}

// StartKubectl runs kubectl as a user until Stop, or until the test ends.
func (c *Cluster) StartKubectl(t testing.TB, user string, args ...string) *process.Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := process.StartStream(c.ControlPlane.KubectlCommand(ctx, user, args...), cancel)
	require.NoError(t, err)
	t.Cleanup(stream.Stop)
	return stream
}

// Audit reads what kube-apiserver has recorded so far.
func (c *Cluster) Audit(t testing.TB) []auditv1.Event {
	t.Helper()
	events, err := c.ControlPlane.Audit()
	require.NoError(t, err)
	return events
}

// Stopped does something while kube-apiserver is stopped, and starts it again.
func (c *Cluster) Stopped(t testing.TB, do func()) {
	t.Helper()
	require.NoError(t, c.StopAPIServer())
	defer func() { require.NoError(t, c.StartAPIServer(t.Context())) }()
	do()
}

// Paused does something while kube-apiserver is halted: connections to it stay and
// answers don't come.
func (c *Cluster) Paused(t testing.TB, do func()) {
	t.Helper()
	require.NoError(t, c.PauseAPIServer())
	defer func() { require.NoError(t, c.ResumeAPIServer()) }()
	do()
}
