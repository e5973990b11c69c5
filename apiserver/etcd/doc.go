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

// Package etcd runs the store of a single server inside its own process: one
// etcd member, without any network listener, under the data folder, reached
// through a unix socket that only the owner of the process can open.
//
// Compaction is the business of the API server library, which asks for it every
// five minutes. Defragmentation, and finding back to work after the quota was
// reached, is done here, since nobody else can reach the store to do it.
//
// Log levels: etcd's own warnings and errors are passed on, everything below is
// dropped. Nothing is written to standard output.
package etcd
