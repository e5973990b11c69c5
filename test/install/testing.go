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

package install

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/test/kube"
)

// Installed is Entente in a test. It has the methods of Entente, and those a test
// needs fail it instead of returning an error.
type Installed struct {
	*Entente
}

// Start installs and starts Entente and stops it when the test ends, which it has to
// do by itself. If the test has failed then, the end of its log is printed.
func Start(t testing.TB, cluster *kube.Cluster, flags ...string) *Installed {
	t.Helper()
	e := Prepare(t, cluster, flags...)
	e.Run(t)
	require.NoError(t, e.AwaitServed(t.Context()))
	return e
}

// Prepare installs Entente without starting it, for tests that change something
// first.
func Prepare(t testing.TB, cluster *kube.Cluster, flags ...string) *Installed {
	t.Helper()
	return PrepareWith(t, cluster, Options{Flags: flags})
}

// PrepareWith installs Entente as the options say, without starting it.
func PrepareWith(t testing.TB, cluster *kube.Cluster, options Options) *Installed {
	t.Helper()
	e, err := New(t.Context(), cluster.ControlPlane, options)
	require.NoError(t, err)
	return installed(t, e)
}

// Binds says of a RoleBinding of a shipped ClusterRole to Entente, which is not shipped itself,
// that it is there: its rights are held against what Entente asks for, like those that are.
func (i *Installed) Binds(t testing.TB, namespace, name, clusterRole string) {
	t.Helper()
	require.NoError(t, i.Entente.Binds(namespace, name, clusterRole))
}

// installed stops Entente when the test ends.
func installed(t testing.TB, e *Entente) *Installed {
	t.Helper()
	t.Cleanup(func() {
		assert.NoError(t, e.Stop())
		if p := e.Process(); p != nil && t.Failed() {
			t.Logf("the end of %s:\n%s", e.Log, p.Tail())
		}
	})
	return &Installed{Entente: e}
}

// Replica returns another replica, which is not started yet.
func (i *Installed) Replica(t testing.TB, name string) *Installed {
	t.Helper()
	e, err := i.Entente.Replica(t.Context(), name)
	require.NoError(t, err)
	return installed(t, e)
}

// Run starts the process, with these flags more, and does not wait for anything.
func (i *Installed) Run(t testing.TB, flags ...string) {
	t.Helper()
	require.NoError(t, i.Entente.Start(flags...))
}

// Kill ends the process as a machine does that loses power.
func (i *Installed) Kill(t testing.TB) {
	t.Helper()
	require.NoError(t, i.Process().Signal(syscall.SIGKILL))
	<-i.Process().Ended()
}

// Restart stops the process, which has to end by itself, starts it again and waits
// until requests get through to it.
func (i *Installed) Restart(t testing.TB) {
	t.Helper()
	require.NoError(t, i.Stop())
	i.Run(t)
	i.WaitServed(t)
}

// WaitServed waits until requests to kube-apiserver get through to Entente.
func (i *Installed) WaitServed(t testing.TB) {
	t.Helper()
	require.NoError(t, i.AwaitServed(t.Context()))
}

// WaitReady waits until the process says it is ready.
func (i *Installed) WaitReady(t testing.TB) {
	t.Helper()
	require.NoError(t, i.AwaitReady(t.Context()))
}

// Client returns the generated client for a user of the control plane.
func (i *Installed) Client(t testing.TB, user string) versioned.Interface {
	t.Helper()
	client, err := i.Entente.Client(user)
	require.NoError(t, err)
	return client
}

// Rights is what Entente may do, and what it has asked for so far.
func (i *Installed) Rights(t testing.TB) Rights {
	t.Helper()
	rights, err := i.Entente.Rights()
	require.NoError(t, err)
	return rights
}
