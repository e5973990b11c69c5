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

// Package leak holds the leak suite, which is all in its tests. It puts canaries into
// every sensitive field of a server of its own, sends it everything that its discovery
// and its OpenAPI say it takes, in the name of all sorts of callers, and records every
// byte that leaves it: answers, watches, logs, audit, metrics, debug pages, what the
// authorizer is asked, what is stored. Then it searches all of that once.
//
// What it tries:
//
//   - table_test.go: which operations there are, and which fields are sensitive
//   - bodies_test.go: the bodies, right and wrong ones, that are written
//   - callers_test.go: who sends them, and what he may see
//   - requests_test.go: every operation in every form, for every caller
//   - proxies_test.go: the proxies of objects, where what is sent is for others
//   - watches_test.go: watches of every form, and a right that comes and goes
//   - kubectl_test.go: kubectl's own commands
//   - process_test.go: what the process shows of itself
//   - suite_test.go: all of it together, and the search
//   - faults_test.go: that the suite finds what is planted
//
// A new subresource, verb or sensitive field enters by itself. A new kind with a
// sensitive field, or a way to ask for one that the suite does not know, fails it:
// that is the reminder to teach it here.
package leak
