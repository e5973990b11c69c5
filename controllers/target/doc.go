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

// Package target is the way to another cluster that a tenant gave: from the bytes of a
// kubeconfig to a client that can be asked, used and closed (C2, C3).
//
// A kubeconfig is hostile data: it is read with limits, only what is known in it is taken,
// one field at a time, and what is wrong with it is said by a Fault, of a closed set, that
// quotes nothing. So is the cluster itself: where it may be is checked when it is dialled
// (P11), its answers are bounded, and a Failure to get one is of a closed set too (R15).
//
// yaml.go decodes, kubeconfig.go judges and check.go looks at one value; access.go is what
// comes of it. client.go makes a client of that, over line.go, bound.go, turn.go and
// quiet.go; probe.go and mapper.go ask.
package target
