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

package target

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// mapperTimeout is for asking a cluster for all its kinds.
const mapperTimeout = 30 * time.Second

// newMapper makes a mapper that asks when it is asked first.
func newMapper(config *rest.Config, answers *http.Client) (meta.ResettableRESTMapper, error) {
	inner, err := discovery.NewDiscoveryClientForConfigAndClient(config, answers)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClientWithContext(fewKinds{inner})
	return restmapper.NewDeferredDiscoveryRESTMapperWithContext(quietDiscovery{cached}), nil
}

// quietDiscovery asks quietly, and not for ever: who uses a mapper often has no context.
type quietDiscovery struct {
	discovery.CachedDiscoveryInterfaceWithContext
}

// ServerGroupsAndResourcesWithContext is all that a mapper asks.
func (q quietDiscovery) ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	ctx, cancel := context.WithTimeout(quietly(ctx), mapperTimeout)
	defer cancel()
	return q.CachedDiscoveryInterfaceWithContext.ServerGroupsAndResourcesWithContext(ctx)
}

// fewKinds fails for a cluster with too many API versions, since the cache may ask for the
// resources of each, all at once, and with none, since a mapper would ask again for ever.
type fewKinds struct{ *discovery.DiscoveryClient }

// GroupsAndMaybeResourcesWithContext is what the cache asks first.
func (f fewKinds) GroupsAndMaybeResourcesWithContext(ctx context.Context) (*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error) {
	groups, resources, failed, err := f.DiscoveryClient.GroupsAndMaybeResourcesWithContext(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	count := 0
	for _, group := range groups.Groups {
		count += len(group.Versions)
	}
	switch {
	case count == 0:
		return nil, nil, nil, &Failure{ReasonNotKubernetes}
	case count > maxAPIVersions:
		return nil, nil, nil, &Failure{ReasonTooLarge}
	}
	return groups, resources, failed, nil
}
