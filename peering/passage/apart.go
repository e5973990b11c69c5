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

package passage

import "context"

// Apart returns a context that ends when another one does, and has nothing else of it but
// what values has: neither its logger, to which libraries tell what is asked and answered,
// nor who traces what is asked in it, who would get what comes before an answer, of codes
// from 100, with headers that nobody looks at.
func Apart(ctx, values context.Context) context.Context { return apart{ctx, values} }

type apart struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (a apart) Value(key any) any { return a.values.Value(key) }

// AfterFunc is for the context package, which would otherwise have a goroutine wait for the
// end, for each context that is made of this one.
func (a apart) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(a.Context, f) }
