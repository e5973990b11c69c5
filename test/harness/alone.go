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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

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

// FinishDeletions takes the finalizer of Entente off what is deleted, until the test
// ends: on a server without controllers nobody else does.
func FinishDeletions(t testing.TB, client versioned.Interface) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory := externalversions.NewSharedInformerFactory(client, 0)
	finish := func(object any) {
		peer, ok := object.(*peeringv1alpha1.ClusterPeer)
		if !ok || peer.DeletionTimestamp == nil {
			return
		}
		at := slices.Index(peer.Finalizers, peeringv1alpha1.FinalizerDisconnect)
		if at < 0 {
			return
		}
		path := fmt.Sprintf("/metadata/finalizers/%d", at)
		patch, err := json.Marshal([]map[string]string{
			{"op": "test", "path": "/metadata/uid", "value": string(peer.UID)},
			{"op": "test", "path": path, "value": peeringv1alpha1.FinalizerDisconnect},
			{"op": "remove", "path": path},
		})
		if err != nil {
			return
		}
		// What fails is gone or has changed: then another event comes.
		_, _ = client.PeeringV1alpha1().ClusterPeers().Patch(ctx, peer.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	}
	_, err := factory.Peering().V1alpha1().ClusterPeers().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    finish,
		UpdateFunc: func(_, object any) { finish(object) },
	})
	require.NoError(t, err)
	factory.StartWithContext(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
}
