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

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver"
)

// WithoutControllers makes the server serve its API and nothing else, as a replica does
// while another one leads. What tests write into a status stays there, and what is
// deleted stays until its finalizer is taken off: see FinishDeletions.
func WithoutControllers() Option {
	return WithConfig(func(c *apiserver.Config) { c.NeverLeads = true })
}

// FinishDeletions takes the finalizers of Entente off what is deleted, until the test
// ends: on a server without controllers nobody else does.
func FinishDeletions(t testing.TB, client versioned.Interface) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory := externalversions.NewSharedInformerFactory(client, 0)
	finish := func(informer cache.SharedIndexInformer, finalizer string, patch func(object metav1.Object, patch []byte)) {
		one := func(event any) {
			if object, ok := event.(metav1.Object); ok && object.GetDeletionTimestamp() != nil {
				if without := withoutFinalizer(object, finalizer); without != nil {
					patch(object, without)
				}
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: one, UpdateFunc: func(_, object any) { one(object) }})
		require.NoError(t, err)
	}
	// What fails is gone or has changed: then another event comes.
	finish(factory.Peering().V1alpha1().ClusterPeers().Informer(), peeringv1alpha1.FinalizerDisconnect, func(object metav1.Object, patch []byte) {
		_, _ = client.PeeringV1alpha1().ClusterPeers().Patch(ctx, object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	})
	if serves(t, client, corev1alpha1.SchemeGroupVersion) {
		finish(factory.Core().V1alpha1().Clusters().Informer(), corev1alpha1.FinalizerPruneReleases, func(object metav1.Object, patch []byte) {
			_, _ = client.CoreV1alpha1().Clusters(object.GetNamespace()).Patch(ctx, object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
		})
		finish(factory.Core().V1alpha1().Releases().Informer(), corev1alpha1.FinalizerRelease, func(object metav1.Object, patch []byte) {
			_, _ = client.CoreV1alpha1().Releases(object.GetNamespace()).Patch(ctx, object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
		})
	}
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
}

// withoutFinalizer is a patch that takes a finalizer off this object, and off no other one
// of its name; nil: it is not on it.
func withoutFinalizer(object metav1.Object, finalizer string) []byte {
	at := slices.Index(object.GetFinalizers(), finalizer)
	if at < 0 {
		return nil
	}
	path := fmt.Sprintf("/metadata/finalizers/%d", at)
	patch, err := json.Marshal([]map[string]string{
		{"op": "test", "path": "/metadata/uid", "value": string(object.GetUID())},
		{"op": "test", "path": path, "value": finalizer},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return nil
	}
	return patch
}

// serves tells whether a group is served.
func serves(t testing.TB, client versioned.Interface, gv schema.GroupVersion) bool {
	t.Helper()
	_, err := client.Discovery().ServerResourcesForGroupVersion(gv.String())
	if !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	return err == nil
}
