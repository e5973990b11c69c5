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

package sensitive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// renewInterval is the time after which the decision of an open watch is asked for
// again. With an authorizer that keeps its answers as long, a change of rights tells
// within 15 seconds (R3).
const renewInterval = 5 * time.Second

// renewals are the decisions by which open watches go: one for all watches about
// which the authorizer is asked the same.
type renewals struct {
	mu   sync.Mutex
	open map[string]*renewal
}

// renewal is a decision that is renewed for as long as watches go by it.
type renewal struct {
	attributes authorizer.AttributesRecord
	stop       context.CancelFunc

	allowed atomic.Bool
	failed  atomic.Bool

	// Guarded by the mutex of renewals: how many watches there are, and a channel
	// that is closed at the end of the round under way, nil between rounds.
	watches int
	round   chan struct{}

	// unanswered is a question of an earlier round to which the authorizer, which
	// heeds no context, still owes the answer. It is put no other until then.
	unanswered <-chan answer
}

// follow is Allowed for a watch: allowed says at any time whether the caller may see
// values, by a decision that is asked for every 5 seconds, and costs nothing. The
// decision that it begins with is no older than that. end must be called when the
// watch has ended.
func (d *Decider) follow(ctx context.Context, verb, name string) (allowed func() bool, end func()) {
	attributes, err := d.attributes(ctx, verb, name)
	if err != nil {
		d.failed(ctx, verb, err)
		return never, func() {}
	}
	if ownClient(ctx, attributes) {
		return never, func() {}
	}
	key := renewalKey(attributes)
	r, round := d.join(ctx, key, attributes)
	if round != nil {
		select {
		case <-round:
		case <-ctx.Done():
		}
	}
	if r.failed.Load() {
		warnOfFailure(ctx)
	}
	return r.allowed.Load, sync.OnceFunc(func() { d.leave(key, r) })
}

func never() bool { return false }

// renewalKey says of which watches the authorizer is asked the same. Groups are a
// set; what the order of values in extra means, nobody knows.
func renewalKey(a authorizer.AttributesRecord) string {
	groups := slices.Compact(slices.Sorted(slices.Values(a.User.GetGroups())))
	return fmt.Sprintf("%q %q %q %q %q %q %q %q",
		a.User.GetName(), a.User.GetUID(), groups, a.User.GetExtra(), a.Verb, a.APIVersion, a.Namespace, a.Name)
}

// join counts a watch in, and starts the renewal with the first one. round, unless
// nil, is closed when there is a decision that is new enough.
func (d *Decider) join(ctx context.Context, key string, attributes authorizer.AttributesRecord) (r *renewal, round <-chan struct{}) {
	d.renewals.mu.Lock()
	defer d.renewals.mu.Unlock()
	r, ok := d.renewals.open[key]
	if !ok {
		// It outlives the request that it starts with, and must keep nothing of it.
		background, stop := context.WithCancel(context.Background())
		r = &renewal{attributes: attributes, stop: stop, round: make(chan struct{})}
		d.renewals.open[key] = r
		go d.renew(background, r) //nolint:contextcheck // Not bound to the request, on purpose.
	}
	r.watches++
	return r, r.round
}

// leave counts a watch out, and ends the renewal with the last one.
func (d *Decider) leave(key string, r *renewal) {
	d.renewals.mu.Lock()
	defer d.renewals.mu.Unlock()
	r.watches--
	if r.watches == 0 {
		delete(d.renewals.open, key)
		r.stop()
	}
}

func (d *Decider) renew(ctx context.Context, r *renewal) {
	ticker := d.clock.NewTicker(renewInterval)
	defer ticker.Stop()
	for {
		d.renewOnce(ctx, r)
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
		d.renewals.mu.Lock()
		r.round = make(chan struct{})
		d.renewals.mu.Unlock()
	}
}

// renewOnce asks, and ends the round.
func (d *Decider) renewOnce(ctx context.Context, r *renewal) {
	decision, err := d.askOnce(ctx, r)
	if ctx.Err() == nil {
		allowed := decision == authorizer.DecisionAllow
		failed := !allowed && err != nil
		if failed {
			d.metrics.decisionFailed(d.resource.Resource, r.attributes.Verb)
			if !r.failed.Load() { // an authorizer that is away is logged once
				d.logFailure(ctx, r.attributes.Verb, err)
			}
		}
		r.allowed.Store(allowed)
		r.failed.Store(failed)
	}
	d.renewals.mu.Lock()
	defer d.renewals.mu.Unlock()
	close(r.round)
	r.round = nil
}

// askOnce asks with the limit of any decision, and has no more than one question
// with the authorizer at a time.
func (d *Decider) askOnce(ctx context.Context, r *renewal) (authorizer.Decision, error) {
	if r.unanswered != nil {
		select {
		case <-r.unanswered: // too late to count
		default:
			return authorizer.DecisionDeny, errors.New("the authorizer has not answered since the last time")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	r.unanswered = d.put(ctx, r.attributes)
	decision, err := await(ctx, r.unanswered)
	if ctx.Err() == nil {
		r.unanswered = nil
	}
	return decision, err
}
