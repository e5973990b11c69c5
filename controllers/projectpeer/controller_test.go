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

package projectpeer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
)

const other = "22222222-0000-4000-8000-000000000002"

// plans is what the model is to say.
type plans struct {
	plan    *access.Plan
	err     error
	enqueue chan func(cache.ObjectName)
}

func (p *plans) Plan(*peeringv1alpha1.ClusterPeer) (*access.Plan, error) { return p.plan, p.err }

func (p *plans) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	p.enqueue <- enqueue
	return func() {}
}

type fixture struct {
	t       *testing.T
	client  *fake.Clientset
	plans   *plans
	factory externalversions.SharedInformerFactory
	stop    func() // the informers
	*Controller
}

// newFixture makes a controller for ClusterPeer west, whose informers have synced.
func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, client: fake.NewSimpleClientset(), plans: &plans{plan: &access.Plan{}, enqueue: make(chan func(cache.ObjectName), 1)}}
	objects = append(objects, &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "west", UID: "u"}})
	for _, object := range objects {
		require.NoError(t, f.client.Tracker().Add(object))
	}
	f.factory = externalversions.NewSharedInformerFactory(f.client, 0)
	group := f.factory.Peering().V1alpha1()
	controller, err := New(Config{
		Client: f.client, ClusterPeers: group.ClusterPeers(), ProjectPeers: group.ProjectPeers(), Plans: f.plans, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)),
	})
	require.NoError(t, err)
	f.Controller = controller
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = cancel
	f.factory.StartWithContext(ctx)
	f.factory.WaitForCacheSyncWithContext(t.Context())
	return f
}

func (f *fixture) once(name string) (again time.Duration, err error) {
	return f.sync(f.t.Context(), cache.ObjectName{Name: name})
}

// settle looks at a ClusterPeer until nothing is left to do, and returns what there is.
func (f *fixture) settle(name string) (found []string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		f.client.ClearActions()
		_, err := f.once(name)
		require.NoError(f.t, err)
		return len(f.writes()) == 0
	}, 20*time.Second, 5*time.Millisecond)
	for _, object := range f.objects() {
		found = append(found, object.Namespace+"/"+object.Name)
	}
	return found
}

func (f *fixture) writes() (writes []string) {
	for _, action := range f.client.Actions() {
		if verb := action.GetVerb(); !slices.Contains([]string{"list", "watch", "get"}, verb) {
			writes = append(writes, verb+" "+action.GetNamespace())
		}
	}
	return writes
}

func (f *fixture) objects() []peeringv1alpha1.ProjectPeer {
	f.t.Helper()
	list, err := f.client.PeeringV1alpha1().ProjectPeers("").List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	slices.SortFunc(list.Items, func(a, b peeringv1alpha1.ProjectPeer) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list.Items
}

// refuse has the server answer that verb so in one namespace.
func (f *fixture) refuse(verb, namespace string, err error) {
	f.client.PrependReactor(verb, "projectpeers", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetNamespace() == namespace, nil, err
	})
}

func paired(pairs ...access.Pair) *access.Plan {
	return &access.Plan{
		Name: "west", UID: "u", ClusterUUID: other, Paired: pairs,
		Effective: []access.Capability{
			{Name: "cluster", Version: "1.0.0", Scope: []peeringv1alpha1.CapabilityScope{"cluster"}, Cluster: make([]rbacv1.PolicyRule, 1)},
			{
				Name: "mixed", Version: "1.1.0", Scope: []peeringv1alpha1.CapabilityScope{"project", "cluster"},
				Namespaced: make([]rbacv1.PolicyRule, 1), Cluster: make([]rbacv1.PolicyRule, 1),
			},
			{Name: "nothing", Version: "1.0.0"},
		},
	}
}

func projectPeer(namespace, name string) *peeringv1alpha1.ProjectPeer {
	return &peeringv1alpha1.ProjectPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}}
}

func TestNewNeedsAll(t *testing.T) {
	_, err := New(Config{})
	require.Error(t, err)
}

// G4: each local namespace of each paired project has a ProjectPeer named as the
// ClusterPeer, which tells the capabilities of scope project; it goes when the pairing ends.
func TestG4ProjectPeers(t *testing.T) {
	f := newFixture(t)
	b, c := access.Pair{Name: "b", Local: []string{"b-1", "b-2"}, Remote: []string{"their-b"}}, access.Pair{Name: "c", Local: []string{"c"}}
	f.plans.plan = paired(b, c)
	assert.Equal(t, []string{"b-1/west", "b-2/west", "c/west"}, f.settle("west"))
	assert.Equal(t, peeringv1alpha1.ProjectPeerStatus{
		State: "Paired", Reason: "Paired", ClusterUUID: other,
		Message:          "Project b is paired with the project of that name in cluster " + other + ".",
		Capabilities:     []peeringv1alpha1.OfferedCapability{{Name: "mixed", Version: "1.1.0", Scope: []peeringv1alpha1.CapabilityScope{"project", "cluster"}}},
		RemoteNamespaces: []string{"their-b"},
	}, f.objects()[0].Status)

	plan := paired(b)
	plan.Unreachable = true
	f.plans.plan = plan
	assert.Equal(t, []string{"b-1/west", "b-2/west"}, f.settle("west"))
	for _, object := range f.objects() {
		assert.Equal(t, peeringv1alpha1.ProjectPeerStatePeerUnreachable, object.Status.State)
		assert.Equal(t, "PeerUnreachable", object.Status.Reason)
		assert.NotEmpty(t, object.Status.Capabilities, "access stays")
	}

	f.plans.plan = &access.Plan{}
	assert.Empty(t, f.settle("west"))
}

// P11: a peer may name 2,000 namespaces; they are not copied into each of ours.
func TestP11RemoteNamespacesAreFew(t *testing.T) {
	pair := access.Pair{Name: "b", Local: []string{"b"}, Remote: make([]string, remoteAtMost)}
	status := statuses(paired(pair))["b"]
	assert.Len(t, status.RemoteNamespaces, remoteAtMost)
	assert.NotContains(t, status.Message, "more")
	pair.Remote = append(pair.Remote, "one", "two")
	status = statuses(paired(pair))["b"]
	assert.Len(t, status.RemoteNamespaces, remoteAtMost)
	assert.Contains(t, status.Message, "It has 2 more namespaces there than are listed.")
}

// G4: strays are removed, whatever they say, and what others write into a status is
// replaced; other ClusterPeers' are left alone.
func TestG4Strays(t *testing.T) {
	planted := projectPeer("b", "west")
	planted.Status = peeringv1alpha1.ProjectPeerStatus{
		State: "Paired", ClusterUUID: "theirs", Capabilities: []peeringv1alpha1.OfferedCapability{{Name: "planted"}}, RemoteNamespaces: []string{"planted"},
	}
	f := newFixture(t, planted, projectPeer("x", "west"), projectPeer("b", "north"), projectPeer("b", "stranger"))
	f.plans.plan = paired(access.Pair{Name: "b", Local: []string{"b"}})
	assert.Equal(t, []string{"b/north", "b/stranger", "b/west"}, f.settle("west"))
	for _, object := range f.objects() {
		if object.Name == "west" {
			assert.Equal(t, other, object.Status.ClusterUUID)
			assert.Len(t, object.Status.Capabilities, 1)
			assert.Equal(t, "mixed", object.Status.Capabilities[0].Name)
			assert.Empty(t, object.Status.RemoteNamespaces)
		}
	}
	// There is no ClusterPeer of that name.
	assert.Equal(t, []string{"b/north", "b/west"}, f.settle("stranger"))
}

// While it cannot be told what is paired, nothing goes and nothing comes.
func TestUnknown(t *testing.T) {
	f := newFixture(t, projectPeer("b", "west"))
	f.plans.err = access.ErrUnknown
	again, err := f.once("west")
	require.NoError(t, err)
	assert.Equal(t, access.AskAgain, again)
	assert.Len(t, f.objects(), 1)
	f.plans.err = errors.New("broken")
	_, err = f.once("west")
	require.ErrorIs(t, err, f.plans.err)
}

// One namespace that goes, or that is refused, holds up no other.
func TestOneNamespaceHoldsUpNoOther(t *testing.T) {
	resource := peeringv1alpha1.Resource("projectpeers")
	terminating := apierrors.NewForbidden(resource, "west", errors.New("the namespace is on its way out"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err    error
		waits  bool
		failed bool
	}{
		"terminating": {err: terminating, waits: true},
		"gone":        {err: apierrors.NewNotFound(corev1.Resource("namespaces"), "b"), waits: true},
		"there":       {err: apierrors.NewAlreadyExists(resource, "west")},
		"refused":     {err: apierrors.NewForbidden(resource, "west", errors.New("no")), failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.plans.plan = paired(access.Pair{Name: "a", Local: []string{"a"}}, access.Pair{Name: "b", Local: []string{"b"}}, access.Pair{Name: "c", Local: []string{"c"}})
			f.refuse("create", "b", test.err)
			again, err := f.once("west")
			assert.Equal(t, test.failed, err != nil, err)
			assert.Equal(t, test.waits, again == skippedFor)
			assert.Len(t, f.objects(), 2)
		})
	}
}

// What changed meanwhile is not written over: the informer brings it.
func TestConflictsWait(t *testing.T) {
	f := newFixture(t, projectPeer("b", "west"), projectPeer("x", "west"))
	f.plans.plan = paired(access.Pair{Name: "b", Local: []string{"b"}})
	conflict := apierrors.NewConflict(peeringv1alpha1.Resource("projectpeers"), "west", errors.New("changed"))
	f.refuse("update", "b", conflict)
	f.refuse("delete", "x", conflict)
	_, err := f.once("west")
	require.NoError(t, err)
	for _, action := range f.client.Actions() {
		if action, ok := action.(clienttesting.DeleteActionImpl); ok {
			require.NotNil(t, action.DeleteOptions.Preconditions)
			assert.Equal(t, types.UID("xwest"), *action.DeleteOptions.Preconditions.UID)
		}
	}
}

// A project of many namespaces is paired at once; when nothing changes nothing is written.
// (The fake server holds no more events than 100.)
func TestManyNamespaces(t *testing.T) {
	f := newFixture(t)
	pair := access.Pair{Name: "large"}
	for i := range 40 {
		pair.Local = append(pair.Local, fmt.Sprintf("large-%03d", i))
	}
	f.plans.plan = paired(pair)
	assert.Len(t, f.settle("west"), 40)
	f.client.ClearActions()
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Empty(t, f.writes())
}

// It looks when a plan changes and when somebody touches a ProjectPeer.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	enqueue := <-f.plans.enqueue
	_, err := f.client.PeeringV1alpha1().ProjectPeers("b").Create(t.Context(), projectPeer("b", "stray"), metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(f.objects()) == 0 }, 20*time.Second, time.Millisecond)
	enqueue(cache.ObjectName{Name: "west"})
	cancel()
	require.NoError(t, <-ended)
	f.stop()
	f.factory.Shutdown()
	goleak.VerifyNone(t, before)
}
