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

// Package dataaccess holds the controller that keeps a data key of this cluster at each peer
// whose gateway can be dialled (P2, G8): by it the requests of workloads are let in there.
// The key is in the ledger, for who carries the requests of workloads to the peer, and in
// Secret PEER-access of the host cluster, for workloads that dial the peer themselves. It is
// good for a day, and renewed when two thirds of that have passed.
//
// A peer certifies few data keys an hour. So the key is in the ledger before the peer is
// asked to certify it, an attempt that failed is repeated with the same one, and if another
// key has to be made after all, that is counted.
//
// The Secrets are in a namespace that holds nothing else. One that somebody else made is left
// as it is, under whatever name; one of ours goes with the access, or with the ClusterPeer.
//
// key.go keeps the key, pace.go says how often a peer is asked, secret.go keeps a Secret and
// content.go says what is in it, and sweep.go finds those whose ClusterPeer went while nobody
// was there.
package dataaccess
