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

package targets

import (
	"fmt"

	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// ByCluster is the index of Releases by the Cluster that they refer to, NAMESPACE/NAME.
const ByCluster = "cluster"

// Index has an informer of Releases keep the index ByCluster. It may be called more than once,
// and fails for an informer that has been started without it.
func Index(releases cache.SharedIndexInformer) error {
	if _, there := releases.GetIndexer().GetIndexers()[ByCluster]; there {
		return nil
	}
	err := releases.AddIndexers(cache.Indexers{ByCluster: func(object any) ([]string, error) {
		release, ok := object.(*corev1alpha1.Release)
		if !ok {
			return nil, nil
		}
		return []string{ClusterOf(release).String()}, nil
	}})
	if err != nil {
		return fmt.Errorf("could not find Releases by their Cluster: %w", err)
	}
	return nil
}

// ClusterOf names the Cluster that a Release refers to.
func ClusterOf(release *corev1alpha1.Release) cache.ObjectName {
	return cache.NewObjectName(release.Namespace, release.Spec.ClusterRef.Name)
}
