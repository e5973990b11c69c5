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
	"time"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/record"
)

// Auditor is told of exchanges. It is called in the middle of requests, by several at
// once, and is not to block.
type Auditor interface {
	Exchanged(exchange Exchange)
}

// Exchange is one request of a workload of another cluster, and what became of it. It
// holds no token, no body and no query, and of what the request says only what was found
// to be of the right form.
type Exchange struct {
	// ID is that of the request. The host cluster's audit has the same for its part of it.
	ID string
	// Begins says that it has begun and goes on: there is another Exchange when it ends.
	Begins bool
	// Lasts says that it is of those that may go on for long.
	Lasts bool
	Peer  gateway.Peer
	// User is who asks, as it is named here; empty: it has not been shown who that is.
	User string
	// Capability is under which; empty: it names none.
	Capability string
	// Token is the SHA-256 hash of the token, zero if there is none.
	Token record.Digest
	// Request is what is asked of the API; nil: nothing that could be read.
	Request *genericapirequest.RequestInfo
	// Code is the status code of the answer; 0: there was none.
	Code int
	// Reason is why it was refused or ended; empty: it was not.
	Reason Reason
	// Refused says that the answer is ours, and the host cluster has not been asked, or
	// not answered.
	Refused bool
	// Flood says that it is one of many refusals: it is to be counted, and not written down.
	Flood bool
	// Began is when it began, Duration how long it took until now.
	Began    time.Time
	Duration time.Duration
}
