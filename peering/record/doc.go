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

// Package record holds what decides about peering (S1): which invites are open, which
// keys of which other cluster are let in, what was agreed, and this cluster's own
// keys. Nothing in the status of an object does; statuses are made of records.
//
// The records are kept in a Ledger, which package registry/ledger is on etcd. Here are
// the records, and every change that may happen to them, as functions over a
// transaction: each of them is what one step of the protocol does to the ledger, wholly
// or not at all. They know the time only by argument and talk to nobody.
//
// Records hold private keys; they print without them.
package record
