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
	"cmp"
	"time"

	"golang.org/x/time/rate"
)

// Limits keep one peer from asking too much. A field that is zero has the default.
type Limits struct {
	// Requests and Burst are how often a peer may ask, in requests a second. (100, 200)
	Requests rate.Limit
	Burst    int
	// Streams is how many requests of a peer may be under way, and Watches how many of
	// them may be of those that last: the rest is for short ones. (1024, 7 of 8)
	Streams int
	Watches int
	// Refusals and RefusalBurst are how many refusals of a peer are written down, a second:
	// more are counted only. (5, 100)
	Refusals     rate.Limit
	RefusalBurst int
	// Failures and FailureBurst are how many tokens of a peer may be found not to be good,
	// a second: beyond it no signature is looked at. (5, 50)
	Failures     rate.Limit
	FailureBurst int
	// Body is how long the body of a request may take to arrive, Write how long the peer
	// may take to take any part of an answer, Refuse both of those of a refusal.
	// (30 s, 30 s, 2 s)
	Body, Write, Refuse time.Duration
}

// maxTold is how many refusals that a peer asks too much may wait to be taken. Beyond it such
// a request is broken off.
const maxTold = 64

// maxBody is how long the body of a request may be, in bytes, as for kube-apiserver.
const maxBody = 3 << 20

func (l Limits) withDefaults() Limits {
	l.Requests = cmp.Or(l.Requests, 100)
	l.Burst = cmp.Or(l.Burst, 200)
	l.Streams = cmp.Or(l.Streams, 1024)
	l.Watches = cmp.Or(l.Watches, max(1, l.Streams-l.Streams/8))
	l.Refusals = cmp.Or(l.Refusals, 5)
	l.RefusalBurst = cmp.Or(l.RefusalBurst, 100)
	l.Failures = cmp.Or(l.Failures, 5)
	l.FailureBurst = cmp.Or(l.FailureBurst, 50)
	l.Body = cmp.Or(l.Body, 30*time.Second)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Refuse = cmp.Or(l.Refuse, 2*time.Second)
	return l
}
