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

package apiserver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// K2: Kubernetes deletes what is in a namespace, and what is garbage, by a client that
// would take protobuf first. Each kind answers it in something else.
func TestK2DeletedByMetadataClient(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.WithClusters())
	client, err := metadata.NewForConfig(metadata.ConfigFor(s.RESTConfig(t, harness.Admin)))
	require.NoError(t, err)
	capabilities := s.Client(t, harness.Admin).PeeringV1alpha1().PeeringCapabilities()
	_, err = capabilities.Create(t.Context(), &peeringv1alpha1.PeeringCapability{ObjectMeta: metav1.ObjectMeta{Name: "some"}, Spec: peeringv1alpha1.PeeringCapabilitySpec{Version: "1"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	gv := peeringv1alpha1.SchemeGroupVersion
	for _, resource := range []schema.GroupVersionResource{gv.WithResource("projectpeers"), corev1alpha1.SchemeGroupVersion.WithResource("clusters"), corev1alpha1.SchemeGroupVersion.WithResource("releases")} {
		assert.NoError(t, client.Resource(resource).Namespace("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}), resource)
	}
	for _, resource := range []string{"clusterpeers", "peeringcapabilities", "tokenexchangeproviders"} {
		assert.NoError(t, client.Resource(gv.WithResource(resource)).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}), resource)
	}
	list, err := client.Resource(gv.WithResource("peeringcapabilities")).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}
