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

// Package tokenexchange holds the controller of TokenExchangeProviders: it says in each
// whether tokens are verified by it (G6). Those are the providers that Entente itself made
// for a peering that stands, and that show what the peer has published; one that others made
// never is.
//
// It decides nothing (S1): who verifies tokens asks the ledger, as this controller does, and
// comes to the same result.
//
// judge.go says how a provider is, controller.go writes it, and wake.go tells which are to be
// looked at when the ledger changes.
package tokenexchange
