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

package projects

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"entente.dev/entente/controllers/rules"
)

// Resources tells what resources the host cluster has. A discovery.Follower is one.
type Resources interface {
	rules.Source
	// Version returns the version of a resource that the host prefers.
	Version(group, resource string) (version string, found bool)
}

// source follows the Project objects of the host cluster, from when it has that resource
// until it has it no more.
type source struct {
	client    dynamic.Interface
	resources Resources
	// changed is called when what claims returns may be something else.
	changed func()

	lock sync.Mutex
	// known is false before it is told whether there is the resource and, if so, what
	// objects there are: for as long as they cannot be listed.
	known bool
	// store has the objects, nil without the resource. It outlasts its informer, until
	// that of another version has read them too.
	store cache.Store
}

// claims returns what the Project objects claim. known is false if that cannot be told.
func (s *source) claims() (all []claim, known bool) {
	s.lock.Lock()
	store, known := s.store, s.known
	s.lock.Unlock()
	if store == nil {
		return nil, known
	}
	for _, object := range store.List() {
		project, ok := object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		if claim, has := claimOf(project); has {
			all = append(all, claim)
		}
	}
	return all, known
}

// run follows until ctx ends, and returns when nothing of it runs any more.
func (s *source) run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	defer s.resources.Subscribe(func() { poke(wake) })()
	following, stop := "", func() {} // which version, and how to end that
	defer func() { stop() }()
	for {
		version, told := s.wanted()
		switch {
		case !told:
		case version == "":
			stop()
			following, stop = "", func() {}
			s.replace(nil)
		case version != following:
			stop()
			following, stop = version, s.follow(ctx, version)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
	}
}

// wanted returns the version in which Project objects are to be read, "" without the
// resource. told is false if that is not known. Objects that live in namespaces are others.
func (s *source) wanted() (version string, told bool) {
	current := s.resources.Current()
	if current == nil {
		return "", false
	}
	if namespaced, found := current.Scope(group, resource); !found || namespaced {
		return "", !current.Failed(group)
	}
	return s.resources.Version(group, resource)
}

// follow reads the objects in a version and follows them. It returns how to end that.
func (s *source) follow(ctx context.Context, version string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	klog.FromContext(ctx).Info("The host cluster has Project objects", "group", group, "version", version)
	gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	informer := dynamicinformer.NewFilteredDynamicInformer(s.client, gvr, "", 0, nil, nil).Informer()
	if err := s.prepare(informer); err != nil {
		// It was just made: it cannot be running.
		utilruntime.HandleErrorWithContext(ctx, err, "Could not follow Project objects")
	}
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	running.Go(func() {
		if cache.WaitFor(ctx, Name, informer.HasSyncedChecker()) {
			s.replace(informer.GetStore())
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

func (s *source) prepare(informer cache.SharedIndexInformer) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.changed() },
		UpdateFunc: func(any, any) { s.changed() },
		DeleteFunc: func(any) { s.changed() },
	})
	if err = errors.Join(err, informer.SetTransform(slim)); err != nil {
		return fmt.Errorf("could not prepare the informer: %w", err)
	}
	return nil
}

// slim takes away what nobody here reads.
func slim(object any) (any, error) {
	if project, ok := object.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(project.Object, "spec")
		project.SetManagedFields(nil)
	}
	return object, nil
}

func (s *source) replace(store cache.Store) {
	s.lock.Lock()
	s.store, s.known = store, true
	s.lock.Unlock()
	s.changed()
}

// poke leaves a value in a channel that holds one, if there is none.
func poke(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
