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

package grant

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
)

// batch is how many pairs are listed at once before they are made.
const batch = 50

// ready returns the pairs that need not wait after earlier attempts to make them.
func (c *Controller) ready(tasks []task, p *progress) []task {
	return slices.DeleteFunc(tasks, func(t task) bool {
		isWaiting := false
		for _, h := range []half{t.role, t.binding} {
			if pause, why := c.pace.pauses(h.ref); pause > 0 && h.uid == "" {
				p.waits(pause, why)
				isWaiting = true
			}
		}
		return isWaiting
	})
}

// make makes so many pairs at most, as far as they are not there. Those of one capability
// follow each other.
func (c *Controller) make(ctx context.Context, s *situation, tasks []task, limit int, p *progress) {
	tasks = slices.DeleteFunc(tasks, func(t task) bool { return !p.mayMake(t.pair) })
	if len(tasks) > limit {
		tasks, p.left = tasks[:limit], true
	}
	for len(tasks) > 0 && ctx.Err() == nil && !p.isOver() {
		capability, n := tasks[0].capability, 0
		for n < min(len(tasks), batch) && tasks[n].capability == capability {
			n++
		}
		c.makeBatch(ctx, s, tasks[:n], p)
		p.tried += n
		tasks = tasks[n:]
	}
}

// makeBatch lists objects of a capability, makes them, and lists them by their UIDs.
func (c *Controller) makeBatch(ctx context.Context, s *situation, tasks []task, p *progress) {
	if !c.note(ctx, intents(s, tasks), p) {
		return
	}
	workqueue.ParallelizeUntil(ctx, parallel, len(tasks), func(i int) { c.makePair(ctx, s, &tasks[i], p) })

	c.note(ctx, results(s, tasks, p), p)
}

// results are the changes that list what was made or found.
func results(s *situation, tasks []task, p *progress) changes {
	changed := changes{}
	for _, t := range tasks {
		for _, h := range []half{t.role, t.binding} {
			object := h.granted(h.uid)
			object.Foreign = h.foreign
			if h.foreign {
				p.finds(h.ref)
			}
			if (h.uid == "" && !h.foreign) || s.listed[h.ref].GrantedObject == object {
				continue
			}
			change := changed.of(s.owner, t.capability)
			change.Put = append(change.Put, object)
		}
	}
	return changed
}

// intents are the changes that list what is about to be made, as far as it is not listed so
// already.
func intents(s *situation, tasks []task) changes {
	changed := changes{}
	for _, t := range tasks {
		for _, h := range []half{t.role, t.binding} {
			if h.uid != "" {
				continue
			}
			if entry, listed := s.listed[h.ref]; listed && entry.GrantedObject == h.granted("") {
				continue
			}
			change := changed.of(s.owner, t.capability)
			change.Put = append(change.Put, h.granted(""))
		}
	}
	return changed
}

// makePair makes a role and then its binding. A binding to a role that is not ours is never
// made.
func (c *Controller) makePair(ctx context.Context, s *situation, t *task, p *progress) {
	isNew := t.role.uid == ""
	for _, h := range []*half{&t.role, &t.binding} {
		if h.uid != "" {
			continue
		}
		err := c.makeOne(ctx, s, t.pair, h)
		switch {
		case err != nil && isNoNamespace(err):
			c.pace.counts(h.ref, 0)
			p.skips()
			return
		case err != nil:
			why := troubleOf(err)
			if why < unrecorded {
				c.pace.counts(h.ref, why)
			}
			p.fails(why, fmt.Errorf("could not make %s: %w", h.ref, err))
			return
		case h.foreign:
			c.pace.counts(h.ref, disturbed)
			return
		}
		if h == &t.role || !isNew { // a binding that went with its role is not to blame
			c.pace.counts(h.ref, disturbed)
		}
		p.count(1, 0)
	}
}

// makeOne makes an object, or finds the one that was made before the process ended.
func (c *Controller) makeOne(ctx context.Context, s *situation, of pair, h *half) error {
	api, err := clientFor(c.host, h.ref)
	if err != nil {
		return err
	}
	for range tries {
		made, err := api.create(ctx, of.build(h.ref, s.key))
		if err == nil {
			return c.keep(ctx, s, of, h, made)
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		live, err := api.get(ctx, h.name)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case !isProven(live, h.ref, of.owner.uid, s.key):
			h.foreign = true
			return nil
		case of.matches(live, h.ref, s.key):
			c.view.makes(h.ref, live)
			h.uid = string(live.GetUID())
			return nil
		}
		err = api.remove(ctx, h.name, string(live.GetUID()), "")
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return errContested
}

// keep takes what was made for one half. If admission of the host cluster made something
// else of it, that is deleted at once; if it stays, it is to be listed and to go later.
func (c *Controller) keep(ctx context.Context, s *situation, of pair, h *half, made object) error {
	uid := string(made.GetUID())
	if of.matches(made, h.ref, s.key) {
		c.view.makes(h.ref, made)
		h.uid = uid
		return nil
	}
	api, err := clientFor(c.host, h.ref)
	if err != nil {
		return err
	}
	// It counts for whoever is bound already, so not even the end of the round is a reason
	// to leave it there.
	err = api.remove(context.WithoutCancel(ctx), h.name, uid, "")
	if err != nil && !apierrors.IsNotFound(err) || len(made.GetFinalizers()) > 0 {
		h.uid = uid
		return errAltered
	}
	c.view.removes(h.ref, uid)
	return errAltered
}

// tries is how often it is tried to make an object in whose way is one of ours.
const tries = 2
