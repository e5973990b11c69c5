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

package outlet

import (
	"cmp"
	"net/http"
	"sync"
)

// Limits keep callers and peers from taking too much. A field that is zero has the default.
type Limits struct {
	// Requests is how many requests to one peer may be under way at a time, and Upgrades
	// how many of them may be WebSockets, each of which takes a connection. (1024, 128)
	Requests, Upgrades int
	// Body is how long an answer may be, in bytes, unless it is a stream. (64 MiB)
	Body int64
	// Tokens is how many tokens are kept, those that were used last. (4096)
	Tokens int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Requests: cmp.Or(l.Requests, 1024),
		Upgrades: cmp.Or(l.Upgrades, 128),
		Body:     cmp.Or(l.Body, 64<<20),
		Tokens:   cmp.Or(l.Tokens, 4096),
	}
}

// turnout counts the requests that are under way.
type turnout struct {
	limits Limits

	lock  sync.Mutex
	peers map[string]*count // of those that have any, by the UID of the ClusterPeer
}

type count struct{ requests, upgrades int }

func newTurnout(limits Limits) *turnout {
	return &turnout{limits: limits, peers: map[string]*count{}}
}

// enter counts a request until leave is called, or fails with a *fault if it is one too
// many.
func (t *turnout) enter(uid string, upgrade bool) (leave func(), err error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	c := t.peers[uid]
	if c == nil {
		c = &count{}
	}
	if c.requests >= t.limits.Requests || (upgrade && c.upgrades >= t.limits.Upgrades) {
		return nil, &fault{code: http.StatusTooManyRequests, retry: retrySoon, text: "too many requests to the peer are under way"}
	}
	t.peers[uid] = c
	c.add(1, upgrade)
	return func() {
		t.lock.Lock()
		defer t.lock.Unlock()
		if c.add(-1, upgrade); c.requests == 0 {
			delete(t.peers, uid)
		}
	}, nil
}

func (c *count) add(n int, upgrade bool) {
	c.requests += n
	if upgrade {
		c.upgrades += n
	}
}
