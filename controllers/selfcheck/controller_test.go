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

package selfcheck

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

var (
	noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	well = client.ProbeResult{ClientCert: client.ClientCertRequired, ServerCert: client.PeeringRootCert}
)

type fixture struct {
	t       *testing.T
	client  *fake.Clientset
	factory externalversions.SharedInformerFactory
	cache   cache.Indexer
	ledger  *recordtest.Memory
	clock   *clocktesting.FakeClock
	*Controller

	lock sync.Mutex
	// results are what a probe of an endpoint finds, probes what was probed.
	results map[string]client.ProbeResult
	probes  []string
}

func newFixture(t *testing.T, endpoints ...string) *fixture {
	t.Helper()
	f := &fixture{
		t: t, client: fake.NewSimpleClientset(), ledger: recordtest.New(), clock: clocktesting.NewFakeClock(noon),
		results: map[string]client.ProbeResult{},
	}
	f.client.PrependReactor("patch", "clusterpeers", f.apply)
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	informer := f.factory.Peering().V1alpha1().ClusterPeers()
	f.cache = informer.Informer().GetIndexer()
	f.certified()
	for _, endpoint := range endpoints {
		f.results[endpoint] = well
	}
	controller, err := New(Config{
		Client: f.client, Informer: informer, Ledger: f.ledger, Endpoints: endpoints, Probe: f.probe, Clock: f.clock,
	})
	require.NoError(t, err)
	f.Controller = controller
	return f
}

// certified puts a peering CA into the ledger.
func (f *fixture) certified() {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		return tx.PutAuthority(&record.Authority{Current: record.CA{Certificate: []byte("CA")}})
	}))
}

func (f *fixture) probe(_ context.Context, endpoint string, trust [][]byte) client.ProbeResult {
	f.lock.Lock()
	defer f.lock.Unlock()
	assert.Equal(f.t, [][]byte{[]byte("CA")}, trust)
	f.probes = append(f.probes, endpoint)
	return f.results[endpoint]
}

func (f *fixture) probed() int {
	f.lock.Lock()
	defer f.lock.Unlock()
	return len(f.probes)
}

func (f *fixture) finds(endpoint string, result client.ProbeResult) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.results[endpoint] = result
}

// apply does what server-side apply does with the conditions that this controller owns:
// those that are sent are set, those that are left out go. (The fake clientset has field
// management only for types whose Go package and published name agree.)
func (f *fixture) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	assert.Equal(f.t, "status", patch.Subresource)
	resource := peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")
	object, err := f.client.Tracker().Get(resource, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	peer, sent := object.(*peeringv1alpha1.ClusterPeer), &peeringv1alpha1.ClusterPeer{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	assert.Equal(f.t, peer.UID, sent.UID)
	peer.Status.Conditions = slices.DeleteFunc(peer.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == peeringv1alpha1.ConditionClientCertEnforced || c.Type == peeringv1alpha1.ConditionServerCertOurs
	})
	peer.Status.Conditions = append(peer.Status.Conditions, sent.Status.Conditions...)
	return true, peer, f.client.Tracker().Update(resource, peer, "")
}

func clusterPeer(name string) *peeringv1alpha1.ClusterPeer {
	return &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name), Generation: 3, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
		Status:     peeringv1alpha1.ClusterPeerStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
	}
}

// holds puts a ClusterPeer into the server and the informer.
func (f *fixture) holds(peer *peeringv1alpha1.ClusterPeer) {
	f.t.Helper()
	require.NoError(f.t, f.client.Tracker().Add(peer))
	require.NoError(f.t, f.cache.Update(peer))
}

// run looks at the endpoints and at a ClusterPeer, and returns it, as the informer has it
// then, and how much was written.
func (f *fixture) run(name string) (peer *peeringv1alpha1.ClusterPeer, writes int) {
	f.t.Helper()
	f.client.ClearActions()
	f.check.look(f.t.Context())
	_, err := f.sync(f.t.Context(), cache.ObjectName{Name: name})
	require.NoError(f.t, err)
	writes = len(f.client.Actions())
	peer, err = f.client.PeeringV1alpha1().ClusterPeers().Get(f.t.Context(), name, metav1.GetOptions{})
	require.NoError(f.t, err)
	require.NoError(f.t, f.cache.Update(peer))
	return peer, writes
}

func said(peer *peeringv1alpha1.ClusterPeer) []string {
	var all []string
	for _, condition := range ours(peer) {
		all = append(all, condition.Type+"="+string(condition.Status)+" "+condition.Reason)
	}
	return all
}

func TestNewNeedsAll(t *testing.T) {
	whole := Config{
		Client:   fake.NewSimpleClientset(),
		Informer: externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), 0).Peering().V1alpha1().ClusterPeers(),
		Ledger:   recordtest.New(),
		Probe:    func(context.Context, string, [][]byte) client.ProbeResult { return well },
		Clock:    clocktesting.NewFakeClock(noon),
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"client":   func(c *Config) { c.Client = nil },
		"informer": func(c *Config) { c.Informer = nil },
		"ledger":   func(c *Config) { c.Ledger = nil },
		"probe":    func(c *Config) { c.Probe = nil },
		"clock":    func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.Error(t, err, name)
	}
}

// P14: what each finding is in the conditions, and of several endpoints the worst.
func TestP14Conditions(t *testing.T) {
	notRequired := client.ProbeResult{ClientCert: client.ClientCertNotRequired, ServerCert: client.PeeringRootCert}
	foreign := client.ProbeResult{ClientCert: client.ClientCertRequired, ServerCert: client.ForeignCert}
	away := client.ProbeResult{ClientCert: client.EntranceUnreachable, ServerCert: client.EntranceUnreachable}
	for name, test := range map[string]struct {
		found []client.ProbeResult
		want  []string
	}{
		"well":         {[]client.ProbeResult{well}, []string{"ClientCertEnforced=True ClientCertRequired", "ServerCertOurs=True PeeringRootCert"}},
		"not required": {[]client.ProbeResult{notRequired}, []string{"ClientCertEnforced=False ClientCertNotRequired", "ServerCertOurs=True PeeringRootCert"}},
		"foreign":      {[]client.ProbeResult{foreign}, []string{"ClientCertEnforced=True ClientCertRequired", "ServerCertOurs=False ForeignCert"}},
		"away":         {[]client.ProbeResult{away}, []string{"ClientCertEnforced=Unknown EntranceUnreachable", "ServerCertOurs=Unknown EntranceUnreachable"}},
		"one away":     {[]client.ProbeResult{well, away}, []string{"ClientCertEnforced=Unknown EntranceUnreachable", "ServerCertOurs=Unknown EntranceUnreachable"}},
		"the worst of": {[]client.ProbeResult{foreign, away, notRequired, well}, []string{"ClientCertEnforced=False ClientCertNotRequired", "ServerCertOurs=False ForeignCert"}},
		"none":         {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var endpoints []string
			for i := range test.found {
				endpoints = append(endpoints, string(rune('a'+i)))
			}
			f := newFixture(t, endpoints...)
			for i, result := range test.found {
				f.finds(endpoints[i], result)
			}
			f.holds(clusterPeer("west"))
			peer, _ := f.run("west")
			assert.Equal(t, test.want, said(peer))
			assert.NotNil(t, meta.FindStatusCondition(peer.Status.Conditions, "Ready"), "another controller's")
			assert.ElementsMatch(t, endpoints, f.probes)
		})
	}
}

// K2: a condition says which generation it is about and since when its status is so, and
// nothing is written when nothing changed.
func TestK2Conditions(t *testing.T) {
	f := newFixture(t, "a")
	f.holds(clusterPeer("west"))
	peer, writes := f.run("west")
	assert.Equal(t, 1, writes)
	for _, condition := range ours(peer) {
		assert.Equal(t, int64(3), condition.ObservedGeneration)
		assert.True(t, condition.LastTransitionTime.Equal(&metav1.Time{Time: noon}))
	}
	f.clock.Step(time.Hour)
	_, writes = f.run("west")
	assert.Zero(t, writes)

	peer.Generation = 4
	require.NoError(t, f.cache.Update(peer))
	f.client.ClearActions()
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	require.Len(t, f.client.Actions(), 1)
	stored, err := f.client.PeeringV1alpha1().ClusterPeers().Get(t.Context(), "west", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int64(4), ours(stored)[0].ObservedGeneration)
	require.NoError(t, f.cache.Update(stored))

	f.finds("a", client.ProbeResult{ClientCert: client.ClientCertRequired, ServerCert: client.ForeignCert})
	peer, writes = f.run("west")
	assert.Equal(t, 1, writes)
	assert.True(t, ours(peer)[0].LastTransitionTime.Equal(&metav1.Time{Time: noon}), "its status stays")
	assert.True(t, ours(peer)[1].LastTransitionTime.Equal(&metav1.Time{Time: noon.Add(time.Hour)}))
}

// A ClusterPeer that is made later gets what is known, and not since before it was there;
// the same is written again as long as the informer does not show it.
func TestLaterClusterPeer(t *testing.T) {
	f := newFixture(t, "a")
	f.check.look(t.Context())
	later := clusterPeer("later")
	later.CreationTimestamp = metav1.NewTime(noon.Add(time.Minute))
	f.holds(later)
	f.clock.Step(2 * time.Minute)
	for range 2 {
		_, err := f.sync(t.Context(), cache.ObjectName{Name: "later"})
		require.NoError(t, err)
		peer, err := f.client.PeeringV1alpha1().ClusterPeers().Get(t.Context(), "later", metav1.GetOptions{})
		require.NoError(t, err)
		assert.True(t, ours(peer)[0].LastTransitionTime.Equal(&later.CreationTimestamp))
		f.clock.Step(time.Second)
	}
	assert.Equal(t, 1, f.probed())
}

// P14: an endpoint that is not advertised any more leaves no condition.
func TestP14NoneAdvertised(t *testing.T) {
	f := newFixture(t)
	peer := clusterPeer("west")
	peer.Status.Conditions = append(peer.Status.Conditions, metav1.Condition{Type: peeringv1alpha1.ConditionServerCertOurs, Status: metav1.ConditionTrue})
	f.holds(peer)
	peer, writes := f.run("west")
	assert.Equal(t, 1, writes)
	assert.Empty(t, ours(peer))
	_, writes = f.run("west")
	assert.Zero(t, writes)
}

// Nothing is said of a ClusterPeer that is on its way out, before there is a result, or
// if it is gone.
func TestNothingToSay(t *testing.T) {
	f := newFixture(t, "a")
	f.holds(clusterPeer("west"))
	look := func(name string) {
		f.client.ClearActions()
		_, err := f.sync(t.Context(), cache.ObjectName{Name: name})
		require.NoError(t, err)
		assert.Empty(t, f.client.Actions())
	}
	look("west")
	f.check.look(t.Context())
	leaving := clusterPeer("west")
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	require.NoError(t, f.cache.Update(leaving))
	look("west")
	look("gone")
	ctx, cancel := context.WithCancel(t.Context())
	f.finds("a", client.ProbeResult{ClientCert: client.EntranceUnreachable, ServerCert: client.EntranceUnreachable})
	cancel()
	f.check.look(ctx)
	assert.Equal(t, well, *f.check.found().result, "what ends is this process")
}

// P14: it looks as soon as there is a CA, every minute, and tells every ClusterPeer what
// is different, those that come later too.
func TestP14Run(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t, "a")
	f.Controller.check.ledger = recordtest.New()
	ledger := f.Controller.check.ledger.(*recordtest.Memory)
	require.NoError(t, f.client.Tracker().Add(clusterPeer("west")))
	ctx, cancel := context.WithCancel(t.Context())
	f.factory.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.factory.WaitForCacheSyncWithContext(ctx)
	says := func(name, want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			peer, err := f.client.PeeringV1alpha1().ClusterPeers().Get(ctx, name, metav1.GetOptions{})
			return err == nil && slices.Contains(said(peer), want)
		}, 20*time.Second, time.Millisecond)
	}
	require.Eventually(t, f.clock.HasWaiters, 20*time.Second, time.Millisecond)
	assert.Zero(t, f.probed(), "no CA, no gateway")
	f.ledger = ledger
	f.certified()
	says("west", "ClientCertEnforced=True ClientCertRequired")
	_, err := f.client.PeeringV1alpha1().ClusterPeers().Create(ctx, clusterPeer("north"), metav1.CreateOptions{})
	require.NoError(t, err)
	says("north", "ClientCertEnforced=True ClientCertRequired")
	assert.Equal(t, 1, f.probed())

	f.finds("a", client.ProbeResult{ClientCert: client.ClientCertNotRequired, ServerCert: client.PeeringRootCert})
	require.Eventually(t, func() bool {
		f.clock.Step(10 * time.Second)
		return f.probed() > 1
	}, 20*time.Second, time.Millisecond)
	says("west", "ClientCertEnforced=False ClientCertNotRequired")
	says("north", "ClientCertEnforced=False ClientCertNotRequired")
	cancel()
	require.NoError(t, <-ended)
	f.factory.Shutdown()
	goleak.VerifyNone(t, before)
}
