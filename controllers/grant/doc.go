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

// Package grant holds the controller that makes what a peer is granted be so in the host
// cluster (G5). For each capability that takes effect there is a Role and a RoleBinding in
// each namespace of each paired project, and a ClusterRole and a ClusterRoleBinding for
// what is not in a namespace. What is granted no longer goes at once, whether the peer can
// be reached or not.
//
// An object is ours because the ledger lists its UID. Before one is made the ledger lists
// it without: if the process ends in between, the object is known again by the proof that
// it bears, which whoever does not hold the key of the ledger cannot make, and which is
// worth nothing on another object. Whatever else stands under the name of one of ours is
// foreign: it is not touched, and what of ours would refer to it goes.
//
// Beside that there is, for each capability, one more pair of which the subject is Entente:
// it lets Entente act as those to whom the capability is granted, and as their group (H2). It
// gives them nothing. Where the host cluster can tell, it also says what may be done as them,
// which is what they are granted and discovery. It is made last and is the first to go: a
// workload is let in by both or not at all.
//
// The name of an object is a hash of all that it grants, to whom and where. So objects are
// made and deleted, and never changed: one that somebody else changed is deleted, by its
// UID, and made again. What is to go goes before anything is made, bindings before roles;
// what is made is made in the opposite order. A failure at any point leaves less than is
// to be, never more. Of a large plan a part is made at a time, and then it is asked anew what
// is to be.
//
// Others may be in the way: who deletes an object of ours again and again, admission of the
// host cluster that refuses one or makes something else of it, a finalizer that keeps one
// from going. What is not as it is to be goes at once and is made again ever more seldom,
// and nothing waits for that but what is of the same capability in the same place.
//
// wanted.go, impersonation.go, name.go and object.go say what is to be, view.go what is
// there, decide.go what is to be done about the difference; remove.go and make.go do it,
// pace.go says how often it is tried, and condition.go how it went.
package grant
