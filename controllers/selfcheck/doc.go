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

// Package selfcheck holds the controller that looks at this cluster's own gateway from
// outside, at the endpoints that are advertised, and says in every ClusterPeer whether it
// is entered as it should be (P14): only with a client certificate, and under a
// certificate of the peering CA.
//
// check.go is what it looks at, conditions.go what that means, controller.go what is
// written.
package selfcheck
