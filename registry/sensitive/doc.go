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
// knows no kind, and depends on nothing but the Kubernetes libraries and what they
// depend on: any aggregated API server may use it. What a server has to do is this:
//
//   - the internal type implements [Object]; its strategies append what [Validate]
//     says to their own validation
//   - [NewREST] is the main resource, [NewSubresource] are /status and /sensitive,
//     all with one [NewDecider]
//   - [MarkOpenAPI] marks the fields in the schema
//   - [NewNegotiatedSerializer] is the serializer of the API group, and
//     [WithApplyBodyCheck] the innermost handler: errors quote no body
//   - [NewAuditBackend] is the outermost audit backend
//   - [NewAdmission] is around webhooks, policies and plugins, if there are any
//   - [NewMetrics] counts the decisions that failed, for those who look after the server
//
// The program in the folder example is such a server; docs/kernel.md says it step by
// step, with what to check and what the kernel does not do.
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
//   - admission.go: admission, which sees redacted copies
//   - errors.go, decoder.go, body.go, plain.go: errors that would quote a value
//   - audit.go, auditmask.go: a mask around audit backends
//   - openapi.go: the marker in the schema
//   - metrics.go: the counter of decisions that failed
//
// Rules R1 to R18 in comments and tests are those of docs/redaction.md.
package sensitive
