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

// Package mutation carries out the mutations of a Release on its objects (C4). It is pure:
// it is told what there is of the Cluster, and calls nothing.
//
// path.go is what may be written, write.go how it is, expression.go the language of what is
// written, and value.go what of it is JSON.
//
// Expressions are written by tenants, and CEL is not made for that: two hundred characters
// can keep its parser, its type checker or one comparison busy for ever, and the cost limit
// sees a function only after it was called. functions.go says which functions there are,
// bounds.go bounds what is compiled, shape.go keeps values and types from growing by being
// repeated, cost.go says what calls really cost, and guard.go looks at what a function is
// called with before it is.
//
// Every message of a fault is one of a closed set of sentences, after the path of a field,
// perhaps with a position. None quotes an expression, a path, or what it comes to.
package mutation
