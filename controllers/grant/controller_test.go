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

package grant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	whole := Config{
		Client: f.api, Informer: f.peers.Peering().V1alpha1().ClusterPeers(), Plans: f.plans, Ledger: f.book,
		Host: f.host.RbacV1(), Objects: f.objects.Rbac().V1(), Self: self.self, Recorder: f.recorder, Clock: f.clock,
	}
	_, err := New(whole)
	require.Error(t, err, "the informers are in use by the one of the fixture")
	for name, take := range map[string]func(*Config){
		"client":   func(c *Config) { c.Client = nil },
		"informer": func(c *Config) { c.Informer = nil },
		"plans":    func(c *Config) { c.Plans = nil },
		"ledger":   func(c *Config) { c.Ledger = nil },
		"host":     func(c *Config) { c.Host = nil },
		"objects":  func(c *Config) { c.Objects = nil },
		"self":     func(c *Config) { c.Self = rbacv1.Subject{} },
		"recorder": func(c *Config) { c.Recorder = nil },
		"clock":    func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}

// granted is a fixture whose ClusterPeer west is granted something in two namespaces and
// in the whole cluster.
func granted(t *testing.T) (*fixture, *access.Plan) {
	t.Helper()
	f := newFixture(t)
	logs := capability("logs", "get")
	logs.Cluster = []rbacv1.PolicyRule{rule("list", "nodes")}
	plan := planned([]access.Capability{logs}, "a", "b")
	f.holds("west", westUID)
	f.plans.set(plan)
	f.settles("west")
	return f, plan
}

// withoutCluster is a plan for when there is no peering.
func withoutCluster() *access.Plan { return &access.Plan{Name: "west", UID: westUID} }

// G5: what is granted comes and goes.
func TestG5GrantsComeAndGo(t *testing.T) {
	f, plan := granted(t)
	assert.Equal(t, []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps", "d8-logs:reader list nodes"}, f.grants())
	assert.Equal(t, "True Applied: 6 objects in 2 namespaces for 1 capability.", f.condition("west"))
	grants := f.book.Grants(westUID)
	require.Len(t, grants, 1)
	assert.Equal(t, "west", grants[0].PeerName)
	assert.Equal(t, []string{"a", "b"}, grants[0].Namespaces())
	assert.True(t, isComplete(grants[0]))
	for _, object := range grants[0].Objects {
		live := f.host.every()[refOf(object)]
		require.NotNil(t, live)
		assert.Equal(t, object.UID, string(live.GetUID()))
	}

	plan = planned(append(plan.Effective, capability("backup", "list")), "b", "c")
	f.plans.set(plan)
	f.settles("west")
	assert.Equal(t, []string{
		"b d8-logs:reader get configmaps", "b d8-logs:reader list configmaps", "c d8-logs:reader get configmaps",
		"c d8-logs:reader list configmaps", "d8-logs:reader list nodes",
	}, f.grants())
	assert.Equal(t, "True Applied: 10 objects in 2 namespaces for 2 capabilities.", f.condition("west"))

	plan = planned(plan.Effective[1:], "b")
	plan.Unreachable = true
	f.plans.set(plan)
	f.settles("west")
	assert.Equal(t, []string{"b d8-logs:reader list configmaps"}, f.grants(), "P12: what a peer out of reach may do stays")
	assert.Len(t, f.host.all(), 2)

	f.plans.set(planned(nil, "b"))
	f.settles("west")
	assert.Empty(t, f.host.every())
	assert.Empty(t, f.book.AllGrants())
	assert.Equal(t, "True Applied: Nothing is granted.", f.condition("west"))
	assert.Empty(t, f.events())
}

// G5: when a peering ends everything goes at once, whatever else is known.
func TestG5EverythingGoes(t *testing.T) {
	for name, end := range map[string]func(f *fixture){
		"there is no peering": func(f *fixture) { f.plans.set(withoutCluster()) },
		"the ClusterPeer is being deleted": func(f *fixture) {
			f.plans.unknown()
			f.deletes("west")
		},
		"the ClusterPeer is gone": func(f *fixture) {
			f.plans.unknown()
			f.forgets("west")
		},
		"gone, and nobody was there": func(f *fixture) {
			f.forgets("west")
			f.restart()
		},
		"another one has its name": func(f *fixture) {
			f.forgets("west")
			f.holds("west", "22222222-0000-4000-8000-000000000001")
			f.plans.unknown()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := granted(t)
			end(f)
			_, err := f.once("west")
			require.NoError(t, err)
			assert.Empty(t, f.host.every())
			assert.Empty(t, f.book.AllGrants())
			f.idles("west")
		})
	}
}

// G5: what a ClusterPeer was granted that is gone goes though another one has its name and
// is granted the same.
func TestG5AnotherOfThatName(t *testing.T) {
	f, plan := granted(t)
	before := f.host.all()
	f.forgets("west")
	const second = "22222222-0000-4000-8000-000000000001"
	f.holds("west", second)
	plan = planned(plan.Effective, "a")
	plan.UID = second
	f.plans.set(plan)
	f.settles("west")
	assert.Equal(t, []string{"a d8-logs:reader get configmaps", "d8-logs:reader list nodes"}, f.grants())
	for r := range f.host.all() {
		assert.NotContains(t, before, r, "nothing is inherited")
	}
	assert.Empty(t, f.book.Grants(westUID))
	assert.Len(t, f.book.Grants(second), 1)

	// That it failed once is not the end of it.
	require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutGrant(&record.Grant{PeerUID: westUID, PeerName: "west", Capability: "logs", Objects: []record.GrantedObject{{Kind: record.KindRole, Namespace: "a", Name: "entente-1", UID: "x"}}})
	}))
	f.strays.suspect("west", westUID)
	f.host.before = func(verb string, _ ref) error {
		if verb == "delete" {
			return errCrash
		}
		return nil
	}
	_, err := f.once("west")
	require.ErrorIs(t, err, errCrash)
	assert.Equal(t, "True", f.condition("west")[:4], "that is another one's")
	f.host.before = nil
	f.settles("west")
	assert.Empty(t, f.book.Grants(westUID))

	// Somebody else, who led before, lists more for the one that is gone.
	require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutGrant(&record.Grant{PeerUID: westUID, PeerName: "west", Capability: "logs", Objects: []record.GrantedObject{{Kind: record.KindRole, Namespace: "a", Name: "entente-1"}}})
	}))
	f.strays.suspect("west", westUID)
	f.settles("west")
	assert.Empty(t, f.book.Grants(westUID))
}

// A ClusterPeer that the informer does not show yet is not gone.
func TestG5NotShownYet(t *testing.T) {
	f, _ := granted(t)
	indexer := f.peers.Peering().V1alpha1().ClusterPeers().Informer().GetIndexer()
	require.NoError(t, indexer.Replace(nil, ""))
	again, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	assert.Equal(t, unknownAgain, again)
	assert.Len(t, f.host.all(), 6)

	f.api.PrependReactor("get", "clusterpeers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("ouch")
	})
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.Error(t, err)
	assert.Len(t, f.host.all(), 6)
}

// While it is not known what is to be, nothing is touched.
func TestG5Unknown(t *testing.T) {
	f, _ := granted(t)
	f.plans.unknown()
	for _, stale := range []error{nil, record.ErrStale, record.ErrRestored} {
		f.book.SetFresh(stale)
		if stale != nil {
			f.plans.set(withoutCluster())
		}
		f.host.did()
		again, err := f.once("west")
		require.NoError(t, err)
		assert.Equal(t, unknownAgain, again)
		assert.Empty(t, f.host.did())
		assert.Len(t, f.host.all(), 6)
	}
	f.book.SetFresh(nil)
	f.plans.err = errors.New("ouch")
	_, err := f.once("west")
	require.ErrorContains(t, err, "ouch")
	assert.Len(t, f.host.all(), 6)
}

// G5: a change makes other objects; those of before go first, and bindings before roles.
func TestG5Order(t *testing.T) {
	f, _ := granted(t)
	f.plans.set(planned([]access.Capability{capability("logs", "list")}, "a", "b"))
	f.host.did()
	_, err := f.once("west")
	require.NoError(t, err)
	var order []string
	for _, did := range f.host.did() {
		words := strings.Fields(did)
		order = append(order, words[0]+" "+words[1])
	}
	created := slices.IndexFunc(order, func(s string) bool { return strings.HasPrefix(s, "create") })
	require.Equal(t, 8, created, order)
	for _, s := range order[:4] {
		assert.Contains(t, s, "Binding")
	}
	for _, s := range order[4:8] {
		assert.NotContains(t, s, "Binding")
	}
	assert.Len(t, order, 14)
	assert.Equal(t, []string{"a d8-logs:reader list configmaps", "b d8-logs:reader list configmaps"}, f.grants())
	f.idles("west")
}

// G5: a project of 200 namespaces; and one that is as large as can be offered fits a
// record.
func TestG5ManyNamespaces(t *testing.T) {
	var namespaces []string
	for i := range 200 {
		namespaces = append(namespaces, fmt.Sprintf("ns-%03d", i))
	}
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(planned([]access.Capability{capability("logs", "get")}, namespaces...))
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Equal(t, 1+2*2, f.book.wrote(), "the key, and two writes for each 100 objects")
	assert.Empty(t, f.condition("west"), "it is not done")
	f.settles("west")
	assert.Len(t, f.grants(), 200)
	assert.Equal(t, "True Applied: 400 objects in 200 namespaces for 1 capability.", f.condition("west"))
	f.plans.set(withoutCluster())
	f.book.wrote()
	f.settles("west")
	assert.Empty(t, f.host.every())

	grant := &record.Grant{PeerUID: westUID, PeerName: strings.Repeat("p", 63), Capability: strings.Repeat("c", 63)}
	for i := range 2000 {
		namespace := fmt.Sprintf("%s%04d", strings.Repeat("n", 59), i)
		for _, kind := range []string{record.KindRole, record.KindRoleBinding} {
			grant.Objects = append(grant.Objects, record.GrantedObject{Kind: kind, Namespace: namespace, Name: record.GrantPrefix + strings.Repeat("f", 64), UID: westUID})
		}
	}
	data, err := record.Encode(grant)
	require.NoError(t, err)
	assert.Less(t, len(data), 1<<20, "etcd takes 1.5 MiB")
}
