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

package targets_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/controllers/targets"
)

// C1: the Releases of a Cluster are those of its namespace that refer to it.
func TestC1Index(t *testing.T) {
	factory := externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), time.Minute)
	releases := factory.Core().V1alpha1().Releases().Informer()
	require.NoError(t, targets.Index(releases))
	require.NoError(t, targets.Index(releases), "both controllers ask for it")
	for _, names := range [][3]string{{"team", "a", "east"}, {"team", "b", "east"}, {"team", "c", "west"}, {"other", "a", "east"}} {
		release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: names[0], Name: names[1]}}
		release.Spec.ClusterRef.Name = names[2]
		assert.Equal(t, cache.NewObjectName(names[0], names[2]), targets.ClusterOf(release))
		require.NoError(t, releases.GetIndexer().Add(release))
	}
	for cluster, want := range map[string][]string{"team/east": {"team/a", "team/b"}, "team/west": {"team/c"}, "other/east": {"other/a"}, "other/west": nil} {
		keys, err := releases.GetIndexer().IndexKeys(targets.ByCluster, cluster)
		require.NoError(t, err)
		assert.ElementsMatch(t, want, keys, cluster)
	}
}

func TestIndexOfOtherObjects(t *testing.T) {
	factory := externalversions.NewSharedInformerFactory(fake.NewSimpleClientset(), time.Minute)
	clusters := factory.Core().V1alpha1().Clusters().Informer()
	require.NoError(t, targets.Index(clusters))
	require.NoError(t, clusters.GetIndexer().Add(&corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "east"}}))
	assert.Empty(t, clusters.GetIndexer().ListIndexFuncValues(targets.ByCluster))
}
