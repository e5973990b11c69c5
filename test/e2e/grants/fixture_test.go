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

package grants

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/grant"
	"entente.dev/entente/peering/record/recordtest"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

const (
	west    = "bbbbbbbb-0000-4000-8000-000000000002" // the other cluster
	westUID = "11111111-0000-4000-8000-000000000001" // that of ClusterPeer west
	user    = "peer:" + west + ":system:serviceaccount:d8-logs:reader"
)

// granting is a control plane with all that is shipped, and the controller beside it.
type granting struct {
	t *testing.T
	*kube.Cluster
	// who is Entente's ServiceAccount as a user, admin what an administrator does.
	who   string
	admin kubernetes.Interface

	api    *fake.Clientset
	ledger *recordtest.Memory
	events *events.FakeRecorder
	// legacy says that the host cluster is not to be taken for one that constrains
	// impersonation.
	legacy bool

	lock    sync.Mutex
	plan    *access.Plan
	enqueue func(cache.ObjectName)
}

func start(t *testing.T) *granting {
	t.Helper()
	cluster := kube.Start(t)
	installed, err := install.New(t.Context(), cluster.ControlPlane, install.Options{Binary: "never-run"})
	require.NoError(t, err)
	g := &granting{
		t: t, Cluster: cluster, who: installed.User, admin: cluster.Clientset(t, kube.Admin),
		api: fake.NewSimpleClientset(), ledger: recordtest.New(), events: events.NewFakeRecorder(1000),
		plan: &access.Plan{Name: "west", UID: westUID},
	}
	// Nobody serves it, and no namespace goes while it is there.
	g.MustKubectl(t, kube.Admin, "", "delete", "apiservice", "v1alpha1.peering.entente.dev")
	g.api.PrependReactor("patch", "clusterpeers", g.apply)
	require.NoError(t, g.api.Tracker().Add(&peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "west", UID: westUID}}))
	return g
}

// run runs the controller until the test ends, or stop is called.
func (g *granting) run() (stop func()) {
	g.t.Helper()
	config := g.RESTConfig(g.t, g.who)
	config.QPS = -1 // priority and fairness of the host cluster decides
	host, err := kubernetes.NewForConfig(config)
	require.NoError(g.t, err)
	peers := externalversions.NewSharedInformerFactory(g.api, 0)
	objects := kubeinformers.NewSharedInformerFactoryWithOptions(host, 0, kubeinformers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.LabelSelector = grant.Selector()
	}))
	controller, err := grant.New(grant.Config{
		Client: g.api, Informer: peers.Peering().V1alpha1().ClusterPeers(), Plans: g, Ledger: g.ledger,
		Host: host.RbacV1(), Objects: objects.Rbac().V1(), Recorder: g.events, Clock: clock.RealClock{},
		Self: rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: install.Namespace, Name: install.ServiceAccount}, Constrained: !g.legacy,
	})
	require.NoError(g.t, err)
	ctx, cancel := context.WithCancel(g.t.Context())
	var running sync.WaitGroup
	peers.StartWithContext(ctx)
	objects.StartWithContext(ctx)
	running.Go(func() { assert.NoError(g.t, controller.Run(ctx)) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		peers.Shutdown()
		objects.Shutdown()
	})
	g.t.Cleanup(stop)
	return stop
}

// Plan implements access.Plans.
func (g *granting) Plan(*peeringv1alpha1.ClusterPeer) (*access.Plan, error) {
	g.lock.Lock()
	defer g.lock.Unlock()
	return g.plan, nil
}

// Subscribe implements access.Plans.
func (g *granting) Subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.enqueue = enqueue
	return func() {}
}

// grants says what is to be granted in these namespaces; none: there is no peering.
func (g *granting) grants(verb string, namespaces ...string) {
	g.lock.Lock()
	g.plan = &access.Plan{Name: "west", UID: westUID}
	if len(namespaces) > 0 {
		g.plan.ClusterUUID = west
		g.plan.Effective = []access.Capability{{
			Name:       "logs",
			Consumers:  []peeringv1alpha1.Consumer{{Kind: peeringv1alpha1.ConsumerKindServiceAccount, Namespace: "d8-logs", Name: "reader"}},
			Namespaced: []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
			Cluster:    []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"nodes"}}},
		}}
		g.plan.Paired = []access.Pair{{Name: "project", Local: namespaces}}
	}
	enqueue := g.enqueue
	g.lock.Unlock()
	if enqueue != nil {
		enqueue(cache.ObjectName{Name: "west"})
	}
}

// apply does what server-side apply does with the condition of the controller.
func (g *granting) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchActionImpl)
	resource := peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")
	object, err := g.api.Tracker().Get(resource, "", patch.Name)
	if err != nil {
		return true, nil, err
	}
	peer, sent := object.(*peeringv1alpha1.ClusterPeer), &peeringv1alpha1.ClusterPeer{}
	if err := json.Unmarshal(patch.Patch, sent); err != nil {
		return true, nil, err
	}
	peer.Status.Conditions = sent.Status.Conditions
	return true, peer, g.api.Tracker().Update(resource, peer, "")
}

// condition is what the ClusterPeer says: "True Applied".
func (g *granting) condition() string {
	peer, err := g.api.PeeringV1alpha1().ClusterPeers().Get(g.t.Context(), "west", metav1.GetOptions{})
	require.NoError(g.t, err)
	if c := meta.FindStatusCondition(peer.Status.Conditions, peeringv1alpha1.ConditionGrantsApplied); c != nil {
		return string(c.Status) + " " + c.Reason
	}
	return ""
}

// may tells whether the peer's consumer may do something, as the host cluster has it.
func (g *granting) may(verb, resource, namespace string) bool {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Namespace: namespace},
	}}
	done, err := g.admin.AuthorizationV1().SubjectAccessReviews().Create(g.t.Context(), review, metav1.CreateOptions{})
	require.NoError(g.t, err)
	return done.Status.Allowed
}

func (g *granting) namespace(names ...string) {
	g.t.Helper()
	for _, name := range names {
		_, err := g.admin.CoreV1().Namespaces().Create(g.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(g.t, err)
	}
}

// roles and bindings are those of ours in a namespace; empty: in all.
func (g *granting) roles(namespace string) []rbacv1.Role {
	list, err := g.admin.RbacV1().Roles(namespace).List(g.t.Context(), metav1.ListOptions{LabelSelector: grant.Selector()})
	require.NoError(g.t, err)
	return list.Items
}

func (g *granting) bindings(namespace string) []rbacv1.RoleBinding {
	list, err := g.admin.RbacV1().RoleBindings(namespace).List(g.t.Context(), metav1.ListOptions{LabelSelector: grant.Selector()})
	require.NoError(g.t, err)
	return list.Items
}

func (g *granting) eventually(what string, happened func() bool) {
	g.t.Helper()
	require.Eventually(g.t, happened, time.Minute, 20*time.Millisecond, what)
}

// told returns the Events since the last call.
func (g *granting) told() []string {
	var all []string
	for len(g.events.Events) > 0 {
		all = append(all, <-g.events.Events)
	}
	slices.Sort(all)
	return all
}
