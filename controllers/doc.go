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

// Package controllers holds the embedded controllers: one package a controller,
// and the catalog that lists them, starts them when the server is ready and stops
// them before it drains.
//
// A controller writes status and objects of Entente's own, never a spec. It
// reads from a shared informer, so it sees the placeholder in place of sensitive
// values whatever its rights are; one that needs a value reads
// clusterpeers/sensitive at that moment (R4).
//
// To add one: make a package with a type that has Run(context.Context) error
// (package loop has the work queue), and add it to the list in catalog.go.
package controllers
