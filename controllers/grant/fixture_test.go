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
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

const (
	west    = "bbbbbbbb-0000-4000-8000-000000000002" // the other cluster
	westUID = "11111111-0000-4000-8000-000000000001" // that of ClusterPeer west
)

// self is how Entente acts as others.
var self = impersonator{self: rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "entente-system", Name: "entente-apiserver"}, constrained: true}

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// plans is access.Plans of which tests say what it says.
type plans struct {
	lock    sync.Mutex
	byName  map[string]*access.Plan // nil: it is not known
	err     error
	enqueue func(cache.ObjectName)
}

func (p *plans) Plan(peer *peeringv1alpha1.ClusterPeer) (*access.Plan, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	plan := p.byName[peer.Name]
	if p.err != nil || plan == nil {
		return nil, p.err
	}
	return plan, nil
}

func (p *plans) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.enqueue = enqueue
	return func() {}
}

// set says what is to be for a ClusterPeer.
func (p *plans) set(plan *access.Plan) {
	p.lock.Lock()
	p.byName[plan.Name], p.err = plan, nil
	enqueue := p.enqueue
	p.lock.Unlock()
	if enqueue != nil {
		enqueue(cache.ObjectName{Name: plan.Name})
	}
}

// unknown says that nothing is known.
func (p *plans) unknown() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.err = access.ErrUnknown
}

type fixture struct {
	t        *testing.T
	host     *cluster
	api      *fake.Clientset
	book     *ledger
	plans    *plans
	clock    *clocktesting.FakeClock
	recorder *events.FakeRecorder
	// impersonates is how Entente acts as others, from the next restart on.
	impersonates impersonator

	peers   externalversions.SharedInformerFactory
	objects kubeinformers.SharedInformerFactory
	*Controller
	// rang says that the controller wants to look again at once.
	rang bool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		t: t, host: newCluster(t), api: fake.NewSimpleClientset(), book: &ledger{Memory: recordtest.New()},
		plans: &plans{byName: map[string]*access.Plan{}}, clock: clocktesting.NewFakeClock(noon), recorder: events.NewFakeRecorder(100),
		impersonates: self,
	}
	f.api.PrependReactor("patch", "clusterpeers", f.apply)
	f.host.making = f.checkMaking
	f.restart()
	return f
}

// checkMaking checks that what is made is listed before, and that no binding is made but to
// a role of ours.
func (f *fixture) checkMaking(r ref, wanted runtime.Object) {
	assert.True(f.t, slices.ContainsFunc(f.book.AllGrants(), func(grant *record.Grant) bool {
		return slices.Contains(grant.Objects, r.granted(""))
	}), "%s is made and not listed", r)
	role := ref{kind: record.KindRole, namespace: r.namespace}
	switch wanted := wanted.(type) {
	case *rbacv1.RoleBinding:
		role.name = wanted.RoleRef.Name
	case *rbacv1.ClusterRoleBinding:
		role.kind, role.name = record.KindClusterRole, wanted.RoleRef.Name
	default:
		return
	}
	live := f.host.every()[role]
	if assert.NotNil(f.t, live, "%s is made before its role", r) {
		assert.True(f.t, isProven(live, role, live.GetAnnotations()[peeringv1alpha1.AnnotationPeerUID], f.book.GrantKey()), "%s is made to a role that is not ours", r)
	}
}

// restart is another process, which knows what is there and nothing else.
func (f *fixture) restart() {
	f.t.Helper()
	f.peers = externalversions.NewSharedInformerFactory(f.api, 0)
	f.objects = kubeinformers.NewSharedInformerFactoryWithOptions(f.host, 0, kubeinformers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.LabelSelector = Selector()
	}))
	controller, err := New(Config{
		Client: f.api, Informer: f.peers.Peering().V1alpha1().ClusterPeers(), Plans: f.plans, Ledger: f.book,
		Host: f.host.RbacV1(), Objects: f.objects.Rbac().V1(), Self: f.impersonates.self, Constrained: f.impersonates.constrained, Recorder: f.recorder, Clock: f.clock,
	})
	require.NoError(f.t, err)
	f.Controller = controller
	f.show()
}

// show has the informers show everything that is there.
func (f *fixture) show() {
	f.t.Helper()
	shown := map[string][]any{}
	for r, live := range f.host.every() {
		if live.GetLabels()[peeringv1alpha1.LabelManagedBy] == peeringv1alpha1.ManagedBy {
			shown[r.kind] = append(shown[r.kind], live)
		}
	}
	for kind, informer := range f.view.informers {
		require.NoError(f.t, informer.GetIndexer().Replace(shown[kind], ""))
	}
	f.view.lock.Lock()
	clear(f.view.made)
	clear(f.view.gone)
	f.view.lock.Unlock()
	list, err := f.api.PeeringV1alpha1().ClusterPeers().List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	var peers []any
	for i := range list.Items {
		peers = append(peers, &list.Items[i])
	}
	require.NoError(f.t, f.peers.Peering().V1alpha1().ClusterPeers().Informer().GetIndexer().Replace(peers, ""))
}

// apply does what server-side apply does with the condition that this controller owns.
// (The fake clientset has field management only for types whose Go package and published
// name agree.)
func (f *fixture) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	assert.Equal(f.t, "status", patch.Subresource)
	resource := peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")
	object, err := f.api.Tracker().Get(resource, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	peer, sent := object.(*peeringv1alpha1.ClusterPeer), &peeringv1alpha1.ClusterPeer{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	assert.Equal(f.t, peer.UID, sent.UID)
	peer.Status.Conditions = append(slices.DeleteFunc(peer.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == peeringv1alpha1.ConditionGrantsApplied
	}), sent.Status.Conditions...)
	return true, peer, f.api.Tracker().Update(resource, peer, "")
}

// holds makes a ClusterPeer.
func (f *fixture) holds(name, uid string) {
	f.t.Helper()
	peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Generation: 3}}
	require.NoError(f.t, f.api.Tracker().Add(peer))
	f.show()
}

// deletes starts the deletion of a ClusterPeer.
func (f *fixture) deletes(name string) {
	f.t.Helper()
	peer := f.peer(name)
	now := metav1.NewTime(f.clock.Now())
	peer.DeletionTimestamp, peer.Finalizers = &now, []string{peeringv1alpha1.FinalizerDisconnect}
	require.NoError(f.t, f.api.Tracker().Update(peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), peer, ""))
	f.show()
}

// forgets makes a ClusterPeer gone.
func (f *fixture) forgets(name string) {
	f.t.Helper()
	require.NoError(f.t, f.api.Tracker().Delete(peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), "", name))
	f.show()
}

func (f *fixture) peer(name string) *peeringv1alpha1.ClusterPeer {
	f.t.Helper()
	peer, err := f.api.PeeringV1alpha1().ClusterPeers().Get(f.t.Context(), name, metav1.GetOptions{})
	require.NoError(f.t, err)
	return peer
}

// once looks at a ClusterPeer once, and has the informers show what came of it.
func (f *fixture) once(name string) (again time.Duration, err error) {
	f.t.Helper()
	f.rang = false
	defer f.bell.answer(func(string) { f.rang = true })()
	again, err = f.sync(f.t.Context(), cache.ObjectName{Name: name})
	f.show()
	return again, err
}

// settles looks at a ClusterPeer until nothing is left to do, and checks that then
// nothing is done.
func (f *fixture) settles(name string) {
	f.t.Helper()
	for first := true; first || f.rang; first = false {
		_, err := f.once(name)
		require.NoError(f.t, err)
	}
	f.idles(name)
}

// idles checks that nothing is left to do.
func (f *fixture) idles(name string) {
	f.t.Helper()
	f.host.did()
	f.book.wrote()
	f.api.ClearActions()
	_, err := f.sync(f.t.Context(), cache.ObjectName{Name: name})
	require.NoError(f.t, err)
	assert.Empty(f.t, f.host.did())
	assert.Zero(f.t, f.book.wrote())
	assert.Empty(f.t, f.api.Actions())
}

// condition returns what a ClusterPeer says of its grants: "True Applied: …".
func (f *fixture) condition(name string) string {
	f.t.Helper()
	for _, c := range f.peer(name).Status.Conditions {
		if c.Type == peeringv1alpha1.ConditionGrantsApplied {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// events returns the Events since the last call.
func (f *fixture) events() []string {
	var all []string
	for len(f.recorder.Events) > 0 {
		all = append(all, <-f.recorder.Events)
	}
	return all
}

func rule(verb, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{resource}}
}

func consumer(namespace, name string) peeringv1alpha1.Consumer {
	return peeringv1alpha1.Consumer{Kind: peeringv1alpha1.ConsumerKindServiceAccount, Namespace: namespace, Name: name}
}

// capability grants a verb on ConfigMaps in namespaces.
func capability(name, verb string) access.Capability {
	return access.Capability{
		Name: name, Consumers: []peeringv1alpha1.Consumer{consumer("d8-logs", "reader")},
		Namespaced: []rbacv1.PolicyRule{rule(verb, "configmaps")},
	}
}

// planned is a plan for ClusterPeer west, with one project a namespace.
func planned(capabilities []access.Capability, namespaces ...string) *access.Plan {
	plan := &access.Plan{Name: "west", UID: westUID, ClusterUUID: west, Effective: capabilities}
	for _, namespace := range namespaces {
		plan.Paired = append(plan.Paired, access.Pair{Name: namespace, Local: []string{namespace}})
	}
	return plan
}

// grants is what somebody may do by the bindings that are there, as RBAC has it:
// "namespace user verb resource".
func (f *fixture) grants() []string {
	f.t.Helper()
	all := f.host.all()
	var lines []string
	add := func(namespace string, subjects []rbacv1.Subject, rules []rbacv1.PolicyRule) {
		for _, subject := range subjects {
			for _, rule := range rules {
				what := strings.Join(append(slices.Clone(rule.Resources), rule.NonResourceURLs...), ",")
				lines = append(lines, strings.TrimSpace(namespace+" "+strings.TrimPrefix(subject.Name, "peer:"+west+":system:serviceaccount:")+" "+strings.Join(rule.Verbs, ",")+" "+what))
			}
		}
	}
	for r, live := range all {
		switch live := live.(type) {
		case *rbacv1.RoleBinding:
			if role, ok := all[ref{record.KindRole, r.namespace, live.RoleRef.Name}].(*rbacv1.Role); ok {
				add(r.namespace, live.Subjects, role.Rules)
			}
		case *rbacv1.ClusterRoleBinding:
			if role, ok := all[ref{record.KindClusterRole, "", live.RoleRef.Name}].(*rbacv1.ClusterRole); ok {
				add("", live.Subjects, role.Rules)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// one returns the only pair of a plan that gives the peer something.
func one(t *testing.T, plan *access.Plan) pair {
	t.Helper()
	pairs := given(wantedBy(plan, self))
	require.Len(t, pairs, 1)
	return pairs[0]
}

// given returns those of the pairs that give the peer something.
func given(pairs []pair) []pair {
	return slices.DeleteFunc(pairs, func(p pair) bool { return p.role.isImpersonation() })
}

// isComplete tells whether every object that was to be made has been.
func isComplete(grant *record.Grant) bool {
	return !slices.ContainsFunc(grant.Objects, func(o record.GrantedObject) bool { return o.UID == "" })
}
