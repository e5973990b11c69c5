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

// Package gateway is where other clusters come in (P1): a listener of its own, which
// serves nobody without a client certificate and decides by the ledger, at every request
// anew, who that is and what it may do (P2).
//
// A stranger may do one thing, use an invite up. Whatever else it tries, and whatever is
// wrong with the invite, it gets the same answer (P6). A peer is told why, in words of a
// closed set. What either sends is hostile until it was checked (P11), and no byte of it
// is logged.
package gateway
