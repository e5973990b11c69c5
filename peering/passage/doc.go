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

// Package passage says what passes between a workload of one cluster and the API of
// another one (G7): which paths, which headers of a request, and which answers. Both ends
// hold to it, as neither trusts the other.
//
// What is not known to be harmless does not pass. Who somebody is, above all, is said by
// each end itself, to the next one: nothing that a request or an answer says about it
// passes, in whatever way it is written.
package passage
