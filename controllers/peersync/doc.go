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

// Package peersync holds the controller that keeps paired clusters in touch (P9).
//
// Where this cluster joined another one it is the one that dials: a session a peer asks
// the other gateway to answer when there is something new, tells it what is new here, and
// renews the certificate by which it is let in (P2). Where the other cluster joined, that
// one dials, and here is only watched whether it still does.
//
// controller.go runs both; session.go is one beat after the other, beat.go one beat,
// failure.go what becomes of one that failed; watch.go looks at all peers from time to
// time. What is said and what is made of what was heard is in package exchange.
package peersync
