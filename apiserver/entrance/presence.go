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

package entrance

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// presences are what is remembered of the peers that ask, by the UID of their ClusterPeer:
// so long as there is a record.
type presences struct {
	ledger record.Reader
	limits Limits

	lock  sync.Mutex
	byUID map[string]*presence
}

func newPresences(ledger record.Reader, limits Limits) *presences {
	return &presences{ledger: ledger, limits: limits, byUID: map[string]*presence{}}
}

// of returns what is remembered of a peer.
func (p *presences) of(uid string) *presence {
	p.lock.Lock()
	known := p.byUID[uid]
	if known == nil {
		known = &presence{
			limits:   p.limits,
			requests: rate.NewLimiter(p.limits.Requests, p.limits.Burst),
			refusals: rate.NewLimiter(p.limits.Refusals, p.limits.RefusalBurst),
			failures: rate.NewLimiter(p.limits.Failures, p.limits.FailureBurst),
		}
		p.byUID[uid] = known
	}
	p.lock.Unlock()
	// If the record went in the meantime, then either forget finds this, or this does.
	p.forget(uid)
	return known
}

// forget drops what is remembered of a peer if there is no record any more.
func (p *presences) forget(uid string) {
	if uid == "" || p.ledger.Peer(uid) != nil {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.byUID, uid)
}

// presence is what is remembered of one peer.
type presence struct {
	limits                       Limits
	requests, refusals, failures *rate.Limiter

	lock sync.Mutex
	// telling is how many are being told that there are too many.
	telling int
	// open is how many requests are under way, lasting how many of those that last.
	open, lasting int
	// verifier is for issuer of that cluster; failure is why there can be none.
	clusterUUID string
	issuer      protocol.Issuer
	verifier    *workloadtoken.Verifier
	failure     error
}

// enter counts a request that begins, unless it is one too many: then it tells why.
func (p *presence) enter(now time.Time) Reason {
	if !p.requests.AllowN(now, 1) {
		return TooManyRequests
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.open >= p.limits.Streams {
		return TooManyStreams
	}
	p.open++
	return ""
}

// leave is called when a request that has entered is over.
func (p *presence) leave() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.open--
}

// stay counts a request that has entered and lasts; false: it would be one too many.
func (p *presence) stay() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.lasting >= p.limits.Watches {
		return false
	}
	p.lasting++
	return true
}

// stayed is called when a request that lasted is over.
func (p *presence) stayed() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.lasting--
}

// tell counts an answer that there are too many requests, as long as it is not taken; false:
// there are too many of those, too.
func (p *presence) tell() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.telling >= maxTold {
		return false
	}
	p.telling++
	return true
}

// told is called when such an answer is over.
func (p *presence) told() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.telling--
}

// verifierOf returns the verifier of the peer's tokens. There is one at a time: with
// another issuer, or other keys, all that was verified before is forgotten.
func (e *Entrance) verifierOf(p *presence, peer *gateway.Peer, issuer protocol.Issuer) (*workloadtoken.Verifier, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.issuer != issuer || p.clusterUUID != peer.ClusterUUID {
		p.issuer, p.clusterUUID = issuer, peer.ClusterUUID
		p.verifier, p.failure = workloadtoken.New(issuer, peer.ClusterUUID, e.config.ClusterUUID, e.config.Clock)
	}
	return p.verifier, p.failure
}
