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

// Package projectpeer holds the controller of ProjectPeers (G4). Each project that is
// paired with one of another cluster has a ProjectPeer in each of its namespaces here,
// named as the ClusterPeer. The controller makes them, keeps their statuses true, and
// deletes them when the pairing ends, as well as those that somebody else made.
package projectpeer
