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

package apiserver

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/klog/v2"

	"entente.dev/entente/controllers"
)

// catalog is a controllers.Catalog.
type catalog interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

var _ catalog = &controllers.Catalog{}

// office runs the controllers while this server is the one to do it: each term of
// office has controllers of its own, which know nothing of what was before.
type office struct {
	// lead calls work for each term, until its context ends.
	lead func(ctx context.Context, work func(context.Context)) error
	// catalog makes the controllers of one term.
	catalog func() (catalog, error)

	lock    sync.Mutex
	cancel  context.CancelFunc // nil before the start
	stopped bool               // a stop came before the start
	current catalog            // nil between terms
	ended   chan struct{}      // closed when there is no further term
}

func newOffice(lead func(context.Context, func(context.Context)) error, catalog func() (catalog, error)) *office {
	return &office{lead: lead, catalog: catalog, ended: make(chan struct{})}
}

// neverLead is lead for a server that is never elected.
func neverLead(ctx context.Context, _ func(context.Context)) error {
	<-ctx.Done()
	return nil
}

// start returns at once. After stop it does nothing, so that a stop which overtakes
// the start is not lost.
func (o *office) start(ctx context.Context) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.stopped || o.cancel != nil {
		return
	}
	ctx, o.cancel = context.WithCancel(ctx)
	go func() {
		defer close(o.ended)
		if err := o.lead(ctx, o.serve); err != nil {
			klog.FromContext(ctx).Error(err, "No controllers run in this process")
		}
	}()
}

// serve runs controllers until ctx ends, and returns when they have ended.
func (o *office) serve(ctx context.Context) {
	log := klog.FromContext(ctx)
	catalog, err := o.catalog()
	if err == nil {
		o.set(catalog)
		defer o.set(nil)
		err = catalog.Start(ctx)
	}
	if err != nil {
		log.Error(err, "Could not start the controllers")
		return
	}
	<-ctx.Done()
	for {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), controllerStopTimeout)
		err := catalog.Stop(stopping)
		cancel()
		if err == nil {
			return
		}
		// Two of the same controller at a time would be worse than none.
		log.Error(err, "Waiting for the controllers")
	}
}

func (o *office) set(catalog catalog) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.current = catalog
}

// stop ends the term, and there will be no other. It fails if ctx ends before the
// controllers have ended and somebody else may lead.
func (o *office) stop(ctx context.Context) error {
	o.lock.Lock()
	o.stopped = true
	cancel := o.cancel
	o.lock.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-o.ended:
		return nil
	case <-ctx.Done():
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.current != nil {
		return o.current.Stop(ctx) // names those that still run
	}
	return fmt.Errorf("could not give up the lead in time: %w", context.Cause(ctx))
}
