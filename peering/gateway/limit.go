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

package gateway

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// sourceBits is how much of an IPv6 address one source is: whoever has one address has
// the network.
const sourceBits = 64

// joinLimiter tells who may try to join.
type joinLimiter struct {
	limits Limits
	all    *rate.Limiter

	mu      sync.Mutex
	sources *lru.Cache
}

func newJoinLimiter(limits Limits) *joinLimiter {
	return &joinLimiter{
		limits:  limits,
		all:     rate.NewLimiter(limits.Joins, limits.JoinBurst),
		sources: lru.New(limits.Sources),
	}
}

// allow counts a try. What one source has too much of does not count for all.
func (l *joinLimiter) allow(source netip.Addr, now time.Time) bool {
	return l.of(network(source)).AllowN(now, 1) && l.all.AllowN(now, 1)
}

func (l *joinLimiter) of(source netip.Prefix) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.sources.Get(source); ok {
		return known.(*rate.Limiter)
	}
	limiter := rate.NewLimiter(l.limits.JoinsPerSource, l.limits.JoinBurstPerSource)
	l.sources.Add(source, limiter)
	return limiter
}

func network(source netip.Addr) netip.Prefix {
	bits := source.BitLen()
	if source.Is6() {
		bits = sourceBits
	}
	prefix, err := source.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // an address that is none; they share one limit
	}
	return prefix
}
