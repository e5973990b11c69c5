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

package protocol

// Lengths in bytes that a message may have, in either direction.
const (
	LimitJoin    = 64 << 10
	LimitSync    = 256 << 10
	LimitRenew   = 16 << 10
	LimitLeave   = 4 << 10
	LimitFailure = 4 << 10
	// LimitOffer is what an offer may take of it, as Marshal of encoding/json writes it.
	LimitOffer = 128 << 10
)

// MaxDepth is how deep the objects and lists of a message may be nested.
const MaxDepth = 16

// MaxWait is for how long the answer to a SyncRequest may be held back, in seconds.
const MaxWait = 60

// Limits of an offer (P10, P11). Those of lengths are in characters.
const (
	MaxCapabilities   = 256
	MaxProjects       = 500
	MaxNamespaces     = 2000 // of all projects together
	MaxJWKS           = 64 << 10
	MaxKeys           = 16
	maxVersion        = 64
	maxPeeringVersion = 64
	maxAlias          = 64
	maxIssuerURL      = 2048
)
