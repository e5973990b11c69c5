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

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
	"entente.dev/entente/peering/client"
)

const (
	// enough is how long something may take that should be so at once.
	enough = 30 * time.Second

	resync = 10 * time.Minute
	team   = "team"
)

var (
	noon     = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	clusters = corev1alpha1.SchemeGroupVersion.WithResource("clusters")
	releases = corev1alpha1.SchemeGroupVersion.WithResource("releases")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a controller with a real Pool, and the API that it writes to. It is moved by hand,
// by once, or by itself after runs.
type fixture struct {
	t           *testing.T
	client      *fake.Clientset
	clock       *clocktesting.FakeClock
	credentials *targetstest.Credentials
	recorder    *events.FakeRecorder
	factory     externalversions.SharedInformerFactory
	targets     targets.Config
	*Controller

	lock    sync.Mutex
	version int
	// written counts the writes of statuses that changed something, tried all of them.
	written, tried int
	// looks counts, by Cluster, how often it was looked at by itself; woken, how often that
	// was asked for.
	looks, woken map[string]int
	terminates   map[string]bool
	logged       strings.Builder
}

func newFixture(t *testing.T, change ...func(*targets.Config)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, client: fake.NewSimpleClientset(), clock: clocktesting.NewFakeClock(noon), credentials: &targetstest.Credentials{},
		looks: map[string]int{}, woken: map[string]int{}, terminates: map[string]bool{},
	}
	f.targets = targets.Config{Credentials: f.credentials, Policy: client.Policy{AllowLocal: true}, OwnNamespaces: []string{"entente"}}
	for _, c := range change {
		c(&f.targets)
	}
	f.serves()
	f.restarts()
	t.Cleanup(func() {
		f.pool.Close()
		f.silent()
	})
	return f
}

// restarts is another process, which knows what the API and the Secrets say and nothing else.
func (f *fixture) restarts() {
	f.t.Helper()
	if f.Controller != nil {
		f.pool.Close()
	}
	pool, err := targets.NewPool(f.targets)
	require.NoError(f.t, err)
	f.recorder = events.NewFakeRecorder(1000)
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	group := f.factory.Core().V1alpha1()
	f.Controller, err = New(Config{
		Client: f.client, Clusters: group.Clusters(), Releases: group.Releases(), Pool: pool, Terminating: f.isTerminating, Resync: resync,
		Recorder: f.recorder, Clock: f.clock,
	})
	require.NoError(f.t, err)
	f.slowAfter = time.Hour
	f.memory.subscribe(func(object cache.ObjectName) {
		f.lock.Lock()
		defer f.lock.Unlock()
		f.woken[object.Name]++
	})
}

func (f *fixture) isTerminating(namespace string) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	return f.terminates[namespace]
}

// context is one whose logger writes all down that is logged.
func (f *fixture) context() context.Context {
	return klog.NewContext(f.t.Context(), funcr.New(func(prefix, args string) {
		f.lock.Lock()
		defer f.lock.Unlock()
		_, _ = f.logged.WriteString(prefix + args + "\n")
	}, funcr.Options{Verbosity: 10}))
}

// silent asserts that nothing of a Secret or of a target got out (R15).
func (f *fixture) silent() {
	f.t.Helper()
	for _, event := range f.events() {
		assert.NotContains(f.t, event, targetstest.Canary)
	}
	list, err := f.client.Tracker().List(clusters, corev1alpha1.SchemeGroupVersion.WithKind("Cluster"), "")
	require.NoError(f.t, err)
	for _, object := range list.(*corev1alpha1.ClusterList).Items {
		data, err := json.Marshal(object.Status)
		require.NoError(f.t, err)
		assert.NotContains(f.t, string(data), targetstest.Canary)
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	assert.NotContains(f.t, f.logged.String(), targetstest.Canary)
}

// serves has the API do what ours does.
func (f *fixture) serves() {
	f.client.PrependReactor("patch", clusters.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchActionImpl)
		assert.Equal(f.t, FieldManager, patch.PatchOptions.FieldManager)
		f.lock.Lock()
		defer f.lock.Unlock()
		if patch.PatchType == types.JSONPatchType {
			return f.letsGo(patch)
		}
		return f.applies(patch)
	})
	f.client.PrependReactor("delete", releases.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		f.lock.Lock()
		defer f.lock.Unlock()
		return true, nil, f.deletes(action.(clienttesting.DeleteActionImpl))
	})
}

// applies does what server-side apply does with what this controller owns of a status.
func (f *fixture) applies(patch clienttesting.PatchActionImpl) (bool, runtime.Object, error) {
	assert.Equal(f.t, "status", patch.Subresource)
	assert.True(f.t, *patch.PatchOptions.Force)
	f.tried++
	object, err := f.client.Tracker().Get(clusters, patch.Namespace, patch.Name)
	if err != nil {
		return true, nil, err
	}
	cluster, sent := object.(*corev1alpha1.Cluster).DeepCopy(), &corev1alpha1.Cluster{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	if sent.UID != cluster.UID || sent.ResourceVersion != "" && sent.ResourceVersion != cluster.ResourceVersion {
		return true, nil, apierrors.NewConflict(clusters.GroupResource(), patch.Name, errors.New("it has changed"))
	}
	conditions, agent := cluster.Status.Conditions, cluster.Status.AgentStatus
	for _, condition := range sent.Status.Conditions {
		if before := meta.FindStatusCondition(conditions, condition.Type); before != nil {
			*before = condition
		} else {
			conditions = append(conditions, condition)
		}
	}
	cluster.Status = sent.Status
	cluster.Status.Conditions, cluster.Status.AgentStatus = conditions, agent
	if !equality.Semantic.DeepEqual(object.(*corev1alpha1.Cluster).Status, cluster.Status) {
		f.written++
		f.puts(cluster)
	}
	return true, cluster, nil
}

// letsGo takes a finalizer off, and what has none left away.
func (f *fixture) letsGo(patch clienttesting.PatchActionImpl) (bool, runtime.Object, error) {
	assert.Empty(f.t, patch.Subresource)
	object, err := f.client.Tracker().Get(clusters, patch.Namespace, patch.Name)
	if err != nil {
		return true, nil, err
	}
	cluster := object.(*corev1alpha1.Cluster).DeepCopy()
	var operations []struct{ Op, Path, Value string }
	if err := json.Unmarshal(patch.Patch, &operations); err != nil {
		return true, nil, err
	}
	for _, operation := range operations {
		at, err := strconv.Atoi(strings.TrimPrefix(operation.Path, "/metadata/finalizers/"))
		switch {
		case operation.Op == "test" && operation.Path == "/metadata/uid":
			if operation.Value != string(cluster.UID) {
				return true, nil, apierrors.NewInvalid(schema.GroupKind{}, patch.Name, nil)
			}
		case err != nil || at >= len(cluster.Finalizers) || operation.Op == "test" && cluster.Finalizers[at] != operation.Value:
			return true, nil, apierrors.NewInvalid(schema.GroupKind{}, patch.Name, nil)
		case operation.Op == "remove":
			cluster.Finalizers = slices.Delete(cluster.Finalizers, at, at+1)
		}
	}
	if cluster.DeletionTimestamp != nil && len(cluster.Finalizers) == 0 {
		return true, cluster, f.client.Tracker().Delete(clusters, patch.Namespace, patch.Name)
	}
	f.puts(cluster)
	return true, cluster, nil
}

// deletes deletes a Release: at once, or when what holds it has let go of it.
func (f *fixture) deletes(action clienttesting.DeleteActionImpl) error {
	object, err := f.client.Tracker().Get(releases, action.Namespace, action.Name)
	if err != nil {
		return err
	}
	release := object.(*corev1alpha1.Release).DeepCopy()
	only := action.DeleteOptions.Preconditions
	if assert.NotNil(f.t, only, "no precondition") && assert.NotNil(f.t, only.UID) && *only.UID != release.UID {
		return apierrors.NewConflict(releases.GroupResource(), action.Name, errors.New("another UID"))
	}
	if len(release.Finalizers) == 0 {
		return f.client.Tracker().Delete(releases, action.Namespace, action.Name)
	}
	release.DeletionTimestamp = &metav1.Time{Time: noon}
	return f.client.Tracker().Update(releases, release, action.Namespace)
}

// puts has a Cluster there, whatever was there before. The lock is held.
func (f *fixture) puts(cluster *corev1alpha1.Cluster) {
	f.version++
	cluster.ResourceVersion = strconv.Itoa(f.version)
	if f.client.Tracker().Update(clusters, cluster.DeepCopy(), cluster.Namespace) != nil {
		assert.NoError(f.t, f.client.Tracker().Create(clusters, cluster.DeepCopy(), cluster.Namespace))
	}
}

// has has a Cluster there, as somebody else made or changed it.
func (f *fixture) has(cluster *corev1alpha1.Cluster) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.puts(cluster)
}

// newCluster is one of the namespace team that names the Secret of that name.
func newCluster(name string, change ...func(*corev1alpha1.Cluster)) *corev1alpha1.Cluster {
	cluster := &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: team, Name: name, UID: types.UID("uid-" + name), Generation: 1, Finalizers: []string{corev1alpha1.FinalizerPruneReleases},
		},
		Spec: corev1alpha1.ClusterSpec{
			ConnectionMode: corev1alpha1.ConnectionModeAgentless,
			Agentless: &corev1alpha1.ClusterAgentlessModeSpec{
				Server: "https://elsewhere.example.com",
				Auth: corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeKubeconfig, Kubeconfig: &corev1alpha1.KubeconfigAuthSpec{
					SecretRef: corev1alpha1.SecretKeySelector{Name: name, Key: "kubeconfig"},
				}},
			},
		},
	}
	for _, c := range change {
		c(cluster)
	}
	return cluster
}

func (f *fixture) object(name string) cache.ObjectName { return cache.NewObjectName(team, name) }

// hostConfig is that of an Entente that runs in a cluster.
func hostConfig(server *targetstest.Server) *rest.Config {
	return &rest.Config{Host: server.URL, BearerToken: targetstest.Token, TLSClientConfig: rest.TLSClientConfig{CAData: server.CA}}
}

func prunes(cluster *corev1alpha1.Cluster) {
	cluster.Spec.DeletionPolicy = &corev1alpha1.ClusterDeletionPolicy{PruneReleases: ptr.To(true)}
}

func inNamespace(namespace string) func(*corev1alpha1.Cluster) {
	return func(cluster *corev1alpha1.Cluster) {
		cluster.Namespace = namespace
		cluster.UID += types.UID("-" + namespace)
	}
}

// joins has a Cluster there for a target, with a Secret of its own.
func (f *fixture) joins(name string, server *targetstest.Server, change ...func(*corev1alpha1.Cluster)) {
	f.t.Helper()
	cluster := newCluster(name, change...)
	f.credentials.Put(cluster.Namespace, name, "kubeconfig", server.Kubeconfig(targetstest.Token))
	f.has(cluster)
}

// changes changes a Cluster of the namespace team as somebody else would.
func (f *fixture) changes(name string, change func(*corev1alpha1.Cluster)) {
	f.t.Helper()
	cluster := f.stored(name).DeepCopy()
	change(cluster)
	f.has(cluster)
}

// isDeleted has somebody delete a Cluster.
func (f *fixture) isDeleted(name string) {
	f.t.Helper()
	f.changes(name, func(c *corev1alpha1.Cluster) {
		c.DeletionTimestamp = &metav1.Time{Time: noon}
		c.Generation++
	})
}

// stored returns a Cluster of the namespace team, nil if it is gone.
func (f *fixture) stored(name string) *corev1alpha1.Cluster { return f.storedIn(team, name) }

func (f *fixture) storedIn(namespace, name string) *corev1alpha1.Cluster {
	f.t.Helper()
	object, err := f.client.Tracker().Get(clusters, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return object.(*corev1alpha1.Cluster)
}

func newRelease(name, cluster string) *corev1alpha1.Release {
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, UID: types.UID("uid-" + name)}}
	release.Spec.ClusterRef.Name = cluster
	return release
}

// hasReleases has Releases there.
func (f *fixture) hasReleases(all ...*corev1alpha1.Release) {
	f.t.Helper()
	for _, release := range all {
		require.NoError(f.t, f.client.Tracker().Create(releases, release, release.Namespace))
	}
}

// leftReleases names the Releases that there are, one that is being deleted with a mark.
func (f *fixture) leftReleases() (names []string) {
	f.t.Helper()
	list, err := f.client.Tracker().List(releases, corev1alpha1.SchemeGroupVersion.WithKind("Release"), "")
	require.NoError(f.t, err)
	for _, release := range list.(*corev1alpha1.ReleaseList).Items {
		if release.DeletionTimestamp != nil {
			release.Name += "!"
		}
		names = append(names, release.Name)
	}
	return names
}

// shows has the informers show what there is.
func (f *fixture) shows() {
	f.t.Helper()
	list, err := f.client.Tracker().List(clusters, corev1alpha1.SchemeGroupVersion.WithKind("Cluster"), "")
	require.NoError(f.t, err)
	var all []any
	for i := range list.(*corev1alpha1.ClusterList).Items {
		all = append(all, &list.(*corev1alpha1.ClusterList).Items[i])
	}
	require.NoError(f.t, f.factory.Core().V1alpha1().Clusters().Informer().GetStore().Replace(all, ""))
	list, err = f.client.Tracker().List(releases, corev1alpha1.SchemeGroupVersion.WithKind("Release"), "")
	require.NoError(f.t, err)
	all = nil
	for i := range list.(*corev1alpha1.ReleaseList).Items {
		all = append(all, &list.(*corev1alpha1.ReleaseList).Items[i])
	}
	require.NoError(f.t, f.factory.Core().V1alpha1().Releases().Informer().GetStore().Replace(all, ""))
}

// look looks at a Cluster of the namespace team, and probes nothing.
func (f *fixture) look(name string) (again time.Duration) {
	f.t.Helper()
	f.shows()
	again, err := f.sync(f.context(), cache.NewObjectName(team, name))
	require.NoError(f.t, err)
	return again
}

// probes does the probes that are due, one after the other, and returns how many it did.
func (f *fixture) probes() (count int) {
	for _, l := range []*lane{f.well, f.other} {
		for l.queue.Len() > 0 {
			object, _ := l.queue.Get()
			f.probe(f.context(), object)
			l.queue.Done(object)
			count++
		}
	}
	return count
}

// once looks at a Cluster, probes what is due, and looks again, as the end of a probe makes it.
func (f *fixture) once(name string) (again time.Duration) {
	f.t.Helper()
	if again = f.look(name); f.probes() > 0 {
		again = f.look(name)
	}
	return again
}

// next does the next probe of a Cluster, when it is due.
func (f *fixture) next(name string) (again time.Duration) {
	f.t.Helper()
	f.clock.Step(f.due(name))
	return f.once(name)
}

// due is the time until a Cluster is to be probed again.
func (f *fixture) due(name string) time.Duration {
	f.memory.lock.Lock()
	defer f.memory.lock.Unlock()
	s := f.memory.states[cache.NewObjectName(team, name)]
	require.NotNil(f.t, s)
	return s.due.Sub(f.clock.Now())
}

// says returns what a Cluster says of itself: "True Reachable".
func (f *fixture) says(name string) string {
	f.t.Helper()
	return saidOf(f.stored(name))
}

func saidOf(cluster *corev1alpha1.Cluster) string {
	if cluster == nil {
		return "gone"
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
	if ready == nil {
		return ""
	}
	return string(ready.Status) + " " + ready.Reason
}

func (f *fixture) message(name string) string {
	f.t.Helper()
	return meta.FindStatusCondition(f.stored(name).Status.Conditions, corev1alpha1.ConditionReady).Message
}

// writes returns how many writes changed a status since the last call.
func (f *fixture) writes() (count int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	count, f.written, f.tried = f.written, 0, 0
	return count
}

// attempts returns how many writes were tried since the last call.
func (f *fixture) attempts() (count int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	count, f.written, f.tried = f.tried, 0, 0
	return count
}

// events returns the Events since the last call.
func (f *fixture) events() (all []string) {
	for len(f.recorder.Events) > 0 {
		all = append(all, <-f.recorder.Events)
	}
	return all
}

// usable tells whether a Cluster of the namespace team may be used.
func (f *fixture) usable(name string) bool {
	_, usable, _ := f.pool.Ready("uid-" + types.UID(name))
	return usable
}
