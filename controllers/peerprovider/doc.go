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

// Package peerprovider holds the controller that shows, in a TokenExchangeProvider for each
// peer, by which keys the tokens of its ServiceAccounts are verified (G6), and that says in
// the ClusterPeer what became of it: the condition TokenExchangeReady.
//
// Neither the provider nor the condition decides anything (S1): tokens are verified by what
// the ledger has. Where no workloads are let in, for want of a gateway or of a host cluster,
// the controller takes both away. An object under the name of a provider that Entente did
// not make is left alone.
//
// provider.go says what a provider is to be, write.go makes it so, finding.go says what a
// ClusterPeer is to say of it and say.go says it. memory.go holds what keeps providers from
// being made, for the controller of ClusterPeers.
package peerprovider
