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

// Package peeringca holds the controller of what the peering of this cluster rests on,
// whoever it peers with: its certificate authority, which it makes and rotates (P1, P3),
// the record of who this cluster was when it first peered, and the end of the records of
// peerings that are long over (P12).
//
// It touches no object of the API: all of this is in the ledger.
package peeringca
