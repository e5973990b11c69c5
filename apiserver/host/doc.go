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

// Package host is what a server behind a host cluster has from that cluster: who a
// user is (the front proxy's headers, TokenReview), what a user may do
// (SubjectAccessReview), and what the cluster serves and lacks.
//
// Nothing of it fails for good because the cluster is away or has not granted a
// right yet: the server is not ready then, says in one log line what is missing,
// and goes on by itself once it is there. Until somebody is known for sure, nobody
// is: no request is taken for an anonymous one by accident.
package host
