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

// Package sensitive is a kernel for kinds with fields that not everyone who may
// read the object may read. Whoever lacks RBAC permission on the subresource
// "sensitive" of the resource gets [Placeholder] in the place of a set value, on
// every path out of the registry, and may still write the object and the field.
//
// A kind takes part by naming its sensitive fields (type [Object]) and by
// serving its generic store through [NewREST] and [NewSubresource]. The package
// knows no kind, and depends on nothing but the Kubernetes libraries: any
// aggregated API server may use it.
//
// How it works, one file a concern:
//
//   - object.go: the declaration, and what redacting an object is
//   - decision.go: who may see the values (one authorizer call a request)
//   - renewal.go: the decisions of open watches, shared and asked for again
//   - rest.go, subresource.go: the endpoints, what leaves them
//   - watch.go: watches, with encodings shared between redacted watchers
//   - write.go: writes, computed on the redacted object, values put back after
//   - owners.go: managedFields of a value that was put back
//   - annotations.go: copies of a value in annotations
//   - errors.go, decoder.go, body.go: errors that would quote a value
//   - audit.go, auditmask.go: a mask around audit backends
//   - openapi.go: the marker in the schema
//   - metrics.go: the counter of decisions that failed
//
// Rules R1 to R18 in comments and tests are those of docs/redaction.md.
package sensitive
