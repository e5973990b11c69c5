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

// Package guard has writes of a kind judged by what their user may do besides: a write may
// name an object that he could not read, or hand on what he does not hold.
//
// A [Guard] begins a [Judge] for each request, with an [Inquiry] that asks the authorizer of
// the server as the user of the request, and exempts nobody; the server's own controllers
// pass because the authorizer lets them do everything. [Store] puts a guard before the store
// of the kind, where every way of writing passes: create, update, the patches, apply, and
// all of them as dry runs. Its judge is handed objects as they would be stored, after they
// were found valid.
//
// What cannot be checked is not done: more questions than a bound are an error for the judge
// to tell, an authorizer that fails or takes too long is a 503.
package guard
