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

package release

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	// patience is how long something may take that should be so at once.
	patience = 20 * time.Second

	namespace     = "shops"
	resync        = 10 * time.Minute
	deleteTimeout = 10 * time.Minute
)

var (
	noon     = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	releases = corev1alpha1.SchemeGroupVersion.WithResource("releases")
	clusters = corev1alpha1.SchemeGroupVersion.WithResource("clusters")
)

// ledger is one in memory that fails, and lags behind, when it is told to.
type ledger struct {
	*recordtest.Memory

	lock sync.Mutex
	// fails is asked before each Update, with how many there were.
	fails   func(before int) error
	updates int
	// blind is what readers do not see yet.
	blind map[string]bool
}

func (l *ledger) Update(ctx context.Context, change func(record.Tx) error) error {
	l.lock.Lock()
	fails, before := l.fails, l.updates
	l.updates++
	l.lock.Unlock()
	if fails != nil {
		if err := fails(before); err != nil {
			return err
		}
	}
	return l.Memory.Update(ctx, change)
}

func (l *ledger) Release(uid string) *record.Release {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.blind[uid] {
		return nil
	}
	return l.Memory.Release(uid)
}

// Releases are none until the ledger was read.
func (l *ledger) Releases() []*record.Release {
	if l.Fresh() != nil {
		return nil
	}
	return l.Memory.Releases()
}

// failing has updates fail as a function says, counted from now; nil: no more.
func (l *ledger) failing(fails func(before int) error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.fails, l.updates = fails, 0
}

// forgets has readers not see the record of a Release.
func (l *ledger) forgets(uid string, blind bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.blind[uid] = blind
}

// credentials are the Secrets and ConfigMaps that Clusters name, NAME/KEY.
type credentials struct {
	lock   sync.Mutex
	values map[string][]byte
}

func (c *credentials) Secret(_ context.Context, _, name, key string) ([]byte, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if value, there := c.values[name+"/"+key]; there {
		return value, nil
	}
	return nil, targets.ErrAbsent
}

func (c *credentials) ConfigMap(ctx context.Context, namespace, name, key string) ([]byte, error) {
	return c.Secret(ctx, namespace, name, key)
}

func (c *credentials) set(name string, value []byte) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.values[name] = value
}

// buffer is what was logged.
type buffer struct {
	lock sync.Mutex
	bytes.Buffer
}

func (b *buffer) line(prefix, args string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	_, _ = fmt.Fprintln(&b.Buffer, prefix, args)
}

func (b *buffer) text() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.String()
}

// fixture is a controller with one target, of the Cluster east.
type fixture struct {
	t           *testing.T
	client      *fake.Clientset
	ledger      *ledger
	clock       *clocktesting.FakeClock
	credentials *credentials
	recorder    *events.FakeRecorder
	log         *buffer
	far         *far
	factory     externalversions.SharedInformerFactory
	*Controller

	lock    sync.Mutex
	version int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	far := newFar(t)
	f := &fixture{
		t: t, client: fake.NewSimpleClientset(), ledger: &ledger{Memory: recordtest.New(), blind: map[string]bool{}}, clock: clocktesting.NewFakeClock(noon),
		credentials: &credentials{values: map[string][]byte{}}, recorder: events.NewFakeRecorder(1000), log: &buffer{}, far: far,
	}
	f.client.PrependReactor("patch", releases.Resource, f.patch)
	f.start()
	f.connects("east", far)
	f.probes("east")
	return f
}

// start makes the controller, as a replica that knows nothing yet does.
func (f *fixture) start() {
	f.t.Helper()
	pool, err := targets.NewPool(targets.Config{
		Credentials: f.credentials, Policy: client.Policy{AllowLocal: true}, TokenAndCert: true,
		Host: &rest.Config{Host: f.far.URL, BearerToken: f.far.token, TLSClientConfig: rest.TLSClientConfig{CAData: f.far.ca()}, QPS: -1, Timeout: time.Minute},
	})
	require.NoError(f.t, err)
	f.t.Cleanup(pool.Close)
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	f.Controller, err = New(f.config(pool))
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	factory := f.factory
	f.t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(f.t.Context())
}

func (f *fixture) config(pool *targets.Pool) Config {
	group := f.factory.Core().V1alpha1()
	return Config{
		Client: f.client, Clusters: group.Clusters(), Releases: group.Releases(), Pool: pool, Ledger: f.ledger,
		Resync: resync, DeleteTimeout: deleteTimeout, Recorder: f.recorder, Clock: f.clock,
	}
}

// context is one whose logger keeps all that is logged.
func (f *fixture) context() context.Context {
	return klog.NewContext(f.t.Context(), funcr.New(f.log.line, funcr.Options{Verbosity: 10}))
}

// run runs the controller until the test, or what it returns, ends it.
func (f *fixture) run() (stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.context())
	done := make(chan error, 1)
	c := f.Controller
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.NoError(f.t, <-done)
	})
	f.t.Cleanup(stop)
	return stop
}

// patch does what the API does with a patch: server-side apply of a status with what this
// controller owns of it, and taking a finalizer off, after the last of which an object goes.
func (f *fixture) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	assert.Equal(f.t, FieldManager, patch.PatchOptions.FieldManager)
	f.lock.Lock()
	defer f.lock.Unlock()
	object, err := f.client.Tracker().Get(releases, patch.Namespace, patch.Name)
	if err != nil {
		return true, nil, err
	}
	release := object.(*corev1alpha1.Release)
	if patch.PatchType == types.JSONPatchType {
		_, patched, err := clienttesting.ObjectReaction(f.client.Tracker())(action)
		if err != nil {
			return true, nil, apierrors.NewInvalid(corev1alpha1.SchemeGroupVersion.WithKind("Release").GroupKind(), patch.Name, nil)
		}
		after := patched.(*corev1alpha1.Release)
		if len(after.Finalizers) == 0 && after.DeletionTimestamp != nil {
			return true, after, f.client.Tracker().Delete(releases, patch.Namespace, patch.Name)
		}
		return true, after, f.put(after)
	}
	sent := &corev1alpha1.Release{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	assert.Equal(f.t, "status", patch.Subresource)
	if sent.UID != release.UID {
		return true, nil, apierrors.NewConflict(releases.GroupResource(), patch.Name, errors.New("it is another one"))
	}
	for _, condition := range sent.Status.Conditions {
		meta.RemoveStatusCondition(&release.Status.Conditions, condition.Type)
		release.Status.Conditions = append(release.Status.Conditions, condition)
	}
	release.Status.LastAttempted, release.Status.ObservedGeneration, release.Status.Objects = sent.Status.LastAttempted, sent.Status.ObservedGeneration, sent.Status.Objects
	return true, release, f.put(release)
}

// put keeps a Release as another version. The lock is held.
func (f *fixture) put(release *corev1alpha1.Release) error {
	f.version++
	release.ResourceVersion = strconv.Itoa(f.version)
	if f.client.Tracker().Update(releases, release, release.Namespace) == nil {
		return nil
	}
	return f.client.Tracker().Create(releases, release, release.Namespace)
}

// wants makes a Release of objects, for the Cluster east.
func (f *fixture) wants(name string, objects ...string) *corev1alpha1.Release {
	f.t.Helper()
	release := &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Generation: 1, Finalizers: []string{corev1alpha1.FinalizerRelease}},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.ClusterReference{Name: "east"}, Resources: raw(objects), DeletionPolicy: corev1alpha1.ReleaseDeletionPolicyDelete,
		},
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	require.NoError(f.t, f.put(release))
	return release
}

func raw(objects []string) (all []runtime.RawExtension) {
	for _, object := range objects {
		all = append(all, runtime.RawExtension{Raw: []byte(object)})
	}
	return all
}

// edit changes a Release as its author does.
func (f *fixture) edit(name string, change func(*corev1alpha1.Release)) {
	f.t.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	object, err := f.client.Tracker().Get(releases, namespace, name)
	require.NoError(f.t, err)
	release := object.(*corev1alpha1.Release)
	before := release.Spec.DeepCopy()
	change(release)
	if !assert.ObjectsAreEqual(before, &release.Spec) {
		release.Generation++
	}
	require.NoError(f.t, f.put(release))
}

// resources has a Release want other objects.
func (f *fixture) resources(name string, objects ...string) {
	f.t.Helper()
	f.edit(name, func(r *corev1alpha1.Release) { r.Spec.Resources = raw(objects) })
}

// deletes deletes a Release.
func (f *fixture) deletes(name string) {
	f.t.Helper()
	now := metav1.NewTime(f.clock.Now())
	f.edit(name, func(r *corev1alpha1.Release) { r.DeletionTimestamp = &now })
}

// loses has a Release be gone, although nobody carried out its deletion policy.
func (f *fixture) loses(name string) {
	f.t.Helper()
	require.NoError(f.t, f.client.Tracker().Delete(releases, namespace, name))
}

// release returns a Release, nil if there is none.
func (f *fixture) release(name string) *corev1alpha1.Release {
	f.t.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	object, err := f.client.Tracker().Get(releases, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(f.t, err)
	return object.(*corev1alpha1.Release)
}

// connects makes a Cluster of a target, or changes it, which is entered with a token.
func (f *fixture) connects(name string, to *far) {
	f.t.Helper()
	f.credentials.set(name+"/token", []byte(to.token))
	f.credentials.set(name+"/ca", to.ca())
	f.clusters(name, func(c *corev1alpha1.Cluster) {
		c.Spec.ConnectionMode = corev1alpha1.ConnectionModeAgentless
		c.Spec.Agentless = &corev1alpha1.ClusterAgentlessModeSpec{
			Server: to.URL,
			Auth: corev1alpha1.ClusterAuthSpec{
				Type: corev1alpha1.AuthTypeToken, Token: &corev1alpha1.TokenAuthSpec{TokenRef: corev1alpha1.SecretKeySelector{Name: name, Key: "token"}},
			},
			CAPublicCertRef: &corev1alpha1.ConfigMapKeySelector{Name: name, Key: "ca"},
			ConnectionParameters: &corev1alpha1.ClusterConnectionParametersSpec{
				QPS: ptr.To[int32](10_000), Burst: ptr.To[int32](10_000), Timeout: &metav1.Duration{Duration: 5 * time.Second},
			},
		}
	})
}

// clusters makes a Cluster, or changes it.
func (f *fixture) clusters(name string, change func(*corev1alpha1.Cluster)) {
	f.t.Helper()
	f.lock.Lock()
	defer f.lock.Unlock()
	f.version++
	var cluster *corev1alpha1.Cluster
	object, err := f.client.Tracker().Get(clusters, namespace, name)
	if err == nil {
		cluster = object.(*corev1alpha1.Cluster)
		cluster.Generation++
	} else {
		cluster = &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Generation: 1}}
	}
	change(cluster)
	cluster.ResourceVersion = strconv.Itoa(f.version)
	if err == nil {
		require.NoError(f.t, f.client.Tracker().Update(clusters, cluster, namespace))
	} else {
		require.NoError(f.t, f.client.Tracker().Create(clusters, cluster, namespace))
	}
	require.Eventually(f.t, func() bool {
		seen, err := f.Controller.clusters.Clusters(namespace).Get(name)
		return err == nil && seen.ResourceVersion == cluster.ResourceVersion
	}, patience, time.Millisecond)
}

// removes deletes a Cluster.
func (f *fixture) removes(name string) {
	f.t.Helper()
	require.NoError(f.t, f.client.Tracker().Delete(clusters, namespace, name))
	require.Eventually(f.t, func() bool {
		_, err := f.Controller.clusters.Clusters(namespace).Get(name)
		return apierrors.IsNotFound(err)
	}, patience, time.Millisecond)
	f.pool.Forget(types.UID("uid-" + name))
}

// probes does what the controller of Clusters does: it connects, asks, and takes down how that
// went. One failure is enough here.
func (f *fixture) probes(name string) {
	f.t.Helper()
	cluster, err := f.Controller.clusters.Clusters(namespace).Get(name)
	require.NoError(f.t, err)
	connected, err := f.pool.Connect(f.t.Context(), cluster)
	if err != nil {
		f.pool.Note(cluster.UID, nil, nil, false)
		return
	}
	found, err := connected.Probe(f.t.Context())
	if err != nil {
		f.pool.Note(cluster.UID, connected, nil, false)
		return
	}
	f.pool.Note(cluster.UID, connected, &found, true)
}

// once looks at a Release once, when the informer shows it as it is.
func (f *fixture) once(name string) (again time.Duration, err error) {
	f.t.Helper()
	f.sees(name)
	f.client.ClearActions()
	return f.sync(f.context(), cache.NewObjectName(namespace, name))
}

// sees waits until the informer shows a Release as it is.
func (f *fixture) sees(name string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		seen, err := f.Controller.releases.Releases(namespace).Get(name)
		there := f.release(name)
		if there == nil {
			return apierrors.IsNotFound(err)
		}
		return err == nil && seen.ResourceVersion == there.ResourceVersion
	}, patience, time.Millisecond)
}

// says returns what a Release says of itself after it was looked at: "True Applied".
func (f *fixture) says(name string) string {
	f.t.Helper()
	_, err := f.once(name)
	require.NoError(f.t, err)
	return f.shows(name)
}

// shows returns what it says now.
func (f *fixture) shows(name string) string {
	f.t.Helper()
	ready := f.condition(name)
	return string(ready.Status) + " " + ready.Reason
}

// condition returns its condition Ready, an empty one if there is none.
func (f *fixture) condition(name string) metav1.Condition {
	f.t.Helper()
	release := f.release(name)
	require.NotNil(f.t, release)
	return ptr.Deref(meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady), metav1.Condition{})
}

// applies looks at a Release, and requires that all of it was applied.
func (f *fixture) applies(name string) {
	f.t.Helper()
	require.Equal(f.t, "True Applied", f.says(name), f.condition(name).Message)
}

// goes looks at a Release that is being deleted until it has gone: what was deleted is looked
// for once more.
func (f *fixture) goes(name string) {
	f.t.Helper()
	for range 3 {
		_, err := f.once(name)
		require.NoError(f.t, err)
		if f.release(name) == nil {
			return
		}
	}
	require.Fail(f.t, "the Release is still there", f.condition(name).Message)
}

// listed returns what a status lists, as names, and what the ledger does.
func (f *fixture) listed(name string) (status, known []string) {
	f.t.Helper()
	status, known = []string{}, []string{}
	if release := f.release(name); release != nil {
		for _, o := range release.Status.Objects {
			status = append(status, o.Name)
		}
	}
	if record := f.ledger.Release("uid-" + name); record != nil {
		for _, o := range record.Objects {
			known = append(known, o.Name)
		}
	}
	return status, known
}

// lists requires what a status and the ledger list.
func (f *fixture) lists(name string, want ...string) {
	f.t.Helper()
	if want == nil {
		want = []string{}
	}
	status, known := f.listed(name)
	assert.Equal(f.t, want, known, "the ledger")
	if f.release(name) != nil {
		assert.Equal(f.t, want, status, "the status")
	}
}

// writes returns what was written to our own API since the last look.
func (f *fixture) writes() (all []string) {
	for _, action := range f.client.Actions() {
		switch action.GetVerb() {
		case "list", "watch", "get":
		default:
			all = append(all, strings.TrimSuffix(action.GetVerb()+" "+action.GetSubresource(), " "))
		}
	}
	return all
}

func (f *fixture) events() (all []string) {
	for len(f.recorder.Events) > 0 {
		all = append(all, <-f.recorder.Events)
	}
	return all
}

// requireSilent requires that nothing of a target's own texts is in what anybody may read.
func (f *fixture) requireSilent() {
	f.t.Helper()
	list, err := f.client.CoreV1alpha1().Releases(namespace).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	for i := range list.Items {
		shown, err := json.Marshal(list.Items[i].Status)
		require.NoError(f.t, err)
		assert.NotContains(f.t, string(shown), canary)
	}
	for _, event := range f.events() {
		assert.NotContains(f.t, event, canary)
	}
	assert.NotContains(f.t, f.log.text(), canary)
}

// configMap is a ConfigMap to apply, with more in its metadata.
func configMap(name string, more ...string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `"` + strings.Join(more, "") + `},"data":{"key":"value"}}`
}
