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

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	deadline = 20 * time.Second
	account  = "system:serviceaccount:entente-system:entente-apiserver"
)

// cluster answers over HTTP what these tests need of a host cluster at the moment
// they need it; the end-to-end tests run a real one.
type cluster struct {
	lock        sync.Mutex
	away        bool
	definitions []string
	forbidden   map[string]bool // resources that may not be listed or created
	looks       int             // requests for /version
	reviews     int             // SubjectAccessReviews
}

func (c *cluster) set(change func(*cluster)) {
	c.lock.Lock()
	defer c.lock.Unlock()
	change(c)
}

func (c *cluster) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.looks
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if r.URL.Path == "/version" {
		c.looks++
	}
	if c.away {
		http.Error(w, "the host cluster of this test is away", http.StatusServiceUnavailable)
		return
	}
	var answer any
	switch r.URL.Path {
	case "/version":
		answer = version.Info{GitVersion: "v1.99.0-test", Major: "1", Minor: "99"}
	case "/apis/admissionregistration.k8s.io/v1":
		answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "admissionregistration.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"},
		}}
	case "/apis/authentication.k8s.io/v1/selfsubjectreviews":
		answer = authenticationv1.SelfSubjectReview{
			TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"},
			Status:   authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: account}},
		}
	case "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		body, _ := io.ReadAll(r.Body) // protobuf or JSON: the name of the resource stands in it as it is
		review := authorizationv1.SelfSubjectAccessReview{TypeMeta: metav1.TypeMeta{Kind: "SelfSubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}}
		review.Status.Allowed = true
		for resource := range c.forbidden {
			review.Status.Allowed = review.Status.Allowed && !bytes.Contains(body, []byte(resource))
		}
		answer = review
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		c.reviews++
		body, _ := io.ReadAll(r.Body)
		review := authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{Kind: "SubjectAccessReview", APIVersion: "authorization.k8s.io/v1"}}
		review.Status.Allowed = true
		for resource := range c.forbidden {
			review.Status.Allowed = review.Status.Allowed && !bytes.Contains(body, []byte(resource))
		}
		answer = review
	case "/apis/apiextensions.k8s.io/v1/customresourcedefinitions":
		if c.forbidden["customresourcedefinitions"] {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden}
			break
		}
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}}
		for _, name := range c.definitions {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		answer = list
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// start returns a Host that reaches the cluster.
func start(t *testing.T, c *cluster, clk *clocktesting.FakeClock) *Host {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	path := t.TempDir() + "/kubeconfig"
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, path))
	config := Config{Kubeconfig: path}
	if clk != nil {
		config.Clock = clk
	}
	h, err := New(config)
	require.NoError(t, err)
	return h
}

// A host cluster that is away when the server starts is waited for.
func TestAwaitWaitsForAHostThatIsAway(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	c := &cluster{away: true}
	h := start(t, c, clk)
	result := make(chan error, 1)
	go func() { result <- h.Await(t.Context(), "peering.entente.dev") }()
	for range 3 {
		require.Eventually(t, clk.HasWaiters, deadline, time.Millisecond)
		clk.Step(retryInterval)
	}
	require.Eventually(t, clk.HasWaiters, deadline, time.Millisecond)
	require.Empty(t, result, "it did not wait")
	c.set(func(c *cluster) { c.away = false })
	clk.Step(retryInterval)
	require.NoError(t, <-result)
	require.True(t, h.Serves(admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")))
	require.False(t, h.Serves(admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicies")), "a resource that the version lacks")
	require.False(t, h.Serves(flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")), "a version that the host lacks")
	require.Equal(t, "--serviceaccount=entente-system:entente-apiserver", h.subject())
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	h := start(t, &cluster{away: true}, clocktesting.NewFakeClock(time.Now()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, h.Await(ctx, "peering.entente.dev"), "gave up waiting for the host cluster")
}

// K4: a group whose CRDs exist is not registered over them, and start-up says so.
func TestK4_AwaitRefusesAGroupThatIsTaken(t *testing.T) {
	c := &cluster{definitions: []string{"widgets.example.com", "clusterpeers.peering.entente.dev", "things.notpeering.entente.dev", "things.below.peering.entente.dev"}}
	h := start(t, c, nil)
	err := h.Await(t.Context(), "peering.entente.dev")
	taken := &TakenError{}
	require.ErrorAs(t, err, &taken)
	require.Equal(t, []string{"clusterpeers.peering.entente.dev"}, taken.CustomResourceDefinitions)
	c.set(func(c *cluster) {
		c.definitions = []string{"widgets.example.com", "things.notpeering.entente.dev", "things.below.peering.entente.dev"}
	})
	require.NoError(t, h.Await(t.Context(), "peering.entente.dev"))
}

func TestK4_AwaitDoesNotGoOnWhenItMayNotLook(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	c := &cluster{forbidden: map[string]bool{"customresourcedefinitions": true}}
	h := start(t, c, clk)
	_, err := h.ask(t.Context(), []string{"peering.entente.dev"})
	require.ErrorContains(t, err, account)
	require.ErrorContains(t, err, "may not list customresourcedefinitions.apiextensions.k8s.io")
	require.ErrorContains(t, err, "ClusterRole entente-apiserver")
}

// The monitor makes the server not ready while the host is away, after two looks,
// and ready again by itself.
func TestMonitorFollowsTheHost(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	c := &cluster{}
	h := start(t, c, clk)
	require.NoError(t, h.Await(t.Context(), "peering.entente.dev"))
	m := h.NewMonitor()
	require.Error(t, m.Check(nil), "ready before it has looked")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx) }()
	require.Eventually(t, func() bool { return m.Check(nil) == nil }, deadline, time.Millisecond)

	// look makes the monitor look once more, and returns when it has.
	look := func() {
		before := c.count()
		require.Eventually(t, clk.HasWaiters, deadline, time.Millisecond)
		clk.Step(probeInterval)
		require.Eventually(t, func() bool { return c.count() > before }, deadline, time.Millisecond)
	}
	c.set(func(c *cluster) { c.away = true })
	look()
	require.NoError(t, m.Check(nil), "one failure is not enough")
	look()
	require.Eventually(t, func() bool { return m.Check(nil) != nil }, deadline, time.Millisecond)
	require.ErrorContains(t, m.Check(nil), "the host cluster does not answer")
	c.set(func(c *cluster) { c.away = false })
	look()
	require.Eventually(t, func() bool { return m.Check(nil) == nil }, deadline, time.Millisecond)

	// A right that is taken away is noticed within a minute.
	c.set(func(c *cluster) { c.forbidden = map[string]bool{"subjectaccessreviews": true} })
	for range rightsEvery + failuresUntilAway {
		look()
	}
	require.Eventually(t, func() bool { return m.Check(nil) != nil }, deadline, time.Millisecond)
	require.ErrorContains(t, m.Check(nil), "kubectl create clusterrolebinding entente-apiserver-auth-delegator --clusterrole=system:auth-delegator --serviceaccount=entente-system:entente-apiserver")
	cancel()
	<-ended
}
