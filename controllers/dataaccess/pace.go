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

package dataaccess

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

const (
	// A peer that did not certify a key is asked again after firstPause, then twice as
	// long after each further failure, up to maxPause; at a random point of up to a fifth
	// more.
	firstPause = 10 * time.Second
	maxPause   = 10 * time.Minute
	// A peer certifies record.MaxDataKeys in any hour. Half as many are made at once, and
	// as many again over an hour.
	keysAtOnce = record.MaxDataKeys / 2
	keyEvery   = time.Hour / keysAtOnce
	// givenUp is after how many answers in a row that are of no use a key is given up.
	givenUp = 3
)

// paces are how often peers are asked, by the names of their ClusterPeers.
type paces struct {
	lock sync.Mutex
	all  map[string]*pace
}

// of returns that of one peer. Calls for one ClusterPeer never overlap, so it is its
// caller's until it returns.
func (p *paces) of(peer *record.Peer) *pace {
	p.lock.Lock()
	defer p.lock.Unlock()
	one := p.all[peer.Name]
	if one == nil || one.uid != peer.UID {
		one = &pace{uid: peer.UID, keys: rate.NewLimiter(rate.Every(keyEvery), keysAtOnce)}
		one.succeeds()
		if p.all == nil {
			p.all = map[string]*pace{}
		}
		p.all[peer.Name] = one
	}
	return one
}

// forget a ClusterPeer that is gone.
func (p *paces) forget(name string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.all, name)
}

// pace is how often one peer is asked.
type pace struct {
	uid string
	// keys limits how many are made.
	keys *rate.Limiter
	// backoff are the pauses that are still to come.
	backoff wait.Backoff
	// last is when the peer was asked last, in vain, next when it may be asked again, and
	// way is how it was dialled.
	last, next time.Time
	way        string
	// failures and useless count what failed in a row, and those of it that were answers.
	failures, useless int
}

// succeeds notes that nothing is to be asked any more.
func (p *pace) succeeds() {
	p.backoff = wait.Backoff{Duration: firstPause, Factor: 2, Jitter: 0.2, Cap: maxPause, Steps: int(maxPause / firstPause)}
	p.last, p.next, p.failures, p.useless = time.Time{}, time.Time{}, 0, 0
}

// fails notes that the peer was asked in vain, and whether it answered. It tells whether
// the key is to be given up.
func (p *pace) fails(remote *record.Remote, now time.Time, answered bool) (giveUp bool) {
	p.failures++
	p.last, p.next, p.way = now, now.Add(p.backoff.Step()), wayOf(remote)
	if !answered {
		return false
	}
	if p.useless++; p.useless < givenUp {
		return false
	}
	p.useless = 0
	return true
}

// pauses returns how long it is until the peer may be asked again. If it is to be dialled in
// another way than before, that is worth an attempt.
func (p *pace) pauses(remote *record.Remote, now time.Time) time.Duration {
	next := p.next
	if !next.IsZero() && p.way != wayOf(remote) && next.After(p.last.Add(firstPause)) {
		next = p.last.Add(firstPause)
	}
	return max(0, next.Sub(now))
}

// reserves takes one of the keys that may be made, or returns how long it is until there is
// one.
func (p *pace) reserves(now time.Time) time.Duration {
	reservation := p.keys.ReserveN(now, 1)
	pause := reservation.DelayFrom(now)
	if pause > 0 {
		reservation.CancelAt(now)
	}
	return pause
}

// wayOf is all that how a peer is dialled depends on.
func wayOf(remote *record.Remote) string {
	return strings.Join(remote.Endpoints, "\n") + "\n" + pki.BundleDigest(remote.Trust) + "\n" + string(remote.Ours.Certificate)
}
