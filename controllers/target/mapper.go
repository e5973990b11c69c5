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
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// Limits of a mapper.
const (
	// mapperTimeout is for all that one call asks.
	mapperTimeout = 30 * time.Second
	// maxAsked is how many requests there are at once.
	maxAsked = 4
	// Of all that is told between two resets, together.
	maxKnownBytes     = 8 << 20
	maxKnownMarks     = 256 << 10
	maxKnownResources = 20_000
)

// limiterOf limits a client as the rest of client-go does.
func limiterOf(config *rest.Config) flowcontrol.RateLimiter {
	switch {
	case config.RateLimiter != nil:
		return config.RateLimiter
	case config.QPS < 0:
		return nil
	default:
		return flowcontrol.NewTokenBucketRateLimiter(cmp.Or(config.QPS, rest.DefaultQPS), cmp.Or(config.Burst, rest.DefaultBurst))
	}
}

// mapper is a RESTMapper that asks for one group-version at a time, when it is asked for a
// kind or a resource of it: those of client-go ask for all, and keep all of the answers.
type mapper struct {
	client  *Client
	limiter flowcontrol.RateLimiter // nil: no limit
	// slots has room for the requests that there may be at once.
	slots chan struct{}

	mu    sync.Mutex
	known *knowledge
}

var (
	_ meta.ResettableRESTMapper            = &mapper{}
	_ meta.ResettableRESTMapperWithContext = &mapper{}
)

func newMapper(client *Client, limiter flowcontrol.RateLimiter) *mapper {
	return &mapper{client: client, limiter: limiter, slots: make(chan struct{}, maxAsked), known: newKnowledge()}
}

// knowledge is what was told between two resets.
type knowledge struct {
	mu sync.Mutex
	// told and resources are how much it was.
	told      limits
	resources int
	groups    map[string][]string // nil: not told
	kinds     map[schema.GroupVersion]map[string]kind
}

// kind is what a mapping needs of one.
type kind struct {
	resource   string
	namespaced bool
}

func newKnowledge() *knowledge {
	return &knowledge{kinds: map[schema.GroupVersion]map[string]kind{}}
}

func (k *knowledge) versions() map[string][]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.groups
}

func (k *knowledge) of(version schema.GroupVersion) map[string]kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kinds[version]
}

// tell adds up what is told; false: it is too much.
func (k *knowledge) tell(size limits, resources int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told.bytes += size.bytes
	k.told.marks += size.marks
	k.resources += resources
	return k.told.bytes <= maxKnownBytes && k.told.marks <= maxKnownMarks && k.resources <= maxKnownResources
}

// now returns what is known.
func (m *mapper) now() *knowledge {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// tooLarge forgets what became too much, so that it cannot be so for ever where kinds come
// and go, and fails.
func (m *mapper) tooLarge(known *knowledge) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == known {
		m.known = newKnowledge()
	}
	return &Failure{ReasonTooLarge}
}

// enter waits until there may be one request more.
func (m *mapper) enter(ctx context.Context) (leave func(), err error) {
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, nil
	case <-ctx.Done():
		return nil, m.client.ended(ctx, ctx.Err())
	}
}

// ask asks for what is at a path of the API, and decodes it if the status is 200.
func (m *mapper) ask(ctx context.Context, known *knowledge, path string, answer any) (status int, err error) {
	if m.limiter != nil && m.limiter.Wait(ctx) != nil {
		// Either the time is over or it would be.
		return 0, m.client.ended(ctx, &Failure{ReasonTimeout})
	}
	body, status, err := m.client.read(ctx, path)
	if err != nil || status != http.StatusOK {
		return status, err
	}
	if !known.tell(sizeOf(body), 0) {
		return 0, m.tooLarge(known)
	}
	return status, m.client.decode(ctx, body, answer)
}

// groups returns the versions of all groups, that which the cluster prefers first.
func (m *mapper) groups(ctx context.Context, known *knowledge) (map[string][]string, error) {
	if groups := known.versions(); groups != nil {
		return groups, nil
	}
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if groups := known.versions(); groups != nil {
		return groups, nil
	}
	groups, err := m.client.groups(ctx, func(ctx context.Context, path string, answer any) (bool, error) {
		status, err := m.ask(ctx, known, path, answer)
		switch {
		case err != nil:
			return false, err
		case status == http.StatusOK, status == http.StatusNotFound:
			return status == http.StatusOK, nil
		default:
			return false, &Failure{reasonOfStatus(status)}
		}
	})
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, &Failure{ReasonNotKubernetes}
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	known.groups = groups
	return groups, nil
}

// kinds returns those of a group-version. That there is none of it is an answer; any other
// failure is one, and not that it has none.
func (m *mapper) kinds(ctx context.Context, known *knowledge, version schema.GroupVersion) (map[string]kind, error) {
	if kinds := known.of(version); kinds != nil {
		return kinds, nil
	}
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if kinds := known.of(version); kinds != nil {
		return kinds, nil
	}
	var list struct {
		Kind      string `json:"kind"`
		Resources []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	path := "apis/" + version.String()
	if version.Group == "" {
		path = "api/" + version.Version
	}
	status, err := m.ask(ctx, known, path, &list)
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK && status != http.StatusNotFound:
		// As of a call for an object: it is a matter of this group, and need not be one of the
		// cluster as a whole. Nothing of the answer is in it.
		return nil, apierrors.NewGenericServerResponse(status, "get", schema.GroupResource{}, "", "", 0, false)
	case status == http.StatusOK && list.Kind != "APIResourceList":
		return nil, &Failure{ReasonNotKubernetes}
	}
	if !known.tell(limits{}, len(list.Resources)) {
		return nil, m.tooLarge(known)
	}
	kinds := map[string]kind{}
	for _, resource := range list.Resources {
		// With a slash it is a part of another.
		if resource.Name != "" && resource.Kind != "" && !strings.Contains(resource.Name, "/") {
			kinds[resource.Kind] = kind{resource.Name, resource.Namespaced}
		}
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	known.kinds[version] = kinds
	return kinds, nil
}

// find returns what a group has that is looked for, in the order of the versions that are
// asked for, or else in that of the cluster. Not all of them are asked for, if one will do.
func (m *mapper) find(ctx context.Context, group string, versions []string, all bool, isIt func(string, kind) bool) ([]*meta.RESTMapping, error) {
	ctx, cancel := context.WithTimeout(ctx, mapperTimeout)
	defer cancel()
	known := m.now()
	groups, err := m.groups(ctx, known)
	if err != nil {
		return nil, err
	}
	served := groups[group]
	if asked := slices.DeleteFunc(slices.Clone(versions), func(version string) bool { return version == "" }); len(asked) > 0 {
		served = slices.DeleteFunc(asked, func(version string) bool { return !slices.Contains(served, version) })
	}
	var found []*meta.RESTMapping
	for _, version := range served {
		in := schema.GroupVersion{Group: group, Version: version}
		kinds, err := m.kinds(ctx, known, in)
		if err != nil {
			return nil, err
		}
		for name, one := range kinds {
			if !isIt(name, one) {
				continue
			}
			scope := meta.RESTScopeRoot
			if one.namespaced {
				scope = meta.RESTScopeNamespace
			}
			found = append(found, &meta.RESTMapping{Resource: in.WithResource(one.resource), GroupVersionKind: in.WithKind(name), Scope: scope})
		}
		if len(found) > 0 && !all {
			break
		}
	}
	return found, nil
}

func (m *mapper) ofKind(ctx context.Context, group schema.GroupKind, versions []string, all bool) ([]*meta.RESTMapping, error) {
	found, err := m.find(ctx, group.Group, versions, all, func(name string, _ kind) bool { return name == group.Kind })
	if err == nil && len(found) == 0 {
		err = &meta.NoKindMatchError{GroupKind: group, SearchedVersions: versions}
	}
	return found, err
}

func (m *mapper) ofResource(ctx context.Context, resource schema.GroupVersionResource, all bool) ([]*meta.RESTMapping, error) {
	found, err := m.find(ctx, resource.Group, []string{resource.Version}, all, func(_ string, one kind) bool { return one.resource == resource.Resource })
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, &meta.NoResourceMatchError{PartialResource: resource}
	}
	return found, nil
}

// RESTMappingWithContext implements meta.RESTMapperWithContext.
func (m *mapper) RESTMappingWithContext(ctx context.Context, group schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, err := m.ofKind(ctx, group, versions, false)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// RESTMappingsWithContext implements meta.RESTMapperWithContext.
func (m *mapper) RESTMappingsWithContext(ctx context.Context, group schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return m.ofKind(ctx, group, versions, true)
}

// KindForWithContext implements meta.RESTMapperWithContext.
func (m *mapper) KindForWithContext(ctx context.Context, resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	found, err := m.ofResource(ctx, resource, false)
	switch {
	case err != nil:
		return schema.GroupVersionKind{}, err
	case len(found) > 1:
		return schema.GroupVersionKind{}, &meta.AmbiguousResourceError{PartialResource: resource}
	}
	return found[0].GroupVersionKind, nil
}

// KindsForWithContext implements meta.RESTMapperWithContext.
func (m *mapper) KindsForWithContext(ctx context.Context, resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	found, err := m.ofResource(ctx, resource, true)
	kinds := make([]schema.GroupVersionKind, 0, len(found))
	for _, mapping := range found {
		kinds = append(kinds, mapping.GroupVersionKind)
	}
	return kinds, err
}

// ResourceForWithContext implements meta.RESTMapperWithContext.
func (m *mapper) ResourceForWithContext(ctx context.Context, resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	found, err := m.ofResource(ctx, resource, false)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return found[0].Resource, nil
}

// ResourcesForWithContext implements meta.RESTMapperWithContext.
func (m *mapper) ResourcesForWithContext(ctx context.Context, resource schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	found, err := m.ofResource(ctx, resource, true)
	resources := make([]schema.GroupVersionResource, 0, len(found))
	for _, mapping := range found {
		resources = append(resources, mapping.Resource)
	}
	return slices.Compact(resources), err
}

// ResourceSingularizerWithContext implements meta.RESTMapperWithContext: singulars are not
// kept.
func (m *mapper) ResourceSingularizerWithContext(_ context.Context, resource string) (string, error) {
	return resource, nil
}

// ResetWithContext implements meta.ResettableRESTMapperWithContext. What is asked at the time
// goes on for who asks.
func (m *mapper) ResetWithContext(context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = newKnowledge()
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(group schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return m.RESTMappingWithContext(context.Background(), group, versions...)
}

// RESTMappings implements meta.RESTMapper.
func (m *mapper) RESTMappings(group schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return m.RESTMappingsWithContext(context.Background(), group, versions...)
}

// KindFor implements meta.RESTMapper.
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return m.KindForWithContext(context.Background(), resource)
}

// KindsFor implements meta.RESTMapper.
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return m.KindsForWithContext(context.Background(), resource)
}

// ResourceFor implements meta.RESTMapper.
func (m *mapper) ResourceFor(resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return m.ResourceForWithContext(context.Background(), resource)
}

// ResourcesFor implements meta.RESTMapper.
func (m *mapper) ResourcesFor(resource schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return m.ResourcesForWithContext(context.Background(), resource)
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *mapper) ResourceSingularizer(resource string) (string, error) { return resource, nil }

// Reset implements meta.ResettableRESTMapper.
func (m *mapper) Reset() { m.ResetWithContext(context.Background()) }
