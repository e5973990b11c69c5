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
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// hostOf returns a Host whose cluster holds objects.
func hostOf(clk clock.WithTicker, objects ...runtime.Object) (*Host, *fake.Clientset) {
	client := fake.NewClientset(objects...)
	return &Host{Namespace: DefaultNamespace, Client: client, urgent: client, config: &rest.Config{}, clock: clk, facts: facts{username: account}}, client
}

const systemUID = "aaaaaaaa-0000-4000-8000-000000000001"

func systemNamespace(uid types.UID) *corev1.Namespace {
	namespace := &corev1.Namespace{}
	namespace.Name, namespace.UID = "kube-system", uid
	return namespace
}

func identityConfigMapOf(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "d8-cluster-uuid"}, Data: data}
}

// Design, section 3: the identity is the UID of kube-system; the ConfigMap wins; what is
// no UUID is refused with where it stands, and nothing else is taken in its place.
func TestClusterUUID(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []runtime.Object
		want    string
		fault   string
	}{
		"the namespace":               {objects: []runtime.Object{systemNamespace(systemUID)}, want: systemUID},
		"the ConfigMap wins":          {objects: []runtime.Object{systemNamespace(systemUID), identityConfigMapOf(map[string]string{"cluster-uuid": "bbbbbbbb-0000-4000-8000-000000000002"})}, want: "bbbbbbbb-0000-4000-8000-000000000002"},
		"in lower case":               {objects: []runtime.Object{identityConfigMapOf(map[string]string{"cluster-uuid": "BBBBBBBB-0000-4000-8000-00000000000F"})}, want: "bbbbbbbb-0000-4000-8000-00000000000f"},
		"a ConfigMap of another name": {objects: []runtime.Object{systemNamespace(systemUID), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d8-cluster-uuid"}, Data: map[string]string{"cluster-uuid": "x"}}}, want: systemUID},
		"no UUID in the ConfigMap":    {objects: []runtime.Object{systemNamespace(systemUID), identityConfigMapOf(map[string]string{"cluster-uuid": "canary-0c11"})}, fault: "cluster-uuid of the ConfigMap kube-system/d8-cluster-uuid is not a UUID"},
		"a UUID in another form":      {objects: []runtime.Object{systemNamespace(systemUID), identityConfigMapOf(map[string]string{"cluster-uuid": "{bbbbbbbb-0000-4000-8000-000000000002}"})}, fault: "is not a UUID"},
		"a ConfigMap without the key": {objects: []runtime.Object{systemNamespace(systemUID), identityConfigMapOf(map[string]string{"other": "bbbbbbbb-0000-4000-8000-000000000002"})}, fault: "cluster-uuid of the ConfigMap kube-system/d8-cluster-uuid is not a UUID"},
		"no UUID of the namespace":    {objects: []runtime.Object{systemNamespace("canary-0c11")}, fault: "the UID of the namespace kube-system is not a UUID"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := hostOf(clock.RealClock{}, tc.objects...)
			got, err := h.ClusterUUID(t.Context())
			if tc.fault != "" {
				require.ErrorContains(t, err, tc.fault)
				require.ErrorContains(t, err, "--cluster-uuid")
				assert.NotContains(t, err.Error(), "canary")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// A ConfigMap that cannot be read may be there: it is waited for, and the namespace is
// not asked meanwhile.
func TestClusterUUIDIsWaitedFor(t *testing.T) {
	for name, fault := range map[string]error{
		"forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "d8-cluster-uuid", nil),
		"away":      errors.New("the host cluster of this test is away"),
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Now())
			h, client := hostOf(clk, systemNamespace(systemUID), identityConfigMapOf(map[string]string{"cluster-uuid": "bbbbbbbb-0000-4000-8000-000000000002"}))
			failures := 3
			client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				failures--
				return failures >= 0, nil, fault
			})
			result := make(chan string, 1)
			go func() {
				got, err := h.ClusterUUID(t.Context())
				assert.NoError(t, err)
				result <- got
			}()
			for range 3 {
				require.Eventually(t, clk.HasWaiters, deadline, time.Millisecond)
				require.Empty(t, result, "it did not wait")
				clk.Step(retryInterval)
			}
			assert.Equal(t, "bbbbbbbb-0000-4000-8000-000000000002", <-result)
		})
	}
	t.Run("without end", func(t *testing.T) {
		h, _ := hostOf(clocktesting.NewFakeClock(time.Now()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := h.ClusterUUID(ctx)
		require.ErrorContains(t, err, "gave up waiting for the UUID of the host cluster")
	})
}
