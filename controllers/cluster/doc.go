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

// Package cluster is the controller of Clusters: it probes each target cluster, says in the
// status how it is, and when a Cluster is deleted keeps it until its Releases are gone, if they
// are to go with it (C1, C3).
//
// Probes run beside the loop that writes: in two lanes, one for the clusters that answered
// last time and one for all others, so that those that hang wait for each other only.
package cluster
