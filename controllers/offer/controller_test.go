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

package offer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid = "11111111-0000-4000-8000-000000000001"
	// jwks is a set without keys: enough for an issuer whose tokens nobody can check.
	jwks = `{"keys":[{"kty":"EC","crv":"P-256","kid":"1","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}`
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

type fixture struct {
	t       *testing.T
	ledger  *recordtest.Memory
	clock   *clocktesting.FakeClock
	cache   cache.Indexer
	factory externalversions.SharedInformerFactory
	client  *fake.Clientset
	// issuer is what the host's issuer is, issuerErr why it cannot be read; read counts.
	issuer    *protocol.Issuer
	issuerErr error
	read      int
	planned   *plans
	recorder  *events.FakeRecorder
	*Controller
}

// plans is what the model is to say.
type plans struct {
	ledger record.Ledger
	plan   access.Plan
	err    error
}

func (p *plans) Plan(*peeringv1alpha1.ClusterPeer) (*access.Plan, error) {
	if p.err != nil {
		return nil, p.err
	}
	plan := p.plan
	return &plan, nil
}

func (p *plans) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	return p.ledger.Subscribe(func(string) { enqueue(cache.ObjectName{Name: "west"}) })
}

func newFixture(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, ledger: recordtest.New(), clock: clocktesting.NewFakeClock(noon), client: fake.NewSimpleClientset(), recorder: events.NewFakeRecorder(100)}
	f.planned = &plans{ledger: f.ledger}
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	informer := f.factory.Peering().V1alpha1().ClusterPeers()
	f.cache = informer.Informer().GetIndexer()
	config := Config{
		Ledger: f.ledger, Informer: informer, PeeringVersion: "v1.2.3", Alias: "east", Clock: f.clock,
		Plans: f.planned, Recorder: f.recorder,
		Issuer: func(context.Context) (*protocol.Issuer, error) { f.read++; return f.issuer, f.issuerErr },
	}
	for _, c := range change {
		c(&config)
	}
	controller, err := New(config)
	require.NoError(t, err)
	f.Controller = controller
	return f
}

func clusterPeer() *peeringv1alpha1.ClusterPeer {
	return &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "west", UID: types.UID(uid)},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite},
	}
}

// minted makes a record for the ClusterPeer.
func (f *fixture) minted() {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		return record.Mint(tx, record.Minting{UID: uid, Name: "west", TokenID: "0001020304050607", Now: noon, Expires: noon.Add(time.Hour)})
	}))
}

// run looks at the ClusterPeer, and returns what its peer is offered then.
func (f *fixture) run() record.Offer {
	f.t.Helper()
	again, err := f.sync(f.t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(f.t, err)
	assert.InDelta(f.t, interval, again, float64(interval)/5)
	return f.ledger.Peer(uid).Offer
}

func TestNewNeedsAll(t *testing.T) {
	whole := Config{
		Ledger:   recordtest.New(),
		Informer: externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), 0).Peering().V1alpha1().ClusterPeers(),
		Clock:    clocktesting.NewFakeClock(noon), PeeringVersion: "v1",
		Plans: &plans{}, Recorder: events.NewFakeRecorder(1),
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"ledger":   func(c *Config) { c.Ledger = nil },
		"informer": func(c *Config) { c.Informer = nil },
		"version":  func(c *Config) { c.PeeringVersion = "" },
		"clock":    func(c *Config) { c.Clock = nil },
		"plans":    func(c *Config) { c.Plans = nil },
		"recorder": func(c *Config) { c.Recorder = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.Error(t, err, name)
	}
}

// P10: an offer names issuer, version and alias, counts up when it is another one, and is
// not written when it is not.
func TestP10Offer(t *testing.T) {
	f := newFixture(t)
	f.issuer = &protocol.Issuer{URL: "https://east.example.com", JWKS: jwks}
	require.NoError(t, f.cache.Add(clusterPeer()))
	f.minted()
	first := f.run()
	assert.Equal(t, protocol.Offer{Issuer: f.issuer, PeeringVersion: "v1.2.3", Alias: "east"}, first.Body)
	assert.Equal(t, protocol.OfferHeader{Epoch: 1, Generation: 1, Digest: first.Body.Digest()}, first.OfferHeader)

	changed := f.ledger.Changed(uid)
	f.run()
	select {
	case <-changed:
		t.Fatal("nothing changed, and something was written")
	default:
	}

	f.issuer = nil
	f.clock.Step(issuerFor)
	second := f.run()
	assert.Nil(t, second.Body.Issuer)
	assert.Equal(t, uint64(2), second.Generation)
	assert.Equal(t, uint64(1), second.Epoch)
}

// P10: the issuer is read once for all peers. One that cannot be read is not taken away
// from a peer that has it; before it was read once, nothing is offered.
func TestP10Issuer(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.cache.Add(clusterPeer()))
	f.minted()
	f.issuerErr = errors.New("the host cannot be reached")
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.ErrorIs(t, err, f.issuerErr)
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.ErrorIs(t, err, f.issuerErr)
	assert.Equal(t, 1, f.read, "it is not asked again at once")
	assert.Zero(t, f.ledger.Peer(uid).Offer)

	f.clock.Step(noIssuerFor)
	f.issuer, f.issuerErr = &protocol.Issuer{URL: "https://east.example.com", JWKS: jwks}, nil
	f.run()
	f.run()
	assert.Equal(t, 2, f.read)

	f.clock.Step(issuerFor)
	f.issuer, f.issuerErr = nil, errors.New("the host cannot be reached")
	assert.NotNil(t, f.run().Body.Issuer)
	assert.Equal(t, 3, f.read)
}

// P10: an offer that the other side would refuse is not made; the one before it stands.
func TestP10OverTheLimits(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.cache.Add(clusterPeer()))
	f.minted()
	before := f.run()
	for i := range protocol.MaxCapabilities + 1 {
		f.planned.plan.Offered = append(f.planned.plan.Offered, access.Capability{Name: fmt.Sprintf("c-%d", i), Version: "1"})
	}
	assert.Equal(t, before, f.run())
	f.run()
	require.Len(t, f.recorder.Events, 1, "once")
	assert.Contains(t, <-f.recorder.Events, "Warning OfferTooLarge What this cluster would offer breaks the limits")

	whole := f.planned.plan.Offered
	f.planned.plan.Offered = nil
	f.run()
	f.planned.plan.Offered = whole
	f.run()
	require.Len(t, f.recorder.Events, 1, "it was well in between")
	<-f.recorder.Events
	f.planned.plan.Offered = f.planned.plan.Offered[1:]
	assert.Len(t, f.run().Body.Capabilities, protocol.MaxCapabilities)
	f.issuer = &protocol.Issuer{URL: "http://not.https.example.com", JWKS: jwks}
	f.clock.Step(issuerFor)
	f.run()
	assert.Len(t, f.recorder.Events, 1, "another time")
}

// P10: what is offered is what the plan says; while that cannot be told the offer stands.
func TestP10CapabilitiesAndProjects(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.cache.Add(clusterPeer()))
	f.minted()
	f.planned.plan = access.Plan{
		Offered: []access.Capability{{
			Name: "backup", Version: "1.2.0", Scope: []peeringv1alpha1.CapabilityScope{peeringv1alpha1.CapabilityScopeProject, peeringv1alpha1.CapabilityScopeCluster},
		}, {Name: "one-way", Version: "1.0.0"}},
		Projects: []access.Project{{Name: "b", Namespaces: []string{"b-1", "b-2"}}},
	}
	body := f.run().Body
	assert.Equal(t, []protocol.Capability{{Name: "backup", Version: "1.2.0", Scope: []string{"project", "cluster"}}, {Name: "one-way", Version: "1.0.0"}}, body.Capabilities)
	assert.Equal(t, []protocol.Project{{Name: "b", Namespaces: []string{"b-1", "b-2"}}}, body.Projects)

	f.planned.plan, f.planned.err = access.Plan{}, access.ErrUnknown
	again, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	assert.Equal(t, access.AskAgain, again)
	assert.Equal(t, body, f.ledger.Peer(uid).Offer.Body)
	f.planned.err, f.planned.plan.OfferUnknown = nil, true
	again, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	assert.Equal(t, access.AskAgain, again)
	assert.Equal(t, body, f.ledger.Peer(uid).Offer.Body)
	f.planned.plan.OfferUnknown = false
	assert.Empty(t, f.run().Body.Capabilities, "withdrawn")
}

func TestVersionIsCut(t *testing.T) {
	for version, want := range map[string]string{
		strings.Repeat("v", 100):               strings.Repeat("v", 64),
		"v0.0.0-master+$Format:%H$":            "v0.0.0-master+", // as of a build that was not stamped
		"v1.2.3-rc.1+0123456789abcdef.dirty/x": "v1.2.3-rc.1+0123456789abcdef.dirty/x",
	} {
		f := newFixture(t, func(c *Config) { c.PeeringVersion = version; c.Issuer = nil })
		require.NoError(t, f.cache.Add(clusterPeer()))
		f.minted()
		assert.Equal(t, want, f.run().Body.PeeringVersion)
	}
}

// Without a record, or on its way out, a ClusterPeer offers nothing.
func TestNothingToOffer(t *testing.T) {
	f := newFixture(t)
	look := func() {
		again, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
		require.NoError(t, err)
		assert.Zero(t, again)
	}
	look()
	require.NoError(t, f.cache.Add(clusterPeer()))
	look()
	require.Nil(t, f.ledger.Peer(uid))
	f.minted()
	leaving := clusterPeer()
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	require.NoError(t, f.cache.Update(leaving))
	look()
	assert.Zero(t, f.ledger.Peer(uid).Offer)
	assert.Zero(t, f.read)
}

// It looks when the ledger changes: an invite that was minted is followed by an offer.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t)
	require.NoError(t, f.client.Tracker().Add(clusterPeer()))
	ctx, cancel := context.WithCancel(t.Context())
	f.factory.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	f.factory.WaitForCacheSyncWithContext(ctx)
	f.minted()
	require.Eventually(t, func() bool { return f.ledger.Peer(uid).Offer.Generation == 1 }, 20*time.Second, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	f.factory.Shutdown()
	goleak.VerifyNone(t, before)
}
