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

package clusterpeer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/apis/generated/openapi"
	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/peering/install"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
	"entente.dev/entente/registry/peering/clusterpeer"
	"entente.dev/entente/registry/peering/escalation"
	"entente.dev/entente/registry/sensitive"
)

// deadline limits how long a test waits for something that should come at once.
const deadline = 30 * time.Second

// The users of the real server: the controller is the loopback client, an operator may
// do everything but see, an admin everything.
const (
	operator = "operator"
	admin    = "admin"
)

// realServer has the real endpoints of ClusterPeer, over a real store.
type realServer struct{ url string }

func newRealServer(t *testing.T) *realServer {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	codecs := serializer.NewCodecFactory(scheme)

	sight := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetUser().GetName() == operator && a.GetSubresource() == "sensitive" {
			return authorizer.DecisionDeny, "", nil
		}
		return authorizer.DecisionAllow, "", nil
	})
	config := genericapiserver.NewConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.ExternalAddress = "localhost:443"
	config.LoopbackClientConfig = &rest.Config{}
	config.Authorization.Authorizer = sight
	config.Authentication.Authenticator = authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: request.Header.Get("X-User")}}, true, nil
	})
	definitions, err := sensitive.MarkOpenAPI(openapi.GetOpenAPIDefinitions, peeringv1alpha1.ClusterPeer{}.OpenAPIModelName(), &peering.ClusterPeer{})
	require.NoError(t, err)
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	server, err := config.Complete(nil).New("test", genericapiserver.NewEmptyDelegate())
	require.NoError(t, err)
	t.Cleanup(server.Destroy)

	_, storage := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	storage.Codec = codecs.LegacyCodec(peeringv1alpha1.SchemeGroupVersion)
	storage.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	guard, err := escalation.NewPeerGuard(authorizerfactory.NewAlwaysAllowAuthorizer(), noCapabilities{})
	require.NoError(t, err)
	endpoints, err := clusterpeer.NewStorage(scheme, generic.RESTOptions{
		StorageConfig: storage.ForResource(peering.Resource("clusterpeers")), Decorator: genericregistry.StorageWithCacher(),
		ResourcePrefix: "clusterpeers", DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
	}, sight, nil, func(user.Info) bool { return true }, guard, nil) // so that there is something for the controller to mend
	require.NoError(t, err)
	t.Cleanup(endpoints.Main.Destroy)
	require.Eventually(t, func() bool { return endpoints.Main.ReadinessCheck() == nil }, deadline, time.Millisecond)

	group := genericapiserver.NewDefaultAPIGroupInfo(peering.GroupName, scheme, runtime.NewParameterCodec(scheme), codecs)
	group.NegotiatedSerializer = sensitive.NewNegotiatedSerializer(codecs)
	group.VersionedResourcesStorageMap["v1alpha1"] = map[string]registryrest.Storage{
		"clusterpeers": endpoints.Main, "clusterpeers/status": endpoints.Status, "clusterpeers/sensitive": endpoints.Sensitive,
	}
	require.NoError(t, server.InstallAPIGroup(&group))
	front := httptest.NewServer(server.Handler)
	t.Cleanup(front.CloseClientConnections)
	return &realServer{front.URL}
}

type asUser struct {
	name string
	next http.RoundTripper
}

func (u asUser) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("X-User", u.name)
	return u.next.RoundTrip(request)
}

func (s *realServer) as(t *testing.T, name string) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfig(&rest.Config{Host: s.url, QPS: -1, WrapTransport: func(next http.RoundTripper) http.RoundTripper { return asUser{name, next} }})
	require.NoError(t, err)
	return client
}

// noCapabilities is a store without PeeringCapabilities.
type noCapabilities struct{}

func (noCapabilities) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return nil, apierrors.NewNotFound(peering.Resource("peeringcapabilities"), name)
}

// whole is a controller that runs against a real server.
type whole struct {
	t               *testing.T
	operator, admin versioned.Interface
	ledger          *recordtest.Memory
	dialer          *fakeDialer
	controller      *Controller
}

func newReal(t *testing.T) *whole {
	t.Helper()
	server := newRealServer(t)
	r := &whole{t: t, operator: server.as(t, operator), admin: server.as(t, admin), ledger: recordtest.New(), dialer: newFakeDialer(t)}
	authority := newAuthority(t, "ours", time.Now())
	require.NoError(t, r.ledger.Update(t.Context(), func(tx record.Tx) error { return tx.PutAuthority(&record.Authority{Current: authority}) }))

	client := server.as(t, user.APIServerUser)
	factory := externalversions.NewSharedInformerFactory(client, 0)
	controller, err := New(Config{
		Client: client, Informer: factory.Peering().V1alpha1().ClusterPeers(), Recorder: events.NewFakeRecorder(1000), Clock: clock.RealClock{},
		Ledger: r.ledger, Plans: &plans{}, Providers: &providers{}, Dialer: r.dialer, Self: exchange.Self{ClusterUUID: ourUUID, Endpoints: []string{"https://ours.example.com"}}, TokenRandom: &counter{},
	})
	require.NoError(t, err)
	r.controller = controller
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		factory.Shutdown()
	})
	return r
}

func (r *whole) create(peer *peeringv1alpha1.ClusterPeer) *peeringv1alpha1.ClusterPeer {
	r.t.Helper()
	peer.ObjectMeta = metav1.ObjectMeta{Name: peer.Name}
	created, err := r.operator.PeeringV1alpha1().ClusterPeers().Create(r.t.Context(), peer, metav1.CreateOptions{})
	require.NoError(r.t, err)
	return created
}

// seen returns a ClusterPeer with its sensitive values.
func (r *whole) seen(name string) *peeringv1alpha1.ClusterPeer {
	r.t.Helper()
	peer, err := r.admin.PeeringV1alpha1().ClusterPeers().Get(r.t.Context(), name, metav1.GetOptions{})
	require.NoError(r.t, err)
	return peer
}

func (r *whole) eventually(name string, condition func(*peeringv1alpha1.ClusterPeer) bool) *peeringv1alpha1.ClusterPeer {
	r.t.Helper()
	var peer *peeringv1alpha1.ClusterPeer
	ok := assert.Eventually(r.t, func() bool {
		var err error
		peer, err = r.admin.PeeringV1alpha1().ClusterPeers().Get(r.t.Context(), name, metav1.GetOptions{})
		return err == nil && condition(peer)
	}, deadline, 5*time.Millisecond)
	require.True(r.t, ok, "%+v", peer.Status)
	return peer
}

func shownText(peer *peeringv1alpha1.ClusterPeer) string {
	if peer.Status.Invite == nil {
		return ""
	}
	return peer.Status.Invite.ConnectionString
}

// P5, R11, P12: an Invite through its life on the real endpoints: the string is written
// once, kept by the placeholder while other fields change, renewed, erased, and the
// object goes with its finalizer.
func TestR11InviteOnTheRealServer(t *testing.T) {
	r := newReal(t)
	created := r.create(invitePeer("p", ""))
	uid := string(created.UID)
	assert.Equal(t, []string{peeringv1alpha1.FinalizerDisconnect}, created.Finalizers)
	peer := r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool {
		return shownText(p) != "" && r.ledger.Peer(uid).Invite.Delivered
	})
	text := shownText(peer)
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	redactedPeer, err := r.operator.PeeringV1alpha1().ClusterPeers().Get(t.Context(), "p", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "<omitted>", shownText(redactedPeer))

	// R11: a write of ours beside it keeps it.
	_, err = r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType, []byte(`{"spec":{"invite":{"tokenTTL":"5m"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	peer = r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool { return p.Status.ObservedGeneration == 2 })
	assert.Equal(t, text, shownText(peer))
	assert.True(t, r.ledger.Peer(uid).Invite.ExpiresAt.Equal(said.ExpiresAt), "P5")

	// P5: a dry run renews nothing, the real thing does.
	renew := []byte(fmt.Sprintf(`{"metadata":{"annotations":{"peering.entente.dev/renew":%q}}}`, said.TokenID))
	_, err = r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType, renew, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	assert.Equal(t, text, shownText(r.seen("p")))
	_, err = r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType, renew, metav1.PatchOptions{})
	require.NoError(t, err)
	peer = r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool {
		return shownText(p) != text && r.ledger.Peer(uid).Invite.Delivered
	})
	second, err := connstring.Parse(shownText(peer))
	require.NoError(t, err)
	assert.Equal(t, r.ledger.Peer(uid).Invite.TokenID, second.TokenID)

	// S1: who may write a status plants a string, by each kind of write; none stays, and
	// neither does a forged peer.
	planted := validString(t)
	for i, write := range []func() error{
		func() error {
			_, err := r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType,
				[]byte(fmt.Sprintf(`{"status":{"invite":{"connectionString":%q},"peer":{"clusterUUID":%q},"offer":{"peeringVersion":"forged"},"access":{"endpoint":"https://evil.example.com"}}}`, planted, thirdUUID)), metav1.PatchOptions{}, "status")
			return err
		},
		func() error {
			force := true
			_, err := r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.ApplyPatchType,
				[]byte(fmt.Sprintf(`{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"name":"p"},"status":{"phase":"Active","invite":{"used":true,"connectionString":%q},
					"conditions":[{"type":"ClockSkew","status":"True","reason":"Forged","message":"","lastTransitionTime":"2026-11-01T12:00:00Z"}]}}`, planted)),
				metav1.PatchOptions{FieldManager: "mallory", Force: &force}, "status")
			return err
		},
	} {
		require.NoError(t, write())
		peer = r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool {
			return shownText(p) == "" && p.Status.Peer == nil && p.Status.Offer == nil && p.Status.Access == nil && p.Status.Phase == peeringv1alpha1.ClusterPeerPhasePending &&
				p.Status.Invite != nil && !p.Status.Invite.Used && meta.FindStatusCondition(p.Status.Conditions, "ClockSkew") == nil
		})
		assert.Equal(t, second.TokenID, peer.Status.Invite.TokenID, i)
	}

	// P12.
	require.NoError(t, r.operator.PeeringV1alpha1().ClusterPeers().Delete(t.Context(), "p", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := r.admin.PeeringV1alpha1().ClusterPeers().Get(t.Context(), "p", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, deadline, 5*time.Millisecond)
	assert.Nil(t, r.ledger.Peer(uid))
}

// P6, P8, P12: a Join through its life on the real endpoints: its string comes later, by
// /sensitive, and the finalizer is forced off at the end.
func TestP8JoinOnTheRealServer(t *testing.T) {
	r := newReal(t)
	peer := joinPeer("p", "", 0, "")
	peer.Spec.Join = nil
	uid := string(r.create(peer).UID)
	r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool {
		return meta.IsStatusConditionFalse(p.Status.Conditions, peeringv1alpha1.ConditionReady) && p.Status.Phase == peeringv1alpha1.ClusterPeerPhasePending
	})
	text := newString(t, func(c *connstring.ConnectionString) { c.ExpiresAt = time.Now().Add(time.Hour) })
	_, err := r.admin.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType,
		[]byte(fmt.Sprintf(`{"spec":{"join":{"connectionString":%q}}}`, text)), metav1.PatchOptions{}, "sensitive")
	require.NoError(t, err)
	r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool { return p.Status.Peer != nil })
	require.NoError(t, r.ledger.Update(t.Context(), func(tx record.Tx) error {
		peer, err := tx.Peer(uid)
		if err != nil {
			return err
		}
		peer.Remote.ConfirmedAt = time.Now()
		return tx.PutPeer(peer)
	}))
	r.eventually("p", func(p *peeringv1alpha1.ClusterPeer) bool {
		return p.Status.Phase == peeringv1alpha1.ClusterPeerPhaseActive && p.Spec.Join.ConnectionString == text
	})
	_, err = r.operator.PeeringV1alpha1().ClusterPeers().Patch(t.Context(), "p", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, r.operator.PeeringV1alpha1().ClusterPeers().Delete(t.Context(), "p", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return r.ledger.Peer(uid) == nil }, deadline, 5*time.Millisecond)
}
