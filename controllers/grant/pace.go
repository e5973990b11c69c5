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
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// firstPause is how long the third attempt to make the same object waits after the
	// second; each further one waits twice as long, up to maxPause.
	firstPause = time.Second
	maxPause   = time.Minute
	// forgotten is how long after the last attempt they are counted no more.
	forgotten = 5 * time.Minute
)

// pace spaces attempts to make the same object: somebody may delete it again and again, or
// the host cluster refuse it. Nothing is held up by that but the pair it is of.
type pace struct {
	clock clock.PassiveClock

	lock    sync.Mutex
	tried   map[ref]*attempts
	pruneAt time.Time
}

// attempts are those to make one object.
type attempts struct {
	// pauses are those that are still to come.
	pauses wait.Backoff
	// last is when it was tried, and next when it may be again.
	last, next time.Time
	// why is what came of it.
	why trouble
}

func newPace(clk clock.PassiveClock) *pace { return &pace{clock: clk, tried: map[ref]*attempts{}} }

// counts notes that it was tried to make an object, and what there is to say of it if it is
// to be made again; 0: nothing. The second attempt may follow at once.
func (p *pace) counts(r ref, why trouble) {
	p.lock.Lock()
	defer p.lock.Unlock()
	now := p.clock.Now()
	p.prune(now)
	one := p.tried[r]
	if one == nil || now.Sub(one.last) >= forgotten {
		p.tried[r] = &attempts{
			pauses: wait.Backoff{Duration: firstPause, Factor: 2, Cap: maxPause, Steps: int(maxPause / firstPause)},
			last:   now, next: now, why: why,
		}
		return
	}
	one.last, one.next, one.why = now, now.Add(one.pauses.Step()), why
}

// pauses returns how long it is until an object may be made, 0 if it may, and what there is
// to say of it meanwhile.
func (p *pace) pauses(r ref) (time.Duration, trouble) {
	p.lock.Lock()
	defer p.lock.Unlock()
	one := p.tried[r]
	if one == nil {
		return 0, 0
	}
	return max(0, one.next.Sub(p.clock.Now())), one.why
}

// forgets an object that is not to be any more.
func (p *pace) forgets(r ref) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.tried, r)
}

// prune forgets, now and then, what was not tried for long.
func (p *pace) prune(now time.Time) {
	if now.Before(p.pruneAt) {
		return
	}
	p.pruneAt = now.Add(forgotten)
	maps.DeleteFunc(p.tried, func(_ ref, one *attempts) bool { return now.Sub(one.last) >= forgotten })
}
