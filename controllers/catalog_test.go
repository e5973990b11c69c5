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

package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/projects"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const deadline = 20 * time.Second

// noLeak checks at the end of the test that it left no goroutine.
func noLeak(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// configOf is a config of a cluster that can join others, but not invite them.
func configOf(t *testing.T, clients versioned.Interface, ledger record.Ledger) Config {
	t.Helper()
	dialer, err := client.New(client.Config{})
	require.NoError(t, err)
	claims, cancel := record.NewIssuerClaims(ledger)
	t.Cleanup(cancel)
	return Config{
		Client: clients, Recorder: events.NewFakeRecorder(100), Ledger: ledger, Claims: claims, Dialer: dialer,
		Self:           exchange.Self{ClusterUUID: "6f9619ff-8b86-4011-b42d-00c04fc964ff"},
		Specs:          func(string) (record.Spec, bool) { return record.Spec{}, true },
		PeeringVersion: "v1",
	}
}

func TestNewCatalogRefusesAnIncompleteConfig(t *testing.T) {
	whole := configOf(t, fake.NewSimpleClientset(), recordtest.New())
	_, err := NewCatalog(whole)
	require.NoError(t, err)
	for what, take := range map[string]func(*Config){
		"no client":       func(c *Config) { c.Client = nil },
		"no recorder":     func(c *Config) { c.Recorder = nil },
		"no ledger":       func(c *Config) { c.Ledger = nil },
		"no claims":       func(c *Config) { c.Claims = nil },
		"no dialer":       func(c *Config) { c.Dialer = nil },
		"knows the specs": func(c *Config) { c.Specs = nil },
		"make controller peeringca: its config is not complete": func(c *Config) { c.Self.ClusterUUID = "" },
		"make controller offer: its config is not complete":     func(c *Config) { c.PeeringVersion = "" },
		"the host cluster is not complete":                      func(c *Config) { c.Host, c.ProjectLabel = &Host{}, "label" },
	} {
		lacking := whole
		take(&lacking)
		_, err := NewCatalog(lacking)
		require.ErrorContains(t, err, what)
	}
}

// Behind a host cluster there is more to do: what it has is followed, and access granted.
func TestCatalogBehindAHost(t *testing.T) {
	names := func(c *Catalog) (all []string) {
		for _, controller := range c.controllers {
			all = append(all, controller.name)
		}
		return all
	}
	config := configOf(t, fake.NewSimpleClientset(), recordtest.New())
	alone, err := NewCatalog(config)
	require.NoError(t, err)
	client := kubefake.NewClientset()
	config.ProjectLabel = projects.DefaultLabel
	config.Host = &Host{
		Client: client, Bulk: client, Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
		Discovery: discovery.ToDiscoveryInterfaceWithContext(client.Discovery()), Namespace: "entente-system",
		Self: rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "entente-system", Name: "entente-apiserver"}, AccessNamespace: "entente-access",
	}
	hosted, err := NewCatalog(config)
	require.NoError(t, err)
	assert.ElementsMatch(t, append(names(alone), "discovery", "projects", "grant", "dataaccess"), names(hosted))
	assert.Len(t, hosted.factories, len(alone.factories)+2)

	config.ProjectLabel = ""
	_, err = NewCatalog(config)
	require.ErrorContains(t, err, "not complete")
}

// G6: workloads of peers come by a gateway, to a host cluster.
func TestG6Serves(t *testing.T) {
	for name, test := range map[string]struct {
		host      *hostView
		endpoints []string
		serves    bool
	}{
		"with both":         {&hostView{}, []string{"https://a.example.com"}, true},
		"without a gateway": {&hostView{}, nil, false},
		"without a host":    {nil, []string{"https://a.example.com"}, false},
		"with neither":      {nil, nil, false},
	} {
		m := &making{config: Config{Self: exchange.Self{Endpoints: test.endpoints}}, host: test.host}
		assert.Equal(t, test.serves, m.serves(), name)
	}
}

// The whole catalog: what it starts works, and nothing is left after the stop.
func TestCatalogRunsEveryController(t *testing.T) {
	noLeak(t)
	invite := &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "invite", UID: "1", Generation: 1},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite},
		// From before: nobody is let in without a gateway and a host cluster.
		Status: peeringv1alpha1.ClusterPeerStatus{Conditions: []metav1.Condition{{Type: peeringv1alpha1.ConditionTokenExchangeReady, Status: metav1.ConditionTrue}}},
	}
	join := &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "join", UID: "2", Generation: 1},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin},
	}
	clients := fake.NewSimpleClientset(invite)
	applied := make(chan string, 1000)
	clients.PrependReactor("patch", "clusterpeers", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent := &peeringv1alpha1.ClusterPeer{}
		if err := json.Unmarshal(action.(clienttesting.PatchActionImpl).Patch, sent); err != nil {
			return true, nil, err
		}
		applied <- sent.Name + " " + meta.FindStatusCondition(sent.Status.Conditions, peeringv1alpha1.ConditionReady).Reason
		return true, sent, nil
	})
	ledger := recordtest.New()
	catalog, err := NewCatalog(configOf(t, clients, ledger))
	require.NoError(t, err)
	// The client keeps no status: the same may be applied again.
	awaitApplied := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool {
			select {
			case got := <-applied:
				return got == want
			default:
				return false
			}
		}, deadline, time.Millisecond, want)
	}
	require.NoError(t, catalog.Start(t.Context()))
	awaitApplied("invite NoGatewayEndpoint")
	require.Eventually(t, func() bool {
		shown, err := clients.PeeringV1alpha1().ClusterPeers().Get(t.Context(), "invite", metav1.GetOptions{})
		return err == nil && meta.FindStatusCondition(shown.Status.Conditions, peeringv1alpha1.ConditionTokenExchangeReady) == nil
	}, deadline, time.Millisecond, "what is not so is not said any more")
	_, err = clients.PeeringV1alpha1().ClusterPeers().Create(t.Context(), join, metav1.CreateOptions{})
	require.NoError(t, err)
	awaitApplied("join WaitingForConnectionString")
	require.Eventually(t, func() bool { return ledger.Authority() != nil }, deadline, time.Millisecond, "a peering CA")

	// Of a pairing both the identity of this cluster and an offer follow.
	require.NoError(t, ledger.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: "2", Name: "join", Remote: &record.Remote{ClusterUUID: "0b9e5f0c-5a3f-4a52-9d8e-6a3f8d1f7c11", PairedAt: time.Now()}})
	}))
	awaitApplied("join WaitingForPeer")
	require.Eventually(t, func() bool { return ledger.Identity() != nil }, deadline, time.Millisecond, "an identity")
	require.Eventually(t, func() bool { return ledger.Peer("2").Offer.Body.PeeringVersion == "v1" }, deadline, time.Millisecond, "an offer")
	require.NoError(t, catalog.Stop(t.Context()))
	require.NoError(t, catalog.Stop(t.Context()), "a second stop")
}

// catalogOf makes a catalog of the test's own controllers.
func catalogOf(clk *clocktesting.FakeClock, controllers ...controller) *Catalog {
	return newCatalog(clk, []informerFactory{externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)}, controllers)
}

func TestControllerThatEndsOrPanicsIsRunAgainAndTakesNoOtherDown(t *testing.T) {
	noLeak(t)
	clk := clocktesting.NewFakeClock(time.Now())
	var panicking, failing, returning, well atomic.Int32
	catalog := catalogOf(clk,
		controller{"panicking", func(context.Context) error { panicking.Add(1); panic("a panic of this test") }},
		controller{"failing", func(context.Context) error { failing.Add(1); return errors.New("a fault of this test") }},
		controller{"returning", func(context.Context) error { returning.Add(1); return nil }},
		controller{"well", func(ctx context.Context) error { well.Add(1); <-ctx.Done(); return ctx.Err() }},
	)
	require.NoError(t, catalog.Start(t.Context()))
	require.Eventually(t, func() bool {
		clk.Step(2 * maxRestartDelay)
		return panicking.Load() > 10 && failing.Load() > 10 && returning.Load() > 10
	}, deadline, time.Millisecond)
	assert.EqualValues(t, 1, well.Load())
	require.NoError(t, catalog.Stop(t.Context()))
}

func TestRestartsSlowDown(t *testing.T) {
	noLeak(t)
	clk := clocktesting.NewFakeClock(time.Now())
	ran := make(chan struct{})
	catalog := catalogOf(clk, controller{"failing", func(context.Context) error { ran <- struct{}{}; return nil }})
	require.NoError(t, catalog.Start(t.Context()))
	pause := restartDelay
	for range 5 {
		<-ran
		require.Eventually(t, clk.HasWaiters, deadline, time.Millisecond)
		clk.Step(pause - time.Millisecond)
		assert.True(t, clk.HasWaiters(), "run again before %v", pause)
		clk.Step(pause/10 + time.Millisecond) // the jitter
		pause *= 2
	}
	<-ran
	require.NoError(t, catalog.Stop(t.Context()))
}

func TestStopIsBounded(t *testing.T) {
	noLeak(t)
	release := make(chan struct{})
	var running atomic.Int32
	hung := func(context.Context) error { running.Add(1); <-release; return nil }
	catalog := catalogOf(clocktesting.NewFakeClock(time.Now()),
		controller{"hung-b", hung}, controller{"hung-a", hung},
		controller{"well", func(ctx context.Context) error { <-ctx.Done(); return nil }},
	)
	require.NoError(t, catalog.Start(t.Context()))
	require.Eventually(t, func() bool { return running.Load() == 2 }, deadline, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		err := catalog.Stop(ctx)
		require.ErrorIs(c, err, context.DeadlineExceeded)
		assert.ErrorContains(c, err, "still running: hung-a, hung-b:")
	}, deadline, time.Millisecond)
	close(release)
	require.NoError(t, catalog.Stop(t.Context()))
}

func TestEndOfTheContextStopsToo(t *testing.T) {
	noLeak(t)
	catalog := catalogOf(clocktesting.NewFakeClock(time.Now()), controller{"well", func(ctx context.Context) error { <-ctx.Done(); return nil }})
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, catalog.Start(ctx))
	cancel()
	select {
	case <-catalog.ended:
	case <-time.After(deadline):
		t.Error("did not end")
	}
	require.NoError(t, catalog.Stop(t.Context()))
}

func TestStartOnce(t *testing.T) {
	noLeak(t)
	var runs atomic.Int32
	count := controller{"counting", func(ctx context.Context) error { runs.Add(1); <-ctx.Done(); return nil }}

	catalog := catalogOf(clocktesting.NewFakeClock(time.Now()), count)
	require.NoError(t, catalog.Start(t.Context()))
	require.ErrorContains(t, catalog.Start(t.Context()), "started before")
	require.Eventually(t, func() bool { return runs.Load() == 1 }, deadline, time.Millisecond)
	require.NoError(t, catalog.Stop(t.Context()))

	// A stop that overtakes the start: the server was told to end while it started.
	catalog = catalogOf(clocktesting.NewFakeClock(time.Now()), count)
	require.NoError(t, catalog.Stop(t.Context()))
	require.NoError(t, catalog.Start(t.Context()))
	require.NoError(t, catalog.Stop(t.Context()))
	assert.EqualValues(t, 1, runs.Load())
}
