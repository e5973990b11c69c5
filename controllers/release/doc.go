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

// Package release is the controller of Releases: it applies the objects of each to its target
// cluster, puts right what drifted, and deletes what left the Release (C4).
//
// What a Release has in its target is in the ledger, taken down before it is applied, so that
// a crash leaves nothing behind that is not known. An object is deleted only if it is listed
// there and bears the UID of the Release in a label, and only in the cluster that it was
// applied to, which is known by the UID of its namespace kube-system.
package release
