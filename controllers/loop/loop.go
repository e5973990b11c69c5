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

// Package loop is the part that all controllers share: a queue of object names
// that an informer fills, and workers that empty it.
package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// An object whose Sync failed is looked at again after firstRetry, which doubles
// up to maxRetry with each failure in a row.
const (
	firstRetry = 100 * time.Millisecond
	maxRetry   = time.Minute
)

// errPanicked stands for what a panic said: that is logged, and not an error to
// be passed on.
var errPanicked = errors.New("it panicked")

// Loop calls Sync for every object of an informer: once for each at the start,
// and again after every change or deletion. Calls for one object never overlap,
// and changes that come while one runs are one call. All fields but Subscribe are
// required.
type Loop struct {
	// Name names the queue in metrics.
	Name string
	// Informer tells which objects there are. It is started by its owner.
	Informer cache.SharedIndexInformer
	// Subscribe is for what else makes an object worth looking at, nil: nothing. It is
	// called once at the start of Run, with what has Sync called for an object, which
	// may be gone or never have been. It returns how to end that.
	Subscribe func(enqueue func(object cache.ObjectName)) (cancel func())
	// Workers is the number of calls that may run at once.
	Workers int
	// Clock times retries.
	Clock clock.WithTicker
	// Sync brings one object, which may be gone, to where it should be. If again is
	// positive it is called for it after that time once more. If it fails, or
	// panics, that is logged, and it is called again with growing delays.
	Sync func(ctx context.Context, object cache.ObjectName) (again time.Duration, err error)
}

// Run works until ctx ends, and returns when the last call has ended. It fails if
// the informer has been stopped. It may be called again after it returned.
func (l Loop) Run(ctx context.Context) error {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstRetry, maxRetry),
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: l.Name, Clock: l.Clock},
	)
	defer queue.ShutDown()

	logger := klog.FromContext(ctx)
	handler, err := l.Informer.AddEventHandlerWithOptions(enqueue(ctx, queue), cache.HandlerOptions{Logger: &logger})
	if err != nil {
		return fmt.Errorf("could not watch objects: %w", err)
	}
	defer func() {
		// Fails only for a handler of another informer.
		_ = l.Informer.RemoveEventHandler(handler)
	}()
	if l.Subscribe != nil {
		defer l.Subscribe(queue.Add)()
	}
	if !cache.WaitFor(ctx, l.Name, handler.HasSyncedChecker()) {
		return nil // ctx ended
	}

	var workers sync.WaitGroup
	for range l.Workers {
		workers.Go(func() {
			for l.next(ctx, queue) {
			}
		})
	}
	<-ctx.Done()
	queue.ShutDown()
	workers.Wait()
	return nil
}

// next handles one object of the queue; false after the queue was shut down.
func (l Loop) next(ctx context.Context, queue workqueue.TypedRateLimitingInterface[cache.ObjectName]) bool {
	object, shutdown := queue.Get()
	if shutdown {
		return false
	}
	defer queue.Done(object)
	if ctx.Err() != nil {
		return true // empty the queue, it is shutting down
	}
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "object", object))
	again, err := l.sync(ctx, object)
	if err != nil {
		if ctx.Err() == nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Could not reconcile the object, trying again later")
			queue.AddRateLimited(object)
		}
		return true
	}
	queue.Forget(object)
	if again > 0 {
		queue.AddAfter(object, again)
	}
	return true
}

// sync calls Sync and turns a panic into an error, after the usual handlers have
// logged and counted it: one odd object must not stop the work on the others.
func (l Loop) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	err = errPanicked // unless it returns
	defer func() {
		// HandleCrash panics again, unless it was told not to.
		_ = recover()
	}()
	defer utilruntime.HandleCrashWithContext(ctx)
	return l.Sync(ctx, object)
}

// enqueue puts the name of every object that an informer reports into the queue.
func enqueue(ctx context.Context, queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	add := func(object any) {
		name, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Could not tell the name of an object")
			return
		}
		queue.Add(name)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}

// Earliest returns the earlier of two times after which Sync is to be called again, of which
// 0 is never.
func Earliest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
