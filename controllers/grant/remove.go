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
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
)

// parallel is how many requests are made at once for one ClusterPeer.
const parallel = 16

// remove deletes what is to go, bindings first, and strikes it off the ledger. Of those
// bindings the first are what lets Entente act as others: each ends all that is granted by
// one capability.
func (c *Controller) remove(ctx context.Context, s *situation, removals []removal, p *progress) {
	isRole := func(r removal) bool { return !r.isBinding() }
	bindings := slices.DeleteFunc(slices.Clone(removals), isRole)
	roles := slices.DeleteFunc(slices.Clone(removals), removal.isBinding)
	slices.SortStableFunc(bindings, impersonationFirst)
	for _, some := range [][]removal{bindings, roles} {
		outcomes := make([]fate, len(some))
		workqueue.ParallelizeUntil(ctx, parallel, len(some), func(i int) {
			fell, err := c.removeOne(ctx, s, some[i])
			if errors.Is(err, errHeld) {
				p.holds(some[i].ref)
			}
			if err != nil {
				p.fails(troubleOf(err), fmt.Errorf("could not delete %s: %w", some[i].ref, err))
			}
			outcomes[i] = fell
		})
		c.strike(ctx, s, some, outcomes, p)
	}
}

func impersonationFirst(a, b removal) int {
	switch mine, other := a.isImpersonation(), b.isImpersonation(); {
	case mine == other:
		return 0
	case mine:
		return -1
	default:
		return 1
	}
}

// fate is what came of a removal. It is also stays for one that was not tried.
type fate int

const (
	stays fate = iota
	gone
	// displaced: it is gone, and another one is there under its name.
	displaced
)

// removeOne deletes one object, which may be gone.
func (c *Controller) removeOne(ctx context.Context, s *situation, r removal) (fate, error) {
	api, err := clientFor(c.host, r.ref)
	if err != nil {
		return stays, err
	}
	uid, version := r.uid, r.version
	if uid == "" {
		live, err := api.get(ctx, r.name)
		switch {
		case apierrors.IsNotFound(err):
			return gone, nil
		case err != nil:
			return stays, err
		case !isProven(live, r.ref, s.owner.uid, s.key):
			return displaced, nil
		}
		uid, version = string(live.GetUID()), freeVersion(live)
	}
	fell, err := removeUID(ctx, api, r.name, uid, version)
	if fell != stays {
		c.view.removes(r.ref, uid)
	}
	return fell, err
}

// removeUID deletes the object of that name and UID, and returns when that is over.
func removeUID(ctx context.Context, api client, name, uid, version string) (fate, error) {
	var refused error
	for look := range looks {
		if look == looks-1 {
			version = "" // whoever changes it all the time is not to keep it
		}
		refused = api.remove(ctx, name, uid, version)
		switch {
		case apierrors.IsNotFound(refused), refused == nil && version != "":
			return gone, nil
		case refused != nil && !apierrors.IsConflict(refused):
			return stays, refused
		}
		// Another one may be there, with another UID. Or this one still is: a deletion may
		// have to wait for others, and what is bound counts until it is over. Or somebody
		// changed it since it was seen.
		live, err := api.get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			return gone, nil
		case err != nil:
			return stays, err
		case string(live.GetUID()) != uid:
			return displaced, nil
		case refused == nil:
			return stays, errHeld
		}
		version = freeVersion(live)
	}
	return stays, refused
}

// looks is how often an object is looked at anew that somebody else changes.
const looks = 3

// strike takes what is gone off the ledger, and lists what has another object in its place
// as foreign, if it is still to be.
func (c *Controller) strike(ctx context.Context, s *situation, removals []removal, outcomes []fate, p *progress) {
	changed, removed := changes{}, 0
	for i, r := range removals {
		if outcomes[i] != stays {
			removed++
		}
		switch {
		case r.listed == nil:
			// An orphan is in nobody's way.
		case outcomes[i] == stays:
			p.stays(placeOf(r.listed.capability, r.ref))
		case outcomes[i] == displaced && r.wanted:
			change := changed.of(s.owner, r.listed.capability)
			change.Displace = append(change.Displace, r.listed.GrantedObject)
			p.finds(r.ref)
		default:
			change := changed.of(s.owner, r.listed.capability)
			change.Drop = append(change.Drop, r.listed.GrantedObject)
			delete(s.listed, r.ref)
			if !r.wanted {
				c.pace.forgets(r.ref)
			}
		}
	}
	p.count(0, removed)
	c.note(ctx, changed, p)
}
