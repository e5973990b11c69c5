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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// rounds is how often it is decided anew at most: what is foreign shows when something is
// to be made in its place, and then its other half is to go.
const rounds = 3

// bring makes what is there what is wanted. With orphans it also looks for objects that
// bear the owner's name and are listed nowhere.
func (c *Controller) bring(ctx context.Context, o owner, wanted []pair, orphans bool) *progress {
	var p *progress
	tried, made := 0, 0
	for range rounds {
		p = c.round(ctx, o, wanted, orphans, most-tried)
		tried, made = tried+p.tried, made+p.made
		if p.err != nil || len(p.foreign) == 0 {
			break
		}
	}
	p.made = made
	return p
}

// round decides once what is to be done, and does it, but that it makes so many pairs at
// most. What fails of all that is not a removal fails after those.
func (c *Controller) round(ctx context.Context, o owner, wanted []pair, orphans bool, limit int) *progress {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := newProgress(stop)
	s := &situation{
		owner: o, wanted: wanted, listed: c.listedFor(o), key: c.ledger.GrantKey(),
		get: c.view.get, isListed: c.isListed,
		labelled: func(each func(ref, object)) {
			if orphans {
				c.view.labelled(o.name, each)
			}
		},
	}
	silence := c.seek(ctx, s)
	d := s.decide()
	c.remove(ctx, s, d.remove, p)
	c.displace(ctx, s, d.foreign, p)
	if silence != nil {
		p.fails(troubleOf(silence), silence)
	}
	s.free = c.freed(ctx, s, p)
	if tasks := c.ready(append(d.make, s.unblocked()...), p); len(tasks) > 0 && !p.isOver() {
		var err error
		if s.key, err = c.key(ctx); err != nil {
			p.fails(unrecorded, err)
			return p
		}
		c.make(ctx, s, tasks, limit, p)
	}
	if p.made+p.removed+len(p.foreign) > 0 || p.err != nil {
		klog.FromContext(ctx).V(2).Info("Changed what the peer is granted", "uid", o.uid, "made", p.made, "removed", p.removed, "foreign", len(p.foreign), "failed", p.err != nil)
	}
	return p
}

// seek asks for what is listed and not seen: perhaps it lost its label, or is gone, and
// perhaps the informers are late. What is there counts as seen from here on, however it
// is. What there is no answer about in the time of one request is an error: it is left
// alone, and nothing is to be made meanwhile.
func (c *Controller) seek(ctx context.Context, s *situation) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout) // what is to go waits for it
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	unseen := s.unseen()
	answered := make([]bool, len(unseen))
	workqueue.ParallelizeUntil(ctx, parallel, len(unseen), func(i int) {
		r := unseen[i]
		api, err := clientFor(c.host, r)
		var live object
		if err == nil {
			live, err = api.get(ctx, r.name)
		}
		if err != nil && (ctx.Err() != nil || troubleOf(err) >= unrecorded) {
			stop(fmt.Errorf("could not get %s: %w", r, err)) // all others would fail too
			return
		}
		answered[i] = true
		if err == nil && string(live.GetUID()) == s.listed[r].UID {
			c.view.makes(r, live)
		}
	})
	s.unknown = sets.New[ref]()
	for i, r := range unseen {
		if !answered[i] {
			s.unknown.Insert(r)
		}
	}
	if len(s.unknown) == 0 {
		return nil
	}
	return fmt.Errorf("could not tell what is there: %w", context.Cause(ctx))
}

// displace lists objects as foreign.
func (c *Controller) displace(ctx context.Context, s *situation, foreign []listing, p *progress) {
	changed := changes{}
	for _, one := range foreign {
		r := refOf(one.GrantedObject)
		p.finds(r)
		change := changed.of(s.owner, one.capability)
		if _, listed := s.listed[r]; listed {
			change.Displace = append(change.Displace, one.GrantedObject)
			continue
		}
		one.Foreign = true
		change.Put = append(change.Put, one.GrantedObject)
	}
	c.note(ctx, changed, p)
}

// freed looks at what stood in the place of our objects, and returns what is gone.
func (c *Controller) freed(ctx context.Context, s *situation, p *progress) map[ref]bool {
	var blocked []ref
	for _, pair := range s.wanted {
		for _, r := range []ref{pair.role, pair.binding} {
			if s.listed[r].Foreign && s.get(r) == nil {
				blocked = append(blocked, r)
			}
		}
	}
	free := make([]bool, len(blocked))
	workqueue.ParallelizeUntil(ctx, parallel, len(blocked), func(i int) {
		api, err := clientFor(c.host, blocked[i])
		if err == nil {
			_, err = api.get(ctx, blocked[i].name)
		}
		if free[i] = apierrors.IsNotFound(err); err != nil && !free[i] {
			p.fails(troubleOf(err), fmt.Errorf("could not get %s: %w", blocked[i], err))
		}
	})
	all := map[ref]bool{}
	for i, r := range blocked {
		if free[i] {
			all[r] = true
		}
	}
	return all
}

// foreignTo returns those that the ledger lists as foreign.
func (c *Controller) foreignTo(o owner) sets.Set[ref] {
	all := sets.New[ref]()
	for r, entry := range c.listedFor(o) {
		if entry.Foreign {
			all.Insert(r)
		}
	}
	return all
}
