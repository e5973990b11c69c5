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

// Package pki makes and checks the certificates that the server makes for
// itself: those of standalone mode, kept in files, the serving certificate of
// host mode, kept in a Secret, and those of peering (P1, P2), kept in the ledger.
// It says how they look, not how long they are valid nor where they are kept.
//
// What comes from another cluster (signing requests, trust bundles, certificates)
// is hostile: its size is looked at before it is parsed, only ECDSA keys on P-256
// are taken, and errors about it quote nothing of it.
package pki
