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

// Package entrance lets the workloads of other clusters reach the API of this one, as far
// as a capability grants it to them (G7). It is mounted at the gateway, which has found out
// by the client certificate which peer a request is of, and it finds out the rest:
//
//   - what is asked for: a capability, and a request to the API (ask.go)
//   - whether the capability is in effect with the peer (ground.go, capability.go)
//   - who asks, by one token and nothing else (bearer.go, and controllers/workloadtoken)
//   - whether that may be asked for: by a rule of the capability, in a namespace in which
//     the peer has been granted it (standing.go)
//
// What is let through is carried to the host cluster as that user, whose RBAC decides once
// more (carry.go). What says who somebody is never comes from the request.
//
// All of it is asked again each second while a request lasts, which ends when one answer
// has become no. Nothing is decided by a status, and nothing is kept but what is looked up
// again: keys, rules and grants are those of the ledger and the specs at that moment.
package entrance
