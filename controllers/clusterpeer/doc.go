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

// Package clusterpeer holds the controller of ClusterPeers: it issues connection
// strings and uses them (P4 to P8), ends peerings (P12), and says in the status how far
// a peering has got (P13). What it knows is in the ledger; no status decides (S1).
//
// controller.go holds the wiring and one look at a ClusterPeer; invite.go, join.go and
// disconnect.go what is done about it. What a status should be is in project.go,
// ready.go and conditions.go, as functions without effects, with their words in
// messages.go; write.go writes it, and clear.go takes out what others put there.
// inspect.go reads connection strings, deliver.go writes one, exchange.go carries one to
// the other cluster: there is no other place that sees one.
package clusterpeer
