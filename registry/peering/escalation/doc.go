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

// Package escalation sees to it that nobody grants to another cluster what is not his to
// grant (G2).
//
// A PeeringCapability holds rules, and a ClusterPeer that names it hands them to another
// cluster. So whoever writes a spec of the one, or points the other at somebody, must
// hold the permissions in the rules himself, in all namespaces, as RBAC demands of those
// who write roles. Who does not may be given a verb on the PeeringCapability instead:
// `escalate` to write it, `bind` to name it.
//
// A guard of package guard judges the writes of each of the two kinds: create, update, the
// patches, apply, and all of them as dry runs.
package escalation
