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

package access

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	uid   = "11111111-0000-4000-8000-000000000001"
	other = "22222222-0000-4000-8000-000000000002"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// resources is a host cluster with ConfigMaps and nodes.
type resources struct{}

func (*resources) Scope(group, resource string) (namespaced, found bool) {
	return resource == "configmaps", group == "" && (resource == "configmaps" || resource == "nodes")
}

func (*resources) Failed(string) bool { return false }

// source is both sources of the model, with what it is to say.
type source[T any] struct {
	now     T
	changed func()
}

func (s *source[T]) Current() T { return s.now }

func (s *source[T]) Subscribe(changed func()) (cancel func()) {
	s.changed = changed
	return func() { s.changed = nil }
}

// projectSet is projects by name; those with a leading + are no labelled ones.
type projectSet map[string][]string

func (s projectSet) Labelled() (labelled []Project) {
	for _, name := range []string{"a", "b", "c", "d"} {
		if namespaces, found := s[name]; found {
			labelled = append(labelled, Project{name, namespaces})
		}
	}
	return labelled
}

func (s projectSet) Get(name string) (Project, bool) {
	for _, key := range []string{name, "+" + name} {
		if namespaces, found := s[key]; found {
			return Project{name, namespaces}, true
		}
	}
	return Project{}, false
}

type fixture struct {
	t         *testing.T
	ledger    *recordtest.Memory
	resources *source[rules.Resources]
	projects  *source[ProjectSet]
	peers     cache.Indexer
	*Model
}

// newFixture makes a model over informers that have synced, with these PeeringCapabilities.
func newFixture(t *testing.T, capabilities ...*peeringv1alpha1.PeeringCapability) *fixture {
	t.Helper()
	f := &fixture{
		t: t, ledger: recordtest.New(),
		resources: &source[rules.Resources]{now: &resources{}},
		projects:  &source[ProjectSet]{now: projectSet{"a": {"a"}, "b": {"b-1", "b-2"}, "c": {"c"}, "+p": {"p"}}},
	}
	client := fake.NewSimpleClientset()
	for _, capability := range capabilities {
		require.NoError(t, client.Tracker().Add(capability))
	}
	factory := externalversions.NewSharedInformerFactory(client, 0)
	peers := factory.Peering().V1alpha1().ClusterPeers()
	var err error
	f.Model, err = New(Config{
		ClusterPeers: peers, Capabilities: factory.Peering().V1alpha1().PeeringCapabilities(),
		Ledger: f.ledger, Resources: f.resources, Projects: f.projects,
	})
	require.NoError(t, err)
	f.peers = peers.Informer().GetIndexer()
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSyncWithContext(t.Context())
	return f
}

func capability(name, version string, resources ...string) *peeringv1alpha1.PeeringCapability {
	object := &peeringv1alpha1.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1},
		Spec: peeringv1alpha1.PeeringCapabilitySpec{
			Version:   version,
			Consumers: []peeringv1alpha1.Consumer{{Kind: "ServiceAccount", Namespace: "module", Name: "controller"}},
		},
	}
	for _, resource := range resources {
		object.Spec.Rules = append(object.Spec.Rules, peeringv1alpha1.CapabilityRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}})
	}
	return object
}

func clusterPeer(change func(*peeringv1alpha1.ClusterPeerSpec)) *peeringv1alpha1.ClusterPeer {
	peer := &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "west", UID: uid},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite},
	}
	change(&peer.Spec)
	return peer
}

// paired makes a record of a peer that offers this.
func (f *fixture) paired(offer protocol.Offer, change ...func(*record.Remote)) {
	f.t.Helper()
	remote := &record.Remote{ClusterUUID: other, PairedAt: noon, ConfirmedAt: noon}
	remote.Offer.Body = offer
	for _, c := range change {
		c(remote)
	}
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: uid, Name: "west", Remote: remote})
	}))
}

// plan returns the plan once the other cluster has been offered what it is to be.
func (f *fixture) plan(peer *peeringv1alpha1.ClusterPeer) *Plan {
	f.t.Helper()
	plan, err := f.Plan(peer)
	require.NoError(f.t, err)
	f.offered(plan)
	plan, err = f.Plan(peer)
	require.NoError(f.t, err)
	return plan
}

// offered records what a plan offers, as the controller of offers does.
func (f *fixture) offered(plan *Plan) {
	f.t.Helper()
	var body protocol.Offer
	for _, capability := range plan.Offered {
		body.Capabilities = append(body.Capabilities, protocol.Capability{Name: capability.Name, Version: capability.Version})
	}
	for _, project := range plan.Projects {
		body.Projects = append(body.Projects, protocol.Project(project))
	}
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		_, err := record.SetOffer(tx, plan.UID, body)
		return err
	}))
}

func named(capabilities ...string) *peeringv1alpha1.ClusterPeer {
	return clusterPeer(func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Capabilities = capabilities })
}

func names(capabilities []Capability) (all []string) {
	for _, capability := range capabilities {
		all = append(all, capability.Name)
	}
	return all
}

func theirs(projects ...string) (all []protocol.Project) {
	for _, name := range projects {
		all = append(all, protocol.Project{Name: name, Namespaces: []string{"their-" + name}})
	}
	return all
}

// G3: a capability takes effect when both clusters offer it in the same major version, and
// for each other one it is known why not. P10: only what is there and valid is offered.
func TestG3Effective(t *testing.T) {
	f := newFixture(t, capability("both", "1.2.0", "configmaps"), capability("ours", "1.0.0", "nodes"), capability("newer", "2.0.0"),
		capability("forbidden", "1.0.0", "*"), capability("unnamed", "1.0.0"))
	f.paired(protocol.Offer{Capabilities: []protocol.Capability{
		{Name: "both", Version: "1.0.0"}, {Name: "newer", Version: "1.0.0"}, {Name: "forbidden", Version: "1.0.0"}, {Name: "unnamed", Version: "1.0.0"}, {Name: "gone", Version: "1"},
	}})
	plan := f.plan(named("ours", "both", "newer", "forbidden", "gone"))
	assert.Equal(t, other, plan.ClusterUUID)
	assert.Equal(t, []string{"both", "newer", "ours"}, names(plan.Offered))
	assert.Equal(t, []string{"both"}, names(plan.Effective))
	assert.Equal(t, []Ineffective{{"forbidden", NotValid}, {"gone", NotFound}, {"newer", VersionMismatch}, {"ours", NotOffered}}, plan.Ineffective)
	both := plan.Effective[0]
	assert.Equal(t, "1.2.0", both.Version, "ours is what counts here")
	assert.Equal(t, []peeringv1alpha1.CapabilityScope{peeringv1alpha1.CapabilityScopeProject}, both.Scope)
	assert.Len(t, both.Namespaced, 1)
	assert.Empty(t, both.Cluster)
	assert.Len(t, both.Consumers, 1)
}

// G4: a project is paired when both offers hold its name; spec.projects limits what is
// offered, and Project objects count when they are listed only.
func TestG4Paired(t *testing.T) {
	f := newFixture(t)
	f.paired(protocol.Offer{Projects: theirs("b", "c", "d", "p")})
	pairs := func(plan *Plan) (all []string) {
		for _, pair := range plan.Paired {
			all = append(all, pair.Name)
			assert.Equal(t, []string{"their-" + pair.Name}, pair.Remote)
		}
		return all
	}
	plan := f.plan(named())
	assert.Equal(t, []string{"b", "c"}, pairs(plan))
	assert.Equal(t, []string{"b-1", "b-2", "c"}, plan.Namespaces())
	assert.Len(t, plan.Projects, 3, "a is offered all the same")

	narrowed := clusterPeer(func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Projects = []string{"p", "c", "nowhere", "d"} })
	plan = f.plan(narrowed)
	assert.Equal(t, []string{"c", "p"}, pairs(plan))
	assert.Equal(t, []Project{{"c", []string{"c"}}, {"p", []string{"p"}}}, plan.Projects)
}

// G4: a peer that offers every name there is gets those that it is offered, and no others.
func TestG4Echo(t *testing.T) {
	f := newFixture(t)
	f.paired(protocol.Offer{Projects: theirs("a", "b", "c", "d", "e", "kube-system", "p")})
	plan := f.plan(clusterPeer(func(spec *peeringv1alpha1.ClusterPeerSpec) { spec.Projects = []string{"b"} }))
	assert.Equal(t, []string{"b-1", "b-2"}, plan.Namespaces())
}

// P12, G5: what ends a peering ends all that it gave; that the other cluster is out of
// reach, or offers nonsense, does not.
func TestP12WhatEndsAccess(t *testing.T) {
	f := newFixture(t, capability("both", "1", "configmaps"))
	offer := protocol.Offer{Capabilities: []protocol.Capability{{Name: "both", Version: "1"}}, Projects: theirs("b")}
	peer := named("both")
	for name, test := range map[string]struct {
		change func(*record.Remote)
		peer   *peeringv1alpha1.ClusterPeer
		stays  bool
	}{
		"well":          {stays: true},
		"unreachable":   {change: func(r *record.Remote) { r.Unreachable = noon }, stays: true},
		"invalid offer": {change: func(r *record.Remote) { r.Fault = record.InvalidOffer }, stays: true},
		"unconfirmed":   {change: func(r *record.Remote) { r.ConfirmedAt = time.Time{} }},
		"left":          {change: func(r *record.Remote) { r.Fault = record.PeerLeft }},
		"suspended":     {change: func(r *record.Remote) { r.Fault = record.PeerSuspended }},
		"expired":       {change: func(r *record.Remote) { r.Fault = record.TrustExpired }},
		"another":       {change: func(r *record.Remote) { r.Fault = record.UUIDMismatch }},
		"cloned":        {change: func(r *record.Remote) { r.Fault = record.ClonedPeer }},
		"version":       {change: func(r *record.Remote) { r.Fault = record.IncompatibleVersion }},
		"not the expected": {peer: clusterPeer(func(spec *peeringv1alpha1.ClusterPeerSpec) {
			spec.Capabilities, spec.Invite = []string{"both"}, &peeringv1alpha1.InviteSpec{ExpectedClusterUUID: uid}
		})},
		"joined, not the expected": {peer: clusterPeer(func(spec *peeringv1alpha1.ClusterPeerSpec) {
			spec.Capabilities, spec.Join = []string{"both"}, &peeringv1alpha1.JoinSpec{ExpectedClusterUUID: uid}
		})},
		"the expected": {peer: clusterPeer(func(spec *peeringv1alpha1.ClusterPeerSpec) {
			spec.Capabilities, spec.Join = []string{"both"}, &peeringv1alpha1.JoinSpec{ExpectedClusterUUID: other}
		}), stays: true},
	} {
		if test.change == nil {
			test.change = func(*record.Remote) {}
		}
		if test.peer == nil {
			test.peer = peer
		}
		f.paired(offer, test.change)
		plan := f.plan(test.peer)
		assert.Equal(t, []string{"both"}, names(plan.Offered), name)
		if test.stays {
			assert.Equal(t, []string{"both"}, names(plan.Effective), name)
			assert.Len(t, plan.Paired, 1, name)
			assert.Equal(t, name == "unreachable", plan.Unreachable, name)
			continue
		}
		assert.Empty(t, plan.ClusterUUID, name)
		assert.Empty(t, plan.Effective, name)
		assert.Empty(t, plan.Paired, name)
		assert.Empty(t, plan.Ineffective, name)
	}
	deleted := peer.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	f.paired(offer)
	assert.Equal(t, &Plan{Name: "west", UID: uid}, f.plan(deleted), "S3: from that moment on")
}

// G3, G4: what the other cluster was not offered, because it is too much, does not take
// effect whatever that one offers.
func TestG3OfferedFirst(t *testing.T) {
	f := newFixture(t, capability("both", "1", "configmaps"), capability("more", "1", "configmaps"))
	f.paired(protocol.Offer{Capabilities: []protocol.Capability{{Name: "both", Version: "1"}, {Name: "more", Version: "1"}}, Projects: theirs("a", "b", "c")})
	f.projects.now = projectSet{"b": {"b-1"}, "c": {"c"}}
	f.plan(named("both"))
	f.projects.now = projectSet{"a": {"a"}, "b": {"b-1", "b-2"}}
	plan, err := f.Plan(named("both", "more"))
	require.NoError(t, err)
	assert.Equal(t, []string{"both", "more"}, names(plan.Offered))
	assert.Equal(t, []string{"both"}, names(plan.Effective))
	assert.Empty(t, plan.Ineffective, "it is about to be offered")
	assert.Equal(t, []Pair{{"b", []string{"b-1"}, []string{"their-b"}}}, plan.Paired, "a and b-2 have not been offered, c is no more")
	f.offered(plan)
	plan, err = f.Plan(named("both", "more"))
	require.NoError(t, err)
	assert.Equal(t, []string{"both", "more"}, names(plan.Effective))
	assert.Equal(t, []string{"a", "b-1", "b-2"}, plan.Namespaces())
}

// G5: what ended is taken back, whatever is known of the host cluster.
func TestG5EndedThoughTheHostIsUnknown(t *testing.T) {
	f := newFixture(t)
	f.resources.now = nil
	for name, end := range map[string]func(*record.Remote){
		"left":        func(r *record.Remote) { r.Fault = record.PeerLeft },
		"unconfirmed": func(r *record.Remote) { r.ConfirmedAt = time.Time{} },
	} {
		f.paired(protocol.Offer{}, end)
		plan, err := f.Plan(named("both"))
		require.NoError(t, err, name)
		assert.Equal(t, &Plan{Name: "west", UID: uid, OfferUnknown: true}, plan, name)
	}
	f.paired(protocol.Offer{})
	_, err := f.Plan(named("both"))
	require.ErrorIs(t, err, ErrUnknown)
}

// What cannot be told is not taken for nothing: all that there is would go.
func TestUnknown(t *testing.T) {
	f := newFixture(t)
	f.paired(protocol.Offer{})
	f.resources.now = nil
	_, err := f.Plan(named())
	require.ErrorIs(t, err, ErrUnknown)
	f.resources.now, f.projects.now = &resources{}, nil
	_, err = f.Plan(named())
	require.ErrorIs(t, err, ErrUnknown)
	f.projects.now = projectSet{}
	f.plan(named())
}

// Without a host cluster no capability is valid, and there is no project.
func TestStandalone(t *testing.T) {
	f := newFixture(t, capability("both", "1"))
	f.config.Resources, f.config.Projects = nil, nil
	plan := f.plan(named("both"))
	assert.Empty(t, plan.Offered)
	assert.Empty(t, plan.Projects)
	assert.Equal(t, []Ineffective{{"both", NotValid}}, plan.Ineffective)
}

// A verdict counts for one generation and one state of the host cluster. A status decides
// nothing (S1).
func TestS1Verdicts(t *testing.T) {
	object := capability("both", "1", "configmaps")
	f := newFixture(t)
	require.True(t, f.judge(object, f.resources.now).Status == metav1.ConditionTrue)
	changed := object.DeepCopy()
	changed.Generation, changed.Spec.Rules[0].Verbs = 2, []string{"*"}
	changed.Status.Conditions = []metav1.Condition{{Type: "Valid", Status: metav1.ConditionTrue}}
	assert.Equal(t, metav1.ConditionFalse, f.judge(changed, f.resources.now).Status)
	again := object.DeepCopy()
	again.UID, again.Generation = "another", 2
	assert.Equal(t, metav1.ConditionTrue, f.judge(again, f.resources.now).Status)
	assert.Equal(t, metav1.ConditionUnknown, f.judge(again, nil).Status)
}

// A plan is looked at again when something of it changes, and not for every status.
func TestSubscribe(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.peers.Add(named("both")))
	seen := make(chan string, 10)
	cancel := f.Subscribe(func(object cache.ObjectName) { seen <- object.Name })
	next := func(what string) {
		t.Helper()
		select {
		case name := <-seen:
			assert.Equal(t, "west", name, what)
		case <-time.After(20 * time.Second):
			t.Fatal("nobody was told of " + what)
		}
	}
	f.projects.changed()
	next("projects")
	f.resources.changed()
	next("resources")
	f.paired(protocol.Offer{})
	next("the ledger")
	cancel()
	assert.Nil(t, f.projects.changed)
	f.paired(protocol.Offer{Alias: "x"})
	assert.Empty(t, seen)
}
