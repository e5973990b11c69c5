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

// Package outlet is where workloads of this cluster reach the APIs of its peers (G8): what
// they send to clusterpeers/NAME/proxy/CAPABILITY/PATH is carried to the gateway of the
// peer, as the path PATH in its API.
//
// Who the caller is, and whether he may use the endpoint at all, was decided before. Here
// it is decided whether the capability is open to him: it has to be in effect, and has to
// name his ServiceAccount. What decides is read from the ledger and from what ClusterPeers
// and PeeringCapabilities say now, and is looked at again for as long as the request lasts;
// no status counts (S1).
//
// To the peer the caller is who a token of this cluster says, made for him alone, for this
// one peer and capability (H1). It is kept in memory, for minutes, and never leaves for
// anybody else. What the caller himself presented does not pass, nor does anything else of
// his but what package passage lists.
//
// The peer is hostile (P11). Of what it answers only bodies reach the caller as they are,
// if they are of types that APIs answer with. Where this server answers for it, it does so
// in its own words.
package outlet
