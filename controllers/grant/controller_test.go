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
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	whole := Config{
		Client: f.api, Informer: f.peers.Peering().V1alpha1().ClusterPeers(), Planner: f.plans, Ledger: f.book,
		Host: f.host.RbacV1(), Objects: f.objects.Rbac().V1(), Recorder: f.recorder, Clock: f.clock,
	}
	_, err := New(whole)
	require.Error(t, err, "the informers are in use by the one of the fixture")
	for name, take := range map[string]func(*Config){
		"client":   func(c *Config) { c.Client = nil },
		"informer": func(c *Config) { c.Informer = nil },
		"planner":  func(c *Config) { c.Planner = nil },
		"ledger":   func(c *Config) { c.Ledger = nil },
		"host":     func(c *Config) { c.Host = nil },
		"objects":  func(c *Config) { c.Objects = nil },
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
	assert.True(t, grants[0].Complete())
	for _, object := range grants[0].Objects {
		live := f.host.all()[refOf(object)]
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
	assert.Empty(t, f.host.all())
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
			assert.Empty(t, f.host.all())
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
	require.Equal(t, 6, created, order)
	for _, s := range order[:3] {
		assert.Contains(t, s, "Binding")
	}
	for _, s := range order[3:6] {
		assert.NotContains(t, s, "Binding")
	}
	assert.Len(t, order, 10)
	assert.Equal(t, []string{"a d8-logs:reader list configmaps", "b d8-logs:reader list configmaps"}, f.grants())
	f.idles("west")
}

// checkNeverMore checks that nobody may do anything that is not in what is to be, before
// or after a change, nor both of a capability; and that every binding of ours refers to a
// role of ours.
func (f *fixture) checkNeverMore(before, after []string) {
	f.t.Helper()
	all := f.grants()
	for _, line := range all {
		if !slices.Contains(before, line) {
			assert.Contains(f.t, after, line)
		}
	}
	for _, line := range all {
		if slices.Contains(before, line) && !slices.Contains(after, line) {
			for _, other := range all {
				assert.False(f.t, slices.Contains(after, other) && !slices.Contains(before, other), "both %q and %q", line, other)
			}
		}
	}
}

var errCrash = errors.New("the process ends")

// G5: a process that ends at any step leaves less, never more, and the next one finishes.
func TestG5CrashAtEveryStep(t *testing.T) {
	old := []access.Capability{capability("logs", "get")}
	changed := []access.Capability{capability("logs", "list")}
	gets := []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}
	lists := []string{"a d8-logs:reader list configmaps", "b d8-logs:reader list configmaps"}
	for _, test := range []struct {
		name          string
		from, to      *access.Plan
		before, after []string
	}{
		{"granted", withoutCluster(), planned(old, "a", "b"), nil, gets},
		{"withdrawn", planned(old, "a", "b"), withoutCluster(), gets, nil},
		{"changed", planned(old, "a", "b"), planned(changed, "a", "b"), gets, lists},
		{"moved", planned(old, "a"), planned(old, "b"), gets[:1], gets[1:]},
	} {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the last step done: %t", test.name, done), func(t *testing.T) {
				steps := 0
				for at := 1; ; at++ {
					f := newFixture(t)
					f.holds("west", westUID)
					f.plans.set(test.from)
					f.settles("west")
					f.plans.set(test.to)

					steps = 0
					step := func() error {
						f.checkNeverMore(test.before, test.after)
						if steps++; steps >= at {
							return errCrash // and so does all that follows
						}
						return nil
					}
					request := func(string, ref) error { return step() }
					if done {
						f.host.after, f.book.after = request, step
					} else {
						f.host.before, f.book.before = request, step
					}
					_, err := f.once("west")
					f.checkNeverMore(test.before, test.after)
					f.host.before, f.host.after, f.book.before, f.book.after = nil, nil, nil, nil
					if steps < at {
						require.NoError(t, err)
						assert.Greater(t, at, 4)
						return
					}
					require.Error(t, err)
					f.restart()
					f.settles("west")
					assert.ElementsMatch(t, test.after, f.grants(), "step %d", at)
					assert.Len(t, f.host.all(), 2*len(test.after), "step %d", at)
					assert.Empty(t, f.events())
				}
			})
		}
	}
}

// G5: a single failure is made up for by the same process.
func TestG5FailureAtEveryStep(t *testing.T) {
	for at := 1; at < 40; at++ {
		f, _ := granted(t)
		f.plans.set(planned([]access.Capability{capability("logs", "list"), capability("backup", "get")}, "b", "c"))
		steps := 0
		step := func() error {
			if steps++; steps == at {
				return errCrash
			}
			return nil
		}
		f.host.after, f.book.before = func(string, ref) error { return step() }, step
		for range 3 {
			_, _ = f.once("west")
		}
		f.host.after, f.book.before = nil, nil
		f.idles("west")
		assert.Equal(t, []string{
			"b d8-logs:reader get configmaps", "b d8-logs:reader list configmaps",
			"c d8-logs:reader get configmaps", "c d8-logs:reader list configmaps",
		}, f.grants(), "step %d", at)
		assert.Equal(t, "True Applied: 8 objects in 2 namespaces for 2 capabilities.", f.condition("west"))
	}
}

// G5: while something of a capability is there that is to go, nothing of it is made.
func TestG5WhatStaysBlocks(t *testing.T) {
	f, _ := granted(t)
	f.plans.set(planned([]access.Capability{capability("logs", "list"), capability("backup", "get")}, "a", "b"))
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && r.namespace == "b" {
			return apierrors.NewForbidden(rbacv1.Resource("roles"), r.name, errors.New("no"))
		}
		return nil
	}
	_, err := f.once("west")
	require.Error(t, err)
	assert.Equal(t, []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}, f.grants())
	assert.Equal(t, "False ApplyFailed: "+forbidden.message(), f.condition("west"))
	f.host.before = nil
	f.settles("west")
	assert.Len(t, f.grants(), 4)
	assert.Equal(t, "True Applied: 8 objects in 2 namespaces for 2 capabilities.", f.condition("west"))
}

// G5: objects of ours that somebody changed are deleted and made anew.
func TestG5Changed(t *testing.T) {
	p := one(t, planned([]access.Capability{capability("logs", "get")}, "a"))
	more := rbacv1.Subject{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "eve"}
	for name, test := range map[string]struct {
		of     ref
		change func(live object)
	}{
		"rules widened": {p.role, func(live object) {
			live.(*rbacv1.Role).Rules = append(live.(*rbacv1.Role).Rules, rule("get", "secrets"))
		}},
		"rules gone": {p.role, func(live object) { live.(*rbacv1.Role).Rules = nil }},
		"subject added": {p.binding, func(live object) {
			live.(*rbacv1.RoleBinding).Subjects = append(live.(*rbacv1.RoleBinding).Subjects, more)
		}},
		"role replaced":          {p.binding, func(live object) { live.(*rbacv1.RoleBinding).RoleRef.Name = "other" }},
		"kind of role":           {p.binding, func(live object) { live.(*rbacv1.RoleBinding).RoleRef.Kind = "ClusterRole" }},
		"our label removed":      {p.role, func(live object) { live.SetLabels(nil) }},
		"label of a binding":     {p.binding, func(live object) { live.SetLabels(nil) }},
		"everything of ours":     {p.binding, func(live object) { live.SetLabels(nil); live.SetAnnotations(nil) }},
		"another peer's name":    {p.role, func(live object) { live.GetLabels()[LabelPeer] = "east" }},
		"another capability":     {p.role, func(live object) { live.GetLabels()[LabelCapability] = "backup" }},
		"proof removed":          {p.role, func(live object) { delete(live.GetAnnotations(), AnnotationProof) }},
		"UID of another peer":    {p.binding, func(live object) { live.GetAnnotations()[AnnotationPeerUID] = "x" }},
		"gone":                   {p.role, nil},
		"the binding is gone":    {p.binding, nil},
		"widened without labels": {p.role, func(live object) { live.SetLabels(nil); live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
			f.settles("west")
			before := f.host.all()[test.of].GetUID()
			if test.change == nil {
				f.host.loses(test.of)
			} else {
				f.host.changes(test.of, test.change)
			}
			f.show()
			f.settles("west")
			assert.Equal(t, []string{"a d8-logs:reader get configmaps"}, f.grants())
			assert.Len(t, f.host.all(), 2)
			assert.NotEqual(t, before, f.host.all()[test.of].GetUID(), "it is never changed")
			live := f.host.all()[test.of]
			assert.True(t, p.matches(live, test.of, f.book.GrantKey()))
			assert.Empty(t, f.events())
			assert.Equal(t, "True Applied: 2 objects in 1 namespace for 1 capability.", f.condition("west"))
		})
	}

	// What others add that grants nothing stays.
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
	f.settles("west")
	f.host.changes(p.role, func(live object) { live.GetLabels()["team"] = "a"; live.GetAnnotations()["note"] = "b" })
	f.show()
	f.idles("west")
}

// G5: a binding whose role is gone goes before that is made anew: meanwhile somebody could
// put another one in its place.
func TestG5LostRole(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan)[1]
	f.host.loses(p.role)
	f.show()
	f.host.did()
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Equal(t, []string{
		"delete " + p.binding.String(), "delete " + p.role.String(),
		"create " + p.role.String(), "create " + p.binding.String(),
	}, f.host.did())
}

// G5: a ClusterRole that was made to aggregate others is one that was changed.
func TestG5Aggregated(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan)[0]
	f.host.changes(p.role, func(live object) {
		live.(*rbacv1.ClusterRole).AggregationRule = &rbacv1.AggregationRule{}
	})
	f.show()
	f.settles("west")
	role, ok := f.host.all()[p.role].(*rbacv1.ClusterRole)
	require.True(t, ok)
	assert.Nil(t, role.AggregationRule)
}

// replacement is a Role with everything of ours in it that can be copied, and more rules.
func replacement(live object, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: live.GetNamespace(), Name: live.GetName(), Labels: live.GetLabels(), Annotations: live.GetAnnotations()},
		Rules:      rules,
	}
}

// G5: what stands under the name of one of ours and is not ours is never touched; our half
// of the pair goes; the condition and one Event say so; when it is gone ours is made.
func TestG5Foreign(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b")
	pairs := wantedBy(plan)
	a := pairs[0]
	everything := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	bare := func(r ref) object {
		described := metav1.ObjectMeta{Namespace: r.namespace, Name: r.name}
		if r.isBinding() {
			return &rbacv1.RoleBinding{ObjectMeta: described, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "x"}}
		}
		return &rbacv1.Role{ObjectMeta: described, Rules: []rbacv1.PolicyRule{everything}}
	}
	labelled := func(r ref) object {
		live := bare(r)
		live.SetLabels(map[string]string{LabelManagedBy: ManagedBy, LabelPeer: "west", LabelCapability: "logs"})
		live.SetAnnotations(map[string]string{AnnotationPeerUID: westUID})
		return live
	}
	for name, test := range map[string]struct {
		of ref
		// first says that it was there before.
		first bool
		make  func(f *fixture) object
	}{
		"a Role that was there before":       {a.role, true, func(*fixture) object { return bare(a.role) }},
		"a binding that was there before":    {a.binding, true, func(*fixture) object { return bare(a.binding) }},
		"a Role with our labels":             {a.role, true, func(*fixture) object { return labelled(a.role) }},
		"a binding with our labels":          {a.binding, true, func(*fixture) object { return labelled(a.binding) }},
		"our Role replaced":                  {a.role, false, func(*fixture) object { return bare(a.role) }},
		"our Role replaced, with our labels": {a.role, false, func(*fixture) object { return labelled(a.role) }},
		"our binding replaced":               {a.binding, false, func(*fixture) object { return bare(a.binding) }},
		"our Role replaced, with its proof": {a.role, false, func(f *fixture) object {
			return replacement(f.host.all()[a.role], everything)
		}},
		"our Role replaced, with its proof, without labels": {a.role, false, func(f *fixture) object {
			live := replacement(f.host.all()[a.role], everything)
			live.Labels = nil
			return live
		}},
		"the proof of another object": {a.role, false, func(f *fixture) object {
			live := replacement(f.host.all()[a.role], everything)
			live.Annotations = f.host.all()[pairs[1].role].GetAnnotations()
			return live
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			if !test.first {
				f.plans.set(plan)
				f.settles("west")
			}
			theirs := test.make(f)
			f.host.puts(theirs)
			f.plans.set(plan)
			f.show()
			again, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, lookAgain, again)

			check := func() {
				t.Helper()
				all := f.host.all()
				assert.Equal(t, []string{"b d8-logs:reader get configmaps"}, f.grants())
				require.Contains(t, all, test.of)
				assert.Equal(t, theirs.GetUID(), all[test.of].GetUID())
				assert.Len(t, all, 3, "our half is gone")
				assert.Contains(t, f.condition("west"), "False ForeignObject: ")
				assert.Contains(t, f.condition("west"), test.of.String())
				assert.Equal(t, []string{"b"}, f.book.Grants(westUID)[0].Namespaces())
				assert.False(t, f.book.Grants(westUID)[0].Complete())
				listed := slices.DeleteFunc(f.book.Grants(westUID)[0].Objects, func(o record.GrantedObject) bool { return o.Namespace != "a" })
				foreign := test.of.granted("")
				foreign.Foreign = true
				assert.Equal(t, []record.GrantedObject{foreign}, listed)
			}
			check()
			events := f.events()
			require.Len(t, events, 1)
			assert.Contains(t, events[0], "Warning ForeignObject")

			// It stays so, whoever looks, and costs a request at most.
			f.book.wrote()
			for range 2 {
				f.host.did()
				_, err = f.once("west")
				require.NoError(t, err)
				assert.LessOrEqual(t, len(f.host.did()), 1)
				f.restart()
			}
			assert.Zero(t, f.book.wrote())
			assert.Empty(t, f.events())
			check()

			f.host.loses(test.of)
			f.show()
			f.settles("west")
			assert.Equal(t, []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}, f.grants())
			assert.Equal(t, "True Applied: 4 objects in 2 namespaces for 1 capability.", f.condition("west"))
			assert.Empty(t, f.events())

			// It says so again if it happens again.
			f.host.puts(bare(test.of))
			f.show()
			_, err = f.once("west")
			require.NoError(t, err)
			assert.Len(t, f.events(), 1)

			f.plans.set(withoutCluster())
			f.settles("west")
			assert.Len(t, f.host.all(), 1, "what is foreign stays to the end")
			assert.Empty(t, f.book.AllGrants())
		})
	}
}

// G5: that it cannot be told whether something foreign is still there keeps nothing from
// going.
func TestG5ForeignUnreadable(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get"), capability("backup", "get")}, "a")
	f := newFixture(t)
	f.holds("west", westUID)
	p := wantedBy(plan)[0]
	f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: p.role.name}})
	f.plans.set(plan)
	_, err := f.once("west")
	require.NoError(t, err)
	f.host.before = func(verb string, _ ref) error {
		if verb == "get" {
			return apierrors.NewForbidden(rbacv1.Resource("roles"), "x", errors.New("no"))
		}
		return nil
	}
	f.plans.set(planned(plan.Effective[:1], "a"))
	_, err = f.once("west")
	require.Error(t, err)
	assert.Len(t, f.host.all(), 1)
	assert.Equal(t, "False ApplyFailed: "+forbidden.message(), f.condition("west"))
}

// Many foreign objects are one Event and one message, which names some.
func TestG5ManyForeign(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b", "c", "d", "e")
	f := newFixture(t)
	f.holds("west", westUID)
	for _, p := range wantedBy(plan) {
		f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: p.role.namespace, Name: p.role.name}})
	}
	f.plans.set(plan)
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Empty(t, f.grants())
	assert.Len(t, f.host.all(), 5)
	assert.Len(t, f.events(), 1)
	assert.Contains(t, f.condition("west"), "Role c/entente-")
	assert.Contains(t, f.condition("west"), " and 2 more.")
	assert.NotContains(t, f.condition("west"), "Role d/")
}

// G5: if the ledger does not say, the proof does: of objects that were about to be made,
// and after the store was restored.
func TestG5Proof(t *testing.T) {
	restored := func(f *fixture, change func(grant *record.Grant)) {
		t.Helper()
		require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
			grant, err := tx.Grant(westUID, "logs")
			if err != nil {
				return err
			}
			change(grant)
			return tx.PutGrant(grant)
		}))
		f.restart()
	}
	empty := func(grant *record.Grant) { grant.Objects = nil }
	intended := func(grant *record.Grant) {
		for i := range grant.Objects {
			grant.Objects[i].UID = ""
		}
	}
	t.Run("what is to be is taken over as it is", func(t *testing.T) {
		for _, change := range []func(*record.Grant){empty, intended} {
			f, _ := granted(t)
			before := f.host.all()
			restored(f, change)
			f.settles("west")
			assert.Equal(t, before, f.host.all())
			assert.True(t, f.book.Grants(westUID)[0].Complete())
			assert.Len(t, f.book.Grants(westUID)[0].Objects, 6)
		}
	})
	t.Run("what was changed is not", func(t *testing.T) {
		for _, change := range []func(*record.Grant){empty, intended} {
			f, plan := granted(t)
			p := wantedBy(plan)[1]
			f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} })
			restored(f, change)
			f.settles("west")
			assert.Len(t, f.grants(), 3)
			assert.Contains(t, f.grants(), "a d8-logs:reader get configmaps")
		}
	})
	t.Run("what is no longer to be goes", func(t *testing.T) {
		for _, change := range []func(*record.Grant){empty, intended} {
			f, _ := granted(t)
			f.plans.set(withoutCluster())
			restored(f, change)
			f.settles("west")
			assert.Empty(t, f.host.all())
		}
	})
	t.Run("nor is there a ClusterPeer", func(t *testing.T) {
		f, _ := granted(t)
		f.forgets("west")
		restored(f, empty)
		f.settles("west")
		assert.Empty(t, f.host.all())
	})
	t.Run("under another name", func(t *testing.T) {
		f, plan := granted(t)
		p := wantedBy(plan)[1]
		f.host.changes(p.role, func(live object) { live.GetLabels()[LabelPeer] = "east" })
		f.show()
		_, err := f.once("east")
		require.NoError(t, err)
		assert.Contains(t, f.host.all(), p.role, "it is listed, for another ClusterPeer")
		restored(f, empty)
		_, err = f.once("east")
		require.NoError(t, err)
		assert.NotContains(t, f.host.all(), p.role)
		f.settles("west")
		assert.Len(t, f.grants(), 3)
	})
	t.Run("labels alone are not ours", func(t *testing.T) {
		f, _ := granted(t)
		var theirs []object
		for r, live := range f.host.all() {
			if r.kind == record.KindRole {
				copied := replacement(live)
				copied.Name += "-copy" // with the proof of the other name
				theirs = append(theirs, copied)
			}
		}
		theirs = append(theirs, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", Labels: theirs[0].GetLabels()}})
		for _, live := range theirs {
			f.host.puts(live)
		}
		f.show()
		f.idles("west")
		f.plans.set(withoutCluster())
		f.settles("west")
		assert.Len(t, f.host.all(), len(theirs))
	})
	t.Run("while nothing is known it stays", func(t *testing.T) {
		f, _ := granted(t)
		f.plans.unknown()
		restored(f, empty)
		_, err := f.once("west")
		require.NoError(t, err)
		assert.Len(t, f.host.all(), 6)
	})
}

// G5: an object that was about to be made and is not ours is not deleted with the rest.
func TestG5IntentOfAnother(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a")
	p := one(t, plan)
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(plan)
	f.host.before = func(verb string, _ ref) error {
		if verb == "create" {
			return errCrash
		}
		return nil
	}
	_, err := f.once("west")
	require.Error(t, err)
	f.host.before = nil
	require.Len(t, f.book.Grants(westUID)[0].Objects, 2)
	f.host.puts(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: p.role.name}})
	f.show()
	f.plans.set(withoutCluster())
	f.settles("west")
	assert.Len(t, f.host.all(), 1)
	assert.Empty(t, f.book.AllGrants())
}

// Two processes that both think they lead do no harm to each other's objects.
func TestG5TwoLeaders(t *testing.T) {
	f, plan := granted(t)
	p := wantedBy(plan)[1]
	f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules = nil })
	f.show()
	first := true
	f.host.before = func(verb string, r ref) error {
		if verb != "delete" || r != p.role || !first {
			return nil
		}
		first = false
		// The other one was faster: it has deleted it, made it anew and listed it.
		old := f.host.all()[r]
		f.host.uids++
		live := p.build(r, f.book.GrantKey())
		live.SetUID("other")
		require.NoError(t, f.host.Tracker().Delete(rbacv1.SchemeGroupVersion.WithResource("roles"), "a", r.name))
		require.NoError(t, f.host.Tracker().Create(rbacv1.SchemeGroupVersion.WithResource("roles"), live.(*rbacv1.Role), "a"))
		return f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
			return record.ChangeGrant(tx, record.GrantChange{PeerUID: westUID, PeerName: "west", Capability: "logs", Drop: []record.GrantedObject{r.granted(string(old.GetUID()))}, Put: []record.GrantedObject{r.granted("other")}})
		})
	}
	_, err := f.once("west")
	require.NoError(t, err)
	f.host.before = nil
	f.settles("west")
	assert.Len(t, f.grants(), 3)
	assert.True(t, f.book.Grants(westUID)[0].Complete())
	assert.Empty(t, f.events(), "it is not taken for a foreign one")
}

// G5: one of ours that is in the way, and that no informer shows, is replaced if it is not
// as it is to be.
func TestG5InTheWay(t *testing.T) {
	plan := planned([]access.Capability{capability("logs", "get")}, "a")
	p := one(t, plan)
	for name, test := range map[string]struct {
		change func(live object)
		after  func(f *fixture) func(verb string, r ref) error
		err    error
	}{
		"as it is to be":                      {change: func(object) {}},
		"changed":                             {change: func(live object) { live.(*rbacv1.Role).Rules = nil }},
		"without labels":                      {change: func(live object) { live.SetLabels(nil) }},
		"without the one by which it is seen": {change: func(live object) { delete(live.GetLabels(), LabelManagedBy) }},
		"held":                                {change: func(live object) { live.SetFinalizers([]string{"example.com/hold"}) }, err: errContested},
		"gone when it is looked at": {
			change: func(object) {},
			after: func(f *fixture) func(string, ref) error {
				first := true
				return func(verb string, r ref) error {
					if verb == "get" && r == p.role && first {
						first = false
						f.host.loses(r)
						return apierrors.NewNotFound(rbacv1.Resource("roles"), r.name)
					}
					return nil
				}
			},
		},
		"it cannot be read": {
			change: func(object) {},
			after: func(*fixture) func(string, ref) error {
				return func(verb string, _ ref) error {
					if verb == "get" {
						return errCrash
					}
					return nil
				}
			},
			err: errCrash,
		},
		"it cannot be deleted": {
			change: func(live object) { live.SetLabels(nil) },
			after: func(*fixture) func(string, ref) error {
				return func(verb string, _ ref) error {
					if verb == "delete" {
						return errCrash
					}
					return nil
				}
			},
			err: errCrash,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(plan)
			_, err := f.Controller.key(t.Context())
			require.NoError(t, err)
			live := p.build(p.role, f.book.GrantKey())
			test.change(live)
			f.host.puts(live) // and the informers do not show it
			if test.after != nil {
				f.host.after = test.after(f)
			}
			_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				assert.Empty(t, f.grants())
				assert.NotEmpty(t, f.book.Grants(westUID), "it is listed though")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []string{"a d8-logs:reader get configmaps"}, f.grants())
			assert.True(t, p.matches(f.host.all()[p.role], p.role, f.book.GrantKey()))
			f.show()
			f.idles("west")
		})
	}
}

// G5: an answer that can mean either is looked into.
func TestG5ConflictOfAnother(t *testing.T) {
	f, _ := granted(t)
	f.plans.set(withoutCluster())
	first := true
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && first {
			first = false
			return apierrors.NewConflict(rbacv1.Resource("roles"), r.name, errors.New("somebody else writes it"))
		}
		return nil
	}
	_, err := f.once("west")
	require.Error(t, err)
	assert.Len(t, f.book.Grants(westUID)[0].Objects, 1, "what is still there is still listed")
	f.settles("west")
	assert.Empty(t, f.host.all())
}

// A grant that a later version listed is not taken for nothing.
func TestG5UnknownKind(t *testing.T) {
	f, _ := granted(t)
	require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
		return record.ChangeGrant(tx, record.GrantChange{
			PeerUID: westUID, PeerName: "west", Capability: "other",
			Put: []record.GrantedObject{{Kind: "Webhook", Name: "entente-1", UID: "uid"}},
		})
	}))
	f.plans.set(withoutCluster())
	_, err := f.once("west")
	require.ErrorContains(t, err, "Webhook")
	assert.Empty(t, f.host.all())
	assert.Len(t, f.book.AllGrants(), 1)
	assert.Equal(t, "False ApplyFailed: "+other.message(), f.condition("west"))
}

// Nothing can be made in a namespace that is going, and that is no error, and no loop.
func TestG5NamespaceGoing(t *testing.T) {
	for name, going := range map[string]func(h *cluster){
		"terminating": func(h *cluster) { h.terminating["b"] = true },
		"gone":        func(h *cluster) { h.absent["b"] = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a", "b", "c"))
			going(f.host)
			again, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, lookAgain, again)
			assert.Equal(t, []string{"a d8-logs:reader get configmaps", "c d8-logs:reader get configmaps"}, f.grants())
			assert.Equal(t, "True Applied: 4 objects in 2 namespaces for 1 capability.", f.condition("west"))
			f.book.wrote()
			_, err = f.once("west")
			require.NoError(t, err)
			assert.Zero(t, f.book.wrote(), "a write would wake the controller again")

			f.host.terminating, f.host.absent = nil, nil
			f.settles("west")
			assert.Len(t, f.grants(), 3)
		})
	}
}

// G5: an object that is held by a finalizer is not gone, and is not taken for it.
func TestG5Held(t *testing.T) {
	for _, hidden := range []bool{false, true} {
		f, plan := granted(t)
		p := wantedBy(plan)[1]
		f.host.changes(p.binding, func(live object) {
			live.SetFinalizers([]string{"example.com/hold"})
			if hidden {
				live.SetLabels(nil)
			}
		})
		f.show()
		f.plans.set(withoutCluster())
		_, err := f.once("west")
		require.ErrorIs(t, err, errHeld)
		assert.Len(t, f.host.all(), 1)
		assert.Len(t, f.book.Grants(westUID)[0].Objects, 1, "it is still listed")
		assert.Equal(t, "False ApplyFailed: "+held.message(), f.condition("west"))
		f.host.changes(p.binding, func(live object) { live.SetFinalizers(nil) })
		f.show()
		f.settles("west")
		assert.Empty(t, f.host.all())
		assert.Equal(t, "True Applied: Nothing is granted.", f.condition("west"))
	}
}

// A server that does not answer is not asked for each object.
func TestG5Outage(t *testing.T) {
	var namespaces []string
	for i := range 100 {
		namespaces = append(namespaces, fmt.Sprintf("ns-%d", i))
	}
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(planned([]access.Capability{capability("logs", "get"), capability("backup", "get")}, namespaces...))
	f.host.before = func(string, ref) error { return &url.Error{Op: "Post", Err: errors.New("refused")} }
	_, err := f.once("west")
	require.Error(t, err)
	assert.LessOrEqual(t, len(f.host.did()), 2*parallel)
	assert.Equal(t, "False ApplyFailed: "+unavailable.message(), f.condition("west"))
	f.host.before = nil
	f.settles("west")
	assert.Len(t, f.grants(), 200)
}

func TestTroubles(t *testing.T) {
	roles := rbacv1.Resource("roles")
	for _, test := range []struct {
		err  error
		want trouble
	}{
		{apierrors.NewForbidden(roles, "x", errors.New("no")), forbidden},
		{apierrors.NewUnauthorized("no"), forbidden},
		{apierrors.NewInvalid(rbacv1.SchemeGroupVersion.WithKind("Role").GroupKind(), "x", nil), forbidden},
		{apierrors.NewServerTimeout(roles, "create", 1), timedOut},
		{apierrors.NewTimeoutError("late", 1), timedOut},
		{fmt.Errorf("could not: %w", context.DeadlineExceeded), timedOut},
		{&url.Error{Op: "Get", Err: context.DeadlineExceeded}, timedOut},
		{apierrors.NewServiceUnavailable("away"), unavailable},
		{apierrors.NewTooManyRequests("slow down", 1), unavailable},
		{apierrors.NewInternalError(errors.New("ouch")), unavailable},
		{&url.Error{Op: "Get", Err: errors.New("connection refused")}, unavailable},
		{errHeld, held},
		{errContested, other},
		{apierrors.NewGenericServerResponse(http.StatusTeapot, "get", roles, "x", "", 0, false), other},
		{errors.New("CANARY"), other},
	} {
		got := troubleOf(test.err)
		assert.Equal(t, test.want, got, test.err)
		assert.NotEmpty(t, got.message())
		assert.NotContains(t, got.message(), "CANARY", "R15")
	}
	var all []string
	for is := other; is <= unavailable; is++ {
		assert.NotContains(t, all, is.message())
		all = append(all, is.message())
	}
}

// K2: the condition keeps the time of its last transition, and is written when something
// changed, only.
func TestK2Condition(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	f.plans.set(withoutCluster())
	f.settles("west")
	assert.Empty(t, f.condition("west"), "it was never paired")

	at := func() (since time.Time, generation int64) {
		c := f.peer("west").Status.Conditions[0]
		return c.LastTransitionTime.UTC(), c.ObservedGeneration
	}
	f.clock.SetTime(noon.Add(1500 * time.Millisecond))
	f.plans.set(planned(nil))
	f.settles("west")
	assert.Equal(t, "True Applied: Nothing is granted.", f.condition("west"))
	since, generation := at()
	assert.Equal(t, noon.Add(time.Second), since)
	assert.Equal(t, int64(3), generation)

	f.clock.SetTime(noon.Add(time.Hour))
	f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
	f.settles("west")
	since, _ = at()
	assert.Equal(t, noon.Add(time.Second), since, "its status stays")

	f.plans.set(planned([]access.Capability{capability("logs", "list")}, "a"))
	f.host.before = func(string, ref) error { return errCrash }
	_, err := f.once("west")
	require.Error(t, err)
	since, _ = at()
	assert.Equal(t, noon.Add(time.Hour), since)

	// Its own write has not been seen yet.
	f.clock.SetTime(noon.Add(2 * time.Hour))
	f.host.before = nil
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	written := f.peer("west").Status.Conditions[0]
	f.clock.SetTime(noon.Add(3 * time.Hour))
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	assert.Equal(t, written, f.peer("west").Status.Conditions[0])

	f.api.PrependReactor("patch", "clusterpeers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(peeringv1alpha1.Resource("clusterpeers"), "west")
	})
	f.plans.set(planned(nil))
	_, err = f.once("west")
	require.NoError(t, err, "it was deleted meanwhile")
}

// K2: another replica, which led meanwhile, may have written a later transition.
func TestK2TransitionOfAnother(t *testing.T) {
	at := func(hours time.Duration) metav1.Time { return metav1.NewTime(noon.Add(hours * time.Hour)) }
	is := func(status metav1.ConditionStatus, since metav1.Time) metav1.Condition {
		return metav1.Condition{Type: ConditionGrantsApplied, Status: status, LastTransitionTime: since}
	}
	for _, test := range []struct {
		mine, theirs metav1.Condition
		wanted       metav1.ConditionStatus
		since        metav1.Time
	}{
		{is("True", at(1)), is("False", at(2)), "False", at(2)},
		{is("True", at(1)), is("False", at(2)), "True", at(9)},
		{is("True", at(2)), is("False", at(1)), "False", at(9)},
		{is("True", at(2)), is("False", at(1)), "True", at(2)},
		{is("True", at(1)), is("True", at(2)), "True", at(2)},
	} {
		peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "west", UID: westUID}}
		peer.Status.Conditions = []metav1.Condition{test.theirs}
		var s said
		s.says(peer, test.mine)
		got := s.since(peer, is(test.wanted, metav1.Time{}), at(9).Time)
		assert.True(t, test.since.Equal(&got.LastTransitionTime), "%+v: %s", test, got.LastTransitionTime)
		another := peer.DeepCopy()
		another.UID, another.Status.Conditions = "another", nil
		got = s.since(another, test.mine, at(9).Time)
		assert.True(t, at(9).Time.Equal(got.LastTransitionTime.Time), "another one of that name")
		s.forgets("west")
		assert.Empty(t, s.last)
	}
}

func TestEarliest(t *testing.T) {
	assert.Equal(t, time.Duration(0), earliest(0, 0))
	assert.Equal(t, time.Second, earliest(time.Second, 0))
	assert.Equal(t, time.Second, earliest(0, time.Second))
	assert.Equal(t, time.Second, earliest(time.Minute, time.Second))
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
	assert.Equal(t, 1+2*4, f.book.wrote(), "the key, and two writes for each 100 objects")
	f.idles("west")
	assert.Len(t, f.grants(), 200)
	assert.Equal(t, "True Applied: 400 objects in 200 namespaces for 1 capability.", f.condition("west"))
	f.plans.set(withoutCluster())
	f.book.wrote()
	f.settles("west")
	assert.Empty(t, f.host.all())

	grant := &record.Grant{PeerUID: westUID, PeerName: strings.Repeat("p", 63), Capability: strings.Repeat("c", 63)}
	for i := range 2000 {
		namespace := fmt.Sprintf("%s%04d", strings.Repeat("n", 59), i)
		for _, kind := range []string{record.KindRole, record.KindRoleBinding} {
			grant.Objects = append(grant.Objects, record.GrantedObject{Kind: kind, Namespace: namespace, Name: namePrefix + strings.Repeat("f", 64), UID: westUID})
		}
	}
	data, err := record.Encode(grant)
	require.NoError(t, err)
	assert.Less(t, len(data), 1<<20, "etcd takes 1.5 MiB")
}

// runs runs the controller and its informers until the test ends, or stop is called.
func (f *fixture) runs() (stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	f.peers.StartWithContext(ctx)
	f.objects.StartWithContext(ctx)
	running.Go(func() { assert.NoError(f.t, f.Run(ctx)) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		f.peers.Shutdown()
		f.objects.Shutdown()
	})
	f.t.Cleanup(stop)
	return stop
}

func (f *fixture) eventually(what string, happened func() bool) {
	f.t.Helper()
	require.Eventually(f.t, happened, 20*time.Second, 5*time.Millisecond, what)
}

// G5: what was granted on account of ClusterPeers that are gone is found at the start, in
// the ledger and, if that was restored, by what objects bear.
func TestG5RunFindsWhatIsLeft(t *testing.T) {
	for _, restored := range []bool{false, true} {
		f, _ := granted(t)
		f.forgets("west")
		if restored {
			require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
				return tx.PutGrant(&record.Grant{PeerUID: westUID, Capability: "logs"})
			}))
		} else {
			for r := range f.host.all() {
				f.host.changes(r, func(live object) { live.SetLabels(nil) })
			}
		}
		f.restart()
		stop := f.runs()
		f.eventually("nothing is left", func() bool { return len(f.host.all()) == 0 && len(f.book.AllGrants()) == 0 })
		stop()
		require.Error(t, f.Run(t.Context()), "its informers have been stopped")
	}
}

// Run: everything by itself, with informers, as the events come.
func TestG5Run(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b")
	f.plans.set(plan)
	f.runs()
	eventually := func(what string, lines ...string) {
		t.Helper()
		f.eventually(what, func() bool { return slices.Equal(lines, f.grants()) })
	}
	both := []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}
	eventually("granted", both...)

	p := wantedBy(plan)[0]
	f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} })
	eventually("changed by somebody", both...)
	f.host.changes(p.binding, func(live object) { live.SetLabels(nil) })
	f.eventually("made anew", func() bool { live := f.host.all()[p.binding]; return live != nil && live.GetLabels() != nil })
	eventually("out of sight", both...)
	f.host.loses(p.role)
	eventually("deleted by somebody", both...)
	f.plans.set(planned(plan.Effective, "b"))
	eventually("unpaired", both[1])
	require.NoError(t, f.api.Tracker().Delete(peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), "", "west"))
	eventually("the ClusterPeer is gone")
	f.eventually("and so is all else", func() bool { return len(f.book.AllGrants()) == 0 && len(f.host.all()) == 0 })
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
