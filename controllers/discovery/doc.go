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

// Package discovery follows what resources the host cluster has, by which capabilities are
// judged (G1) and optional kinds are found (G4).
//
// What is known is a snapshot that never changes; follow.go replaces it by another one when
// the host says something else, and read.go merges what was read into what was known. What
// an API group has stays known while the host fails to tell: a broken aggregated API server
// takes no rights away, for as long as the same follower runs.
package discovery
