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

package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Client asks the host cluster. A discovery.DiscoveryInterfaceWithContext is one.
type Client interface {
	// ServerGroupsAndResourcesWithContext returns all API groups and their resources. If
	// some of them fail it returns the others with a discovery.ErrGroupDiscoveryFailed.
	ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// errNoHost stands for an answer that no host cluster gives.
var errNoHost = errors.New("the answer lacks the core group or that of authorization, which every cluster has")

// read asks the host, and returns what is known then. What was known before stays known
// for versions of groups that are there and fail.
func read(ctx context.Context, client Client, before *snapshot) (*snapshot, error) {
	groups, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, fmt.Errorf("could not read what resources the host cluster has: %w", err)
	}
	answer := newAnswer(groups, lists, failed)
	// The library takes an answer of 404 for an empty one. So may somebody else in between.
	if !answer.has(corev1.SchemeGroupVersion.Group) || !answer.has(authorizationv1.SchemeGroupVersion.Group) {
		return nil, fmt.Errorf("could not read what resources the host cluster has: %w", errNoHost)
	}
	return answer.merge(before), nil
}

// answer is what the host says.
type answer struct {
	// order are the versions of each group, as the host prefers them, then those that
	// fail.
	order map[string][]string
	// resources are those of each version; what fails has none.
	resources map[schema.GroupVersion]map[string]bool
}

func newAnswer(groups []*metav1.APIGroup, lists []*metav1.APIResourceList, failed map[schema.GroupVersion]error) answer {
	a := answer{order: map[string][]string{}, resources: map[schema.GroupVersion]map[string]bool{}}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || failed[version] != nil {
			continue // what cannot be named nobody can be granted; what failed may be a part
		}
		resources := make(map[string]bool, len(list.APIResources))
		for _, resource := range list.APIResources {
			resources[resource.Name] = resource.Namespaced
		}
		a.resources[version] = resources
	}
	for _, group := range groups {
		a.add(group.Name, group.PreferredVersion.Version)
		for _, version := range group.Versions {
			a.add(group.Name, version.Version)
		}
	}
	var rest []schema.GroupVersion
	for version := range failed {
		rest = append(rest, version)
	}
	slices.SortFunc(rest, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	for _, version := range rest {
		a.add(version.Group, version.Version)
	}
	return a
}

// add adds a version that is less preferred than those before.
func (a answer) add(group, version string) {
	if version != "" && !slices.Contains(a.order[group], version) {
		a.order[group] = append(a.order[group], version)
	}
}

func (a answer) has(group string) bool { return len(a.order[group]) > 0 }

// merge returns what is known after the answer.
func (a answer) merge(before *snapshot) *snapshot {
	after := &snapshot{groups: make(map[string]group, len(a.order))}
	for name, versions := range a.order {
		var known group
		for _, versionName := range versions {
			resources, told := a.resources[schema.GroupVersion{Group: name, Version: versionName}]
			if !told {
				resources = before.resources(name, versionName)
			}
			known.versions = append(known.versions, version{versionName, resources})
		}
		after.groups[name] = known
	}
	return after
}

// resources returns those of one version, nil if they were never read. s may be nil.
func (s *snapshot) resources(groupName, versionName string) map[string]bool {
	if s == nil {
		return nil
	}
	for _, version := range s.groups[groupName].versions {
		if version.name == versionName {
			return version.resources
		}
	}
	return nil
}
